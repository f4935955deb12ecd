# SPDX-License-Identifier: BSD-3-Clause
"""The engine protocol over blocks of rows: out of core, or on workers.

Every block is a :class:`~topicfold.engine.cpu.CpuEngine` in one common order of words.
Packed documents are files, a file per block, of which a block that is kept in memory
remembers the latest; packed topics are arrays here. A document pass visits every
block once and adds up the expected counts of words in the same visit, since the word
pass that follows asks for just these.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.counts import normalize_rows
from topicfold.core.typing import Array
from topicfold.engine.blocks.executor import prepare_blocks
from topicfold.engine.blocks.packed import BlockwiseEngine, PackedBlocks, Shared
from topicfold.engine.blocks.store import (
    BlockStore,
    StoredBlock,
    load_block,
    save_block,
    write_rows,
)
from topicfold.engine.cpu import CpuEngine
from topicfold.engine.protocol import (
    DocumentPass,
    OwnShare,
    PassOptions,
    RowFunction,
    Statistics,
    rows_of,
)

# The parameters and the counts of a fit.
REMEMBERED = 2


class OneBlock(CpuEngine):
    """The CPU engine of one block, with its latest mixtures in memory.

    It remembers the two arrays that it wrote last, so it need not read them, and
    writes new ones over an array that has served its time: fresh memory costs page
    faults, as much as a tenth of a pass.
    """

    def __init__(
        self,
        X: sparse.csr_matrix,
        n_topics: int,
        dtype: np.dtype | type,
        word_order: NDArray[np.integer],
    ) -> None:
        super().__init__(X, n_topics, dtype=dtype, word_order=word_order)
        self._memory: dict[str, Array] = {}

    def read(self, path: str) -> Array:
        """Return a file's array, which must not be changed."""
        found = self._memory.get(path)
        return load_block(path) if found is None else found

    def take(self, path: str) -> Array:
        """Return a file's array for changes; from now on `read` reads the file."""
        found = self._memory.pop(path, None)
        return load_block(path) if found is None else found

    def drop(self, path: str | None) -> Array | None:
        """Return the array of a file that is no longer read, if it is here."""
        return None if path is None else self._memory.pop(path, None)

    def write(self, path: str, array: Array) -> None:
        """Write a file and remember the array, which the caller gives up."""
        save_block(path, array)
        self._memory[path] = array
        if len(self._memory) > REMEMBERED:
            del self._memory[next(iter(self._memory))]

    @property
    def n_bytes(self) -> int:
        """Memory of the arrangement, the word pass's included, and of mixtures."""
        layout = self._layout
        # Counts, and the two numbers of the collapsed link.
        entry = 2 * layout.indices.itemsize + layout.counts.itemsize + 2
        entry += 2 * self.dtype.itemsize
        row = 24 + REMEMBERED * self._width * self.dtype.itemsize
        return len(layout.indices) * entry + row * self.n_documents

    def __sizeof__(self) -> int:
        # Dask asks, to choose what to send where and what to put on disk.
        return self.n_bytes

    def __getstate__(self) -> dict[str, Any]:
        # Another process, or this one after the disk, reads the files.
        return self.__dict__ | {"_memory": {}}


class DocumentBlocks(PackedBlocks):
    """Packed documents of a blocked engine: a file for every block."""

    blocks: list[StoredBlock]

    def link_to(self, folder: Path, name: str = "documents") -> None:
        """Give the files a second name in `folder`, for a state that is kept."""
        for file, block in zip(self.names(name), self.blocks, strict=True):
            block.link_to(folder / file)

    def names(self, name: str = "documents") -> list[str]:
        """Name the files that `link_to` makes and `adopt_documents` takes up."""
        return [f"{name}-{number:06d}.npy" for number in range(len(self.blocks))]


Documents = tuple[DocumentBlocks, ...]


