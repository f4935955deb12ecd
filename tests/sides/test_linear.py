# SPDX-License-Identifier: BSD-3-Clause
"""Generalised linear models against scikit-learn's and against differences."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

from topicfold.evidence.response import (
    class_information,
    climb,
    curvatures,
    log_likelihoods,
    means,
    standard_errors,
    sums_at,
)

KINDS = ("real", "classes", "counts")


def fit_coefficients(kind, rows, targets, *, ridge, center=0.0, start=None, steps=300):
    def sums(coef, bent):
        return sums_at(kind, rows, targets, coef, bent)

    first = np.full((rows.shape[1], targets.shape[1]), center)
    first = first if start is None else start
    sure = kind == "real"
    options = {"ridge": ridge, "center": center, "steps": steps}
    return climb(kind, sums, first, sure=sure, **options)


def example(kind, n=300, seed=0):
    """Return mixtures, targets and the true coefficients."""
    rng = np.random.default_rng(seed)
    Z = rng.dirichlet(np.full(4, 0.4), n)
    eta = rng.normal(0, 1.5, (4, 3 if kind == "classes" else 1))
    mean = means(kind, Z @ eta)
    if kind == "real":
        targets = mean + rng.normal(0, 0.3, mean.shape)
    elif kind == "counts":
        targets = rng.poisson(mean).astype(float)
    else:
        targets = np.array([rng.multinomial(1, p) for p in mean], float)
    return Z, targets, eta


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_and_curvature_are_those_of_the_likelihood(kind):
    _, targets, _ = example(kind, n=20)
    F = np.random.default_rng(1).normal(0, 1, targets.shape)
    step = 1e-4
    for c in range(F.shape[1]):
        shift = np.zeros_like(F)
        shift[:, c] = step
        up, here, down = (
            log_likelihoods(kind, targets, F + s) for s in (shift, 0 * F, -shift)
        )
        slope = (up - down) / (2 * step)
        np.testing.assert_allclose(slope, (targets - means(kind, F))[:, c], atol=1e-6)
        assert (-(up - 2 * here + down) / step**2 <= curvatures(kind, F) + 1e-4).all()


def test_the_curvature_of_classes_is_bounded_in_every_direction():
    """That of −log p is diag p − p pᵀ, whose largest eigenvalue is a half at most."""
    F = np.random.default_rng(2).normal(0, 2, (200, 4))
    F[0] = [9.0, 9.0, -9.0, -9.0]  # two classes share the probability
    for p, bound in zip(means("classes", F), curvatures("classes", F), strict=True):
        largest = np.linalg.eigvalsh(np.diag(p) - np.outer(p, p))[-1]
        assert largest <= bound + 1e-12
    p = means("classes", F[:1])[0]
    largest = np.linalg.eigvalsh(np.diag(p) - np.outer(p, p))[-1]
    assert curvatures("classes", F[:1]) == pytest.approx([largest], rel=1e-6)


@pytest.mark.parametrize("ridge", [0.7, 60.0])
@pytest.mark.parametrize("kind", KINDS)
def test_coefficients_agree_with_scikit_learn(kind, ridge):
    Z, targets, _ = example(kind)
    found = fit_coefficients(kind, Z, targets, ridge=ridge, steps=5000)
    if kind == "real":
        peer = (
            Ridge(alpha=ridge, fit_intercept=False).fit(Z, targets[:, 0]).coef_[:, None]
        )
    elif kind == "counts":
        peer = PoissonRegressor(
            alpha=ridge / len(Z), fit_intercept=False, tol=1e-10, max_iter=5000
        )
        peer = peer.fit(Z, targets[:, 0]).coef_[:, None]
    else:
        peer = LogisticRegression(
            C=1 / ridge, fit_intercept=False, tol=1e-10, max_iter=5000
        )
        peer = peer.fit(Z, targets.argmax(axis=1)).coef_.T
    np.testing.assert_allclose(found, peer, atol=2e-3)


def test_coefficients_of_a_topic_that_no_document_has_stay_at_the_center():
    Z, targets, _ = example("counts")
    Z = np.hstack([Z, np.zeros((len(Z), 1))])
    assert fit_coefficients("counts", Z, targets, ridge=0.1, center=0.8)[-1, 0] == 0.8


def test_rare_large_counts_do_not_make_newton_diverge():
    Z, _, _ = example("counts", n=40)
    targets = np.zeros((40, 1))
    targets[0] = 1e6
    found = fit_coefficients("counts", Z, targets, ridge=0.1)
    fits = log_likelihoods("counts", targets, Z @ found).sum()
    assert fits > log_likelihoods("counts", targets, Z @ np.zeros((4, 1))).sum()


@pytest.mark.parametrize("kind", ["real", "counts"])
def test_standard_errors_are_the_spread_of_repeated_fits(kind):
    Z, _, eta = example(kind)
    rng = np.random.default_rng(3)
    mean = means(kind, Z @ eta)
    fits = []
    for _ in range(300):
        draw = rng.poisson(mean) if kind == "counts" else rng.normal(mean, 1.0)
        fits.append(fit_coefficients(kind, Z, 1.0 * draw, ridge=1e-6)[:, 0])
    information, _ = class_information(kind, Z, mean, eta)
    errors = standard_errors(information, 1e-6)[:, 0]
    np.testing.assert_allclose(errors, np.std(fits, axis=0), rtol=0.15)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ridge", [0.1, 500.0])
def test_nothing_pulls_at_the_coefficients_found(kind, ridge):
    """With the penalty far from zero; a heavy one outweighs the documents."""
    Z, targets, _ = example(kind)
    found = fit_coefficients(kind, Z, targets, ridge=ridge, center=0.8, steps=5000)
    pull = Z.T @ (targets - means(kind, Z @ found)) - ridge * (found - 0.8)
    np.testing.assert_allclose(pull, 0.0, atol=2e-3)


def test_standard_errors_of_a_class_take_the_others_as_known():
    Z, _, eta = example("classes")
    p = means("classes", Z @ eta)
    found, _ = class_information("classes", Z, p, eta)
    for c, errors in enumerate(standard_errors(found, 0.3).T):
        information = Z.T @ (Z * (p[:, [c]] * (1 - p[:, [c]]))) + 0.3 * np.eye(4)
        expected = np.sqrt(np.diag(np.linalg.inv(information)))
        np.testing.assert_allclose(errors, expected)


def test_a_heavy_penalty_outweighs_what_the_fit_gains():
    rows, targets = np.eye(2), np.array([[2.0], [4.0]])
    found = fit_coefficients("real", rows, targets, ridge=10.0)
    np.testing.assert_allclose(found, targets / 11)
    found = fit_coefficients("real", rows, targets, ridge=10.0, center=-1.0)
    np.testing.assert_allclose(found, (targets - 10) / 11)


def test_counts_are_fitted_by_newtons_steps():
    """Quadratic convergence: few steps are enough, from a bad start as well."""
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(3), size=80)
    targets = rng.poisson(np.exp(rows @ [0.5, 2.0, 3.0]))[:, None].astype(float)
    for start, ridge in ((None, 0.1), (np.full((3, 1), -4.0), 50.0)):
        coef = fit_coefficients(
            "counts", rows, targets, ridge=ridge, center=1.0, start=start, steps=9
        )
        slope = rows.T @ (targets - np.exp(rows @ coef)) - ridge * (coef - 1.0)
        np.testing.assert_allclose(slope, 0.0, atol=1e-6)
