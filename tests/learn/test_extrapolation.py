# SPDX-License-Identifier: BSD-3-Clause
"""Extrapolated passes: the same end in fewer of them, and never a fall."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from topicfold import LDA, PLSA, OrthogonalPLSA
from topicfold.corpus.blocks import BlockMatrix
from topicfold.engine import make_engine
from topicfold.engine.kernels import LEAST_PART
from topicfold.learn import learner, run_em
from topicfold.learn.initial import initial_topics
from topicfold.learn.learner import Learner, Variational
from topicfold.learn.loop import (
    EM_FLOOR,
    FIRST,
    MORE,
    MOST,
    Extrapolation,
    Point,
    Reach,
    beyond_documents,
    beyond_rows,
)
from topicfold.phi import OrthogonalPhi


def reference(now, before, reach):
    """Extrapolate rows as the module's equation says."""
    rows = np.maximum(now + reach.beta * (now - before), LEAST_PART * now)
    totals = now.sum(axis=1, keepdims=True)
    rows = np.maximum(
        rows, reach.floor * (totals if reach.keeps_totals else totals > 0)
    )
    if reach.keeps_totals:
        rows *= totals / np.maximum(rows.sum(axis=1, keepdims=True), 1e-300)
    return rows


@pytest.mark.parametrize(
    "reach", [Reach(0.8, 0.0, True), Reach(0.8, 0.02, True), Reach(0.8, 0.02, False)]
)
@pytest.mark.parametrize("n_topics", [3, 9, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_those_of_the_equation(planted, n_topics, dtype, reach):
    X = planted[0].astype(dtype)
    rng = np.random.default_rng(0)
    now, before = rng.gamma(0.3, size=(2, X.shape[0], n_topics)).astype(dtype)
    now[3] = before[3] = 0
    found = []
    for n_jobs in (1, 3):
        engine = make_engine(X, n_topics, dtype=dtype, n_jobs=n_jobs)
        packed = [engine.pack_documents(rows) for rows in (now, before)]
        rows = beyond_rows(engine, *packed, reach)
        assert not rows[:, n_topics:].any()
        found.append(engine.unpack_documents(rows))
    np.testing.assert_array_equal(*found)
    exact = reference(now.astype(float), before.astype(float), reach)
    np.testing.assert_allclose(found[0], exact, rtol=1e-5)


def test_blocks_give_the_same_bits(planted, tmp_path):
    X = planted[0].astype(np.float32)
    rng = np.random.default_rng(1)
    now, before = rng.gamma(0.3, size=(2, X.shape[0], 9)).astype(np.float32)
    found = []
    for corpus in (X, BlockMatrix.write(tmp_path / "blocks", X, block_size=70)):
        engine = make_engine(corpus, 9)
        packed = [engine.pack_documents(rows) for rows in (now, before)]
        rows = beyond_documents(engine, *packed, Reach(0.7, 0.01, True))
        found.append(np.array(engine.unpack_documents(rows)))
    np.testing.assert_array_equal(*found)


def posterior_mode(X, extrapolated, max_iter):
    """Fit the posterior mode, an EM algorithm; return it and the objectives."""
    engine = make_engine(X, 9, dtype=X.dtype)
    phi = initial_topics(X, 9, "random", np.random.RandomState(0))
    options = {"doc_updates": 0, "doc_tol": 0.0, "learn_priors": False}
    algorithm = Learner(engine, phi, alpha=np.full(9, 0.1), eta=0.05, **options)
    if extrapolated:
        algorithm.extrapolation = Extrapolation(algorithm)
    return algorithm, run_em(algorithm, max_iter=max_iter, tol=0).history


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_em_objective_never_falls_and_rises_faster(planted, dtype):
    X = planted[0].astype(dtype)
    algorithm, history = posterior_mode(X, True, 60)
    plain = posterior_mode(X, False, 60)[1]
    slack = (1e-6 if dtype is np.float32 else 1e-12) * abs(history[0])
    assert (np.diff(history) >= -slack).all()
    assert history[1] == pytest.approx(plain[1], rel=1e-6)
    assert history[30] > plain[60]
    assert 0 < algorithm.extrapolation.beta <= MOST


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_floor_lets_words_come_back_to_topics(planted, dtype, monkeypatch):
    X = planted[0].astype(dtype)
    ends = []
    for floor in (EM_FLOOR, 0.0):
        monkeypatch.setattr(learner, "EM_FLOOR", floor)
        model = PLSA(9, init="random", max_iter=150, tol=0, random_state=0).fit(X)
        history = np.array(model.objective_history_)
        slack = (1e-6 if dtype is np.float32 else 1e-12) * abs(history[0])
        assert (np.diff(history) >= -slack).all()
        ends.append(history[-1])
    assert ends[0] > ends[1] + 0.001 * abs(ends[1])


def test_orthogonal_topics_end_higher_than_by_plain_passes(planted, monkeypatch):
    X, histories = planted[0].astype(float), []
    for extrapolates in (True, False):
        monkeypatch.setattr(OrthogonalPhi, "extrapolates", extrapolates)
        options = {"max_iter": 60, "tol": 0, "random_state": 0}
        model = OrthogonalPLSA(9, init="random", **options).fit(X)
        histories.append(np.array(model.objective_history_))
        assert (np.diff(histories[-1]) >= -1e-12 * abs(histories[-1][0])).all()
    assert histories[0][30] > histories[1][60]


@pytest.mark.parametrize("learn_priors", [False, True])
def test_the_bound_rises_faster_and_never_falls(planted, monkeypatch, learn_priors):
    X, histories = planted[0].astype(float), []
    for extrapolated in (True, False):
        if not extrapolated:
            monkeypatch.setattr(Variational, "extrapolated", lambda self: self)
        options = {"max_iter": 60, "tol": 0, "learn_priors": learn_priors}
        model = LDA(
            9, algorithm="variational", random_state=0, init="random", **options
        )
        histories.append(np.array(model.fit(X).objective_history_))
        assert (np.diff(histories[-1]) >= -1e-10 * abs(histories[-1][0])).all()
    assert histories[0][30] > histories[1][60]


@pytest.mark.parametrize("seed", [1, 2])
def test_the_bound_ends_as_high_as_by_plain_passes(monkeypatch, seed):
    """Words that the first passes took from topics by haste hardly came back."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(400, 0.05), 8)
    theta = rng.dirichlet(np.full(8, 0.2), 300)
    X = np.array([rng.multinomial(40, row) for row in theta @ topics], dtype=float)
    ends = []
    for extrapolated in (True, False):
        if not extrapolated:
            monkeypatch.setattr(Variational, "extrapolated", lambda self: self)
        options = {"max_iter": 60 if extrapolated else 150, "tol": 0}
        model = LDA(8, algorithm="variational", random_state=0, **options).fit(X)
        ends.append(model.objective_history_[-1] / X.sum())
    assert ends[0] > ends[1]


class Overshooting:
    """A pass that goes half of the way to zero; the objective hates what is beyond."""

    def __init__(self):
        X = sparse.csr_matrix(np.ones((1, 3)))
        self.engine = make_engine(X, 2, dtype=np.float64)
        self.at = np.array([[8.0, 1.0]])
        self.passes = []

    def advance(self):
        """Half of the way."""
        self.at = self.at * [0.5, 1.0]

    def point(self):
        """Return the only row, and topics."""
        return Point(self.at, self.engine.pack_topics(np.full((2, 3), 1 / 3)))

    def move_to(self, point):
        """Note where the pass begins."""
        self.at = point.documents

    def evaluate(self):
        """Only halves of halves are liked."""
        self.passes.append(self.at[0, 0] / self.at.sum())
        halves = 8.0 * 0.5 ** np.arange(20)
        shares = halves / (1.0 + halves)
        near = abs(shares - self.passes[-1]).min() < 1e-12
        return float(len(self.passes)) if near else -1.0


def test_a_fall_takes_the_plain_step_and_halves_beta():
    algorithm = Overshooting()
    extrapolation = Extrapolation(algorithm)
    value = extrapolation.iterate(0.0)  # nothing to extrapolate from yet
    assert (value, len(algorithm.passes)) == (1.0, 1)
    value = extrapolation.iterate(value)
    assert algorithm.at.tolist() == [[2.0, 1.0]]
    assert (value, len(algorithm.passes)) == (3.0, 3)
    assert extrapolation.beta == pytest.approx(0.55 / 2)


def test_after_topics_were_merged_and_split_a_fall_is_no_reason_to_slow_down():
    algorithm = Overshooting()
    extrapolation = Extrapolation(algorithm)
    extrapolation.iterate(0.0)
    extrapolation.begin_again()
    value = extrapolation.iterate(100.0)  # of other topics
    assert (value, len(algorithm.passes)) == (2.0, 2)
    assert extrapolation.beta == pytest.approx(FIRST + MORE)


@pytest.mark.parametrize("n_topics", [4, 9])
def test_the_bits_of_a_fit_do_not_depend_on_threads(planted, n_topics):
    fits = [
        LDA(n_topics, max_iter=25, tol=0, random_state=0, n_jobs=n).fit(planted[0])
        for n in (1, 2, 5)
    ]
    for model in fits[1:]:
        np.testing.assert_array_equal(model.doc_topics_, fits[0].doc_topics_)
        np.testing.assert_array_equal(model.components_, fits[0].components_)


def test_lda_finds_planted_mixtures():
    """At a stop that looks at the likelihood alone the error is twice as large."""
    rng = np.random.default_rng([1, 12])
    phi = rng.dirichlet(np.full(500, 0.1), size=12)
    theta = rng.dirichlet(np.full(12, 0.1), size=600)
    X = np.array([rng.multinomial(100, row / row.sum()) for row in theta @ phi])
    model = LDA(12, random_state=0).fit(X.astype(np.float32))
    order = linear_sum_assignment(-(theta.T @ model.doc_topics_))[1]
    error = model.doc_topics_[:, order] - theta
    assert np.sqrt((error**2).sum(axis=1).mean()) < 0.11
    assert model.converged_
    assert model.n_iter_ <= 60


def test_a_fit_goes_on_while_mixtures_move():
    class Algorithm:
        passes = 0

        def start(self):
            return -1.0

        def iterate(self):
            self.passes += 1
            return -1.0

        def moved(self):
            return 1.0 / self.passes

    result = run_em(Algorithm(), max_iter=50, tol=0.01)
    assert result.converged
    assert result.n_iter == 10
