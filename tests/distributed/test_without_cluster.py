# SPDX-License-Identifier: BSD-3-Clause
"""Dask collections without a cluster to compute on, or without Dask."""

import sys

import pytest
from scipy import sparse

from topicfold import PLSA
from topicfold.exceptions import DeviceError, MissingDependencyError

dask = pytest.importorskip("dask")
import dask.array as da  # noqa: E402


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
