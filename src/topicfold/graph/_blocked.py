# SPDX-License-Identifier: BSD-3-Clause
"""Neighbours under a similarity that the user wrote, block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topicfold.core.threads import run_ranges
from topicfold.exceptions import DataError

BLOCK_ENTRIES = 1 << 22  # similarities in memory at once, for each thread

Similarity = Callable[[sp.csr_array, sp.csr_array], Any]


def search_blocks(
    similarity: Similarity,
    queries: sp.csr_array,
    documents: sp.csr_array,
    n_best: int,
    exclude_self: bool,
    threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the best documents (-1: none) and similarities (0) for each query."""
    n_queries, n_documents = queries.shape[0], documents.shape[0]
    best = np.full((n_queries, n_best), -1, dtype=np.int64)
    values = np.zeros((n_queries, n_best))
    # Documents without words have no neighbours, whatever the function says.
    lacking = np.diff(documents.indptr) == 0

    def task(start: int, stop: int) -> None:
        block = _call(similarity, queries[start:stop], documents)
        block[:, lacking] = 0.0
        block[np.diff(queries.indptr[start : stop + 1]) == 0] = 0.0
        if exclude_self:
            block[np.arange(stop - start), np.arange(start, stop)] = 0.0
        order = np.argsort(-block, axis=1, kind="stable")[:, :n_best]
        found = np.take_along_axis(block, order, axis=1)
        best[start:stop] = np.where(found > 0, order, -1)
        values[start:stop] = np.maximum(found, 0.0)

    size = max(1, BLOCK_ENTRIES // n_documents)
    starts = range(0, n_queries if n_best else 0, size)
    run_ranges(task, [(s, min(s + size, n_queries)) for s in starts], threads)
    return best, values


def _call(
    similarity: Similarity, queries: sp.csr_array, documents: sp.csr_array
) -> NDArray[np.float64]:
    result = similarity(queries, documents)
    if sp.issparse(result):
        result = result.toarray()
    block = np.array(result, dtype=np.float64)
    expected = (queries.shape[0], documents.shape[0])
    if block.shape != expected:
        raise DataError(
            f"similarity returned an array of shape {block.shape} for {expected[0]} "
            f"query and {expected[1]} index documents. Return one row per query and "
            "one column per index document."
        )
    if np.isnan(block).any():
        row, column = np.argwhere(np.isnan(block))[0]
        raise DataError(
            f"similarity returned NaN for query row {row} of its block and index "
            f"document {column}. Return 0 for documents that have nothing in common."
        )
    return block
