# SPDX-License-Identifier: BSD-3-Clause
"""The logistic normal: kernels against the equations, and what the step promises."""

import logistic_normal_reference as reference
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from topicfold import PLSA, StructuralLDA
from topicfold.exceptions import DataError
from topicfold.learn import Resume
from topicfold.persistence import read_bundle, write_bundle
from topicfold.phi import DirichletPhi
from topicfold.theta import LogisticNormalTheta
from topicfold.theta import logistic_normal as kernels


def drawn(n_topics, n_documents=40, n_terms=50, seed=0):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_terms, 0.2), n_topics)
    root = rng.normal(size=(n_topics - 1, n_topics - 1)) / np.sqrt(n_topics)
    sigma = root @ root.T + 0.5 * np.eye(n_topics - 1)
    design = np.column_stack([np.ones(n_documents), rng.integers(0, 2, n_documents)])
    gamma = rng.normal(size=(2, n_topics - 1))
    eta = design @ gamma + rng.multivariate_normal(
        np.zeros(len(sigma)), sigma, n_documents
    )
    theta = np.exp(np.column_stack([eta, np.zeros(n_documents)]))
    theta /= theta.sum(axis=1, keepdims=True)
    X = np.array([rng.multinomial(120, row @ topics) for row in theta], dtype=float)
    return X, topics, theta, design, gamma, sigma


def csr(X):
    X = sparse.csr_matrix(X)
    return X.indptr, X.indices, X.data


@pytest.mark.parametrize("n_topics", [2, 3, 9, 20, 50])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_modes_are_those_of_the_equations(n_topics, dtype):
    _, _, theta, design, gamma, sigma = drawn(n_topics)
    precision = np.linalg.inv(sigma)
    counts = (theta * 80).astype(dtype)
    start = np.full_like(counts, 1 / n_topics)
    out = np.empty_like(counts)
    limits = 60, 6, 1e-9
    arguments = counts, start, design, gamma, precision, limits, out
    kernels.mode_rows(0, len(out), *arguments)
    expected = reference.modes(counts.astype(float), design @ gamma, precision)
    assert_allclose(out, expected, atol=2e-6)


def test_no_step_lowers_a_documents_value_and_ranges_do_not_matter():
    _, _, theta, design, gamma, sigma = drawn(20)
    precision, rng = np.linalg.inv(sigma), np.random.default_rng(1)
    counts = rng.poisson(3, theta.shape) * 1.0
    counts[3] = 0
    at, means = rng.dirichlet(np.full(20, 0.05), len(theta)), design @ gamma
    at = np.maximum(at, 1e-30)

    def values(mixtures):
        eta = reference.natural(np.maximum(mixtures, 1e-30))
        rows = zip(eta, counts, means, strict=True)
        return np.array([reference.value(e, c, m, precision) for e, c, m in rows])

    for _ in range(40):
        out, parts = np.empty_like(at), np.empty_like(at)
        arguments = counts, at, design, gamma, precision, (1, 6, 0.0)
        kernels.mode_rows(0, len(at), *arguments, out)
        for start, stop in ((0, 7), (7, 8), (8, len(at))):
            kernels.mode_rows(start, stop, *arguments, parts)
        assert (parts == out).all()
        before = values(at)  # that of document 3, without words, goes to zero
        assert (values(out) >= before - 1e-9 * (abs(before) + 1e-3)).all()
        at = out
    # Without words, the mode is the mean of the covariates.
    assert_allclose(reference.natural(at[3:4])[0], means[3], atol=1e-3)


@pytest.mark.parametrize("n_topics", [2, 3, 20])
def test_covariances_and_bound_are_those_of_the_equations(n_topics):
    X, topics, theta, design, gamma, sigma = drawn(n_topics)
    sigma = sigma / 50  # no curvature away from the modes is negative then
    precision, zeros = np.linalg.inv(sigma), np.zeros(len(X))
    total = np.zeros_like(precision)
    words = csr(X), zeros, np.ascontiguousarray(topics.T), theta, precision, total
    value, known, full = kernels.covariance_sums(*words)
    expected, expected_value = reference.covariances(X, topics, theta, precision)
    assert_allclose(np.tril(total), np.tril(expected), rtol=1e-9, atol=1e-12)
    assert_allclose(value, expected_value, rtol=1e-10)
    assert 0 < known < full
    step = LogisticNormalTheta()
    step.start(2, n_topics)
    step.gamma_, step.sigma_, step.columns_ = gamma, sigma, []
    data = type("Known", (), {"design": design})
    bound = step.bound(theta, X, topics, data)
    exact = reference.bound(X, topics, theta, design @ gamma, sigma)
    assert_allclose(bound, exact, rtol=1e-10)


