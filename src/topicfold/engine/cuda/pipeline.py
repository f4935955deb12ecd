# SPDX-License-Identifier: BSD-3-Clause
"""Blocks on their way to the device, in work, and their results on the way back.

Three streams work side by side: ``send`` copies to the device, ``work`` computes,
``fetch`` copies back. A block has a slot of buffers while it is on the device;
events keep a slot from being overwritten before it has been read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Stream = Literal["send", "work", "fetch"]
# Where arrays of a record begin: what the device reads in one go.
ALIGNMENT = 256


class Streams(Protocol):
    """Three queues of work; what is in different ones has no order but by events."""

    def begin(self) -> None:
        """Let what was queued before the visit be done before it."""

    def submit(self, stream: Stream, function: Callable[..., None], *args: Any) -> None:
        """Queue what `function` does."""

    def record(self, stream: Stream) -> Any:
        """Return the event that all of a stream up to here is done."""

    def wait(self, stream: Stream, event: Any) -> None:
        """Let what follows in a stream wait for an event."""

    def finish(self) -> None:
        """Return when all is done."""


class Record:
    """Arrays side by side in one buffer, so that one copy sends them all.

    Parameters
    ----------
    arrays : dict of str to ndarray
        Vectors.
    allocate : callable
        Returns a buffer of so many bytes.

    Examples
    --------
    >>> arrays = {"a": np.arange(3), "b": np.ones(2, np.float32)}
    >>> record = Record(arrays, lambda n: np.empty(n, np.uint8))
    >>> elsewhere = record.buffer.copy()
    >>> record.views(elsewhere)["b"]
    array([1., 1.], dtype=float32)
    """

    def __init__(
        self,
        arrays: dict[str, NDArray[Any]],
        allocate: Callable[[int], NDArray[np.uint8]],
    ) -> None:
        self._parts: list[tuple[str, np.dtype, int, int]] = []
        end = 0
        for name, array in arrays.items():
            self._parts.append((name, array.dtype, end, end + array.nbytes))
            end += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        self.n_bytes = end
        self.buffer = allocate(end)
        for name, view in self.views(self.buffer).items():
            view[...] = arrays[name]

    def views(self, buffer: Any) -> dict[str, Any]:
        """Return the arrays as parts of a buffer with the same bytes."""
        return {
            name: buffer[start:stop].view(dtype)
            for name, dtype, start, stop in self._parts
        }


def visit_blocks(
    streams: Streams,
    stays: Sequence[bool] | NDArray[np.bool_],
    n_slots: int,
    send: Callable[[int, int], None],
    work: Callable[[int, int | None], None],
    fetch: Callable[[int, int], None],
    *,
    in_place: bool,
) -> None:
    """Visit the blocks in order; `send` and `fetch` only those that do not stay.

    Parameters
    ----------
    streams : Streams
        Where the three are queued.
    stays : sequence of bool
        Whether each block is on the device anyway; `work` gets no slot for it.
    n_slots : int
        Blocks that may be under way at once.
    send, work, fetch : callable
        Called with a block and its slot.
    in_place : bool
        Whether `fetch` reads what `send` has written.
    """
    moving = [number for number, kept in enumerate(stays) if not kept]
    arrived: list[Any] = [None] * n_slots
    computed: list[Any] = [None] * n_slots
    fetched: list[Any] = [None] * n_slots
    n_sent = n_done = 0
    streams.begin()
    try:
        for number, kept in enumerate(stays):
            # Ahead of the work: it may keep this thread busy.
            while n_sent < min(len(moving), n_done + n_slots):
                slot = n_sent % n_slots
                streams.wait("send", computed[slot])
                if in_place:
                    streams.wait("send", fetched[slot])
                streams.submit("send", send, moving[n_sent], slot)
                arrived[slot] = streams.record("send")
                n_sent += 1
            if kept:
                streams.submit("work", work, number, None)
                continue
            slot = n_done % n_slots
            streams.wait("work", arrived[slot])
            streams.wait("work", fetched[slot])
            streams.submit("work", work, number, slot)
            computed[slot] = streams.record("work")
            streams.wait("fetch", computed[slot])
            streams.submit("fetch", fetch, number, slot)
            fetched[slot] = streams.record("fetch")
            n_done += 1
    finally:
        streams.finish()
