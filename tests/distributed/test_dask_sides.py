# SPDX-License-Identifier: BSD-3-Clause
"""Sides on the workers of a cluster: the bits of local blocks."""

import numpy as np
import pytest
import sides_support as support

from topicfold import LDA
from topicfold.corpus.blocks import BlockMatrix
from topicfold.sides import Authors

pytest.importorskip("distributed")
from topicfold.engine.dask import distribute


def test_fits_have_the_bits_of_local_blocks(client, tmp_path):
    X, theta, _ = support.planted()
    blocks = BlockMatrix.write(tmp_path / "counts", X, block_size=50)
    only = theta >= np.sort(theta, axis=1)[:, [-3]]
    names = [["a", "b", "c"][d % 3 : d % 3 + 2] for d in range(len(theta))]
    rows = [support.Slant(), support.OwnPrior(), support.Only(), support.Banned(3)]
    data = {"slant": np.log(theta + 0.1), "alphas": 0.1 + theta, "only": only}
    for sides, given in ((rows, data), ([Authors()], {"authors": names})):
        options = {"sides": sides, "max_iter": 3, "tol": 0.0, "random_state": 0}
        local = LDA(4, **options).fit(blocks, **given)
        there = LDA(4, **options).fit(distribute(blocks), **given)
        np.testing.assert_array_equal(there.components_, local.components_)
        np.testing.assert_array_equal(there.doc_topics_, local.doc_topics_)
