# SPDX-License-Identifier: BSD-3-Clause
"""Save and load estimators without pickle.

Saved are the constructor's parameters and the fitted attributes (those ending in
``_``), of the estimator and of every topicfold object inside it. Loading calls the
constructor, sets the attributes and checks both. A file is data from anywhere: a class
it names is looked up only inside topicfold and among those the caller trusts by name,
so a file from a stranger cannot run code.

A value is saved as a node: None, a bool, an int, a float or a str as it is, or a
dictionary with a ``"type"``: ``scalar`` (of NumPy), ``array``, ``strings`` and
``objects`` (arrays of text and of mixed scalars), ``sparse``, ``list``, ``tuple``,
``dict``, ``estimator``. Large things are not in the node, but under the key it names.
"""

from __future__ import annotations

import importlib
import logging
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.counts import checked_csr
from topicfold.exceptions import ModelFileError
from topicfold.persistence.bundle import MALFORMED, read_bundle, write_bundle
from topicfold.registry import is_registered

KIND = "estimator"
PACKAGE = "topicfold"
MAX_DEPTH = 50
# Products of two such numbers are still finite in float64.
_MAX_MAGNITUDE = 1e150
# Larger whole numbers overflow wherever they meet a float.
_LARGEST_INT = 10**300
_CLASS_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
_SPARSE = {
    cls.__name__: cls
    for cls in (
        *(sparse.csr_matrix, sparse.csr_array),
        *(sparse.csc_matrix, sparse.csc_array),
    )
}
_SPARSE_PARTS = ("data", "indices", "indptr")
# An array of text has at most so many characters for each byte of it in the file.
_MOST_PADDING = 16
# Set by scikit-learn's set_output; private, and yet part of what a user configured.
_PRIVATE_STATE = ("_sklearn_output_config",)
# Commands read these of a model of any class, which then says what they are.
_READ_OF_ANY = {
    *("content_groups_", "doc_topic_prior_", "group_names_", "topic_word_prior_")
}
_EXTRA = "extra/"
_NONSENSE = (*MALFORMED, MemoryError)
logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class SavedEstimator:
    """An estimator read from a file, with what was saved beside it.

    Attributes
    ----------
    model : object
        The estimator.
    arrays, strings, meta : dict
        The extras given to `save_estimator`.
    unsaved_parameters : tuple of str
        Parameters that could not be saved and are None now, as ``"step.callback"``.
    topicfold_version : str
        Version of topicfold that wrote the file.
    """

    model: Any
    arrays: dict[str, NDArray[Any]]
    strings: dict[str, list[str]]
    meta: dict[str, Any]
    unsaved_parameters: tuple[str, ...]
    topicfold_version: str


def save_estimator(
    model: Any,
    path: str | os.PathLike[str],
    *,
    extra_arrays: Mapping[str, NDArray[Any]] | None = None,
    extra_strings: Mapping[str, Sequence[str]] | None = None,
    extra_meta: Mapping[str, Any] | None = None,
) -> Path:
    """Save an estimator of topicfold, fitted or not, to one file.

    A parameter that no file can hold (a function, a random generator) is an error that
    names it, unless the class lists it in ``_unsaved_parameters``: then None is saved
    instead, which is logged and noted in the file.

    Parameters
    ----------
    model : estimator
        An object of a class of topicfold, or of a class of your own that derives from
        one and can be imported by name.
    path : str or path
        A file ending in ``.safetensors``, or a folder; see `write_bundle`.
    extra_arrays, extra_strings, extra_meta : mapping, optional
        More to keep beside the model, for example its vocabulary.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    ModelFileError
        If something cannot be saved; nothing is written then.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> save_estimator(PCA(), "pca.safetensors")
    Traceback (most recent call last):
    topicfold.exceptions.ModelFileError: Cannot save the PCA. ...
    """
    # An estimator that holds another package's objects gives a copy without them.
    model = model._to_save() if hasattr(model, "_to_save") else model
    writer = _Writer()
    node = writer.encode_estimator(model, "", type(model).__name__, 0)
    if writer.unsaved:
        logger.warning(
            "%s is saved without the parameters %s; they will be None after loading.",
            type(model).__name__,
            ", ".join(writer.unsaved),
        )
    return write_bundle(
        path,
        kind=KIND,
        arrays=writer.arrays | {_EXTRA + k: v for k, v in (extra_arrays or {}).items()},
        strings=writer.strings
        | {_EXTRA + k: list(v) for k, v in (extra_strings or {}).items()},
        meta={
            "model": node,
            "unsaved_parameters": writer.unsaved,
            "extra": dict(extra_meta or {}),
        },
    )


