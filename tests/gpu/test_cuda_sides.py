# SPDX-License-Identifier: BSD-3-Clause
"""Sides on the GPU: documents' own rows and groups of words as in the reference."""

import numpy as np
import pytest
import sides_support as support
from engine.test_own_rows import agree, drawn, passes
from engine_reference import ReferenceEngine

from topicfold import LDA
from topicfold.corpus.blocks import BlockMatrix
from topicfold.engine import make_engine
from topicfold.engine.protocol import OwnShare
from topicfold.phi import OtherCounts
from topicfold.theta import Authors

TOLERANCE = {np.float32: 5e-4, np.float64: 1e-9}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_topics", [1, 7, 16, 33, 100, 300])
def test_collapsed_passes_agree_with_reference(n_topics, dtype):
    X, *rest = drawn(n_topics, 60, 45)
    ours = passes(make_engine(X, n_topics, dtype=dtype, device="cuda"), *rest)
    agree(ours, passes(ReferenceEngine(X, n_topics), *rest), TOLERANCE[dtype])


@pytest.mark.parametrize("part", ["rows", "groups"])
def test_rows_and_groups_each_by_itself(part):
    X, theta, phi, rows, own = drawn(20, 2000, 45)
    if part == "rows":
        own = OwnShare(own.scale[0], own.floor[0])
    else:
        rows = OwnShare(np.ones_like(theta), np.full_like(theta, 0.1))
    engine = make_engine(X, 20, dtype=np.float64, device="cuda")
    exact = passes(ReferenceEngine(X, 20), theta, phi, rows, own)
    agree(passes(engine, theta, phi, rows, own), exact, 1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_updates_in_place_agree_with_reference(dtype):
    X, theta, phi, rows, _ = drawn(9, 60, 45)
    rest = theta, phi, rows, None
    engine = make_engine(X, 9, dtype=dtype, device="cuda")
    exact = passes(ReferenceEngine(X, 9), *rest, max_updates=3)
    agree(passes(engine, *rest, max_updates=3), exact, 5 * TOLERANCE[dtype])


def test_blocks_give_what_the_whole_gives(tmp_path):
    X, *rest = drawn(9, 200, 40)
    blocks = BlockMatrix.write(tmp_path / "counts", X, block_size=70)
    there = passes(make_engine(blocks, 9, dtype=float, device="cuda"), *rest)
    agree(there, passes(make_engine(X, 9, dtype=float, device="cuda"), *rest), 1e-9)


def _fitted(device, sides, X, data):
    model = LDA(4, max_iter=10, tol=0, random_state=0, device=device, sides=sides)
    return model.fit(X, **data)


@pytest.mark.parametrize(
    "name", ["evidence", "prior", "mask", "topics", "mixing", "counts", "together"]
)
def test_fits_agree_with_the_cpu(name):
    X, theta, _ = support.planted()
    only = theta >= np.sort(theta, axis=1)[:, [-2]]
    authors = [["a", "b", "c"][d % 3 : d % 3 + 2] for d in range(len(theta))]
    evidence, prior = {"slant": np.log(theta + 0.1)}, {"alphas": 0.1 + theta}
    sides, data = {
        "evidence": ([support.Slant()], evidence),
        "prior": ([support.OwnPrior()], prior),
        "mask": ([support.Only()], {"only": only}),
        "topics": ([support.Banned(3)], {}),
        "mixing": ([Authors()], {"authors": authors}),
        "counts": ([OtherCounts("right")], {"right": X[:, 30:]}),
        "together": (
            [support.Slant(), support.OwnPrior(), OtherCounts("right")],
            {**evidence, **prior, "right": X[:, 30:]},
        ),
    }[name]
    X = X[:, :30] if "right" in data else X
    here, there = (_fitted(device, sides, X, data) for device in ("cpu", "cuda"))
    np.testing.assert_allclose(there.components_, here.components_, atol=1e-6)
    np.testing.assert_allclose(there.doc_topics_, here.doc_topics_, atol=1e-6)
    new = {k: v for k, v in data.items() if k != "slant"}
    np.testing.assert_allclose(
        there.transform(X, **new), here.transform(X, **new), atol=1e-5
    )


def test_joined_blocks_agree_with_the_cpu(tmp_path):
    X, *_ = support.planted()
    left = BlockMatrix.write(tmp_path / "left", X[:, :30], block_size=70)
    right = BlockMatrix.write(tmp_path / "right", X[:, 30:], block_size=110)
    sides, data = [OtherCounts("right")], {"right": right}
    here, there = (_fitted(device, sides, left, data) for device in ("cpu", "cuda"))
    np.testing.assert_allclose(there.components_, here.components_, atol=1e-6)
    np.testing.assert_allclose(there.doc_topics_, here.doc_topics_, atol=1e-6)
    np.testing.assert_allclose(
        there.transform(left, **data), here.transform(left, **data), atol=1e-5
    )
