# SPDX-License-Identifier: BSD-3-Clause
"""Every model with a device, for several numbers of topics and both types."""

import numpy as np
import pytest
from sizes_support import (
    BLOCK_SIZE,
    IN_BLOCKS,
    NAMES,
    cases,
    counts,
    fitted,
    given,
    inferred,
    learned,
    made,
    same_bits,
)

import topicfold
from topicfold.corpus.blocks import BlockMatrix
from topicfold.learn import Resume

pytestmark = pytest.mark.filterwarnings("ignore:These seed words")

ON_DEVICE = [
    name
    for name in NAMES
    if any(key.endswith("device") for key in made(name, 3).get_params())
]
# Fits whose state cannot be kept.
STATELESS = ("laplacian", "local", "discriminative", "laplacian-near", "medlda")


def assert_near(found, value, case, factor=1.0):
    """Compare rows on the simplex.

    Frank-Wolfe, which two phases use too, chooses one topic at a time and turns the
    last bits into more: there, rows need only be near in the mean. Among fifty topics
    of so few documents it chooses almost freely.
    """
    name, n_topics, dtype = case
    if not (name.startswith("fstm") or name.endswith("-c")):
        tolerance = factor * (1e-4 if dtype is np.float64 else 5e-3)
        np.testing.assert_allclose(found, value, atol=tolerance)
    elif n_topics < 50:
        assert np.abs(found - value).sum(axis=1).mean() < 0.05


def each(names, turn=0):
    return pytest.mark.parametrize(("name", "n_topics", "dtype"), cases(names, turn))


def test_most_models_have_a_device():
    assert len(ON_DEVICE) > 15


@each(ON_DEVICE)
def test_the_gpu_gives_what_the_cpu_gives(name, n_topics, dtype):
    X = counts(dtype)
    documents = given(name, n_topics, X)[0][0]
    there = fitted(name, n_topics, X, device="cuda")
    here = fitted(name, n_topics, X)
    assert there.components_.shape[0] == n_topics
    assert there.components_.dtype == dtype
    case = name, n_topics, dtype
    assert_near(there.components_, here.components_, case)
    for key, value in inferred(here, documents).items():
        if key == "transform":
            found = there.transform(documents)
            np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)
            assert_near(found, value, case, factor=5.0)
    same_bits(learned(fitted(name, n_topics, X, device="cuda")), learned(there))


@each(ON_DEVICE, turn=1)
def test_saving(name, n_topics, dtype, tmp_path):
    X = counts(dtype)
    model = fitted(name, n_topics, X, device="cuda")
    model.save(tmp_path / "model")
    loaded = topicfold.load(tmp_path / "model")
    same_bits(learned(loaded), learned(model))
    documents = given(name, n_topics, X)[0][0]
    same_bits(inferred(loaded, documents), inferred(model, documents))


@each([name for name in ON_DEVICE if name in IN_BLOCKS and name not in STATELESS])
def test_resume(name, n_topics, dtype, tmp_path):
    X = counts(dtype)
    resume = Resume(tmp_path)
    fitted(name, n_topics, X, device="cuda", max_iter=1, callbacks=[resume])
    found = fitted(name, n_topics, X, device="cuda", callbacks=[resume])
    assert resume.resumed_at_ == 1
    same_bits(learned(found), learned(fitted(name, n_topics, X, device="cuda")))


@each([name for name in ON_DEVICE if name in IN_BLOCKS], turn=1)
def test_blocks(name, n_topics, dtype, tmp_path):
    X = counts(dtype)
    apart = BlockMatrix.write(tmp_path / "blocks", X, block_size=BLOCK_SIZE)
    there = fitted(name, n_topics, apart, device="cuda")
    whole = fitted(name, n_topics, X, device="cuda")
    assert there.components_.shape == whole.components_.shape
    if getattr(whole, "batch_size", None) is None:  # batches are drawn from blocks
        assert_near(there.components_, whole.components_, (name, n_topics, dtype))