def check_saveable(model: Any) -> None:
    """Raise the error that saving this estimator would raise, before it is fitted.

    Parameters
    ----------
    model : estimator
        An estimator; only its class and its parameters are looked at.

    Raises
    ------
    ModelFileError
        If the class or a parameter cannot be saved.

    Examples
    --------
    >>> from topicfold import PLSA
    >>> check_saveable(PLSA(3))
    >>> check_saveable(PLSA(3, theta_step=len))
    Traceback (most recent call last):
    topicfold.exceptions.ModelFileError: Cannot save the parameter 'theta_step' ...
    """
    _Writer(fitted=False).encode_estimator(model, "", type(model).__name__, 0)


def load_estimator(
    path: str | os.PathLike[str], *, trusted: Iterable[str | type] = ()
) -> Any:
    """Load a model that its `save`, `save_estimator` or the command line saved.

    Parameters
    ----------
    path : str or path
        The file, or the folder that has it.
    trusted : iterable of str or class, default=()
        Classes of your own that the file may use, for example
        ``["mypackage.steps:EntropyTheta"]``. Their modules are imported, so name only
        code that you would run. Topicfold's classes need no trust.

    Returns
    -------
    estimator
        Ready to use, without a new fit if it was fitted; its words are in
        ``feature_names_in_`` if they were saved. A parameter that the file does not
        have yet (it came with a later version) has its default.

    Raises
    ------
    ModelFileError
        If the file cannot be read, is damaged or not consistent, or names a class
        outside topicfold that is not trusted.

    Examples
    --------
    >>> import tempfile
    >>> import topicfold
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = topicfold.PLSA(n_components=3).fit([[2, 1], [1, 3]]).save(folder)
    ...     topicfold.load(folder)
    PLSA(n_components=3)
    """
    saved = read_estimator(path, trusted=trusted)
    words = saved.strings.get("vocabulary")
    unnamed = not hasattr(saved.model, "feature_names_in_")
    if words and unnamed and getattr(saved.model, "n_features_in_", 0) == len(words):
        saved.model.feature_names_in_ = np.asarray(words, dtype=object)
    return saved.model


def read_estimator(
    path: str | os.PathLike[str], *, trusted: Iterable[str | type] = ()
) -> SavedEstimator:
    """Load an estimator and what was saved beside it.

    Parameters
    ----------
    path : str or path
        The file, or the folder that has it.
    trusted : iterable of str or class, default=()
        See `load_estimator`.

    Returns
    -------
    SavedEstimator
        The estimator, the extras, and the parameters that were not saved.
    """
    names = _trusted_names(trusted)
    bundle = read_bundle(path, kind=KIND)

    def extras(items: Mapping[str, Any]) -> dict[str, Any]:
        extra = [name for name in items if name.startswith(_EXTRA)]
        return {name.removeprefix(_EXTRA): items[name] for name in extra}

    try:
        reader = _Reader(dict(bundle.arrays), dict(bundle.strings), names)
        return SavedEstimator(
            model=reader.decode_estimator(bundle.meta["model"]),
            arrays=extras(bundle.arrays),
            strings=extras(bundle.strings),
            meta=dict(bundle.meta["extra"]),
            unsaved_parameters=tuple(bundle.meta["unsaved_parameters"]),
            topicfold_version=bundle.topicfold_version,
        )
    except ModelFileError as error:
        raise ModelFileError(f"Cannot load {Path(path)}: {error}") from error
    except _NONSENSE as error:
        raise ModelFileError(
            f"Cannot load {Path(path)}: its description of the estimator is invalid "
            f"({error!r}). Save the model again, with this version of topicfold."
        ) from error


