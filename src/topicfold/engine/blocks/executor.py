# SPDX-License-Identifier: BSD-3-Clause
"""Running a function on every block of a corpus and adding up what it returns.

Threads of this process visit the blocks, or the workers of a cluster (``engine.dask``).
Sums are made in one order, fixed by the number of blocks alone: groups of `FAN_IN` in
a row, then groups of groups. So neither the number of threads nor that of workers
changes a bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from topicfold.core.threads import run_in_order
from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.engine.blocks.store import BlockStore, write_rows
from topicfold.engine.protocol import Statistics, add_statistics, rows_of

FAN_IN = 4

# A function of a block, arguments of each block, and arguments for all of them.
Visit = Callable[..., Any]
BlockArgs = Sequence[tuple[Any, ...]] | None
Shared = tuple[Any, ...]


class Prepared(Protocol):
    """Blocks in the form that a function takes, one per item."""

    def reduce(
        self, function: Visit, block_args: BlockArgs = None, shared: Shared = ()
    ) -> Statistics:
        """Return the sum of ``function(block, *block_args[b], *shared)``, tuples of
        arrays and numbers.
        """

    def collect(
        self, function: Visit, block_args: BlockArgs = None, shared: Shared = ()
    ) -> list[Any]:
        """Return the results of all blocks in their order."""


def prepare_blocks(
    corpus: BlockCorpus, threads: int, make: Visit | None = None, shared: Shared = ()
) -> Prepared:
    """Return blocks, made by ``make(csr_matrix, *shared)``: on workers if the corpus is
    there.
    """
    own = getattr(corpus, "prepare_blocks", None)
    if own is not None:
        prepared: Prepared = own(make, shared)
        return prepared
    return LocalBlocks(corpus, threads, make, shared)


class LocalBlocks:
    """Blocks of this process, visited by `threads` at a time and made when needed.

    Made blocks that have `n_bytes` are kept in memory while all of them need no more
    than the `keep_bytes` of the corpus.
    """

    def __init__(
        self,
        corpus: BlockCorpus,
        threads: int,
        make: Visit | None = None,
        shared: Shared = (),
    ) -> None:
        self.corpus = corpus
        self.threads = threads
        self.make = make
        self.shared = shared
        self._kept: dict[int, Any] = {}
        self._kept_bytes = 0

    def reduce(
        self, function: Visit, block_args: BlockArgs = None, shared: Shared = ()
    ) -> Statistics:
        """See the protocol."""
        return sum_in_order(self._visit(function, block_args, shared))

    def collect(
        self, function: Visit, block_args: BlockArgs = None, shared: Shared = ()
    ) -> list[Any]:
        """See the protocol."""
        return list(self._visit(function, block_args, shared))

    def _visit(
        self, function: Visit, block_args: BlockArgs, shared: Shared
    ) -> Iterator[Any]:
        def visit(number: int) -> Any:
            own = () if block_args is None else block_args[number]
            return function(self._block(number), *own, *shared)

        return run_in_order(visit, self.corpus.n_blocks, self.threads)

    def _block(self, number: int) -> Any:
        kept = self._kept.get(number)
        if kept is not None:
            return kept
        block = self.corpus.block(number)  # type: ignore[attr-defined]
        if self.make is not None:
            block = self.make(block, *self.shared)
        size = getattr(block, "n_bytes", None)
        if size is not None and self._kept_bytes + size <= self.corpus.keep_bytes:
            self._kept_bytes += size
            self._kept[number] = block
        return block


def sum_in_order(parts: Iterable[Statistics]) -> Statistics:
    """Add statistics: groups of `FAN_IN` from the left, then groups of groups."""
    levels: list[list[Any]] = []  # [sum, how many]

    def push(part: Statistics, level: int) -> None:
        if level == len(levels):
            levels.append([None, 0])
        entry = levels[level]
        entry[0] = part if entry[1] == 0 else add_statistics(entry[0], part)
        entry[1] += 1
        if entry[1] == FAN_IN:
            full, entry[0], entry[1] = entry[0], None, 0
            push(full, level + 1)

    for part in parts:
        push(part, 0)
    level = 0
    while True:
        later = any(entry[1] for entry in levels[level + 1 :])
        total, count = levels[level]
        if not later and count == 1:
            return tuple(total)
        if count:
            levels[level] = [None, 0]
            push(total, level + 1)
        level += 1


def map_rows(
    corpus: BlockCorpus,
    function: Callable[..., Any],
    n_columns: int,
    shared: tuple[Any, ...] = (),
    *,
    threads: int = 1,
    data: Any = None,
) -> Any:
    """Return ``function(block, *shared)``, rows for rows, as one memory-mapped array.

    `function` takes a CSR matrix and returns as many rows of `n_columns`; it is of a
    module, for other processes must find it. With `data`, which has a row per document,
    it is given those of the block as `data`.
    """
    store = BlockStore(corpus.storage)
    path = store.new_rows((len(corpus), n_columns), corpus.dtype)
    args = [
        (path, int(first), rows_of(data, slice(first, stop)))
        for first, stop in itertools.pairwise(corpus.offsets)
    ]
    prepare_blocks(corpus, threads).collect(_write_mapped, args, (function, shared))
    return store.open_rows(path)


def _write_mapped(
    block: Any,
    path: str,
    first: int,
    data: Any,
    function: Callable[..., Any],
    shared: tuple[Any, ...],
) -> None:
    known = {} if data is None else {"data": data}
    write_rows(path, first, function(block, *shared, **known))
