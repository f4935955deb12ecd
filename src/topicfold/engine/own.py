# SPDX-License-Identifier: BSD-3-Clause
"""What a document or a word has of its own, for kernels that may be given nothing.

An argument of a kernel is None, a vector that serves all, or an array of rows. Which of
these it is, numba knows from the type: the others are not in the compiled code, and a
kernel that is given nothing is as fast as one that cannot be given anything.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import overload

_INLINE: dict[str, Any] = {"forceinline": True}


def own_row(rows: Any, d: int) -> Any:
    """Return row d of an array of rows; a vector, or None, serves all."""
    return rows if rows is None or rows.ndim == 1 else rows[d]


@overload(own_row, strict=False, jit_options=_INLINE)
def _own_row(rows: Any, d: Any) -> Any:
    if isinstance(rows, types.NoneType) or rows.ndim == 1:
        return lambda rows, d: rows
    return lambda rows, d: rows[d]


def own_rows(rows: Any, start: int, stop: int) -> Any:
    """Return rows ``start..stop`` of an array; a vector, or None, serves all."""
    return rows if rows is None or rows.ndim == 1 else rows[start:stop]


@overload(own_rows, strict=False, jit_options=_INLINE)
def _own_rows(rows: Any, start: Any, stop: Any) -> Any:
    if isinstance(rows, types.NoneType) or rows.ndim == 1:
        return lambda rows, start, stop: rows
    return lambda rows, start, stop: rows[start:stop]


def group_row(rows: Any, groups: Any, w: int) -> Any:
    """Return the row of the group of word w; without groups, the vector itself."""
    return rows if groups is None else rows[groups[w]]


@overload(group_row, strict=False, jit_options=_INLINE)
def _group_row(rows: Any, groups: Any, w: Any) -> Any:
    if isinstance(groups, types.NoneType):
        return lambda rows, groups, w: rows
    return lambda rows, groups, w: rows[groups[w]]


def element(row: Any, k: int) -> Any:
    """Return element k of a row, None of None."""
    return None if row is None else row[k]


@overload(element, strict=False, jit_options=_INLINE)
def _element(row: Any, k: Any) -> Any:
    if isinstance(row, types.NoneType):
        return lambda row, k: None
    return lambda row, k: row[k]


def is_plain(prior: Any, tilt: Any, groups: Any) -> bool:
    """Return whether all documents share the prior, none has a tilt, no word a group.

    LLVM vectorises a loop that stores only if it reads few arrays (eight): four words
    or documents at a time are too many where each has rows of its own.
    """
    return prior.ndim == 1 and tilt is None and groups is None


@overload(is_plain, strict=False, jit_options=_INLINE)
def _is_plain(prior: Any, tilt: Any, groups: Any) -> Any:
    none = types.NoneType
    if prior.ndim == 1 and isinstance(tilt, none) and isinstance(groups, none):
        return lambda prior, tilt, groups: True
    return lambda prior, tilt, groups: False
