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
from topicfold.persistence.bundle import read_bundle, write_bundle
from topicfold.registry import is_registered

KIND = "estimator"
PACKAGE = "topicfold"
MAX_DEPTH = 50
# Classes that had another place in the version that saved a file: old name, new name.
RENAMED_CLASSES: dict[str, str] = {}
# Products of two such numbers are still finite in float64.
_MAX_MAGNITUDE = 1e150
_CLASS_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
_SPARSE = {
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csc_matrix": sparse.csc_matrix,
    "csc_array": sparse.csc_array,
}
_SPARSE_PARTS = ("data", "indices", "indptr")
# Set by scikit-learn's set_output; private, and yet part of what a user configured.
_PRIVATE_STATE = ("_sklearn_output_config",)
_EXTRA = "extra/"
_NONSENSE = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    OverflowError,
    RecursionError,
    MemoryError,
)
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

    A parameter that no file can hold (a function, a random generator) is an error
    that names it, unless the class lists it in ``_unsaved_parameters``: then None is
    saved in its place, which is logged and noted in the file.

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

    See Also
    --------
    check_saveable : The same error before a long fit.

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
    node = writer.encode_estimator(model, "", type(model).__name__)
    if writer.unsaved:
        logger.warning(
            "%s is saved without the parameters %s; they are None after loading.",
            type(model).__name__,
            ", ".join(writer.unsaved),
        )
    return write_bundle(
        path,
        kind=KIND,
        arrays={**writer.arrays, **_as_extras(extra_arrays)},
        strings={**writer.strings, **_as_extras(extra_strings)},
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
    _Writer(fitted=False).encode_estimator(model, "", type(model).__name__)


def load_estimator(
    path: str | os.PathLike[str], *, trusted: Iterable[str | type] = ()
) -> Any:
    """Load an estimator saved by `save_estimator`.

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
        Ready to use, without a new fit if it was fitted. A parameter that the file
        does not have yet (it came with a later version) has its default.

    Raises
    ------
    ModelFileError
        If the file cannot be read, is damaged or not consistent, or names a class
        outside topicfold that is not trusted.

    See Also
    --------
    read_estimator : The same with the extras.

    Examples
    --------
    >>> import tempfile
    >>> import topicfold
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = topicfold.PLSA(n_components=3).fit([[2, 1], [1, 3]]).save(folder)
    ...     topicfold.load(folder)
    PLSA(n_components=3)
    """
    return read_estimator(path, trusted=trusted).model


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
    try:
        reader = _Reader(bundle.arrays, bundle.strings, names)
        return SavedEstimator(
            model=reader.decode_estimator(bundle.meta["model"]),
            arrays=_extras(bundle.arrays),
            strings=_extras(bundle.strings),
            meta=dict(bundle.meta["extra"]),
            unsaved_parameters=tuple(bundle.meta["unsaved_parameters"]),
            topicfold_version=bundle.topicfold_version,
        )
    except ModelFileError as error:
        raise ModelFileError(f"Cannot load {Path(path)}: {error}") from error
    except _NONSENSE as error:
        raise ModelFileError(
            f"Cannot load {Path(path)}: what it says of the estimator makes no sense "
            f"({error!r}). Save the model again, with this version of topicfold."
        ) from error


class _Writer:
    """Turns values into nodes; collects their arrays, strings and what is left out."""

    def __init__(self, *, fitted: bool = True) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self.strings: dict[str, list[str]] = {}
        self.unsaved: list[str] = []
        self._fitted = fitted
        self._depth = 0

    def encode(self, value: Any, key: str, label: str) -> Any:
        """Return the node of `value`; `key` names its arrays, `label` its errors."""
        if value is None or isinstance(value, str):
            return value if value is None else str(value)
        if isinstance(value, np.generic):
            if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
                raise _unsupported(f"a NumPy scalar of dtype {value.dtype}", label)
            return {"type": "scalar", "dtype": value.dtype.name, "value": value.item()}
        if isinstance(value, bool | int | float):
            return value
        if self._depth >= MAX_DEPTH:
            raise ModelFileError(
                f"Cannot save the {label[:80]}: it is nested more than {MAX_DEPTH} "
                "levels deep (does it contain itself?)."
            )
        self._depth += 1
        try:
            return self._encode_compound(value, key, label)
        finally:
            self._depth -= 1

    def _encode_compound(self, value: Any, key: str, label: str) -> Any:
        if type(value) in (np.ndarray, np.memmap):
            return self._encode_array(value, key, label)
        if sparse.issparse(value):
            return self._encode_sparse(value, key, label)
        if type(value) in (list, tuple):
            kind = type(value).__name__
            if value and all(isinstance(item, str) for item in value):
                return {"type": kind, "key": _put(self.strings, key, list(value))}
            items = [
                self.encode(item, _join(key, str(place)), f"{label}, item {place}")
                for place, item in enumerate(value)
            ]
            return {"type": kind, "items": items}
        if isinstance(value, dict):
            odd = [name for name in value if not isinstance(name, str)]
            if odd:
                raise _unsupported(
                    f"a dictionary with the key {odd[0]!r}, not a str", label
                )
            entries = {
                str(name): self.encode(item, _join(key, name), f"{label}, key {name!r}")
                for name, item in value.items()
            }
            return {"type": "dict", "items": entries}
        if hasattr(value, "get_params") and not isinstance(value, type):
            return self.encode_estimator(value, key, label)
        raise _unsupported(f"of type {type(value).__name__}", label)

    def encode_estimator(self, model: Any, key: str, label: str) -> dict[str, Any]:
        """Return the node of an object with ``get_params`` and of all inside it."""
        cls = type(model)
        try:
            name = class_name(cls)
        except ModelFileError as error:
            raise ModelFileError(f"Cannot save the {label}. {error}") from error
        params = {
            parameter: self._encode_parameter(model, parameter, value, key)
            for parameter, value in model.get_params(deep=False).items()
        }
        fitted = {
            attribute: self.encode(
                value,
                _join(key, "fitted", attribute),
                f"attribute {attribute!r} of {cls.__name__}",
            )
            for attribute, value in vars(model).items()
            if self._fitted and _is_state(attribute) and attribute not in params
        }
        return {"type": "estimator", "class": name, "params": params, "fitted": fitted}

    def _encode_parameter(self, model: Any, name: str, value: Any, key: str) -> Any:
        before = (dict(self.arrays), dict(self.strings), list(self.unsaved))
        path = _join(key, "params", name)
        try:
            return self.encode(
                value, path, f"parameter {name!r} of {type(model).__name__}"
            )
        except ModelFileError:
            if name not in getattr(type(model), "_unsaved_parameters", ()):
                raise
            self.arrays, self.strings, self.unsaved = before
            steps = [s for s in path.split("/") if s not in ("params", "fitted")]
            self.unsaved.append(".".join(steps))
            return None

    def _encode_array(self, value: NDArray[Any], key: str, label: str) -> Any:
        if value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
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
            part: self.encode(
                getattr(value, part), _join(key, part), f"{label}, {part}"
            )
            for part in _SPARSE_PARTS
        }
        shape = [int(size) for size in value.shape]
        return {"type": "sparse", "format": name, "shape": shape, "parts": parts}


