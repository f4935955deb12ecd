# SPDX-License-Identifier: BSD-3-Clause
"""Similarities of documents: the named ones as rows, the user's own by blocks.

The named ones turn counts into rows whose sum of products or of minima is the score.

``cosine`` uses L2-normalised tf-idf rows, ``intersection`` L1-normalised tf-idf rows
(DTM eq. 21), ``kl`` the L1-normalised counts of the query and, of the neighbour,
``log(max(p, floor) / floor)``: since ``KL = sum p log p - log floor - sum p log(...)``
the neighbours of a document by divergence are those with the largest sum of products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topicfold.core.threads import run_ranges
from topicfold.exceptions import DataError

Similarity = Callable[[sp.csr_array, sp.csr_array], Any]
SIMILARITIES = ("cosine", "intersection", "kl")
BLOCK_ENTRIES = 1 << 22  # of a user's similarity, in memory at once, per thread
KL_FLOOR = 1e-4  # probability, under a neighbour, of a word that it lacks


@dataclass(frozen=True)
class Weighting:
    """Term weights of one of the named similarities, fitted on the index documents.

    `idf` holds smooth inverse document frequencies; None for ``kl``.
    """

    similarity: str
    idf: NDArray[np.float64] | None

    @classmethod
    def fit(cls, counts: sp.csr_array, similarity: str) -> Weighting:
        """Learn the term weights of `counts` (as scikit-learn's TfidfTransformer)."""
        if similarity == "kl":
            return cls(similarity, None)
        n_documents, n_terms = counts.shape
        frequency = np.bincount(counts.indices, minlength=n_terms)
        return cls(similarity, np.log((1 + n_documents) / (1 + frequency)) + 1.0)

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
        """Turn scores of queries (rows) into similarities; 0 stays 0.

        ``kl`` gives ``exp(-KL)``, between 0 and 1.
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
        order = np.argsort(-block, axis=1, kind="stable")[:, :n_best]
        found = np.take_along_axis(block, order, axis=1)
        best[start:stop] = np.where(found > 0, order, -1)
        values[start:stop] = np.maximum(found, 0.0)

    size = max(1, BLOCK_ENTRIES // n_documents)
    starts = range(0, n_queries if n_best else 0, size)
    run_ranges(task, [(s, min(s + size, n_queries)) for s in starts], threads)
    return best, values


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