class BlockedEngine(BlockwiseEngine):
    """Expected counts of a corpus in blocks, `at_once` (default: threads) visited at a
    time.
    """

    def __init__(
        self,
        corpus: Any,
        n_topics: int,
        *,
        dtype: np.dtype | type = np.float32,
        threads: int = 1,
        make_block: Callable[..., OneBlock] = OneBlock,
        at_once: int | None = None,
    ) -> None:
        self.n_documents, self.n_terms = corpus.shape
        self.n_topics = n_topics
        self.dtype = np.dtype(dtype)
        self.document_lengths = corpus.sum(axis=1)
        self._offsets = corpus.offsets
        order = corpus.word_order
        nothing = sparse.csr_matrix((0, self.n_terms), dtype=self.dtype)
        self._topics = CpuEngine(
            nothing, n_topics, dtype=dtype, threads=threads, word_order=order
        )
        self.width = self._topics.pack_prior(0.0).shape[0]
        shared = (n_topics, self.dtype, order)
        self._blocks = prepare_blocks(corpus, at_once or threads, make_block, shared)
        self._store = BlockStore(corpus.storage, overwrite=True)
        self._words: Array | None = None

    @property
    def n_blocks(self) -> int:
        """Blocks."""
        return len(self._offsets) - 1

    def map_rows(
        self,
        function: RowFunction,
        inputs: Documents,
        shared: Shared = (),
        out: Any = None,
        data: Any = None,
    ) -> DocumentBlocks:
        """See the protocol: a block at a time, into new files."""
        new = self._store.new_blocks(self.n_blocks)
        visited = self._row_args(inputs, data)
        args = [(file.path, *own) for file, own in zip(new, visited, strict=True)]
        kept = self._blocks.collect(_map_block, args, (function, shared))
        for ((rows, *_),), found in zip(visited, kept, strict=True):
            if found is not None:
                data.keep(rows, found)
        result = DocumentBlocks(self, new) if out is None else out
        result.blocks = new
        return result

    def gather_rows(
        self,
        function: RowFunction,
        inputs: Documents,
        shared: Shared = (),
        data: Any = None,
    ) -> Statistics:
        """See the protocol: sums of blocks in their fixed order."""
        args = self._row_args(inputs, data)
        return self._blocks.reduce(_call_on_rows, args, (function, shared))

    def _row_args(self, inputs: Documents, data: Any) -> list[tuple[Any, ...]]:
        """Rows, lengths, files and data of every block, as one argument."""
        edges = self._offsets.tolist()
        rows = [slice(a, b) for a, b in itertools.pairwise(edges)]
        visited = zip(rows, self._paths(inputs), strict=True)
        return [
            ((own, self.document_lengths[own], paths, rows_of(data, own)),)
            for own, paths in visited
        ]

    def pack_documents(self, theta: Array) -> Any:
        """Write (D, K) rows; a broadcast vector is never made a matrix here."""
        new = self._store.new_blocks(self.n_blocks)
        args = []
        for b, file in enumerate(new):
            rows = theta[self._offsets[b] : self._offsets[b + 1]]
            args.append((file.path, _compact(rows)))
        self._blocks.collect(_pack_block, args)
        return DocumentBlocks(self, new)

    def adopt_documents(self, folder: Path, name: str = "documents") -> DocumentBlocks:
        """Take up files of `DocumentBlocks.link_to`, which stay as they are."""
        new = self._store.new_blocks(self.n_blocks)
        documents = DocumentBlocks(self, new)
        for file, block in zip(documents.names(name), new, strict=True):
            block.link_from(folder / file)
        return documents

    def unpack_documents(self, packed: Any) -> Array:
        """Return the (D, K) rows as a memory-mapped array."""
        return self._rows(packed, normalize=False)

    def mixtures(self, packed: Any) -> Array:
        """Return the rows on the simplex as a memory-mapped array."""
        return self._rows(packed, normalize=True)

    def _rows(self, packed: DocumentBlocks, normalize: bool) -> Array:
        path = self._store.new_rows((self.n_documents, self.n_topics), self.dtype)
        args = [
            (file.path, path, int(first))
            for file, first in zip(packed.blocks, self._offsets[:-1], strict=True)
        ]
        self._blocks.collect(_write_block_rows, args, (normalize,))
        return self._store.open_rows(path)

    def _document_pass(
        self, parameters: Any, weights: Array, asked: PassOptions, out: Any
    ) -> DocumentPass:
        """See the protocol; old files serve until every block is done, `n_updates` is a
        sum.
        """
        counts = self._store.new_blocks(self.n_blocks)
        updated = self._store.new_blocks(self.n_blocks) if asked.max_updates else None
        own: Any = () if asked.documents is None else asked.documents[:2]
        args = [
            (
                parameters.blocks[b].path,
                counts[b].path,
                None if updated is None else updated[b].path,
                None if out is None else out.blocks[b].path,
                tuple(None if rows is None else rows.blocks[b].path for rows in own),
            )
            for b in range(self.n_blocks)
        ]
        self._words = None
        words, loglik, n_updates = self._blocks.reduce(
            _evaluate_block, args, (weights, asked._replace(documents=None))
        )
        self._words = words
        if updated is not None:
            parameters.blocks = updated
        result: Any = DocumentBlocks(self, counts) if out is None else out
        result.blocks = counts
        return DocumentPass(result, float(loglik), np.array([n_updates]))

    def word_pass(self, parameters: Any, weights: Array, out: Array) -> Array:
        """Return the N_wk that the last document pass counted."""
        if self._words is None:
            raise RuntimeError("a document pass comes before the word pass")
        np.copyto(out, self._words)
        return out

    def _sum_blocks(self, name: str, documents: Any, prior: tuple[Any, ...]) -> Any:
        args = self._paths((documents,))
        return self._blocks.reduce(_call_method, args, (name, prior))[0]

    def _paths(self, inputs: Documents) -> list[tuple[str, ...]]:
        return [
            tuple(documents.blocks[b].path for documents in inputs)
            for b in range(self.n_blocks)
        ]


