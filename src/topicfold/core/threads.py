# SPDX-License-Identifier: BSD-3-Clause
"""Threads for kernels: serial kernels over ranges of rows, run by a small pool.

Kernels release the GIL and each output row has one owner, so neither the number of
threads nor the cut into ranges changes a bit of the result.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from topicfold.exceptions import DataError

RANGES_PER_THREAD = 8  # so that threads end together
# More than any machine has cores: a number that was not meant, or a hostile file.
MAX_THREADS = 1024
# So many can be started anywhere; more than four per core do nothing but wait.
FEW_THREADS, THREADS_PER_CORE = 32, 4


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads for scikit-learn's `n_jobs` (None means 1).

    At most four per core, or 32: the result is the same, and a process may not be
    allowed to start more.
    """
    if n_jobs == 0:
        raise DataError(
            "n_jobs=0 starts no thread. Give 1 or more, or -1 for all cores."
        )
    if n_jobs is None or n_jobs > 0:
        if (n_jobs or 1) > MAX_THREADS:
            raise DataError(
                f"n_jobs={n_jobs} is more than {MAX_THREADS} threads. Use -1 for one "
                "thread per core."
            )
        wanted = int(n_jobs or 1)
        if wanted <= FEW_THREADS:  # the number of cores is in files: slow to read
            return wanted
        return min(wanted, max(FEW_THREADS, THREADS_PER_CORE * cpu_count()))
    # Not joblib's effective_n_jobs: it means processes, and allows a worker process
    # only one, with a warning.
    return max(1, cpu_count() + 1 + int(n_jobs))


def n_ranges(threads: int) -> int:
    """Return into how many ranges the rows of a pass are cut."""
    return 1 if threads == 1 else RANGES_PER_THREAD * threads


def balanced_ranges(
    indptr: NDArray[np.integer], n_ranges: int
) -> list[tuple[int, int]]:
    """Cut rows into at most `n_ranges` ranges of about equal work; `indptr` has it
    cumulated.
    """
    n_rows = len(indptr) - 1
    if n_ranges == 1:
        return [(0, n_rows)] if n_rows else []
    # Even an empty row takes some time.
    work = indptr.astype(np.int64) - int(indptr[0]) + np.arange(n_rows + 1)
    goals = work[-1] * np.arange(1, n_ranges) / n_ranges
    cuts = np.unique(np.r_[0, np.searchsorted(work, goals), n_rows])
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))


def even_ranges(n_rows: int, n_ranges: int) -> list[tuple[int, int]]:
    """Cut rows into at most `n_ranges` ranges (start, stop) of about equal length."""
    n_ranges = min(n_ranges, n_rows)
    cuts = [n_rows * i // max(n_ranges, 1) for i in range(n_ranges + 1)]
    return list(pairwise(cuts))


def blocks_of(n_rows: int, size: int) -> list[tuple[int, int]]:
    """Cut rows into ranges of `size` rows, at least one, and the last of the rest."""
    size = max(size, 1)
    return [(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def run_ranges(
    task: Callable[..., Any],
    ranges: Iterable[tuple[int, int]],
    threads: int,
    *arguments: Any,
) -> None:
    """Call ``task(start, stop, *arguments)`` for every range on `threads` threads.

    Returns when all are done. The first exception is raised after the running
    ranges have ended, so arrays are never written behind the caller's back.
    """
    pending = deque(ranges)

    def work() -> None:
        while pending:
            try:
                start, stop = pending.popleft()
            except IndexError:  # another thread took the last one
                return
            task(start, stop, *arguments)

    helpers = min(threads, len(pending)) - 1
    if helpers < 1:
        work()
        return
    # The calling thread works too: short tasks do not wait for others to wake up.
    futures: list[Future] = [Future() for _ in range(helpers)]
    try:
        with suppress(RuntimeError):  # no more threads can be started: those do it all
            for future in futures:
                _pool(threads).submit(_run, future, work)
        work()
        for future in futures:
            # Nothing is left for one that has not begun. Waiting for it could last for
            # ever: a task may itself run ranges, in a pool whose threads all do so.
            if not future.cancel():
                future.result()
    except BaseException:
        pending.clear()
        for future in futures:
            future.cancel()
        wait(futures)
        raise


def run_balanced(
    task: Callable[..., Any], work: NDArray[np.integer], threads: int, *arguments: Any
) -> None:
    """Run a task over ranges of rows of about equal work, which is given cumulated."""
    run_ranges(task, balanced_ranges(work, n_ranges(threads)), threads, *arguments)


def run_in_order(
    task: Callable[[int], Any], n_tasks: int, threads: int
) -> Iterator[Any]:
    """Yield ``task(0)``, ``task(1)``… in this order, `threads` of them at work."""
    if threads == 1:
        yield from map(task, range(n_tasks))
        return
    short = False
    waiting: deque[tuple[int, Future]] = deque()

    def first() -> Any:
        number, future = waiting.popleft()
        # If there are too few threads, this one does what no other has begun.
        return task(number) if short and future.cancel() else future.result()

    with _own_pool(threads) as pool:
        try:
            for number in range(n_tasks):
                # One more than there are threads: none waits for the sum.
                if len(waiting) > threads:
                    yield first()
                waiting.append((number, Future()))
                try:
                    pool.submit(_run, waiting[-1][1], partial(task, number))
                except RuntimeError:  # no more threads can be started
                    short = True
            while waiting:
                yield first()
        finally:
            wait([future for _, future in waiting if not future.cancel()])


@contextmanager
def _own_pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Lend a pool to one caller: a task that needs a pool itself has another one.

    Pools are kept, as starting threads takes longer than a pass over small blocks.
    """
    kept = _idle_pools.setdefault(threads, [])
    try:
        pool = kept.pop()
    except IndexError:
        pool = ThreadPoolExecutor(threads, thread_name_prefix="topicfold")
    try:
        yield pool
    finally:
        kept.append(pool)


def _run(future: Future, work: Callable[[], Any]) -> None:
    """Do the work of a future that is not cancelled.

    It is not the pool's own future, which nobody has when a thread cannot be started
    though the work is in the queue, where another thread finds it.
    """
    if future.set_running_or_notify_cancel():
        try:
            result = work()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)


@lru_cache(maxsize=8)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="topicfold")


_idle_pools: dict[int, list[ThreadPoolExecutor]] = {}


# A forked child has none of its parent's threads: it makes pools of its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
    os.register_at_fork(after_in_child=_idle_pools.clear)


_blas = SimpleNamespace(lock=threading.Lock(), users=0, limit=None)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS and LAPACK to one thread, so that sums have one order.

    The limit is that of the whole process, shared by all threads that ask for it. Each
    setting it by itself, the last to leave would bring back what the first had set: one
    thread, for good.
    """
    with _blas.lock:
        if _blas.users == 0:
            _blas.limit = _controller().limit(limits=1, user_api="blas")
        _blas.users += 1
    try:
        yield
    finally:
        with _blas.lock:
            _blas.users -= 1
            if _blas.users == 0:
                _blas.limit.restore_original_limits()


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 - a controller knows the libraries loaded so far

    return ThreadpoolController()
