# SPDX-License-Identifier: BSD-3-Clause
"""Packed arrays on the device, and sums over their rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, psi

from topicfold.core.counts import OuterSum
from topicfold.core.typing import DeviceArray
from topicfold.engine.cuda.device import device_errors, load_cupy
from topicfold.engine.cuda.source import (
    SUM_ROWS,
    SUM_VALUES,
    THREADS,
    WARPS,
    Shape,
    compile_part,
    row_shape,
)
from topicfold.engine.protocol import Engine

# Modes of the kernel `column_sums`.
MODES = ("total", "log", "digamma", "topic bound", "clipped")
MOST_BLOCKS = 2**30
# Rows that are normalised at a time on their way to the host.
ROWS_AT_ONCE = 2**18


class PackedArrays(Engine):
    """What the engine does without the non-zeros: packing, normalising, sums."""

    # Set by sub-classes.
    word_order: NDArray[np.integer] = np.empty(0, np.int64)
    document_lengths: NDArray[np.float64] = np.empty(0)

    def __init__(self, n_terms: int, n_topics: int, dtype: np.dtype) -> None:
        self.n_terms = n_terms
        self.n_topics = n_topics
        self.dtype = dtype
        self.shape = row_shape(n_topics, dtype)
        self.width = self.shape.width
        self._cupy = load_cupy()

    def _run(
        self,
        part: str,
        name: str,
        blocks: Any,
        threads: Any,
        *arguments: Any,
        shape: Shape | None = None,
    ) -> None:
        blocks = blocks if isinstance(blocks, tuple) else (blocks,)
        if min(blocks) > 0:
            kernel = compile_part(part, shape or self.shape).get_function(name)
            kernel(blocks, threads, arguments)

    def _warp_blocks(self, n_rows: int) -> int:
        return min(-(-n_rows // WARPS), MOST_BLOCKS)

    def pack_documents(self, theta: Any) -> DeviceArray:
        """Copy a (D, K) array to the device, padded; broadcast ones stay small."""
        with device_errors("mixtures were copied to it"):
            packed = self._cupy.zeros((len(theta), self.width), self.dtype)
            if isinstance(theta, OuterSum):
                packed[:, : self.n_topics] = self._cupy.asarray(theta.documents)[
                    :, None
                ] + self._cupy.asarray(theta.topics)
            else:
                packed[:, : self.n_topics] = self._upload(theta)
            return packed

    def _upload(self, array: Any) -> DeviceArray:
        if isinstance(array, np.ndarray):
            # A broadcast array is sent once and repeated there.
            for axis, stride in enumerate(array.strides):
                if stride == 0 and array.shape[axis] > 1:
                    array = array.take([0], axis=axis)
            array = np.ascontiguousarray(array, dtype=self.dtype)
        return self._cupy.asarray(array, dtype=self.dtype)

    def unpack_documents(self, packed: DeviceArray) -> NDArray[np.floating]:
        """Return the (D, K) part as a NumPy array."""
        return self._cupy.asnumpy(packed[:, : self.n_topics])

    def mixtures(self, packed: DeviceArray) -> NDArray[np.floating]:
        """Return the (D, K) part as a NumPy array, rows on the simplex."""
        cupy = self._cupy
        theta = np.empty((len(packed), self.n_topics), self.dtype)
        for first in range(0, len(packed), ROWS_AT_ONCE):
            rows = packed[first : first + ROWS_AT_ONCE, : self.n_topics]
            totals = rows.sum(axis=1, dtype=np.float64, keepdims=True)
            uniform = self.dtype.type(1.0 / self.n_topics)
            shares = rows / cupy.where(totals > 0, totals, 1.0)
            shares = cupy.where(totals > 0, shares.astype(self.dtype), uniform)
            theta[first : first + len(rows)] = shares.get()
        return theta

    def pack_topics(self, phi: Any) -> DeviceArray:
        """Copy (K, V) topics to the device, word-major by frequency, padded."""
        with device_errors("topics were copied to it"):
            packed = self._cupy.zeros((self.n_terms, self.width), self.dtype)
            order = self._cupy.asarray(self.word_order)
            packed[:, : self.n_topics] = self._upload(phi)[:, order].T
            return packed

    def unpack_topics(self, packed: DeviceArray) -> NDArray[np.floating]:
        """Return (K, V) topics in X's order of words as a NumPy array."""
        phi = np.empty((self.n_topics, self.n_terms), self.dtype)
        columns = self._cupy.ascontiguousarray(packed[:, : self.n_topics].T)
        phi[:, self.word_order] = self._cupy.asnumpy(columns)
        return phi

    def pack_prior(self, prior: Any) -> DeviceArray:
        """Repeat or copy a prior over topics, padded with zeros."""
        packed = np.zeros(self.width, self.dtype)
        packed[: self.n_topics] = prior
        return self._cupy.asarray(packed)

    def normalize_topics(
        self, counts: DeviceArray, prior: float, out: DeviceArray
    ) -> DeviceArray:
        """Topics on the simplex from counts; `out` may be `counts`."""
        kind, added = (
            ("total", prior * self.n_terms) if prior >= 0 else ("clipped", 0.0)
        )
        scale = self._sums(kind, counts, min(prior, 0.0))
        with device_errors("topics were scaled"):
            self._run(
                "sums",
                "invert_totals",
                -(-self.n_topics // THREADS),
                (THREADS,),
                np.int32(self.n_topics),
                np.float64(added),
                scale,
            )
        return self._scale(counts, prior, scale, False, out)

    def expected_log_topics(
        self, counts: DeviceArray, prior: float, out: DeviceArray
    ) -> DeviceArray:
        """exp(ψ(λ) − ψ(Σλ)) for λ = counts + prior."""
        totals = self.topic_totals(counts) + prior * self.n_terms
        scale = self._cupy.asarray(np.exp(-psi(totals)))
        return self._scale(counts, prior, scale, True, out)

    def _scale(
        self,
        counts: DeviceArray,
        prior: float,
        scale: DeviceArray,
        digamma: bool,
        out: DeviceArray,
    ) -> DeviceArray:
        with device_errors("topics were scaled"):
            self._run(
                "sums",
                "scale_topics",
                min(-(-counts.size // 256), MOST_BLOCKS),
                (256,),
                np.int64(counts.size),
                counts,
                np.float64(prior),
                scale,
                np.float64(1.0 / self.n_terms),
                np.int32(digamma),
                out,
            )
        return out

    def document_bound(self, parameters: DeviceArray, prior: Any) -> float:
        """Dirichlet terms of the bound, ``Σ_d E_q log p(θ_d|α) − E_q log q(θ_d)``."""
        alpha = self._vector(prior)
        with device_errors("the bound was computed"):
            rows = self._cupy.empty(len(parameters), np.float64)
            self._run(
                "sums",
                "dirichlet_bound",
                self._warp_blocks(len(parameters)),
                (THREADS,),
                np.int64(len(parameters)),
                parameters,
                self._cupy.asarray(alpha),
                rows,
            )
            total = self._total(rows)
        constant = float(gammaln(alpha.sum()) - gammaln(alpha).sum())
        return total + len(parameters) * constant

    @cached_property
    def _no_prior(self) -> DeviceArray:
        return self._cupy.zeros(self.n_topics, np.float64)

    def _on_device(self, prior: Any) -> DeviceArray:
        """Return a prior over topics in float64; none is not sent anew."""
        if isinstance(prior, float) and prior == 0.0:
            return self._no_prior
        return self._cupy.asarray(self._vector(prior))

    def _vector(self, prior: Any) -> NDArray[np.float64]:
        prior = self._cupy.asnumpy(prior) if hasattr(prior, "get") else prior
        prior = np.asarray(prior, np.float64)
        vector = np.empty(self.n_topics)
        vector[:] = prior[: self.n_topics] if prior.ndim else prior
        return vector

    def _column_sums(
        self, array: DeviceArray, kind: str, prior: Any
    ) -> NDArray[np.float64]:
        """See the protocol."""
        if kind == "at most 1":
            kind, array = "total", self._cupy.minimum(array, 1)
        return self._sums(kind, array, prior).get()

    def _sums(self, kind: str, array: DeviceArray, prior: Any) -> DeviceArray:
        """Sum a function of the entries over rows, in blocks of a fixed size."""
        n_blocks = max(1, -(-len(array) // SUM_ROWS))
        with device_errors("sums over rows were made"):
            parts = self._cupy.empty((n_blocks, self.n_topics), np.float64)
            self._run(
                "sums",
                "column_sums",
                (n_blocks, -(-self.n_topics // 32)),
                (32, 8),
                np.int32(MODES.index(kind)),
                np.int64(len(array)),
                array,
                self._on_device(prior),
                parts,
            )
            return self._join(parts)

    def _total(self, values: DeviceArray) -> float:
        n_blocks = max(1, -(-len(values) // SUM_VALUES))
        parts = self._cupy.empty((n_blocks, 1), np.float64)
        size = np.int64(len(values))
        self._run("sums", "vector_sums", n_blocks, (256,), size, values, parts)
        return float(self._join(parts)[0])

    def _join(self, parts: DeviceArray) -> DeviceArray:
        n_rows, n_columns = parts.shape
        out = self._cupy.empty(n_columns, np.float64)
        sizes = np.int64(n_rows), np.int32(n_columns)
        self._run("sums", "join_sums", n_columns, (256,), *sizes, parts, out)
        return out
