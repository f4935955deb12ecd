# SPDX-License-Identifier: BSD-3-Clause
"""Nearest neighbours of sparse documents, exact or by their rare words.

Named similarities turn counts into rows whose sum of products or of minima is the
score: ``cosine`` L2-normalised tf-idf rows, ``intersection`` L1-normalised tf-idf rows
(DTM eq. 21), ``kl`` the L1-normalised counts of the query and, of the neighbour,
``log(max(p, floor) / floor)``: since ``KL = sum p log p - log floor - sum p log(...)``
the neighbours of a document by divergence are those with the largest sum of products.
A user's own similarity is called block by block.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topicfold.core.counts import best_places, check_counts, smooth_idf
from topicfold.core.parameters import whole_number
from topicfold.core.threads import blocks_of, n_threads, run_ranges
from topicfold.exceptions import DataError
from topicfold.graph.inverted_lists import QUANTUM, InvertedLists

Similarity = Callable[[sp.csr_array, sp.csr_array], Any]
SIMILARITIES = ("cosine", "intersection", "kl")
BLOCK_ENTRIES = 1 << 22  # of a user's similarity, in memory at once, per thread
# Up to so many index documents SciPy's product takes at most a tenth of a second more
# than the inverted lists, whose kernels take three to compile.
FEW_DOCUMENTS = 2000
KL_FLOOR = 1e-4  # probability, under a neighbour, of a word that it lacks


class Weighting:
    """Term weights of a named similarity; `idf` are smooth, and None for ``kl``."""

    def __init__(self, counts: sp.csr_array, similarity: str) -> None:
        self.similarity = similarity
        self.idf = None if similarity == "kl" else smooth_idf(counts)

    @property
    def take_min(self) -> bool:
        """Whether the similarity is a sum of minima instead of products."""
        return self.similarity == "intersection"

    @property
    def symmetric(self) -> bool:
        """Whether `queries` and `documents` give the same rows and scores are final."""
        return self.similarity != "kl"

    def queries(self, counts: sp.csr_array) -> sp.csr_array:
        """Return the rows of documents that ask for neighbours."""
        values = counts.data * (1.0 if self.idf is None else self.idf[counts.indices])
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        if self.similarity == "cosine":
            norms = np.sqrt(np.bincount(rows, values * values))
        else:
            norms = np.bincount(rows, values)
        entries = values / norms[rows], counts.indices, counts.indptr
        return sp.csr_array(entries, shape=counts.shape)

    def documents(self, counts: sp.csr_array) -> sp.csr_array:
        """Return the rows of documents that can be neighbours."""
        rows = self.queries(counts)
        if self.similarity == "kl":
            rows.data = np.log(np.maximum(rows.data, KL_FLOOR) / KL_FLOOR)
        return rows

    def similarities(
        self, queries: sp.csr_array, scores: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Turn scores of queries (rows) into similarities, ``exp(-KL)`` for ``kl``; 0
        stays 0.
        """
        if self.similarity != "kl":
            return scores
        rows = np.repeat(np.arange(queries.shape[0]), np.diff(queries.indptr))
        parts = queries.data * np.log(queries.data / KL_FLOOR)
        best = np.bincount(rows, parts, queries.shape[0])[:, None]
        return np.where(scores > 0, np.exp(np.minimum(scores - best, 0.0)), 0.0)


