# SPDX-License-Identifier: BSD-3-Clause
"""Bundles that were made on purpose: a size changed everywhere, attributes added.

A forger knows the format. One number of documents, words, topics or classes is changed
in all arrays, lists and numbers of a file, or in most of them, so that they still fit
together; or an estimator in it gets an attribute or a parameter that it did not have.
"""

from __future__ import annotations

import copy
import functools
import math
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from fuzz.models import MODELS, fitted
from fuzz.mutations import JSON_VALUES, spoil_array

from topicfold.persistence.bundle import read_bundle

# What scikit-learn and Python look at, and names that no file should set.
STRANGE_NAMES = (
    *("feature_names_in_", "n_features_in_", "n_outputs_", "classes_", "n_iter_"),
    *("_sklearn_output_config", "_sklearn_version", "_n_features_out", "_repr_html_"),
    *("_metadata_request", "_parameter_constraints", "_estimator_type", "__dict__"),
    *("__class__", "__sklearn_tags__", "transform", "fit", "predict", "save", "x_"),
    *("get_params", "coef_", "intercept_", "n_topics_", "_", "", "fit_", "self"),
)


@dataclass
class Forgery:
    """The parts of a bundle, to be changed in place."""

    arrays: dict[str, np.ndarray]
    strings: dict[str, list[str]]
    meta: dict[str, Any]


def change_size(parts: Forgery, draw: Random) -> None:
    """Change one size of the file wherever it is, or nearly everywhere."""
    sizes = Counter(
        size for array in parts.arrays.values() for size in array.shape if size > 1
    )
    sizes.update(len(items) for items in parts.strings.values())
    if not sizes:
        return
    old = draw.choice(sorted(sizes))
    new = draw.choice((old + 1, old + 1, old - 1, old - 1, 2 * old, 1, 0, old + 7))
    spared = draw.choice((0.0, 0.0, 0.1, 0.5))  # of the places, left as they are

    def chosen() -> bool:
        return draw.random() >= spared

    matrices = list(_matrices(parts.meta))
    inner = {key for node in matrices for key in _part_keys(node)}
    for key in sorted(parts.arrays.keys() - inner):
        array = parts.arrays[key]
        for axis, size in enumerate(array.shape):
            if size == old and chosen():
                array = _resized(array, axis, new)
        if array.dtype.kind == "f" and array.ndim == 2:
            array = _on_the_simplex_again(array, parts.arrays[key])
        parts.arrays[key] = array
    for key, items in parts.strings.items():
        if len(items) == old and chosen():
            more = [f"{item}+" for item in items] or ["new"]
            parts.strings[key] = (items + more * new)[:new]
    for node in matrices:
        _resize_matrix(node, parts, old, new, chosen)
    _change_numbers(parts.meta, old, new, chosen)


def _resized(array: np.ndarray, axis: int, size: int) -> np.ndarray:
    return array.take(np.arange(size) % array.shape[axis], axis=axis)


