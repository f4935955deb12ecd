# SPDX-License-Identifier: BSD-3-Clause
"""Documents of a streamed engine, and one visit of all its blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.core.typing import DeviceArray
from topicfold.engine.cuda.pipeline import Record, visit_blocks
from topicfold.engine.cuda.plan import SLOTS, Plan
from topicfold.engine.packed_blocks import PackedBlocks


class StreamedDocuments(PackedBlocks):
    """Packed documents of a streamed engine: an array a block, here or there.

    Arrays on the device have padded rows, those on the host have not.
    """


Pair = tuple[StreamedDocuments | None, StreamedDocuments | None]
Work = Callable[[int, Any, list[DeviceArray], list[DeviceArray]], None]
NOTHING: Pair = (None, None)


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
    """Where the lists of the blocks are, and the slots of those that move.

    Parameters
    ----------
    X : csr_matrix
        The corpus.
    port : CudaPort
        The device.
    plan : Plan
        The blocks.
    width : int
        Columns of packed arrays.
    """

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

    @property
    def sent_bytes(self) -> int:
        """Bytes of lists that a pass sends."""
        return sum(record.n_bytes for record in self._lists.values())

    def send_lists(self, number: int, slot: int) -> None:
        """Copy the lists of a block to its slot."""
        record = self._lists[number]
        self.port.copy(self.slots[slot].lists[: record.n_bytes], record.buffer)

    def engine(self, number: int, slot: int | None) -> Any:
        """Return the engine of a block on the device."""
        if slot is None:
            return self.port.engine(self._kept[number])
        lists = self._lists[number].views(self.slots[slot].lists)
        return self.port.engine(self.port.arrange(lists))

    def visit(
        self,
        work: Work,
        reads: Pair,
        writes: Pair = NOTHING,
        *,
        with_lists: bool = False,
    ) -> None:
        """Call ``work(block, engine, inputs, outputs)`` for every block in order.

        Its inputs and outputs are rows on the device of the documents in `reads` and
        `writes`; the first of both may be the same array, and the second. Without
        lists there is no engine.
        """
        visit = _Visit(self, work, reads, writes, with_lists)
        both = zip(reads, writes, strict=True)
        visit_blocks(
            self.port,
            self.stays,
            len(self.slots),
            visit.send,
            visit.work_on,
            visit.fetch,
            in_place=any(r is not None and w is not None for r, w in both),
        )


@dataclass(frozen=True)
class _Visit:
    """What is done with a block in its slot, or on the device if it stays there."""

    blocks: Blocks
    work: Work
    reads: Pair
    writes: Pair
    with_lists: bool

    def send(self, number: int, slot: int) -> None:
        if self.with_lists:
            self.blocks.send_lists(number, slot)
        for place, documents in enumerate(self.reads):
            if documents is not None:
                staged = self._staged(number, slot, place)
                self.blocks.port.copy(staged, documents.blocks[number])

    def work_on(self, number: int, slot: int | None) -> None:
        engine = self.blocks.engine(number, slot) if self.with_lists else None
        if slot is None:
            inputs, outputs = (
                [None if d is None else d.blocks[number] for d in pair]
                for pair in (self.reads, self.writes)
            )
            self.work(number, engine, inputs, outputs)
            return
        buffers, n_topics = self.blocks.slots[slot], self.blocks.n_topics
        n_rows = self._n_rows(number)
        rows = [array[:n_rows] for array in buffers.rows]
        if buffers.padded:
            for place, documents in enumerate(self.reads):
                if documents is not None:
                    rows[place][:, :n_topics] = self._staged(number, slot, place)
                    rows[place][:, n_topics:] = 0
        self.work(number, engine, rows, rows)
        if buffers.padded:
            for place, documents in enumerate(self.writes):
                if documents is not None:
                    staged = self._staged(number, slot, place)
                    staged[...] = rows[place][:, :n_topics]

    def fetch(self, number: int, slot: int) -> None:
        for place, documents in enumerate(self.writes):
            if documents is not None:
                staged = self._staged(number, slot, place)
                self.blocks.port.copy(documents.blocks[number], staged)

    def _staged(self, number: int, slot: int, place: int) -> DeviceArray:
        return self.blocks.slots[slot].staged[place][: self._n_rows(number)]

    def _n_rows(self, number: int) -> int:
        rows = self.blocks.rows(number)
        return rows.stop - rows.start
