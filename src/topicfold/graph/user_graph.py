# SPDX-License-Identifier: BSD-3-Clause
"""The user's own graph: citations, authors, links, in whatever form it comes."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topicfold.core.counts import bad_values, check_structure
from topicfold.exceptions import DataError

LARGEST_WEIGHT = 1e20
_logger = logging.getLogger("topicfold")


def check_graph(graph: Any, n_documents: int) -> sp.csr_array:
    """Return a graph as symmetric CSR without self loops, or say what is wrong.

    Parameters
    ----------
    graph : sparse matrix, array-like or networkx graph
        A square matrix of weights, sparse or dense; a networkx graph with the nodes 0
        to ``n_documents - 1`` (edge attribute ``weight``, default 1); or an edge list,
        an array of shape (n_edges, 2) or, with weights, (n_edges, 3). An array of shape
        (n_documents, n_documents) is a matrix, never an edge list.
    n_documents : int
        Number of documents.

    Returns
    -------
    csr_array of shape (n_documents, n_documents)
        float64, sorted indices, no explicit zeros. A directed graph gets the larger of
        the two weights in both directions, and repeated edges of a list the largest;
        self loops are dropped. Where this changes the graph, it is logged.

    Examples
    --------
    >>> check_graph([[0, 1], [2, 1]], 3).toarray().astype(int).tolist()
    [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    """
    if sp.issparse(graph):
        check_structure(graph, "graph")
        matrix = _check_matrix(sp.csr_array(graph), n_documents)
    elif type(graph).__module__.partition(".")[0] == "networkx":
        matrix = _from_networkx(graph, n_documents)
    else:
        array = _to_array(graph)
        if array.shape == (0,):
            array = array.reshape(0, 2)
        square = array.shape == (n_documents, n_documents)
        if not square and array.ndim == 2 and array.shape[1] in (2, 3):
            matrix = _from_edges(array, n_documents)
        else:
            matrix = _check_matrix(array, n_documents)
    largest = float(matrix.data.max(initial=0.0))
    if largest and not 1 / LARGEST_WEIGHT <= largest <= LARGEST_WEIGHT:
        # Its sums or products are more than float32 can hold.
        raise DataError(
            f"the largest edge weight of graph is {largest:g}. Multiply all weights by "
            "one constant, so that it is about 1."
        )
    return _undirected(matrix)


def _to_array(graph: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(graph, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"graph of type {type(graph).__name__} is not understood ({error}). Give a "
            "sparse matrix, a square array, a networkx graph or an edge list."
        ) from error


def _check_matrix(matrix: Any, n_documents: int) -> sp.csr_array:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DataError(
            f"graph has shape {matrix.shape} and is not square. Give a matrix with one "
            "row and one column per document, or an edge list with 2 or 3 columns."
        )
    if matrix.shape[0] != n_documents:
        raise DataError(
            f"graph has {matrix.shape[0]} nodes but there are {n_documents} documents. "
            "Give one node per document, in the order of the documents."
        )
    try:
        result = sp.csr_array(matrix).astype(np.float64)  # a copy
    except (TypeError, ValueError) as error:
        raise DataError(
            f"graph has weights of dtype {matrix.dtype}. Give real numbers."
        ) from error
    result.sum_duplicates()
    found = bad_values(result)
    if found:
        raise DataError(f"graph has {found}. Give finite, non-negative edge weights.")
    return result


def _from_networkx(graph: Any, n_documents: int) -> sp.csr_array:
    nodes = set(graph.nodes)
    expected = set(range(n_documents))
    if nodes != expected:
        strange = sorted(map(repr, nodes - expected))[:3]
        problem = (
            f"has {len(nodes - expected)} other nodes, such as {', '.join(strange)}"
            if strange
            else f"lacks {len(expected - nodes)} of them, such as "
            f"{min(expected - nodes)}"
        )
        raise DataError(
            f"the nodes of a networkx graph must be the document numbers 0 to "
            f"{n_documents - 1}; graph {problem}. Rename them with "
            "networkx.relabel_nodes, add isolated documents with "
            f"graph.add_nodes_from(range({n_documents}))."
        )
    from networkx import to_scipy_sparse_array

    matrix = to_scipy_sparse_array(graph, nodelist=range(n_documents), dtype=np.float64)
    return _check_matrix(matrix, n_documents)


def _from_edges(edges: NDArray[np.float64], n_documents: int) -> sp.csr_array:
    ends = edges[:, :2]
    bad = ~((ends >= 0) & (ends < n_documents) & (ends == np.floor(ends))).all(axis=1)
    if bad.any():
        first = int(np.argmax(bad))
        raise DataError(
            f"graph, read as an edge list of shape {edges.shape}, has {int(bad.sum())} "
            f"edges whose ends are not document numbers (first: edge {first}, "
            f"{ends[first, 0]:g} to {ends[first, 1]:g}). Use integers from 0 to "
            f"{n_documents - 1}."
        )
    weights = edges[:, 2] if edges.shape[1] == 3 else np.ones(len(edges))
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise DataError(
            f"graph, read as an edge list, has {int(wrong.sum())} weights that are "
            f"negative, NaN or infinite (first: edge {first}, {weights[first]:g}). "
            "Give finite, non-negative edge weights."
        )
    rows, columns = ends.astype(np.int64).T
    # A list has no directions; of repeated edges the heaviest, sorted last, stays.
    pair = np.minimum(rows, columns) * n_documents + np.maximum(rows, columns)
    order = np.lexsort((weights, pair))
    last = order[np.append(pair[order][1:] != pair[order][:-1], True)[: len(order)]]
    graph = sp.csr_array(
        (weights[last], (rows[last], columns[last])), (n_documents, n_documents)
    )
    return symmetrized(graph)


def _undirected(matrix: sp.csr_array) -> sp.csr_array:
    """Drop self loops, take the larger weight of both directions; log changes."""
    edges = matrix.tocoo()
    loops = int(((edges.row == edges.col) & (edges.data > 0)).sum())
    if loops:
        _logger.warning("graph has %d self loops: dropped", loops)
    kept = (edges.row != edges.col) & (edges.data > 0)
    directed = sp.csr_array(
        (edges.data[kept], (edges.row[kept], edges.col[kept])), matrix.shape
    )
    result = symmetrized(directed)
    changed = int((result != directed).nnz)
    if changed:
        _logger.warning(
            "graph is directed: %d weights differ between the two directions; both "
            "get the larger one",
            changed,
        )
    return result


def symmetrized(graph: sp.csr_array) -> sp.csr_array:
    """Return the graph with the larger weight of both directions, indices sorted."""
    result = sp.csr_array(graph.maximum(graph.T))
    result.sort_indices()
    # Half the memory traffic wherever numbers fit, as everywhere in SciPy.
    dtype = sp.get_index_dtype(maxval=max(result.nnz, result.shape[0]))
    arrays = result.data, result.indices.astype(dtype), result.indptr.astype(dtype)
    return sp.csr_array(arrays, shape=result.shape)
