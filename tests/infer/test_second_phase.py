# SPDX-License-Identifier: BSD-3-Clause
"""The second phase's functions, by hand and against the plain reference."""

from __future__ import annotations

import frank_wolfe_reference as reference
import numpy as np
import pytest
from scipy import sparse
from scipy.special import psi

from topicfold.core.labels import indicator_members
from topicfold.exceptions import DataError
from topicfold.infer import two_phase
from topicfold.infer.two_phase import (
    _merge,
    class_neighbors,
    class_topic_weights,
    digamma_weights,
    discriminative_mixtures,
    discriminative_topics,
    expected_topic_counts,
    smoothed_documents,
)


def test_a_topic_at_the_threshold_or_the_median_sets_apart():
    weights = np.array([[0.375, 0.2], [0.25, 0.2], [0.5, 0.6]])
    # 1.5 times the least of topic 0 is reached exactly, and so is its median.
    np.testing.assert_array_equal(
        discriminative_topics(weights, 1.5), [[1, 0], [0, 0], [1, 1]]
    )
    np.testing.assert_array_equal(discriminative_topics(weights, 1.0)[:, 1], [1, 1, 1])


def test_a_class_without_documents_has_uniform_weights():
    theta = np.array([[0.8, 0.2], [0.4, 0.6]], dtype=np.float32)
    members = np.array([[True, False], [True, False]])
    found = class_topic_weights(theta, members)
    np.testing.assert_allclose(found, [[0.6, 0.4], [0.5, 0.5]], rtol=1e-6)
    assert found.dtype == np.float64


def test_merging_lists_keeps_the_best_different_documents():
    found = np.array([[4, 2, -1], [-1, -1, -1]])
    values = np.array([[0.9, 0.3, -np.inf], [-np.inf] * 3])
    near = np.array([[2, 7, 4, 0, -1]])
    similar = np.array([[0.3, 0.5, 0.9, 1.0, 0.0]])
    _merge(found, values, np.array([0]), near, similar)
    # 4 and 2 are there already, 0 is the document itself.
    np.testing.assert_array_equal(found, [[4, 7, 2], [-1, -1, -1]])
    np.testing.assert_allclose(values[0], [0.9, 0.5, 0.3])
    _merge(found, values, np.array([1]), np.array([[3]]), np.array([[0.0]]))
    np.testing.assert_array_equal(found[1], [3, -1, -1])


def test_lists_end_where_a_class_ends():
    X = sparse.csr_matrix(np.array([[3.0, 1], [2, 1], [1, 3], [1, 1], [5, 1]]))
    members = np.zeros((5, 2), dtype=bool)
    members[[0, 1], 0] = members[[2], 1] = True
    found = class_neighbors(X, members, 3)
    assert found.shape == (5, 3)
    assert found[0].tolist() == [1, -1, -1]
    assert found[1].tolist() == [0, -1, -1]
    assert found[2].tolist() == [-1, -1, -1]  # alone in its class
    for free in (3, 4):
        assert (found[free] >= 0).all()
        assert free not in found[free]


def test_more_neighbours_than_documents_are_none():
    X = sparse.csr_matrix(np.array([[3.0, 1], [2, 1]]))
    found = class_neighbors(X, np.zeros((2, 1), dtype=bool), 4)
    assert found.tolist() == [[1, -1], [0, -1]]