def search_blocks(
    similarity: Similarity,
    queries: sp.csr_array,
    documents: sp.csr_array,
    n_best: int,
    exclude_self: bool,
    threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the best documents (-1: none) and similarities (0) for each query."""
    n_queries, n_documents = queries.shape[0], documents.shape[0]
    best = np.full((n_queries, n_best), -1, dtype=np.int64)
    values = np.zeros((n_queries, n_best))
    # Documents without words have no neighbours, whatever the function says.
    lacking = np.diff(documents.indptr) == 0

    def task(start: int, stop: int) -> None:
        block = _call(similarity, queries[start:stop], documents)
        block[:, lacking] = 0.0
        block[np.diff(queries.indptr[start : stop + 1]) == 0] = 0.0
        if exclude_self:
            block[np.arange(stop - start), np.arange(start, stop)] = 0.0
        for query, scores in enumerate(block, start):
            places = best_places(scores, n_best)
            places = places[scores[places] > 0]
            best[query, : len(places)] = places
            values[query, : len(places)] = scores[places]

    blocks = blocks_of(n_queries if n_best else 0, BLOCK_ENTRIES // n_documents)
    run_ranges(task, blocks, threads)
    return best, values


def rounded_products(
    queries: sp.csr_array, documents: sp.csr_array
) -> NDArray[np.float64]:
    """Return the scores that inverted lists find by sums of products."""
    products: NDArray[np.float64] = (queries @ documents.T).toarray()
    products /= QUANTUM
    np.rint(products, out=products)
    products *= QUANTUM
    return products


def _call(
    similarity: Similarity, queries: sp.csr_array, documents: sp.csr_array
) -> NDArray[np.float64]:
    result = similarity(queries, documents)
    if sp.issparse(result):
        result = result.toarray()
    block = np.array(result, dtype=np.float64)
    expected = (queries.shape[0], documents.shape[0])
    if block.shape != expected:
        raise DataError(
            f"similarity returned an array of shape {block.shape} for {expected[0]} "
            f"query and {expected[1]} index documents. Return one row per query and "
            "one column per index document."
        )
    if np.isnan(block).any():
        row, column = np.argwhere(np.isnan(block))[0]
        raise DataError(
            f"similarity returned NaN for query row {row} of its block and index "
            f"document {column}. Return 0 for documents that have nothing in common."
        )
    return block


Neighbors = tuple[NDArray[np.int64], NDArray[np.float64]]
RECALL_SAMPLE = 200  # documents whose exact neighbours are searched for the recall
_logger = logging.getLogger("topicfold")


class NeighborIndex:
    """Documents in which nearest neighbours are searched, exactly.

    The term weights (idf) are those of the index documents, for new documents too.
    The index is a function of `X` and `similarity` alone: to store one, store `X`.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_documents, n_terms)
        Raw counts, or other non-negative weights.
    similarity : {"cosine", "intersection", "kl"} or callable, default="cosine"
        ``"cosine"`` of tf-idf rows; histogram ``"intersection"``, the sum of minima of
        L1-normalised tf-idf rows; ``"kl"``, ``exp(-KL(query || neighbour))`` of
        L1-normalised counts, where a word has at least probability 1e-4 under the
        neighbour. A callable gets two CSR blocks of raw counts (queries, documents)
        and returns their similarities, dense or sparse; it may be called from
        several threads.

    Attributes
    ----------
    n_documents, n_terms : int
        Shape of `X`.
    counts_ : csr_array of shape (n_documents, n_terms)
        `X` as float64.

    Notes
    -----
    Time: at most one addition for each pair of documents and each word they share;
    frequent words are mostly skipped by bounds that keep the result exact. Memory:
    about 30 bytes per non-zero and 4 per document and thread, never documents ×
    documents. Results are the same bits for any number of threads. Similarities are
    rounded to multiples of 2**-32, so that documents which are equally near tie
    whatever the order of additions; ties go to the lower document number.

    References
    ----------
    H. Turtle and J. Flood (1995), Query evaluation: strategies and optimizations
    (max-score pruning). https://doi.org/10.1016/0306-4573(95)00020-H

    Examples
    --------
    >>> index = NeighborIndex([[3, 1, 0], [0, 2, 2], [2, 1, 0]])
    >>> documents, similarities = index.query([[1, 0, 0]], n_neighbors=2)
    >>> documents
    array([[0, 2]])
    """

    of_words = True

    def __init__(self, X: Any, *, similarity: str | Similarity = "cosine") -> None:
        counts = documents_of(X, "X")
        self.similarity = similarity
        self.n_documents, self.n_terms = counts.shape
        self.counts_ = counts
        if not callable(similarity):
            check_choice(
                similarity, SIMILARITIES, "similarity", "NeighborIndex (or a callable)"
            )

    def query(
        self, X: Any, n_neighbors: int = 10, *, n_jobs: int | None = None
    ) -> Neighbors:
        """Return the nearest index documents of each row of `X`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_terms)
            Raw counts with the same columns as the index.
        n_neighbors : int, default=10
            Neighbours per document; more than there are documents is cut to those.
        n_jobs : int or None, default=None
            Threads; no effect on results.

        Returns
        -------
        documents : ndarray of shape (n_queries, min(n_neighbors, n_documents))
            Index documents, nearest first, then -1 where nothing more is similar.
        similarities : ndarray of the same shape
            Their similarities, 0 beside -1.
        """
        counts = documents_of(X, "X")
        if counts.shape[1] != self.n_terms:
            raise DataError(
                f"X has {counts.shape[1]} terms but the index has {self.n_terms}. "
                "Count the words of new documents with the vocabulary of the index."
            )
        n_best = min(whole_number(n_neighbors, "n_neighbors"), self.n_documents)
        return self._search(counts, self.counts_, n_best, False, n_jobs)

    def query_among(
        self,
        documents: NDArray[np.integer] | None = None,
        n_neighbors: int = 10,
        *,
        n_jobs: int | None = None,
    ) -> Neighbors:
        """Return the neighbours of index documents among the same documents.

        Parameters
        ----------
        documents : ndarray of int or None, default=None
            Numbers of index documents, ascending; None for all.
        n_neighbors : int, default=10
            Neighbours per document; cut to one less than there are `documents`.
        n_jobs : int or None, default=None
            Threads; no effect on results.

        Returns
        -------
        neighbors, similarities : ndarray
            As `query`, a document not being its own neighbour: a row for each of
            `documents`, with numbers and term weights of the whole index.
        """
        n_best = whole_number(n_neighbors, "n_neighbors")
        if documents is None:
            documents, counts = np.arange(self.n_documents), self.counts_
        else:
            documents, counts = np.asarray(documents), self.counts_[documents]
        n_best = min(n_best, max(len(documents) - 1, 0))
        found, values = self._search(counts, counts, n_best, True, n_jobs)
        return np.where(found >= 0, documents[found], -1), values

    def _search(
        self,
        queries: sp.csr_array,
        among: sp.csr_array,
        n_best: int,
        exclude_self: bool,
        n_jobs: int | None,
    ) -> Neighbors:
        options = n_best, exclude_self, n_threads(n_jobs)
        if callable(self.similarity):
            return search_blocks(self.similarity, queries, among, *options)
        weighting = self.weighting_
        own = queries is among and weighting.symmetric
        rows = None if own else weighting.queries(queries)
        if self.n_documents <= FEW_DOCUMENTS and not weighting.take_min:
            documents = weighting.documents(among)
            asked = documents if own else rows
            found, scores = search_blocks(rounded_products, asked, documents, *options)
        else:
            lists = self.lists_
            if among is not self.counts_:
                lists = InvertedLists(weighting.documents(among), weighting.take_min)
            found, scores = lists.search(rows, *options)
        return found, scores if own else weighting.similarities(rows, scores)

    @cached_property
    def weighting_(self) -> Weighting:
        """Term weights of the index documents (named similarities only)."""
        return Weighting(self.counts_, str(self.similarity))

    @cached_property
    def lists_(self) -> InvertedLists:
        """Inverted lists of the index documents (named similarities only)."""
        return InvertedLists(
            self.weighting_.documents(self.counts_), self.weighting_.take_min
        )


def approximate_neighbors(
    index: NeighborIndex, n_neighbors: int, *, n_jobs: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
    """Return neighbours found by their rare words, and their recall.

    Documents whose frequent words alone are alike are missed; similarities are exact.
    The recall is the share of the exact neighbours of 200 sampled documents that were
    found.
    """
    if index.similarity not in ("cosine", "intersection"):
        raise DataError(
            "approximate=True needs similarity='cosine' or 'intersection', got "
            f"{index.similarity!r}. Use approximate=False for exact neighbours."
        )
    n_best = min(n_neighbors, index.n_documents - 1)
    found, similar = index.lists_.search(
        None, n_best, True, n_threads(n_jobs), approximate=True
    )
    recall = _recall(index, found, n_jobs)
    _logger.warning(
        "approximate neighbours: recall %.3f of the exact ones on a sample of %d "
        "documents",
        recall,
        min(RECALL_SAMPLE, index.n_documents),
    )
    return found, similar, recall


def _recall(
    index: NeighborIndex, found: NDArray[np.int64], n_jobs: int | None
) -> float:
    """Return the share of exact neighbours of sampled documents that were found."""
    n_documents, n_best = found.shape
    rng = np.random.default_rng(0)
    size = min(RECALL_SAMPLE, n_documents)
    sample = np.sort(rng.choice(n_documents, size, replace=False))
    exact, _ = index.query(index.counts_[sample], n_best + 1, n_jobs=n_jobs)
    n_exact = n_found = 0
    for document, row in zip(sample, exact, strict=True):
        true = row[(row >= 0) & (row != document)][:n_best]
        n_exact += len(true)
        n_found += len(np.intersect1d(true, found[document]))
    return n_found / n_exact if n_exact else 1.0


def neighbor_matrix(
    near: NDArray[np.int64], values: NDArray[Any], n_documents: int
) -> sp.csr_matrix:
    """Return neighbour lists (-1: none) as a matrix, each row in its list's order."""
    found = near >= 0
    indptr = np.r_[0, np.cumsum(found.sum(axis=1))]
    entries = values[found], near[found], indptr
    return sp.csr_matrix(entries, shape=(len(near), n_documents))


def documents_of(X: Any, name: str) -> sp.csr_array:
    """Return a document-term matrix as canonical float64 CSR, never changing `X`."""
    counts = check_counts(X, name, dtype=np.float64)
    if not counts.shape[0]:
        raise DataError(
            f"{name} has no documents. Give a matrix with at least one row."
        )
    return sp.csr_array(counts)


def check_choice(value: Any, choices: tuple[str, ...], name: str, caller: str) -> None:
    """Raise if a parameter is not one of the named choices."""
    if value not in choices:
        raise DataError(
            f"The {name!r} parameter of {caller} must be one of "
            f"{', '.join(map(repr, choices))}. Got {value!r} instead."
        )
