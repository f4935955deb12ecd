# SPDX-License-Identifier: BSD-3-Clause
"""Exclusivity, FREX, stability, clusters and maps."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.manifold import trustworthiness
from sklearn.metrics import normalized_mutual_info_score

from topicfold.exceptions import DataError
from topicfold.metrics import (
    clustering_accuracy,
    clustering_nmi,
    contrasting_words,
    frex,
    map_trustworthiness,
    match_topics,
    topic_exclusivity,
    topic_stability,
    word_scores,
)

SEEDS = st.integers(0, 2**31 - 1)
PARTITIONS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=25
)


def test_exclusivity_limits():
    same = np.full((4, 6), 1 / 6)
    np.testing.assert_allclose(topic_exclusivity(same, n_words=3), 1 / 4)
    assert topic_exclusivity(np.eye(3), n_words=2).tolist() == [1, 1, 1]
    empty = topic_exclusivity([[0, 0], [1, 0]], n_words=2)
    assert np.isnan(empty[0])
    assert empty[1] == 1


def test_word_scores_by_hand():
    topics = np.array([[0.5, 0.5], [0.25, 0.75]])
    expected = 0.5 * (np.log(0.5) - (np.log(0.5) + np.log(0.25)) / 2)
    assert word_scores(topics)[0, 0] == pytest.approx(expected)
    np.testing.assert_allclose(word_scores([[0.3, 0.7]] * 4), 0, atol=1e-12)


def test_contrasting_words():
    words = ["tax", "the", "war", "law"]
    one, other = [0.5, 0.3, 0.0, 0.2], [0.1, 0.3, 0.5, 0.1]
    assert contrasting_words(one, other, words) == (["tax", "law"], ["war"])
    assert contrasting_words(one, other, words, 1) == (["tax"], ["war"])
    with pytest.raises(DataError, match="vocabulary"):
        contrasting_words(one, other, words[:2])


def test_frex_by_hand():
    topics = np.array([[0.5, 0.3, 0.2, 0.0], [0.5, 0.0, 0.2, 0.3]])
    # Shares of topic 0: 1/2, 1, 1/2, 0; ranks 3, 4, 3, 1 and by frequency 4, 3, 2, 1.
    own, often = np.array([3, 4, 3]) / 4, np.array([4, 3, 2]) / 4
    for weight in (0.0, 0.3, 1.0):
        expected = 1 / (weight / own + (1 - weight) / often)
        np.testing.assert_allclose(frex(topics, weight=weight)[0, :3], expected)
    assert frex(topics)[0, 3] == 0


@given(SEEDS)
def test_frex_stays_in_range(seed):
    topics = np.random.default_rng(seed).dirichlet(np.full(7, 0.2), size=3)
    scores = frex(topics)
    assert scores.min() >= 0
    assert scores.max() <= 1


@given(SEEDS, st.integers(1, 4), st.integers(1, 4))
def test_matching_is_the_best_of_all(seed, n_first, n_second):
    rng = np.random.default_rng(seed)
    a = rng.dirichlet(np.full(6, 0.3), n_first)
    b = rng.dirichlet(np.full(6, 0.3), n_second)
    small, large = (a, b) if n_first <= n_second else (b, a)
    best = max(
        sum(np.minimum(x, large[j]).sum() for x, j in zip(small, order, strict=True))
        for order in itertools.permutations(range(len(large)), len(small))
    )
    match = match_topics(a, b)
    assert match.overlap.sum() == pytest.approx(best)
    for k, j, shared in zip(*match, strict=True):
        assert shared == pytest.approx(np.minimum(a[k], b[j]).sum())
    assert topic_stability([a, b]) == pytest.approx(best / max(n_first, n_second))


def test_stability_is_one_for_permuted_topics():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.ones(20), size=5)
    runs = [topics[rng.permutation(5)] for _ in range(3)]
    assert topic_stability(runs) == pytest.approx(1)
    assert topic_stability([np.eye(4)[:2], np.eye(4)[2:]]) == 0


@given(PARTITIONS)
def test_accuracy_is_that_of_the_best_naming(pairs):
    labels, clusters = np.array(pairs).T
    best = max(
        np.mean(np.array(order)[clusters] == labels)
        for order in itertools.permutations(range(4))
    )
    assert clustering_accuracy(labels, clusters) == pytest.approx(best)
    assert clustering_accuracy(labels.astype(str), clusters) == pytest.approx(best)


@given(PARTITIONS)
def test_nmi_is_scikit_learns_with_the_larger_entropy(pairs):
    labels, clusters = np.array(pairs).T
    expected = normalized_mutual_info_score(labels, clusters, average_method="max")
    assert clustering_nmi(labels, clusters) == pytest.approx(expected, abs=1e-9)


def test_clusters_of_one_part():
    assert clustering_nmi([1, 1], [0, 0]) == 1
    assert clustering_nmi([1, 2], [0, 0]) == 0
    assert clustering_accuracy([1, 1, 2], [0, 0, 0]) == pytest.approx(2 / 3)
    assert clustering_accuracy([1, 1], [0, 1]) == 0.5


@pytest.mark.parametrize("n_neighbors", [1, 4])
def test_trustworthiness_is_scikit_learns(n_neighbors):
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(6), size=50)
    places = rng.normal(size=(50, 2)) + 4 * theta[:, :2]
    expected = trustworthiness(np.sqrt(theta), places, n_neighbors=n_neighbors)
    found = map_trustworthiness(theta, places, n_neighbors=n_neighbors)
    assert found == pytest.approx(expected)


def test_trustworthiness_of_equal_documents_is_defined():
    theta = np.full((9, 3), 1 / 3)
    score = map_trustworthiness(theta, np.zeros((9, 2)), n_neighbors=2)
    assert 0 <= score <= 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: topic_exclusivity([[1, -1]], n_words=1), "row 0, column 1"),
        (lambda: topic_exclusivity([[1, 1]]), "n_words=2 or less"),
        (lambda: frex([[1, 1]], weight=2), "weight=2"),
        (lambda: topic_stability([[[1.0]]]), "there is only 1"),
        (lambda: match_topics([[1.0]], [[0.5, 0.5]]), "1 and 2 terms"),
        (lambda: match_topics([[2.0]], [[1.0]]), "rows that do not sum to 1: 1"),
        (lambda: clustering_accuracy([], []), "at least one document"),
        (lambda: clustering_nmi([1], [1, 2]), r"clusters \(2,\)"),
        (lambda: map_trustworthiness(np.eye(4), np.eye(4)[:3]), "coordinates has 3"),
        (lambda: map_trustworthiness(np.eye(4), np.eye(4)), "n_neighbors=5"),
        (
            lambda: map_trustworthiness(-np.eye(4), np.eye(4), n_neighbors=1),
            "negative",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(DataError, match=message):
        call()