def test_mixtures_and_their_mean_objective_are_the_references(monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(rng.poisson(1.0, size=(9, 12)) + np.eye(9, 12))
    topics = rng.dirichlet(np.ones(12), size=4).T.copy()
    neighbors = rng.integers(-1, 9, size=(9, 2))
    members = rng.random((9, 3)) < 0.5
    members[2] = False
    chosen = rng.random((3, 4)) < 0.4
    monkeypatch.setattr(two_phase, "_BLOCK", 4)
    theta, mean = discriminative_mixtures(
        X, topics, neighbors, members, chosen, own_weight=0.3, promotion=0.6
    )
    shares = X.toarray() / X.toarray().sum(axis=1, keepdims=True)
    values = []
    for d in range(9):
        near = neighbors[d][neighbors[d] >= 0]
        u = (
            0.3 * shares[d] + 0.7 * shares[near].mean(axis=0)
            if len(near)
            else shares[d]
        )
        weights = 0.6 * (chosen[members[d]].any(axis=0)).astype(float)
        own = reference.objective(theta[[d]].toarray()[0], u, topics, weights)
        best = reference.frank_wolfe_document(u, topics, weights, tol=1e-10)[1][-1]
        assert own == pytest.approx(best, abs=1e-4)
        values.append(own)
    assert mean == pytest.approx(np.mean(values))


def test_digamma_weights_by_hand():
    theta = np.array([[0.2, 0.0, 0.8], [0.0, 1.0, 0.0], [0.1, 0.3, 0.6]])
    found = digamma_weights(sparse.csr_array(theta)).toarray()
    with np.errstate(divide="ignore"):
        expected = np.where(theta > 0, np.exp(psi(np.maximum(theta, 1e-300))), 0)
    np.testing.assert_allclose(
        found, expected / expected.max(axis=1, keepdims=True), rtol=1e-9
    )


def test_expected_counts_of_fixed_mixtures():
    rng = np.random.default_rng(1)
    X = rng.poisson(1.0, size=(6, 8)).astype(float)
    mixtures, topics = rng.random((6, 3)), rng.random((3, 8))
    found = expected_topic_counts(sparse.csr_matrix(X), mixtures, topics)
    by_hand = topics * (mixtures.T @ (X / (mixtures @ topics)))
    np.testing.assert_allclose(found, by_hand, rtol=1e-9)
    assert found.sum() == pytest.approx(X.sum())


def test_indicators_are_checked_and_minus_one_is_no_label():
    members, classes = indicator_members(np.array([[1, 0, -1], [0, 0, 1]]), 2)
    np.testing.assert_array_equal(members, [[1, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(classes, [0, 1, 2])
    with pytest.raises(DataError, match="y has 2 rows for 3 documents"):
        indicator_members(np.ones((2, 2)), 3)
    with pytest.raises(DataError, match=r"2 entries .* \(first at row 0, column 1\)"):
        indicator_members(np.array([[1, 2], [0, 3]]), 2)


def test_documents_of_fractional_counts_are_smoothed_as_shares():
    X = sparse.csr_matrix([[0.2, 0.2, 0.0], [0.0, 0.0, 0.5]])
    alone = smoothed_documents(X, np.full((2, 1), -1), 0.3, 0, 2).toarray()
    np.testing.assert_allclose(alone, [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])


def test_merging_leaves_out_what_is_no_document():
    found = np.array([[4, -1, -1]])
    values = np.array([[0.1, -np.inf, -np.inf]])
    near, similar = np.array([[-1, 4, 0, 5]]), np.array([[9.0, 8.0, 7.0, 0.05]])
    _merge(found, values, np.array([0]), near, similar)
    np.testing.assert_array_equal(found, [[4, 5, -1]])
    np.testing.assert_array_equal(values, [[0.1, 0.05, -np.inf]])


def test_lists_of_neighbours_merge_without_repeats_and_gaps():
    found = np.array([[4, -1, -1], [7, 8, -1]])
    values = np.array([[0.5, -np.inf, -np.inf], [-0.9, -0.8, -np.inf]])
    near = np.array([[1, -1, 0, 4], [8, 7, -1, 5]])
    similar = np.array([[0.6, 9.0, 8.0, 0.5], [-0.8, -0.9, 3.0, -0.7]])
    two_phase._merge(found, values, np.array([0, 1]), near, similar)
    assert found.tolist() == [[1, 4, -1], [5, 8, 7]]
