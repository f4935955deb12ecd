# SPDX-License-Identifier: BSD-3-Clause
"""A cluster of this machine's processors (extra ``dask``).

Dask's own settings are for many small tasks that want watching. Ours are few and long,
and a processor that watches does not work: its profiler and its clocks interrupt the
visits, and its setting for memory makes every large array fault in anew.
``benchmarks.scale compare`` measures both.
"""

from __future__ import annotations

import copy
import os
from typing import Any

from topicfold.core.lazy import optional
from topicfold.core.threads import n_threads

QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
}
ENVIRONMENT = "distributed.nanny.pre-spawn-environ"
# Once it is set, the C library keeps no large array's memory for the next one.
TRIM = "MALLOC_TRIM_THRESHOLD_"
# Milliseconds between two looks for workers that are missing.
LOOK = 1000


def local_client(n_workers: int = -1, **options: Any) -> Any:
    """Start workers of one thread each on this machine and return their client.

    ``distributed.Client()`` does too, with Dask's own settings; here its profiler is
    off and its clocks are slow, which leaves the processors to the fit, and a lost
    worker that is slow to come back is restarted. Other clusters are not touched.

    Experimental: which settings it changes may change.

    Parameters
    ----------
    n_workers : int, default=-1
        Workers; -1 is one for every processor.
    **options
        For ``distributed.LocalCluster``: `memory_limit`, `local_directory`,
        `dashboard_address`.

    Returns
    -------
    distributed.Client
        A context manager; closing it ends the workers.

    Examples
    --------
    In a script, under ``if __name__ == "__main__":``, because workers are processes::

        with local_client(2) as client:
            PLSA(100).fit(distribute(BlockMatrix.open("corpus"), client))
    """
    dask, distributed = require_dask()
    if n_workers == 0:
        raise ValueError("n_workers == 0 has no meaning. Use -1 or a positive number.")
    environment = dict(dask.config.get(ENVIRONMENT, {}))
    trim = environment.pop(TRIM, None)
    if os.environ.get(TRIM) == str(trim):
        # An earlier cluster of this process left it for all its children.
        del os.environ[TRIM]
    options = {"threads_per_worker": 1, "dashboard_address": ":0"} | options
    with dask.config.set({**QUIET, ENVIRONMENT: environment}):
        if options.get("processes", True):
            # Also for workers that are restarted or start later.
            options["config"] = copy.deepcopy(dask.config.config)
        client = distributed.Client(n_workers=n_threads(n_workers), **options)
    if client.cluster is not None:
        keep_workers(client.cluster)
    return client


def keep_workers(cluster: Any) -> None:
    """Restart workers that the cluster has given up, as long as it runs.

    A killed worker is started again by its nanny; on a busy machine that may take
    longer than Dask waits before it ends the nanny, and then nobody starts another.
    The new worker is quiet too, but allocates memory by Dask's setting.
    """
    from tornado.ioloop import PeriodicCallback

    def look() -> None:
        if cluster.status.name in ("closing", "closed", "failed"):
            callback.stop()
            return
        for name, worker in list(cluster.workers.items()):
            if worker.status.name in ("closed", "failed"):
                del cluster.workers[name]
        if cluster.worker_spec.keys() - cluster.workers.keys():
            # Scale to the present size: this starts workers that are missing.
            cluster.scale(len(cluster.worker_spec))

    callback = PeriodicCallback(look, LOOK)
    cluster.loop.add_callback(callback.start)


def require_dask() -> tuple[Any, Any]:
    """Return the modules dask and distributed, or say how to install them."""
    need, install = "Dask collections need Dask", "'topicfold[dask]'"
    return optional("dask", need, install), optional("distributed", need, install)