@dataclass(frozen=True)
class _Reader:
    """Turns nodes back into values; a malformed one gives KeyError and the like."""

    arrays: Mapping[str, NDArray[Any]]
    strings: Mapping[str, list[str]]
    trusted: frozenset[str]

    def decode(self, node: Any) -> Any:
        """Return the value of a node."""
        if not isinstance(node, dict):
            return node
        kind = node["type"]
        if kind == "scalar":
            dtype = np.dtype(node["dtype"])
            if dtype.kind not in "biuf":
                raise ValueError(f"no scalar of dtype {dtype}")
            return dtype.type(node["value"])
        if kind == "array":
            return self.arrays[node["key"]]
        if kind in ("strings", "objects"):
            return self._decode_text(node)
        if kind == "sparse":
            return self._decode_sparse(node)
        if kind in ("list", "tuple"):
            items = (
                list(self.strings[node["key"]])
                if "key" in node
                else [self.decode(item) for item in node["items"]]
            )
            return items if kind == "list" else tuple(items)
        if kind == "dict":
            return {name: self.decode(item) for name, item in node["items"].items()}
        if kind == "estimator":
            return self.decode_estimator(node)
        raise ValueError(f"unknown type {kind!r}")

    def decode_estimator(self, node: Mapping[str, Any]) -> Any:
        """Return the object of an estimator's node, its content checked."""
        cls = resolve_class(node["class"], self.trusted)
        params = {name: self.decode(item) for name, item in node["params"].items()}
        state = {name: self.decode(item) for name, item in node["fitted"].items()}
        try:
            # An estimator knows what became of the parameters of earlier versions.
            model = (
                cls._of_saved(params) if hasattr(cls, "_of_saved") else cls(**params)
            )
        except TypeError as error:
            raise ModelFileError(
                f"{cls.__name__} does not take the saved parameters {sorted(params)} "
                f"({error}). Install the version of topicfold that saved the file."
            ) from error
        for name, value in state.items():
            if not _is_state(name):
                raise ValueError(f"{cls.__name__} has no fitted attribute {name!r}")
            _check_finite(cls, name, value)
            setattr(model, name, value)
        try:
            if hasattr(cls, "_parameter_constraints"):
                model._validate_params()
            if hasattr(cls, "_check_loaded"):
                model._check_loaded()
        except _NONSENSE as error:
            raise ModelFileError(
                f"The saved {cls.__name__} is not consistent: {error}"
            ) from error
        return model

    def _decode_text(self, node: Mapping[str, Any]) -> NDArray[Any]:
        items = node["items"] if "items" in node else self.strings[node["key"]]
        if node["object"]:
            flat = np.empty(len(items), dtype=object)
            flat[:] = items
        else:
            flat = np.array(items, dtype=str)
        return flat.reshape(tuple(node["shape"]))

    def _decode_sparse(self, node: Mapping[str, Any]) -> Any:
        cls = _SPARSE[node["format"]]
        data, indices, indptr = (
            self.decode(node["parts"][part]) for part in _SPARSE_PARTS
        )
        rows, columns = (int(size) for size in node["shape"])
        compressed = (columns, rows) if "csc" in node["format"] else (rows, columns)
        # SciPy and compiled code trust these arrays: never before they are checked.
        checked_csr(
            data,
            indices,
            indptr,
            compressed,
            "A sparse array",
            signed=True,
            error=ModelFileError,
        )
        return cls((data, indices, indptr), shape=(rows, columns))


