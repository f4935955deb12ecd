# SPDX-License-Identifier: BSD-3-Clause
"""The engine protocol for a corpus in memory that is larger than the device's.

Topics are on the device. Documents are in blocks, which stay on the device as long as
there is room; the lists of the others are arranged once and wait, with their
mixtures, in page-locked memory. A pass sends a block while another is in work and a
third one's results come back. The document pass counts the words of a block in the
same visit, since the word pass that follows asks for just these. Blocks are cut by the
corpus alone, so that sums have the same order, and the same bits, however much memory
is free; that only decides how many blocks stay.

Experimental: tried on one kind of GPU only; how blocks are planned may change.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.counts import row_sums
from topicfold.core.typing import DeviceArray
from topicfold.engine.blocks.engine import BlockwiseEngine, PackedBlocks
from topicfold.engine.cuda.source import row_shape
from topicfold.engine.cuda.transfer import Record, visit_blocks
from topicfold.engine.protocol import (
    DocumentPass,
    PassOptions,
    RowTask,
    Statistics,
    add_statistics,
)
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
    # Mixtures to be gathered may be stored once more, in half precision.
    needed = n_rows * ((MIXTURES + 0.5) * row_bytes + 32) + per_entry * X.nnz
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


# Documents that a visit reads, or writes, at most two; None leaves a place free.
Inputs = tuple[PackedBlocks, ...]
Places = tuple[PackedBlocks | None, ...]
Work = Callable[[int, Any, list[DeviceArray], list[DeviceArray]], None]


class Slot:
    """Buffers of a block that comes and goes.

    Mixtures come and go without padding: `staged` is where they are copied to and
    from, `rows` what is worked with; the same where there is no padding.
    """

    def __init__(
        self, port: Any, n_rows: int, width: int, n_topics: int, n_bytes: int
    ) -> None:
        kind = port.topics.dtype
        self.lists = port.empty(n_bytes, np.uint8)
        self.rows = [port.empty((n_rows, width), kind) for _ in range(2)]
        self.padded = width != n_topics
        self.staged = self.rows
        if self.padded:
            self.staged = [port.empty((n_rows, n_topics), kind) for _ in range(2)]


class Blocks:
    """Where the lists of the blocks are, and the slots of those that move."""

    def __init__(self, X: Any, port: Any, plan: Plan, width: int) -> None:
        self.port = port
        self.n_topics = port.topics.n_topics
        self.offsets, self.stays = plan.offsets, plan.stays
        self._lists: dict[int, Record] = {}
        self._kept: dict[int, Any] = {}
        n_entries = n_parts = 0
        for number in range(len(self.stays)):
            arrays = port.prepare(X[self.rows(number)])
            n_entries = max(n_entries, len(arrays["indices"]))
            n_parts = max(n_parts, int(np.max(arrays["first_slot"], initial=0)))
            self._add(number, arrays)
        port.reserve(n_entries, n_parts)
        n_rows = int(np.max(np.diff(self.offsets)[~self.stays], initial=0))
        n_bytes = max((record.n_bytes for record in self._lists.values()), default=0)
        n_slots = min(SLOTS, int((~self.stays).sum()))
        self.slots = [
            Slot(port, n_rows, width, self.n_topics, n_bytes) for _ in range(n_slots)
        ]

    def _add(self, number: int, arrays: dict[str, NDArray[Any]]) -> None:
        if not self.stays[number]:
            self._lists[number] = Record(arrays, self.port.pinned)
            return
        there = {name: self.port.upload(array) for name, array in arrays.items()}
        self._kept[number] = self.port.arrange(there, keep=True)

    def rows(self, number: int) -> slice:
        """Documents of a block."""
        return slice(int(self.offsets[number]), int(self.offsets[number + 1]))

    def engine(self, number: int, slot: int | None) -> Any:
        """Return the engine of a block on the device."""
        if slot is None:
            return self.port.engine(self._kept[number])
        lists = self._lists[number].views(self.slots[slot].lists)
        return self.port.engine(self.port.arrange(lists))

    def visit(
        self, work: Work, reads: Places, writes: Places = (), with_lists: bool = False
    ) -> None:
        """Call ``work(block, engine, inputs, outputs)`` for every block in order.

        Its inputs and outputs are rows on the device of the documents in `reads` and
        `writes`; the first of both may be the same array, and the second. Without
        lists there is no engine.
        """
        used = slice(0, self.n_topics)

        def places(documents: Places, number: int, slot: int) -> Iterator[Any]:
            """Yield the documents' rows of a block, where they are staged and used."""
            rows = self.rows(number)
            buffers, length = self.slots[slot], rows.stop - rows.start
            for own, staged, wide in zip(
                documents, buffers.staged, buffers.rows, strict=False
            ):
                if own is not None:
                    yield own.blocks[number], staged[:length], wide[:length]

        def send(number: int, slot: int) -> None:
            if with_lists:
                record = self._lists[number]
                self.port.copy(self.slots[slot].lists[: record.n_bytes], record.buffer)
            for own, staged, _ in places(reads, number, slot):
                self.port.copy(staged, own)

        def work_on(number: int, slot: int | None) -> None:
            engine = self.engine(number, slot) if with_lists else None
            if slot is None:
                inputs, outputs = (
                    [None if d is None else d.blocks[number] for d in documents]
                    for documents in (reads, writes)
                )
                work(number, engine, inputs, outputs)
                return
            buffers, rows = self.slots[slot], self.rows(number)
            if buffers.padded:
                for _, staged, wide in places(reads, number, slot):
                    wide[:, used] = staged
                    wide[:, self.n_topics :] = 0
            both = [array[: rows.stop - rows.start] for array in buffers.rows]
            work(number, engine, both, both)
            if buffers.padded:
                for _, staged, wide in places(writes, number, slot):
                    staged[...] = wide[:, used]

        def fetch(number: int, slot: int) -> None:
            for own, staged, _ in places(writes, number, slot):
                self.port.copy(own, staged)

        pairs = zip(reads, writes, strict=False)
        in_place = any(r is not None and w is not None for r, w in pairs)
        slots = len(self.slots)
        visit_blocks(
            self.port, self.stays, slots, send, work_on, fetch, in_place=in_place
        )


