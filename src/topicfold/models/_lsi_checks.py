# SPDX-License-Identifier: BSD-3-Clause
"""Checks of what LSI is given, and of a saved LSI."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.counts import check_counts as counts_of
from topicfold.exceptions import DataError, EmptyDocumentWarning
from topicfold.models.base import check_counts


def check_documents(
    model: Any, X: Any, *, reset: bool, allow_empty: bool = False
) -> sparse.csr_matrix:
    """Return X as `check_counts` does; say that an empty document is zero."""
    with warnings.catch_warnings():
        # An empty document is the zero vector here, not a uniform mixture.
        warnings.simplefilter("ignore", EmptyDocumentWarning)
        counts = check_counts(model, X, reset=reset, allow_empty=allow_empty)
    empty = np.flatnonzero(np.diff(counts.indptr) == 0)
    if len(empty):
        warnings.warn(
            f"{len(empty)} of {counts.shape[0]} documents have no word (first: row "
            f"{empty[0]}); their coordinates are zero.",
            EmptyDocumentWarning,
            stacklevel=3,
        )
    return counts


def check_new_terms(model: Any, X: Any) -> sparse.csr_matrix:
    """Return the counts of new terms in the documents that the model has seen."""
    counts = counts_of(X, "X", advice="LSI needs counts.")
    if counts.dtype != np.float32:
        counts = counts.astype(np.float64)
    if counts.shape[0] != model.n_documents_seen_:
        raise DataError(
            f"X has {counts.shape[0]} rows, but the model has seen "
            f"{model.n_documents_seen_} documents. Give the counts of the new terms "
            "in all of them, in their order."
        )
    if counts.nnz and not hasattr(model, "doc_topics_"):
        raise DataError(
            "terms that old documents have need the documents' coordinates. Fit "
            "with keep_documents=True."
        )
    return counts


def check_new_names(
    model: Any, names: Sequence[str] | None, n_terms: int
) -> NDArray[Any] | None:
    """Return the names of all terms with the new; None if the model knows none."""
    seen = getattr(model, "feature_names_in_", None)
    if (names is None) != (seen is None):
        raise DataError(
            "names must be given if, and only if, fit saw names of the columns."
        )
    if names is None or seen is None:
        return None
    if len(names) != n_terms or len({*seen, *names}) != len(seen) + n_terms:
        raise DataError(f"names must be {n_terms} new and different names.")
    return np.array([*seen, *names], dtype=object)


def check_unchanged(model: Any) -> None:
    """Refuse an update with other parameters than those of the fit."""
    if len(model.singular_values_) != model.n_components:
        raise DataError(
            f"n_components is {model.n_components}, but the model was fitted with "
            f"{len(model.singular_values_)}. Fit again to change it."
        )
    if model.keep_documents and not hasattr(model, "doc_topics_"):
        raise DataError(
            "keep_documents was switched on after the fit, so the coordinates of "
            "the documents so far are not known. Fit again."
        )


def check_saved(model: Any) -> None:
    """Refuse a saved model whose arrays do not fit together."""
    if not hasattr(model, "term_base_"):
        return  # saved before it was fitted
    n_terms, rank = model.term_base_.shape
    if n_terms != model.n_features_in_ or model.term_weights_.shape != (n_terms,):
        raise ValueError(f"term_base_ has {n_terms} rows for other terms")
    if model.rotation_.shape != (rank, rank):
        raise ValueError(f"rotation_ has shape {model.rotation_.shape}")
    if model.singular_values_.ndim != 1 or rank > len(model.singular_values_):
        raise ValueError("singular_values_ do not fit term_base_")
    documents = getattr(model, "doc_topics_", None)
    expected = (model.n_documents_seen_, len(model.singular_values_))
    if documents is not None and documents.shape != expected:
        raise ValueError(f"doc_topics_ has shape {documents.shape}, not {expected}")
