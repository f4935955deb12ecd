# SPDX-License-Identifier: BSD-3-Clause
"""Every model that takes blocks, on a cluster, for several numbers of topics."""

import numpy as np
import pytest
from sizes_support import (
    BLOCK_SIZE,
    DTYPES,
    IN_BLOCKS,
    cases,
    counts,
    fitted,
    given,
    learned,
    same_bits,
)

from topicfold.corpus.blocks import BlockMatrix
from topicfold.learn import Resume

distributed = pytest.importorskip("distributed")
from distributed_support import local_cluster  # noqa: E402

from topicfold.engine.dask import distribute  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:These seed words")


@pytest.fixture(scope="module")
def threads():
    """A cluster in this process, which is enough to see what sizes do."""
    with local_cluster(2, processes=False) as cluster, distributed.Client(cluster):
        yield


@pytest.fixture(scope="module")
def in_blocks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sizes")
    return {
        dtype: BlockMatrix.write(
            folder / dtype.__name__, counts(dtype), block_size=BLOCK_SIZE
        )
        for dtype in DTYPES
    }


@pytest.mark.parametrize(("name", "n_topics", "dtype"), cases(IN_BLOCKS, n_sizes=2))
def test_a_cluster_gives_what_blocks_give(
    threads, name, n_topics, dtype, in_blocks, tmp_path
):
    here = fitted(name, n_topics, in_blocks[dtype])
    apart = distribute(in_blocks[dtype])
    resume = Resume(tmp_path)
    fitted(name, n_topics, apart, max_iter=1, callbacks=[resume])
    there = fitted(name, n_topics, apart, callbacks=[resume])
    assert resume.resumed_at_ == 1
    if getattr(here, "batch_size", None) is None:
        same_bits(learned(there), learned(here))
    else:  # a batch is added up block by block there, at once in one process
        tolerance = 1e-12 if dtype is np.float64 else 1e-4
        np.testing.assert_allclose(there.components_, here.components_, atol=tolerance)
    np.testing.assert_array_equal(
        there.transform(given(name, n_topics, apart)[0][0]),
        there.transform(given(name, n_topics, in_blocks[dtype])[0][0]),
    )