def _evaluate_block(
    engine: OneBlock,
    parameters_path: str,
    counts_path: str,
    updated_path: str | None,
    out_path: str | None,
    own_paths: tuple[str | None, ...],
    weights: Array,
    asked: PassOptions,
) -> tuple[Array, float, int]:
    """Document pass and word pass of one block."""
    parameters = (engine.read if updated_path is None else engine.take)(parameters_path)
    out = engine.drop(out_path)
    rows: Any = [None if path is None else engine.read(path) for path in own_paths]
    asked = asked._replace(documents=OwnShare(*rows) if rows else None)
    done = engine._document_pass(parameters, weights, asked, out)
    words = engine.word_pass(parameters, weights, np.empty_like(weights))
    engine._collapsed = None  # it has rows of all documents, which are in files
    engine.write(counts_path, done.counts)
    if updated_path is not None:
        engine.write(updated_path, parameters)
    return words, done.loglik, int(done.n_updates.sum(dtype=np.int64))


def _pack_block(engine: OneBlock, path: str, rows: Array) -> None:
    shape = (engine.n_documents, engine.n_topics)
    rows = np.broadcast_to(np.asarray(rows), shape)
    engine.write(path, engine.pack_documents(rows))


def _compact(rows: Any) -> Any:
    """Return what broadcasts to the same rows, as small as it can be."""
    if not isinstance(rows, np.ndarray):
        return rows
    if rows.strides[1] == 0:
        rows = rows[:, :1]
    if len(rows) > 1 and rows.strides[0] == 0:
        rows = rows[:1]
    return np.ascontiguousarray(rows)


def _write_block_rows(
    engine: OneBlock, path: str, rows_path: str, first: int, normalize: bool
) -> None:
    rows = engine.unpack_documents(engine.read(path))
    write_rows(rows_path, first, normalize_rows(rows) if normalize else rows)


def _map_block(
    engine: OneBlock, out_path: str, visited: Any, function: RowFunction, shared: Shared
) -> Any:
    result, kept = _call_on_rows(engine, visited, function, shared), None
    if isinstance(result, tuple):
        result, kept = result
    engine.write(out_path, engine.pack_documents(result))
    return kept


def _call_on_rows(
    engine: OneBlock, visited: Any, function: RowFunction, shared: Shared
) -> Any:
    rows, lengths, paths, data = visited
    arrays = [engine.read(path)[:, : engine.n_topics] for path in paths]
    return function(rows, lengths, arrays, data, *shared)


def _call_method(
    engine: OneBlock, path: str, name: str, prior: tuple[Any, ...]
) -> tuple[Any]:
    return (getattr(engine, name)(engine.read(path), *prior),)
