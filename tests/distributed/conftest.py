# SPDX-License-Identifier: BSD-3-Clause
"""A small cluster of real processes on this machine."""

import sys
from pathlib import Path

import numpy as np
import pytest

from topicfold.corpus.blocks import BlockMatrix

distributed = pytest.importorskip("distributed")
# Workers import the tasks of the tests by name.
sys.path.insert(0, str(Path(__file__).parent))
from distributed_support import local_cluster  # noqa: E402


@pytest.fixture(scope="module")
def client():
    with local_cluster(2) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="session")
def blocks(planted, tmp_path_factory):
    # 12 blocks: more than one group of the sum.
    path = tmp_path_factory.mktemp("blocks") / "corpus"
    return BlockMatrix.write(path, planted[0].astype(np.float64), block_size=26)
