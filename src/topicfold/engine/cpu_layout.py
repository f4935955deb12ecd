# SPDX-License-Identifier: BSD-3-Clause
"""The CPU engine's arrangement of the non-zeros of X.

Words are renumbered by document frequency, so that the topic weights of the common
ones share few cache lines and pages; a document lists its words in that order. For
the word pass the same non-zeros are listed by tile of documents and by word within
the tile. Memory: 12 bytes a non-zero with 32-bit indices and whole counts (index 4,
count 2, document within its tile 2, ratio 4), 14 with other weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.engine.kernels import find_first_positions, list_tile_by_word

TILE_SIZE = 4096
GROUP_COST = 4


@dataclass(frozen=True)
class DocumentLayout:
    """The non-zeros document by document; see the module docstring."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.integer]
    counts: NDArray[Any]
    word_order: NDArray[np.integer]


@dataclass(frozen=True)
class WordLayout:
    """The same non-zeros by tile of documents and word."""

    tile_groups: NDArray[np.int64]
    group_word: NDArray[np.integer]
    group_ptr: NDArray[np.int64]
    tile_document: NDArray[np.uint16]

    def work(self, n_terms: int) -> NDArray[np.int64]:
        """Cumulated work by word, for balanced ranges.

        Reading and writing a word's counts for each tile costs as much as some of
        its non-zeros (measured: 3 with 20 topics, 5 with 500).
        """
        per_group = np.diff(self.group_ptr) + GROUP_COST
        per_word = np.bincount(self.group_word, weights=per_group, minlength=n_terms)
        return np.r_[0, np.cumsum(per_word.astype(np.int64))]


def document_layout(
    X: sparse.csr_matrix,
    dtype: np.dtype,
    word_order: NDArray[np.integer] | None = None,
) -> DocumentLayout:
    """Arrange a CSR matrix without explicit zeros or duplicates.

    Blocks of one corpus are given one `word_order`; the default is X's own.
    """
    n_terms = X.shape[1]
    index_dtype = np.int32 if max(X.nnz, n_terms) < 2**31 else np.int64
    if word_order is None:
        frequency = np.bincount(X.indices, minlength=n_terms)
        word_order = np.argsort(-frequency, kind="stable")
    word_order = word_order.astype(index_dtype, copy=False)
    rank = np.empty(n_terms, dtype=index_dtype)
    rank[word_order] = np.arange(n_terms, dtype=index_dtype)
    by_rank = sparse.csr_matrix(
        (_small_counts(X.data, dtype), rank[X.indices], X.indptr), shape=X.shape
    )
    by_rank.has_sorted_indices = False
    by_rank.sort_indices()
    indptr = X.indptr.astype(np.int64)
    return DocumentLayout(indptr, by_rank.indices, by_rank.data, word_order)


def _small_counts(data: NDArray[Any], dtype: np.dtype) -> NDArray[Any]:
    """Return a copy of the counts: of two bytes each where all of them fit."""
    if data.max(initial=0) <= np.iinfo(np.uint16).max:
        small = data.astype(np.uint16)
        if np.array_equal(small, data):
            return small
    return data.astype(dtype)


def first_positions(
    documents: DocumentLayout, ranges: list[tuple[int, int]]
) -> dict[int, NDArray[np.int64]]:
    """Return, for each range of words, where it begins in every document."""
    positions = {}
    for start, _ in ranges:
        first = np.empty(len(documents.indptr) - 1, np.int64)
        find_first_positions(documents.indptr, documents.indices, start, first)
        positions[start] = first
    return positions


def word_layout(documents: DocumentLayout) -> WordLayout:
    """List the non-zeros of each tile of documents word by word."""
    indptr, indices = documents.indptr, documents.indices
    n_documents, n_terms = len(indptr) - 1, len(documents.word_order)
    tile_document = np.empty(len(indices), np.uint16)
    cursor = np.empty(n_terms + 1, np.int64)
    words, pointers, groups = [], [np.zeros(1, np.int64)], [0]
    for start in range(0, n_documents, TILE_SIZE):
        stop = min(start + TILE_SIZE, n_documents)
        list_tile_by_word(start, stop, indptr, indices, cursor, tile_document)
        # The cursor now stands at each word's end.
        starts = np.r_[indptr[start], cursor[:-2]]
        present = np.flatnonzero(cursor[:-1] > starts)
        words.append(present.astype(indices.dtype))
        pointers.append(cursor[present])
        groups.append(groups[-1] + len(present))
    return WordLayout(
        tile_groups=np.array(groups, dtype=np.int64),
        group_word=np.concatenate(words),
        group_ptr=np.concatenate(pointers),
        tile_document=tile_document,
    )
