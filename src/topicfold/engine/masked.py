# SPDX-License-Identifier: BSD-3-Clause
"""The CPU engine of documents that may use a few topics each.

The result is that of the dense engine with zeros at the topics that a document may not
use; time and memory of the documents are in proportion to the topics they may use.

Packed documents are vectors, one entry for each pair of a document and a topic that it
may use, document by document. Packed topics are one row of stretches, one for each
topic, with places for the words of the documents that may use it. No document reads
the others: their counts are zero, and the weight that they have in common is kept at
the end of the row, by topic.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import psi

from topicfold.core.counts import normalize_rows
from topicfold.core.threads import RANGES_PER_THREAD, balanced_ranges, run_ranges
from topicfold.core.typing import Array
from topicfold.engine import masked_kernels as kernels
from topicfold.engine.cpu import document_layout
from topicfold.engine.protocol import (
    DocumentPass,
    Engine,
    OwnShare,
    PassOptions,
)

# Documents that may use more of the topics than one in so many, or more than so many of
# them, on average, are faster, or take less room, with zeros at the others.
ONE_IN, MOST = 8, 64


def pays(X: sparse.csr_matrix, allowed: sparse.csr_matrix) -> bool:
    """Whether documents are allowed few enough topics for an engine of their own."""
    pairs = float(np.diff(X.indptr) @ np.diff(allowed.indptr))
    return pairs <= X.nnz * min(allowed.shape[1] / ONE_IN, MOST)


class MaskedEngine(Engine):
    """Expected counts of a corpus whose documents may use the topics in `allowed` (D,
    K).

    Time and memory O(Σ_d nnz_d K_d) with K_d topics of document d: `pays` says whether
    that is better than zeros. The same bits for any number of threads. The digamma link
    is not known here. Other arguments are as in `CpuEngine`.
    """

    packs_allowed = True

    def __init__(
        self,
        X: sparse.csr_matrix,
        n_topics: int,
        allowed: sparse.csr_matrix,
        *,
        dtype: np.dtype | type = np.float32,
        threads: int = 1,
        word_order: NDArray[np.integer] | None = None,
    ) -> None:
        self.n_documents, self.n_terms = X.shape
        self.n_topics = n_topics
        self.dtype = np.dtype(dtype)
        self.threads = threads
        self.document_lengths = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
        self._layout = document_layout(X, self.dtype, word_order)
        # Without a sign the compiled code need not ask for it.
        kind = {4: np.uint32, 8: np.uint64}[self._layout.indices.itemsize]
        words = self._layout.indices.view(kind)
        self._corpus = self._layout.indptr, words, self._layout.counts
        self._offsets = allowed.indptr.astype(np.int64)
        self._topics = allowed.indices.astype(np.int32)
        self._lengths = np.diff(self._layout.indptr)
        work = self._lengths * np.diff(self._offsets)
        ranges = RANGES_PER_THREAD * threads
        self._ranges = balanced_ranges(np.r_[0, np.cumsum(work)], ranges)
        self._place_words()
        self._shares = np.empty(len(self._places), self.dtype)

    @property
    def word_order(self) -> NDArray[np.integer]:
        """Column of X of each word in its order here."""
        return self._layout.word_order

    @cached_property
    def _rows(self) -> NDArray[np.int64]:
        """Document of each entry."""
        return np.repeat(np.arange(self.n_documents), np.diff(self._offsets))

    def _place_words(self) -> None:
        """Give every topic a stretch, and every entry the places of its words in it."""
        entries = np.argsort(self._topics, kind="stable")
        topic_ptr = _cumulated(np.bincount(self._topics, minlength=self.n_topics))
        by_topic = topic_ptr, self._rows[entries], entries
        pointer = _cumulated(self._lengths[self._rows[entries]])
        firsts = np.empty(len(entries), np.int64)
        firsts[entries] = pointer[:-1]
        self._listed = pointer[topic_ptr]
        most = np.minimum(np.diff(self._listed), self.n_terms)
        work = self._listed + self.n_terms * np.arange(self.n_topics + 1)
        self._topic_ranges = balanced_ranges(work, RANGES_PER_THREAD * self.threads)
        kind = np.uint16 if most.max(initial=0) <= 2**16 else np.uint32
        self._places = np.empty(self._listed[-1], kind)
        starts, self._sizes = _cumulated(most), np.empty(self.n_topics, np.int64)
        words = np.empty(starts[-1], np.int32)
        out = starts, words, self._sizes, self._places
        arguments = (by_topic, *self._corpus[:2], self.n_terms, firsts, out)
        self._run(kernels.find_places, arguments, self._topic_ranges)
        self._pointer = _cumulated(self._sizes)
        self._entries = self._offsets, self._topics, firsts, self._places, self._pointer
        pairs = zip(starts, self._sizes, strict=False)
        self._words_of = [words[start : start + size].copy() for start, size in pairs]

    def pack_documents(self, theta: Array) -> Array:
        """Return the entries of a (D, K) array at the topics in use."""
        return np.asarray(theta[self._rows, self._topics], self.dtype)

    def unpack_documents(self, packed: Array) -> Array:
        """Return the (D, K) array, zero at the topics that are not in use."""
        shape = self.n_documents, self.n_topics
        parts = packed, self._topics, self._offsets
        return np.asarray(sparse.csr_matrix(parts, shape=shape).toarray())

    def mixtures(self, packed: Array) -> Array:
        """Return the (D, K) array, rows on the simplex."""
        return normalize_rows(self.unpack_documents(packed))

    def _stretches(self, packed: Array) -> list[Array]:
        """Return the stretch of every topic of packed topics, without the rest."""
        return np.split(packed[0, : self._pointer[-1]], self._pointer[1:-1])

    def _rest(self, packed: Array) -> Array:
        """Return what the words have that a topic has no place for, by topic."""
        return packed[0, self._pointer[-1] :]

    def pack_topics(self, phi: Array) -> Array:
        """Copy (K, V) topics; of words without a place, the least value is kept."""
        packed = np.empty((1, self._pointer[-1] + self.n_topics), self.dtype)
        rest = self._rest(packed)
        for k, stretch in enumerate(self._stretches(packed)):
            row = np.asarray(phi[k])[self._layout.word_order]
            stretch[:] = row[self._words_of[k]]
            others = np.delete(row, self._words_of[k])
            rest[k] = others.min() if len(others) else 0.0
        return packed

    def unpack_topics(self, packed: Array) -> Array:
        """Return (K, V) topics in X's order of words."""
        phi = np.empty((self.n_topics, self.n_terms), self.dtype)
        phi[:] = self._rest(packed)[:, None]
        for k, stretch in enumerate(self._stretches(packed)):
            phi[k, self._layout.word_order[self._words_of[k]]] = stretch
        return phi

    def pack_prior(self, prior: Array | float) -> Array:
        """Repeat a scalar over topics."""
        return np.broadcast_to(np.asarray(prior, self.dtype), (self.n_topics,)).copy()

    def _document_pass(
        self, parameters: Array, weights: Array, asked: PassOptions, out: Array | None
    ) -> DocumentPass:
        if asked.link == "digamma":
            raise ValueError("masks do not work with the digamma link")
        documents, own = asked.documents, asked.own
        if documents is None:
            shared = self.pack_prior(0.0 if asked.prior is None else asked.prior)
            documents = OwnShare(None, shared[self._topics])
        if documents.scale is None:
            documents = OwnShare(np.ones_like(parameters), documents.floor)
        counts = np.empty_like(parameters) if out is None else out
        loglik = np.empty(self.n_documents)
        updates = np.zeros(self.n_documents, np.int32)
        arguments: tuple[Any, ...]
        inputs = self._corpus, self._entries, parameters, weights[0]
        floors = documents.floor, documents.scale
        if asked.link == "collapsed" and own is not None:
            parts = tuple(map(np.atleast_2d, own[:2]))
            outputs: tuple[Any, ...] = (counts, self._shares, loglik)
            arguments = (*inputs, floors, parts, own.groups, outputs)
            kernel = kernels.masked_collapsed_document_rows
        else:
            outputs = (counts, self._shares, loglik, updates)
            arguments = (*inputs, floors, asked.max_updates, float(asked.tol), outputs)
            kernel = kernels.masked_document_rows
        self._run(kernel, arguments, self._ranges)
        return DocumentPass(counts, float(loglik.sum()), updates)

    def word_pass(self, parameters: Array, weights: Array, out: Array) -> Array:
        """N_wk of the last document pass, written to `out`."""
        arguments = (self._listed, self._places, self._shares, self._pointer, out[0])
        self._run(kernels.masked_word_rows, arguments, self._topic_ranges)
        self._rest(out)[:] = 0
        return out

    def _run(
        self,
        rows: Callable[..., None],
        arguments: tuple[Any, ...],
        ranges: list[tuple[int, int]],
    ) -> None:
        def work(start: int, stop: int) -> None:
            rows(start, stop, *arguments)

        run_ranges(work, ranges, self.threads)

    def topic_totals(self, counts: Array) -> NDArray[np.float64]:
        """``N_k = Σ_w N_wk``; of packed documents Σ_d N_dk."""
        if counts.ndim == 1:
            return self._column_sums(counts, "total", 0.0)
        return self._positive_totals(counts, 0.0)

    def _positive_totals(self, counts: Array, prior: float) -> NDArray[np.float64]:
        totals = np.empty(self.n_topics)
        arguments = (self._pointer, counts[0], float(prior), totals)
        self._run(kernels.topic_sums, arguments, self._topic_ranges)
        rest = np.maximum(self._rest(counts).astype(np.float64) + prior, 0.0)
        return totals + rest * (self.n_terms - self._sizes)

    def normalize_topics(self, counts: Array, prior: float, out: Array) -> Array:
        """Topics on the simplex from counts; `out` may be `counts`."""
        totals = self._positive_totals(counts, prior)
        empty = totals <= 0
        scale = 1.0 / np.where(empty, 1.0, totals)
        arguments = (self._pointer, counts[0], float(prior), scale, out[0])
        self._run(kernels.scale_topics, arguments, self._topic_ranges)
        self._rest(out)[:] = np.maximum(self._rest(counts) + prior, 0.0) * scale
        for k in np.flatnonzero(empty):
            out[0, self._pointer[k] : self._pointer[k + 1]] = 1.0 / self.n_terms
            self._rest(out)[k] = 1.0 / self.n_terms
        return out

    def expected_log_topics(self, counts: Array, prior: float, out: Array) -> Array:
        """Of the digamma link, which is not known here."""
        raise NotImplementedError

    def document_bound(self, parameters: Array, prior: Array) -> float:
        """Of the digamma link, which is not known here."""
        raise NotImplementedError

    def _column_sums(
        self, array: Array, kind: str, prior: Array | float
    ) -> NDArray[np.float64]:
        """See the protocol; for topics and for documents."""
        functions: dict[str, Callable[[Any], Any]] = {
            "total": lambda values: values,
            "log": lambda values: np.log(np.maximum(values, 1e-18)),
            "digamma": psi,
        }
        function = functions[kind]
        shared = self.pack_prior(prior).astype(np.float64)
        if array.ndim == 1:
            values = function(array + shared[self._topics])
            sums = np.bincount(self._topics, values, minlength=self.n_topics)
            return sums.astype(np.float64)
        rows = zip(self._stretches(array), shared, strict=True)
        sums = np.array([function(row + p).sum(dtype=np.float64) for row, p in rows])
        rest = function(self._rest(array) + shared)
        return np.asarray(sums + rest * (self.n_terms - self._sizes))


def _cumulated(sizes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return where stretches of these sizes begin, and where the last one ends."""
    return np.r_[0, np.cumsum(sizes, dtype=np.int64)]
