# SPDX-License-Identifier: BSD-3-Clause
"""The CPU engine's arrangement of the non-zeros of X.

Words are renumbered by document frequency, so that the topic weights of the common
ones share few cache lines and pages. For the word pass the same non-zeros are listed
by tile of documents and by word within the tile; the position of each in the
document order leads to its ratio. Memory: 18 bytes a non-zero with 32-bit indices
(index 4, count 4, document within its tile 2, position 4, ratio 4).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.engine.kernels import list_tile_by_word

TILE_SIZE = 4096


@dataclass(frozen=True)
class DocumentLayout:
    """The non-zeros document by document; see the module docstring."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.integer]
    counts: NDArray[np.floating]
    word_order: NDArray[np.integer]


@dataclass(frozen=True)
class WordLayout:
    """The same non-zeros by tile of documents and word."""

    tile_groups: NDArray[np.int64]
    group_word: NDArray[np.integer]
    group_ptr: NDArray[np.int64]
    tile_document: NDArray[np.uint16]
    position: NDArray[np.integer]

    def work(self, n_terms: int) -> NDArray[np.int64]:
        """Cumulated number of non-zeros by word, for balanced ranges."""
        per_word = np.bincount(
            self.group_word, weights=np.diff(self.group_ptr), minlength=n_terms
        )
        return np.r_[0, np.cumsum(per_word.astype(np.int64))]


def document_layout(X: sparse.csr_matrix, dtype: np.dtype) -> DocumentLayout:
    """Arrange a CSR matrix without explicit zeros or duplicates."""
    n_terms = X.shape[1]
    index_dtype = np.int32 if max(X.nnz, n_terms) < 2**31 else np.int64
    frequency = np.bincount(X.indices, minlength=n_terms)
    word_order: NDArray[np.integer] = np.argsort(-frequency, kind="stable").astype(
        index_dtype
    )
    rank = np.empty(n_terms, dtype=index_dtype)
    rank[word_order] = np.arange(n_terms, dtype=index_dtype)
    return DocumentLayout(
        X.indptr.astype(np.int64),
        rank[X.indices],
        X.data.astype(dtype, copy=False),
        word_order,
    )


def word_layout(documents: DocumentLayout) -> WordLayout:
    """List the non-zeros of each tile of documents word by word."""
    indptr, indices = documents.indptr, documents.indices
    n_documents, n_terms = len(indptr) - 1, len(documents.word_order)
    tile_document = np.empty(len(indices), np.uint16)
    position = np.empty(len(indices), indices.dtype)
    cursor = np.empty(n_terms + 1, np.int64)
    words, pointers, groups = [], [np.zeros(1, np.int64)], [0]
    for start in range(0, n_documents, TILE_SIZE):
        stop = min(start + TILE_SIZE, n_documents)
        list_tile_by_word(start, stop, indptr, indices, cursor, tile_document, position)
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
        position=position,
    )
