# SPDX-License-Identifier: BSD-3-Clause
"""The kernels of Frank-Wolfe one by one, and the tables they work on."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from topicfold.infer import frank_wolfe as kernels
from topicfold.infer.frank_wolfe import (
    _word_table,
    frank_wolfe,
)


@pytest.mark.parametrize("n_words", range(1, 10))
def test_gradient_of_the_likelihood_for_any_number_of_words(n_words):
    """Four words at a time, and the rest."""
    rng = np.random.default_rng(n_words)
    block, rate = rng.random((n_words, 3)), rng.random(n_words)
    found = np.full(3, 99.0)
    kernels.likelihood_gradient(block, rate, found)
    np.testing.assert_allclose(found, rate @ block)


def test_the_best_vertex_counts_what_its_own_topic_wins():
    scores = np.array([-2.0, -1.0, -1.5, -1.0])
    assert kernels.best_vertex(scores, np.zeros(4)) == 1  # the first of equals
    weights = np.array([0.0, 0.0, 1.0, 0.0])
    assert kernels.best_vertex(scores, weights) == 2  # -1.5 + sin 1 > -1
    weights = np.array([0.5, 0.0, 0.5, 0.0])
    assert kernels.best_vertex(scores, weights) == 1  # -1.5 + 0.5 sin 1 < -1


def test_the_gap_is_the_steepest_slope_less_the_mixtures():
    theta = np.array([0.6, 0.0, 0.4])
    gradient = np.array([0.8, 1.7, 1.3])
    assert theta @ gradient == pytest.approx(1.0)  # as for every likelihood
    weights = np.array([2.0, 0.0, 0.5])
    top, gap = kernels.best_direction(gradient, weights, False, theta)
    assert (top, gap) == (1, pytest.approx(0.7))
    slopes = gradient + weights * np.cos(theta)
    top, gap = kernels.best_direction(gradient, weights, True, theta)
    assert top == np.argmax(slopes) == 0
    assert gap == pytest.approx(slopes[0] - theta @ slopes)
    unused = np.array([0.0, 3.0, 0.0])  # the slope of a topic not in use is at 0
    slopes = gradient + unused * np.cos(theta)
    top, gap = kernels.best_direction(gradient, unused, True, theta)
    assert (top, gap) == (1, pytest.approx(4.7 - theta @ slopes))
    tied = np.array([1.0, 1.0, 1.0])
    assert kernels.best_direction(tied, np.zeros(3), False, theta)[0] == 0
    assert kernels.best_direction(tied, np.zeros(3), True, theta)[0] == 0


def test_the_worst_topic_is_in_use_and_not_the_best():
    theta = np.array([0.2, 0.3, 0.0, 0.5])
    gradient = np.array([1.5, 0.9, 0.1, 1.2])
    nothing = np.zeros(4)
    active = np.array([3, 1, 0])
    assert kernels.worst_topic(gradient, nothing, theta, active, 0) == 1
    assert kernels.worst_topic(gradient, nothing, theta, active, 1) == 3
    promoted = np.array([0.0, 2.0, 0.0, 0.0])  # promotion lifts topic 1
    assert kernels.worst_topic(gradient, promoted, theta, active, 0) == 3
    assert kernels.worst_topic(gradient, nothing, theta, active[:1], 3) == -1
    equal = np.ones(4)  # of equals the lowest number, whatever the order of the list
    assert kernels.worst_topic(equal, nothing, theta, active, 0) == 1
    assert kernels.worst_topic(equal, nothing, theta, active, 3) == 0


def test_words_are_those_that_count_and_that_a_topic_has():
    indices, data = np.array([4, 0, 2, 3]), np.array([3.0, 0.0, 5.0, 1.0])
    known = np.array([True, True, False, True, True])
    words, weights = np.full(4, -1), np.zeros(4)
    n_words = kernels.select_words(indices, data, known, words, weights)
    assert words[:n_words].tolist() == [4, 3]
    assert weights[:n_words].tolist() == [0.75, 0.25]


def test_a_document_gathers_its_rows_and_the_likelihood_of_vertices():
    rng = np.random.default_rng(0)
    topics = rng.random((6, 3)) + 0.1
    table = np.hstack([topics, np.log(topics)])
    block, scores = np.zeros((4, 3)), np.full(3, 7.0)
    words, weights = np.array([5, 2]), np.array([0.3, 0.7])
    kernels.gather_document(words, weights, table, block, scores)
    np.testing.assert_array_equal(block[:2], topics[words])
    np.testing.assert_array_equal(block[2:], 0)
    np.testing.assert_allclose(scores, weights @ np.log(topics[words]))


def test_rows_are_written_without_zeros_and_with_sum_one():
    indices, data = np.full(4, -1, np.int32), np.zeros(4)
    theta = np.array([0.5, 0.0, 1.5, 0.0])
    assert kernels.write_row(theta, indices, data) == 2
    assert indices.tolist() == [0, 2, -1, -1]
    assert data.tolist() == [0.25, 0.75, 0, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_table_has_floored_topics_their_logarithms_and_known_words(dtype):
    topics = np.array([[0.5, 0.0], [0.0, 0.0], [0.5, 1.0], [0.1, 0.2]], dtype=dtype)
    table, known, row_of_word = _word_table(topics, np.array([2, 0, 2, 1]), 1)
    assert table.dtype == dtype
    assert table.shape == (3, 4)  # words 0, 1 and 2 are in use
    floored = np.maximum(topics[:3], dtype(kernels.PROBABILITY_FLOOR))
    np.testing.assert_array_equal(table[:, :2], floored)
    np.testing.assert_allclose(table[:, 2:], np.log(floored), rtol=1e-6)
    np.testing.assert_array_equal(known, [True, False, True])
    np.testing.assert_array_equal(row_of_word[:3], [0, 1, 2])


def test_many_words_fill_the_table_in_parts():
    rng = np.random.default_rng(0)
    topics = rng.random((5000, 2)) + 0.01
    table, known, row_of_word = _word_table(topics, np.arange(1, 5000, 2), 2)
    np.testing.assert_array_equal(table[:, :2], topics[1::2])
    np.testing.assert_allclose(table[:, 2:], np.log(topics[1::2]))
    np.testing.assert_array_equal(row_of_word[1::2], np.arange(2500))
    assert known.all()


def test_promotion_weighs_the_topics_of_classes():
    topics = np.full((3, 2), 0.5)
    chosen = np.array([[True, False], [False, True]])
    promoted = ([1, -1, 0], chosen)
    theta = frank_wolfe(np.ones((3, 3)), topics, promotion=2.5, promoted=promoted)
    assert theta.toarray()[[0, 2]].tolist() == [[0, 1], [1, 0]]
    plain = frank_wolfe(np.ones((3, 3)), topics).toarray()
    for options in ({}, {"promotion": 0.0, "promoted": promoted}):
        same = frank_wolfe(np.ones((3, 3)), topics, **options).toarray()
        np.testing.assert_array_equal(same, plain)


def test_zero_iterations_are_the_best_vertex_and_its_gap():
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(np.ones(8), size=4).T.copy()
    U = sp.csr_array(rng.poisson(1.5, size=(6, 8)) + np.eye(6, 8))
    theta, info = frank_wolfe(U, topics, max_iter=0, return_info=True)
    u = U.toarray() / U.toarray().sum(axis=1, keepdims=True)
    values = u @ np.log(topics)
    np.testing.assert_array_equal(theta.toarray(), np.eye(4)[values.argmax(axis=1)])
    np.testing.assert_allclose(info.start, values.max(axis=1))
    np.testing.assert_allclose(info.objective, values.max(axis=1))
    np.testing.assert_array_equal(info.n_iter, 0)
    slopes = np.array(
        [(u[d] / topics[:, values[d].argmax()]) @ topics for d in range(6)]
    )
    np.testing.assert_allclose(info.gap, slopes.max(axis=1) - 1.0)


@pytest.mark.parametrize("tol", [0.1, 1e-2, 1e-4])
def test_a_document_ends_with_the_iteration_that_wins_too_little(tol):
    rng = np.random.default_rng(2)
    topics = rng.dirichlet(np.full(30, 0.3), size=6).T.copy() + 1e-4
    U = sp.csr_array(rng.poisson(1.0, size=(10, 30)) + np.eye(10, 30))
    path = [
        frank_wolfe(U, topics, max_iter=n, tol=0.0, return_info=True)[1]
        for n in range(60)
    ]
    values = np.array([info.objective for info in path])
    gaps = np.array([info.gap for info in path])
    _, info = frank_wolfe(U, topics, tol=tol, return_info=True)
    for d, n in enumerate(info.n_iter):
        gains = np.diff(values[: n + 1, d])
        # Every iteration but the last won enough, and none began with a small gap.
        assert (gains[:-1] >= tol * np.abs(values[1:n, d])).all()
        assert (gaps[:n, d] > tol * np.abs(values[:n, d])).all()
        small = n > 0 and gains[-1] < tol * abs(values[n, d])
        assert small or gaps[n, d] <= tol * abs(values[n, d])
        assert info.objective[d] == pytest.approx(values[n, d])
