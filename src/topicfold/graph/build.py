# SPDX-License-Identifier: BSD-3-Clause
"""The document graph: nearest neighbours, symmetrised, with or without labels."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from topicfold.core.labels import encode_labels
from topicfold.exceptions import DataError
from topicfold.graph.neighbors import (
    NeighborIndex,
    approximate_neighbors,
    check_choice,
    check_count_parameter,
    check_counts,
    document_neighbors,
)
from topicfold.graph.similarity import SIMILARITIES, Similarity
from topicfold.graph.user_graph import check_graph, symmetrized

MAX_LABEL_EDGES = 100  # default: a class of 101 labelled documents is still a clique
LARGE_CORPUS = 200_000  # documents from which approximate neighbours are suggested
_logger = logging.getLogger("topicfold")


@dataclass(frozen=True)
class GraphInfo:
    """What there is to know about a built graph.

    Attributes
    ----------
    n_edges : int
        Undirected edges.
    n_isolated : int
        Documents without an edge.
    recall : float or None
        Recall of approximate neighbours on a sample; None for exact ones.
    n_label_edges_added, n_label_edges_removed : int
        Edges that labels added between and removed from nearest neighbours.
    capped_classes : tuple of int
        Classes joined by within-class neighbours instead of completely.
    """

    n_edges: int
    n_isolated: int
    recall: float | None
    n_label_edges_added: int
    n_label_edges_removed: int
    capped_classes: tuple[int, ...]


def document_graph(
    X: Any,
    n_neighbors: int = 10,
    *,
    similarity: str | Similarity = "cosine",
    weights: str = "binary",
    labels: Any = None,
    within_class: bool = False,
    max_label_edges: int | None = None,
    approximate: bool = False,
    random_state: int = 0,
    return_info: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """Build the symmetric nearest-neighbour graph of documents.

    Two documents are joined if one is among the nearest neighbours of the other.
    Documents that share no word are never joined; documents without words are
    isolated. Exact unless `approximate`; see `NeighborIndex` for cost and ties.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_documents, n_terms)
        Raw counts, or other non-negative weights.
    n_neighbors : int, default=10
        Neighbours per document; cut to ``n_documents - 1``. More make a smoother graph.
    similarity : {"cosine", "intersection", "kl"} or callable, default="cosine"
        As in `NeighborIndex`.
    weights : {"binary", "similarity"}, default="binary"
        Every edge has weight 1, or the larger of its two similarities.
    labels : array-like of int of shape (n_documents,) or None, default=None
        Classes, -1 for unknown. Labelled documents of one class are joined (with the
        median weight of the other edges) and edges between labelled documents of
        different classes are removed.
    within_class : bool, default=False
        Use `labels` in the search instead: neighbours of a labelled document are
        searched among the labelled documents of its class only.
    max_label_edges : int or None, default=None
        Most label edges of a document, None for 100. A class of m labelled documents
        is joined completely, m - 1 edges per document, up to this; a larger class is
        joined by the `n_neighbors` nearest within the class.
    approximate : bool, default=False
        Use pynndescent (``topicfold[ann]``): worth it from about 200,000 documents.
        The recall on a sample is logged, and returned in the info.
    random_state : int, default=0
        Seed of approximate neighbours; exact ones are not random.
    return_info : bool, default=False
        Return a `GraphInfo` too.
    n_jobs : int or None, default=None
        Threads, as in scikit-learn; no effect on exact neighbours.

    Returns
    -------
    graph : csr_array of shape (n_documents, n_documents)
        Symmetric, float64, sorted indices, no self loops, no explicit zeros.
    info : GraphInfo
        Only with ``return_info=True``.

    Examples
    --------
    >>> graph = document_graph([[2, 1, 0], [2, 0, 0], [0, 1, 3], [0, 0, 0]], 1)
    >>> graph.toarray().astype(int).tolist()
    [[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    """
    caller = "document_graph"
    n_neighbors = check_count_parameter(n_neighbors, "n_neighbors", caller)
    check_choice(weights, ("binary", "similarity"), "weights", caller)
    cap = _check_label_options(labels, within_class, max_label_edges, approximate)
    index = NeighborIndex(X, similarity=similarity)
    classes = None if labels is None else check_labels(labels, index.n_documents)
    recall = None
    if approximate:
        near, similar, recall = approximate_neighbors(
            index, n_neighbors, random_state=random_state, n_jobs=n_jobs
        )
    else:
        if index.n_documents >= LARGE_CORPUS:
            _logger.info(
                "exact neighbours of %d documents take time that grows with the "
                "square of their number; approximate=True is faster",
                index.n_documents,
            )
        searched = classes if within_class else None
        near, similar = document_neighbors(index, n_neighbors, searched, n_jobs=n_jobs)
    if weights == "binary":
        similar = np.ones_like(similar)
    directed = _directed(near, similar, len(near))
    directed.sort_indices()
    graph, added, removed = symmetrized(directed), 0, 0
    capped: tuple[int, ...] = ()
    if classes is not None and not within_class:
        graph, added, removed, capped = add_label_edges(
            graph, classes, index, n_neighbors, cap, n_jobs
        )
        if capped:
            _logger.info(
                "%d classes have more than %d labelled documents: joined by their "
                "%d nearest neighbours within the class, not completely",
                len(capped),
                cap + 1,
                n_neighbors,
            )
    if not return_info:
        return graph
    isolated = int((np.diff(graph.indptr) == 0).sum())
    return graph, GraphInfo(graph.nnz // 2, isolated, recall, added, removed, capped)


def _check_label_options(
    labels: Any, within_class: bool, max_label_edges: int | None, approximate: bool
) -> int:
    """Refuse options that would have no effect; return the cap of label edges."""
    if within_class and labels is None:
        raise DataError(
            "within_class=True needs labels. Give one label per document, -1 where "
            "it is unknown."
        )
    if within_class and approximate:
        raise DataError(
            "within_class=True searches each class exactly. Use approximate=False."
        )
    if max_label_edges is None:
        return MAX_LABEL_EDGES
    if labels is None or within_class:
        raise DataError(
            "max_label_edges has an effect only with labels and within_class=False. "
            "Leave it out."
        )
    return check_count_parameter(max_label_edges, "max_label_edges", "document_graph")


def _directed(
    near: NDArray[np.int64], values: NDArray[np.float64], n_documents: int
) -> sp.csr_array:
    """Return neighbour lists (-1: none) as a matrix, each row in its list's order."""
    found = near >= 0
    indptr = np.r_[0, np.cumsum(found.sum(axis=1))]
    return sp.csr_array(
        (values[found], near[found], indptr), shape=(len(near), n_documents)
    )


class LabelEdges(NamedTuple):
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

    A class in which a document would get more than `max_label_edges` is joined by its
    within-class nearest neighbours instead of completely. A label edge is as heavy as
    the median edge of `graph`: 1 among binary ones, as in the paper.
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
    added = (result.nnz - kept.nnz) // 2
    return LabelEdges(result, added, int(apart.sum()) // 2, tuple(capped))


def check_labels(labels: Any, n_documents: int) -> NDArray[np.int64]:
    """Return labels as integers with -1 for unknown."""
    array = np.asarray(labels)
    if array.shape != (n_documents,):
        raise DataError(
            f"labels has shape {array.shape} but there are {n_documents} documents. "
            "Give one label per document, -1 where it is unknown."
        )
    if array.dtype.kind not in "iu":
        raise DataError(
            f"labels has dtype {array.dtype}. Give integers, -1 for unknown; "
            "sklearn.preprocessing.LabelEncoder turns names into integers."
        )
    if (array < -1).any():
        first = int(np.argmax(array < -1))
        raise DataError(
            f"labels[{first}] is {array[first]}. Use -1 for unknown and integers "
            "from 0 for classes."
        )
    return array.astype(np.int64)


class NeighborGraph(BaseEstimator):
    """How a model joins its documents: the options of a nearest-neighbour graph.

    Give it to a graph model as ``graph=NeighborGraph(n_neighbors=5)``; a grid search
    varies ``graph__n_neighbors``. It holds options only and learns nothing.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours per document; cut to one less than there are documents.
    metric : {"cosine", "intersection", "kl"} or callable, default="cosine"
        Which documents are near, the `similarity` of `NeighborIndex`.
    edge_weights : {"binary", "similarity"}, default="similarity"
        Every edge weighs 1, as in the papers, or the similarity.
    sublinear_tf : bool, default=True
        Compare ``log(1 + count)`` instead of counts.
    label_edges : bool, default=False
        Whether labels change the graph: documents of one class are joined (with the
        median weight of the other edges), those of different classes parted. Off,
        because the features of labelled documents then differ from all others'.

    Examples
    --------
    >>> X = [[2, 1, 0], [2, 0, 0], [0, 1, 3], [0, 0, 1]]
    >>> graph = NeighborGraph(1, edge_weights="binary").build(X)
    >>> graph.toarray().astype(int).tolist()
    [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    """

    _unsaved_parameters = ("metric",)  # a callable has no place in a file
    _parameter_constraints: dict = {  # noqa: RUF012
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "metric": [StrOptions(set(SIMILARITIES)), callable],
        "edge_weights": [StrOptions({"binary", "similarity"})],
        "sublinear_tf": ["boolean"],
        "label_edges": ["boolean"],
    }

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        metric: str | Similarity = "cosine",
        edge_weights: str = "similarity",
        sublinear_tf: bool = True,
        label_edges: bool = False,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.edge_weights = edge_weights
        self.sublinear_tf = sublinear_tf
        self.label_edges = label_edges

    def build(
        self, X: Any, y: Any = None, *, given: Any = None, n_jobs: int | None = None
    ) -> sp.csr_array:
        """Return the graph of documents; with `label_edges` labels change it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Counts or other non-negative weights.
        y : array-like of shape (n_documents,) or None, default=None
            Labels: integers from 0 or names; -1, "", None and NaN mean unknown. Not
            used without `label_edges`.
        given : sparse matrix, edge list, networkx graph or None, default=None
            The documents' own graph instead of nearest neighbours (`check_graph`);
            the options then count only for the label edges of large classes.
        n_jobs : int or None, default=None
            Threads; no effect on the result.

        Returns
        -------
        csr_array of shape (n_documents, n_documents)
            Symmetric, as `document_graph` returns it.
        """
        counts = self._compared(X)
        n_documents = counts.shape[0]
        labels = encode_labels(y, n_documents) if self.label_edges else None
        n_neighbors = max(1, min(self.n_neighbors, n_documents - 1))
        if given is None:
            return document_graph(
                counts,
                n_neighbors,
                similarity=self.metric,
                weights=self.edge_weights,
                labels=labels,
                n_jobs=n_jobs,
            )
        graph = check_graph(given, n_documents)
        if labels is None:
            return graph
        index = NeighborIndex(counts, similarity=self.metric)
        return add_label_edges(
            graph, labels, index, n_neighbors, MAX_LABEL_EDGES, n_jobs
        ).graph

    def index(self, X: Any) -> NeighborIndex:
        """Return the index in which `near` searches neighbours of new documents."""
        return NeighborIndex(self._compared(X), similarity=self.metric)

    def near(
        self, index: NeighborIndex, X: Any, *, n_jobs: int | None = None
    ) -> sp.csr_array:
        """Return the weights of new documents' edges to their nearest index documents.

        `index` is what the method of that name returned for the training documents.
        The rows of the result, of shape (n_new, n_documents), have the nearest first.
        """
        found, similar = index.query(self._compared(X), self.n_neighbors, n_jobs=n_jobs)
        if self.edge_weights == "binary":
            similar = np.ones_like(similar)
        return _directed(found, similar, index.n_documents)

    def _compared(self, X: Any) -> sp.csr_array:
        """Return what neighbours are searched by."""
        self._validate_params()
        counts = check_counts(X, "X")
        if not self.sublinear_tf:
            return counts
        if getattr(X, "dtype", None) == np.float32:
            counts = counts.astype(np.float32)  # logarithms in the precision of X
        return counts.log1p()
