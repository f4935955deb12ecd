# SPDX-License-Identifier: BSD-3-Clause
"""Names of a package, and packages that not everyone has, loaded when first used."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from topicfold.exceptions import MissingDependencyError


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for `package`; `homes` has ``"module:name"`` of every
    name.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, attribute = homes[name].partition(":")
        return getattr(import_module(module), attribute)

    return find


def moved_names(old: str, new: str) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a module that has moved; it warns at every use."""

    def find(name: str) -> Any:
        home = import_module(new)
        if name not in home.__all__:
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        warnings.warn(
            f"{old} is now {new}; the old name will be removed in version 0.3.",
            FutureWarning,
            stacklevel=2,
        )
        return getattr(home, name)

    return find


def optional(module: str, need: str, install: str, instead: str = "") -> Any:
    """Return a module that only some users need, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        more = f", {instead}" if instead else ""
        raise MissingDependencyError(
            f"{need}. Install it with pip install {install}{more}."
        ) from error
