# SPDX-License-Identifier: BSD-3-Clause
"""The collapsed link on the GPU is the reference's, whole, streamed and in blocks."""

import numpy as np
import pytest
from engine.test_collapsed import both_passes, drawn
from engine_reference import ReferenceEngine
from scipy import sparse

from topicfold import LDA, PLSA
from topicfold.corpus.blocks import BlockMatrix
from topicfold.engine import make_engine
from topicfold.engine.cuda import engine as cuda_engine
from topicfold.engine.cuda.engine import CudaEngine

TOLERANCE = {np.float32: 5e-4, np.float64: 1e-9}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_topics", [1, 7, 16, 33, 100, 300])
def test_passes_agree_with_reference(n_topics, dtype):
    X, *rest = drawn(n_topics, 60, 45)
    ours = both_passes(make_engine(X, n_topics, dtype=dtype, device="cuda"), *rest)
    exact = both_passes(ReferenceEngine(X, n_topics), *rest)
    near = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    for name, value in exact.items():
        np.testing.assert_allclose(np.asarray(ours[name]), value, **near, err_msg=name)


def test_long_lists_and_the_same_bits_in_every_run():
    X, *rest = drawn(20, 3000, 30)
    exact = both_passes(ReferenceEngine(X, 20), *rest)
    runs = [both_passes(make_engine(X, 20, device="cuda"), *rest) for _ in range(2)]
    for name, value in exact.items():
        np.testing.assert_array_equal(runs[0][name], runs[1][name])
        np.testing.assert_allclose(runs[0][name], value, rtol=5e-4, atol=5e-4)


def test_blocks_give_what_the_whole_gives(tmp_path):
    X, *rest = drawn(9, 200, 40)
    blocks = BlockMatrix.write(tmp_path / "counts", X, block_size=70)
    there = both_passes(make_engine(blocks, 9, dtype=float, device="cuda"), *rest)
    here = both_passes(make_engine(X, 9, dtype=float, device="cuda"), *rest)
    for name, value in here.items():
        np.testing.assert_allclose(there[name], value, rtol=1e-9, err_msg=name)


def test_fit_agrees_with_the_cpu():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(200, 0.05), 5)
    theta = rng.dirichlet(np.full(5, 0.2), 300)
    X = sparse.csr_matrix([rng.multinomial(60, p) for p in theta @ topics])
    X = X.astype(np.float64)
    here, there = (
        LDA(5, max_iter=20, tol=0, random_state=0, device=device).fit(X)
        for device in ("cpu", "cuda")
    )
    np.testing.assert_allclose(there.components_, here.components_, atol=1e-6)
    np.testing.assert_allclose(
        there.objective_history_, here.objective_history_, rtol=1e-7
    )


@pytest.mark.parametrize("n_topics", [20, 33, 64, 100, 150, 256, 300])
def test_rows_in_half_precision_agree_with_reference(n_topics):
    X, *rest = drawn(n_topics, 60, 45)
    ours = both_passes(CudaEngine(X.astype(np.float32), n_topics, in_half=True), *rest)
    exact = both_passes(ReferenceEngine(X, n_topics), *rest)
    for name in ("documents", "words"):
        error = np.linalg.norm(ours[name] - exact[name])
        assert 0 < error < 3e-4 * np.linalg.norm(exact[name]), name
    assert ours["loglik"] == pytest.approx(exact["loglik"], rel=1e-5)


@pytest.mark.parametrize("model", [PLSA, LDA])
def test_fits_in_half_precision_end_where_others_end(model, monkeypatch):
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(500, 0.05), 40)
    theta = rng.dirichlet(np.full(40, 0.1), 3000)
    X = sparse.csr_matrix([rng.multinomial(150, p) for p in theta @ topics])
    X = X.astype(np.float32)
    options = {"max_iter": 30, "tol": 0.0, "random_state": 0, "device": "cuda"}
    full = model(40, **options).fit(X)
    monkeypatch.setattr(cuda_engine, "LEAST_FOR_HALF", 1)
    half = model(40, **options).fit(X)
    assert half.objective_history_[-1] != full.objective_history_[-1]
    np.testing.assert_allclose(
        half.objective_history_[-1], full.objective_history_[-1], rtol=2e-4
    )
