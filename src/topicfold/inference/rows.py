# SPDX-License-Identifier: BSD-3-Clause
"""Rows on the simplex."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def normalize_rows(array: NDArray[np.floating]) -> NDArray[np.floating]:
    """Divide rows by their sums in place; a row of zeros becomes uniform.

    Examples
    --------
    >>> normalize_rows(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    totals = array.sum(axis=1, dtype=np.float64, keepdims=True)
    empty = totals.ravel() <= 0
    np.divide(array, np.where(totals > 0, totals, 1.0), out=array, casting="same_kind")
    array[empty] = 1.0 / array.shape[1]
    return array
