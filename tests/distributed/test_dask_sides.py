# SPDX-License-Identifier: BSD-3-Clause
"""Sides on the workers of a cluster: the bits of local blocks."""

import numpy as np
import pytest
import sides_support as support
from sklearn.base import clone
from step_support import CorrelatedTheta, StickTheta

from topicfold import LDA, PLSA, MultimodalLDA
from topicfold.corpus.blocks import BlockMatrix
from topicfold.phi import OtherCounts
from topicfold.theta import Authors

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


def test_other_counts_are_joined_on_the_workers(client, tmp_path):
    X, *_ = support.planted()
    blocks = BlockMatrix.write(tmp_path / "left", X[:, :30], block_size=50)
    more = X[:, 30:]
    others = BlockMatrix.write(tmp_path / "right", more, block_size=35)
    for kind in (LDA, PLSA):
        options = {"max_iter": 3, "tol": 0.0, "random_state": 0}
        model = kind(4, sides=[OtherCounts("right", weight=2.0)], **options)
        local = clone(model).fit(blocks, right=more)
        corpus = distribute(blocks)
        for right in (more, others, distribute(others)):
            there = clone(model).fit(corpus, right=right)
            np.testing.assert_array_equal(there.doc_topics_, local.doc_topics_)
            other, expected = there.sides_[0].components_, local.sides_[0].components_
            np.testing.assert_array_equal(other, expected)
            found = there.transform(corpus, right=right)
            np.testing.assert_array_equal(found, local.transform(blocks, right=more))


def test_weighted_matrices_are_fitted_on_the_workers(client, tmp_path):
    X, *_ = support.planted()
    blocks = BlockMatrix.write(tmp_path / "left", X[:, :30], block_size=50)
    model = MultimodalLDA(4, weights=[0.5, 2.0], max_iter=3, tol=0.0, random_state=0)
    local = clone(model).fit([blocks, X[:, 30:]])
    there = clone(model).fit([distribute(blocks), X[:, 30:]])
    np.testing.assert_array_equal(there.doc_topics_, local.doc_topics_)


@pytest.mark.parametrize("name", ["correlated", "sticks"])
def test_parts_from_outside_learn_on_the_workers(client, tmp_path, name):
    X, *_ = support.planted()
    design = np.column_stack([np.ones(X.shape[0]), np.arange(X.shape[0]) % 2])
    known = {"covariates": design} if name == "correlated" else {}
    step = CorrelatedTheta() if name == "correlated" else StickTheta()
    blocks = BlockMatrix.write(tmp_path / "x", X, block_size=50)
    model = PLSA(4, theta_step=step, max_iter=5, tol=0, random_state=0)
    local = clone(model).fit(blocks, **known)
    there = clone(model).fit(distribute(blocks), **known)
    assert there.objective_history_ == local.objective_history_
    np.testing.assert_array_equal(there.components_, local.components_)
    np.testing.assert_array_equal(there.doc_topics_, local.doc_topics_)
