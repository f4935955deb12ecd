# SPDX-License-Identifier: BSD-3-Clause
"""Rows on the simplex."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

# How far a row may be from sum 1: float32 rows of many entries add up to that.
SIMPLEX_TOLERANCE = 1e-3
# Learned parameters of Dirichlet priors do not fall below this.
SMALLEST_PRIOR = 1e-4


class OuterSum:
    """The matrix ``documents[:, None] + topics`` that is only made where it is used."""

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
    """Divide rows by their sums in place; a row of zeros becomes uniform."""
    totals = array.sum(axis=1, dtype=np.float64, keepdims=True)
    empty = totals.ravel() <= 0
    np.divide(array, np.where(totals > 0, totals, 1.0), out=array, casting="same_kind")
    array[empty] = 1.0 / array.shape[1]
    return array


def simplex_problems(name: str, array: NDArray[Any]) -> Iterator[str]:
    """Yield what keeps the rows of an array from being distributions."""
    if array.ndim != 2:
        yield f"{name} must have two dimensions, but has shape {array.shape}"
        return
    for what, bad in {"not finite": ~np.isfinite(array), "negative": array < 0}.items():
        if bad.any():
            row, column = np.argwhere(bad)[0].tolist()
            yield (
                f"{name} has {np.count_nonzero(bad)} entries that are {what} (first at "
                f"row {row}, column {column}); give probabilities"
            )
    with np.errstate(invalid="ignore", over="ignore"):
        sums = array.sum(axis=1, dtype=np.float64)
        # A row that is not finite has been told of already.
        far = np.abs(sums - 1) > SIMPLEX_TOLERANCE
        wrong = np.flatnonzero(np.isfinite(sums) & far)
    if array.shape[1] and wrong.size:
        yield (
            f"{name} has {wrong.size} rows that do not sum to 1 (first: row {wrong[0]} "
            f"sums to {sums[wrong[0]]:.6g}); divide every row by its sum"
        )
