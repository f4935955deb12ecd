# SPDX-License-Identifier: BSD-3-Clause
"""Parameters and fitted attributes as JSON nodes, arrays and strings, and back.

A node is None, a bool, an int, a float or a str as it is, or a dictionary with a
``"type"``: ``scalar`` (of NumPy), ``array``, ``strings`` and ``objects`` (arrays of
text and of mixed scalars), ``sparse``, ``list``, ``tuple``, ``dict``, ``estimator``.
Large things are not in the node, but under the key it names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.exceptions import ModelFileError
from topicfold.persistence._classes import class_name, resolve_class

MAX_DEPTH = 50
SPARSE_FORMATS = {
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csc_matrix": sparse.csc_matrix,
    "csc_array": sparse.csc_array,
}
# Set by scikit-learn's set_output; private, and yet part of what a user configured.
PRIVATE_STATE = ("_sklearn_output_config",)


class ValueWriter:
    """Turns values into nodes, and collects their arrays and strings.

    Attributes
    ----------
    arrays, strings : dict
        What the nodes refer to.
    unsaved : list of str
        Parameters that were replaced by None, as ``"step.callback"``.

    Examples
    --------
    >>> writer = ValueWriter()
    >>> writer.encode((1, np.zeros(2)), "weights", "weights")
    {'type': 'tuple', 'items': [1, {'type': 'array', 'key': 'weights/1'}]}
    >>> writer.arrays
    {'weights/1': array([0., 0.])}
    """

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self.strings: dict[str, list[str]] = {}
        self.unsaved: list[str] = []
        self._depth = 0

    def encode(self, value: Any, key: str, label: str) -> Any:
        """Return the node of `value`; `key` names its arrays, `label` its errors."""
        if value is None or isinstance(value, str):
            return value if value is None else str(value)
        if isinstance(value, np.generic):
            return self._encode_scalar(value, label)
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
        if isinstance(value, np.ndarray):
            return self._encode_array(value, key, label)
        if sparse.issparse(value):
            return self._encode_sparse(value, key, label)
        if isinstance(value, list | tuple):
            return self._encode_sequence(value, key, label)
        if isinstance(value, Mapping):
            return self._encode_mapping(value, key, label)
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
            if is_state(attribute) and attribute not in params
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

    def _encode_scalar(self, value: np.generic, label: str) -> dict[str, Any]:
        if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
            raise _unsupported(f"a NumPy scalar of dtype {value.dtype}", label)
        return {"type": "scalar", "dtype": value.dtype.name, "value": value.item()}

    def _encode_array(self, value: NDArray[Any], key: str, label: str) -> Any:
        if type(value) not in (np.ndarray, np.memmap):
            raise _unsupported(f"of type {type(value).__name__}", label)
        if value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
            return {"type": "array", "key": self._put_array(value, key)}
        if value.dtype.kind not in "UO":
            raise _unsupported(f"an array of dtype {value.dtype}", label)
        items = value.ravel().tolist()
        node = {"shape": list(value.shape), "object": value.dtype.kind == "O"}
        if all(isinstance(item, str) for item in items):
            return {"type": "strings", "key": self._put_strings(items, key), **node}
        if all(i is None or isinstance(i, bool | int | float | str) for i in items):
            return {"type": "objects", "items": items, **node}
        raise _unsupported("an array of objects that are not text or numbers", label)

    def _encode_sparse(self, value: Any, key: str, label: str) -> dict[str, Any]:
        name = type(value).__name__
        if SPARSE_FORMATS.get(name) is not type(value) or value.ndim != 2:
            raise _unsupported(f"a {name} (convert it with .tocsr())", label)
        parts = ("data", "indices", "indptr")
        return {
            "type": "sparse",
            "format": name,
            "shape": [int(size) for size in value.shape],
            "parts": {
                part: self.encode(
                    getattr(value, part), _join(key, part), f"{label}, {part}"
                )
                for part in parts
            },
        }

    def _encode_sequence(self, value: Any, key: str, label: str) -> dict[str, Any]:
        if type(value) not in (list, tuple):
            raise _unsupported(f"of type {type(value).__name__}", label)
        kind = type(value).__name__
        if value and all(isinstance(item, str) for item in value):
            return {"type": kind, "key": self._put_strings(value, key)}
        items = [
            self.encode(item, _join(key, str(place)), f"{label}, item {place}")
            for place, item in enumerate(value)
        ]
        return {"type": kind, "items": items}

    def _encode_mapping(self, value: Any, key: str, label: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _unsupported(f"of type {type(value).__name__}", label)
        odd = [name for name in value if not isinstance(name, str)]
        if odd:
            raise _unsupported(f"a dictionary with the key {odd[0]!r}, no str", label)
        items = {
            str(name): self.encode(item, _join(key, name), f"{label}, key {name!r}")
            for name, item in value.items()
        }
        return {"type": "dict", "items": items}

    def _put_array(self, value: NDArray[Any], key: str) -> str:
        key = _unused(key, self.arrays)
        self.arrays[key] = value
        return key

    def _put_strings(self, value: Iterable[str], key: str) -> str:
        key = _unused(key, self.strings)
        self.strings[key] = list(value)
        return key


class ValueReader:
    """Turns nodes back into values.

    Parameters
    ----------
    arrays, strings : mapping
        What the nodes refer to.

    Examples
    --------
    >>> reader = ValueReader({"weights": np.ones(2)}, {})
    >>> reader.decode({"type": "list", "items": [{"type": "array", "key": "weights"}]})
    [array([1., 1.])]
    """

    def __init__(
        self, arrays: Mapping[str, NDArray[Any]], strings: Mapping[str, list[str]]
    ) -> None:
        self.arrays = arrays
        self.strings = strings

    def decode(self, node: Any) -> Any:
        """Return the value of a node; a malformed one gives KeyError and the like."""
        if not isinstance(node, dict):
            return node
        kind = node["type"]
        if kind == "scalar":
            return _scalar_type(node["dtype"])(node["value"])
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
        """Return the object of an estimator's node, checked by ``_check_loaded``."""
        cls = resolve_class(node["class"])
        params = {name: self.decode(item) for name, item in node["params"].items()}
        state = {name: self.decode(item) for name, item in node["fitted"].items()}
        try:
            model = cls(**params)
        except TypeError as error:
            raise ModelFileError(
                f"{cls.__name__} does not take the saved parameters {sorted(params)} "
                f"({error}). Install the version of topicfold that saved the file."
            ) from error
        for name, value in state.items():
            if not is_state(name):
                raise ValueError(f"{cls.__name__} has no fitted attribute {name!r}")
            setattr(model, name, value)
        if hasattr(model, "_check_loaded"):
            try:
                model._check_loaded()
            except (ValueError, TypeError, AttributeError, LookupError) as error:
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
        parts = [self.decode(node["parts"][p]) for p in ("data", "indices", "indptr")]
        matrix = SPARSE_FORMATS[node["format"]](tuple(parts), shape=node["shape"])
        # Indices out of bounds would make compiled code read foreign memory.
        matrix.check_format(full_check=True)
        return matrix


def is_state(attribute: str) -> bool:
    """Tell whether an instance attribute is saved as fitted state.

    Examples
    --------
    >>> is_state("components_"), is_state("_cache_"), is_state("tol")
    (True, False, False)
    """
    public = attribute.endswith("_") and not attribute.startswith("_")
    return public or attribute in PRIVATE_STATE


def _scalar_type(name: str) -> Any:
    dtype = np.dtype(name)
    if dtype.kind not in "biuf":
        raise ValueError(f"no scalar of dtype {name!r}")
    return dtype.type


def _join(*parts: str) -> str:
    return "/".join(part for part in parts if part)


def _unused(key: str, taken: Mapping[str, Any]) -> str:
    number, free = 2, key
    while free in taken:
        number, free = number + 1, f"{key}~{number}"
    return free


def _unsupported(what: str, label: str) -> ModelFileError:
    return ModelFileError(
        f"Cannot save the {label}: it is {what}. Files hold None, bool, int, float, "
        "str, NumPy arrays, CSR matrices, lists, tuples and dictionaries of these, and "
        "topicfold's own objects. Set it to None or to such a value before saving."
    )
