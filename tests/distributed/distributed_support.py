# SPDX-License-Identifier: BSD-3-Clause
"""A cluster on this machine, and tasks for its workers."""

import time
import warnings

import distributed
import numpy as np

from topicfold.engine.dask.local import keep_workers

# Seconds after which a condition will never come true; nothing waits so long that runs.
NEVER = 900


def local_cluster(n_workers, **options):
    """Workers of one thread each, processes unless told otherwise."""
    options = {"threads_per_worker": 1, "dashboard_address": None} | options
    with warnings.catch_warnings():
        # Of distributed's own: a port in use, a slow disk.
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(n_workers=n_workers, **options)
    keep_workers(cluster)
    return cluster


def wait_until(condition):
    """Wait until a condition is true, however busy the machine is."""
    end = time.monotonic() + NEVER
    while not condition():
        assert time.monotonic() < end, f"never: {condition}"
        time.sleep(0.01)


def wait_for_workers(client, n_workers):
    """Wait until so many workers are here."""
    wait_until(lambda: len(client.scheduler_info(-1)["workers"]) == n_workers)


def eat_memory(block):
    """Hold far more memory than the worker may have, until it is ended."""
    hoard = []
    for step in range(20 * NEVER):
        if step < 60:
            hoard.append(bytearray(b"x" * 2**24))
        time.sleep(0.05)
    return len(hoard)


def ask_for_too_much(block):
    """Raise the MemoryError of an array that no machine has room for."""
    return np.empty(2**58)