def class_name(cls: type) -> str:
    """Return the name of a class in files, under which it is found again."""
    name = f"{cls.__module__}:{cls.__qualname__}"
    if resolve_class(name, frozenset([name])) is not cls:
        raise ModelFileError(
            f"The class {name!r} cannot be saved: another object has that name."
        )
    return name


def resolve_class(name: str, trusted: frozenset[str] = frozenset()) -> Any:
    """Return the class for a name such as ``"topicfold.models.plsa:PLSA"``.

    Examples
    --------
    >>> resolve_class("os:system")
    Traceback (most recent call last):
    topicfold.exceptions.ModelFileError: The class 'os:system' is refused: ...
    """
    name = RENAMED_CLASSES.get(name, name)
    module_name, _, attribute = name.partition(":")
    if not _CLASS_NAME.fullmatch(name) or "__main__" in module_name:
        raise ModelFileError(
            f"The class {name!r} is refused: only estimators and steps defined at the "
            "top level of a module that can be imported can be saved and loaded. Move "
            "it into such a module."
        )
    if not (_is_ours(module_name) or name in trusted or is_registered(name)):
        raise ModelFileError(
            f"The class {name!r} is refused: it is not one of {PACKAGE}. If you know "
            f"its code and trust it, load the file with trusted=[{name!r}]."
        )
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise ModelFileError(
            f"The class {name!r} cannot be imported ({error}). Install the version of "
            "topicfold, or the package, that the file was saved with."
        ) from error
    if (
        not isinstance(found, type)
        or not any(_is_ours(base.__module__) for base in found.__mro__)
        or not callable(getattr(found, "get_params", None))
    ):
        raise ModelFileError(
            f"The class {name!r} is refused: only estimators and steps can be saved "
            f"and loaded, that is classes of {PACKAGE} with get_params and classes "
            "that derive from one. Save the parts that are, and rebuild the rest in "
            "code."
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


def _check_finite(cls: type, name: str, value: Any) -> None:
    """Refuse a fitted array that can only give NaN, itself or by overflow."""
    values = value.data if sparse.issparse(value) else value
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        largest = min(_MAX_MAGNITUDE, float(np.finfo(values.dtype).max))
        wrong = values.size - np.count_nonzero(np.abs(values) <= largest)
        if wrong:
            raise ModelFileError(
                f"The saved {cls.__name__} is not consistent: {name} has {wrong} "
                "entries that are not finite or absurdly large. Save the model again."
            )


def _is_state(attribute: str) -> bool:
    """Tell whether an instance attribute is saved as fitted state."""
    public = attribute.endswith("_") and not attribute.startswith("_")
    return public or attribute in _PRIVATE_STATE


def _as_extras(items: Mapping[str, Any] | None) -> dict[str, Any]:
    return {_EXTRA + name: value for name, value in (items or {}).items()}


def _extras(items: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name.removeprefix(_EXTRA): value
        for name, value in items.items()
        if name.startswith(_EXTRA)
    }


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
