# SPDX-License-Identifier: BSD-3-Clause
"""Names of a package, and packages that not everyone has, loaded when first used."""

from __future__ import annotations

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


def optional(module: str, need: str, install: str, instead: str = "") -> Any:
    """Return a module that only some users need, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        more = f", {instead}" if instead else ""
        raise MissingDependencyError(
            f"{need}. Install it with pip install {install}{more}."
        ) from error
