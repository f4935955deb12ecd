# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""Inverted lists of weighted rows, in tiles of documents, and the exact search in them.

The terms are numbered from rare to frequent and cut into levels. For one query the
lists of its rare terms are walked first, adding into one float32 number per index
document. What the frequent terms can still add is bounded by norms of the rest of
both rows (Cauchy-Schwarz for products, the smaller sum for minima), so most
documents are ruled out before the long lists are read. Every document that is not
ruled out is scored from its own row in float64, always in the same order: the
result does not depend on levels, tiles or threads. The oracle is
``tests/graph_reference.py``. An approximate search walks the rarest terms alone, and
scores of each tile the documents with the largest sums: neighbours that share frequent
terms alone with a document that has rarer ones are missed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topicfold.core.jit import inline, kernel, part
from topicfold.core.threads import RANGES_PER_THREAD, balanced_ranges, run_ranges

TILE = 1 << 16  # documents per tile: uint16 numbers, sums that stay in the L2 cache
# Shares of all list entries that are walked before documents are ruled out.
LEVELS = (0.25, 0.45, 0.7)
# Of an approximate search: the share that every query walks, and how many documents
# are scored for each neighbour asked for (in a tile at least as many as are asked for).
RAREST, CANDIDATES = 0.25, 3

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
        total = work[-1] if self.n_terms else 0.0
        # What a query of an approximate search walks, per document of a tile.
        self._share = RAREST * total / max(self.n_documents, 1) ** 2
        goals = np.multiply(LEVELS, total)
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
        *,
        approximate: bool = False,
    ) -> Lists:
        """Return documents (-1: none) and scores (0) of the best rows; None: the
        index's own.
        """
        n_queries = self.n_documents if queries is None else queries.shape[0]
        out = count, documents, scores = _empty_lists(n_queries, n_best)
        if not n_best or not self.n_terms:
            return documents, scores
        query = self._rows if queries is None else self._renumber(queries)
        ranges = balanced_ranges(query[0], RANGES_PER_THREAD * threads)
        n_probes = n_best
        if approximate:
            n_probes = max(n_best, -(-CANDIDATES * n_best // len(self._tiles)))
        options = self.take_min, exclude_self, n_probes
        for tile, levels in self._tiles:
            n_entries = -1
            if approximate:
                n_entries = int(np.ceil(self._share * (len(tile[4]) - 1)))
            within = query, tile, (*levels, n_entries), options, out
            run_ranges(search_tile, ranges, threads, *within)
        sort_best(0, len(count), count, documents, scores)
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
        asked = query, candidates, self._rows, self.n_terms, self.take_min, out
        ranges = balanced_ranges(query[0], threads)
        run_ranges(score_pairs, ranges, threads, *asked)
        sort_best(0, len(count), count, documents, scores)
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
        measure_rest(
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


BLOCK = 64  # documents tested at once before looking at single ones
DONE = np.float32(-1e30)  # sum of a document that needs no more looking at
QUANTUM = 2.0**-32  # scores are multiples of this: equal documents tie exactly
DOCUMENT_COST = 16.0  # of looking at a single document, in entries of lists
ROUNDING = 2.0**-23  # twice the unit roundoff of float32


@kernel
def search_tile(start, stop, query, tile, levels, options, out):
    """Merge one tile's documents into the best lists of queries start to stop.

    The lists are heaps with the worst neighbour first, ordered by (score, lower
    document first); call `sort_best` when every tile is merged.

    `query` and the end of `tile` are CSR rows (int64 indptr, ascending uint32 terms,
    float64 values). Before its rows a tile has the number of its first document, and
    inverted lists (CSC): int64 indptr, uint16 documents counted from the first, float32
    values. `levels` has the first term of the next level, the last being the number of
    terms; the norm of each row's terms from there on (L1 for minima, else L2), rounded
    up, and their average number in a row; -1 or, for an approximate search, how many
    entries of lists of rare terms a query walks. `options`: sum minima instead of
    products; query i is index document i and not its own neighbour; how many documents
    with the largest sums of the first level are scored. `out` has counts, documents and
    scores of every query, read and written.
    """
    indptr, terms, values = query
    first, list_indptr, _, _, row_indptr, row_terms, row_values = tile
    take_min, exclude_self, n_probes = options
    count, documents, scores = out
    n_tile = row_indptr.shape[0] - 1
    work_sums = np.empty(n_tile, np.float32)
    work_query = np.zeros(list_indptr.shape[0] - 1, np.float64)
    work_probe = (np.empty(n_probes, np.int64), np.empty(n_probes, np.float32))
    rows = (row_indptr, row_terms, row_values, work_query, take_min)
    for q in range(start, stop):
        begin, end = indptr[q], indptr[q + 1]
        if begin == end:
            continue
        work_sums[:] = 0.0
        own = q - first
        if exclude_self and own >= 0 and own < n_tile:
            work_sums[own] = DONE
        for p in range(begin, end):
            work_query[terms[p]] = values[p]
        best = (documents[q], scores[q])
        row = (terms[begin:end], values[begin:end])
        count[q] = search_query(
            row, tile, rows, levels, best, count[q], work_sums, work_probe
        )
        for p in range(begin, end):
            work_query[terms[p]] = 0.0


@part
def search_query(row, tile, rows, levels, best, count, work_sums, work_probe):
    """Merge the tile's documents into the best list of one query; return its count."""
    terms, values = row
    first, list_indptr, list_documents, list_values, _, _, _ = tile
    cuts, rest_norms, rest_sizes, n_entries = levels
    take_min = rows[4]
    n_terms = terms.shape[0]
    margin = 1.0 + (n_terms + 8) * ROUNDING
    done = 0
    for level in range(cuts.shape[0]):
        cut = cuts[level]
        if n_entries >= 0:
            cut = cut_after(list_indptr, terms, n_entries)
        for term in terms[done:]:
            if term >= cut:
                break
            begin, end = list_indptr[term], list_indptr[term + 1]
            add_list(
                list_documents[begin:end],
                list_values[begin:end],
                values[done],
                take_min,
                work_sums,
            )
            done += 1
        if level == 0:
            for j in range(largest_sums(work_sums, work_probe)):
                d = work_probe[0][j]
                count = offer(rows, d, first, best, count)
                work_sums[d] = DONE
            if n_entries >= 0:
                return count
        rest = rest_norm(values[done:], take_min)
        bounds = (rest_norms[level], rest, take_min)
        if done < n_terms:
            n_left = count_left(work_sums, bounds, lowest_sum(best, count, margin))
            ahead = work_ahead(list_indptr, terms[done:], cuts, level)
            if n_left * (rest_sizes[level] + DOCUMENT_COST) > ahead:
                continue
        return score_left(
            rows, work_sums, bounds, cuts[level], first, best, count, margin
        )
    return count


@part
def cut_after(list_indptr, terms, n_entries):
    """Return the term after the rarest, at least one, with so many list entries."""
    total = 0
    for j in range(1, terms.shape[0]):
        total += list_indptr[terms[j - 1] + 1] - list_indptr[terms[j - 1]]
        if total >= n_entries:
            return np.int64(terms[j])
    return np.int64(list_indptr.shape[0])


@part
def add_list(documents, entries, value, take_min, work_sums):
    """Add one term's contribution to every document in its list."""
    weight = np.float32(value)
    if take_min:
        for j in range(documents.shape[0]):
            work_sums[documents[j]] += min(weight, entries[j])
    else:
        for j in range(documents.shape[0]):
            work_sums[documents[j]] += weight * entries[j]


@part
def rest_norm(values, take_min):
    """Norm of the query's terms not walked yet, rounded up to float32."""
    total = 0.0
    for value in values:
        total += value if take_min else value * value
    if not take_min:
        total = np.sqrt(total)
    return np.float32(total * (1.0 + ROUNDING))


@part
def work_ahead(list_indptr, terms, cuts, level):
    """Count the list entries that the next level with any term would walk."""
    total = 0
    level += 1
    for term in terms:
        while term >= cuts[level]:
            if total > 0:
                return total
            level += 1
        total += list_indptr[term + 1] - list_indptr[term]
    return total


@part
def largest_sums(work_sums, work_probe):
    """Find the documents with the largest positive sums; return how many."""
    probe, probe_sums = work_probe
    n_best = probe.shape[0]
    n_found = np.int64(0)  # a literal would be one more type to compile for
    floor = np.float32(0.0)
    for begin in range(0, work_sums.shape[0], BLOCK):
        block = work_sums[begin : begin + BLOCK]
        hits = 0
        for j in range(block.shape[0]):
            hits += block[j] > floor
        if hits == 0:
            continue
        for j in range(block.shape[0]):
            if block[j] > floor:
                n_found = push(probe, probe_sums, n_found, begin + j, block[j])
                if n_found == n_best:
                    floor = probe_sums[0]
    return n_found


@part
def lowest_sum(best, count, margin):
    """Return the sum plus bound below which no document can be a neighbour."""
    documents, scores = best
    if count < documents.shape[0]:
        return np.float32(1e-45)
    floor = (scores[0] - QUANTUM) / margin * (1.0 - ROUNDING)
    return np.float32(max(floor, 1e-45))


@inline
def bound(total, norm, rest, take_min):
    """Return the most that a document's score can be."""
    return total + (min(norm, rest) if take_min else norm * rest)


@part
def count_left(work_sums, bounds, floor):
    """Count the documents that are not ruled out."""
    norms, rest, take_min = bounds
    n_left = 0
    if take_min:
        for d in range(work_sums.shape[0]):
            n_left += bound(work_sums[d], norms[d], rest, True) >= floor
    else:
        for d in range(work_sums.shape[0]):
            n_left += bound(work_sums[d], norms[d], rest, False) >= floor
    return n_left


@part
def score_left(rows, work_sums, bounds, cut, first, best, count, margin):
    """Score every document that is not ruled out; return the new count."""
    norms, rest, take_min = bounds
    floor = lowest_sum(best, count, margin)
    for begin in range(0, work_sums.shape[0], BLOCK):
        end = min(begin + BLOCK, work_sums.shape[0])
        block = (norms[begin:end], rest, take_min)
        if count_left(work_sums[begin:end], block, floor) == 0:
            continue
        for d in range(begin, end):
            if bound(work_sums[d], norms[d], rest, take_min) < floor:
                continue
            if work_sums[d] + rest_score(rows, d, cut) >= floor:
                count = offer(rows, d, first, best, count)
                floor = lowest_sum(best, count, margin)
    return count


@part
def rest_score(rows, document, cut):
    """Return what the terms from `cut` on add to a document's score."""
    row_indptr, row_terms, row_values, work_query, take_min = rows
    begin, p = row_indptr[document], row_indptr[document + 1] - 1
    score = 0.0
    while p >= begin and row_terms[p] >= cut:
        value = work_query[row_terms[p]]
        score += min(value, row_values[p]) if take_min else value * row_values[p]
        p -= 1
    return score


@part
def offer(rows, document, first, best, count):
    """Score a document from its row and keep it if it is among the best."""
    row_indptr, row_terms, row_values, work_query, take_min = rows
    score = 0.0
    begin, end = row_indptr[document], row_indptr[document + 1]
    if take_min:
        for p in range(begin, end):
            score += min(work_query[row_terms[p]], row_values[p])
    else:
        for p in range(begin, end):
            score += work_query[row_terms[p]] * row_values[p]
    score = np.rint(score / QUANTUM) * QUANTUM
    if score <= 0.0:
        return count
    return push(best[0], best[1], count, document + first, score)


@inline
def is_worse(score, document, other_score, other):
    """Order neighbours: lower score first, then higher number first."""
    return score < other_score or (score == other_score and document > other)


@part
def push(documents, scores, count, document, score):
    """Put a neighbour into a heap whose root is the worst; return the new count."""
    if count < documents.shape[0]:
        child = count
        while child > 0:
            parent = (child - 1) // 2
            if not is_worse(score, document, scores[parent], documents[parent]):
                break
            scores[child], documents[child] = scores[parent], documents[parent]
            child = parent
        scores[child], documents[child] = score, document
        return count + 1
    if is_worse(score, document, scores[0], documents[0]):
        return count
    sink(documents, scores, count, document, score)
    return count


@part
def sink(documents, scores, count, document, score):
    """Put a neighbour in place of the heap's root."""
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= count:
            break
        if child + 1 < count and is_worse(
            scores[child + 1], documents[child + 1], scores[child], documents[child]
        ):
            child += 1
        if not is_worse(scores[child], documents[child], score, document):
            break
        scores[hole], documents[hole] = scores[child], documents[child]
        hole = child
    scores[hole], documents[hole] = score, document


@kernel
def measure_rest(indptr, terms, values, cuts, take_min, out_norms, out_sizes):
    """Measure the terms of rows from each cut on: norms rounded up, average number."""
    n_rows = indptr.shape[0] - 1
    out_sizes[:] = 0.0
    for row in range(n_rows):
        begin, p = indptr[row], indptr[row + 1] - 1
        total = 0.0
        for level in range(cuts.shape[0] - 1, -1, -1):
            while p >= begin and terms[p] >= cuts[level]:
                total += values[p] if take_min else values[p] * values[p]
                p -= 1
            norm = total if take_min else np.sqrt(total)
            out_norms[level, row] = norm * (1.0 + 2.0 * ROUNDING)
            out_sizes[level] += (indptr[row + 1] - 1 - p) / n_rows


@kernel
def score_pairs(start, stop, query, candidates, rows, n_terms, take_min, out):
    """Score given candidates (-1: none) of queries start to stop into best lists.

    Equivalent to `search_tile` on an index of the candidates alone; a candidate must
    not be given twice.
    """
    indptr, terms, values = query
    count, documents, scores = out
    work_query = np.zeros(n_terms, np.float64)
    row_indptr, row_terms, row_values = rows
    scored = (row_indptr, row_terms, row_values, work_query, take_min)
    for q in range(start, stop):
        for p in range(indptr[q], indptr[q + 1]):
            work_query[terms[p]] = values[p]
        best = (documents[q], scores[q])
        for document in candidates[q]:
            if document >= 0:
                count[q] = offer(scored, document, 0, best, count[q])
        for p in range(indptr[q], indptr[q + 1]):
            work_query[terms[p]] = 0.0


@kernel
def sort_best(start, stop, count, out_documents, out_scores):
    """Turn the heaps of rows start to stop into lists, best neighbour first."""
    for q in range(start, stop):
        documents, scores = out_documents[q], out_scores[q]
        for end in range(count[q] - 1, 0, -1):
            score, document = scores[end], documents[end]
            worst_score, worst = scores[0], documents[0]
            sink(documents, scores, end, document, score)
            scores[end], documents[end] = worst_score, worst
