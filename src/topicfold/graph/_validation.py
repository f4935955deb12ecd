# SPDX-License-Identifier: BSD-3-Clause
"""Checks of what a graph is made from, with errors that say how to fix it."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topicfold.core.counts import bad_values
from topicfold.core.counts import check_counts as counts_of
from topicfold.exceptions import DataError


def check_counts(X: Any, name: str) -> sp.csr_array:
    """Return a document-term matrix as canonical float64 CSR, never changing `X`."""
    counts = counts_of(X, name, dtype=np.float64)
    if not counts.shape[0]:
        raise DataError(
            f"{name} has no documents. Give a matrix with at least one row."
        )
    return sp.csr_array(counts)


def check_entries(matrix: sp.csr_array, name: str, advice: str) -> None:
    """Raise if an entry is negative, NaN or infinite; say where the first one is."""
    found = bad_values(matrix)
    if found:
        raise DataError(f"{name} has {found}. {advice}")


def check_count_parameter(value: Any, name: str, caller: str) -> int:
    """Return a parameter that must be a positive integer."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise DataError(
            f"The {name!r} parameter of {caller} must be an int in the range "
            f"[1, inf). Got {value!r} instead."
        )
    return int(value)


def check_choice(value: Any, choices: tuple[str, ...], name: str, caller: str) -> None:
    """Raise if a parameter is not one of the named choices."""
    if value not in choices:
        raise DataError(
            f"The {name!r} parameter of {caller} must be one of "
            f"{', '.join(map(repr, choices))}. Got {value!r} instead."
        )


def check_labels(labels: Any, n_documents: int) -> NDArray[np.int64]:
    """Return labels as integers with -1 for unknown."""
    array = np.asarray(labels)
    if array.shape != (n_documents,):
        raise DataError(
            f"labels has shape {array.shape} but there are {n_documents} documents. "
            "Give one label per document, -1 where it is unknown."
        )
    if array.dtype.kind not in "iu":
        raise DataError(
            f"labels has dtype {array.dtype}. Give integers, -1 for unknown; "
            "sklearn.preprocessing.LabelEncoder turns names into integers."
        )
    if (array < -1).any():
        first = int(np.argmax(array < -1))
        raise DataError(
            f"labels[{first}] is {array[first]}. Use -1 for unknown and integers "
            "from 0 for classes."
        )
    return array.astype(np.int64)