def _on_the_simplex_again(array: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Divide rows by their sums where they summed to 1 before."""
    if not before.size or not np.allclose(before.sum(axis=1), 1, atol=1e-4):
        return array
    totals = array.sum(axis=1, keepdims=True)
    return (array / np.where(totals > 0, totals, 1)).astype(array.dtype)


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all dictionaries inside a JSON value."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _nodes(item)


def _matrices(meta: Any) -> Iterator[dict[str, Any]]:
    return (n for n in _nodes(meta) if n.get("type") == "sparse")


def _part_keys(node: dict[str, Any]) -> list[str]:
    return [node["parts"][part]["key"] for part in ("data", "indices", "indptr")]


def _resize_matrix(
    node: dict[str, Any], parts: Forgery, old: int, new: int, chosen: Any
) -> None:
    """Cut or repeat the rows and columns of a compressed matrix."""
    data, indices, indptr = (parts.arrays[key] for key in _part_keys(node))
    if not (np.diff(indptr) >= 0).all() or not 0 <= indptr.max(initial=0) <= len(data):
        return  # another change has spoiled it
    shape = list(node["shape"])
    across = 1 if "csr" in node["format"] else 0
    if shape[1 - across] == old and chosen():
        shape[1 - across] = new
        rows = [
            np.arange(indptr[r % old], indptr[r % old + 1]) for r in range(new) if old
        ]
        taken = np.concatenate([*rows, np.empty(0, int)]).astype(int)
        data, indices = data[taken], indices[taken]
        indptr = np.cumsum([0, *map(len, rows)]).astype(indptr.dtype)
    if shape[across] == old and chosen():
        shape[across] = new
        kept = indices < new
        before = np.concatenate([[0], np.cumsum(kept)])
        indptr = before[indptr].astype(indptr.dtype)
        data, indices = data[kept], indices[kept]
    node["shape"] = shape
    parts.arrays.update(zip(_part_keys(node), (data, indices, indptr), strict=True))


def _change_numbers(value: Any, old: int, new: int, chosen: Any) -> None:
    """Put the new size wherever a whole number in the JSON is the old one."""
    if isinstance(value, dict) and value.get("type") == "sparse":
        return
    places = list(value.items()) if isinstance(value, dict) else []
    if isinstance(value, list):
        places = list(enumerate(value))
        if len(value) == old and chosen():
            value[:] = [copy.deepcopy(value[p % old]) for p in range(new)]
            places = list(enumerate(value))
    for key, item in places:
        if type(item) is int and item == old and chosen():
            value[key] = new
        else:
            _change_numbers(item, old, new, chosen)


# Attributes that were not there


@dataclass(frozen=True)
class Value:
    """What an attribute of a saved model is: its node, and what the node names."""

    node: Any
    arrays: dict[str, np.ndarray]
    strings: dict[str, list[str]]


@functools.cache
def catalogue() -> dict[str, list[Value]]:
    """Return the parameters and fitted attributes of all models by name."""
    found: dict[str, list[Value]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for model in MODELS:
            file = Path(folder, f"{model}.safetensors")
            fitted(model).save(file)
            bundle = read_bundle(file)
            for estimator in _estimators(bundle.meta):
                both = {**estimator["fitted"], **estimator["params"]}
                for name, node in both.items():
                    keys = {inner.get("key") for inner in _nodes(node)}
                    arrays = {k: bundle.arrays[k] for k in keys & bundle.arrays.keys()}
                    texts = {k: bundle.strings[k] for k in keys & bundle.strings.keys()}
                    found.setdefault(name, []).append(Value(node, arrays, texts))
    return found


def _estimators(meta: Any) -> list[dict[str, Any]]:
    return [n for n in _nodes(meta) if n.get("type") == "estimator"]


def add_attribute(parts: Forgery, draw: Random) -> None:
    """Give an estimator an attribute or a parameter that it does not have."""
    estimators = _estimators(parts.meta)
    if not estimators:
        return
    where = draw.choice(estimators)[draw.choice(("fitted", "fitted", "params"))]
    name = draw.choice(sorted(catalogue()))
    value = draw.choice(catalogue()[name])
    match draw.randrange(5):
        case 0:
            name = draw.choice(STRANGE_NAMES)
        case 1:
            name = draw.choice(list(where) or ["x_"])
    if draw.random() < 0.5:
        where[name] = _copied(value, parts, draw)
    else:
        where[name] = _made_up(parts, draw)


def _copied(value: Value, parts: Forgery, draw: Random) -> Any:
    """Return the node of another model's value; its arrays may be spoiled."""
    node = copy.deepcopy(value.node)
    for inner in _nodes(node):
        key = inner.get("key")
        # Under keys of their own: what is under a key is given out once.
        if key in value.arrays:
            array = value.arrays[key]
            kept = array if draw.random() < 0.7 else spoil_array(array, draw)
            inner["key"] = f"added {key}"
            parts.arrays[inner["key"]] = kept
        elif key in value.strings:
            inner["key"] = f"added {key}"
            parts.strings[inner["key"]] = value.strings[key]
    return node


def _made_up(parts: Forgery, draw: Random) -> Any:
    """Return a node of any type, with an array of a size that the file has."""
    sizes = sorted({s for a in parts.arrays.values() for s in a.shape}) or [1]
    size, other = draw.choice(sizes), draw.choice(sizes)
    if size * other > 10_000:
        size, other = 3, 3
    parts.strings["made up"] = [f"word{i}" for i in range(size)]
    parts.arrays["made up"] = draw.choice(
        (
            np.zeros(size),
            np.ones((size, other)),
            np.full((size, other), 1 / max(other, 1)),
            np.arange(size),
            np.zeros(size, bool),
            np.array(1.5),
            np.empty((0, other)),
            np.ones((size, other), np.float32),
        )
    )
    nodes: tuple[Any, ...] = (
        {"type": "array", "key": "made up"},
        {"type": "array", "key": "made up"},
        {"type": "strings", "key": "made up", "shape": [size], "object": True},
        {"type": "strings", "key": "made up", "shape": [size], "object": False},
        {"type": "list", "key": "made up"},
        {"type": "dict", "items": {"transform": draw.choice(JSON_VALUES[:30])}},
        {"type": "scalar", "dtype": "float64", "value": math.pi},
        {"type": "list", "items": [1.5] * size},
        {"type": "objects", "items": [None] * size, "shape": [size], "object": True},
    )
    return draw.choice((*nodes, *JSON_VALUES))
