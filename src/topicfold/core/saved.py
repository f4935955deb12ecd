# SPDX-License-Identifier: BSD-3-Clause
"""What saved attributes must be, said once by the class that has them.

A file is data from anywhere. A class lists in `_saved` what each of its attributes must
be, and `check` holds a loaded object to its own list and those of its bases.
Sizes of arrays are letters, whose numbers the object gives (K topics, V words), or
digits. That attributes go together beyond their sizes is checked by the class itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from topicfold.core.counts import simplex_problems

# A form says what is wrong with a value, given the sizes; "" is nothing.
Form = Callable[[Any, Mapping[str, int]], str]
ABSENT: Any = object()
# Products of two such numbers are still finite in float64.
LARGEST = 1e150
# Above zero.
SMALLEST = 1e-300
# float32 can hold it, and sums of it.
LARGEST_PRIOR = 1e30


def check(owner: Any, sizes: Mapping[str, int], *, partial: bool = False) -> None:
    """Raise a ValueError that says which saved attributes of an object are wrong.

    With `partial` it need not have them all.
    """
    forms: dict[str, Form] = {}
    for base in reversed(type(owner).__mro__):
        forms |= vars(base).get("_saved", {})
    problems = []
    for name, form in forms.items():
        value = vars(owner).get(name, ABSENT)
        problem = "" if partial and value is ABSENT else form(value, sizes)
        if problem:
            problems.append(f"{name} {problem}")
    if problems:
        raise ValueError("; ".join(problems))


def forms(**attributes: Form) -> dict[str, Form]:
    """Return what a class says of its attributes, its `_saved`."""
    return attributes


def maybe(form: Form) -> Form:
    """Return the form of an attribute that may be missing."""
    return lambda value, sizes: "" if value is ABSENT else form(value, sizes)


def or_none(form: Form) -> Form:
    """Return the form of an attribute that may be None."""
    return lambda value, sizes: "" if value is None else form(value, sizes)


def numbers(
    axes: str, least: float = -LARGEST, most: float = LARGEST, kinds: str = "f"
) -> Form:
    """Return the form of an array of numbers, by the sizes of its axes."""

    def problem(array: Any, sizes: Mapping[str, int]) -> str:
        if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds:
            return f"is not an array of {'' if 'f' in kinds else 'whole '}numbers"
        shape = tuple(int(a) if a.isdigit() else sizes[a] for a in axes)
        if array.shape != shape:
            return f"has shape {array.shape}, not {shape}"
        ends = [float(array.min()), float(array.max())] if array.size else [least, most]
        if not least <= ends[0] <= ends[1] <= most:
            return f"has numbers that are not from {least:g} to {most:g}"
        return ""

    return problem


def some_positive(axes: str) -> Form:
    """Return the form of an array of numbers from 0 that are not all 0."""
    not_negative = numbers(axes, 0, LARGEST_PRIOR)

    def problem(array: Any, sizes: Mapping[str, int]) -> str:
        zeros = "are all zero" if isinstance(array, np.ndarray) and array.size else ""
        return not_negative(array, sizes) or ("" if array.any() else zeros)

    return problem


def shares(axes: str) -> Form:
    """Return the form of an array whose rows are on the simplex."""
    any_number = numbers(axes, -np.inf, np.inf)

    def problem(array: Any, sizes: Mapping[str, int]) -> str:
        if wrong := any_number(array, sizes):
            return wrong
        return "; ".join(simplex_problems("", array)).strip()

    return problem


def number(
    least: float = -LARGEST, most: float = LARGEST, *, whole: bool = False
) -> Form:
    """Return the form of one number."""

    def problem(value: Any, sizes: Mapping[str, int]) -> str:
        fits = type(value) is int if whole else isinstance(value, Real)
        if isinstance(value, np.floating):  # float32 has no room for the limits
            value = float(value)
        if fits and not isinstance(value, bool) and least <= value <= most:
            return ""
        shown = "missing" if value is ABSENT else repr(value)
        kind = "whole number" if whole else "number"
        return f"is {shown}, not a {kind} from {least:g} to {most:g}"

    return problem


def texts(axis: str = "") -> Form:
    """Return the form of a list or array of texts, `axis` being its length."""

    def problem(values: Any, sizes: Mapping[str, int]) -> str:
        if not is_text(values):
            return "is not a list of str"
        size = sizes.get(axis, len(values))
        return "" if len(values) == size else f"has {len(values)} texts, not {size}"

    return problem


def text(value: Any, sizes: Mapping[str, int]) -> str:
    """Say whether a value is not text: a form."""
    return "" if isinstance(value, str) else f"is {value!r}, not text"


def real_numbers(values: Any, sizes: Mapping[str, int]) -> str:
    """Say whether a value is not a list of numbers: a form."""
    fits = isinstance(values, list) and all(isinstance(v, Real) for v in values)
    return "" if fits else "is not a list of numbers"


def flag(value: Any, sizes: Mapping[str, int]) -> str:
    """Say whether a value is neither True nor False: a form."""
    return "" if isinstance(value, bool | np.bool_) else "is neither True nor False"


def is_text(names: Any) -> bool:
    """Tell whether something is an array or a list of text."""
    flat = isinstance(names, list | np.ndarray) and np.ndim(names) == 1
    return flat and all(isinstance(name, str) for name in names)