class StreamedEngine(BlockwiseEngine):
    """Expected counts of a corpus that comes to the device block by block, summed in
    order.
    """

    takes_own_rows = False

    def __init__(self, X: sparse.csr_matrix, port: Any, plan: Plan) -> None:
        self.n_documents, self.n_terms = X.shape
        self._port = port
        self._topics = port.topics
        self.n_topics: int = self._topics.n_topics
        self.dtype: np.dtype = self._topics.dtype
        self.width: int = self._topics.pack_prior(0.0).shape[0]
        self.document_lengths = row_sums(X)
        self._blocks = Blocks(X, port, plan, self.width)
        whole = (self.n_terms, self.width)
        self._block_words = port.empty(whole, self.dtype)
        self._word_sums = port.empty(whole, np.float64)

    @property
    def n_blocks(self) -> int:
        """Blocks."""
        return len(self._blocks.stays)

    # ---- documents

    def _new_documents(self) -> PackedBlocks:
        arrays = []
        for number, stays in enumerate(self._blocks.stays):
            rows = self._blocks.rows(number)
            n_rows = rows.stop - rows.start
            if stays:
                arrays.append(self._port.empty((n_rows, self.width), self.dtype))
                continue
            n_bytes = n_rows * self.n_topics * self.dtype.itemsize
            host = self._port.pinned(n_bytes).view(self.dtype)
            arrays.append(host.reshape(n_rows, self.n_topics))
        return PackedBlocks(self, arrays)

    def pack_documents(self, theta: DeviceArray) -> Any:
        """Copy (D, K) rows block by block; a broadcast vector stays small."""
        documents = self._new_documents()

        def work(number: int, engine: Any, inputs: Any, outputs: Any) -> None:
            outputs[0][...] = self._topics.pack_documents(
                theta[self._blocks.rows(number)]
            )

        self._blocks.visit(work, (), (documents,))
        return documents

    def unpack_documents(self, packed: Any) -> Any:
        """Return the (D, K) rows as a NumPy array."""
        theta = np.empty((self.n_documents, self.n_topics), self.dtype)
        for number, stays in enumerate(self._blocks.stays):
            rows = packed.blocks[number]
            theta[self._blocks.rows(number)] = (
                self._topics.unpack_documents(rows) if stays else rows
            )
        return theta

    def mixtures(self, packed: Any) -> Any:
        """Return the (D, K) rows as a NumPy array, on the simplex."""
        theta = np.empty((self.n_documents, self.n_topics), self.dtype)

        def work(number: int, engine: Any, inputs: Any, outputs: Any) -> None:
            theta[self._blocks.rows(number)] = self._topics.mixtures(inputs[0])

        self._blocks.visit(work, (packed,))
        return theta

    def _map_rows(self, task: RowTask, inputs: Inputs, out: Any) -> PackedBlocks:
        """See the protocol: a block at a time."""
        result: PackedBlocks = self._new_documents() if out is None else out

        def work(number: int, engine: Any, rows: Any, outputs: Any) -> None:
            new = self._on_block(task, number, rows[: len(inputs)])
            outputs[0][:, : self.n_topics] = new
            outputs[0][:, self.n_topics :] = 0

        self._blocks.visit(work, inputs, (result,))
        return result

    def _gather_rows(self, task: RowTask, inputs: Inputs) -> Statistics:
        """See the protocol: sums of blocks in their order."""
        parts: list[Statistics] = []

        def work(number: int, engine: Any, rows: Any, outputs: Any) -> None:
            parts.append(self._on_block(task, number, rows[: len(inputs)]))

        self._blocks.visit(work, inputs)
        return functools.reduce(add_statistics, parts)

    def _on_block(self, task: RowTask, number: int, arrays: Any) -> Any:
        plain = [array[:, : self.n_topics] for array in arrays]
        return task(self, self._blocks.rows(number), plain)

    # ---- passes

    def _document_pass(
        self, parameters: Any, weights: DeviceArray, asked: PassOptions, out: Any
    ) -> DocumentPass:
        """See the protocol; `n_updates` has the sum over all documents only."""
        if asked.documents is not None:
            raise DeviceError("A streamed corpus has no rows of documents' own.")
        counts: Any = self._new_documents() if out is None else out
        logliks: list[float] = []
        n_updates: list[int] = []
        self._words = None
        self._word_sums[...] = 0.0

        def work(number: int, engine: Any, inputs: Any, outputs: Any) -> None:
            done = engine._document_pass(inputs[0], weights, asked, outputs[1])
            engine.word_pass(inputs[0], weights, self._block_words)
            self._word_sums += self._block_words
            logliks.append(done.loglik)
            if asked.max_updates:
                n_updates.append(int(done.n_updates.sum(dtype=np.int64)))

        updated = parameters if asked.max_updates else None
        self._blocks.visit(work, (parameters, None), (updated, counts), with_lists=True)
        self._words = self._word_sums
        return DocumentPass(counts, float(sum(logliks)), np.array([sum(n_updates)]))

    def _sum_blocks(self, name: str, documents: Any, prior: tuple[Any, ...]) -> Any:
        method, parts = getattr(self._topics, name), []

        def work(number: int, engine: Any, inputs: Any, outputs: Any) -> None:
            parts.append(method(inputs[0], *prior))

        self._blocks.visit(work, (documents,))
        return sum(parts)
