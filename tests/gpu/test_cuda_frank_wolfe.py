# SPDX-License-Identifier: BSD-3-Clause
"""Frank-Wolfe on the GPU climbs as high as on the CPU."""

import numpy as np
import pytest
from scipy import sparse
from tests_support import draw_corpus

from topicfold import FSTM, TwoPhase
from topicfold.engine.cuda import frank_wolfe as on_device
from topicfold.infer.frank_wolfe import frank_wolfe


def problem(n_topics, dtype, seed=0):
    """Documents of 0 to 100 words, a word without topic, sparse topics."""
    rng = np.random.default_rng(seed)
    U = sparse.random(150, 130, 0.3, format="csr", rng=rng)
    U = sparse.csr_array(U.multiply(rng.random((150, 1)) < 0.97))
    U.eliminate_zeros()
    topics = rng.dirichlet(np.full(130, 0.1), size=n_topics).T
    topics[topics < 1e-4] = 0
    topics[7] = 0
    return U, np.ascontiguousarray(topics, dtype=dtype)


def both(U, topics, **options):
    return [
        frank_wolfe(U, topics, device=device, return_info=True, **options)
        for device in ("cpu", "cuda")
    ]


def promotion_of(n_topics, strength):
    if not strength:
        return {}
    rng = np.random.default_rng(1)
    classes = rng.integers(-1, 3, 150)
    return {
        "promotion": strength,
        "promoted": (classes, rng.random((3, n_topics)) < 0.4),
    }


@pytest.mark.parametrize("n_topics", [1, 9, 32, 100, 300])
@pytest.mark.parametrize("pairwise", [True, False], ids=["pairwise", "paper"])
@pytest.mark.parametrize("strength", [0.0, 0.5], ids=["plain", "promoted"])
def test_the_same_climb_in_float64(n_topics, pairwise, strength):
    U, topics = problem(n_topics, np.float64)
    options = {"pairwise": pairwise} | promotion_of(n_topics, strength)
    (_, cpu), (ours, gpu) = both(U, topics, **options)
    np.testing.assert_allclose(gpu.start, cpu.start, rtol=1e-10)
    np.testing.assert_array_equal(gpu.empty, cpu.empty)
    assert gpu.empty.sum() > 1
    np.testing.assert_allclose(ours.sum(axis=1), 1.0, rtol=1e-12)
    # Two nearly equal moves may be taken in another order, and then the climbs end
    # elsewhere; never farther below than the gap, and alike in the mean.
    assert (gpu.objective + gpu.gap >= cpu.objective - 1e-9).all()
    assert (cpu.objective + cpu.gap >= gpu.objective - 1e-9).all()
    assert gpu.objective.mean() == pytest.approx(cpu.objective.mean(), rel=1e-5)
    assert (gpu.n_iter == cpu.n_iter).mean() > 0.8


@pytest.mark.parametrize("strength", [0.0, 0.5], ids=["plain", "promoted"])
def test_the_same_summit(strength):
    U, topics = problem(25, np.float64)
    options = {"tol": 1e-13, "max_iter": 5000} | promotion_of(25, strength)
    (exact, cpu), (ours, gpu) = both(U, topics, **options)
    np.testing.assert_allclose(gpu.objective, cpu.objective, rtol=1e-8)
    np.testing.assert_allclose(ours.toarray(), exact.toarray(), atol=1e-3)


@pytest.mark.parametrize("strength", [0.0, 0.5], ids=["plain", "promoted"])
def test_float32_is_as_good(strength):
    U, topics = problem(60, np.float32)
    (exact, cpu), (ours, gpu) = both(U, topics, **promotion_of(60, strength))
    assert ours.dtype == np.float32
    np.testing.assert_allclose(gpu.objective, cpu.objective, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(ours.sum(axis=1), 1.0, rtol=1e-5)
    assert ours.nnz < 1.05 * exact.nnz


def test_no_iteration_is_the_best_vertex():
    U, topics = problem(20, np.float64)
    (exact, _), (ours, gpu) = both(U, topics, max_iter=0)
    np.testing.assert_array_equal(ours.toarray(), exact.toarray())
    assert (gpu.n_iter == 0).all()


def test_the_same_bits_in_every_batch(monkeypatch):
    U, topics = problem(50, np.float32)
    whole = frank_wolfe(U, topics, device="cuda")
    monkeypatch.setattr(on_device, "MOST_ROWS", 13)
    parts = frank_wolfe(U, topics, device="cuda")
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


def test_fully_sparse_topics():
    X, _, _ = draw_corpus(200, 90, 4)
    cpu, gpu = (
        FSTM(4, random_state=0, max_iter=15, device=device).fit(X)
        for device in ("cpu", "cuda")
    )
    np.testing.assert_allclose(
        gpu.objective_history_, cpu.objective_history_, rtol=1e-3
    )
    theta = gpu.transform(X[:20])
    assert isinstance(theta, np.ndarray)
    np.testing.assert_allclose(theta, cpu.transform(X[:20]), atol=0.05)
    gpu.partial_fit(X[:50])
    np.testing.assert_allclose(gpu.components_.sum(axis=1), 1.0, rtol=1e-5)


def test_two_phases_on_sparse_topics():
    X, theta, _ = draw_corpus(200, 90, 4)
    base = FSTM(4, random_state=0, max_iter=10, device="cuda")
    model = TwoPhase(base).fit(X, theta.argmax(axis=1))
    np.testing.assert_allclose(model.transform(X).sum(axis=1), 1.0, rtol=1e-5)
