# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import gammaln, psi

from topicfold.engine.cpu import CpuEngine
from topicfold.learn.priors import (
    SMALLEST_PRIOR,
    alpha_from_documents,
    dirichlet_from_mean_log,
    symmetric_from_mean_log,
)


def test_dirichlet_from_mean_log_finds_the_parameters():
    rng = np.random.default_rng(0)
    alpha = np.array([0.3, 1.0, 2.5])
    samples = rng.dirichlet(alpha, size=50_000)
    found = dirichlet_from_mean_log(np.log(samples).mean(axis=0), np.ones(3))
    np.testing.assert_allclose(found, alpha, rtol=0.03)


@pytest.mark.parametrize("seed", range(8))
def test_newton_climbs_from_anywhere(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 30))
    samples = rng.dirichlet(10 ** rng.uniform(-1, 1.5, size), size=50)
    mean_log = np.log(np.maximum(samples, 1e-30)).mean(axis=0)
    start = 10 ** rng.uniform(-2, 1.5, size)

    def likelihood(alpha):
        return gammaln(alpha.sum()) - gammaln(alpha).sum() + (alpha - 1) @ mean_log

    found = dirichlet_from_mean_log(mean_log, start)
    assert likelihood(found) >= likelihood(start)
    slope = psi(found.sum()) - psi(found) + mean_log
    assert np.abs(slope[found > SMALLEST_PRIOR]).max() < 1e-5


def test_symmetric_from_mean_log_is_the_maximum():
    mean_log, size = -9.0, 50

    def loss(log_eta):
        eta = np.exp(log_eta[0])
        return -(gammaln(size * eta) - size * gammaln(eta) + size * eta * mean_log)

    best = np.exp(minimize(loss, [0.0], method="Nelder-Mead", tol=1e-12).x[0])
    for start in (1e-3, 0.1, 10.0):
        found = symmetric_from_mean_log(mean_log, size, start)
        assert found == pytest.approx(best, rel=1e-4)
    assert np.isfinite(symmetric_from_mean_log(mean_log, size, 10**20))  # of a file


@pytest.mark.parametrize("rows", [2, 10])
def test_alpha_follows_the_documents_of_a_topic_and_keeps_its_sum(monkeypatch, rows):
    monkeypatch.setattr("topicfold.engine.cpu.SUM_BLOCK", rows)
    counts = np.array([[5.0, 0.5, 0.0], [2.0, 0.25, 0.0], [0.0, 0.25, 3.0]])
    engine = CpuEngine(sparse.csr_matrix(np.eye(3)), 3, dtype=np.float64)
    packed = engine.pack_documents(counts)
    found = alpha_from_documents(engine, packed, np.array([0.1, 0.2, 0.3]))
    shares = np.array([2.0, 1.0, 1.0]) / 4
    np.testing.assert_allclose(found, 0.6 * (shares + 1 / 3) / 2, rtol=1e-12)


def test_the_prior_of_an_only_topic_stays():
    """Its share is 1 under any prior: Newton's step would divide by zero."""
    np.testing.assert_array_equal(
        dirichlet_from_mean_log(np.zeros(1), np.array([0.3])), [0.3]
    )


def test_a_step_that_lowers_the_likelihood_is_halved():
    """From far above the maximum, Newton's first step within the domain overshoots."""
    mean_log = np.array([-3.0, -0.2, -2.5])

    def likelihood(alpha):
        return gammaln(alpha.sum()) - gammaln(alpha).sum() + (alpha - 1) @ mean_log

    best = dirichlet_from_mean_log(mean_log, np.ones(3))
    for start in 10.0 ** np.random.default_rng(0).uniform(-3, 3, (40, 3)):
        found = dirichlet_from_mean_log(mean_log, start)
        assert likelihood(found) == pytest.approx(likelihood(best), abs=1e-9)
