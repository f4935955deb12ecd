# SPDX-License-Identifier: BSD-3-Clause
"""Sparse times dense, serial over a range of rows of the sparse matrix."""

from __future__ import annotations

from topicfold.core.jit import kernel
from topicfold.lsi._vector_rows import (
    WIDE,
    WIDTH,
    row_times_columns,
    row_times_wide_columns,
)


@kernel
def multiply_rows(start, stop, indptr, indices, data, dense, out):
    """Write rows `start` to `stop` of ``sparse @ dense`` to the float64 array `out`.

    Equivalent to ``csr_matrix((data, indices, indptr)) @ dense``. `dense` and `out` are
    C-contiguous and have at least `WIDTH` columns; the last vector of columns overlaps
    the one before where their number is not a multiple of `WIDTH`.
    """
    n_columns = dense.shape[1]
    for row in range(start, stop):
        first, last = indptr[row], indptr[row + 1]
        n_wide = n_columns - n_columns % WIDE
        for column in range(0, n_wide, WIDE):
            row_times_wide_columns(indices, data, first, last, dense, column, out, row)
        for column in range(n_wide, n_columns, WIDTH):
            place = min(column, n_columns - WIDTH)
            row_times_columns(indices, data, first, last, dense, place, out, row)


@kernel
def add_to_rows(start, stop, addend, targets, out):
    """Add ``addend[row]`` to ``out[targets[row]]``; the targets are all different.

    Equivalent to ``out[targets[start:stop]] += addend[start:stop]``.
    """
    for row in range(start, stop):
        target = targets[row]
        for column in range(addend.shape[1]):
            out[target, column] += addend[row, column]
