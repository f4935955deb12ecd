# SPDX-License-Identifier: BSD-3-Clause
"""Every step, and a user's own, on the GPU: whole, streamed and in blocks."""

import numpy as np
import pytest
from graph_support import random_graph
from scipy import sparse
from step_support import PAIRS, name_of

from topicfold.corpus.blocks import BlockMatrix
from topicfold.engine import make_engine
from topicfold.engine.cuda import place
from topicfold.engine.cuda.steps import extrapolate
from topicfold.engine.cuda.streaming import Plan
from topicfold.engine.kernels import extrapolate_rows
from topicfold.exceptions import DataError
from topicfold.learn.learner import Learner
from topicfold.learn.loop import Reach

N_TOPICS = 9  # padded


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(3)
    X = rng.poisson(0.4, size=(70, 40)).astype(float)
    X[11] = 0
    return sparse.csr_matrix(X)


def fit(engine, theta_step, phi_step, n_iter=6):
    graph = random_graph(70, 0, density=0.1) if theta_step.needs_graph else None
    phi = np.random.default_rng(0).dirichlet(np.ones(40), size=N_TOPICS)
    em = Learner(engine, phi, theta_step, phi_step, graph=graph)
    history = [em.start()] + [em.iterate() for _ in range(n_iter)]
    return em, np.array(history)


@pytest.mark.parametrize("where", ["whole", "streamed", "blocks"])
@pytest.mark.parametrize("pair", PAIRS, ids=name_of)
def test_every_step_on_the_device_is_that_of_the_cpu(
    pair, where, counts, monkeypatch, tmp_path
):
    cpu, expected = fit(make_engine(counts, N_TOPICS, dtype=np.float64), *pair)
    X = counts
    if where == "blocks":
        X = BlockMatrix.write(tmp_path / "x", counts, block_size=16)
    if where == "streamed":
        plan = Plan(np.array([0, 16, 30, 50, 70]), np.arange(4) == 2)
        monkeypatch.setattr(place, "fits", lambda *rest: False)
        monkeypatch.setattr(place, "plan_blocks", lambda *rest: plan)
    engine = make_engine(X, N_TOPICS, dtype=np.float64, device="cuda")
    if where != "whole" and pair[0].needs_all_documents:
        with pytest.raises(DataError, match="needs all documents in one place"):
            fit(engine, *pair)
        return
    em, history = fit(engine, *pair)
    assert np.diff(history).min() >= -1e-9 * np.abs(history).max()
    np.testing.assert_allclose(history, expected, rtol=1e-6)
    np.testing.assert_allclose(em.topics(), cpu.topics(), atol=1e-4)
    np.testing.assert_allclose(em.doc_topics(), cpu.doc_topics(), atol=1e-3)


@pytest.mark.parametrize(("n_topics", "width"), [(5, 16), (100, 128), (150, 192)])
@pytest.mark.parametrize(
    "reach", [Reach(0.7, 1e-3, True), Reach(0.0, 0.0, True), Reach(0.9, 1e-3, False)]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_extrapolated_as_on_the_cpu(n_topics, width, reach, dtype):
    import cupy

    rng = np.random.default_rng(0)
    now, before = np.zeros((2, 301, width), dtype)
    now[:, :n_topics] = rng.gamma(0.3, size=(301, n_topics))
    before[:, :n_topics] = rng.gamma(0.3, size=(301, n_topics))
    now[7] = 0
    here = before.copy()
    extrapolate_rows(0, len(now), now, n_topics, tuple(reach), here)
    there, plain = cupy.asarray(before), cupy.asarray(now)[:, :n_topics]
    fresh = extrapolate(plain, there[:, :n_topics], reach)
    extrapolate(plain, there[:, :n_topics], reach, out=there[:, :n_topics])
    np.testing.assert_allclose(there.get(), here, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(fresh.get(), there.get()[:, :n_topics])
