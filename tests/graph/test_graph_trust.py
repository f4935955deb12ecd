# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from scipy import sparse

from topicfold.graph import document_graph
from topicfold.graph.trust import LEAST_TRUST, graph_trust


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
    monkeypatch.setattr("topicfold.graph.trust.BLOCK", 7 * 300)
    assert graph_trust(X, graph, codes) == whole
