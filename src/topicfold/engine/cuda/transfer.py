# SPDX-License-Identifier: BSD-3-Clause
"""What streaming needs of a GPU: memory, copies, streams, and the engine of a block."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.typing import DeviceArray
from topicfold.engine.cuda.device import device_errors, load_cupy
from topicfold.engine.cuda.engine import CudaEngine, ListedEngine
from topicfold.engine.cuda.layout import (
    TILE_BYTES,
    DeviceLayout,
    DeviceWords,
    Stretches,
    document_layout,
    list_documents,
    stretches_of,
)
from topicfold.engine.cuda.source import compile_part

_logger = logging.getLogger("topicfold")

TO_DEVICE, TO_HOST = 1, 2
# Blocks of the kernel that arranges lists by word.
ARRANGING = 2**14


Stream = Literal["send", "work", "fetch"]
# Where arrays of a record begin: what the device reads in one go.
ALIGNMENT = 256


class Record:
    """Vectors concatenated in one buffer, so that one copy sends them all."""

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
    streams: Any,
    stays: Sequence[bool] | NDArray[np.bool_],
    n_slots: int,
    send: Callable[[int, int], None],
    work: Callable[[int, int | None], None],
    fetch: Callable[[int, int], None],
    *,
    in_place: bool,
) -> None:
    """Visit the blocks in order, at most `n_slots` of them under way at once.

    `streams` (a `CudaPort`) are three queues of work; what is in different ones has no
    order but by events.
    `send` and `fetch` are for those that do not stay on the device; `work` gets no
    slot for those that do. `in_place` says that `fetch` reads what `send` has written.
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