class _Writer:
    """Turns values into nodes; collects their arrays, strings and what is left out."""

    def __init__(self, *, fitted: bool = True) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self.strings: dict[str, list[str]] = {}
        self.unsaved: list[str] = []
        self._fitted = fitted

    def encode(self, value: Any, key: str, label: str, depth: int) -> Any:
        """Return the node of `value`."""
        if depth > MAX_DEPTH:
            raise ModelFileError(
                f"Cannot save the {label[:80]}: it is nested more than {MAX_DEPTH} "
                "levels deep (does it contain itself?)."
            )
        if isinstance(value, np.generic) and not isinstance(value, str):
            if not _is_plain(value.dtype):
                raise _unsupported(f"a NumPy scalar of dtype {value.dtype}", label)
            return {"type": "scalar", "dtype": value.dtype.name, "value": value.item()}
        if isinstance(value, int) and not -_LARGEST_INT <= value <= _LARGEST_INT:
            raise _unsupported("a whole number of more than 300 digits", label)
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if type(value) in (np.ndarray, np.memmap):
            return self._encode_array(value, key, label)
        if sparse.issparse(value):
            return self._encode_sparse(value, key, label)
        if type(value) in (list, tuple):
            kind = type(value).__name__
            if value and all(isinstance(item, str) for item in value):
                return {"type": kind, "key": _put(self.strings, key, list(value))}
            items = [
                self.encode(item, f"{key}/{place}", f"{label}, item {place}", depth + 1)
                for place, item in enumerate(value)
            ]
            return {"type": kind, "items": items}
        if isinstance(value, dict):
            for name in value:
                if not isinstance(name, str):
                    what = f"a dictionary with the key {name!r}, not a str"
                    raise _unsupported(what, label)
            entries = {
                name: self.encode(
                    item, _join(key, name), f"{label}, key {name!r}", depth + 1
                )
                for name, item in value.items()
            }
            return {"type": "dict", "items": entries}
        if hasattr(value, "get_params") and not isinstance(value, type):
            return self.encode_estimator(value, key, label, depth + 1)
        raise _unsupported(f"of type {type(value).__name__}", label)

    def encode_estimator(
        self, model: Any, key: str, label: str, depth: int
    ) -> dict[str, Any]:
        """Return the node of an object with ``get_params`` and of all inside it."""
        cls = type(model)
        try:
            name = class_name(cls)
        except ModelFileError as error:
            raise ModelFileError(f"Cannot save the {label}. {error}") from error
        params = {}
        for parameter, value in model.get_params(deep=False).items():
            place = _join(key, "params", parameter)
            what = f"parameter {parameter!r} of {cls.__name__}"
            before = dict(self.arrays), dict(self.strings), list(self.unsaved)
            try:
                params[parameter] = self.encode(value, place, what, depth)
            except ModelFileError:
                if parameter not in getattr(cls, "_unsaved_parameters", ()):
                    raise
                self.arrays, self.strings, self.unsaved = before
                steps = [s for s in place.split("/") if s not in ("params", "fitted")]
                self.unsaved.append(".".join(steps))
                params[parameter] = None
        fitted = {}
        for attribute, value in vars(model).items():
            if self._fitted and _is_state(attribute) and attribute not in params:
                place = _join(key, "fitted", attribute)
                what = f"attribute {attribute!r} of {cls.__name__}"
                fitted[attribute] = self.encode(value, place, what, depth)
        return {"type": "estimator", "class": name, "params": params, "fitted": fitted}

    def _encode_array(self, value: NDArray[Any], key: str, label: str) -> Any:
        if _is_plain(value.dtype):
            return {"type": "array", "key": _put(self.arrays, key, value)}
        if value.dtype.kind not in "UO":
            raise _unsupported(f"an array of dtype {value.dtype}", label)
        items = value.ravel().tolist()
        node = {"shape": list(value.shape), "object": value.dtype.kind == "O"}
        if all(isinstance(item, str) for item in items):
            return {"type": "strings", "key": _put(self.strings, key, items), **node}
        if all(i is None or isinstance(i, bool | int | float | str) for i in items):
            return {"type": "objects", "items": items, **node}
        raise _unsupported("an array of objects that are not text or numbers", label)

    def _encode_sparse(self, value: Any, key: str, label: str) -> dict[str, Any]:
        name = type(value).__name__
        if _SPARSE.get(name) is not type(value) or value.ndim != 2:
            raise _unsupported(f"a {name} (convert it with .tocsr())", label)
        parts = {
            part: self._encode_array(
                getattr(value, part), _join(key, part), f"{label}, {part}"
            )
            for part in _SPARSE_PARTS
        }
        shape = [int(size) for size in value.shape]
        return {"type": "sparse", "format": name, "shape": shape, "parts": parts}


