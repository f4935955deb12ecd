# SPDX-License-Identifier: BSD-3-Clause
"""Python values as strict JSON and back.

JSON has no NaN and no infinity, and Python's encoder writes invalid text for them.
Here a non-finite float is the object ``{"$float": "nan" | "inf" | "-inf"}``; a
dictionary that has a key starting with ``$`` is wrapped as ``{"$dict": {...}}``, so
that no user's dictionary is ever mistaken for one of the two.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from topicfold.exceptions import ModelFileError

MAX_DEPTH = 200
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def to_jsonable(value: Any, where: str = "meta") -> Any:
    """Return `value` as something that strict JSON can hold.

    Tuples become lists and NumPy scalars Python's.

    Parameters
    ----------
    value : object
        None, bool, int, float, str, NumPy scalar, or a list, tuple or dictionary
        with string keys of these.
    where : str, default="meta"
        Name of the value in error messages.

    Returns
    -------
    object
        Only None, bool, int, finite float, str, list and dict.

    Raises
    ------
    ModelFileError
        If a value has another type, or is nested too deeply.

    Examples
    --------
    >>> to_jsonable({"shape": (2, np.int64(3)), "best": float("inf")})
    {'shape': [2, 3], 'best': {'$float': 'inf'}}
    """
    return _encode(value, where, 0)


def from_jsonable(value: Any) -> Any:
    """Undo `to_jsonable`.

    Examples
    --------
    >>> from_jsonable({"best": {"$float": "-inf"}, "own": {"$dict": {"$float": 1}}})
    {'best': -inf, 'own': {'$float': 1}}
    """
    if isinstance(value, list):
        return [from_jsonable(item) for item in value]
    if not isinstance(value, dict):
        return value
    if any(key.startswith("$") for key in value):
        if len(value) != 1:
            raise ModelFileError(f"Damaged JSON: unexpected keys {sorted(value)[:5]}.")
        tag, content = next(iter(value.items()))
        if tag == "$float" and isinstance(content, str) and content in _FLOATS:
            return _FLOATS[content]
        if tag == "$dict" and isinstance(content, dict):
            return {key: from_jsonable(item) for key, item in content.items()}
        raise ModelFileError(f"Damaged JSON: unknown tag {tag!r}.")
    return {key: from_jsonable(item) for key, item in value.items()}


def dump_json(jsonable: Any) -> str:
    r"""Return compact strict JSON (ASCII, keys in their given order).

    Examples
    --------
    >>> dump_json({"b": 1, "a": "φ"})
    '{"b":1,"a":"\\u03c6"}'
    """
    return json.dumps(jsonable, allow_nan=False, separators=(",", ":"))


def _encode(value: Any, where: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ModelFileError(
            f"{where[:80]} is nested more than {MAX_DEPTH} levels deep (does it "
            "contain itself?). Flatten it."
        )
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        number = float(value)
        return number if math.isfinite(number) else {"$float": repr(number)}
    if isinstance(value, list | tuple):
        return [_encode(v, f"{where}[{i}]", depth + 1) for i, v in enumerate(value)]
    if isinstance(value, Mapping):
        return _encode_mapping(value, where, depth)
    raise ModelFileError(
        f"{where} is of type {type(value).__name__}, which JSON cannot hold. Use "
        "None, bool, int, float, str, lists or dictionaries of these; give arrays "
        "as arrays."
    )


def _encode_mapping(value: Mapping[Any, Any], where: str, depth: int) -> Any:
    for key in value:
        if not isinstance(key, str):
            raise ModelFileError(
                f"{where} has the key {key!r} of type {type(key).__name__}; keys must "
                "be strings."
            )
    items = {
        str(key): _encode(v, f"{where}[{key!r}]", depth + 1) for key, v in value.items()
    }
    return {"$dict": items} if any(k.startswith("$") for k in items) else items