def test_away_from_a_mode_a_curvature_is_still_one():
    topics = np.array([[0.9, 0.1], [0.1, 0.9]])
    X, theta = np.array([[50.0, 50.0]]), np.array([[0.999, 0.001]])
    precision, total = np.array([[0.01]]), np.zeros((1, 1))
    assert reference.curvature(X[0], topics, theta[0], precision)[0, 0] < 0
    kernels.covariance_sums(
        csr(X), np.zeros(1), topics.T.copy(), theta, precision, total
    )
    assert_allclose(total, 1 / (0.01 + 100 * 0.999 * 0.001))


def test_draws_have_the_mode_and_the_covariance():
    X, topics, theta, _, _, sigma = drawn(4, n_documents=5)
    step = LogisticNormalTheta()
    step.start(1, 4)
    step.sigma_ = sigma
    rng = np.random.RandomState(0)
    draws = step.draws(theta, 4000, rng, lengths=X.sum(1), words=X, topics=topics)
    assert_allclose(draws.sum(axis=2), 1.0, rtol=1e-5)
    for d in range(5):
        eta = reference.natural(draws[:, d].astype(float))
        H = reference.curvature(X[d], topics, theta[d], np.linalg.inv(sigma))
        expected = np.linalg.inv(H)
        assert_allclose(eta.mean(axis=0), reference.natural(theta)[d], atol=0.1)
        assert_allclose(np.cov(eta.T), expected, atol=0.1 * np.abs(expected).max())


@pytest.mark.parametrize("n_topics", [2, 3, 9, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_objective_rises_between_passes_that_take_covariances(n_topics, dtype):
    X, _, _, design, *_ = drawn(n_topics, n_documents=80)
    step = LogisticNormalTheta()
    options = {"max_iter": 40, "tol": 0.0, "random_state": 0}
    model = PLSA(n_topics, theta_step=step, phi_step=DirichletPhi(1.01), **options)
    model.fit(sparse.csr_matrix(X, dtype=dtype), prevalence=design[:, 1])
    gains = np.diff(model.objective_history_)
    least = -(2e-6 if dtype == np.float32 else 1e-10) * abs(model.objective_history_[0])
    plain = [p for p in range(40) if not step.takes_covariances(p)]
    assert len(plain) > 20
    assert (gains[plain] >= least).all()
    assert step.takes_covariances(0)
    assert not any(step.takes_covariances(p) for p in range(101, 300))


def test_gamma_and_sigma_are_the_best_for_the_documents():
    _, _, theta, design, _, _ = drawn(3, n_documents=200)
    step = LogisticNormalTheta(ridge=0.0)
    step.start(2, 3)
    step.n_documents_, step.laplace_ = 200.0, np.diag([0.2, 0.3])
    eta = reference.natural(theta)
    moments = design.T @ design, design.T @ eta, eta.T @ eta
    step.learn((*moments, np.zeros((2, 2)), 0.0, 0.0, 0.0, 0.0), None)
    gamma = np.linalg.lstsq(design, eta, rcond=None)[0]
    rest = eta - design @ gamma
    assert_allclose(step.gamma_, gamma)
    assert_allclose(step.sigma_, rest.T @ rest / 200 + np.diag([0.2, 0.3]))
    correlated = step.correlations()
    assert_allclose(np.diag(correlated), 1.0)
    centred = np.log(theta) - np.log(theta).mean(axis=1, keepdims=True)
    step.laplace_[:] = 0
    step.learn((*moments, np.zeros((2, 2)), 0.0, 0.0, 0.0, 0.0), None)
    centred -= design @ np.linalg.lstsq(design, centred, rcond=None)[0]
    assert_allclose(step.correlations(), np.corrcoef(centred.T), atol=1e-9)


@pytest.mark.filterwarnings("ignore:These features follow")
def test_bad_covariates_are_refused():
    X = np.ones((3, 4))
    step = LogisticNormalTheta()
    with pytest.raises(DataError, match="prevalence has 5 columns"):
        PLSA(2, theta_step=step).fit(
            X, prevalence=np.random.default_rng(0).random((3, 4))
        )
    with pytest.raises(DataError, match="2 rows, but X has 3 documents"):
        PLSA(2, theta_step=step).fit(X, prevalence={"a": [1, 2]})
    model = PLSA(2, theta_step=step, random_state=0).fit(X)
    with pytest.raises(DataError, match="the fit had no covariates"):
        model.transform(X, prevalence=[1, 2, 3])


def test_a_number_of_documents_from_elsewhere_is_no_stride_for_scipy(tmp_path):
    X = sparse.csr_matrix(np.random.default_rng(0).poisson(1.0, (12, 8)))
    options = {"init": "random", "tol": 0, "random_state": 0}
    StructuralLDA(3, max_iter=2, callbacks=[Resume(tmp_path)], **options).fit(X)
    (state,) = tmp_path.rglob("state.safetensors")
    bundle = read_bundle(state)
    bundle.meta["values"]["side theta_step n_documents_"] = 1e20
    state.unlink()
    write_bundle(state, kind=bundle.kind, arrays=bundle.arrays, meta=bundle.meta)
    model = StructuralLDA(3, max_iter=4, callbacks=[Resume(tmp_path)], **options)
    assert np.isfinite(model.fit(X).components_).all()
