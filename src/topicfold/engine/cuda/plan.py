# SPDX-License-Identifier: BSD-3-Clause
"""What of a corpus is on the device: all of it, or blocks that come and go.

Blocks are cut by the corpus alone, so that sums have the same order, and the same
bits, however much memory is free; that only decides how many blocks stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.engine.cuda.source import row_shape
from topicfold.exceptions import DeviceError

# Share of the free device memory that is planned with.
USABLE = 0.85
# Packed arrays of mixtures and of topics that a fit holds at once.
MIXTURES = 3
TOPICS = 5
# Blocks on their way: one in work, one coming, one that waits its turn.
SLOTS = 3
# A block's bytes: large beside what a visit costs whatever its size (a pass over the
# topics), small beside the corpus, for the last block's work overlaps with nothing.
LEAST_BLOCK = 64 * 2**20
MOST_BLOCK = 4 * 2**30
# Bytes of a non-zero on its way (index, place in the lists of words, small count),
# and of its lists in work and while they are sorted.
SENT = 9
SORTED = 48


@dataclass(frozen=True)
class Plan:
    """First document of every block (and their number), and which blocks stay."""

    offsets: NDArray[np.int64]
    stays: NDArray[np.bool_]


def fits(X: Any, n_topics: int, dtype: np.dtype, free: int) -> bool:
    """Whether the device has room for X whole; topics must fit in any case."""
    row_bytes = row_shape(n_topics, dtype).width * dtype.itemsize
    # Both lists of a non-zero, and what sorting needs besides.
    per_entry = 2 * (4 + dtype.itemsize) + 28
    n_rows, n_terms = X.shape
    needed = n_rows * (MIXTURES * row_bytes + 32) + per_entry * X.nnz
    return bool(needed + TOPICS * n_terms * row_bytes <= free)


def plan_blocks(
    indptr: NDArray[np.integer],
    n_terms: int,
    n_topics: int,
    dtype: np.dtype,
    free: int,
    block_bytes: int | None = None,
) -> Plan:
    """Cut a corpus into blocks and choose those that stay, or say that none fits.

    `free` is the device memory to use, `block_bytes` the size of a block on its way:
    None is twice the topics, within limits.
    """
    width = row_shape(n_topics, dtype).width
    topics = (TOPICS + 1) * n_terms * width * dtype.itemsize + 8 * n_terms * width
    if block_bytes is None:
        wanted = 2 * n_terms * n_topics * dtype.itemsize
        block_bytes = min(max(wanted, LEAST_BLOCK), MOST_BLOCK)
    while True:
        offsets = cut_blocks(indptr, n_topics * dtype.itemsize, block_bytes)
        rows = int(np.diff(offsets).max())
        entries = int(np.diff(np.asarray(indptr)[offsets]).max())
        row_bytes = rows * (width * dtype.itemsize)
        # Counts that are not small whole numbers take their whole size.
        lists = (8 + dtype.itemsize) * entries + 16 * rows + 20 * n_terms
        staged = row_bytes if width == n_topics else 2 * row_bytes
        work = SLOTS * (lists + 2 * staged) + SORTED * entries + row_bytes
        room = free - topics - work
        if room >= 0:
            kept = 2 * (4 + dtype.itemsize) * entries + 16 * rows + 20 * n_terms
            n_stay = min(room // (kept + MIXTURES * row_bytes), len(offsets) - 1)
            return Plan(offsets, spread(n_stay, len(offsets) - 1))
        if rows == 1:
            break
        block_bytes //= 2
    raise DeviceError(
        f"the GPU has {free / 2**30:.2f} GiB to use, but {n_topics} topics over "
        f"{n_terms} terms and one document at a time need "
        f"{(topics + work) / 2**30:.2f}. Use fewer topics or terms, close other "
        "programs on the GPU, or use device='cpu'."
    )


def cut_blocks(
    indptr: NDArray[np.integer], row_bytes: int, block_bytes: int
) -> NDArray[np.int64]:
    """Return where blocks of about as many bytes start, and the number of rows."""
    n_rows = len(indptr) - 1
    ends = row_bytes * np.arange(n_rows + 1) + SENT * np.asarray(indptr, np.int64)
    n_blocks = max(1, -(-int(ends[-1]) // max(block_bytes, 1)))
    targets = ends[-1] / n_blocks * np.arange(1, n_blocks)
    inner = np.searchsorted(ends, targets, side="right") - 1
    return np.unique(np.r_[0, inner, n_rows]).astype(np.int64)


def spread(n_chosen: int, n_blocks: int) -> NDArray[np.bool_]:
    """Choose some of the blocks evenly: their work hides the way of the others."""
    steps = np.arange(n_blocks + 1) * int(n_chosen) // max(n_blocks, 1)
    return np.diff(steps) > 0