@dataclass(frozen=True)
class _Reader:
    """Turns nodes back into values; a malformed one gives KeyError and the like.

    What is under a key is given out once: a small file could else name it a million
    times.
    """

    arrays: dict[str, NDArray[Any]]
    strings: dict[str, list[str]]
    trusted: frozenset[str]

    def decode(self, node: Any) -> Any:
        """Return the value of a node."""
        if isinstance(node, int) and not -_LARGEST_INT <= node <= _LARGEST_INT:
            raise ValueError("it has a whole number of more than 300 digits")
        if not isinstance(node, dict):
            return node
        match node["type"]:
            case "scalar":
                dtype = np.dtype(node["dtype"])
                if not _is_plain(dtype):
                    raise ValueError(f"no scalar of dtype {dtype}")
                return dtype.type(node["value"])
            case "array":
                return self.arrays.pop(node["key"])
            case "strings":
                words = self.strings.pop(node["key"])
                kind = object if node["object"] or _is_ragged(words) else str
                return np.array(words, dtype=kind).reshape(tuple(node["shape"]))
            case "objects":
                mixed: NDArray[Any] = np.array(node["items"], dtype=object)
                return mixed.reshape(tuple(node["shape"]))
            case "sparse":
                return self._decode_sparse(node)
            case "list" | "tuple" as kind:
                items = [self.decode(item) for item in self._items(node)]
                return items if kind == "list" else tuple(items)
            case "dict":
                return {name: self.decode(item) for name, item in node["items"].items()}
            case "estimator":
                return self.decode_estimator(node)
            case kind:
                raise ValueError(f"unknown type {kind!r}")

    def _items(self, node: Mapping[str, Any]) -> list[Any]:
        return node["items"] if "items" in node else self.strings.pop(node["key"])

    def decode_estimator(self, node: Mapping[str, Any]) -> Any:
        """Return the object of an estimator's node, its content checked."""
        cls = resolve_class(node["class"], self.trusted)
        params = {name: self.decode(item) for name, item in node["params"].items()}
        state = {name: self.decode(item) for name, item in node["fitted"].items()}
        try:
            model = cls(**params)
        except TypeError as error:
            raise ModelFileError(
                f"{cls.__name__} does not take the saved parameters {sorted(params)} "
                f"({error}). Install the version of topicfold that saved the file."
            ) from error
        try:
            for name, value in state.items():
                _check_attribute(name, value)
                setattr(model, name, value)
            if hasattr(cls, "_parameter_constraints"):
                model._validate_params()
            if hasattr(cls, "_check_loaded"):
                model._check_loaded()
            _check_scikit_learn(vars(model))
            _check_read_of_any(cls, vars(model))
        except _NONSENSE as error:
            raise ModelFileError(
                f"The saved {cls.__name__} is not consistent: {error}"
            ) from error
        return model

    def _decode_sparse(self, node: Mapping[str, Any]) -> Any:
        cls = _SPARSE[node["format"]]
        data, indices, indptr = (self.decode(node["parts"][p]) for p in _SPARSE_PARTS)
        rows, columns = (int(size) for size in node["shape"])
        compressed = (columns, rows) if "csc" in node["format"] else (rows, columns)
        # SciPy and compiled code trust these arrays: never before they are checked.
        options: Any = {"signed": True, "error": ModelFileError}
        checked_csr(data, indices, indptr, compressed, "A sparse array", **options)
        return cls((data, indices, indptr), shape=(rows, columns))


def class_name(cls: type) -> str:
    """Return the name of a class in files, under which it is found again."""
    name = f"{cls.__module__}:{cls.__qualname__}"
    if resolve_class(name, frozenset([name])) is not cls:
        raise ModelFileError(
            f"The class {name!r} cannot be saved, because another object has its name."
        )
    return name


def resolve_class(name: str, trusted: frozenset[str] = frozenset()) -> Any:
    """Return the class for a name such as ``"topicfold.models.plsa:PLSA"``."""
    refused = f"The class {name!r} is refused: "
    module_name, _, attribute = name.partition(":")
    if not _CLASS_NAME.fullmatch(name) or "__main__" in module_name:
        raise ModelFileError(
            f"{refused}only estimators and steps defined at the top level of a module "
            "that can be imported can be saved and loaded. Move it into such a module."
        )
    if not (_is_ours(module_name) or name in trusted or is_registered(name)):
        raise ModelFileError(
            f"{refused}it is not one of {PACKAGE}. If you know its code and trust it, "
            f"load the file with trusted=[{name!r}]."
        )
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise ModelFileError(
            f"The class {name!r} cannot be imported ({error}). Install the version of "
            "topicfold, or the package, that the file was saved with."
        ) from error
    bases = found.__mro__ if isinstance(found, type) else ()
    if not (
        any(_is_ours(base.__module__) for base in bases)
        and callable(getattr(found, "get_params", None))
    ):
        raise ModelFileError(
            f"{refused}only estimators and steps can be saved and loaded, that is "
            f"classes of {PACKAGE} with get_params and classes that derive from one. "
            "Save the parts that are such classes, and rebuild the rest in code."
        )
    return found


def _is_ours(module_name: str) -> bool:
    parts = [*module_name.split("."), ""]
    dunder = any(part.startswith("__") for part in parts)
    return parts[0] == PACKAGE and parts[1] != "cli" and not dunder


