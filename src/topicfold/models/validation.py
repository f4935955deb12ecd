# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the document-term matrix, with errors that say what, where and how."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from topicfold.core.counts import bad_values, canonical, check_structure
from topicfold.exceptions import DataError, EmptyDocumentWarning
from topicfold.models.block_input import arrives_in_blocks, check_blocks

# What is taken as it comes; anything else becomes float64, the first.
_NUMBERS = (
    np.float64,
    np.float32,
    np.bool_,
    *map(np.dtype, np.typecodes["AllInteger"]),
)


def check_counts(
    estimator: BaseEstimator,
    X: Any,
    *,
    reset: bool,
    allow_empty: bool = False,
    min_documents: int = 1,
    blocks: bool = False,
) -> sparse.csr_matrix:
    """Return X as a clean CSR matrix of float32 or float64; never change X itself.

    Arrays of integers or bool become float32; of floats float32 stays what it is and
    the others become float64. Explicit zeros and duplicate entries are folded.
    Documents without words are warned about once. A corpus in blocks (on disk, or a
    Dask collection) comes back as a ``BlockCorpus`` where the caller can learn from
    `blocks`, and is an error elsewhere.
    """
    if arrives_in_blocks(X):
        X = check_blocks(estimator, X, reset=reset, allowed=blocks)
        _check_not_empty(X, allow_empty)
        _warn_empty(X)
        return X
    if sparse.issparse(X):
        check_structure(X, "X")  # before any compiled code walks along its arrays
    else:
        _refuse_text(X)
    X = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=_NUMBERS,
        ensure_all_finite=False,
        ensure_min_samples=min_documents,
        accept_large_sparse=True,
    )
    if X.dtype.kind != "f":
        X = X.astype(np.float32)
    X = sparse.csr_matrix(X)
    _check_values(X, type(estimator).__name__)
    X = canonical(X)
    _check_not_empty(X, allow_empty)
    _warn_empty(X)
    return X


def _check_not_empty(X: sparse.csr_matrix, allow_empty: bool) -> None:
    if X.nnz == 0 and not allow_empty:
        raise DataError(
            f"X ({X.shape[0]} documents × {X.shape[1]} terms) has no non-zero entry. "
            "Check the vectoriser: min_df, max_df or the stop words may have removed "
            "every word."
        )


def _refuse_text(X: Any) -> None:
    first = X
    if isinstance(X, np.ndarray):
        first = X.flat[0] if X.size and X.dtype.kind in "OU" else None
    elif isinstance(X, list | tuple):
        first = X[0] if X else None
    if isinstance(first, str):
        raise DataError(
            "X holds strings, but a matrix of word counts is needed. Turn texts into "
            "counts first: sklearn.feature_extraction.text.CountVectorizer()"
            ".fit_transform(texts)."
        )


def _check_values(X: sparse.csr_matrix, name: str) -> None:
    found = bad_values(X)
    if "negative" in found:
        raise DataError(
            f"Negative values in data passed to {name}: X has {found}. {name} needs "
            "counts or other non-negative weights."
        )
    if found:
        raise DataError(
            f"Input X contains NaN or infinity: X has {found}. Replace or remove them "
            "before fitting."
        )


def _warn_empty(X: sparse.csr_matrix) -> None:
    empty = np.flatnonzero(np.diff(X.indptr) == 0)
    if len(empty) and X.shape[0] > 0:
        warnings.warn(
            f"{len(empty)} of {X.shape[0]} documents have no word (first: row "
            f"{empty[0]}); they get the uniform topic mixture.",
            EmptyDocumentWarning,
            stacklevel=4,
        )
