# SPDX-License-Identifier: BSD-3-Clause
"""Products with sparse and with tall dense matrices: threads that change no bit.

A row of a sparse product has one owner. Tall dense matrices are cut into chunks of
rows whose size does not depend on the number of threads; each chunk is one call of a
single-threaded BLAS, and sums over chunks have a fixed order.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.threads import (
    RANGES_PER_THREAD,
    balanced_ranges,
    one_blas_thread,
    run_ranges,
)
from topicfold.core.typing import Doubles
from topicfold.lsi._vector_rows import WIDTH
from topicfold.lsi.kernels import add_to_rows, multiply_rows

CHUNK = 4096
# Less work than this is not worth a thread.
RANGE_WORK = 150_000
# Rows of a product that are made at a time and stay in the cache.
_PART = 256

__all__ = ["CHUNK", "WIDTH", "SparseRows", "TallPanels", "one_blas_thread"]


class SparseRows:
    """A CSR matrix, ready to be multiplied by dense blocks.

    Parameters
    ----------
    X : CSR matrix of float32 or float64
        No copy is made of its values and indices.
    threads : int, default=1
        Threads; the product is the same for any number.

    Examples
    --------
    >>> rows = SparseRows(sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]]))
    >>> rows @ np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    array([[ 8., 10., 12.],
           [ 1.,  2.,  3.]])
    """

    def __init__(self, X: sparse.csr_matrix, threads: int = 1) -> None:
        self.indptr = X.indptr.astype(np.int64)
        self.indices = X.indices
        self.data = X.data
        self.shape: tuple[int, int] = X.shape
        self.threads = threads
        self._cuts: dict[int, list[tuple[int, int]]] = {}

    def __matmul__(self, dense: NDArray[np.floating]) -> Doubles:
        """Return the product in float64."""
        n_columns = dense.shape[1]
        missing = max(WIDTH - n_columns, 0)
        if missing:
            dense = np.pad(dense, ((0, 0), (0, missing)))
        out = np.empty((self.shape[0], n_columns + missing))
        self.multiply(np.ascontiguousarray(dense), out)
        return out[:, :n_columns] if missing else out

    def multiply(self, dense: NDArray[np.floating], out: Doubles) -> None:
        """Write the product to `out`, which costs less than new memory.

        Both are C-contiguous and have at least `WIDTH` columns.
        """
        if min(dense.shape[1], out.shape[1]) < WIDTH:
            raise ValueError(f"multiply needs {WIDTH} columns, got {dense.shape[1]}.")

        def task(start: int, stop: int) -> None:
            multiply_rows(start, stop, self.indptr, self.indices, self.data, dense, out)

        run_ranges(task, self._ranges(out.shape[1]), self.threads)

    def add_product(
        self, dense: Doubles, targets: NDArray[np.integer], out: Doubles
    ) -> None:
        """Add the rows of the product to the rows `targets` of `out`, all different."""
        if dense.shape[1] < WIDTH:
            out[targets] += self @ dense
            return
        dense = np.ascontiguousarray(dense)

        def task(start: int, stop: int) -> None:
            part = np.empty((min(stop - start, _PART), dense.shape[1]))
            for first in range(start, stop, _PART):
                last = min(first + _PART, stop)
                rows = self.indptr[first : last + 1]
                size = last - first
                multiply_rows(0, size, rows, self.indices, self.data, dense, part)
                add_to_rows(0, size, part, targets[first:last], out)

        run_ranges(task, self._ranges(out.shape[1]), self.threads)

    def _ranges(self, n_columns: int) -> list[tuple[int, int]]:
        """Return ranges of rows, the more the wider the product is."""
        work = len(self.data) * (1 + (n_columns - 1) // WIDTH)
        n_ranges = min(self.threads * RANGES_PER_THREAD, 1 + work // RANGE_WORK)
        if n_ranges not in self._cuts:
            self._cuts[n_ranges] = balanced_ranges(self.indptr, n_ranges)
        return self._cuts[n_ranges]


class TallPanels:
    """Products of dense matrices that have many rows and few columns.

    Parameters
    ----------
    n_rows : int
        Number of rows of all the matrices.
    threads : int, default=1
        Threads; results are the same for any number.
    """

    def __init__(self, n_rows: int, threads: int = 1) -> None:
        cuts = [*range(0, n_rows, CHUNK), n_rows]
        self.ranges = list(pairwise(cuts))
        self.threads = threads

    def cross(self, left: Doubles, right: Doubles) -> Doubles:
        """Return ``left.T @ right``."""
        parts = np.empty((len(self.ranges), left.shape[1], right.shape[1]))

        def task(start: int, stop: int) -> None:
            np.matmul(left[start:stop].T, right[start:stop], out=parts[start // CHUNK])

        run_ranges(task, self.ranges, self.threads)
        return parts[0] if len(parts) == 1 else parts.sum(axis=0)

    def subtract(self, target: Doubles, left: Doubles, right: Doubles) -> None:
        """Subtract ``left @ right`` from `target`, in place."""

        def task(start: int, stop: int) -> None:
            target[start:stop] -= left[start:stop] @ right

        run_ranges(task, self.ranges, self.threads)

    def product(self, left: Doubles, right: Doubles) -> Doubles:
        """Return ``left @ right``."""
        out = np.empty((left.shape[0], right.shape[1]))

        def task(start: int, stop: int) -> None:
            np.matmul(left[start:stop], right, out=out[start:stop])

        run_ranges(task, self.ranges, self.threads)
        return out

    def add_within(self, target: Doubles, left: Doubles, right: Doubles) -> None:
        """Add ``target @ left @ right`` to `target`, in place."""

        def task(start: int, stop: int) -> None:
            target[start:stop] += (target[start:stop] @ left) @ right

        run_ranges(task, self.ranges, self.threads)
