# SPDX-License-Identifier: BSD-3-Clause
"""The CPU engine: numba kernels over ranges of rows on a pool of threads.

Words are renumbered by document frequency, so that the topic weights of the common
ones share few cache lines and pages; a document lists its words in that order. For
the word pass the same non-zeros are listed by tile of documents and by word within
the tile. Memory: 12 bytes per non-zero with 32-bit indices and whole counts (index 4,
count 2, document within its tile 2, ratio 4), 14 with other weights.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln, psi

from topicfold.core.counts import normalize_rows, row_sums, rows_of
from topicfold.core.threads import (
    balanced_ranges,
    even_ranges,
    n_ranges,
    run_balanced,
    run_ranges,
)
from topicfold.core.typing import Array
from topicfold.engine import kernels
from topicfold.engine.protocol import DocumentPass, Engine, PassOptions

SIMD_WIDTH = 8
TILE_SIZE = 4096
GROUP_COST = 3
SUM_BLOCK = 4096
TILE_TO_COPY = 16384, 32
SUMS: dict[str, Callable[..., None]] = {
    "total": kernels.column_sums,
    "at most 1": kernels.column_sums,
    "log": kernels.log_sums,
    "digamma": kernels.digamma_sums,
    "topic bound": kernels.topic_bound_sums,
}


class CpuEngine(Engine):
    """Expected counts of one corpus on the threads of this machine.

    Time O(nnz·K) per pass, memory O(nnz + (D + V)·K). The same bits for any number
    of threads: every output row has one owner and a fixed order of addition. X has
    no explicit zeros or duplicates; parameters and counts are of `dtype`,
    log-likelihood and normalisers float64; `word_order` (default: by document
    frequency in X) is the order of words of packed topics.
    """

    def __init__(
        self,
        X: sparse.csr_matrix,
        n_topics: int,
        *,
        dtype: np.dtype | type = np.float32,
        threads: int = 1,
        word_order: NDArray[np.integer] | None = None,
    ) -> None:
        self.n_documents, self.n_terms = X.shape
        self.n_topics = n_topics
        self.dtype = np.dtype(dtype)
        self.threads = threads
        self.document_lengths = row_sums(X, threads)
        self._layout = document_layout(X, self.dtype, word_order, threads)
        self._ratio = np.empty(X.nnz, self.dtype)
        self._width = padded_width(n_topics)
        self._document_ranges = balanced_ranges(self._layout.indptr, n_ranges(threads))
        self._document_weights = np.empty((0, self._width), self.dtype)
        self._digamma = False
        # Of the collapsed link: a second number per non-zero, α and the own share.
        self._own = np.empty(0, self.dtype)
        self._collapsed: tuple[Any, ...] | None = None

    @cached_property
    def _words(self) -> WordLayout:
        return word_layout(self._layout, self.threads)

    @cached_property
    def _word_ranges(self) -> list[tuple[int, int]]:
        # One range per thread: every range walks all tiles, and the more words it has,
        # the more of a tile's ratios and weights it finds in cache.
        work = self._words.work(self.n_terms, self.threads)
        return balanced_ranges(work, self.threads)

    @cached_property
    def _first_positions(self) -> dict[int, NDArray[np.int64]]:
        """Where each range of words begins in every document."""
        positions, layout = {}, self._layout

        def find(start: int, stop: int) -> None:
            first = np.empty(self.n_documents, np.int64)
            kernels.find_first_positions(layout.indptr, layout.indices, start, first)
            positions[start] = first

        run_ranges(find, self._word_ranges, self.threads)
        return positions

    @property
    def word_order(self) -> NDArray[np.integer]:
        """Column of X of each row of packed topics."""
        return self._layout.word_order

    def pack_documents(self, theta: Array) -> Array:
        """Copy a (D, K) array, padded."""
        packed = np.empty((len(theta), self._width), self.dtype)

        def copy(start: int, stop: int) -> None:
            packed[start:stop, : self.n_topics] = theta[start:stop]
            packed[start:stop, self.n_topics :] = 0

        self._over_rows(copy, len(theta))
        return packed

    def unpack_documents(self, packed: Array) -> Array:
        """Return the (D, K) part as a copy."""
        return np.array(packed[:, : self.n_topics], order="C")

    def mixtures(self, packed: Array) -> Array:
        """Return the (D, K) part on the simplex, as a copy."""
        theta = np.empty((len(packed), self.n_topics), packed.dtype)

        def rows(start: int, stop: int) -> None:
            theta[start:stop] = packed[start:stop, : self.n_topics]
            normalize_rows(theta[start:stop])

        self._over_rows(rows, len(packed))
        return theta

    def add_prior(self, counts: Array, prior: Array, out: Array | None) -> Array:
        """See the protocol."""
        found = np.empty_like(counts) if out is None else out

        def rows(start: int, stop: int) -> None:
            np.add(counts[start:stop], prior, out=found[start:stop])

        self._over_rows(rows, len(found))
        return found

    def pack_topics(self, phi: Array) -> Array:
        """Copy (K, V) topics word-major in the order of frequency, padded."""
        packed = np.zeros((self.n_terms, self._width), self.dtype)

        def copy(words: slice, topics: slice) -> None:
            packed[words, topics] = phi[topics, self.word_order[words]].T

        self._over_tiles(copy)
        return packed

    def unpack_topics(self, packed: Array) -> Array:
        """Return (K, V) topics in X's order of words."""
        phi = np.empty((self.n_topics, self.n_terms), self.dtype)

        def copy(words: slice, topics: slice) -> None:
            phi[topics, self.word_order[words]] = packed[words, topics].T

        self._over_tiles(copy)
        return phi

    def pack_prior(self, prior: Array | float) -> Array:
        """Repeat or copy a prior over topics, padded with zeros."""
        packed = np.zeros(self._width, self.dtype)
        packed[: self.n_topics] = prior
        return packed

    def _document_pass(
        self, parameters: Array, weights: Array, asked: PassOptions, out: Array | None
    ) -> DocumentPass:
        prior, tilt = asked.prior, None
        if asked.documents is not None:
            tilt, prior, _ = asked.documents
        prior = np.zeros(self._width, self.dtype) if prior is None else prior
        counts = np.empty_like(parameters) if out is None else out
        loglik = np.empty(self.n_documents)
        n_updates = np.zeros(self.n_documents, np.int32)
        inputs = self._layout[:3], parameters, weights, prior, tilt
        self._digamma = asked.link == "digamma"
        if asked.own is not None:
            if len(self._own) != len(self._ratio):
                self._own = np.empty_like(self._ratio)
            self._collapsed = prior, tilt, *asked.own
            most = 1 if asked.link == "collapsed" else 0
            kernel: Callable[..., None] = kernels.collapsed_document_rows
            outputs: Any = counts, self._own, self._ratio, loglik
            arguments: Any = *inputs, tuple(asked.own), most, outputs
        else:
            self._collapsed = None
            if self._digamma and len(self._document_weights) == 0:
                self._document_weights = np.empty_like(parameters)
            kernel = kernels.document_rows
            limits = asked.max_updates, float(asked.tol)
            weights_out = self._document_weights if self._digamma else None
            outputs = counts, self._ratio, loglik, n_updates
            arguments = *inputs, limits, weights_out, outputs
        run_ranges(kernel, self._document_ranges, self.threads, *arguments)
        return DocumentPass(counts, float(loglik.sum()), n_updates)

    def word_pass(self, parameters: Array, weights: Array, out: Array) -> Array:
        """N_wk of the last document pass, written to `out`."""
        lists, first_positions = (TILE_SIZE, *self._words), self._first_positions
        own = None if self._collapsed is None else self._own
        A = self._document_weights if self._digamma else parameters
        arguments = own, self._ratio, A, weights, self._collapsed, out

        def rows(start: int, stop: int) -> None:
            kernels.word_rows(start, stop, lists, first_positions[start], *arguments)

        run_ranges(rows, self._word_ranges, self.threads)
        return out

    def _column_sums(
        self, array: Array, kind: str, prior: Array | float
    ) -> NDArray[np.float64]:
        """See the protocol: in blocks of a fixed size."""
        add, vector = SUMS[kind], self._vector(prior)
        n_blocks = max(1, -(-len(array) // SUM_BLOCK))
        sums = np.empty((n_blocks, self._width))

        def block(start: int, stop: int) -> None:
            for b in range(start, stop):
                rows = array[b * SUM_BLOCK : (b + 1) * SUM_BLOCK]
                rows = np.minimum(rows, 1) if kind == "at most 1" else rows
                add(b, 0, len(rows), rows, vector, sums)

        run_ranges(block, [(b, b + 1) for b in range(n_blocks)], self.threads)
        return sums.sum(axis=0)[: self.n_topics]

    def normalize_topics(self, counts: Array, prior: float, out: Array) -> Array:
        """Topics on the simplex from counts; `out` may be `counts`."""
        if prior >= 0:
            totals = self.topic_totals(counts) + prior * self.n_terms
        else:
            totals = self.topic_totals(np.maximum(counts + self.dtype.type(prior), 0))
        empty = totals <= 0
        scale = 1.0 / np.where(empty, 1.0, totals)
        if out is not counts:
            out[:] = counts
        arguments = out, float(prior), scale, self.n_topics
        self._over_rows(kernels.scale_rows, self.n_terms, *arguments)
        if empty.any():
            out[:, : self.n_topics][:, empty] = 1.0 / self.n_terms
        return out

    def expected_log_topics(self, counts: Array, prior: float, out: Array) -> Array:
        """exp(ψ(λ) − ψ(Σλ)) for λ = counts + prior."""
        totals = self.topic_totals(counts) + prior * self.n_terms
        arguments = counts, float(prior), np.exp(-psi(totals)), self.n_topics, out
        self._over_rows(kernels.exp_digamma_rows, self.n_terms, *arguments)
        return out

    def document_bound(self, parameters: Array, prior: Array) -> float:
        """Dirichlet terms of the bound, ``Σ_d E_q log p(θ_d|α) − E_q log q(θ_d)``."""
        rows_out = np.empty(len(parameters))
        arguments = parameters, self._vector(prior), self.n_topics, rows_out
        self._over_rows(kernels.dirichlet_bound_rows, len(parameters), *arguments)
        alpha = np.asarray(prior, np.float64)[: self.n_topics]
        constant = gammaln(alpha.sum()) - gammaln(alpha).sum()
        return float(rows_out.sum() + len(parameters) * constant)

    def _vector(self, prior: Array | float) -> NDArray[np.float64]:
        vector = np.ones(self._width)
        prior = np.asarray(prior, np.float64)
        vector[: self.n_topics] = prior[: self.n_topics] if prior.ndim else prior
        return vector

    def _over_tiles(self, task: Callable[[slice, slice], None]) -> None:
        """Call `task` for some words and topics at a time: what it copies is small."""
        n_words, n_topics = TILE_TO_COPY

        def rows(start: int, stop: int) -> None:
            for w in range(start, stop, n_words):
                for k in range(0, self.n_topics, n_topics):
                    last = min(k + n_topics, self.n_topics)
                    task(slice(w, min(w + n_words, stop)), slice(k, last))

        self._over_rows(rows, self.n_terms)

    def _over_rows(self, task: Callable[..., Any], n_rows: int, *more: Any) -> None:
        run_ranges(task, even_ranges(n_rows, self.threads), self.threads, *more)


def padded_width(n_topics: int) -> int:
    """Number of columns of packed arrays: whole SIMD registers of float32."""
    if n_topics < SIMD_WIDTH:
        return n_topics
    return -(-n_topics // SIMD_WIDTH) * SIMD_WIDTH


class DocumentLayout(NamedTuple):
    """The non-zeros document by document; see the module docstring."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.integer]
    counts: NDArray[Any]
    word_order: NDArray[np.integer]


class WordLayout(NamedTuple):
    """The same non-zeros by tile of documents and word."""

    tile_groups: NDArray[np.int64]
    group_word: NDArray[np.integer]
    group_ptr: NDArray[np.int64]
    tile_document: NDArray[np.uint16]

    def work(self, n_terms: int, threads: int = 1) -> NDArray[np.int64]:
        """Cumulated work by word, for balanced ranges.

        Reading and writing a word's counts for each tile costs as much as some of
        its non-zeros (measured: 3 with 20 and 100 topics, 5 with 500).
        """
        # Whole numbers: the same sums in any order.
        found: list[NDArray[Any]] = [np.zeros(n_terms)]

        def add(start: int, stop: int) -> None:
            work = np.diff(self.group_ptr[start : stop + 1]) + GROUP_COST
            words = self.group_word[start:stop]
            found.append(np.bincount(words, weights=work, minlength=n_terms))

        run_ranges(add, even_ranges(len(self.group_word), threads), threads)
        return np.r_[0, np.cumsum(np.sum(found, axis=0).astype(np.int64))]


def document_layout(
    X: sparse.csr_matrix,
    dtype: np.dtype,
    word_order: NDArray[np.integer] | None = None,
    threads: int = 1,
) -> DocumentLayout:
    """Arrange a clean CSR matrix; blocks of one corpus are given one `word_order`."""
    n_terms = X.shape[1]
    index_dtype = np.int32 if max(X.nnz, n_terms) < 2**31 else np.int64
    if word_order is None:
        word_order = np.argsort(-_document_frequency(X, threads), kind="stable")
    word_order = word_order.astype(index_dtype, copy=False)
    rank = np.empty(n_terms, dtype=index_dtype)
    rank[word_order] = np.arange(n_terms, dtype=index_dtype)
    counts = _small_counts(X.data, dtype, threads)
    indices = np.empty(X.nnz, index_dtype)

    def sort(start: int, stop: int) -> None:
        lo, hi = X.indptr[start], X.indptr[stop]
        np.take(rank, X.indices[lo:hi], out=indices[lo:hi], mode="clip")
        rows = rows_of(X, start, stop, counts, indices)
        rows.has_sorted_indices = False
        rows.sort_indices()
        # SciPy may have made arrays of its own.
        counts[lo:hi], indices[lo:hi] = rows.data, rows.indices

    run_balanced(sort, X.indptr, threads)
    return DocumentLayout(X.indptr.astype(np.int64), indices, counts, word_order)


def _document_frequency(X: sparse.csr_matrix, threads: int) -> NDArray[np.int64]:
    """In how many documents each word stands."""
    found = [np.zeros(X.shape[1], np.int64)]

    def count(start: int, stop: int) -> None:
        found.append(np.bincount(X.indices[start:stop], minlength=X.shape[1]))

    run_ranges(count, even_ranges(X.nnz, threads), threads)
    return np.sum(found, axis=0)


def _small_counts(
    data: NDArray[Any], dtype: np.dtype, threads: int = 1
) -> NDArray[Any]:
    """Return a copy of the counts: of two bytes each where all of them fit."""
    small = np.empty(len(data), np.uint16)
    misfits: list[int] = []

    def fit(start: int, stop: int) -> None:
        some = data[start:stop]
        if misfits or some.max(initial=0) > np.iinfo(np.uint16).max:
            misfits.append(start)
            return
        small[start:stop] = some
        if not np.array_equal(small[start:stop], some):
            misfits.append(start)

    run_ranges(fit, even_ranges(len(data), n_ranges(threads)), threads)
    return data.astype(dtype) if misfits else small


def word_layout(documents: DocumentLayout, threads: int = 1) -> WordLayout:
    """List the non-zeros of each tile of documents word by word."""
    indptr, indices = documents.indptr, documents.indices
    n_documents, n_terms = len(indptr) - 1, len(documents.word_order)
    tile_document = np.empty(len(indices), np.uint16)
    n_tiles = -(-n_documents // TILE_SIZE)
    words: list[Any] = [np.empty(0, indices.dtype)] * n_tiles
    pointers: list[Any] = [np.empty(0, np.int64)] * n_tiles

    def list_tile(tile: int, _: int) -> None:
        start = tile * TILE_SIZE
        stop = min(start + TILE_SIZE, n_documents)
        cursor = np.empty(n_terms + 1, np.int64)
        kernels.list_tile_by_word(start, stop, indptr, indices, cursor, tile_document)
        # The cursor now stands at each word's end.
        starts = np.r_[indptr[start], cursor[:-2]]
        present = np.flatnonzero(cursor[:-1] > starts)
        words[tile] = present.astype(indices.dtype)
        pointers[tile] = cursor[present]

    run_ranges(list_tile, even_ranges(n_tiles, n_tiles), threads)
    return WordLayout(
        tile_groups=np.cumsum([0, *map(len, words)], dtype=np.int64),
        group_word=np.concatenate(words),
        group_ptr=np.concatenate([np.zeros(1, np.int64), *pointers]),
        tile_document=tile_document,
    )
