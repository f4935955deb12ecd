# SPDX-License-Identifier: BSD-3-Clause
"""Checks of what a graph is made from, with errors that say how to fix it."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topicfold.exceptions import DataError


def check_counts(X: Any, name: str) -> sp.csr_array:
    """Return a document-term matrix as canonical float64 CSR, never changing `X`."""
    try:
        if sp.issparse(X):
            counts = sp.csr_array(X).astype(np.float64)
        else:
            dense = np.asarray(X, dtype=np.float64)
            if dense.ndim != 2:
                raise DataError(
                    f"{name} has {dense.ndim} dimensions. Give a matrix with one row "
                    "per document and one column per term."
                )
            counts = sp.csr_array(dense)
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{name} is not a matrix of numbers ({error}). Give a sparse or dense "
            "document-term matrix of counts."
        ) from error
    if not counts.has_canonical_format or (counts.data == 0).any():
        counts = counts.copy()
        counts.sum_duplicates()
        counts.eliminate_zeros()
    if not counts.shape[0]:
        raise DataError(
            f"{name} has no documents. Give a matrix with at least one row."
        )
    check_entries(counts, name, "Give raw counts or other non-negative weights.")
    return counts


def check_entries(matrix: sp.csr_array, name: str, advice: str) -> None:
    """Raise if an entry is negative, NaN or infinite; say where the first one is."""
    for bad, what in (
        (~np.isfinite(matrix.data), "NaN or infinite"),
        (matrix.data < 0, "negative"),
    ):
        if bad.any():
            first = int(np.argmax(bad))
            row = int(np.searchsorted(matrix.indptr, first, side="right")) - 1
            n_bad = int(bad.sum())
            raise DataError(
                f"{name} has {n_bad} {what} entr{'y' if n_bad == 1 else 'ies'} (first "
                f"at row {row}, column {matrix.indices[first]}). {advice}"
            )


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