class CudaPort:
    """One GPU: memory, copies, the three streams, and the engine of a block."""

    def __init__(
        self,
        n_terms: int,
        n_topics: int,
        dtype: np.dtype,
        word_order: NDArray[np.integer],
    ) -> None:
        self._cupy = cupy = load_cupy()
        nothing = sparse.csr_matrix((0, n_terms), dtype=dtype)
        # : Does all work on topics.
        self.topics = CudaEngine(nothing, n_topics, dtype=dtype, word_order=word_order)
        self._no_words = self.topics._layout
        self._kernels = compile_part("words", self.topics.shape)
        self._streams: dict[str, Any] = {
            name: cupy.cuda.Stream(non_blocking=True)
            for name in ("send", "work", "fetch")
        }
        self._scratch: tuple[DeviceArray, ...] = ()
        self._partials: DeviceArray = None
        self._warned = False

    # ---- streams

    def begin(self) -> None:
        """Let the three streams wait for the caller's."""
        event = self._cupy.cuda.get_current_stream().record()
        for stream in self._streams.values():
            stream.wait_event(event)

    def submit(self, stream: Stream, function: Callable[..., None], *args: Any) -> None:
        """Call `function`; the device's part of it is queued."""
        with device_errors("a block was visited"), self._streams[stream]:
            function(*args)

    def record(self, stream: Stream) -> Any:
        """Return an event of a stream."""
        event = self._cupy.cuda.Event(disable_timing=True)
        event.record(self._streams[stream])
        return event

    def wait(self, stream: Stream, event: Any) -> None:
        """Let a stream wait."""
        if event is not None:
            self._streams[stream].wait_event(event)

    def finish(self) -> None:
        """Wait for the three streams."""
        with device_errors("blocks were visited"):
            for stream in self._streams.values():
                stream.synchronize()

    # ---- memory

    def pinned(self, n_bytes: int) -> NDArray[np.uint8]:
        """Return host memory that is copied at full speed, or else any."""
        cuda = self._cupy.cuda
        try:
            memory = cuda.alloc_pinned_memory(max(n_bytes, 1))
        except (cuda.runtime.CUDARuntimeError, cuda.memory.OutOfMemoryError) as error:
            if not self._warned:
                _logger.warning(
                    "the host has no page-locked memory left (%s); copies to the GPU "
                    "will be slower",
                    error,
                )
            self._warned = True
            return np.empty(n_bytes, np.uint8)
        return np.frombuffer(memory, np.uint8, n_bytes)

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> DeviceArray:
        """Return an array on the device."""
        with device_errors("room for blocks was made"):
            return self._cupy.empty(shape, dtype)

    def upload(self, array: NDArray[Any]) -> DeviceArray:
        """Return a copy on the device."""
        with device_errors("a block was copied to it"):
            return self._cupy.asarray(array)

    def copy(self, target: Any, source: Any) -> None:
        """Copy between host and device, in the stream of the moment."""
        to_device = isinstance(source, np.ndarray)
        host, device = (source, target) if to_device else (target, source)
        ends = device.data.ptr, host.ctypes.data
        self._cupy.cuda.runtime.memcpyAsync(
            *(ends if to_device else ends[::-1]),
            host.nbytes,
            TO_DEVICE if to_device else TO_HOST,
            self._cupy.cuda.get_current_stream().ptr,
        )

    # ---- lists of non-zeros

    def prepare(self, X: sparse.csr_matrix) -> dict[str, NDArray[Any]]:
        """Arrange a block on the device and return its lists as NumPy arrays.

        Instead of the lists by word there is where their non-zeros are in the lists
        by document; counts that are small whole numbers have a byte or two.
        """
        cupy, topics = self._cupy, self.topics
        with device_errors("a block was arranged"):
            layout = document_layout(X, topics.dtype, topics.word_order, cupy)
            order = cupy.argsort(layout.indices).astype(np.int32)
            rows = cupy.empty(len(order), np.int32)
            list_documents(layout.indptr, rows, self._kernels)
            tile = TILE_BYTES // (topics.width * topics.dtype.itemsize)
            stretches, _ = stretches_of(
                layout, cupy.take(rows, order), tile, self._kernels, cupy
            )
            arrays = {
                "indptr": layout.indptr,
                "lengths": layout.lengths,
                "indices": layout.indices,
                "counts": narrowed(layout.counts),
                "order": order,
            }
            host = {name: array.get() for name, array in arrays.items()}
        return host | stretches._asdict()

    def reserve(self, n_entries: int, n_slots: int) -> None:
        """Make room for the lists of the largest block in work."""
        self._scratch = self._room(n_entries)
        shape = (n_slots, self.topics.width)
        self._partials = self.empty(shape, self.topics.dtype)

    def _room(self, n_entries: int) -> tuple[DeviceArray, ...]:
        kinds = self.topics.dtype, np.int32, np.int32, self.topics.dtype
        return tuple(self.empty(n_entries, kind) for kind in kinds)

    def arrange(
        self, lists: dict[str, DeviceArray], *, keep: bool = False
    ) -> tuple[DeviceLayout, DeviceWords]:
        """Make the lists by word from what `prepare` returned, now on the device.

        Unless they are to be kept, there is one block's at a time: the next one's
        take their place.
        """
        n = len(lists["indices"])
        scratch = self._room(n) if keep else self._scratch
        counts, rows, documents, by_word = (array[:n] for array in scratch)
        counts[...] = lists["counts"]
        if n:
            list_documents(lists["indptr"], rows, self._kernels)
            arguments = np.int32(n), lists["order"], rows, counts, documents, by_word
            arrange = self._kernels.get_function("arrange_words")
            arrange((min(-(-n // 256), ARRANGING),), (256,), arguments)
        layout = DeviceLayout(
            lists["indptr"],
            lists["indices"],
            counts,
            lists["lengths"],
            self._no_words.word_order,
            self._no_words.frequency,
        )
        stretches = Stretches(*(lists[name] for name in Stretches._fields))
        return layout, DeviceWords(documents, by_word, stretches, 0)

    def engine(self, lists: tuple[DeviceLayout, DeviceWords]) -> ListedEngine:
        """Return the engine of a block whose lists are on the device."""
        return ListedEngine(self.topics, *lists, self._partials)


def narrowed(counts: Any) -> Any:
    """Return whole counts below 2^16 in a byte or two, others as they are."""
    if counts.size == 0:
        return counts
    most = float(counts.max())
    if most >= 2**16 or not bool((counts == counts.astype(np.uint16)).all()):
        return counts
    return counts.astype(np.uint8 if most < 2**8 else np.uint16)
