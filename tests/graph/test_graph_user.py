# SPDX-License-Identifier: BSD-3-Clause
"""The user's own graph in all its forms, and what is said when it is wrong."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from topicfold.exceptions import DataError
from topicfold.graph import check_graph

PATH = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]])


@pytest.mark.parametrize(
    "graph",
    [
        PATH,
        PATH.astype(np.float32),
        PATH.astype(int).tolist(),
        sp.csr_array(PATH),
        sp.csc_matrix(PATH),
        sp.coo_array(PATH),
        np.array([[0, 1, 2.0], [2, 1, 1.0]]),
        [(0, 1, 2.0), (1, 0, 0.5), (1, 2, 1.0), (0, 2, 0.0)],
    ],
)
def test_every_form_gives_the_same_graph(graph, caplog):
    result = check_graph(graph, 3)
    assert isinstance(result, sp.csr_array)
    assert result.dtype == np.float64
    assert result.nnz == 4
    np.testing.assert_array_equal(result.toarray(), PATH)
    assert not caplog.text


def test_edge_lists_without_weights_repeated_and_empty():
    result = check_graph([[0, 1], [1, 0], [0, 1], [3, 2]], 5)
    assert result.toarray().sum() == 4
    assert check_graph(np.empty((0, 2)), 5).nnz == 0
    assert check_graph([], 5).nnz == 0


def test_directed_graphs_are_symmetrised_and_said_so(caplog):
    directed = sp.csr_array(np.array([[0.0, 2.0], [1.0, 0.0]]))
    result = check_graph(directed, 2)
    assert result.toarray().tolist() == [[0, 2], [2, 0]]
    assert "edges whose weight differs between the two directions: 1;" in caplog.text
    assert directed.toarray().tolist() == [[0, 2], [1, 0]]


def test_self_loops_are_dropped_and_said_so(caplog):
    loops = sp.csr_array(np.array([[3.0, 1.0], [1.0, 0.0]]))
    assert check_graph(loops, 2).toarray().tolist() == [[0, 1], [1, 0]]
    assert "edges of documents to themselves: 1, dropped" in caplog.text
    assert loops.nnz == 3
    caplog.clear()
    assert check_graph([[1, 1], [0, 1], [2, 1]], 4).nnz == 4
    assert "edges of documents to themselves: 1, dropped" in caplog.text


def test_networkx_graphs(caplog):
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = networkx.Graph()
    graph.add_nodes_from([2, 0, 1])
    graph.add_edge(0, 1, weight=2.0)
    graph.add_edge(1, 2)
    np.testing.assert_array_equal(check_graph(graph, 3).toarray(), PATH)
    assert not caplog.text
    with pytest.raises(DataError, match="lacks 1 of them, such as 3"):
        check_graph(graph, 4)
    with pytest.raises(DataError, match="has 1 other nodes, such as 2"):
        check_graph(graph, 2)
    with pytest.raises(DataError, match="other nodes, such as 'a', 'b'"):
        check_graph(networkx.Graph([("a", "b")]), 2)
    directed = networkx.DiGraph([(0, 1)])
    assert check_graph(directed, 2).toarray().tolist() == [[0, 1], [1, 0]]
    assert "differs between the two directions" in caplog.text


@pytest.mark.parametrize(
    ("graph", "n_documents", "message"),
    [
        (np.zeros((4, 5)), 4, r"shape \(4, 5\) and is not square"),
        (np.zeros(4), 4, r"shape \(4,\) and is not square"),
        (sp.csr_array((2, 3)), 2, r"shape \(2, 3\) and is not square"),
        (sp.csr_array((4, 4)), 5, "graph has 4 nodes but there are 5 documents"),
        (np.zeros((6, 6)), 5, "graph has 6 nodes but there are 5 documents"),
        (-PATH, 3, r"graph has 4 negative entries \(first at row 0, column 1\)"),
        (PATH * np.nan, 3, "graph has 9 NaN entries"),
        ([[0, 1], [1, 7]], 3, r"first: edge 1, 1 to 7\). Use integers from 0 to 2"),
        ([[0, 1], [-1, 2], [1, 2], [0, 2]], 3, "edge 1, -1 to 2"),
        ([[0.5, 1.0]], 3, "edge 0, 0.5 to 1"),
        ([[np.nan, 1.0]], 3, "ends are not document numbers"),
        ([[0, 1, -2.0]], 4, r"1 weights that are negative, NaN .* edge 0, -2"),
        ([[0, 1, np.nan]], 4, "edge 0, nan"),
        (np.full((3, 3), "x"), 3, "graph of type ndarray is not understood"),
        ("knn", 3, "graph of type str is not understood"),
        ({"a": 1}, 3, "graph of type dict is not understood"),
        ([[0, 1], [2]], 3, "graph of type list is not understood"),
    ],
)
def test_errors_say_what_is_wrong(graph, n_documents, message):
    with pytest.raises(DataError, match=message):
        check_graph(graph, n_documents)


@pytest.mark.parametrize("weight", [1e300, 1e21, 1e-21, 1e-300])
@pytest.mark.parametrize("form", ["sparse", "dense", "edges", "networkx"])
def test_weights_of_an_absurd_scale_are_refused(weight, form):
    matrix = np.array([[0.0, weight, 0.0], [weight, 0.0, 0.0], [0.0, 0.0, 0.0]])
    graph = {
        "sparse": lambda: sp.csr_matrix(matrix),
        "dense": lambda: matrix,
        "edges": lambda: [[0, 1, weight]],
        "networkx": lambda: pytest.importorskip("networkx").from_numpy_array(matrix),
    }[form]()
    with pytest.raises(DataError, match=r"largest edge weight of graph is 1e.*about 1"):
        check_graph(graph, 3)


def test_a_faint_edge_beside_others_is_kept():
    graph = check_graph([[0, 1, 1.0], [1, 2, 1e-200]], 3)
    assert graph[2, 1] == 1e-200


@pytest.mark.parametrize("index", [3, -1, 2**31 - 1])
def test_indices_beyond_the_documents_are_refused(index):
    graph = sp.csr_matrix((3, 3))
    graph.data, graph.indptr = np.ones(1), np.array([0, 1, 1, 1], dtype=np.int32)
    graph.indices = np.array([index], dtype=np.int32)
    with pytest.raises(DataError, match="graph"):
        check_graph(graph, 3)
