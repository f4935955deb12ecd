# SPDX-License-Identifier: BSD-3-Clause
"""What steps do on the device: θ-steps with the document graph, OTM with topics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.typing import DeviceArray
from topicfold.engine.cuda.device import device_errors
from topicfold.engine.cuda.source import THREADS, WARPS, compile_part, row_shape
from topicfold.engine.kernels import LEAST_PART
from topicfold.engine.protocol import padded

# As in theta/graph.py.
FLOOR = 1e-10
SMALLEST_SHARE = 1e-35
# Threads of the one block of the orthogonal φ-step.
ORTHOGONAL_THREADS = 1024


class CudaGraphOperator:
    """``steps.graph.GraphOperator`` on the device, for rows of `engine`."""

    def __init__(self, graph: Any, engine: Any) -> None:
        graph = sparse.csr_matrix(graph)
        self.n_topics = engine.n_topics
        self.n_documents = engine.n_documents
        self.degrees = np.asarray(graph.sum(axis=1), dtype=np.float64).ravel()
        self._engine = engine
        self._cupy = cupy = engine._cupy
        with device_errors("the document graph was copied to it"):
            self._indptr = cupy.asarray(graph.indptr.astype(np.int64))
            self._indices = cupy.asarray(graph.indices.astype(np.int32))
            self._weights = cupy.asarray(graph.data.astype(engine.dtype))
            self._degrees = cupy.asarray(self.degrees)

    @property
    def total_weight(self) -> float:
        """``Σ_ij W_ij``, every edge twice."""
        return float(self.degrees.sum())

    def normalize(self, counts: DeviceArray, *, in_place: bool = False) -> DeviceArray:
        """Return rows on the simplex; a row of zeros becomes uniform."""
        cupy = self._cupy
        counts = self._wide(counts)
        out = counts if in_place else None
        totals = counts.sum(axis=1, dtype=np.float64, keepdims=True)
        scale = 1.0 / cupy.where(totals > 0, totals, 1.0)
        out = cupy.multiply(counts, scale.astype(counts.dtype), out=out)
        empty = cupy.flatnonzero(totals.ravel() <= 0)
        if empty.size:
            out[empty, : self.n_topics] = 1.0 / self.n_topics
        return self._plain(out)

    def smooth(
        self, theta: DeviceArray, step: float | NDArray[np.float64]
    ) -> DeviceArray:
        """Return ``(1 − step) θ_i + step Σ_j W_ij θ_j / D_ii``."""
        cupy = self._cupy
        known = self._degrees > 0
        steps = cupy.where(known, cupy.asarray(step, dtype=np.float64), 0.0)
        scale = steps / cupy.where(known, self._degrees, 1.0)
        theta = self._wide(theta)
        out = self._neighbor_sums(self._weights, theta)
        out *= scale.astype(theta.dtype)[:, None]
        out += (1.0 - steps).astype(theta.dtype)[:, None] * theta
        return self._plain(out)

    def neighbor_sums(self, theta: DeviceArray) -> DeviceArray:
        """Return ``W θ``."""
        return self._plain(self._neighbor_sums(self._weights, self._wide(theta)))

    def _neighbor_sums(self, weights: DeviceArray, theta: DeviceArray) -> DeviceArray:
        out = self._cupy.empty_like(theta)
        self._run("neighbor_sums", weights, theta, out)
        return out

    def edge_products(self, first: DeviceArray, second: DeviceArray) -> float:
        """Return ``½ Σ_ij W_ij (a_i − a_j)·(b_i − b_j) = tr(aᵀ L b)``."""
        rows = self._cupy.empty(len(first), np.float64)
        both = self._wide(first), self._wide(second)
        self._run("edge_products", self._weights, *both, rows)
        return self._engine._total(rows)

    def divergence(self, theta: DeviceArray) -> float:
        """Return ``½ Σ_ij W_ij (KL(θ_i‖θ_j) + KL(θ_j‖θ_i))``, shares of 1e-10 least."""
        cupy = self._cupy
        theta = self._wide(theta)
        logs = cupy.log(cupy.maximum(theta, theta.dtype.type(FLOOR)))
        logs[:, self.n_topics :] = 0
        return self.edge_products(self._plain(theta), self._plain(logs))

    def expected_loglik(self, counts: DeviceArray, theta: DeviceArray) -> float:
        """Return ``Σ_dk N_dk log θ_dk``."""
        return self._engine._total(self.expected_loglik_rows(counts, theta))

    def expected_loglik_rows(
        self, counts: DeviceArray, theta: DeviceArray
    ) -> DeviceArray:
        """Return ``Σ_k N_dk log θ_dk`` of each document, on the device."""
        cupy = self._cupy
        logs = cupy.log(cupy.maximum(theta, theta.dtype.type(SMALLEST_SHARE)))
        return cupy.where(counts > 0, counts * logs, 0).sum(axis=1, dtype=np.float64)

    def solve(
        self,
        lengths: NDArray[np.float64],
        strength: float,
        counts: DeviceArray,
        start: DeviceArray,
        *,
        tol: float = 1e-4,
        max_iter: int = 100,
    ) -> tuple[DeviceArray, int]:
        """Solve ``(diag(n_d) + strength · L) θ = N`` by conjugate gradients."""
        cupy = self._cupy
        counts, start = self._wide(counts), self._wide(start)
        kind = counts.dtype
        weights = self._weights * kind.type(strength)
        diagonal = cupy.asarray(lengths) + strength * self._degrees
        column = diagonal.astype(kind)[:, None]
        inverse = (1.0 / diagonal).astype(kind)[:, None]

        def apply(rows: DeviceArray) -> DeviceArray:
            return column * rows - self._neighbor_sums(weights, rows)

        def scaled_square(rows: DeviceArray) -> float:
            squares = (rows * rows).sum(axis=1, dtype=np.float64)
            return self._engine._total(squares / diagonal)

        x = start.copy()
        p = cupy.zeros_like(x)
        r = counts - apply(x)
        goal = tol * tol * scaled_square(counts)
        residual = scaled_square(r)
        beta, n_iter = 0.0, 0
        while residual > goal and n_iter < max_iter:
            n_iter += 1
            p = inverse * r + kind.type(beta) * p
            q = apply(p)
            curvature = self._engine._total((p * q).sum(axis=1, dtype=np.float64))
            if curvature <= 0.0:
                break
            step = kind.type(residual / curvature)
            x += step * p
            r -= step * q
            left = scaled_square(r)
            beta, residual = left / residual, left
        return self._plain(x), n_iter

    def _wide(self, rows: DeviceArray) -> DeviceArray:
        """Return rows with the padding that kernels are compiled for."""
        wide = padded(rows)
        if wide is not None and wide.shape[1] == self._engine.width:
            return wide
        return self._engine.pack_documents(rows)

    def _plain(self, wide: DeviceArray) -> DeviceArray:
        return wide[:, : self.n_topics]

    def _run(self, name: str, *arguments: Any) -> None:
        kernel = compile_part("graph", self._engine.shape).get_function(name)
        edges = self._indptr, self._indices
        with device_errors("the document graph was used"):
            kernel(
                (-(-self.n_documents // WARPS),),
                (THREADS,),
                (np.int32(self.n_documents), *edges, *arguments),
            )


def update_topics(
    counts: DeviceArray,
    strength: float,
    topics: DeviceArray,
    total: DeviceArray,
    work_overlap: DeviceArray,
) -> None:
    """As ``steps.orthogonal.update_topics``, for arrays on the device."""
    n_topics, n_terms = topics.shape
    with device_errors("topics were kept apart"):
        shape = row_shape(n_topics, topics.dtype)
        kernel = compile_part("orthogonal", shape).get_function("update_topics")
        sizes = np.int32(n_topics), np.int32(n_terms)
        arguments = counts, np.float64(strength), topics, total, work_overlap
        kernel((1,), (ORTHOGONAL_THREADS,), (*sizes, *arguments))


def extrapolate(
    now: DeviceArray, before: DeviceArray, reach: Any, out: DeviceArray = None
) -> DeviceArray:
    """Return ``kernels.extrapolate_rows`` of plain rows; `out` may be `before`."""
    import cupy

    n_rows, n_topics = now.shape
    if out is None:
        out = cupy.empty((n_rows, n_topics), now.dtype)
    rows: list[Any] = []
    for array in (now, before, out):
        if array.strides[1] != array.itemsize:
            raise ValueError("rows must be contiguous")
        rows += [array, np.int64(array.strides[0] // array.itemsize)]
    numbers = np.float64(reach.beta), np.float64(reach.floor), np.float64(LEAST_PART)
    with device_errors("rows were extrapolated"):
        kernel = compile_part("sums", row_shape(n_topics, now.dtype))
        kernel.get_function("extrapolate_rows")(
            (max(1, min(-(-n_rows // WARPS), 2**20)),),
            (THREADS,),
            (
                np.int64(n_rows),
                *rows[:4],
                *numbers,
                np.int32(reach.keeps_totals),
                *rows[4:],
            ),
        )
    return out
