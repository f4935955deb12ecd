# SPDX-License-Identifier: BSD-3-Clause
"""The document graph: form, weights, label edges, approximate neighbours, errors."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import scipy.sparse as sp

from topicfold.exceptions import DataError
from topicfold.graph import NeighborIndex, document_graph


def make_counts(n_documents=80, n_terms=50, seed=0):
    rng = np.random.default_rng(seed)
    chance = rng.dirichlet(np.full(n_terms, 0.1), size=4)
    rows = [rng.multinomial(20, chance[i % 4]) for i in range(n_documents)]
    return sp.csr_matrix(np.array(rows))


def assert_good_form(graph, n_documents):
    assert isinstance(graph, sp.csr_array)
    assert graph.shape == (n_documents, n_documents)
    assert graph.dtype == np.float64
    assert graph.indices.dtype == np.int32
    assert (graph != graph.T).nnz == 0
    assert not graph.diagonal().any()
    assert (graph.data > 0).all()
    assert sp.csr_array((graph.data, graph.indices, graph.indptr)).has_sorted_indices


@pytest.mark.parametrize("similarity", ["cosine", "intersection", "kl", "own"])
@pytest.mark.parametrize("weights", ["binary", "similarity"])
def test_graph_joins_neighbors_of_either(similarity, weights):
    counts = make_counts()
    own = (lambda a, b: a @ b.T) if similarity == "own" else similarity
    graph = document_graph(counts, 4, similarity=own, weights=weights)
    assert_good_form(graph, 80)
    found, values = NeighborIndex(counts, similarity=own).query_among(None, 4)
    expected = np.zeros((80, 80))
    for row in range(80):
        for column, value in zip(found[row], values[row], strict=True):
            if column >= 0:
                expected[row, column] = 1.0 if weights == "binary" else value
    np.testing.assert_array_equal(graph.toarray(), np.maximum(expected, expected.T))


def test_threads_change_no_bit_of_the_graph():
    counts = make_counts(200)
    one = document_graph(counts, 5, weights="similarity", n_jobs=1)
    two = document_graph(counts, 5, weights="similarity", n_jobs=2)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_documents_that_share_nothing_are_not_joined():
    shared = [np.ones((3, 2)), np.ones((2, 2)), np.zeros((1, 1))]
    counts = sp.block_diag([sp.coo_array(block) for block in shared])
    graph, info = document_graph(counts, 10, similarity="kl", return_info=True)
    assert_good_form(graph, 6)
    assert graph.sum(axis=1).tolist() == [2, 2, 2, 1, 1, 0]
    assert (info.n_edges, info.n_isolated, info.recall) == (4, 1, None)
    assert document_graph([[1.0]], 3).nnz == 0
    assert document_graph(np.zeros((3, 2)), labels=[-1, -1, -1]).nnz == 0


def test_duplicates_are_neighbors_of_each_other():
    graph = document_graph(np.tile([[1, 2]], (5, 1)), 2, weights="similarity")
    assert graph[[0], [1]] == 1.0
    # Everyone's nearest are the first ones: ties go to lower numbers.
    assert graph.toarray()[4].tolist() == [1, 1, 0, 0, 0]


def test_label_edges_join_classes_and_part_others():
    counts = make_counts(40)
    labels = np.full(40, -1)
    labels[[0, 1, 2]] = 0
    labels[[4, 8]] = 1  # planted like document 0: near to it
    plain = document_graph(counts, 6)
    graph, info = document_graph(counts, 6, labels=labels, return_info=True)
    assert_good_form(graph, 40)
    expected = plain.toarray()
    known = labels >= 0
    both = known[:, None] & known[None]
    same = labels[:, None] == labels[None]
    expected[both & ~same] = 0
    expected[both & same] = 1
    np.fill_diagonal(expected, 0)
    np.testing.assert_array_equal(graph.toarray(), expected)
    assert plain[[0], [4]] == 1.0
    assert graph[[0], [4]] == 0.0
    assert info.n_label_edges_removed == (plain.toarray()[both & ~same]).sum() // 2
    assert info.n_edges - plain.nnz // 2 == (
        info.n_label_edges_added - info.n_label_edges_removed
    )
    assert info.capped_classes == ()


def test_label_edges_are_as_heavy_as_a_usual_edge():
    counts = make_counts(40)
    labels = np.where(np.arange(40) < 3, 0, -1)
    graph = document_graph(counts, 6, weights="similarity", labels=labels)
    assert_good_form(graph, 40)
    usual = np.median(document_graph(counts, 6, weights="similarity").data)
    assert graph[[0, 0, 1], [1, 2, 2]].min() == usual < 1
    assert (document_graph(counts, 6, labels=labels).data == 1).all()


def test_a_giant_class_gets_neighbors_instead_of_a_clique(caplog, monkeypatch):
    counts = make_counts(300)
    labels = np.zeros(300, dtype=int)
    with caplog.at_level(logging.INFO, "topicfold"):
        graph, info = document_graph(counts, 5, labels=labels, return_info=True)
    assert_good_form(graph, 300)
    assert info.capped_classes == (0,)
    assert "more than 101 labelled documents" in caplog.text
    assert graph.nnz <= 2 * 5 * 300
    monkeypatch.setattr("topicfold.graph.build.MAX_LABEL_EDGES", 299)
    small = document_graph(counts, 5, labels=labels)
    assert small.nnz == 300 * 299


def test_the_cap_is_on_edges_of_a_document(monkeypatch):
    counts = make_counts(12)
    labels = np.where(np.arange(12) < 4, 0, -1)
    monkeypatch.setattr("topicfold.graph.build.MAX_LABEL_EDGES", 3)
    _, joined = document_graph(counts, 1, labels=labels, return_info=True)
    monkeypatch.setattr("topicfold.graph.build.MAX_LABEL_EDGES", 2)
    _, capped = document_graph(counts, 1, labels=labels, return_info=True)
    assert joined.capped_classes == ()
    assert capped.capped_classes == (0,)


def test_approximate_neighbors_report_their_recall(caplog):
    counts = sp.vstack([make_counts(150, 60), sp.csr_matrix((2, 60))])
    graph, info = document_graph(counts, 5, approximate=True, return_info=True)
    assert_good_form(graph, 152)
    assert 0.4 < info.recall < 1
    assert f"recall {info.recall:.3f}" in caplog.text
    assert info.n_isolated == 2
    exact = document_graph(counts, 5)
    assert 0.4 * exact.nnz < graph.multiply(exact).nnz < exact.nnz


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors=0 must be a whole number"),
        ({"n_neighbors": 2.5}, "n_neighbors=2.5 must be"),
        ({"weights": "heat"}, "'weights' .* 'binary', 'similarity'. Got 'heat'"),
        ({"similarity": "dot"}, "Got 'dot' instead"),
        ({"labels": [0] * 9}, "labels has 9 labels for 10 documents"),
        ({"labels": [0.5] * 10}, "labels is continuous"),
        ({"similarity": "kl", "approximate": True}, "'cosine' or 'intersection'"),
    ],
)
def test_options_are_refused_with_a_reason(options, message):
    with pytest.raises(DataError, match=message):
        document_graph(make_counts(10), **options)


def test_a_large_corpus_is_told_of_the_quicker_way(monkeypatch, caplog):
    counts = make_counts(20)
    with caplog.at_level(logging.INFO, "topicfold"):
        document_graph(counts, 3)
        assert "approximate=True is faster" not in caplog.text
        monkeypatch.setattr("topicfold.graph.build.LARGE_CORPUS", 20)
        document_graph(counts, 3)
    assert "exact neighbours of 20 documents" in caplog.text
    assert "approximate=True is faster" in caplog.text
