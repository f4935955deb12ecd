# SPDX-License-Identifier: BSD-3-Clause
"""An index in a model's file: the model, and beside it the documents.

Extras of the file, see `topicfold.persistence.save_estimator`: the strings
``vocabulary`` and ``index_ids``, the arrays ``index_vectors``, ``index_mass`` and
``index_counts_*`` (CSR), and ``index`` in the meta data.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from topicfold.core.counts import checked_csr
from topicfold.exceptions import DataError, ModelFileError
from topicfold.persistence import SavedEstimator, read_estimator, save_estimator

if TYPE_CHECKING:
    from topicfold.search.index import TopicIndex

T = TypeVar("T", bound="TopicIndex")
_PARTS = ("data", "indices", "indptr")


def save_index(index: TopicIndex, path: str | os.PathLike[str]) -> Path:
    """Write the model and the index to one file."""
    documents = index.documents
    arrays: dict[str, NDArray[Any]]
    arrays = {"index_vectors": documents.vectors, "index_mass": documents.mass}
    if documents.keeps_counts and len(documents):
        for part in _PARTS:
            arrays[f"index_counts_{part}"] = getattr(documents.counts, part)
    strings = {}
    if index.vocabulary is not None:
        strings["vocabulary"] = list(index.vocabulary)
    if documents.ids is not None:
        strings["index_ids"] = documents.ids
    return save_estimator(
        index.model,
        path,
        extra_arrays=arrays,
        extra_strings=strings,
        extra_meta={
            "index": {"measure": index.measure, "lexical": index.lexical},
            "text": _saved_text(index.text),
        },
    )


def load_index(cls: type[T], path: str | os.PathLike[str], *, n_jobs: int | None) -> T:
    """Read an index; see `TopicIndex.load`."""
    saved = read_estimator(path)
    if not isinstance(saved.meta.get("text"), dict | None):
        raise ModelFileError(
            f"{Path(path)} is damaged: its options of texts are not a mapping. Save "
            "the index again."
        )
    if not has_index(saved):
        raise ModelFileError(
            f"{Path(path)} holds a model, but no index of documents. Make one with "
            "TopicIndex(model, vocabulary=words).add(X), and save it."
        )
    return restore_index(cls, saved, path, n_jobs=n_jobs)


def has_index(saved: SavedEstimator) -> bool:
    """Tell whether a model's file has an index too."""
    return isinstance(saved.meta.get("index"), dict)


def restore_index(
    cls: type[T],
    saved: SavedEstimator,
    path: str | os.PathLike[str],
    *,
    n_jobs: int | None = None,
) -> T:
    """Return the index that is beside a model."""
    settings: dict[str, Any] = saved.meta["index"]
    try:
        index = cls(
            saved.model,
            vocabulary=saved.strings.get("vocabulary"),
            text=saved.meta.get("text"),
            measure=settings["measure"],
            lexical=settings["lexical"],
            n_jobs=n_jobs,
        )
        vectors, mass = saved.arrays["index_vectors"], saved.arrays["index_mass"]
        documents = index.documents
        documents.check_vectors(vectors)
        documents.check_vectors(mass[None])
        if len(vectors):
            documents.append(
                np.ascontiguousarray(vectors, dtype=np.float32),
                mass,
                saved.strings.get("index_ids"),
                _counts(saved, len(vectors), index.n_terms),
            )
    except (DataError, ValueError, TypeError, LookupError) as error:
        raise ModelFileError(
            f"{Path(path)} has no valid index: {error} Save it again."
        ) from error
    return index


def _saved_text(text: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the options of text with a function's name in its place."""
    if text is None:
        return None
    options = dict(text)
    function = options.get("tokens")
    if callable(function):
        module = getattr(function, "__module__", None) or "builtins"
        name = getattr(function, "__qualname__", type(function).__name__)
        options["tokens"] = f"{module}:{name}"
    return options


def _counts(saved: SavedEstimator, n_rows: int, n_terms: int) -> Any:
    names = [f"index_counts_{part}" for part in _PARTS]
    if not all(name in saved.arrays for name in names):
        return None
    data, indices, indptr = (saved.arrays[name] for name in names)
    return checked_csr(data, indices, indptr, (n_rows, n_terms), "index_counts")
