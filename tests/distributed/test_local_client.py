# SPDX-License-Identifier: BSD-3-Clause
"""The cluster of this machine: quiet workers, and nobody else's settings touched."""

import os
import signal

import pytest
from distributed_support import wait_for_workers, wait_until

from topicfold import PLSA
from topicfold.engine.dask import distribute, local_client
from topicfold.engine.dask.local import ENVIRONMENT, QUIET, TRIM

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")


def settings():
    """Return the settings of the process that calls this."""
    return {name: dask.config.get(name) for name in QUIET}, os.environ.get(TRIM)


@pytest.fixture(scope="module")
def client():
    with pytest.MonkeyPatch.context() as patch:
        # As another cluster of this process leaves it.
        patch.setenv(TRIM, str(dask.config.get(ENVIRONMENT)[TRIM]))
        with local_client(2) as client:
            yield client


def test_workers_have_one_thread_and_quiet_settings(client):
    assert list(client.nthreads().values()) == [1, 1]
    assert list(client.run(settings).values()) == [(QUIET, None)] * 2


def test_a_worker_that_is_started_again_is_quiet_too(client):
    old = client.run(os.getpid)
    lost = next(iter(old.values()))
    os.kill(lost, signal.SIGKILL)

    def is_replaced():
        now = client.run(os.getpid, on_error="ignore")
        return len(now) == 2 and lost not in now.values()

    wait_until(is_replaced)
    assert list(client.run(settings).values()) == [(QUIET, None)] * 2


def test_a_worker_that_never_came_back_is_started_anew(client):
    """As on a busy machine: Dask gives the worker up before its nanny is done."""
    wait_for_workers(client, 2)
    cluster = client.cluster
    name, nanny = next(iter(cluster.workers.items()))
    cluster.sync(nanny.close)
    wait_until(lambda: name in cluster.workers and cluster.workers[name] is not nanny)
    wait_for_workers(client, 2)
    assert [found for found, _ in client.run(settings).values()] == [QUIET] * 2


def test_settings_of_this_process_are_as_before(client):
    found, _ = settings()
    assert found["distributed.worker.profile.enabled"] is True
    assert TRIM in dask.config.get(ENVIRONMENT)


def test_fit(client, blocks):
    model = PLSA(4, max_iter=3, random_state=0)
    there = model.fit(distribute(blocks, client)).objective_history_
    assert there == model.fit(blocks).objective_history_


def test_closing_ends_the_workers():
    with local_client(1, processes=False) as client:
        cluster = client.cluster
    assert cluster.status is distributed.core.Status.closed


def test_no_workers_are_refused():
    with pytest.raises(ValueError, match="n_workers == 0"):
        local_client(0)
