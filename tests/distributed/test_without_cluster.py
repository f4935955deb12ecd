# SPDX-License-Identifier: BSD-3-Clause
"""Dask collections without a cluster to compute on, or without Dask."""

import sys
from concurrent.futures import CancelledError

import numpy as np
import pytest
from scipy import sparse

from topicfold import PLSA
from topicfold.corpus.blocks import BlockMatrix
from topicfold.engine.dask import distribute
from topicfold.engine.dask.tasks import in_touch, on_this_machine
from topicfold.exceptions import DeviceError, MissingDependencyError

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
import dask.array as da  # noqa: E402
from distributed.comm.core import CommClosedError  # noqa: E402


@pytest.fixture
def collection():
    part = dask.delayed(sparse.csr_matrix([[1.0, 2.0], [0.0, 1.0]]))
    return da.from_delayed(part, shape=(2, 2), dtype=float)


def test_error_says_how_to_start_a_cluster(collection):
    with pytest.raises(DeviceError, match=r"client = topicfold\.\S+local_client\(\)"):
        PLSA(2).fit(collection)


def test_error_has_the_install_line(collection, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingDependencyError, match=r"topicfold\[dask\]"):
        PLSA(2).fit(collection)


@pytest.mark.parametrize("error", [CommClosedError, CancelledError, TimeoutError])
def test_a_cluster_that_is_gone_is_said(error):
    with pytest.raises(DeviceError, match=r"does not answer: lost\. Check"), in_touch():
        raise error("lost.")


class NoWorkers:
    """A client of a cluster to which no worker ever comes."""

    def nthreads(self):
        return {}

    def wait_for_workers(self, n_workers, timeout):
        raise TimeoutError(f"Only 0/{n_workers} workers arrived after {timeout}")


def test_a_cluster_without_workers_is_said(tmp_path):
    blocks = BlockMatrix.write(tmp_path / "b", sparse.csr_matrix(np.eye(3)))
    with pytest.raises(DeviceError, match=r"Only 0/1 .*workers run, and fit again"):
        distribute(blocks, client=NoWorkers())


@pytest.mark.parametrize(
    ("workers", "near"),
    [
        ([], False),
        (["tcp://127.0.0.1:39001", "inproc://10.0.0.7/1/2"], True),
        (["tcp://127.0.0.1:39001", "tcp://10.0.0.7:39001"], False),
    ],
)
def test_workers_of_this_machine_are_told_by_their_addresses(workers, near):
    assert on_this_machine(workers) == near
