# SPDX-License-Identifier: BSD-3-Clause
"""The CUDA engine: the protocol of ``engine.protocol`` on one NVIDIA GPU."""

from __future__ import annotations

import math
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
from topicfold.engine.cuda.source import THREADS, Shape, compile_part, row_shape
from topicfold.engine.protocol import DocumentPass, PassOptions

# A null pointer.
NO_ARRAY = np.uint64(0)
# Non-zeros from which on float32 passes gather rows of half precision, and the least
# width of their rows. Rounding errors of single weights (2^-12) average out there.
LEAST_FOR_HALF = 2**22
LEAST_HALF_WIDTH = 32
# The largest number of gathered documents under the collapsed link.
LARGEST_HALF = 2.0**15


class Passes(PackedArrays):
    """The two passes over lists of non-zeros that are on the device."""

    #: Whether passes that leave documents as they are gather rows of half precision.
    in_half = False
    _layout: DeviceLayout
    # What the word pass gathers in place of the documents' parameters, if anything.
    _gathered: DeviceArray = None
    # Kind of kernels of the last document pass, and what the collapsed link leaves out.
    _half = False
    _left_out: tuple[Any, ...] | None = None
    _unit = np.float32(1.0)

    @cached_property
    def _words(self) -> DeviceWords:
        raise NotImplementedError

    @cached_property
    def _partials(self) -> DeviceArray:
        return self._cupy.empty((self._words.n_slots, self.width), self.dtype)

    @cached_property
    def _most_blocks(self) -> int:
        """Blocks of a document pass: enough of them that none waits for a long one."""
        return int(self._cupy.cuda.Device().attributes["MultiProcessorCount"] * 96)

    @cached_property
    def _half_documents(self) -> DeviceArray:
        return self._cupy.empty((self.n_documents, self.width), np.float16)

    @cached_property
    def _half_topics(self) -> DeviceArray:
        return self._cupy.empty((self.n_terms, self.width), np.float16)

    @cached_property
    def _full_documents(self) -> DeviceArray:
        return self._cupy.empty((self.n_documents, self.width), self.dtype)

    @cached_property
    def _longest_and_all(self) -> tuple[float, float]:
        """Tokens of the longest document, and of all."""
        lengths = self._layout.lengths
        return float(lengths.max()), float(lengths.sum())

    def _shape(self) -> Shape:
        collapsed = self._left_out is not None
        if not (self._half or collapsed):
            return self.shape
        return row_shape(
            self.n_topics, self.dtype, half=self._half, collapsed=collapsed
        )

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
        digamma = asked.link == "digamma"
        collapsed = asked.link == "collapsed" and own is not None
        updating = asked.max_updates > 0 and not collapsed
        self._gathered = self._left_out = None
        with device_errors("a document pass ran"):
            counts = cupy.empty_like(parameters) if out is None else out
            loglik = cupy.empty(self.n_documents, np.float64)
            n_updates = cupy.zeros(self.n_documents, np.int32)
            name = "document_pass"
            if collapsed and own is not None:
                groups = NO_ARRAY if own.groups is None else cupy.asarray(own.groups)
                left_out = prior, own.scale, own.floor, tilt, groups, np.int32(stride)
                self._left_out = left_out
                name += _kind(left_out)
            self._half = self.in_half and not updating and not name.endswith("sided")
            unit: DeviceArray = NO_ARRAY
            if self._half:
                weights, unit = self._narrow(weights)
                self._gathered = self._half_documents
            elif digamma:
                self._gathered = self._full_documents
            # The word pass gathers these, or else the parameters themselves.
            gathered = counts if self._gathered is None else self._gathered
            options: tuple[Any, ...] = ()
            outputs: tuple[Any, ...] = (layout.lengths, gathered, counts, loglik)
            if self._left_out is not None:
                self._unit = self._documents_unit(prior)
                options = unit, self._unit, *self._left_out
            else:
                name += "_digamma" * digamma + "_updates" * updating
                prior = cupy.zeros(self.width, self.dtype) if prior is None else prior
                updates = np.int32(asked.max_updates), np.float64(asked.tol)
                options = prior, np.int32(stride), tilt, *updates
                outputs += (n_updates,)
            self._run(
                "documents",
                name,
                min(self._warp_blocks(self.n_documents), self._most_blocks),
                (THREADS,),
                np.int64(self.n_documents),
                layout.indptr,
                layout.indices,
                layout.counts,
                parameters,
                weights,
                *options,
                *outputs,
                shape=self._shape(),
            )
            total = self._total(loglik)
            if self._half:
                total -= self._longest_and_all[1] * math.log(float(unit.get()[0]))
            return DocumentPass(counts, total, n_updates)

    def _narrow(self, weights: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        """Return topics in half precision, and the power of two they were scaled by."""
        unit = self._cupy.empty(1, self.dtype)
        pairs = weights.size // 2
        self._run(
            "documents",
            "narrow_rows",
            min(-(-pairs // 256), 2**16),
            (256,),
            np.int64(pairs),
            weights,
            weights.max(),
            self._half_topics,
            unit,
            shape=self._shape(),
        )
        return self._half_topics, unit

    def _documents_unit(self, prior: DeviceArray) -> Any:
        """Return the power of two that keeps N_dk + α within half precision."""
        if not self._half:
            return self.dtype.type(1.0)
        largest = self._longest_and_all[0] + float(prior.max())
        return self.dtype.type(2.0 ** math.floor(math.log2(LARGEST_HALF / largest)))

    def word_pass(
        self, parameters: DeviceArray, weights: DeviceArray, out: DeviceArray
    ) -> DeviceArray:
        """N_wk at the parameters of the last document pass, written to `out`."""
        words = self._words
        stretches = words.stretches
        left_out = self._left_out
        gathered = parameters if self._gathered is None else self._gathered
        rows = (gathered,) if left_out is None else (gathered, self._unit)
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
                *rows,
                weights,
                *(left_out or ()),
                self._partials,
                out,
                shape=self._shape(),
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

    A large float32 corpus gathers rows of half precision (`in_half`; None: from 2^22
    non-zeros on) and multiplies and adds up in float32; a pass then agrees to 1e-3, its
    log-likelihood to 1e-6. Passes that update documents, and parts with rows of their
    own, gather float32.

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
        in_half: bool | None = None,
    ) -> None:
        super().__init__(int(X.shape[1]), n_topics, np.dtype(dtype))
        self.n_documents = int(X.shape[0])
        if in_half is None:
            in_half = len(X.indices) >= LEAST_FOR_HALF
        can = self.dtype == np.float32 and self.width >= LEAST_HALF_WIDTH
        self.in_half = bool(in_half and can)
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
            itemsize = 2 if self.in_half else self.dtype.itemsize
            tile = self._tile_bytes // (self.width * itemsize)
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
