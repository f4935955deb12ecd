# SPDX-License-Identifier: BSD-3-Clause
"""Rows on the simplex."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class OuterSum:
    """The matrix ``documents[:, None] + topics`` that is only made where it is used.

    Examples
    --------
    >>> np.asarray(OuterSum(np.array([1.0, 2.0]), np.array([0.5, 0.0]))[1:])
    array([[2.5, 2. ]])
    """

    def __init__(
        self, documents: NDArray[np.floating], topics: NDArray[np.floating]
    ) -> None:
        self.documents = documents
        self.topics = topics

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, rows: slice) -> OuterSum:
        return OuterSum(self.documents[rows], self.topics)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.topics + self.documents[:, None], dtype=dtype)


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