def _trusted_names(trusted: Iterable[str | type]) -> frozenset[str]:
    if isinstance(trusted, str):
        raise ModelFileError(
            f"trusted must be a list of classes or names. Got {trusted!r} instead; "
            f"use [{trusted!r}]."
        )
    return frozenset(
        item if isinstance(item, str) else f"{item.__module__}:{item.__qualname__}"
        for item in trusted
    )


def _check_attribute(name: str, value: Any) -> None:
    """Refuse what is not a fitted attribute, or can only give NaN or overflow."""
    if not _is_state(name):
        raise ValueError(f"it has no fitted attribute {name!r}")
    values = value.data if sparse.issparse(value) else value
    if isinstance(value, float) or (
        isinstance(value, list) and all(isinstance(item, float) for item in value)
    ):
        values = np.asarray(value, dtype=np.float64)
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        if values.dtype == np.float16:
            raise ValueError(f"{name} has numbers of 16 bits; give numbers of 32 or 64")
        largest = min(_MAX_MAGNITUDE, float(np.finfo(values.dtype).max))
        wrong = values.size - np.count_nonzero(np.abs(values) <= largest)
        if wrong:
            raise ValueError(
                f"{name} has {wrong} entries that are not finite, or far too large. "
                "Save the model again."
            )


def _check_scikit_learn(state: Mapping[str, Any]) -> None:
    """Refuse what scikit-learn itself reads of an estimator and does not check."""
    names: Any = state.get("feature_names_in_", np.empty(0, str))
    if getattr(names, "ndim", 0) != 1 or not all(isinstance(n, str) for n in names):
        raise ValueError("feature_names_in_ are not names of columns")
    n_columns = state.get("n_features_in_", 1)
    if type(n_columns) is not int or n_columns < 1:
        raise ValueError(f"n_features_in_ is {n_columns!r}, not a number of columns")
    if {"n_features_in_", "feature_names_in_"} <= state.keys() and (
        len(names) != n_columns
    ):
        raise ValueError(f"feature_names_in_ has {len(names)} names for {n_columns}")
    output = state.get("_sklearn_output_config", {})
    if not (
        isinstance(output, dict)
        and output.keys() <= {"transform"}
        and output.get("transform", "default") in ("default", "pandas", "polars")
    ):
        raise ValueError(f"_sklearn_output_config is {output!r}, not a container")


def _check_read_of_any(cls: type, state: Mapping[str, Any]) -> None:
    """Refuse what commands read of a model of any class."""
    if "sides_" in state and not hasattr(cls, "_fit_with_sides"):
        raise ValueError(f"sides_ are not for {cls.__name__}")
    known = {name for base in cls.__mro__ for name in vars(base).get("_saved", ())}
    for name in sorted(_READ_OF_ANY & state.keys() - known):
        raise ValueError(f"{name} are not for {cls.__name__}")
    step = state.get("theta_step_")
    if step is not None and not hasattr(step, "learns"):
        raise ValueError("theta_step_ is not a step")
    edits: Any = state.get("edits_", [])
    if not isinstance(edits, list) or not all(isinstance(e, dict) for e in edits):
        raise ValueError("edits_ is not a list of dict")


def _is_plain(dtype: np.dtype[Any]) -> bool:
    """Tell whether a file can hold an array of this dtype."""
    return dtype.kind in "biuf" and dtype.itemsize <= 8


def _is_state(attribute: str) -> bool:
    """Tell whether an instance attribute is saved as fitted state."""
    public = attribute.endswith("_") and not attribute.startswith("_")
    return public or attribute in _PRIVATE_STATE


def _is_ragged(items: Sequence[str]) -> bool:
    """Tell whether an array of text, all as long as the longest, would be far larger
    than the text and its offsets in the file.
    """
    longest, total = max(map(len, items), default=0), sum(map(len, items))
    return len(items) * longest > _MOST_PADDING * (total + 8 * len(items))


def _join(*parts: str) -> str:
    return "/".join(part for part in parts if part)


def _put(store: dict[str, Any], key: str, value: Any) -> str:
    """Store a value under `key`, or under a similar one that is free; return it."""
    number, free = 2, key
    while free in store:
        number, free = number + 1, f"{key}~{number}"
    store[free] = value
    return free


def _unsupported(what: str, label: str) -> ModelFileError:
    return ModelFileError(
        f"Cannot save the {label}: it is {what}. Files hold None, bool, int, float, "
        "str, NumPy arrays, CSR matrices, lists, tuples and dictionaries of these, and "
        "topicfold's own objects. Set it to None or to such a value before saving."
    )
