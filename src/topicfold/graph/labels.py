# SPDX-License-Identifier: BSD-3-Clause
"""Edges from labels (DTM §5.2): join a class, part different classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topicfold.graph.neighbors import NeighborIndex

MAX_LABEL_EDGES = 100  # default: a class of 101 labelled documents is still a clique


@dataclass(frozen=True)
class LabelEdges:
    """A graph with label edges, and what they changed."""

    graph: sp.csr_array
    n_added: int
    n_removed: int
    capped_classes: tuple[int, ...]


def add_label_edges(
    graph: sp.csr_array,
    labels: NDArray[np.int64],
    index: NeighborIndex,
    n_neighbors: int,
    max_label_edges: int,
    n_jobs: int | None,
) -> LabelEdges:
    """Join labelled documents of one class and part those of different classes.

    Parameters
    ----------
    graph : csr_array of shape (n_documents, n_documents)
        Symmetric.
    labels : ndarray of shape (n_documents,)
        Classes, -1 for unknown.
    index : NeighborIndex
        The documents, to search neighbours within large classes.
    n_neighbors : int
        Neighbours of a document within a large class.
    max_label_edges : int
        A class in which a document would get more label edges than this is joined by
        its within-class nearest neighbours instead of completely.
    n_jobs : int or None
        Threads.

    Returns
    -------
    LabelEdges
        The new graph, the numbers of edges added and removed, the classes that were
        too large to be joined completely. A label edge is as heavy as the median
        edge of `graph`: 1 among binary ones, as in the paper.
    """
    edges = graph.tocoo()
    ends = labels[edges.row], labels[edges.col]
    apart = (ends[0] >= 0) & (ends[1] >= 0) & (ends[0] != ends[1])
    kept = sp.csr_array(
        (edges.data[~apart], (edges.row[~apart], edges.col[~apart])), graph.shape
    )
    rows, columns, capped = [edges.row[:0]], [edges.row[:0]], []
    for label in np.unique(labels[labels >= 0]):
        members = np.flatnonzero(labels == label)
        if len(members) - 1 <= max_label_edges:
            first = np.repeat(members, len(members))
            second = np.tile(members, len(members))
        else:
            capped.append(int(label))
            near, _ = index.query_among(members, n_neighbors, n_jobs=n_jobs)
            first = np.repeat(members, near.shape[1])[near.ravel() >= 0]
            second = near.ravel()[near.ravel() >= 0]
        rows.append(first[first != second])
        columns.append(second[first != second])
    pairs = np.concatenate(rows), np.concatenate(columns)
    usual = float(np.median(graph.data)) if graph.nnz else 1.0
    joined = sp.csr_array((np.full(len(pairs[0]), usual), pairs), graph.shape)
    result = symmetrized(sp.csr_array(kept.maximum(joined)))
    return LabelEdges(
        result,
        (result.nnz - kept.nnz) // 2,
        int(apart.sum()) // 2,
        tuple(capped),
    )


def symmetrized(graph: sp.csr_array) -> sp.csr_array:
    """Return the graph with the larger weight of both directions, indices sorted."""
    result = sp.csr_array(graph.maximum(graph.T))
    result.sort_indices()
    # Half the memory traffic wherever numbers fit, as everywhere in SciPy.
    dtype = sp.get_index_dtype(maxval=max(result.nnz, result.shape[0]))
    arrays = result.data, result.indices.astype(dtype), result.indptr.astype(dtype)
    return sp.csr_array(arrays, shape=result.shape)
