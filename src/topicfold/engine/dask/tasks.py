# SPDX-License-Identifier: BSD-3-Clause
"""What runs on the workers of a Dask cluster, and how it is asked for and added up."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import secrets
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, wait
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.corpus.block_corpus import Rows, clean_block, join_rows, pair_keys
from topicfold.corpus.blocks import BlockFile
from topicfold.engine.blocks.executor import FAN_IN
from topicfold.engine.blocks.store import share_block
from topicfold.engine.protocol import Statistics, add_statistics
from topicfold.exceptions import DataError, DeviceError

# Seconds to wait for the first worker of a cluster that has none, or has lost all.
PATIENCE = 300
# Seconds between two looks whether there are workers, while results are waited for.
LOOK = 1.0
GONE = ("CommClosedError", "ClosedClientError")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_logger = logging.getLogger("topicfold")


@contextlib.contextmanager
def in_touch() -> Iterator[None]:
    """Say in one sentence that scheduler, client or workers are not there."""
    try:
        yield
    except Exception as error:
        # By name: Dask may not be installed, and versions differ in what they have.
        known = isinstance(error, CancelledError | TimeoutError)
        if not known and type(error).__name__ not in GONE:
            raise
        problem = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise DeviceError(
            f"The Dask cluster does not answer: {problem}. Check that its scheduler "
            "and workers run, and fit again. With callbacks=[Resume(folder)] of "
            "topicfold.learn, a fit can be continued after such an error."
        ) from error


def submit_all(client: Any, function: Callable[..., Any], args: list[Any]) -> list[Any]:
    """Submit ``function(*args[i])`` for all i; every call is a task of its own.

    All at once: a worker that waited for its first task would take another's, and
    the block with it.
    """
    name = f"{function.__name__.strip('_')}-{secrets.token_hex(8)}"
    keys = [f"{name}-{number}" for number in range(len(args))]
    return list(client.map(function, *zip(*args, strict=True), key=keys))


def workers_in_rows(n_threads: dict[str, int], sizes: NDArray[np.int64]) -> list[str]:
    """Return a worker for each block: blocks in a row, as much for each thread."""
    threads = [worker for worker, n in n_threads.items() for _ in range(n)]
    middles = np.cumsum(sizes) - sizes / 2
    places = (middles * len(threads) / max(sizes.sum(), 1)).astype(np.int64)
    return [threads[place] for place in places]


def read_in_rows(
    client: Any, files: Sequence[BlockFile], sizes: NDArray[np.int64]
) -> list[Any]:
    """Read blocks on the workers: as much on each thread, blocks in a row on one."""
    if not client.nthreads():
        wait_for_worker(client)
    places = workers_in_rows(client.nthreads(), sizes)
    name, blocks = f"read-{secrets.token_hex(8)}", []
    for number, (file, place) in enumerate(zip(files, places, strict=True)):
        options = {"workers": place, "allow_other_workers": True}
        key = f"{name}-{number}"
        blocks.append(client.submit(BlockFile.load, file, key=key, **options))
    describe_all(client, blocks)  # when they are read
    # Bound no longer: if all workers are lost, no new one would take a task of theirs.
    unbound = {block.key: None for block in blocks}
    client.sync(client.scheduler.set_restrictions, worker=unbound)
    return blocks


def on_this_machine(workers: Iterable[str]) -> bool:
    """Whether there are workers, and all their addresses are of this machine alone."""
    near = [
        address.startswith("inproc://") or urlsplit(address).hostname in LOOPBACK
        for address in workers
    ]
    return bool(near) and all(near)


def sum_on_workers(
    client: Any, futures: list[Any], direct: bool | None = None
) -> Statistics:
    """Add statistics in the order of `sum_in_order` on workers, the last two here."""
    while len(futures) > 2:
        groups = [futures[i : i + FAN_IN] for i in range(0, len(futures), FAN_IN)]
        added = submit_all(client, add, [(group,) for group in groups])
        # The last group may have one member, which is its own sum.
        futures = [
            g[0] if len(g) == 1 else a for g, a in zip(groups, added, strict=True)
        ]
    return add(gather(client, futures, direct))


def gather(client: Any, futures: list[Any], direct: bool | None = None) -> list[Any]:
    """Fetch results in order: `direct` from workers, None as the client decides.

    The client alone would wait for lost workers for ever, without a message.
    """
    fetching = client.gather(futures, direct=direct, asynchronous=True)
    result = asyncio.run_coroutine_threadsafe(fetching, client.loop.asyncio_loop)
    try:
        while not wait([result], LOOK).done:
            if not client.nthreads():
                wait_for_worker(client)
    except BaseException:
        with contextlib.suppress(Exception):
            client.cancel(futures)  # nobody waits for them any more
        raise
    return list(result.result())


def wait_for_worker(client: Any) -> None:
    """Wait for a worker, and say so; TimeoutError if none comes."""
    with _aborted_by_ctrl_c():
        _logger.warning(
            "the Dask cluster has no workers: waiting up to %g seconds for one; "
            "Ctrl-C ends the fit",
            PATIENCE,
        )
        client.wait_for_workers(1, timeout=PATIENCE)


@contextlib.contextmanager
def _aborted_by_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C through at once: a fit notes the first for the end of a pass."""
    noted = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or not callable(noted):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, noted)


