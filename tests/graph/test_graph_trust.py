# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from scipy import sparse

from topicfold.graph import build as trust
from topicfold.graph import document_graph
from topicfold.graph.build import LEAST_TRUST, graph_trust


def chance_graph(n, n_edges, seed):
    ends = np.random.default_rng(seed).integers(0, n, (2, n_edges))
    ends = ends[:, ends[0] != ends[1]]
    graph = sparse.coo_matrix((np.ones(ends.shape[1]), ends), (n, n)).tocsr()
    return graph.maximum(graph.T)


def test_words_tell_neighbours_from_chance(planted):
    X = planted[0]
    near = graph_trust(X, document_graph(X, 5))
    chance = graph_trust(X, chance_graph(300, 1500, 0))
    assert chance < 0.2 < 0.5 < near < 1


def test_agrees_with_the_sum_over_pairs(planted):
    X, graph = planted[0][:40], document_graph(planted[0][:40], 4).toarray()
    present = X.toarray() > 0
    words = present * (np.log(40 / np.maximum(present.sum(axis=0), 1)) + 1)
    rows = words / np.linalg.norm(words, axis=1, keepdims=True)
    cosines, degrees = rows @ rows.T, graph.sum(axis=1)
    agreement = (graph * cosines).sum() / graph.sum()
    chance = (np.outer(degrees, degrees) * cosines).sum() / degrees.sum() ** 2
    assert graph_trust(X, graph) == pytest.approx(1 - chance / agreement)


def test_labels_that_the_graph_knows_nothing_of_lower_it(planted):
    """Neighbours share the topic; the class is in two words of every document."""
    X = planted[0].toarray()
    rng = np.random.default_rng(0)
    side = rng.integers(0, 2, 300)
    X[:, -2:] = 0
    X[np.arange(300), 118 + side] = 3
    graph = document_graph(X[:, :-2], 5)
    topic = planted[1].argmax(axis=1)
    few = np.arange(300) % 4 == 0
    without = graph_trust(X, graph)
    by_side = graph_trust(X, graph, np.where(few, side, -1))
    by_topic = graph_trust(X, graph, np.where(few, topic, -1))
    assert by_side < 0.5 * without < without <= by_topic <= 1


def test_doubled_documents_and_doubled_counts_are_trusted_as_much(planted):
    X = planted[0][:100]
    graph = document_graph(X, 5)
    once = graph_trust(X, graph)
    assert graph_trust(2 * X, graph) == pytest.approx(once)
    both = sparse.vstack([X, X]), sparse.block_diag([graph, graph])
    assert graph_trust(*both) == pytest.approx(once)


@pytest.mark.parametrize("codes", [None, np.full(5, -1), np.array([-1, 0, 0, -1, 0])])
def test_no_edges_and_no_two_classes(codes):
    assert graph_trust(np.eye(5), sparse.csr_array((5, 5)), codes) == LEAST_TRUST
    assert LEAST_TRUST <= graph_trust(np.ones((5, 3)), 1 - np.eye(5), codes) <= 1


def test_every_document_labelled(planted):
    X = planted[0]
    codes = planted[1].argmax(axis=1)
    assert graph_trust(X, document_graph(X, 5), codes) > 0.8


def test_labels_spread_in_blocks_as_at_once(planted, monkeypatch):
    """A million documents times all labels would not fit into memory."""
    X = planted[0]
    graph, codes = document_graph(X, 5), np.arange(300) % 3
    whole = graph_trust(X, graph, codes)
    monkeypatch.setattr("topicfold.graph.build.BLOCK", 7 * 300)
    assert graph_trust(X, graph, codes) == whole


def drawn_members():
    """Twelve documents of three classes."""
    own = np.arange(12) % 3
    return own, np.eye(3)[own]


def test_centroids_are_those_of_the_other_documents():
    own, members = drawn_members()
    rows = np.random.default_rng(0).random((12, 7))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    found = trust._centroid_scores(sparse.csr_array(rows), members)
    for i, c in np.ndindex(12, 3):
        others = (own == c) & (np.arange(12) != i)
        centroid = rows[others].sum(axis=0)
        expected = rows[i] @ centroid / np.linalg.norm(centroid)
        assert found[i, c] == pytest.approx(expected)


def test_labels_spread_along_light_edges_too():
    own, members = drawn_members()
    rng = np.random.default_rng(1)
    graph = np.triu(0.05 * rng.random((15, 15)) * (rng.random((15, 15)) < 0.4), 1)
    graph += graph.T
    known = np.arange(2, 14)
    found = trust._spread_scores(sparse.csr_array(graph), known, members)
    degrees = np.where(graph.sum(axis=1) > 0, graph.sum(axis=1), 1.0)
    step = trust.SPREAD * graph / np.sqrt(np.outer(degrees, degrees))
    reached = sum(np.linalg.matrix_power(step, n) for n in range(trust.ROUNDS + 1))
    between = reached[np.ix_(known, known)] * (1 - np.eye(12))
    for i, c in np.ndindex(12, 3):
        others = (own == c) & (np.arange(12) != i)
        assert found[i, c] == pytest.approx(between[i, others].mean())


def test_lift_is_the_share_of_right_classes_beyond_chance():
    _, members = drawn_members()
    assert trust._lift(members, members) == 1.0
    assert trust._lift(members[:, [1, 2, 0]], members) == 0.0
    assert trust._lift(0 * members, members) == 0.0
    half = np.vstack([members[:6], members[6:, [1, 2, 0]]])
    assert trust._lift(half, members) == pytest.approx((1 / 2 - 1 / 3) / (1 - 1 / 3))
