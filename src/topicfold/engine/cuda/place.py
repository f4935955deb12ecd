# SPDX-License-Identifier: BSD-3-Clause
"""Which CUDA engine a corpus gets: one on the device, or one block after another.

A matrix that does not fit into the device's memory is streamed (``engine.cuda.
streaming``). A corpus that is in blocks already, on disk or on workers, is visited as
on the CPU (``engine.blocks``): its mixtures are files, and the device holds one
block at a time.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.typing import Array
from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.engine.blocks.engine import BlockedEngine, OneBlock
from topicfold.engine.cuda.device import load_cupy
from topicfold.engine.cuda.streaming import (
    USABLE,
    Plan,
    StreamedEngine,
    fits,
    plan_blocks,
)
from topicfold.engine.protocol import (
    DocumentPass,
    Engine,
    OwnShare,
    PassOptions,
    on_device,
    to_numpy,
)

_logger = logging.getLogger("topicfold")


def make_cuda_engine(
    X: Any,
    n_topics: int,
    *,
    dtype: np.dtype | type = np.float32,
    threads: int = 1,
    word_order: NDArray[np.integer] | None = None,
) -> Engine:
    """Return the engine for a matrix or a corpus in blocks on the GPU."""
    load_cupy()
    if isinstance(X, BlockCorpus):
        # One block at a time on the device, for any number of threads.
        return BlockedEngine(
            X, n_topics, dtype=dtype, threads=threads, make_block=CudaBlock, at_once=1
        )
    dtype = np.dtype(dtype)
    if fits_now(X, n_topics, dtype):
        from topicfold.engine.cuda.engine import CudaEngine

        return CudaEngine(X, n_topics, dtype=dtype, word_order=word_order)
    plan = plan_blocks(X.indptr, X.shape[1], n_topics, dtype, _free_memory())
    return _streamed(X, n_topics, dtype, word_order, plan)


def fits_now(X: Any, n_topics: int, dtype: np.dtype) -> bool:
    """Whether the device has room for X whole at the moment."""
    return fits(X, n_topics, dtype, _free_memory())


def _free_memory() -> int:
    """Return how much memory of the device may be taken."""
    cupy = load_cupy()
    cupy.get_default_memory_pool().free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()
    return int(USABLE * cupy.cuda.runtime.memGetInfo()[0])


def _streamed(
    X: Any, n_topics: int, dtype: np.dtype, word_order: Any, plan: Plan
) -> Engine:
    """Return the engine of a matrix that the device has no room for."""
    from topicfold.engine.cuda.transfer import CudaPort

    n_blocks, n_stay = len(plan.stays), int(plan.stays.sum())
    _logger.info("%d of %d blocks of documents stay on the GPU", n_stay, n_blocks)
    if word_order is None:
        frequency = np.bincount(X.indices, minlength=X.shape[1])
        word_order = np.argsort(-frequency, kind="stable")
    return StreamedEngine(X, CudaPort(X.shape[1], n_topics, dtype, word_order), plan)


class CudaBlock(OneBlock):
    """A block whose two passes run on the device; its arrays are NumPy's.

    The word pass must follow the document pass of the same block: the block is on
    the device from the one to the other, where its non-zeros are arranged.
    """

    _visit: tuple[Any, Any, Any] | None = None

    def __init__(
        self,
        X: sparse.csr_matrix,
        n_topics: int,
        dtype: np.dtype | type,
        word_order: NDArray[np.integer],
    ) -> None:
        # What the CPU does with rows; it need not arrange their words.
        nothing = sparse.csr_matrix(X.shape, dtype=dtype)
        super().__init__(nothing, n_topics, dtype, word_order)
        self._X = X
        self._order = word_order

    @property
    def n_bytes(self) -> int:
        """Memory of the non-zeros and of mixtures."""
        X = self._X
        return int(super().n_bytes + X.data.nbytes + X.indices.nbytes)

    def _device_engine(self) -> Any:
        """Send the block."""
        from topicfold.engine.cuda.engine import CudaEngine

        return CudaEngine(
            self._X, self.n_topics, dtype=self.dtype, word_order=self._order
        )

    def _document_pass(
        self, parameters: Array, weights: Array, asked: PassOptions, out: Array | None
    ) -> DocumentPass:
        self._visit = None
        used = slice(0, self.n_topics)
        device = self._device_engine()
        rows = device.pack_documents(parameters[:, used])
        topics = device.pack_documents(weights[:, used])
        own_rows: Any = [
            side if side is None else device.pack_documents(side[:, used])
            for side in (() if asked.documents is None else asked.documents[:2])
        ]
        prior = None if asked.prior is None else device.pack_prior(asked.prior[used])
        there = asked._replace(
            prior=prior,
            own=asked.own and self._share_there(device, asked.own),
            documents=OwnShare(*own_rows) if own_rows else None,
        )
        done = device._document_pass(rows, topics, there, None)
        if asked.max_updates:
            self._fetch(rows, parameters)
        counts = np.empty_like(parameters) if out is None else out
        self._fetch(done.counts, counts)
        self._visit = device, rows, topics
        return DocumentPass(counts, done.loglik, to_numpy(done.n_updates))

    def word_pass(self, parameters: Array, weights: Array, out: Array) -> Array:
        """N_wk for the document pass just made; the block then leaves the device."""
        if self._visit is None:
            raise RuntimeError("a document pass comes before the word pass")
        device, rows, topics = self._visit
        self._visit = None
        self._fetch(device.word_pass(rows, topics, np.empty_like(topics)), out)
        return out

    def _share_there(self, device: Any, own: OwnShare) -> OwnShare:
        """Return an own share of words as the device packs it."""
        used = slice(0, self.n_topics)
        if own.groups is not None:
            scale, floor = (device.pack_documents(s[:, used]) for s in own[:2])
            return OwnShare(scale, floor, own.groups)
        return OwnShare(*(device.pack_prior(side[used]) for side in own[:2]))

    def _fetch(self, packed: Any, out: Array) -> None:
        """Copy packed rows to the host, whose padding may be another."""
        if on_device(packed) and packed.shape == out.shape:
            packed.get(out=out)
            return
        out[:, : self.n_topics] = to_numpy(packed[:, : self.n_topics])
        out[:, self.n_topics :] = 0
