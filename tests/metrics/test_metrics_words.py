# SPDX-License-Identifier: BSD-3-Clause
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from topicfold.exceptions import DataError
from topicfold.metrics import npmi_coherence, top_words, topic_diversity

TOPICS = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=9),
    elements=st.sampled_from([0.1, 0.2, 0.3, 0.9]),
)


def brute_force_npmi(words, X):
    scores = []
    for v, w in itertools.combinations(words, 2):
        p_v, p_w = (X[:, v] > 0).mean(), (X[:, w] > 0).mean()
        p = ((X[:, v] > 0) & (X[:, w] > 0)).mean()
        if p == 0:
            scores.append(-1.0)
        elif p == 1:
            scores.append(0.0)
        else:
            scores.append(np.log(p / (p_v * p_w)) / -np.log(p))
    return np.mean(scores)


def test_top_words_break_ties_by_column():
    topics = [[0.25, 0.25, 0.25, 0.25], [0.1, 0.4, 0.1, 0.4]]
    assert top_words(topics, list("abcd"), 3) == [["a", "b", "c"], ["b", "d", "a"]]


@settings(deadline=None)
@given(TOPICS, st.integers(1, 12))
def test_top_words_are_a_stable_sort(topics, n_words):
    names = [str(column) for column in range(topics.shape[1])]
    expected = [
        [names[c] for c in np.argsort(-row, kind="stable")[:n_words]] for row in topics
    ]
    assert top_words(topics, names, n_words) == expected


def test_top_words_never_list_words_of_no_weight():
    assert top_words([[0, 1, 0], [0, 0, 0], [-1, 2, 1]], list("abc")) == [
        ["b"],
        [],
        ["b", "c"],
    ]


def test_diversity_by_hand():
    topics = np.array([[4, 3, 2, 1], [4, 1, 3, 2], [1, 2, 3, 4.0]])
    # {0, 1}, {0, 2}, {3, 2}: 4 of 6 are different.
    assert topic_diversity(topics, n_words=2) == pytest.approx(4 / 6)
    assert topic_diversity(topics, n_words=4) == pytest.approx(1 / 3)
    assert topic_diversity(topics[:1], n_words=4) == 1


@settings(deadline=None)
@given(TOPICS, st.data())
def test_diversity_bounds(topics, data):
    n_words = data.draw(st.integers(1, topics.shape[1]))
    score = topic_diversity(topics, n_words)
    assert 1 / len(topics) - 1e-12 <= score <= 1
    # Duplicated topics halve it.
    assert topic_diversity(np.vstack([topics] * 2), n_words) == pytest.approx(score / 2)


def test_npmi_by_hand():
    X = np.array([[1, 1, 0, 1], [1, 1, 0, 1], [1, 0, 0, 1], [0, 0, 2, 1]])
    pairs = {
        (0, 1): np.log(0.5 / (0.75 * 0.5)) / -np.log(0.5),
        (0, 2): -1,  # never together
        (0, 3): 0,  # word 3 is everywhere: independent of all
        (2, 3): 0,
    }
    for pair, expected in pairs.items():
        topic = np.zeros((1, 4))
        topic[0, list(pair)] = 0.5
        score = npmi_coherence(topic, X, n_words=2)
        assert score == pytest.approx(expected, abs=1e-12)


def test_npmi_perfect_and_everywhere():
    together = np.array([[1, 1], [0, 0], [3, 1]])
    assert npmi_coherence([[0.5, 0.5]], together, n_words=2) == pytest.approx(1)
    assert npmi_coherence([[0.5, 0.5]], together[[0, 2]], n_words=2).tolist() == [0]


def test_npmi_of_words_that_never_occur_is_minus_one():
    X = sparse.csr_array(np.array([[1, 1, 0, 0], [1, 0, 0, 0]]))
    topics = [[0, 0, 0.5, 0.5], [0.5, 0, 0.5, 0]]
    assert npmi_coherence(topics, X, n_words=2).tolist() == [-1, -1]
    empty = sparse.csr_array((3, 4))
    assert npmi_coherence(topics, empty, n_words=2).tolist() == [-1, -1]


def test_npmi_of_a_topic_without_pairs_is_undefined():
    scores = npmi_coherence([[1.0, 0, 0], [0.5, 0.5, 0]], np.eye(3) + 1, n_words=3)
    assert np.isnan(scores[0])
    assert scores[1] == 0


@settings(deadline=None)
@given(
    hnp.arrays(np.int64, (12, 7), elements=st.integers(0, 2)),
    st.integers(2, 7),
    st.integers(0, 2**32 - 1),
)
def test_npmi_against_brute_force(X, n_words, seed):
    topics = np.random.default_rng(seed).dirichlet(np.ones(7), size=3)
    expected = [
        brute_force_npmi(np.argsort(-row, kind="stable")[:n_words], X) for row in topics
    ]
    for container in (np.array, sparse.csr_matrix, sparse.coo_array):
        scores = npmi_coherence(topics, container(X), n_words=n_words)
        np.testing.assert_allclose(scores, expected, atol=1e-12)
        assert (np.abs(scores) <= 1).all()


def test_npmi_ignores_stored_zeros_and_leaves_x_alone():
    X = sparse.csr_array(np.array([[2, 1], [1, 1], [1, 1]]))
    X.data[1] = 0
    scores = npmi_coherence([[0.5, 0.5]], X, n_words=2)
    assert scores == pytest.approx(0)
    assert X.nnz == 6
    assert X.data.tolist() == [2, 0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: top_words([[1, 2]], ["a"]), "vocabulary has 1 words"),
        (lambda: top_words([[1, 2]], ["a", "b"], 0), "n_words=0"),
        (lambda: top_words([[1, 2]], ["a", "b"], 1.5), "n_words=1.5"),
        (lambda: top_words([[np.inf, 2]], ["a", "b"]), "row 0, column 0"),
        (lambda: top_words(np.empty((0, 2)), ["a", "b"]), "at least one row"),
        (lambda: topic_diversity([[1, 2]]), "n_words=2 or less"),
        (lambda: topic_diversity([[0, 0]], 1), "no positive weight"),
        (lambda: npmi_coherence([[1, 2]], [[1, 2]], n_words=1), "2 or more"),
        (lambda: npmi_coherence([[1, 2]], [[1, 2]]), "n_words=10 is more"),
        (lambda: npmi_coherence([[1, 2]], [[1, 2, 3]], n_words=2), "vocabulary"),
        (lambda: npmi_coherence([[1, 2]], np.empty((0, 2)), n_words=2), "document"),
        (lambda: npmi_coherence([[1, 2]], [[1, -2]], n_words=2), "negative"),
    ],
)
def test_errors(call, message):
    with pytest.raises(DataError, match=message):
        call()
