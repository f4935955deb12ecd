# SPDX-License-Identifier: BSD-3-Clause
"""The document graph: nearest neighbours, with or without labels, or the user's own.

And how far it can be trusted (`graph_trust`): do neighbours have the same words,
classes? Without labels, by the words: ``u = 1 − chance / agreement``, where the
agreement is the mean cosine across edges and chance that of documents joined at random
with the same degrees; rows are the idf weights of a document's words. A graph of random
edges has 0, one of nearest neighbours 0.5 to nearly 1. Twice the corpus, or each
document twice as long, is trusted as much.

With n labels, by the classes: each labelled document is classified without its own
label, once by spreading the other labels along the graph and once by the nearest class
centroid of its words; a and b are the shares found beyond chance. The trust is
``(n a + m u) / (n b + m)`` with m = 5: what the graph tells of classes, measured by
what words tell. A graph that is better than the words has 1.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.preprocessing import normalize
from sklearn.utils._param_validation import StrOptions

from topicfold.core.counts import as_csr, bad_values, check_structure
from topicfold.core.labels import class_numbers, encode_labels
from topicfold.core.parameters import DeclaredParameters, whole, whole_number
from topicfold.exceptions import DataError
from topicfold.graph.embedding import EmbeddingIndex, check_embeddings
from topicfold.graph.neighbors import (
    SIMILARITIES,
    NeighborIndex,
    Similarity,
    approximate_neighbors,
    check_choice,
    documents_of,
    neighbor_matrix,
)

MAX_LABEL_EDGES = 100  # of a document: 101 labelled ones of a class are a clique
LARGE_CORPUS = 200_000  # documents from which approximate neighbours are suggested
LARGEST_WEIGHT = 1e20  # of an edge that a user gives
# Words from which the neighbours of a text by its words count as much as those by its
# embedding (benchmarks/results/embeddings.md).
TELLING_WORDS = 40.0
_logger = logging.getLogger("topicfold")


@dataclass(frozen=True)
class GraphInfo:
    """What is known about a graph that was built.

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
    capped_classes : tuple
        Classes joined by within-class neighbours instead of completely.
    """

    n_edges: int
    n_isolated: int
    recall: float | None
    n_label_edges_added: int
    n_label_edges_removed: int
    capped_classes: tuple[Any, ...]


def document_graph(
    X: Any,
    n_neighbors: int = 10,
    *,
    similarity: str | Similarity = "cosine",
    weights: str = "binary",
    labels: Any = None,
    approximate: bool = False,
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
    labels : array-like of shape (n_documents,) or None, default=None
        Classes: integers from 0 or names; -1, "", None and NaN mean unknown. Labelled
        documents of one class are joined (with the median weight of the other edges)
        and edges between labelled documents of different classes are removed. A class
        of more than 101 labelled documents is joined by the `n_neighbors` nearest
        within it instead of completely.
    approximate : bool, default=False
        Search neighbours by their rare words: up to twice as fast, which is worth it
        from about 200,000 documents. The recall on a sample is logged, and returned in
        the info.
    return_info : bool, default=False
        Return a `GraphInfo` too.
    n_jobs : int or None, default=None
        Threads, as in scikit-learn; no effect on results.

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
    n_neighbors = whole_number(n_neighbors, "n_neighbors")
    check_choice(weights, ("binary", "similarity"), "weights", "document_graph")
    index = NeighborIndex(X, similarity=similarity)
    classes, names = None, np.arange(0)
    if labels is not None:
        classes, names = class_numbers(labels, index.n_documents, name="labels")
    recall = None
    if approximate:
        near, similar, recall = approximate_neighbors(index, n_neighbors, n_jobs=n_jobs)
    else:
        if index.n_documents >= LARGE_CORPUS:
            _logger.info(
                "exact neighbours of %d documents take time that grows with the "
                "square of their number; approximate=True is faster",
                index.n_documents,
            )
        near, similar = index.query_among(None, n_neighbors, n_jobs=n_jobs)
    if weights == "binary":
        similar = np.ones_like(similar)
    graph = symmetrized(neighbor_matrix(near, similar, len(near)))
    added = removed = 0
    capped: tuple[int, ...] = ()
    if classes is not None:
        graph, added, removed, capped = add_label_edges(
            graph, classes, index, n_neighbors, n_jobs
        )
        if capped:
            _logger.info(
                "%d classes have more than %d labelled documents: joined by their "
                "%d nearest neighbours within the class, not completely",
                len(capped),
                MAX_LABEL_EDGES + 1,
                n_neighbors,
            )
    if not return_info:
        return graph
    isolated = int((np.diff(graph.indptr) == 0).sum())
    capped = tuple(names[list(capped)].tolist())
    return graph, GraphInfo(graph.nnz // 2, isolated, recall, added, removed, capped)


def _word_share(X: Any) -> float:
    """Return how much neighbours by words count beside those by embeddings."""
    counts = documents_of(X, "X")
    length = float(counts.sum()) / max(counts.shape[0], 1)
    return length / (length + TELLING_WORDS)


def _joined(
    by_words: sp.csr_array, by_vectors: sp.csr_array, share: float
) -> sp.csr_array:
    """Return edges of both kinds; a row sums to 1, less where one kind is missing."""
    words, vectors = (normalize(edges, norm="l1") for edges in (by_words, by_vectors))
    return sp.csr_array(share * words + (1.0 - share) * vectors)


def add_label_edges(
    graph: sp.csr_array,
    labels: NDArray[np.int64],
    index: NeighborIndex,
    n_neighbors: int,
    n_jobs: int | None,
) -> tuple[sp.csr_array, int, int, tuple[int, ...]]:
    """Join labelled documents of one class and separate those of different classes.

    Also returns how many edges were added and removed, and the classes that are too
    large to be joined completely.

    A class in which a document would get more than `MAX_LABEL_EDGES` is joined by its
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
        if len(members) - 1 <= MAX_LABEL_EDGES:
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
    return result, added, int(apart.sum()) // 2, tuple(capped)


