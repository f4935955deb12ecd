# SPDX-License-Identifier: BSD-3-Clause
"""Running a function on every block of a corpus and adding up what it returns.

Threads of this process visit the blocks, or the workers of a cluster (``engine.dask``).
Sums are made in one order, fixed by the number of blocks alone: groups of `FAN_IN` in
a row, then groups of groups. So neither the number of threads nor that of workers
changes a bit.
"""

from __future__ import annotations

import functools
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from topicfold.core.threads import run_in_order
from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.engine.blocks.store import BlockStore, write_rows
from topicfold.engine.protocol import Statistics, add_statistics, rows_of

FAN_IN = 4

# A function of a block, arguments of each block, and arguments for all of them.
Visit = Callable[..., Any]
BlockArgs = Sequence[tuple[Any, ...]] | None
Shared = tuple[Any, ...]


class Prepared(ABC):
    """Blocks in the form that a function takes, one per item."""

    def reduce(
        self, function: Visit, block_args: BlockArgs = None, shared: Shared = ()
    ) -> Statistics:
        """Return the sum of ``function(block, *block_args[b], *shared)``, tuples of
        arrays and numbers.
        """
        total: Statistics = self._visit(function, block_args, shared, add=True)
        return total

    def collect(
        self, function: Visit, block_args: BlockArgs = None, shared: Shared = ()
    ) -> list[Any]:
        """Return the results of all blocks in their order."""
        results: list[Any] = self._visit(function, block_args, shared, add=False)
        return results

    @abstractmethod
    def _visit(
        self, function: Visit, block_args: BlockArgs, shared: Shared, *, add: bool
    ) -> Any:
        """Return the sum or the list of what the function returns."""


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


class LocalBlocks(Prepared):
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

    def _visit(
        self, function: Visit, block_args: BlockArgs, shared: Shared, *, add: bool
    ) -> Any:
        def visit(number: int) -> Any:
            own = () if block_args is None else block_args[number]
            return function(self._block(number), *own, *shared)

        n_blocks = self.corpus.n_blocks
        found = run_in_order(visit, n_blocks, self.threads)
        return sum_in_order(found, n_blocks) if add else list(found)

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


def sum_in_order(parts: Iterator[Statistics], n_parts: int) -> Statistics:
    """Add statistics: groups of `FAN_IN` from the left, then groups of groups.

    One sum of each level is held at a time.
    """

    def groups(parts: Iterator[Statistics]) -> Iterator[Statistics]:
        for first in parts:
            others = itertools.islice(parts, FAN_IN - 1)
            yield functools.reduce(add_statistics, others, first)

    while n_parts > 1:
        parts, n_parts = groups(parts), -(-n_parts // FAN_IN)
    return next(parts)


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
    args = [(path, rows.start, rows_of(data, rows)) for rows in corpus.row_ranges]
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
