# SPDX-License-Identifier: BSD-3-Clause
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import cpu_count

from topicfold.core.threads import (
    _pool,
    balanced_ranges,
    n_threads,
    run_in_order,
    run_ranges,
)


@given(st.lists(st.integers(0, 50), max_size=40), st.integers(1, 10))
def test_ranges_cover_all_rows_once(work, n_ranges):
    ranges = balanced_ranges(np.r_[0, np.cumsum(work)].astype(np.int64), n_ranges)
    assert len(ranges) <= n_ranges
    covered = [row for start, stop in ranges for row in range(start, stop)]
    assert covered == list(range(len(work)))


def test_every_range_runs_and_errors_come_through():
    done = []

    def task(start, stop):
        done.append((start, stop))
        if start == 4:
            raise ValueError("row four")

    with pytest.raises(ValueError, match="row four"):
        run_ranges(task, [(0, 4), (4, 8), (8, 9)], threads=2)
    run_ranges(task, [(9, 10), (10, 11)], threads=2)
    assert {(0, 4), (9, 10), (10, 11)} <= set(done)


def test_n_jobs_means_what_it_means_in_scikit_learn():
    assert n_threads(None) == 1
    assert n_threads(3) == 3
    assert n_threads(-1) >= 1


def test_a_task_may_use_the_pool_itself():
    """A full pool must not wait for itself."""
    done = []

    def outer(start, stop):
        run_ranges(lambda a, b: done.append((start, a)), [(0, 1), (1, 2)], threads=2)

    run_ranges(outer, [(d, d + 1) for d in range(6)], threads=2)
    assert sorted(done) == [(d, a) for d in range(6) for a in range(2)]


def test_no_jobs_are_an_error():
    with pytest.raises(ValueError, match="n_jobs=0 starts no thread"):
        n_threads(0)


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_a_long_loop_after_the_ranges_under_way(threads):
    done = []

    def task(start, stop):
        done.append(start)
        if threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        run_ranges(task, [(i, i + 1) for i in range(1000)], threads)
    assert len(done) < 100


def test_more_threads_than_a_machine_has_are_refused():
    assert n_threads(8) == 8
    # A file may ask for more than a process can start.
    assert n_threads(1024) == max(32, 4 * cpu_count())
    with pytest.raises(ValueError, match="more than 1024 threads"):
        n_threads(1025)


def test_a_task_may_run_ranges_itself():
    """Threads that all wait for threads of the same pool would wait for ever."""
    done = []

    def inner(start, stop):
        done.append(start)

    def outer(start, stop):
        run_ranges(inner, [(i, i + 1) for i in range(start, start + 4)], 2)

    def fit():
        run_ranges(outer, [(i, i + 4) for i in range(0, 40, 4)], 2)

    callers = [threading.Thread(target=fit, daemon=True) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(120)
    assert not any(caller.is_alive() for caller in callers)
    assert sorted(done) == sorted(list(range(40)) * 4)


@pytest.mark.parametrize("most", [0, 1])
def test_threads_that_cannot_be_started_are_done_without(monkeypatch, most):
    """A process has a limit of memory and threads; the work left is no one's later."""
    start, started, done = threading.Thread.start, [], []

    def limited(thread):
        if len(started) == most:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    _pool.cache_clear()
    monkeypatch.setattr(threading.Thread, "start", limited)
    assert list(run_in_order(lambda number: -number, 50, 5)) == [-i for i in range(50)]
    started.clear()
    run_ranges(lambda first, _: done.append(first), [(i, i + 1) for i in range(50)], 5)
    assert sorted(done) == list(range(50))
    monkeypatch.undo()
    run_ranges(lambda first, _: done.append(first), [(i, i + 1) for i in range(50)], 5)
    assert sorted(done) == sorted([*range(50), *range(50)])
    _pool.cache_clear()
