# SPDX-License-Identifier: BSD-3-Clause
"""Inverted lists of weighted rows, in tiles of documents, and the search in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topicfold.core.threads import RANGES_PER_THREAD, balanced_ranges, run_ranges
from topicfold.graph import inverted_lists_kernels as kernels

TILE = 1 << 16  # documents per tile: uint16 numbers, sums that stay in the L2 cache
# Shares of all list entries that are walked before documents are ruled out.
LEVELS = (0.25, 0.45, 0.7)

Lists = tuple[NDArray[np.int64], NDArray[np.float64]]


class InvertedLists:
    """Rows of non-negative weights to search in, kept as rows and as inverted lists.

    The score is the sum of products or, with `take_min`, of minima. `tile` documents
    are searched at a time, at most 65,536; this has no effect on results. Memory: 18
    bytes per non-zero, 16 per document, and 8 per term and tile.
    """

    def __init__(self, rows: sp.csr_array, take_min: bool, *, tile: int = TILE) -> None:
        self.take_min = take_min
        self.n_documents = rows.shape[0]
        frequency = np.bincount(rows.indices, minlength=rows.shape[1])
        used = np.flatnonzero(frequency)
        order = used[np.argsort(frequency[used], kind="stable")]
        self.n_terms = len(order)
        # New number of a term: rare first; unused terms have none.
        self._number = np.full(rows.shape[1], -1, dtype=np.int64)
        self._number[order] = np.arange(self.n_terms)
        work = np.cumsum(frequency[order].astype(np.float64) ** 2)
        goals = np.multiply(LEVELS, work[-1] if self.n_terms else 0.0)
        self._cuts = np.r_[np.searchsorted(work, goals), self.n_terms].astype(np.int64)
        self._rows = self._renumber(rows)
        self._tiles = [
            self._make_tile(first, min(first + tile, self.n_documents))
            for first in range(0, self.n_documents, tile)
        ]

    def search(
        self,
        queries: sp.csr_array | None,
        n_best: int,
        exclude_self: bool,
        threads: int,
    ) -> Lists:
        """Return documents (-1: none) and scores (0) of the best rows, best first.

        `queries` None means the rows of the index.
        """
        n_queries = self.n_documents if queries is None else queries.shape[0]
        out = count, documents, scores = _empty_lists(n_queries, n_best)
        if not n_best or not self.n_terms:
            return documents, scores
        query = self._rows if queries is None else self._renumber(queries)
        ranges = balanced_ranges(query[0], RANGES_PER_THREAD * threads)
        options = self.take_min, exclude_self
        for tile, levels in self._tiles:

            def task(start: int, stop: int, within: Any = (tile, levels)) -> None:
                kernels.search_tile(start, stop, query, *within, options, out)

            run_ranges(task, ranges, threads)
        kernels.sort_best(0, len(count), count, documents, scores)
        return documents, scores

    def score(
        self,
        queries: sp.csr_array,
        candidates: NDArray[np.int64],
        n_best: int,
        threads: int,
    ) -> Lists:
        """Return the best of given candidates (-1: none), scored as `search` does."""
        out = count, documents, scores = _empty_lists(queries.shape[0], n_best)
        query = self._renumber(queries)

        def task(start: int, stop: int) -> None:
            kernels.score_pairs(
                start,
                stop,
                query,
                candidates,
                self._rows,
                self.n_terms,
                self.take_min,
                out,
            )

        run_ranges(task, balanced_ranges(query[0], threads), threads)
        kernels.sort_best(0, len(count), count, documents, scores)
        return documents, scores

    def _renumber(
        self, rows: sp.csr_array
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]:
        """Return CSR arrays, terms from rare to frequent, unknown terms left out."""
        terms = self._number[rows.indices]
        indptr, values = rows.indptr, rows.data
        known = terms >= 0
        if not known.all():
            indptr = np.r_[0, np.cumsum(known)][indptr]
            terms, values = terms[known], values[known]
        numbered = sp.csr_array(
            (values, terms.astype(indptr.dtype), indptr),
            shape=(rows.shape[0], max(self.n_terms, 1)),
        )
        # Two transpositions sort the rows in linear time.
        ordered = numbered.tocsc().tocsr()
        return (
            ordered.indptr.astype(np.int64),
            ordered.indices.astype(np.uint32),
            ordered.data,
        )

    def _make_tile(self, first: int, last: int) -> tuple[Any, Any]:
        """Return the tile and the levels that `search_tile` takes."""
        all_indptr, all_terms, all_values = self._rows
        indptr = all_indptr[first : last + 1]
        entries = slice(indptr[0], indptr[-1])
        terms = all_terms[entries].astype(np.int32)
        lists = sp.csr_array(
            (all_values[entries], terms, indptr - indptr[0]),
            shape=(last - first, max(self.n_terms, 1)),
        ).tocsc()
        norms = np.empty((len(self._cuts), last - first), dtype=np.float32)
        sizes = np.empty(len(self._cuts))
        kernels.measure_rest(
            indptr, all_terms, all_values, self._cuts, self.take_min, norms, sizes
        )
        tile = (
            first,
            lists.indptr.astype(np.int64),
            lists.indices.astype(np.uint16),
            lists.data.astype(np.float32),
            indptr,
            all_terms,
            all_values,
        )
        return tile, (self._cuts, norms, sizes)


def _empty_lists(
    n_queries: int, n_best: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    return (
        np.zeros(n_queries, dtype=np.int64),
        np.full((n_queries, n_best), -1, dtype=np.int64),
        np.zeros((n_queries, n_best)),
    )
