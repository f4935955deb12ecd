# SPDX-License-Identifier: BSD-3-Clause
"""Fold-in and document completion against plain NumPy from the equations."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from scipy.special import psi

from topicfold.core.counts import OuterSum, normalize_rows
from topicfold.corpus.splits import complete_split
from topicfold.infer.fold_in import document_completion, fold_in, neighbor_fold_in

PRIOR = np.array([0.3, 0.05, 1.5])


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(4)
    X = rng.poisson(0.8, size=(12, 15)).astype(float)
    X[3] = 0
    X[5] *= 7
    return sparse.csr_matrix(X), rng.dirichlet(np.full(15, 0.5), size=3)


def plain_fold_in(X, topics, prior, n_updates, start, weights_of=lambda P: P):
    """``P ← N + prior`` as often as said, then rows on the simplex."""
    P = start.copy()
    for _ in range(n_updates):
        A = weights_of(P)
        ratio = X / np.maximum(A @ topics, 1e-300)
        P = A * (ratio @ topics.T) + prior
    theta = P / np.where(P.sum(axis=1, keepdims=True) > 0, P.sum(1, keepdims=True), 1)
    theta[X.sum(axis=1) == 0] = 1 / len(topics)
    return theta


@pytest.mark.parametrize("prior", [0.0, 0.2, PRIOR], ids=["none", "number", "array"])
@pytest.mark.parametrize("n_updates", [1, 2, 7])
def test_fold_in_is_em_from_the_uniform_mixture(problem, prior, n_updates):
    X, topics = problem
    found = fold_in(
        X, topics, prior=prior, max_iter=n_updates, tol=0.0, dtype=np.float64
    )
    start = np.full((12, 3), 1.0)
    expected = plain_fold_in(X.toarray(), topics, prior, n_updates, start)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("n_updates", [1, 2, 7])
def test_fold_in_with_digammas_is_variational_inference(problem, n_updates):
    """It starts with as many pseudo-counts as the posterior will have."""
    X, topics = problem
    options = {"max_iter": n_updates, "tol": 0.0, "dtype": np.float64}
    found = fold_in(X, topics, prior=PRIOR, link="digamma", **options)
    counts = X.toarray()
    start = counts.sum(axis=1, keepdims=True) / 3 + PRIOR
    expected = plain_fold_in(
        counts, topics, PRIOR, n_updates, start, lambda P: np.exp(psi(P))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_fold_in_stops_when_the_mixture_moves_less_than_tol(problem):
    X, topics = problem
    counts, start = X.toarray(), np.full((12, 3), 1 / 3)
    path = [plain_fold_in(counts, topics, 0.0, n, start) for n in range(40)]
    moved = np.abs(np.diff(path, axis=0)).sum(axis=2)
    for tol in (0.5, 0.1, 0.02, 0.004):
        # The first update that moves a row by at most tol is its last.
        last = np.argmax(moved <= tol, axis=0) + 1
        expected = np.array([path[n][d] for d, n in enumerate(last)])
        found = fold_in(X, topics, tol=tol, dtype=np.float64)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert len(set(last)) > 2  # not all stop together


def test_fold_in_is_single_precision_unless_told(problem):
    X, topics = problem
    assert fold_in(X, topics).dtype == np.float32
    np.testing.assert_allclose(
        fold_in(X, topics), fold_in(X, topics, dtype=np.float64), atol=2e-3
    )


def by_hand(X, topics, background, random_state=0, **options):
    """Perplexity of the held-out half from its definition."""
    observed, held_out = complete_split(X, random_state=random_state)
    theta = fold_in(observed, options.pop("topic_weights", topics), **options)
    n_terms = topics.shape[1]
    background = 0.999 * background / background.sum() + 0.001 / n_terms
    p = 0.99 * theta @ topics + 0.01 * background
    held_out = held_out.toarray()
    return np.exp(-(held_out * np.log(p)).sum() / held_out.sum())


def test_completion_is_the_perplexity_of_the_other_half(problem):
    X, topics = problem
    topics = topics.copy()
    topics[:, 4] = 0  # a word that only the background knows
    topics /= topics.sum(axis=1, keepdims=True)
    frequencies = np.arange(15.0)  # its first word is in nothing but the uniform share
    options = {"prior": 0.1, "dtype": np.float64}
    infer = partial(fold_in, topics=topics, **options)
    found = document_completion(X, topics, background=frequencies, infer=infer)
    assert found == pytest.approx(by_hand(X, topics, frequencies, **options), rel=1e-9)
    found = document_completion(X, topics, random_state=3, infer=infer)
    mean = topics.mean(axis=0)
    assert found == pytest.approx(by_hand(X, topics, mean, 3, **options), rel=1e-9)
    assert found != document_completion(X, topics, random_state=0, infer=infer)


def test_completion_folds_in_with_other_weights_and_scores_with_topics(problem):
    X, topics = problem
    infer = partial(fold_in, topics=topics**2, dtype=np.float64)
    found = document_completion(X, topics, infer=infer)
    options = {"topic_weights": topics**2, "dtype": np.float64}
    expected = by_hand(X, topics, topics.mean(axis=0), **options)
    assert found == pytest.approx(expected, rel=1e-9)
    assert found != pytest.approx(document_completion(X, topics))


def test_rows_of_zeros_become_uniform_and_others_keep_proportions():
    rows = np.array([[1.0, 3.0, 4.0], [0.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
    found = normalize_rows(rows)
    assert found is rows
    np.testing.assert_allclose(
        found, [[0.125, 0.375, 0.5], [1 / 3, 1 / 3, 1 / 3], [1, 0, 0]]
    )


def test_outer_sum_is_the_sum_of_both_where_it_is_read():
    documents, topics = np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.25])
    lazy = OuterSum(documents, topics)
    assert len(lazy) == 3
    np.testing.assert_array_equal(lazy, documents[:, None] + topics)
    np.testing.assert_array_equal(lazy[1:], [[2.5, 2.25], [4.5, 4.25]])
    assert np.asarray(lazy, dtype=np.float32).dtype == np.float32


def shares_of(lengths, degrees):
    """g_d, never one: the neighbours weigh two tokens each, the document one more."""
    return 2 * degrees / (1 + lengths + 2 * degrees)


def drawn_fold_in(X, topics, edges, training_theta, n_updates):
    """``θ_d = (1 − g_d) N_d / n_d + g_d m_d`` as often as said."""
    K, theta = len(topics), np.empty((len(X), len(topics)))
    for d, counts in enumerate(X):
        n, degree = counts.sum(), edges[d].sum()
        mean = edges[d] @ training_theta / degree if degree else np.zeros(K)
        g = 1.0 if n == 0 and degree else shares_of(n, degree)
        row = 0.5 * mean + 0.5 / K if degree else np.full(K, 1 / K)
        for _ in range(n_updates):
            p = row[:, None] * topics
            N = (p / p.sum(axis=0)) @ counts
            row = (1 - g) * N / max(n, 1e-30) + g * mean
        theta[d] = row / row.sum() if row.sum() > 0 else 1 / K
    return theta


@pytest.mark.parametrize("room", [True, False], ids=["at once", "in parts"])
@pytest.mark.parametrize("n_updates", [1, 2, 9])
def test_fold_in_along_edges_is_the_fixed_point_of_its_equation(
    problem, monkeypatch, room, n_updates
):
    """Documents without words, without neighbours, and with light edges among them."""
    X, topics = problem
    rng = np.random.default_rng(6)
    training_theta = rng.dirichlet(np.ones(3), 8)
    edges = rng.random((12, 8)) * (rng.random((12, 8)) < 0.3)
    edges[[0, 7]], edges[3, 2], edges[4] = 0.0, 0.4, 0.01 * (edges[4] > 0)
    asked = []

    def has_room(X, *_, **__):
        asked.append(X.shape[0])
        return room

    monkeypatch.setattr("topicfold.infer.fold_in.has_room", has_room)
    found = neighbor_fold_in(
        X,
        topics,
        edges=sparse.csr_array(edges),
        training_theta=training_theta,
        neighbor_shares=shares_of,
        max_iter=n_updates,
        tol=0.0,
        device="cpu",
        n_jobs=1,
    )
    expected = drawn_fold_in(X.toarray(), topics, edges, training_theta, n_updates)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    # Without room it is asked again for each half, down to single documents.
    assert len(asked) == (1 if room else 11)


def test_neighbours_alone_decide_where_a_document_has_no_words(problem):
    """Also with a step that gives them no share beside words."""
    X, topics = problem
    theta = np.random.default_rng(6).dirichlet(np.ones(3), 8)
    edges = np.zeros((12, 8))
    edges[:, 2], edges[:, 5] = 0.25, 0.75
    options = {"max_iter": 200, "tol": 1e-12, "device": "cpu", "n_jobs": 1}
    found = neighbor_fold_in(
        X,
        topics,
        edges=sparse.csr_array(edges),
        training_theta=theta,
        neighbor_shares=lambda lengths, degrees: np.zeros_like(lengths),
        **options,
    )
    assert X[3].nnz == 0
    np.testing.assert_allclose(found[3], 0.25 * theta[2] + 0.75 * theta[5], rtol=1e-12)
    plain = fold_in(X, topics, prior=0.0, **options)
    np.testing.assert_allclose(
        np.delete(found, 3, 0), np.delete(plain, 3, 0), atol=1e-6
    )


def test_a_document_along_edges_stops_by_itself(problem):
    X, topics = problem
    theta = np.random.default_rng(6).dirichlet(np.ones(3), 8)
    edges = sparse.csr_array(np.ones((12, 8)))
    options = {"training_theta": theta, "neighbor_shares": shares_of, "device": "cpu"}
    options |= {"max_iter": 200, "tol": 1e-4, "n_jobs": 1}
    together = neighbor_fold_in(X, topics, edges=edges, **options)
    for d in range(12):
        alone = neighbor_fold_in(X[[d]], topics, edges=edges[[d]], **options)
        np.testing.assert_allclose(together[[d]], alone, rtol=1e-12)
    settled = neighbor_fold_in(X, topics, edges=edges, **options | {"tol": 1e-12})
    assert 0 < np.abs(settled - together).max() < 1e-2
