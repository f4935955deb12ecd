# SPDX-License-Identifier: BSD-3-Clause
"""Checks that all metrics share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topicfold.core.counts import simplex_problems
from topicfold.exceptions import DataError


def checked_array(values: ArrayLike, name: str) -> NDArray[np.floating]:
    """Return a finite 2-d float array with at least one row and column."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.ndim != 2 or 0 in array.shape:
        raise DataError(
            f"{name} has shape {array.shape} and type {array.dtype}. Give a "
            "two-dimensional array of numbers with at least one row and column."
        )
    if array.dtype.kind != "f":
        array = array.astype(np.float64)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        raise DataError(
            f"{name} has entries that are not finite: {len(bad)} (first at row "
            f"{bad[0][0]}, column {bad[0][1]})."
        )
    return array


def checked_rows(values: ArrayLike, name: str) -> NDArray[np.floating]:
    """Return a 2-d float array whose rows are probability distributions."""
    array = checked_array(values, name)
    for problem in simplex_problems(name, array):
        raise DataError(f"{problem}.")
    return array


def check_vocabulary(vocabulary: Sequence[str], n_terms: int) -> None:
    """Refuse a vocabulary of another length than the topics."""
    if len(vocabulary) != n_terms:
        raise DataError(
            f"vocabulary has {len(vocabulary)} words for {n_terms} columns of topics."
        )
