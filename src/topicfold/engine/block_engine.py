# SPDX-License-Identifier: BSD-3-Clause
"""The CPU engine of one block of a corpus, with its latest mixtures in memory.

Mixtures are files that do not change while they are needed (``engine.block_store``):
they count, and a worker that is lost takes nothing with it. A block that is kept in
memory from pass to pass remembers the two that it wrote last, so it need not read
them, and writes new ones over an array that has served its time: fresh memory costs
page faults, as much as a tenth of a pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.typing import Array
from topicfold.engine.block_store import load_block, save_block
from topicfold.engine.cpu import CpuEngine

# The parameters and the counts of a fit.
REMEMBERED = 2


class BlockEngine(CpuEngine):
    """The CPU engine of one block; see the module, and `CpuEngine` for parameters."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
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
        """Return the array of a file that nobody reads any more, if it is here."""
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
        entry = 2 * layout.indices.itemsize + 2 * layout.counts.itemsize + 2
        row = 24 + REMEMBERED * self._width * self.dtype.itemsize
        return len(layout.indices) * entry + row * self.n_documents

    def __sizeof__(self) -> int:
        # Dask asks, to choose what to send where and what to put on disk.
        return self.n_bytes

    def __getstate__(self) -> dict[str, Any]:
        # Another process, or this one after the disk, reads the files.
        return self.__dict__ | {"_memory": {}}


def make_block_engine(
    X: sparse.csr_matrix, n_topics: int, dtype: Any, word_order: NDArray[np.integer]
) -> BlockEngine:
    """Arrange a block; its files are not needed any more."""
    return BlockEngine(X, n_topics, dtype=dtype, word_order=word_order)