class NeighborGraph(DeclaredParameters, BaseEstimator):
    """How a model joins its documents: the options of a nearest-neighbour graph.

    Give it to a graph model as ``graph=NeighborGraph(n_neighbors=5)``; a grid search
    varies ``graph__n_neighbors``. It holds options only and learns nothing.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours per document; cut to one less than there are documents.
    of : {"words", "embeddings", "both"} or None, default=None
        What is compared. None: embeddings where there are some, else words. Embeddings
        are compared by their cosines, which `metric` and `sublinear_tf` do not change.
        ``"both"``: a document has neighbours of both kinds, whose weights sum to 1;
        those by words have ``n / (n + 40)`` of it in texts of n words.
    metric : {"cosine", "intersection", "kl"} or callable, default="cosine"
        Which documents are near, the `similarity` of `NeighborIndex`.
    edge_weights : {"binary", "similarity"}, default="similarity"
        Every edge weighs 1, as in the papers, or the similarity.
    sublinear_tf : bool, default=True
        Compare ``log(1 + count)`` instead of counts.
    label_edges : bool, default=False
        Whether labels change the graph: documents of one class are joined (with the
        median weight of the other edges), those of different classes separated. Off by
        default: labelled documents would get features that no other document has.

    Examples
    --------
    >>> X = [[2, 1, 0], [2, 0, 0], [0, 1, 3], [0, 0, 1]]
    >>> graph = NeighborGraph(1, edge_weights="binary").build(X)
    >>> graph.toarray().astype(int).tolist()
    [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    """

    _unsaved_parameters = ("metric",)  # a callable has no place in a file

    n_neighbors: Annotated[int, whole(1)]
    of: Annotated[str | None, StrOptions({"words", "embeddings", "both"})]
    metric: Annotated[Any, StrOptions(set(SIMILARITIES)), callable]
    edge_weights: Annotated[str, StrOptions({"binary", "similarity"})]
    sublinear_tf: bool
    label_edges: bool

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        of: str | None = None,
        metric: Any = "cosine",
        edge_weights: str = "similarity",
        sublinear_tf: bool = True,
        label_edges: bool = False,
    ) -> None:
        self._store_parameters(locals())

    def build(
        self,
        X: Any,
        y: Any = None,
        *,
        given: Any = None,
        embeddings: Any = None,
        n_jobs: int | None = None,
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
        embeddings : array-like of shape (n_documents, n_dimensions) or None
            Vectors of the documents, which are compared instead of their words.
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
        if given is None and not self._by_embeddings(embeddings):
            return document_graph(
                counts,
                n_neighbors,
                similarity=self.metric,
                weights=self.edge_weights,
                labels=labels,
                n_jobs=n_jobs,
            )
        index = NeighborIndex(counts, similarity=self.metric)
        if given is not None:
            graph = check_graph(given, n_documents)
        else:
            rows = check_embeddings(embeddings, n_documents)
            near = EmbeddingIndex(rows).query(None, n_neighbors, n_jobs=n_jobs)
            edges = self._edges(*near, n_documents)
            if self.of == "both":
                near = index.query_among(None, n_neighbors, n_jobs=n_jobs)
                by_words = self._edges(*near, n_documents)
                edges = _joined(by_words, edges, _word_share(X))
            graph = symmetrized(edges)
        if labels is None:
            return graph
        return add_label_edges(graph, labels, index, n_neighbors, n_jobs)[0]

    def _by_embeddings(self, embeddings: Any) -> bool:
        """Whether documents are compared by embeddings; refuse what has no effect."""
        if self.of in ("embeddings", "both") and embeddings is None:
            raise DataError(
                f'NeighborGraph(of="{self.of}") needs embeddings: fit(X, '
                "embeddings=...)."
            )
        if self.of == "words" and embeddings is not None:
            raise DataError(
                'NeighborGraph(of="words") compares words, so embeddings would have no '
                'effect. Leave them out, or give of="embeddings".'
            )
        return embeddings is not None

    def index(self, X: Any) -> NeighborIndex:
        """Return the index in which `near` searches neighbours of new documents."""
        return NeighborIndex(self._compared(X), similarity=self.metric)

    def near(
        self,
        index: NeighborIndex | EmbeddingIndex,
        X: Any,
        *,
        n_jobs: int | None = None,
    ) -> sp.csr_array:
        """Return the weights of new documents' edges to their nearest index documents.

        `index` is what the method of that name returned for the training documents, or
        an `EmbeddingIndex`; then X are embeddings. The rows of the result, of shape
        (n_new, n_documents), have the nearest first.
        """
        compared = self._compared(X) if index.of_words else X
        found = index.query(compared, self.n_neighbors, n_jobs=n_jobs)
        return self._edges(*found, index.n_documents)

    def near_both(
        self, training: Any, rows: Any, X: Any, embeddings: Any, n_jobs: int | None
    ) -> sp.csr_array:
        """Return edges of new documents to training ones, by words and by vectors.

        `training` and `rows` are the counts and the embeddings of the latter.
        """
        by_words = self.near(self.index(training), X, n_jobs=n_jobs)
        by_vectors = self.near(EmbeddingIndex(rows), embeddings, n_jobs=n_jobs)
        return _joined(by_words, by_vectors, _word_share(training))

    def _edges(
        self, near: NDArray[np.int64], similar: NDArray[Any], n_documents: int
    ) -> sp.csr_array:
        if self.edge_weights == "binary":
            similar = np.ones_like(similar)
        return sp.csr_array(neighbor_matrix(near, similar, n_documents))

    def _compared(self, X: Any) -> sp.csr_array:
        """Return what neighbours are searched by."""
        self._validate_params()
        counts = documents_of(X, "X")
        if not self.sublinear_tf:
            return counts
        if getattr(X, "dtype", None) == np.float32:
            counts = counts.astype(np.float32)  # logarithms in the precision of X
        return counts.log1p()


def check_graph(graph: Any, n_documents: int, *, edges: str = "edges") -> sp.csr_array:
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
    edges : str, default="edges"
        What the log calls the edges.

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
        matrix = _check_matrix(graph, n_documents)
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
    return _undirected(matrix, edges)


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
        # A copy, with floats before repeated edges are added up.
        result = sp.csr_array(as_csr(matrix), dtype=np.float64, copy=True)
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


def _undirected(matrix: sp.csr_array, edges: str) -> sp.csr_array:
    """Drop self loops, take the larger weight of both directions; log changes."""
    found = matrix.tocoo()
    loops = int(((found.row == found.col) & (found.data > 0)).sum())
    if loops:
        _logger.warning("%s of documents to themselves: %d, dropped", edges, loops)
    kept = (found.row != found.col) & (found.data > 0)
    directed = sp.csr_array(
        (found.data[kept], (found.row[kept], found.col[kept])), matrix.shape
    )
    result = symmetrized(directed)
    changed = int((result != directed).nnz)
    if changed:
        _logger.warning(
            "%s whose weight differs between the two directions: %d; both directions "
            "get the larger one",
            edges,
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


LEAST_TRUST = 0.05
PRIOR_LABELS = 5  # m
MAX_LABELS = 200  # labelled documents that are looked at
MAX_DOCUMENTS = 20_000  # whose edges are looked at
SPREAD, ROUNDS = 0.9, 15  # α of label spreading, and how often
BLOCK = 2**22  # numbers that are spread at once


def graph_trust(X: Any, graph: Any, codes: NDArray[np.int64] | None = None) -> float:
    """Return how far a symmetric graph can be trusted, 0.05 to 1; `codes` -1 are
    unknown.
    """
    rows = _weighted_words(documents_of(X, "X"))
    graph = sp.csr_array(graph)
    trust = _word_trust(graph, rows)
    known = np.flatnonzero(codes >= 0) if codes is not None else np.arange(0)
    if codes is not None and len(np.unique(codes[known])) > 1:
        if len(known) > MAX_LABELS:
            chosen = np.random.default_rng(0).choice(known, MAX_LABELS, replace=False)
            known = np.sort(chosen)
        classes, own = np.unique(codes[known], return_inverse=True)
        members = np.eye(len(classes))[own]
        by_graph = _lift(_spread_scores(graph, known, members), members)
        by_words = _lift(_centroid_scores(rows[known], members), members)
        n = len(known)
        trust = (n * by_graph + PRIOR_LABELS * trust) / (n * by_words + PRIOR_LABELS)
    return float(np.clip(trust, LEAST_TRUST, 1.0))


def _weighted_words(counts: sp.csr_array) -> sp.csr_array:
    """Return unit rows of the idf weights ``log(D / df) + 1`` of documents' words."""
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    idf = np.log(counts.shape[0] / np.maximum(frequency, 1)) + 1.0
    entries = idf[counts.indices], counts.indices, counts.indptr
    return normalize(sp.csr_array(entries, shape=counts.shape))


def _word_trust(graph: sp.csr_array, rows: sp.csr_array) -> float:
    """Return one less the chance share of the cosine across edges."""
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    total = degrees.sum()
    if total <= 0:
        return 0.0
    some = np.arange(len(degrees))
    if len(some) > MAX_DOCUMENTS:
        some = np.random.default_rng(0).choice(len(some), MAX_DOCUMENTS, replace=False)
    products = (graph[some] @ rows).multiply(rows[some]).sum()
    agreement = products / max(degrees[some].sum(), 1e-300)
    pooled = np.asarray(rows.T @ degrees).ravel()
    chance = float(pooled @ pooled) / total**2
    return float(1.0 - chance / agreement) if agreement > 0 else 0.0


def _spread_scores(
    graph: sp.csr_array, known: NDArray[np.intp], members: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how much of each class's other labels reach each labelled document."""
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    scale = sp.diags_array(1.0 / np.sqrt(np.maximum(degrees, 1e-300)))
    step = SPREAD * (scale @ graph @ scale)
    between = np.empty((len(known), len(known)))
    width = max(BLOCK // graph.shape[0], 1)
    for first in range(0, len(known), width):
        block = known[first : first + width]
        start = np.zeros((graph.shape[0], len(block)))
        start[block, np.arange(len(block))] = 1.0
        reached = start
        for _ in range(ROUNDS):
            reached = step @ reached
            reached += start
        between[:, first : first + width] = reached[known]
    np.fill_diagonal(between, 0.0)
    scores: NDArray[np.float64] = between @ members
    return scores / np.maximum(members.sum(axis=0) - members, 1.0)


def _centroid_scores(
    rows: sp.csr_array, members: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return cosines of documents with the class centroids of the others."""
    products = (rows @ rows.T).toarray()
    own = np.diag(products)[:, None]
    sums = products @ members  # x_i · s_c
    norms = np.einsum("ic,ic->c", members, sums)[None, :]  # ‖s_c‖²
    norms = norms - members * (2 * sums - own)  # without document i in its class
    scores: NDArray[np.float64] = (sums - members * own) / np.sqrt(
        np.maximum(norms, 1e-12)
    )
    return scores


def _lift(scores: NDArray[np.float64], members: NDArray[np.float64]) -> float:
    """Return the share of documents whose class has the best score, beyond chance."""
    chance = float((members.mean(axis=0) ** 2).sum())
    found = members[np.arange(len(scores)), scores.argmax(axis=1)]
    right = float((found * (scores.max(axis=1) > 0)).mean())
    return max(right - chance, 0.0) / (1.0 - chance)
