# SPDX-License-Identifier: BSD-3-Clause
"""Packed documents in files, a file per block, and mixtures in one file of rows.

A file is never changed while its name stands: whoever computes a block again, after a
worker was lost, reads the same input and writes the same output. Files that nobody
holds any more may be written over under a new name: fresh pages for the mixtures of
every pass cost more than writing does.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import secrets
import shutil
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from topicfold.core.typing import Array

# What a file to write over is called: the name of the one it shall become, and this.
SPARE = ".spare"

# NumPy parses the header of a file with `ast`, which Python 3.11 lets only one thread
# do at a time: two end in a SystemError (CPython issue 106905).
_parsing = threading.Lock()


class StoredBlock:
    """One file; it is retired when this object is no longer held."""

    def __init__(self, path: str, store: BlockStore) -> None:
        self.path = path
        self._linked = store.linked
        weakref.finalize(self, store.retire, path)

    def link_to(self, path: Path) -> None:
        """Give the file a second name, under which it stays as it is."""
        self._linked.add(self.path)
        link_or_copy(self.path, str(path))

    def link_from(self, path: Path) -> None:
        """Be a second name of a file that stays as it is."""
        self._linked.add(self.path)
        link_or_copy(str(path), self.path)


class BlockStore:
    """A folder of scratch files in `storage` or the system's own, removed with this.

    With `overwrite`, files that nobody holds are written over: not if they are mapped,
    nor those in `linked`, which have a second name.
    """

    def __init__(self, storage: Path | None, *, overwrite: bool = False) -> None:
        if storage is not None:
            storage.mkdir(parents=True, exist_ok=True)
        self.kept = storage is not None
        self.folder = Path(tempfile.mkdtemp(prefix="topicfold-", dir=storage))
        self._overwrite = overwrite
        self.linked: set[str] = set()
        self._spares: list[str] = []
        self._most_spares = 0
        self._numbers = itertools.count()
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def new_blocks(self, n_blocks: int) -> list[StoredBlock]:
        """Name a new file for every block."""
        number = next(self._numbers)
        paths = [
            str(self.folder / f"{number:06d}-{block:06d}.npy")
            for block in range(n_blocks)
        ]
        if self._overwrite:
            # A pass writes each block's counts, and its parameters.
            self._most_spares = 2 * n_blocks
            for path in paths:
                with contextlib.suppress(IndexError, OSError):
                    # From the end: block for block, the worker that wrote a file gets
                    # it back.
                    Path(self._spares.pop()).replace(path + SPARE)
        return [StoredBlock(path, self) for path in paths]

    def retire(self, path: str) -> None:
        """Keep a file that nobody holds to be written over, or remove it."""
        _remove(path + SPARE)
        if path in self.linked or len(self._spares) >= self._most_spares:
            self.linked.discard(path)
            _remove(path)
        elif Path(path).exists():  # else an interrupted pass never wrote it
            self._spares.append(path)

    def new_rows(self, shape: tuple[int, int], dtype: np.dtype) -> str:
        """Make a ``.npy`` file for rows; it is kept if a storage folder was given."""
        folder = self.folder.parent if self.kept else self.folder
        path = folder / f"mixtures-{secrets.token_hex(6)}.npy"
        # The file is sparse until rows are written: no memory, no time.
        with path.open("wb") as stream:
            header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_2_0(stream, header)
            stream.truncate(stream.tell() + shape[0] * shape[1] * dtype.itemsize)
        return str(path)

    def open_rows(self, path: str) -> NDArray[Any]:
        """Memory-map a finished file of rows."""
        rows: NDArray[Any] = _map_file(path, "r+")
        if not self.kept:
            # The map keeps the content until it is dropped itself.
            _remove(path)
        return rows


def save_block(path: str, array: Array) -> None:
    """Write an array, whole or not at all; over a spare file if one was laid here."""
    draft = f"{path}.{os.getpid()}-{secrets.token_hex(4)}"
    with contextlib.suppress(OSError):
        # One of two that write the same block gets the spare.
        Path(path + SPARE).replace(draft)
    # Not "r+b", for which NumPy would copy what it writes.
    with open(draft, "wb", opener=_open_as_it_is) as stream:
        np.lib.format.write_array(stream, np.ascontiguousarray(array))
        stream.truncate()
    Path(draft).replace(path)


def _open_as_it_is(path: str, flags: int) -> int:
    return os.open(path, flags & ~os.O_TRUNC, 0o666)


def load_block(path: str) -> Array:
    """Read a block; FileNotFoundError if the file was retired, even meanwhile."""
    while True:
        with Path(path).open("rb") as stream:
            shape, dtype = _read_header(stream)
            block: Array = np.fromfile(stream, dtype=dtype, count=math.prod(shape))
            # Opened again, because network file systems then look the name up.
            with Path(path).open("rb") as now:
                if os.path.sameopenfile(stream.fileno(), now.fileno()):
                    return block.reshape(shape)
        # Another worker has written the same block again.


def share_block(path: str) -> Array:
    """Map a file: the processes of a machine hold, and have in cache, one copy."""
    # Copy-on-write, for kernels are compiled for arrays that can be written.
    block: Array = np.asarray(_map_file(path, "c"))
    return block


def link_or_copy(source: str, target: str) -> None:
    """Give a file a second name; on another file system it is copied."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def write_rows(path: str, first_row: int, rows: Array) -> None:
    """Write rows to their place in a file of `BlockStore.new_rows`."""
    with Path(path).open("r+b") as stream:
        _, dtype = _read_header(stream)
        rows = np.ascontiguousarray(rows, dtype=dtype)
        stream.seek(stream.tell() + first_row * rows.strides[0])
        rows.tofile(stream)


def _read_header(stream: BinaryIO) -> tuple[tuple[int, ...], np.dtype]:
    """Read the shape and the dtype of a ``.npy`` file that this module wrote."""
    with _parsing:
        version = np.lib.format.read_magic(stream)
        read = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
        shape, _, dtype = read(stream)
    return shape, dtype


def _map_file(path: str, mode: Literal["r+", "c"]) -> NDArray[Any]:
    with _parsing:
        mapped: NDArray[Any] = np.load(path, mmap_mode=mode)
    return mapped


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        Path(path).unlink(missing_ok=True)
