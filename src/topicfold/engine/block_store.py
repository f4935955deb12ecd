# SPDX-License-Identifier: BSD-3-Clause
"""Packed documents in files, a file a block, and mixtures in one file of rows.

A file is never changed once it is written: whoever computes a block again, after a
worker was lost, reads the same input and writes the same output.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


class StoredBlock:
    """One file; it is removed when nobody holds this object any more."""

    def __init__(self, path: str) -> None:
        self.path = path
        weakref.finalize(self, _remove, path)


class BlockStore:
    """A folder of scratch files, removed with this object.

    Parameters
    ----------
    storage : Path or None
        Folder to work in; None is the system's temporary folder.
    """

    def __init__(self, storage: Path | None) -> None:
        if storage is not None:
            storage.mkdir(parents=True, exist_ok=True)
        self.kept = storage is not None
        self.folder = Path(tempfile.mkdtemp(prefix="topicfold-", dir=storage))
        self._numbers = itertools.count()
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def new_blocks(self, n_blocks: int) -> list[StoredBlock]:
        """Name a new file for every block."""
        number = next(self._numbers)
        return [
            StoredBlock(str(self.folder / f"{number:06d}-{block:06d}.npy"))
            for block in range(n_blocks)
        ]

    def new_rows(self, shape: tuple[int, int], dtype: np.dtype) -> str:
        """Make a ``.npy`` file for rows that are written block by block.

        It is kept if a storage folder was given, otherwise it goes with its map.
        """
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
        rows: NDArray[Any] = np.load(path, mmap_mode="r+")
        if not self.kept:
            # The map keeps the content until it is dropped itself.
            _remove(path)
        return rows


def save_block(path: str, array: Array) -> None:
    """Write an array, whole or not at all."""
    draft = f"{path}.{os.getpid()}-{secrets.token_hex(4)}"
    with Path(draft).open("wb") as stream:
        np.lib.format.write_array(stream, np.ascontiguousarray(array))
    Path(draft).replace(path)


def load_block(path: str) -> Array:
    """Read a block of packed documents into memory."""
    block: Array = np.load(path)
    return block


def share_block(path: str) -> Array:
    """Map a file: the processes of a machine hold, and have in cache, one copy."""
    # Copy-on-write, for kernels are compiled for arrays that can be written.
    block: Array = np.asarray(np.load(path, mmap_mode="c"))
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
        version = np.lib.format.read_magic(stream)
        read = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
        _, _, dtype = read(stream)
        rows = np.ascontiguousarray(rows, dtype=dtype)
        stream.seek(stream.tell() + first_row * rows.strides[0])
        rows.tofile(stream)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        Path(path).unlink(missing_ok=True)
