# SPDX-License-Identifier: BSD-3-Clause
"""The CUDA engine: the protocol of ``engine.protocol`` on one NVIDIA GPU."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.core.typing import DeviceArray
from topicfold.engine.cuda.device import device_errors
from topicfold.engine.cuda.layout import (
    TILE_BYTES,
    DeviceLayout,
    DeviceWords,
    document_layout,
    word_layout,
)
from topicfold.engine.cuda.packing import PackedArrays
from topicfold.engine.cuda.source import THREADS, compile_part
from topicfold.engine.protocol import DocumentPass, PassOptions

# A pointer to nothing.
NO_ARRAY = np.uint64(0)


class Passes(PackedArrays):
    """The two passes over lists of non-zeros that are on the device."""

    _layout: DeviceLayout
    _document_weights: DeviceArray = None
    # α and the own share of the last document pass, if it was the collapsed link's.
    _collapsed: tuple[Any, ...] | None = None

    @cached_property
    def _words(self) -> DeviceWords:
        raise NotImplementedError

    @cached_property
    def _partials(self) -> DeviceArray:
        return self._cupy.empty((self._words.n_slots, self.width), self.dtype)

    def _document_pass(
        self,
        parameters: DeviceArray,
        weights: DeviceArray,
        asked: PassOptions,
        out: DeviceArray | None,
    ) -> DocumentPass:
        """See the protocol; `n_updates` stays on the device."""
        cupy, layout, own = self._cupy, self._layout, asked.own
        prior: DeviceArray = asked.prior
        stride, tilt = 0, NO_ARRAY
        if asked.documents is not None:
            prior, stride = asked.documents.floor, self.width
            if asked.documents.scale is not None:
                tilt = asked.documents.scale
        # The word pass gathers these, or else the parameters themselves.
        digamma = asked.link == "digamma"
        if not digamma:
            self._document_weights = None
        self._collapsed = None
        with device_errors("a document pass ran"):
            if digamma and self._document_weights is None:
                self._document_weights = cupy.empty_like(parameters)
            counts = cupy.empty_like(parameters) if out is None else out
            loglik = cupy.empty(self.n_documents, np.float64)
            n_updates = cupy.zeros(self.n_documents, np.int32)
            options: tuple[Any, ...]
            if asked.link == "collapsed" and own is not None:
                groups = NO_ARRAY if own.groups is None else cupy.asarray(own.groups)
                left_out = prior, own.scale, own.floor, tilt, groups, np.int32(stride)
                self._collapsed = left_out
                name = "document_pass" + _kind(left_out)
                options = *left_out, layout.lengths, counts, loglik
            else:
                updating = asked.max_updates > 0
                name = "document_pass" + "_digamma" * digamma + "_updates" * updating
                prior = cupy.zeros(self.width, self.dtype) if prior is None else prior
                weights_out = self._document_weights if digamma else prior
                updates = np.int32(asked.max_updates), np.float64(asked.tol)
                outputs = layout.lengths, weights_out, counts, loglik, n_updates
                options = prior, np.int32(stride), tilt, *updates, *outputs
            self._run(
                "documents",
                name,
                self._warp_blocks(self.n_documents),
                (THREADS,),
                np.int64(self.n_documents),
                layout.indptr,
                layout.indices,
                layout.counts,
                parameters,
                weights,
                *options,
            )
            return DocumentPass(counts, self._total(loglik), n_updates)

    def word_pass(
        self, parameters: DeviceArray, weights: DeviceArray, out: DeviceArray
    ) -> DeviceArray:
        """N_wk at the parameters of the last document pass, written to `out`."""
        words = self._words
        stretches = words.stretches
        rows = self._document_weights
        left_out = self._collapsed
        with device_errors("a word pass ran"):
            self._run(
                "words",
                "word_pass" if left_out is None else "word_pass" + _kind(left_out),
                self._warp_blocks(len(stretches.start)),
                (THREADS,),
                np.int32(len(stretches.start)),
                *stretches[:4],
                words.documents,
                words.counts,
                parameters if rows is None else rows,
                weights,
                *(left_out or ()),
                self._partials,
                out,
            )
            self._run(
                "words",
                "join_stretches",
                (len(stretches.joined), -(-self.width // 32)),
                (32, 8),
                stretches.joined,
                stretches.first_slot,
                self._partials,
                weights,
                np.int32(left_out is not None),
                out,
            )
        return out


def _kind(left_out: tuple[Any, ...]) -> str:
    """Return which kernel is for these: any with rows of its own has its price."""
    *_, tilt, groups, stride = left_out
    return "_collapsed" if tilt is groups is NO_ARRAY and not stride else "_sided"


class CudaEngine(Passes):
    """Expected counts of one corpus on one GPU.

    Arithmetic is in `dtype`; log-likelihood and sums over rows are float64. Every
    output row has one warp and a fixed order of addition: the same bits in every
    run. In float32 a pass agrees with the reference to a relative 1e-4. The word pass
    computes the ratios again from the rows that it fetches anyway, which is less
    traffic than to remember them.

    Time O(nnz·K) per pass, device memory 16 bytes per non-zero (float32) and
    O((D + V)·K). X is SciPy's, or has arrays `indptr`, `indices`, `data` on the
    device. A tile of the word pass has `tile_bytes` of mixtures; 0 does without tiles.
    """

    def __init__(
        self,
        X: Any,
        n_topics: int,
        *,
        dtype: np.dtype | type = np.float32,
        word_order: NDArray[np.integer] | None = None,
        tile_bytes: int = TILE_BYTES,
    ) -> None:
        super().__init__(int(X.shape[1]), n_topics, np.dtype(dtype))
        self.n_documents = int(X.shape[0])
        self._tile_bytes = tile_bytes
        with device_errors("the corpus was copied to it"):
            self._layout = document_layout(X, self.dtype, word_order, self._cupy)
        self.word_order = self._layout.word_order
        self.document_lengths: NDArray[np.float64] = self._cupy.asnumpy(
            self._layout.lengths
        )

    @cached_property
    def _words(self) -> DeviceWords:
        with device_errors("its non-zeros were sorted by word"):
            kernels = compile_part("words", self.shape)
            tile = self._tile_bytes // (self.width * self.dtype.itemsize)
            return word_layout(self._layout, tile, kernels, self._cupy)


class ListedEngine(Passes):
    """The passes over lists that were arranged elsewhere, in the order of words of
    `topics`.
    """

    def __init__(
        self,
        topics: PackedArrays,
        layout: DeviceLayout,
        words: DeviceWords,
        partials: DeviceArray,
    ) -> None:
        super().__init__(topics.n_terms, topics.n_topics, topics.dtype)
        self.n_documents = len(layout.indptr) - 1
        self.word_order = topics.word_order
        self._layout = layout
        self._words = words
        self._partials = partials
