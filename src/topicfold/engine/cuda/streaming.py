# SPDX-License-Identifier: BSD-3-Clause
"""Which CUDA engine a corpus gets: one on the device, or one block after another.

A corpus that does not fit into the device's memory is cut into blocks of rows. They
and their mixtures stay on the host or on disk; a pass sends a block, runs both passes
on it and fetches the results, so the device holds one block at a time.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.corpus.block_corpus import BlockCorpus, Rows
from topicfold.engine.arrays import to_numpy
from topicfold.engine.block_executor import LocalExecutor, executor_of
from topicfold.engine.blocked import BlockedEngine, BlockEngine
from topicfold.engine.cuda.device import load_cupy
from topicfold.engine.cuda.source import row_shape
from topicfold.engine.protocol import Array, DocumentPass, Engine, Link
from topicfold.exceptions import DeviceError

_logger = logging.getLogger("topicfold")

# Share of the free device memory that is planned with.
USABLE = 0.85
# Packed arrays of mixtures and of topics that a fit holds at once.
MIXTURES = 3
TOPICS = 5


def make_cuda_engine(
    X: Any,
    n_topics: int,
    *,
    dtype: np.dtype | type = np.float32,
    threads: int = 1,
    word_order: NDArray[np.integer] | None = None,
) -> Engine:
    """Return the engine for a matrix or a corpus in blocks on the GPU."""
    cupy = load_cupy()
    if isinstance(X, BlockCorpus):
        # One block at a time on the device, whatever the threads.
        executor = executor_of(X, 1)
        return _streamed(X, n_topics, executor, dtype, threads)
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    free = int(USABLE * cupy.cuda.runtime.memGetInfo()[0])
    rows = rows_that_fit(X, n_topics, np.dtype(dtype), free)
    if rows >= X.shape[0]:
        from topicfold.engine.cuda.engine import CudaEngine

        return CudaEngine(X, n_topics, dtype=dtype, word_order=word_order)
    _logger.info("%d of %d documents at a time on the GPU", rows, X.shape[0])
    corpus = MemoryBlocks(X, rows, word_order)
    executor = LocalExecutor(corpus, 1, corpus.keep_bytes)
    return _streamed(corpus, n_topics, executor, dtype, threads)


def _streamed(
    corpus: BlockCorpus, n_topics: int, executor: Any, dtype: Any, threads: int
) -> Engine:
    return BlockedEngine(
        corpus,
        n_topics,
        executor,
        dtype=dtype,
        threads=threads,
        make_block=make_cuda_block,
    )


def rows_that_fit(X: Any, n_topics: int, dtype: np.dtype, free: int) -> int:
    """Return how many rows of X the device has room for, or say that none.

    Examples
    --------
    >>> X = sparse.csr_matrix(np.ones((1000, 50), np.float32))
    >>> rows_that_fit(X, 16, np.dtype(np.float32), 2**30)
    1000
    >>> rows_that_fit(X, 16, np.dtype(np.float32), 2**20)
    425
    """
    row_bytes = row_shape(n_topics, dtype).width * dtype.itemsize
    # Both lists of a non-zero, and what sorting needs besides.
    per_entry = 2 * (4 + dtype.itemsize) + 28
    n_rows, n_terms = X.shape
    per_row = MIXTURES * row_bytes + 32 + per_entry * X.nnz / max(n_rows, 1)
    room = free - TOPICS * n_terms * row_bytes
    rows = int(room / per_row)
    if rows < min(n_rows, 1):
        raise DeviceError(
            f"the GPU has {free / 2**30:.2f} GiB to use, but {n_topics} topics over "
            f"{n_terms} terms alone need {TOPICS * n_terms * row_bytes / 2**30:.2f}. "
            "Use fewer topics or terms, close other programs on the GPU, or use "
            "device='cpu'."
        )
    return min(rows, n_rows)


class MemoryBlocks(BlockCorpus):
    """Rows of a CSR matrix in memory, so many at a time.

    Examples
    --------
    >>> X = sparse.csr_matrix(np.eye(5))
    >>> MemoryBlocks(X, 2).block_rows.tolist()
    [2, 2, 1]
    """

    def __init__(
        self,
        X: sparse.csr_matrix,
        rows: int,
        word_order: NDArray[np.integer] | None = None,
    ) -> None:
        self._X = X
        self._order = word_order
        self._starts = np.arange(0, X.shape[0], rows)
        stops = np.r_[self._starts[1:], X.shape[0]]
        self.dtype = X.dtype
        self.block_rows = np.asarray(stops - self._starts, np.int64)
        self.block_nnz = np.asarray(X.indptr[stops] - X.indptr[self._starts], np.int64)
        self.document_frequencies = np.bincount(X.indices, minlength=X.shape[1])
        self.term_totals = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()

    @property
    def word_order(self) -> NDArray[np.int64]:
        """The given order, or by falling document frequency."""
        if self._order is None:
            return super().word_order
        return np.asarray(self._order, np.int64)

    def block(self, number: int) -> sparse.csr_matrix:
        """Return one block."""
        start = int(self._starts[number])
        return self._X[start : start + int(self.block_rows[number])]

    def _row_sums(self) -> tuple[Rows, NDArray[np.float64]]:
        sums = np.asarray(self._X.sum(axis=1, dtype=np.float64)).ravel()
        return np.diff(self._X.indptr).astype(np.int64), sums

    def _take(self, chosen: list[tuple[int, Rows]]) -> sparse.csr_matrix:
        return self._X[np.concatenate([self._starts[b] + rows for b, rows in chosen])]


class CudaBlock(BlockEngine):
    """A block whose two passes run on the device; its arrays are NumPy's.

    The word pass must follow the document pass of the same block: the block is on
    the device from the one to the other.
    """

    _visit: tuple[Any, Any, Any] | None = None

    def _device_engine(self) -> Any:
        """Send the block, words numbered as in packed topics."""
        from topicfold.engine.cuda.engine import CudaEngine

        layout = self._layout
        block = sparse.csr_matrix(
            (layout.counts, layout.indices, layout.indptr),
            shape=(self.n_documents, self.n_terms),
        )
        order = np.arange(self.n_terms)
        return CudaEngine(block, self.n_topics, dtype=self.dtype, word_order=order)

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
    ) -> DocumentPass:
        """See the protocol."""
        self._visit = None
        used = slice(0, self.n_topics)
        device = self._device_engine()
        rows = device.pack_documents(parameters[:, used])
        topics = device.pack_documents(weights[:, used])
        done = device.document_pass(
            rows,
            topics,
            prior=None if prior is None else device.pack_prior(prior[used]),
            link=link,
            max_updates=max_updates,
            tol=tol,
        )
        if max_updates:
            parameters[:, used] = device.unpack_documents(rows)
        counts = np.zeros_like(parameters) if out is None else out
        counts[:, used] = device.unpack_documents(done.counts)
        self._visit = device, rows, topics
        return DocumentPass(counts, done.loglik, to_numpy(done.n_updates))

    def word_pass(self, parameters: Array, weights: Array, out: Array) -> Array:
        """N_wk for the document pass just made; the block then leaves the device."""
        if self._visit is None:
            raise RuntimeError("a document pass comes before the word pass")
        device, rows, topics = self._visit
        self._visit = None
        words = device.word_pass(rows, topics, np.empty_like(topics))
        out[:, : self.n_topics] = device.unpack_documents(words)
        out[:, self.n_topics :] = 0
        return out


def make_cuda_block(
    X: sparse.csr_matrix, n_topics: int, dtype: Any, word_order: NDArray[np.integer]
) -> CudaBlock:
    """Arrange a block on the host."""
    return CudaBlock(X, n_topics, dtype=dtype, word_order=word_order)
