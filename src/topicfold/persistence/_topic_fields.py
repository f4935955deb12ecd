# SPDX-License-Identifier: BSD-3-Clause
"""The fields of a `TopicData`: their one form, what can be wrong, their file form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.persistence._json import from_jsonable, to_jsonable
from topicfold.persistence.bundle import Bundle

SIMPLEX_TOLERANCE = 1e-3
PER_DOCUMENT = ("doc_topics", "doc_lengths", "labels", "doc_ids", "texts", "times")
_ARRAY_FIELDS = ("topics", "doc_topics", "doc_lengths", "times")
_TEXT_FIELDS = ("vocabulary", "doc_ids", "texts", "topic_names")


def normalise_field(name: str, value: Any) -> Any:
    """Return the field in its one form, or raise TypeError or ValueError.

    Examples
    --------
    >>> normalise_field("labels", ["news", None])
    ('news', None)
    """
    if name in ("topics", "doc_topics"):
        return _frozen(_numbers(value, "f"))
    if name == "doc_lengths":
        return _frozen(_numbers(value, "iuf"))
    if name == "times":
        array = np.asarray(value)
        if array.dtype.kind in "UO":
            array = array.astype("datetime64")
        return _frozen(array if array.dtype.kind == "M" else _numbers(array, "iuf"))
    if name == "history":
        return tuple(float(x) for x in value)
    if name == "settings":
        return from_jsonable(to_jsonable(dict(value), "settings"))
    return _texts(value, optional=name == "labels")


def find_problems(usable: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with fields in their one form, all of it.

    Examples
    --------
    >>> list(find_problems({"vocabulary": ("a", "b", "a")}))
    ["vocabulary has 1 repeated terms (first: 'a' at 0 and 2); merge their columns"]
    """
    topics, doc_topics = usable.get("topics"), usable.get("doc_topics")
    n_topics = n_terms = None
    if topics is not None:
        yield from _simplex_problems("topics", topics)
        if topics.ndim == 2:
            n_topics, n_terms = topics.shape
            if topics.size == 0:
                yield f"topics are empty, of shape {topics.shape}"
    if doc_topics is not None:
        yield from _simplex_problems("doc_topics", doc_topics)
        if doc_topics.ndim == 2 and n_topics not in (None, doc_topics.shape[1]):
            yield (
                f"doc_topics have {doc_topics.shape[1]} columns, but there are "
                f"{n_topics} topics"
            )
    for name, wanted in {"vocabulary": n_terms, "topic_names": n_topics}.items():
        if name in usable and wanted not in (None, len(usable[name])):
            yield f"{name} has {len(usable[name])} items; topics need {wanted}"
    first: dict[str, int] = {}
    repeated = [
        (term, place)
        for place, term in enumerate(usable.get("vocabulary", ()))
        if first.setdefault(term, place) != place
    ]
    if repeated:
        term, place = repeated[0]
        yield (
            f"vocabulary has {len(repeated)} repeated terms (first: {term!r} at "
            f"{first[term]} and {place}); merge their columns"
        )
    yield from _document_problems(usable)


def pack_fields(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `write_bundle` for the fields of a `TopicData`."""
    given = {name: value for name, value in content.items() if value is not None}
    arrays = {name: given[name] for name in _ARRAY_FIELDS if name in given}
    arrays["history"] = np.array(given["history"], dtype=np.float64)
    strings = {name: given[name] for name in _TEXT_FIELDS if name in given}
    meta: dict[str, Any] = {"settings": given["settings"]}
    if "times" in given and given["times"].dtype.kind == "M":
        meta["times_dtype"] = given["times"].dtype.name
        arrays["times"] = given["times"].view(np.int64)
    if "labels" in given:
        strings["labels"] = [label or "" for label in given["labels"]]
        known = [label is not None for label in given["labels"]]
        arrays["labels_known"] = np.array(known, dtype=bool)
    return {"arrays": arrays, "strings": strings, "meta": meta}


def unpack_fields(bundle: Bundle) -> dict[str, Any]:
    """Return the fields in a file, ready for the constructor."""
    content: dict[str, Any] = {**bundle.arrays, **bundle.strings}
    content["history"] = bundle.arrays["history"].tolist()
    content["settings"] = bundle.meta["settings"]
    if "times_dtype" in bundle.meta:
        dtype = np.dtype(bundle.meta["times_dtype"])
        if dtype.kind != "M":
            raise ValueError(f"times cannot have the dtype {dtype}")
        content["times"] = bundle.arrays["times"].view(dtype)
    if "labels" in content:
        known = content.pop("labels_known").tolist()
        pairs = zip(content["labels"], known, strict=True)
        content["labels"] = [label if is_known else None for label, is_known in pairs]
    return content


def _numbers(value: Any, kinds: str) -> NDArray[Any]:
    """Return an array of one of the kinds of dtype; others become float64."""
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"its dtype is {array.dtype}; give numbers")
    if array.dtype.kind in kinds and array.dtype.itemsize <= 8:
        return array
    return array.astype(np.float64)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only array that nobody else can write to."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if array.flags.writeable or owner.flags.writeable:
        array = np.array(array, order="C")
        array.flags.writeable = False
    return array


def _texts(items: Iterable[Any], *, optional: bool) -> tuple[str | None, ...]:
    if isinstance(items, str):
        raise TypeError("it is one str, not a sequence of str")
    texts = tuple(items)
    for place, item in enumerate(texts):
        if not isinstance(item, str) and not (optional and item is None):
            raise TypeError(
                f"item {place} is {item!r}, of type {type(item).__name__}; use str"
                + (" or None" if optional else "")
            )
    return tuple(None if item is None else str(item) for item in texts)


def _document_problems(usable: Mapping[str, Any]) -> Iterator[str]:
    sizes = {}
    for name in PER_DOCUMENT:
        value = usable.get(name)
        if name in ("doc_lengths", "times") and value is not None and value.ndim != 1:
            yield f"{name} must have one dimension, but has shape {value.shape}"
        # Never an array of texts: it has room for the longest in every place.
        elif isinstance(value, tuple) or (value is not None and value.ndim > 0):
            sizes[name] = len(value)
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{name} {size}" for name, size in sizes.items())
        yield f"the number of documents differs: {counts}"
    lengths, times = usable.get("doc_lengths"), usable.get("times")
    if lengths is not None and not (np.isfinite(lengths) & (lengths >= 0)).all():
        yield "doc_lengths must be finite and not negative"
    if times is not None and np.isinf(times).any():
        yield "times must be finite (NaN or NaT if unknown)"


def _simplex_problems(name: str, array: NDArray[Any]) -> Iterator[str]:
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
        wrong = np.flatnonzero(
            np.isfinite(sums) & (np.abs(sums - 1) > SIMPLEX_TOLERANCE)
        )
    if array.shape[1] and wrong.size:
        yield (
            f"{name} has {wrong.size} rows that do not sum to 1 (first: row {wrong[0]} "
            f"sums to {sums[wrong[0]]:.6g}); divide every row by its sum"
        )
