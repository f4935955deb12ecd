# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import itertools

import frank_wolfe_reference as reference
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from topicfold.infer.frank_wolfe import PROBABILITY_FLOOR, frank_wolfe


def make_problem(seed, n_documents=12, n_words=40, n_topics=6, sparse=True):
    """Random documents and topics; sparse topics have zeros."""
    rng = np.random.default_rng(seed)
    topics = rng.gamma(0.3 if sparse else 2.0, size=(n_words, n_topics)) + 1e-6
    if sparse:
        topics *= rng.random(topics.shape) < 0.7
        topics[0] = 1.0
    topics /= topics.sum(axis=0)
    counts = rng.poisson(0.5, size=(n_documents, n_words))
    counts[:, 0] += 1
    return sp.csr_array(counts.astype(np.float64)), topics


def make_promoted(seed, n_documents, n_topics, n_classes=3):
    rng = np.random.default_rng(seed)
    classes = rng.integers(-1, n_classes, size=n_documents)
    return classes, rng.random((n_classes, n_topics)) < 0.5


def objectives(theta, U, topics, promotion=0.0, promoted=None):
    values = []
    for row, mixture in enumerate(theta.toarray().astype(np.float64)):
        u, block = reference.document_problem(U, topics, row)
        weights = np.zeros(topics.shape[1])
        if promoted is not None and promoted[0][row] >= 0:
            weights = promotion * promoted[1][promoted[0][row]]
        values.append(reference.objective(mixture, u, block, weights))
    return np.array(values)


def fold_in(u, block, n_iter=200_000):
    """The mixture of one document by EM, until no entry moves by 1e-12."""
    theta = np.full(block.shape[1], 1.0 / block.shape[1])
    for _ in range(n_iter):
        new = theta * ((u / (block @ theta)) @ block)
        if np.abs(new - theta).max() < 1e-12:
            break
        theta = new
    return theta


def curvature_bound(u, block, weights):
    """An upper bound of the theorem's C_f: half the largest second derivative."""
    low, high = block.min(axis=1), block.max(axis=1)
    return 0.5 * u @ ((high - low) / low) ** 2 + weights.max() * np.sin(1.0)


