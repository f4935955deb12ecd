# SPDX-License-Identifier: BSD-3-Clause
"""Frank-Wolfe inference on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.core.counts import rows_of
from topicfold.engine.cuda.device import device_errors, load_cupy
from topicfold.engine.cuda.source import THREADS, WARPS, compile_part, row_shape

# Documents and entries of dense mixtures that are on the device at a time.
MOST_ROWS = 2**16
MOST_ENTRIES = 2**27


def infer_documents(
    U: Any,
    topics: NDArray[np.floating],
    floor: float,
    classes: NDArray[np.int64],
    class_weights: NDArray[np.float64],
    options: tuple[bool, int, float],
) -> tuple[NDArray[Any], ...]:
    """Return indices, values, row lengths of θ and the info table, as NumPy arrays.

    `U` (D, V) are word weights, `topics` φᵀ, `floor` the least probability of a word
    that any topic has, `classes` rows of `class_weights`, the promotion of topics, or
    -1, `options` pairwise, max_iter and tol of ``infer.frank_wolfe``.
    """
    cupy = load_cupy()
    shape = row_shape(topics.shape[1], topics.dtype)
    parts = []
    with device_errors("mixtures were inferred"):
        kernel = compile_part("frank_wolfe", shape).get_function("frank_wolfe")
        table = cupy.asarray(topics)
        known = (table > 0).any(axis=1)
        table = cupy.maximum(table, topics.dtype.type(floor))
        words = table, cupy.log(table), known
        weights = cupy.asarray(class_weights)
        pairwise, max_iter, tol = options
        numbers = np.int32(pairwise), np.int32(max_iter), np.float64(tol)
        size = max(1, min(MOST_ROWS, MOST_ENTRIES // topics.shape[1]))
        for start in range(0, U.shape[0], size):
            stop = min(start + size, U.shape[0])
            rows = rows_of(U, start, stop)
            own = cupy.asarray(classes[start:stop].astype(np.int32))
            parts.append(_infer(kernel, rows, words, (own, weights), numbers, cupy))
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def _infer(
    kernel: Any, rows: Any, words: Any, promoted: Any, options: Any, cupy: Any
) -> tuple[NDArray[Any], ...]:
    table, logs, known = words
    n_rows = rows.shape[0]
    indptr = cupy.asarray(rows.indptr.astype(np.int64))
    indices = cupy.asarray(rows.indices.astype(np.int32))
    # Words that no topic has get the weight zero.
    u = cupy.asarray(rows.data.astype(np.float64)) * known[indices]
    work = [cupy.empty_like(u) for _ in range(3)]
    theta = cupy.empty((n_rows, table.shape[1]), np.float64)
    info = cupy.empty((n_rows, 4), np.float64)
    lists = indptr, indices, u, table, logs
    kernel(
        (-(-n_rows // WARPS),),
        (THREADS,),
        (np.int32(n_rows), *lists, *promoted, *options, *work, theta, info),
    )
    values = theta.astype(table.dtype)
    used = values > 0
    columns = cupy.nonzero(used)[1].astype(np.int32)
    counts = used.sum(axis=1, dtype=np.int64)
    return tuple(a.get() for a in (columns, values[used], counts, info))
