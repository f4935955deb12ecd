# SPDX-License-Identifier: BSD-3-Clause
"""Plain rows of packed documents, wherever these are: in memory, on a GPU, in blocks.

Packed rows are padded to whole registers. What a step sees are the first `n_topics`
columns, a view; what it returns is packed again, without a copy where it is a view of
a packed array itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from topicfold.core.typing import Array
from topicfold.engine.blocks.packed import PackedBlocks, RowFunction, Shared
from topicfold.engine.protocol import Engine, OwnShare

# Rows of an array in memory that are visited at a time: bounds what a step allocates.
ROWS_AT_ONCE = 2**16


def on_device(array: Any) -> bool:
    """Whether `array` is a CuPy array."""
    return not isinstance(array, np.ndarray) and hasattr(
        array, "__cuda_array_interface__"
    )


def array_module(array: Any) -> Any:
    """Return the module whose functions work on `array`: numpy or cupy."""
    if on_device(array):
        import cupy

        return cupy
    return np


def to_numpy(array: Any) -> Any:
    """Return `array` itself, or a NumPy copy of a device array."""
    return array.get() if on_device(array) else array


def ranges_of(n_rows: int) -> Iterator[slice]:
    """Yield slices of at most `ROWS_AT_ONCE` rows."""
    for start in range(0, n_rows, ROWS_AT_ONCE):
        yield slice(start, min(start + ROWS_AT_ONCE, n_rows))


def padded(rows: Array) -> Array | None:
    """Return the contiguous array whose first columns `rows` are, if there is one.

    Examples
    --------
    >>> packed = np.zeros((3, 8))
    >>> padded(packed[:, :5]) is packed
    True
    >>> padded(packed[1:, :5]) is None
    True
    """
    if rows.flags.c_contiguous:
        return rows
    base = rows.base
    if base is None or base.ndim != 2 or not base.flags.c_contiguous:
        return None
    same = len(base) == len(rows) and base.dtype == rows.dtype
    return base if same and _address(base) == _address(rows) else None


def _address(array: Any) -> int:
    # NumPy's `data` is a memoryview, CuPy's has the pointer.
    pointer = getattr(array.data, "ptr", None)
    return int(array.ctypes.data if pointer is None else pointer)


def pack_rows(rows: Array, engine: Engine, like: Array) -> Array:
    """Return plain rows of all documents packed as `like` is."""
    whole = padded(rows)
    if whole is not None and whole.shape == like.shape and whole.dtype == like.dtype:
        return whole
    return engine.pack_documents(rows)


def pack_own(engine: Engine, own: OwnShare) -> OwnShare:
    """Return an own share of words packed; `groups` are of the columns of X."""
    if own.groups is None:
        return OwnShare(engine.pack_prior(own.scale), engine.pack_prior(own.floor))
    scale, floor = (
        array_module(engine.pack_prior(0.0)).stack([engine.pack_prior(r) for r in rows])
        for rows in (own.scale, own.floor)
    )
    return OwnShare(scale, floor, own.groups[engine.word_order].astype(np.int32))


def map_rows(
    engine: Engine,
    function: RowFunction,
    inputs: tuple[Any, ...],
    shared: Shared = (),
    out: Any = None,
) -> Any:
    """Return packed documents with the plain rows that `function` returns.

    See `RowFunction` for its arguments. There are one or two inputs; `out` may be one.
    """
    if isinstance(inputs[0], PackedBlocks):
        return inputs[0].engine.map_rows(function, inputs, shared, out)
    used = slice(0, engine.n_topics)
    out = np.zeros_like(inputs[0]) if out is None else out
    for rows in ranges_of(engine.n_documents):
        arrays = [array[rows, used] for array in inputs]
        lengths = engine.document_lengths[rows]
        out[rows, used] = function(rows, lengths, arrays, *shared)
    return out


def sum_rows(
    engine: Engine,
    function: RowFunction,
    inputs: tuple[Any, ...],
    shared: Shared = (),
) -> float:
    """Return the sum of ``function(rows, lengths, arrays, *shared)`` over all rows."""
    if isinstance(inputs[0], PackedBlocks):
        return float(inputs[0].engine.sum_rows(function, inputs, shared))
    used = slice(0, engine.n_topics)
    total = 0.0
    for rows in ranges_of(engine.n_documents):
        arrays = [array[rows, used] for array in inputs]
        total += float(function(rows, engine.document_lengths[rows], arrays, *shared))
    return total
