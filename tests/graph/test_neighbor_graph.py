# SPDX-License-Identifier: BSD-3-Clause
"""The options of a graph as one object: parameters, graphs, new documents, files."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from topicfold.exceptions import DataError
from topicfold.graph import NeighborGraph, NeighborIndex, document_graph
from topicfold.persistence import load_estimator, save_estimator


def make_counts(dtype=np.float64):
    rng = np.random.default_rng(3)
    chance = rng.dirichlet(np.full(40, 0.1), size=3)
    rows = [rng.multinomial(20, chance[i % 3]) for i in range(60)]
    return sp.csr_matrix(np.array(rows), dtype=dtype)


def assert_same(one, two):
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("metric", ["cosine", "intersection", "kl"])
@pytest.mark.parametrize("edge_weights", ["binary", "similarity"])
@pytest.mark.parametrize("sublinear_tf", [True, False])
def test_build_is_the_document_graph_of_compared_counts(
    metric, edge_weights, sublinear_tf
):
    X = make_counts()
    options = NeighborGraph(
        4, metric=metric, edge_weights=edge_weights, sublinear_tf=sublinear_tf
    )
    expected = document_graph(
        X.log1p() if sublinear_tf else X, 4, similarity=metric, weights=edge_weights
    )
    assert_same(options.build(X), expected)
    assert_same(options.build(X.toarray(), n_jobs=2), expected)


def test_logarithms_are_taken_in_the_precision_of_the_counts():
    X = make_counts(np.float32)
    assert_same(
        NeighborGraph(4).build(X), document_graph(X.log1p(), 4, weights="similarity")
    )


@pytest.mark.parametrize("given", [None, [[0, 1], [2, 5]]])
def test_labels_join_and_part_documents(given):
    X, names = make_counts(), [None] * 60
    names[0], names[2], names[1] = "b", "b", "a"
    plain = NeighborGraph(4).build(X, names, given=given)
    assert_same(plain, NeighborGraph(4).build(X, given=given))
    graph = NeighborGraph(4, label_edges=True).build(X, names, given=given)
    assert graph[0, 2] == graph[2, 0] >= np.median(plain.data)
    assert graph[0, 1] == 0.0
    assert given is None or graph[2, 5] == 1.0


def test_near_gives_the_edges_of_new_documents():
    X = make_counts()
    options = NeighborGraph(3, edge_weights="similarity")
    near = options.near(options.index(X[:50]), X[50:])
    found, similar = NeighborIndex(X[:50].log1p()).query(X[50:].log1p(), 3)
    assert near.shape == (10, 50)
    for row in range(10):
        np.testing.assert_array_equal(
            near[[row]].toarray()[0, found[row]], similar[row]
        )
    options.set_params(edge_weights="binary")
    ones = options.near(options.index(X[:50]), X[50:])
    assert ones.nnz == near.nnz
    assert (ones.data == 1.0).all()


def test_parameters_are_those_of_scikit_learn(tmp_path):
    options = NeighborGraph(5, metric="kl", edge_weights="binary", sublinear_tf=False)
    assert clone(options).get_params() == options.get_params()
    save_estimator(options, tmp_path / "graph")
    assert load_estimator(tmp_path / "graph").get_params() == options.get_params()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"metric": "euclid"}, "metric"),
        ({"edge_weights": "heat"}, "edge_weights"),
        ({"sublinear_tf": "no"}, "sublinear_tf"),
        ({"label_edges": "no"}, "label_edges"),
    ],
)
def test_wrong_options_are_named_when_a_graph_is_built(options, message):
    with pytest.raises(ValueError, match=f"'{message}' parameter of NeighborGraph"):
        NeighborGraph(**options).build(make_counts())


def test_labels_of_other_documents_are_refused():
    with pytest.raises(DataError, match="y has 3 labels for 60 documents"):
        NeighborGraph(label_edges=True).build(make_counts(), [0, 1, 1])
