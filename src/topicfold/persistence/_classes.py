# SPDX-License-Identifier: BSD-3-Clause
"""Names of classes in files: written and resolved only inside topicfold.

A file is data from anywhere; a name in it must never reach a class or a function of
another package, nor a module of this one that does something when it is imported.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

from topicfold.exceptions import ModelFileError

PACKAGE = "topicfold"
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)


def class_name(cls: type) -> str:
    """Return the name of a topicfold class in files.

    Raises
    ------
    ModelFileError
        If the class could not be found again under that name.

    Examples
    --------
    >>> class_name(dict)
    Traceback (most recent call last):
    topicfold.exceptions.ModelFileError: ... 'builtins:dict' ...
    """
    name = f"{cls.__module__}:{cls.__qualname__}"
    if resolve_class(name) is not cls:
        raise ModelFileError(
            f"The class {name!r} cannot be saved: another object has that name."
        )
    return name


def resolve_class(name: str) -> Any:
    """Return the class for a name such as ``"topicfold.models.plsa:PLSA"``.

    Raises
    ------
    ModelFileError
        If this is not a class defined in topicfold that has ``get_params``.

    Examples
    --------
    >>> resolve_class("os:system")
    Traceback (most recent call last):
    topicfold.exceptions.ModelFileError: ... 'os:system' ...
    """
    module_name, _, attribute = name.partition(":")
    if not _NAME.fullmatch(name) or not _is_ours(module_name):
        raise ModelFileError(
            f"The class {name!r} is refused: only estimators and steps defined at the "
            f"top level of a module of {PACKAGE} can be saved and loaded. Save the "
            "parts that belong to topicfold, and rebuild the rest in code."
        )
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise ModelFileError(
            f"The class {name!r} is not in this version of topicfold, or a package it "
            f"needs is not installed ({error}). Install the version that saved the "
            "file."
        ) from error
    if (
        not isinstance(found, type)
        or not _is_ours(found.__module__)
        or not callable(getattr(found, "get_params", None))
    ):
        raise ModelFileError(
            f"{name!r} is refused: it is not a class of {PACKAGE} with get_params."
        )
    return found


def _is_ours(module_name: str) -> bool:
    parts = module_name.split(".")
    return parts[0] == PACKAGE and not any(part.startswith("__") for part in parts)
