# SPDX-License-Identifier: BSD-3-Clause
"""The cluster of this machine: quiet workers, and nobody else's settings touched."""

import os

import pytest

from topicfold import PLSA
from topicfold.engine.dask import distribute, local_client
from topicfold.engine.dask_local import QUIET, TRIM

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")


def settings():
    """Return the settings of the process that calls this."""
    return {name: dask.config.get(name) for name in QUIET}, os.environ.get(TRIM)


@pytest.fixture(scope="module")
def client():
    with local_client(2) as client:
        yield client


def test_workers_have_one_thread_and_quiet_settings(client):
    assert list(client.nthreads().values()) == [1, 1]
    for found, trim in client.run(settings).values():
        assert found == QUIET
        assert trim == os.environ.get(TRIM)


def test_settings_of_this_process_are_as_before(client):
    found, _ = settings()
    assert found["distributed.worker.profile.enabled"] is True
    assert TRIM in dask.config.get("distributed.nanny.pre-spawn-environ")


def test_fit(client, blocks):
    model = PLSA(4, max_iter=3, random_state=0)
    there = model.fit(distribute(blocks, client)).objective_history_
    assert there == model.fit(blocks).objective_history_


def test_closing_ends_the_workers():
    with local_client(1, processes=False) as client:
        cluster = client.cluster
    assert cluster.status is distributed.core.Status.closed


def test_number_of_workers_means_what_n_jobs_does():
    with pytest.raises(ValueError, match="n_jobs == 0"):
        local_client(0)
