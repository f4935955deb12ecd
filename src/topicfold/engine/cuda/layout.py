# SPDX-License-Identifier: BSD-3-Clause
"""The CUDA engine's arrangement of the non-zeros of X, built on the device.

Words are renumbered by document frequency. The non-zeros are kept twice: document by
document, and word by word with the documents in order. A word's list is cut into
stretches, one for a warp. The lists of common words are cut at the borders of tiles
of documents and visited tile by tile, so that the mixtures of a tile are fetched once
for all of them. Memory: 16 bytes per non-zero (float32), and twice that while building.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Most non-zeros of a stretch.
STRETCH = 2048
# Words whose part of a tile has at least this many non-zeros are visited by tile.
LEAST_IN_TILE = 48
# Bytes of mixtures in a tile: a part of the L2 cache. Others are timed by
# ``python -m benchmarks.gpu --variants``.
TILE_BYTES = 32 * 2**20


class Stretches(NamedTuple):
    """Stretches in the order of visits, and where their parts are joined.

    `slot` is -1 for a word of one stretch. Word ``joined[i]`` has the parts
    ``first_slot[i] .. first_slot[i + 1]``.
    """

    start: Any
    length: Any
    word: Any
    slot: Any
    joined: Any
    first_slot: Any


@dataclass(frozen=True)
class DeviceLayout:
    """The non-zeros by document on the device; see the module docstring."""

    indptr: Any
    indices: Any
    counts: Any
    lengths: Any
    word_order: NDArray[np.int64]
    frequency: NDArray[np.int64]


@dataclass(frozen=True)
class DeviceWords:
    """The same non-zeros word by word."""

    documents: Any
    counts: Any
    stretches: Stretches
    n_slots: int


def document_layout(
    X: Any, dtype: np.dtype, word_order: Any, cupy: Any
) -> DeviceLayout:
    """Copy a clean CSR matrix (SciPy's or cupyx's) to the device, words by rank."""
    n_terms = X.shape[1]
    indices = cupy.asarray(X.indices).astype(cupy.int32, copy=False)
    frequency = cupy.asnumpy(cupy.bincount(indices, minlength=n_terms))
    if word_order is None:
        word_order = np.argsort(-frequency, kind="stable")
    rank = np.empty(n_terms, np.int32)
    rank[word_order] = np.arange(n_terms, dtype=np.int32)
    indptr = cupy.asarray(X.indptr).astype(cupy.int64, copy=False)
    counts = cupy.asarray(X.data).astype(dtype, copy=False)
    return DeviceLayout(
        indptr,
        cupy.take(cupy.asarray(rank), indices),
        counts,
        _row_totals(indptr, counts, cupy),
        np.asarray(word_order, np.int64),
        frequency[word_order].astype(np.int64),
    )


def _row_totals(indptr: Any, counts: Any, cupy: Any) -> Any:
    running = cupy.zeros(len(counts) + 1, cupy.float64)
    cupy.cumsum(counts, dtype=cupy.float64, out=running[1:])
    # Whole counts have exact sums; others lose what float64 loses.
    return running[indptr[1:]] - running[indptr[:-1]]


def word_layout(
    layout: DeviceLayout, tile: int, kernels: Any, cupy: Any
) -> DeviceWords:
    """List the non-zeros by word, common words' cut at multiples of `tile` documents
    (0: not).
    """
    order = cupy.argsort(layout.indices)
    rows = cupy.empty(len(layout.indices), cupy.int32)
    documents = cupy.take(list_documents(layout.indptr, rows, kernels), order)
    counts = cupy.take(layout.counts, order)
    del order, rows
    host, n_slots = stretches_of(layout, documents, tile, kernels, cupy)
    device = Stretches(*(cupy.asarray(part) for part in host))
    return DeviceWords(documents, counts, device, n_slots)


def list_documents(indptr: Any, out: Any, kernels: Any) -> Any:
    """Write the document of every non-zero to `out`."""
    n_documents = len(indptr) - 1
    if out.size:
        kernel = kernels.get_function("list_documents")
        blocks = (min(-(-n_documents // 4), 2**20),)
        kernel(blocks, (128,), (np.int64(n_documents), indptr, out))
    return out


def stretches_of(
    layout: DeviceLayout, documents: Any, tile: int, kernels: Any, cupy: Any
) -> tuple[Stretches, int]:
    """Return `cut_stretches` of the lists of documents, sorted by word."""
    n_documents = len(layout.indptr) - 1
    word_ptr = np.r_[0, np.cumsum(layout.frequency)]
    borders = np.empty((0, 2), np.int64)
    if 0 < tile < n_documents:
        n_tiles = -(-n_documents // tile)
        least = LEAST_IN_TILE * n_documents / tile
        # Any order of words will do: those in front that are all common.
        rare = np.flatnonzero(layout.frequency < least)
        n_common = int(rare[0]) if len(rare) else len(layout.frequency)
        found = cupy.empty((n_common, n_tiles + 1), cupy.int64)
        if found.size:
            sizes = np.int32(n_common), np.int32(n_tiles), np.int64(tile)
            find_tiles = kernels.get_function("find_tiles")
            arguments = (*sizes, cupy.asarray(word_ptr), documents, found)
            find_tiles((-(-found.size // 128),), (128,), arguments)
        borders = cupy.asnumpy(found)
    return cut_stretches(word_ptr, borders)


def cut_stretches(
    word_ptr: NDArray[np.int64], borders: NDArray[np.int64]
) -> tuple[Stretches, int]:
    """Cut the words' lists into stretches of at most `STRETCH`; return their parts too.

    The list of each word starts at `word_ptr`; `borders` (n_common, n_tiles + 1) says
    where the tiles of the first, common words start and end. Common words come by
    tile first, then the others.
    """
    n_common, n_terms = len(borders), len(word_ptr) - 1
    n_tiles = borders.shape[1] - 1 if n_common else 0
    rest = np.arange(n_common, n_terms)
    # Pieces word by word; the key sorts common ones by tile and the others last.
    word = np.r_[np.repeat(np.arange(n_common), n_tiles), rest]
    key = np.r_[np.tile(np.arange(n_tiles), n_common), np.full(len(rest), n_tiles)]
    start = np.r_[borders[:, :-1].ravel(), word_ptr[n_common:-1]]
    stop = np.r_[borders[:, 1:].ravel(), word_ptr[n_common + 1 :]]
    parts = -(-(stop - start) // STRETCH)
    # An empty word still needs one stretch, which writes its zeros.
    parts[(parts == 0) & (word >= n_common)] = 1
    piece = np.repeat(np.arange(len(word)), parts)
    part = np.arange(len(piece)) - np.repeat(np.cumsum(parts) - parts, parts)
    first = start[piece] + part * STRETCH
    length = np.minimum(stop[piece] - first, STRETCH)
    owner = word[piece]
    n_parts = np.bincount(owner, minlength=n_terms)
    several = n_parts > 1
    slot = np.where(several[owner], np.cumsum(several[owner]) - 1, -1)
    order = np.argsort(key[piece], kind="stable")
    joined = np.flatnonzero(several)
    first_slot = np.r_[0, np.cumsum(n_parts[joined])]
    stretches = Stretches(
        first[order].astype(np.int64),
        length[order].astype(np.int32),
        owner[order].astype(np.int32),
        slot[order].astype(np.int32),
        joined.astype(np.int32),
        first_slot.astype(np.int32),
    )
    return stretches, int(first_slot[-1])
