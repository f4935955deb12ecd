# SPDX-License-Identifier: BSD-3-Clause
"""A document-term matrix in blocks of rows, wherever the blocks are.

It answers the few questions that learning asks of a matrix as a CSR matrix would
(`shape`, `sum`, `indptr`, rows by number), without being in one place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from topicfold.core.counts import check_counts, check_range
from topicfold.exceptions import DataError

# Blocks that one mini-batch is drawn from: documents of one source are often next to
# each other, and on a cluster as many workers share the batch.
BLOCKS_OF_A_BATCH = 8

# The file that lists the blocks of a folder.
INDEX = "index.safetensors"

Rows = NDArray[np.int64]


class BlockCorpus(ABC):
    """Base of corpora in blocks; sub-classes say where a block comes from."""

    ndim = 2
    dtype: np.dtype  # of the counts, float32 or float64
    block_rows: Rows  # documents of each block
    block_nnz: Rows
    document_frequencies: NDArray[np.int64]  # documents that have each term
    term_totals: NDArray[np.float64]  # sum of the counts of each term
    storage: Path | None = None  # of mixtures and scratch; None: the system's own
    keep_bytes: int = 2**30  # for blocks kept between passes; the rest is read again
    vocabulary: list[str] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Documents and terms."""
        return int(self.block_rows.sum()), len(self.document_frequencies)

    @property
    def nnz(self) -> int:
        """Non-zeros."""
        return int(self.block_nnz.sum())

    @property
    def n_blocks(self) -> int:
        """Blocks."""
        return len(self.block_rows)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        documents, terms = self.shape
        return (
            f"{type(self).__name__}({documents} documents, {terms} terms, "
            f"{self.nnz} non-zeros, {self.n_blocks} blocks)"
        )

    @abstractmethod
    def _row_sums(self) -> tuple[Rows, NDArray[np.float64]]:
        """Return the number of non-zeros and the sum of every row."""

    @abstractmethod
    def _take(self, chosen: list[tuple[int, Rows]]) -> sparse.csr_matrix:
        """Return rows of some blocks as one matrix in memory."""

    @cached_property
    def _rows_known(self) -> tuple[Rows, NDArray[np.float64]]:
        nnz, sums = self._row_sums()
        return np.r_[0, np.cumsum(nnz, dtype=np.int64)], sums

    @property
    def indptr(self) -> Rows:
        """Cumulated non-zeros by document, as of a CSR matrix."""
        return self._rows_known[0]

    @property
    def word_order(self) -> NDArray[np.int64]:
        """Terms by descending document frequency: one order for all blocks."""
        return np.argsort(-self.document_frequencies, kind="stable")

    @property
    def offsets(self) -> Rows:
        """First row of every block, and the number of rows."""
        return np.r_[0, np.cumsum(self.block_rows, dtype=np.int64)]

    @property
    def row_ranges(self) -> list[slice]:
        """Rows of every block."""
        return [slice(*edges) for edges in pairwise(self.offsets.tolist())]

    def sum(self, axis: int | None = None, dtype: DTypeLike = np.float64) -> Any:
        """Return the sum of all counts, by term (axis 0) or by document (axis 1)."""
        if axis is None:
            return self.term_totals.sum().astype(dtype)
        totals = self.term_totals if axis in (0, -2) else self._rows_known[1]
        return totals.astype(dtype, copy=False)

    def __getitem__(self, rows: Any) -> sparse.csr_matrix:
        """Return rows by their numbers, or a slice, as a CSR matrix in memory."""
        rows = np.arange(len(self))[rows] if isinstance(rows, slice) else rows
        rows = np.atleast_1d(np.asarray(rows, dtype=np.int64))
        if rows.size and (rows.min() < -len(self) or rows.max() >= len(self)):
            raise IndexError(f"rows go from 0 to {len(self) - 1}")
        rows = np.where(rows < 0, rows + len(self), rows)
        order = np.argsort(rows, kind="stable")
        offsets = self.offsets
        block_of = np.searchsorted(offsets, rows[order], side="right") - 1
        chosen = [
            (int(b), rows[order][block_of == b] - offsets[b])
            for b in np.unique(block_of)
        ]
        if not chosen:
            return sparse.csr_matrix((0, self.shape[1]), dtype=self.dtype)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        stacked = self._take(chosen)
        return stacked if (back[1:] > back[:-1]).all() else stacked[back]

    def join(self, more: Any, weight: float = 1.0) -> BlockCorpus:
        """Return the corpus times `weight`, with the columns of `more` after its own.

        `more` has as many rows, in memory or in blocks; rows of it are joined to a
        block when the block is read.
        """
        return JoinedBlocks(self, more, weight)

    def by_slice(self, slices: Rows, n_slices: int) -> tuple[BlockCorpus, Rows]:
        """Return the corpus with a column for each pair of a word and a slice.

        `slices` has the slice of each document. Pairs that occur, which are returned
        as ``word · n_slices + slice``, are found in one pass over the blocks; their
        columns are made when a block is read.
        """
        sliced = SlicedBlocks(self, slices, n_slices)
        return sliced, sliced.pairs

    def __mul__(self, weight: float) -> BlockCorpus:
        """Return the corpus with other weights of its tokens."""
        return self.join(sparse.csr_matrix((len(self), 0)), weight)

    def batches(
        self, size: int, rng: np.random.RandomState
    ) -> Iterator[tuple[Rows, Any]]:
        """Yield the rows of mini-batches of about `size` documents, and these.

        They cover all documents once.

        Blocks are shuffled; a batch takes an even share of random rows of each of
        `BLOCKS_OF_A_BATCH` blocks, so no more than these are open at a time.
        """
        blocks = rng.permutation(self.n_blocks)
        for first in range(0, len(blocks), BLOCKS_OF_A_BATCH):
            window = np.sort(blocks[first : first + BLOCKS_OF_A_BATCH])
            orders = [rng.permutation(int(self.block_rows[b])) for b in window]
            n_batches = max(1, -(-sum(map(len, orders)) // size))
            for i in range(n_batches):
                chosen = []
                for b, order in zip(window, orders, strict=True):
                    first_row, end = (len(order) * n // n_batches for n in (i, i + 1))
                    if end > first_row:
                        chosen.append((int(b), np.sort(order[first_row:end])))
                if chosen:
                    rows = [self.offsets[b] + own for b, own in chosen]
                    yield np.concatenate(rows), self._batch(chosen)

    def _batch(self, chosen: list[tuple[int, Rows]]) -> Any:
        """Return rows of several blocks as something that an engine takes."""
        return self._take(chosen)


class _DerivedBlocks(BlockCorpus):
    """A corpus made of the rows of another when they are read."""

    def __init__(self, corpus: BlockCorpus) -> None:
        self._corpus = corpus
        self.dtype, self.storage = corpus.dtype, corpus.storage
        self.keep_bytes, self.block_rows = corpus.keep_bytes, corpus.block_rows

    @abstractmethod
    def _made(self, own: sparse.csr_matrix, rows: Any) -> sparse.csr_matrix:
        """Return rows of the corpus, made of those of the other."""

    def block(self, number: int) -> sparse.csr_matrix:
        """Return a block with its columns."""
        own = self._corpus.block(number)  # type: ignore[attr-defined]
        return self._made(own, self.row_ranges[number])

    def _take(self, chosen: list[tuple[int, Rows]]) -> sparse.csr_matrix:
        rows = np.concatenate([self.offsets[b] + own for b, own in chosen])
        return self._made(self._corpus._take(chosen), rows)


class JoinedBlocks(_DerivedBlocks):
    """A corpus with more columns (`BlockCorpus.join`), of which nothing is stored."""

    def __init__(self, corpus: BlockCorpus, more: Any, weight: float) -> None:
        super().__init__(corpus)
        self._more, self._weight = more, weight
        self.vocabulary = None if more.shape[1] else corpus.vocabulary
        ends = more.indptr[corpus.offsets].astype(np.int64)
        self.block_nnz = corpus.block_nnz + np.diff(ends)
        if isinstance(more, BlockCorpus):
            frequencies = more.document_frequencies
        else:
            frequencies = np.bincount(more.indices, minlength=more.shape[1])
        totals = np.asarray(more.sum(axis=0, dtype=np.float64)).ravel()
        self.document_frequencies = np.r_[corpus.document_frequencies, frequencies]
        self.term_totals = np.r_[weight * corpus.term_totals, totals]

    def _made(self, own: sparse.csr_matrix, rows: Any) -> sparse.csr_matrix:
        return join_rows(own, self._weight, self._more[rows])

    def _row_sums(self) -> tuple[Rows, NDArray[np.float64]]:
        nnz = np.diff(self._corpus.indptr) + np.diff(self._more.indptr)
        sums = np.asarray(self._more.sum(axis=1, dtype=np.float64)).ravel()
        return nnz, self._weight * self._corpus.sum(axis=1) + sums


class SlicedBlocks(_DerivedBlocks):
    """A corpus with other columns (`BlockCorpus.by_slice`), of which nothing is stored.

    `pairs` has ``word · n_slices + slice`` of each column.
    """

    def __init__(self, corpus: BlockCorpus, slices: Rows, n_slices: int) -> None:
        super().__init__(corpus)
        self._slices, self._n_slices = slices, n_slices
        self.block_nnz = corpus.block_nnz
        found = [self._counted(number) for number in range(corpus.n_blocks)]
        keys, documents, totals = map(np.concatenate, zip(*found, strict=True))
        self.pairs, places = np.unique(keys, return_inverse=True)
        self.document_frequencies = np.bincount(places, documents).astype(np.int64)
        self.term_totals = np.bincount(places, totals).astype(np.float64)

    def _counted(self, number: int) -> tuple[NDArray[Any], ...]:
        """Return the pairs of a block, and the documents and tokens of each."""
        block = self._corpus.block(number)  # type: ignore[attr-defined]
        own = self._slices[self.row_ranges[number]]
        keys = pair_keys(block, own, self._n_slices)
        keys, places = np.unique(keys, return_inverse=True)
        return keys, np.bincount(places), np.bincount(places, block.data)

    def _made(self, own: sparse.csr_matrix, rows: Any) -> sparse.csr_matrix:
        return in_pairs(own, self._slices[rows], self._n_slices, self.pairs)

    def _row_sums(self) -> tuple[Rows, NDArray[np.float64]]:
        return np.diff(self._corpus.indptr), self._corpus.sum(axis=1)


def pair_keys(rows: sparse.csr_matrix, slices: Rows, n_slices: int) -> Rows:
    """Return ``word · n_slices + slice`` of the entries of rows with these slices."""
    own = np.repeat(slices, np.diff(rows.indptr))
    return rows.indices.astype(np.int64) * n_slices + own


def in_pairs(
    rows: sparse.csr_matrix, slices: Rows, n_slices: int, pairs: Rows
) -> sparse.csr_matrix:
    """Return rows with a column for each of the sorted pairs."""
    columns = np.searchsorted(pairs, pair_keys(rows, slices, n_slices))
    shape = rows.shape[0], len(pairs)
    return sparse.csr_matrix((rows.data, columns, rows.indptr), shape)


def join_rows(
    block: sparse.csr_matrix, weight: float, more: sparse.csr_matrix
) -> sparse.csr_matrix:
    """Return rows times `weight` with more columns, in the type of `block`."""
    parts = [block if weight == 1.0 else block * weight, more]
    joined = sparse.hstack(parts, format="csr", dtype=block.dtype)
    return sparse.csr_matrix(joined)


def clean_block(
    block: Any, where: str, n_terms: int | None, dtype: DTypeLike | None = None
) -> sparse.csr_matrix:
    """Return a block as a canonical CSR matrix of floats, or say what is wrong."""
    if not (sparse.issparse(block) and block.format == "csr" and block.ndim == 2):
        found = f"a {block.format} matrix" if sparse.issparse(block) else type(block)
        raise DataError(
            f"{where} is {found}, not a CSR matrix of counts. Convert it first: "
            "scipy.sparse.csr_matrix(block), or with Dask "
            "x.map_blocks(scipy.sparse.csr_matrix)."
        )
    if block.shape[0] == 0:
        raise DataError(
            f"{where} is empty: it has no documents. Leave it out, or merge it with "
            "another (with Dask: x.rechunk, or filter before making blocks)."
        )
    if n_terms is not None and block.shape[1] != n_terms:
        raise DataError(
            f"{where} has {block.shape[1]} columns, the others have {n_terms}. All "
            "blocks need one vocabulary: vectorise them with the same vocabulary."
        )
    if dtype is None:
        dtype = np.float64 if block.dtype == np.float64 else np.float32
    counts = check_counts(block, where)
    check_range(counts, where)
    return counts.astype(dtype, copy=False)
