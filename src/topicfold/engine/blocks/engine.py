# SPDX-License-Identifier: BSD-3-Clause
"""The engine protocol over blocks of rows: out of core, or on workers.

Every block is a :class:`~topicfold.engine.cpu.CpuEngine` in one common order of words.
Packed documents are files, a file per block, of which a block that is kept in memory
remembers the latest; packed topics are arrays here. A document pass visits every
block once and adds up the expected counts of words in the same visit, since the word
pass that follows asks for just these.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.counts import normalize_rows
from topicfold.core.typing import Array
from topicfold.engine.blocks.executor import Shared, prepare_blocks
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
    Engine,
    OwnShare,
    PassOptions,
    RowFunction,
    RowTask,
    Statistics,
    rows_of,
)

# The parameters and the counts of a fit.
REMEMBERED = 2


class PackedBlocks:
    """Packed documents of an engine that works block by block.

    Arithmetic with vectors over topics (``+=``, ``np.add``) is done block by block:
    learning algorithms need not know where documents are. At most two operands may be
    documents.
    """

    def __init__(self, engine: Any, blocks: list[Any]) -> None:
        self.engine = engine
        self.blocks = blocks
        self.dtype = engine.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Documents, and topics with padding."""
        return self.engine.n_documents, self.engine.width

    def __len__(self) -> int:
        return int(self.engine.n_documents)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> Any:
        out = options.pop("out", (None,))[0]
        others = [v for v in inputs if not isinstance(v, PackedBlocks)]
        too_many = len(inputs) - len(others) > 2 or any(np.ndim(v) > 1 for v in others)
        if method != "__call__" or options or too_many:
            return NotImplemented
        documents = tuple(v for v in inputs if isinstance(v, PackedBlocks))
        used = slice(0, self.engine.n_topics)
        values = tuple(v[used] if np.ndim(v) else v for v in others)
        places = tuple(isinstance(v, PackedBlocks) for v in inputs)
        shared = (ufunc.__name__, values, places)
        return self.engine.map_rows(_apply_ufunc, documents, shared, out)

    def __add__(self, other: Any) -> Self:
        return np.add(self, other)  # type: ignore[call-overload, no-any-return]

    def __mul__(self, other: Any) -> Self:
        return np.multiply(self, other)  # type: ignore[call-overload, no-any-return]

    def __iadd__(self, other: Any) -> Self:
        return np.add(self, other, out=self)  # type: ignore[call-overload, no-any-return]


def _apply_ufunc(
    rows: slice,
    lengths: Any,
    arrays: list[Array],
    data: Any,
    name: str,
    values: tuple[Any, ...],
    places: tuple[bool, ...],
) -> Array:
    documents, others = iter(arrays), iter(values)
    operands = [next(documents if place else others) for place in places]
    result: Array = getattr(np, name)(*operands)
    return result.astype(arrays[0].dtype, copy=False)


def _of_topics(name: str) -> Any:
    """Return the attribute `name` that the engine of the topics has."""
    return property(lambda engine: getattr(engine._topics, name))


class BlockwiseEngine(Engine):
    """Base of engines that visit documents block by block.

    What is done with topics alone another engine does, which has no documents:
    `_topics`, set by sub-classes.
    """

    in_one_place = False
    _topics: Engine
    # What the blocks' words have counted in the last document pass, in the same visit.
    _words: Any = None

    def _sum_blocks(self, name: str, documents: Any, prior: tuple[Any, ...]) -> Any:
        """Add up what method `name` of the blocks' engines returns for their rows."""
        raise NotImplementedError

    word_order = _of_topics("word_order")
    pack_topics = _of_topics("pack_topics")
    unpack_topics = _of_topics("unpack_topics")
    pack_prior = _of_topics("pack_prior")
    normalize_topics = _of_topics("normalize_topics")
    expected_log_topics = _of_topics("expected_log_topics")

    def word_pass(self, parameters: Any, weights: Any, out: Any) -> Any:
        """Return the N_wk that the last document pass counted."""
        if self._words is None:
            raise RuntimeError("a document pass comes before the word pass")
        out[...] = self._words
        return out

    def document_bound(self, parameters: Any, prior: Array) -> float:
        """Dirichlet terms of the bound for documents."""
        return float(self._sum_blocks("document_bound", parameters, (prior,)))

    def _column_sums(
        self, array: Any, kind: str, prior: Array | float
    ) -> NDArray[np.float64]:
        """See the protocol: of all documents, or of topics."""
        if isinstance(array, PackedBlocks):
            return np.asarray(self._sum_blocks("_column_sums", array, (kind, prior)))
        return self._topics._column_sums(array, kind, prior)


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
        self._ranges = corpus.row_ranges
        order = corpus.word_order
        nothing = sparse.csr_matrix((0, self.n_terms), dtype=self.dtype)
        self._topics = CpuEngine(
            nothing, n_topics, dtype=dtype, threads=threads, word_order=order
        )
        self.width = self._topics.pack_prior(0.0).shape[0]
        shared = (n_topics, self.dtype, order)
        self._blocks = prepare_blocks(corpus, at_once or threads, make_block, shared)
        self._store = BlockStore(corpus.storage, overwrite=True)

    @property
    def n_blocks(self) -> int:
        """Blocks."""
        return len(self._ranges)

    def _map_rows(self, task: RowTask, inputs: Documents, out: Any) -> DocumentBlocks:
        """See the protocol: a block at a time, into new files."""
        new = self._store.new_blocks(self.n_blocks)
        visited = self._row_args(task, inputs)
        args = [(file.path, *own) for file, own in zip(new, visited, strict=True)]
        kept = self._blocks.collect(_map_block, args, (task.function, task.shared))
        for ((rows, *_),), found in zip(visited, kept, strict=True):
            if found is not None:
                task.data.keep(rows, found)
        result = DocumentBlocks(self, new) if out is None else out
        result.blocks = new
        return result

    def _gather_rows(self, task: RowTask, inputs: Documents) -> Statistics:
        """See the protocol: sums of blocks in their fixed order."""
        shared = task.function, task.shared
        return self._blocks.reduce(_call_on_rows, self._row_args(task, inputs), shared)

    def _row_args(self, task: RowTask, inputs: Documents) -> list[tuple[Any, ...]]:
        """Rows, lengths, files and data of every block, as one argument."""
        visited = zip(self._ranges, self._paths(inputs), strict=True)
        return [
            ((own, self.document_lengths[own], paths, rows_of(task.data, own)),)
            for own, paths in visited
        ]

    def pack_documents(self, theta: Array) -> Any:
        """Write (D, K) rows; a broadcast vector is never made a matrix here."""
        new = self._store.new_blocks(self.n_blocks)
        places = zip(new, self._ranges, strict=True)
        args = [(file.path, _compact(theta[rows])) for file, rows in places]
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
            (file.path, path, rows.start)
            for file, rows in zip(packed.blocks, self._ranges, strict=True)
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
        self._words, loglik, n_updates = self._blocks.reduce(
            _evaluate_block, args, (weights, asked._replace(documents=None))
        )
        if updated is not None:
            parameters.blocks = updated
        result: Any = DocumentBlocks(self, counts) if out is None else out
        result.blocks = counts
        return DocumentPass(result, float(loglik), np.array([n_updates]))

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
