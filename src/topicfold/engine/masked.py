# SPDX-License-Identifier: BSD-3-Clause
"""The CPU engine of documents that may use a few topics each.

The result is that of the dense engine with zeros at the topics that a document may not
use; time and memory of the documents are in proportion to the topics they may use.

Packed documents are vectors, one entry for each pair of a document and a topic that it
may use, document by document. Packed topics have the shape (V, K) of every engine and
are topic-major inside.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import psi

from topicfold.core.simplex import normalize_rows
from topicfold.core.threads import RANGES_PER_THREAD, balanced_ranges, run_ranges
from topicfold.core.typing import Array
from topicfold.engine import masked_kernels as kernels
from topicfold.engine.cpu import document_layout
from topicfold.engine.protocol import (
    DocumentPass,
    Engine,
    Link,
    OwnShare,
    check_collapsed,
)


class MaskedEngine(Engine):
    """Expected counts of a corpus whose documents may use the topics in `allowed`.

    Time O(Σ_d nnz_d K_d + V·K) per pass with K_d topics of document d. The same bits
    for any number of threads. The digamma link is not known here.

    Parameters
    ----------
    X : csr_matrix of shape (D, V)
        Counts, without explicit zeros or duplicates.
    n_topics : int
        Number of topics K.
    allowed : csr_matrix of shape (D, K)
        Non-zero where a document may use a topic.
    dtype, threads, word_order
        As in `CpuEngine`.
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
        self._words = self._layout.indices.view(kind)
        self._ratio = np.empty(X.nnz, self.dtype)
        self._own: Array | None = None
        self._offsets = allowed.indptr.astype(np.int64)
        self._topics = allowed.indices.astype(np.int32)
        ranges = RANGES_PER_THREAD * threads
        self._ranges = balanced_ranges(self._work_of_documents(), ranges)
        self._last: tuple[Any, ...] = ()

    def _work_of_documents(self) -> NDArray[np.int64]:
        work = np.diff(self._layout.indptr) * np.diff(self._offsets)
        return np.r_[0, np.cumsum(work)]

    @property
    def word_order(self) -> NDArray[np.integer]:
        """Column of X of each row of packed topics."""
        return self._layout.word_order

    @cached_property
    def _rows(self) -> NDArray[np.int64]:
        """Document of each entry."""
        return np.repeat(np.arange(self.n_documents), np.diff(self._offsets))

    @cached_property
    def _by_topic(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Where the documents of each topic begin, the documents, their entries."""
        entries = np.argsort(self._topics, kind="stable")
        sizes = np.bincount(self._topics, minlength=self.n_topics)
        return np.r_[0, np.cumsum(sizes)], self._rows[entries], entries

    @cached_property
    def _topic_ranges(self) -> list[tuple[int, int]]:
        pointer, documents, _ = self._by_topic
        work = np.r_[0, np.cumsum(np.diff(self._layout.indptr)[documents])][pointer]
        work += self.n_terms * np.arange(self.n_topics + 1)
        return balanced_ranges(work, RANGES_PER_THREAD * self.threads)

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

    def pack_topics(self, phi: Array) -> Array:
        """Copy (K, V) topics in the order of frequency."""
        packed = np.empty((self.n_topics, self.n_terms), self.dtype)
        np.take(phi, self._layout.word_order, axis=1, out=packed, mode="clip")
        return packed.T

    def unpack_topics(self, packed: Array) -> Array:
        """Return (K, V) topics in X's order of words."""
        phi = np.empty((self.n_topics, self.n_terms), self.dtype)
        phi[:, self._layout.word_order] = packed.T
        return phi

    def pack_prior(self, prior: Array | float) -> Array:
        """Repeat a scalar over topics."""
        return np.broadcast_to(np.asarray(prior, self.dtype), (self.n_topics,)).copy()

    def document_pass(
        self,
        parameters: Array,
        weights: Array,
        *,
        prior: Array | None = None,
        link: Link = "identity",
        max_updates: int = 0,
        tol: float = 0.0,
        out: Array | None = None,
        own: OwnShare | None = None,
        documents: OwnShare | None = None,
    ) -> DocumentPass:
        """See the protocol. Without `out` the counts are a new array."""
        if link == "digamma":
            raise ValueError("a mask is not known with the digamma link")
        if documents is None:
            shared = self.pack_prior(0.0 if prior is None else prior)
            documents = OwnShare(None, shared[self._topics])
        if documents.scale is None:
            documents = OwnShare(np.ones_like(parameters), documents.floor)
        counts = np.empty_like(parameters) if out is None else out
        loglik = np.empty(self.n_documents)
        updates = np.zeros(self.n_documents, np.int32)
        layout = self._layout
        arguments: tuple[Any, ...]
        corpus = (layout.indptr, self._words, layout.counts)
        entries = (self._offsets, self._topics, parameters, weights.T)
        floors = (documents.floor, documents.scale)
        if link == "collapsed":
            _, own = check_collapsed(documents.floor, own, max_updates)
            if self._own is None:
                self._own = np.empty_like(self._ratio)
            outputs = (counts, self._own, self._ratio, loglik)
            shares = np.atleast_2d(own.scale), np.atleast_2d(own.floor), own.groups
            arguments = (*corpus, *entries, *floors, *shares, *outputs)
            kernel = kernels.masked_collapsed_document_rows
        else:
            self._own = None
            shares = parameters[:0, None], parameters[:0, None], None  # not read
            outputs = (counts, self._ratio, loglik, updates)
            arguments = (*corpus, *entries, *floors, max_updates, float(tol), *outputs)
            kernel = kernels.masked_document_rows
        self._run(kernel, arguments, self._ranges)
        self._last = (*floors, *shares)
        return DocumentPass(counts, float(loglik.sum()), updates)

    def word_pass(self, parameters: Array, weights: Array, out: Array) -> Array:
        """N_wk of the last document pass, written to `out`."""
        layout = self._layout
        lists = (*self._by_topic, layout.indptr, self._words)
        numbers = (*self._last, self._own, self._ratio)
        arguments = (*lists, parameters, weights.T, *numbers, out.T)
        self._run(kernels.masked_word_rows, arguments, self._topic_ranges)
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
        arguments = (counts.T, float(prior), totals)
        self._run(kernels.topic_sums, arguments, self._topic_ranges)
        return totals

    def normalize_topics(self, counts: Array, prior: float, out: Array) -> Array:
        """Topics on the simplex from counts; `out` may be `counts`."""
        totals = self._positive_totals(counts, prior)
        empty = totals <= 0
        scale = 1.0 / np.where(empty, 1.0, totals)
        arguments = (counts.T, float(prior), scale, out.T)
        self._run(kernels.scale_topics, arguments, self._topic_ranges)
        out[:, empty] = 1.0 / self.n_terms
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
        columns = zip(array.T, shared, strict=True)
        return np.array([function(row + p).sum(dtype=np.float64) for row, p in columns])
