# SPDX-License-Identifier: BSD-3-Clause
"""A copy of the rows in one byte a number, which says which rows are worth a look.

A row v is ``scale · code + e`` with whole numbers of one byte as code, and a query q is
``step · g + f`` with whole numbers of two bytes. Then

    q·v ≤ scale · step · (code·g) + ‖e‖ ‖q‖ + 127 · scale · ‖f‖₁,

and a row whose bound is not above the n-th best score so far is none of the best n. All
others are scored exactly, so the result is that of a scan of all rows; it only reads
about 30 % of the memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicfold.search._vector_codes import LANES
from topicfold.search.kernels import encode_rows

# Fewer rows are scanned as quickly without.
MIN_ROWS = 20_000


class CoarseQuery(NamedTuple):
    """A query in whole numbers, and what the bound needs of it."""

    code: NDArray[np.int16]
    step: float
    length: float
    error: float


class CoarseRows:
    """Codes, scales and error norms of rows; memory k + 8 to k + 23 bytes a row.

    Parameters
    ----------
    n_columns : int
        Length k of a row.

    Examples
    --------
    >>> rows = CoarseRows(2)
    >>> rows.extend(np.array([[1.0, -0.5]], dtype=np.float32))
    >>> rows.codes[0, :2]
    array([127, -64], dtype=int8)
    """

    def __init__(self, n_columns: int) -> None:
        # Padded with zeros to whole vector registers.
        self._width = -(-n_columns // LANES) * LANES
        self._codes = np.zeros((0, self._width), np.int8)
        self._scales = np.zeros(0, np.float32)
        self._errors = np.zeros(0, np.float32)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def codes(self) -> NDArray[np.int8]:
        """Whole numbers from -127 to 127."""
        return self._codes[: self._size]

    @property
    def scales(self) -> NDArray[np.float32]:
        """What a one in a row's code stands for."""
        return self._scales[: self._size]

    @property
    def errors(self) -> NDArray[np.float32]:
        """Upper bounds of the length of what the code lacks of a row."""
        return self._errors[: self._size]

    def extend(self, vectors: NDArray[np.float32]) -> None:
        """Encode rows that come after those there are."""
        stop = self._size + len(vectors)
        if stop > len(self._codes):
            room = stop if not self._size else stop * 5 // 4
            self._codes = _grown(self._codes, room)
            self._scales = _grown(self._scales, room)
            self._errors = _grown(self._errors, room)
        new = slice(self._size, stop)
        encode_rows(vectors, self._codes[new], self._scales[new], self._errors[new])
        self._size = stop

    def encode_query(self, query: NDArray[np.float64]) -> CoarseQuery:
        """Return a query in whole numbers, small enough that no sum overflows."""
        most = min(32767, (2**31 - 1) // (127 * self._width))
        largest = float(np.abs(query).max(initial=0.0))
        step = largest / most
        code = np.zeros(self._width, np.int16)
        if step > 0:
            code[: len(query)] = np.rint(query / step)
        error = float(np.abs(query - step * code[: len(query)]).sum())
        length = float(np.sqrt(query @ query))
        # Rounding of these few numbers must not make a bound too small.
        return CoarseQuery(code, step, length * (1 + 1e-9), 127 * error * (1 + 1e-9))


def _grown(array: NDArray, room: int) -> NDArray:
    grown = np.empty((room, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