def call(
    function: Callable[..., Any], block: Any, own: tuple[Any, ...], shared: Any
) -> Any:
    """Visit one block."""
    return function(block, *own, *received(shared))


def join_arrays(
    block: sparse.csr_matrix, weight: float, shape: tuple[int, int], *arrays: Any
) -> sparse.csr_matrix:
    """Join the rows of a CSR matrix, given by its arrays, to a block."""
    return join_rows(block, weight, sparse.csr_matrix(arrays, shape))


def found_pairs(block: sparse.csr_matrix, slices: Rows, n_slices: int) -> Rows:
    """Return the pairs of a word and a slice that occur in a block."""
    return np.unique(pair_keys(block, slices, n_slices))


class Sent(NamedTuple):
    """An array in a file of the storage folder."""

    path: str


def received(value: Any) -> Any:
    """Put arrays in place of their files."""
    if isinstance(value, Sent):
        return read_once(value.path)
    if type(value) is tuple:
        return tuple(received(item) for item in value)
    return value


# The blocks and the workers of a machine share a broadcast array.
read_once = functools.lru_cache(maxsize=2)(share_block)


def add(parts: list[Statistics]) -> Statistics:
    """Add a group from the left; none of it is changed, because it may be read-only."""
    first = parts[0]
    total = tuple(np.array(v) if isinstance(v, np.ndarray) else v for v in first)
    return functools.reduce(add_statistics, parts[1:], total)


def describe(block: Any) -> tuple[int, int, str, int, str]:
    """Rows, columns, type, non-zeros, and what is wrong with the format."""
    if not (sparse.issparse(block) and block.format == "csr" and block.ndim == 2):
        found = f"{block.format} matrix" if sparse.issparse(block) else ""
        return 0, 0, "float32", 0, found or type(block).__name__
    dtype = "float64" if block.dtype == np.float64 else "float32"
    return block.shape[0], block.shape[1], dtype, int(block.nnz), ""


def describe_all(client: Any, blocks: list[Any]) -> list[Any]:
    """Return the descriptions of futures of blocks."""
    return gather(client, submit_all(client, describe, [(block,) for block in blocks]))


def refuse(number: int, described: tuple[Any, ...], n_terms: int) -> None:
    """Raise what `clean_block` would, from the description alone."""
    rows, columns, dtype, _, problem = described
    where = f"block {number} of the dask collection"
    if problem:
        raise DataError(
            f"{where} is a {problem}, not a CSR matrix of counts. Convert the blocks: "
            "x.map_blocks(scipy.sparse.csr_matrix)."
        )
    clean_block(sparse.csr_matrix((rows, columns), dtype=dtype), where, n_terms)


def clean(block: Any, number: int, n_terms: int, dtype: Any) -> sparse.csr_matrix:
    """Check a block and bring it to the form that engines take."""
    return clean_block(block, f"block {number} of the dask collection", n_terms, dtype)


def count_terms(
    block: sparse.csr_matrix,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Document frequencies and totals of the terms of a block."""
    n_terms = block.shape[1]
    frequencies: Any = np.bincount(block.indices, minlength=n_terms)
    totals: Any = np.bincount(block.indices, block.data, n_terms)
    return frequencies, totals


def sum_rows(block: sparse.csr_matrix) -> tuple[Rows, NDArray[np.float64]]:
    """Non-zeros and sums of the documents of a block."""
    sums = np.asarray(block.sum(axis=1, dtype=np.float64)).ravel()
    return np.diff(block.indptr).astype(np.int64), sums
