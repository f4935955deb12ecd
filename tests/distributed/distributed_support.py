# SPDX-License-Identifier: BSD-3-Clause
"""A cluster on this machine, and tasks for its workers."""

import time
import warnings

import distributed
import numpy as np


def local_cluster(n_workers, **options):
    """Workers of one thread each, processes unless told otherwise."""
    options = {"threads_per_worker": 1, "dashboard_address": None} | options
    with warnings.catch_warnings():
        # Of distributed's own: a port in use, a slow disk.
        warnings.simplefilter("ignore")
        return distributed.LocalCluster(n_workers=n_workers, **options)


def eat_memory(block):
    """Hold far more memory than the worker may have, until it is ended."""
    hoard = []
    for _ in range(60):
        hoard.append(bytearray(b"x" * 2**24))
        time.sleep(0.05)
    return len(hoard)


def ask_for_too_much(block):
    """Raise the MemoryError of an array that no machine has room for."""
    return np.empty(2**58)