@pytest.mark.parametrize("promotion", [0.0, 0.5, 50.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_same_steps_as_reference(promotion, sparse):
    U, topics = make_problem(1, n_documents=30, sparse=sparse)
    promoted = make_promoted(2, 30, topics.shape[1])
    options = {"promotion": promotion, "promoted": promoted, "pairwise": False}
    options |= {"max_iter": 4, "tol": 0.0}
    expected = reference.frank_wolfe(U, topics, **options)
    actual = frank_wolfe(U, topics, **options).toarray()
    np.testing.assert_allclose(actual, expected, atol=1e-7)


@pytest.mark.parametrize("promotion", [0.0, 0.5, 50.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_pairwise_ends_where_the_reference_does(promotion, sparse):
    """Exact pair steps leave equal slopes, so rounding decides the way, not the end."""
    U, topics = make_problem(1, n_documents=30, sparse=sparse)
    promoted = make_promoted(2, 30, topics.shape[1])
    options = {"promotion": promotion, "promoted": promoted, "tol": 1e-11}
    expected = sp.csr_array(reference.frank_wolfe(U, topics, **options))
    actual = frank_wolfe(U, topics, **options)
    np.testing.assert_allclose(
        objectives(actual, U, topics, promotion, promoted),
        objectives(expected, U, topics, promotion, promoted),
        atol=1e-6,
    )


@pytest.mark.parametrize("promotion", [0.0, 0.5, 50.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_pairwise_wins_at_least_what_frank_wolfe_would(promotion, sparse):
    """The theorem needs just this of an iteration."""
    U, topics = make_problem(3, n_documents=6, sparse=sparse)
    promoted = make_promoted(4, 6, topics.shape[1])
    options = {"promotion": promotion, "promoted": promoted, "tol": 0.0}
    paths = [
        frank_wolfe(U, topics, max_iter=steps, return_info=True, **options)
        for steps in range(9)
    ]
    for row in range(6):
        u, block = reference.document_problem(U, topics, row)
        weights = np.zeros(topics.shape[1])
        if promoted[0][row] >= 0:
            weights = promotion * promoted[1][promoted[0][row]]
        for (theta, before), (_, after) in itertools.pairwise(paths):
            theta = theta.toarray()[row]
            slopes = reference.gradient(theta, u, block, weights)
            values = [
                reference.objective(
                    reference._line_search(theta, vertex, u, block, weights),
                    u, block, weights,
                )
                for vertex in np.eye(len(theta))[slopes >= slopes.max() - 1e-6]
            ]  # fmt: skip
            assert after.objective[row] >= min(values) - 1e-9
            assert after.objective[row] >= before.objective[row]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix, sp.csc_array])
@pytest.mark.parametrize("weights", [np.int32, np.float32, np.float64])
def test_any_input_type(dtype, index_dtype, container, weights):
    U, topics = make_problem(3)
    topics = topics.astype(dtype)
    expected = objectives(sp.csr_array(reference.frank_wolfe(U, topics)), U, topics)
    V = container(U.astype(weights))
    V.indices, V.indptr = V.indices.astype(index_dtype), V.indptr.astype(index_dtype)
    theta, info = frank_wolfe(V, topics, return_info=True)
    assert theta.dtype == dtype
    assert theta.shape == (U.shape[0], topics.shape[1])
    np.testing.assert_allclose(info.objective, expected, rtol=5e-6)
    np.testing.assert_allclose(objectives(theta, U, topics), expected, rtol=5e-6)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    sparse=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
    promotion=st.sampled_from([0.0, 0.1, 10.0, 1000.0]),
    pairwise=st.booleans(),
)
def test_objective_never_falls_and_support_grows_by_one(
    seed, sparse, dtype, promotion, pairwise
):
    U, topics = make_problem(seed, n_documents=4, sparse=sparse)
    topics = topics.astype(dtype)
    promoted = make_promoted(seed, 4, topics.shape[1])
    before = np.full(4, -np.inf)
    for steps in range(12):
        theta, info = frank_wolfe(
            U, topics, promotion=promotion, promoted=promoted, pairwise=pairwise,
            max_iter=steps, tol=0.0, return_info=True,
        )  # fmt: skip
        assert (info.n_iter <= steps).all()
        assert (np.diff(theta.indptr) <= info.n_iter + 1).all()
        assert (info.objective >= before).all()
        # What is reported is the objective of what is returned.
        value = objectives(theta, U, topics, promotion, promoted)
        tolerance = 1e-4 if dtype == np.float32 else 1e-9
        np.testing.assert_allclose(info.objective, value, rtol=tolerance, atol=1e-9)
        np.testing.assert_allclose(theta.sum(axis=1), 1.0, atol=1e-6)
        before = info.objective


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), pairwise=st.booleans())
def test_within_the_theorems_bound(seed, pairwise):
    """``max f - f(θ_l) ≤ 4 C_f / (l + 3)``, against EM run to 1e-12."""
    U, topics = make_problem(seed, n_documents=3, sparse=False)
    problems = [reference.document_problem(U, topics, row) for row in range(3)]
    zeros = np.zeros(topics.shape[1])
    best = np.array(
        [reference.objective(fold_in(u, b), u, b, zeros) for u, b in problems]
    )
    bound = np.array([curvature_bound(u, b, zeros) for u, b in problems])
    for steps in (0, 1, 2, 5, 10, 30, 100):
        _, info = frank_wolfe(
            U, topics, pairwise=pairwise, max_iter=steps, tol=0.0, return_info=True
        )
        error = best - info.objective
        assert (error <= 4 * bound / (steps + 3) + 1e-9).all()
        # The gap promises the same, for this document and step.
        assert (error <= info.gap + 1e-9).all()


@pytest.mark.parametrize("promotion", [0.3, 3.0])
@pytest.mark.parametrize("pairwise", [False, True])
def test_within_the_theorems_bound_with_promotion(promotion, pairwise):
    """The same with promoted topics, against what the gap of a long run allows."""
    U, topics = make_problem(5, n_documents=3, n_topics=4, sparse=False)
    promoted = (np.array([0, 1, 1]), np.array([[1, 0, 1, 0], [0, 1, 0, 1]], bool))
    options = {"promotion": promotion, "promoted": promoted, "tol": 0.0}
    _, final = frank_wolfe(U, topics, max_iter=10_000, return_info=True, **options)
    options["pairwise"] = pairwise
    best = final.objective + final.gap  # no mixture is better than this
    assert final.gap.max() < 5e-4
    for steps in (0, 1, 3, 10, 40):
        _, info = frank_wolfe(U, topics, max_iter=steps, return_info=True, **options)
        for row in range(3):
            u, block = reference.document_problem(U, topics, row)
            weights = promotion * promoted[1][promoted[0][row]]
            bound = 4 * curvature_bound(u, block, weights) / (steps + 3)
            assert best[row] - info.objective[row] <= bound + 5e-4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("pairwise", [False, True])
def test_many_iterations_agree_with_fold_in(dtype, sparse, pairwise):
    U, topics = make_problem(7, sparse=sparse)
    topics = topics.astype(dtype)
    _, info = frank_wolfe(
        U, topics, pairwise=pairwise, max_iter=20_000, tol=0.0, return_info=True
    )
    tolerance = 1e-6 if pairwise else 1e-4
    for row in range(U.shape[0]):
        u, block = reference.document_problem(U, topics, row)
        best = reference.objective(fold_in(u, block), u, block, np.zeros(6))
        assert info.objective[row] == pytest.approx(best, abs=tolerance)


def test_pairwise_steps_win_per_iteration_and_in_the_end():
    U, topics = make_problem(9, n_documents=50, n_topics=12, sparse=False)
    kinds = {"plain": False, "pairs": True}
    info = {
        name: frank_wolfe(U, topics, pairwise=pairwise, return_info=True)[1]
        for name, pairwise in kinds.items()
    }
    assert info["pairs"].n_iter.mean() < 0.7 * info["plain"].n_iter.mean()
    assert info["pairs"].objective.mean() > info["plain"].objective.mean()


def test_same_bits_at_any_thread_count_and_batching():
    U, topics = make_problem(11, n_documents=300)
    topics = topics.astype(np.float32)
    promoted = make_promoted(12, 300, topics.shape[1])
    options = {"promotion": 2.0, "promoted": promoted, "return_info": True}
    one, info = frank_wolfe(U, topics, n_jobs=1, **options)
    for n_jobs in (2, 3, 7):
        many, more_info = frank_wolfe(U, topics, n_jobs=n_jobs, **options)
        assert one.data.tobytes() == many.data.tobytes()
        assert one.indices.tobytes() == many.indices.tobytes()
        assert one.indptr.tobytes() == many.indptr.tobytes()
        assert info.objective.tobytes() == more_info.objective.tobytes()
    rows = [17, 250, 3]
    alone = frank_wolfe(
        U[rows], topics, promotion=2.0, promoted=(promoted[0][rows], promoted[1])
    )
    assert alone.toarray().tobytes() == one.toarray()[rows].tobytes()


def test_scale_of_a_document_does_not_matter():
    U, topics = make_problem(13)
    theta = frank_wolfe(U, topics).toarray()
    # A power of two: rounding cannot choose another topic where two are near equal.
    np.testing.assert_allclose(frank_wolfe(U * 8.0, topics).toarray(), theta, atol=1e-9)


def test_promoted_topics_get_more_mass():
    U, topics = make_problem(17, n_documents=20, sparse=False)
    promoted = (np.zeros(20, dtype=int), np.array([[1, 1, 0, 0, 0, 0]], bool))
    options = {"promoted": promoted, "tol": 1e-12, "max_iter": 5000}
    mass = [
        frank_wolfe(U, topics, promotion=r, **options).toarray()[:, :2].sum(axis=1)
        for r in (0.0, 0.1, 1.0, 10.0, 1000.0)
    ]
    assert (np.diff(mass, axis=0) >= -1e-4).all()
    assert (mass[-1] > 0.99).all()
    assert mass[3].mean() > mass[0].mean() + 0.2


def test_class_minus_one_promotes_nothing():
    U, topics = make_problem(19)
    promoted = (np.full(U.shape[0], -1), np.ones((1, topics.shape[1]), bool))
    plain = frank_wolfe(U, topics).toarray()
    np.testing.assert_array_equal(
        frank_wolfe(U, topics, promotion=9.0, promoted=promoted).toarray(), plain
    )
    np.testing.assert_array_equal(
        frank_wolfe(U, topics, promoted=promoted).toarray(), plain
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_empty_and_unknown_documents_are_uniform(dtype):
    topics = np.array([[0.5, 0.1], [0.5, 0.9], [0.0, 0.0]], dtype=dtype)
    U = sp.csr_array([[0, 0, 0], [0, 0, 4], [2, 0, 0], [2, 0, 9]])
    theta, info = frank_wolfe(U, topics, return_info=True)
    expected = [[0.5, 0.5], [0.5, 0.5], [1, 0], [1, 0]]
    np.testing.assert_array_equal(theta.toarray(), expected)
    np.testing.assert_array_equal(reference.frank_wolfe(U[[0, 2]], topics)[0], 0.5)
    np.testing.assert_array_equal(info.empty, [True, True, False, False])
    np.testing.assert_array_equal(info.n_iter[:2], 0)
    np.testing.assert_array_equal(np.diff(theta.indptr), [2, 2, 1, 1])
    # All empty, no stored entry at all.
    nothing = frank_wolfe(sp.csr_array((3, 3)), topics)
    np.testing.assert_array_equal(nothing.toarray(), np.full((3, 2), 0.5))


def test_stored_zeros_and_duplicates():
    topics = make_problem(23)[1][:5]
    data, indices = np.array([1.0, 0.0, 2.0, 1.0]), np.array([3, 1, 2, 3])
    U = sp.csr_array((data, indices, [0, 4]), shape=(1, 5))
    plain = frank_wolfe(sp.csr_array([[0.0, 0, 2, 2, 0]]), topics).toarray()
    np.testing.assert_allclose(frank_wolfe(U, topics).toarray(), plain, atol=1e-12)


def test_one_topic():
    U, topics = make_problem(29, n_topics=1)
    theta, info = frank_wolfe(U, topics, return_info=True)
    np.testing.assert_array_equal(theta.toarray(), 1.0)
    np.testing.assert_array_equal(info.n_iter, 0)


@pytest.mark.parametrize("n_topics", [2, 7, 8, 13, 33])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ties_go_to_the_lowest_index(n_topics, dtype):
    U, topics = make_problem(31, n_topics=1)
    copies = np.repeat(topics, n_topics, axis=1).astype(dtype)
    theta = frank_wolfe(U, copies).toarray()
    np.testing.assert_array_equal(theta[:, 0], 1.0)


def test_word_without_probability_at_the_best_vertex():
    """The start has -inf but for the floor; the climb leaves it at once."""
    topics = np.array([[0.9, 0.0], [0.1, 0.0], [0.0, 1.0]])
    U = sp.csr_array([[6.0, 1.0, 3.0]])
    theta, info = frank_wolfe(U, topics, return_info=True)
    np.testing.assert_allclose(theta.toarray(), [[0.7, 0.3]], atol=1e-6)
    expected = 0.6 * np.log(0.9) + 0.1 * np.log(0.1) + 0.3 * np.log(PROBABILITY_FLOOR)
    assert info.start[0] == pytest.approx(expected)


def test_perfect_fit_has_objective_zero():
    theta, info = frank_wolfe(sp.csr_array([[3, 0]]), np.eye(2), return_info=True)
    np.testing.assert_array_equal(theta.toarray(), [[1, 0]])
    assert info.objective[0] == 0.0
    assert info.gap[0] == 0.0


def test_more_documents_than_a_task_holds():
    U, topics = make_problem(37, n_documents=5000, n_words=10)
    theta = frank_wolfe(U, topics)
    assert theta.shape == (5000, 6)
    assert theta.has_canonical_format
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, atol=1e-6)


def test_reference_path_rises():
    U, topics = make_problem(41)
    weights = np.array([2.0, 0, 0, 2.0, 0, 0])
    u, block = reference.document_problem(U, topics, 0)
    theta, path = reference.frank_wolfe_document(u, block, weights)
    assert (np.diff(path) > 0).all()
    assert path[-1] == pytest.approx(reference.objective(theta, u, block, weights))
    numeric = [
        (
            reference.objective(theta + step, u, block, weights)
            - reference.objective(theta - step, u, block, weights)
        )
        / 2e-6
        for step in 1e-6 * np.eye(6)
    ]
    exact = reference.gradient(theta, u, block, weights)
    np.testing.assert_allclose(numeric, exact, rtol=1e-4)


def test_documents_may_be_an_array():
    topics = np.array([[0.9, 0.2], [0.1, 0.8]])
    U = np.array([[3.0, 1.0], [0.0, 2.0]])
    ours, sparse = frank_wolfe(U, topics), frank_wolfe(sp.csr_array(U), topics)
    np.testing.assert_array_equal(ours.toarray(), sparse.toarray())


def test_a_document_is_done_when_it_gains_a_millionth():
    U, topics = make_problem(3)[:2]
    usual = frank_wolfe(U, topics, return_info=True)[1]
    same = frank_wolfe(U, topics, tol=1e-6, return_info=True)[1]
    np.testing.assert_array_equal(usual.n_iter, same.n_iter)
    assert usual.n_iter.max() < 1000
