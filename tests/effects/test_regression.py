"""Least squares and pooling against plain loops."""

import numpy as np
import pytest
from scipy import stats

from topicfold.effects.regression import (
    LeastSquares,
    adjusted,
    check_covariance,
    degrees_of_freedom,
    pool,
)
from topicfold.exceptions import DataError


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    design = np.c_[np.ones(40), rng.normal(size=(40, 2))]
    outcomes = rng.normal(size=(40, 3)) * (1 + np.abs(design[:, 1:2]))
    return design, outcomes, rng.uniform(0.5, 2, 40), rng.integers(0, 6, 40)


def always(free):
    """Degrees of freedom that are the same for all coefficients."""
    return lambda chosen: float(free)


def sandwich(design, weights, residual, kind):
    """One document after another."""
    pairs = zip(weights, design, strict=True)
    bread = np.linalg.inv(sum(w * np.outer(z, z) for w, z in pairs))
    n, p = design.shape
    meat = np.zeros((p, p))
    for w, z, r in zip(weights, design, residual, strict=True):
        if kind == "HC3":
            r = r / (1 - w * z @ bread @ z)
        meat += (w * r) ** 2 * np.outer(z, z)
    scale = n / (n - p) if kind == "HC1" else 1
    return scale * bread @ meat @ bread


@pytest.mark.parametrize("kind", ["HC1", "HC3"])
@pytest.mark.parametrize("weighted", [False, True])
def test_robust_errors(data, kind, weighted):
    design, outcomes, weights, _ = data
    own = weights if weighted else np.ones(40)
    least = LeastSquares(design, weights=own if weighted else None, covariance=kind)
    coefficients, covariances = least.fit(outcomes)
    for place, y in enumerate(outcomes.T):
        root = np.sqrt(own)
        b = np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0]
        np.testing.assert_allclose(coefficients[:, place], b, rtol=1e-10)
        expected = sandwich(design, own, y - design @ b, kind)
        np.testing.assert_allclose(covariances[place], expected, rtol=1e-9)


def test_classical_errors(data):
    design, outcomes, _, _ = data
    coefficients, covariances = LeastSquares(design, covariance="classical").fit(
        outcomes
    )
    rest = outcomes - design @ coefficients
    variance = (rest[:, 1] ** 2).sum() / 37
    expected = variance * np.linalg.inv(design.T @ design)
    np.testing.assert_allclose(covariances[1], expected, rtol=1e-10)


def test_clustered_errors(data):
    design, outcomes, _, clusters = data
    least = LeastSquares(design, clusters=clusters, covariance="HC1")
    coefficients, covariances = least.fit(outcomes)
    assert least.free == 5
    bread = np.linalg.inv(design.T @ design)
    for place, y in enumerate(outcomes.T):
        rest = y - design @ coefficients[:, place]
        meat = np.zeros((3, 3))
        for c in range(6):
            score = sum(design[d] * rest[d] for d in np.flatnonzero(clusters == c))
            meat += np.outer(score, score)
        expected = 6 / 5 * 39 / 37 * bread @ meat @ bread
        np.testing.assert_allclose(covariances[place], expected, rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_clustered_errors_by_leaving_each_cluster_out(data, weighted):
    design, outcomes, weights, clusters = data
    own = weights if weighted else np.ones(40)
    least = LeastSquares(design, weights=own if weighted else None, clusters=clusters)
    coefficients, covariances = least.fit(outcomes)
    root = np.sqrt(own)[:, None]
    for place, y in enumerate(outcomes.T):
        moved = []
        for c in range(6):
            rest = clusters != c
            left = (design * root)[rest], (y[:, None] * root)[rest, 0]
            b = np.linalg.lstsq(*left, rcond=None)[0]
            moved.append(b - coefficients[:, place])
        expected = 5 / 6 * sum(np.outer(m, m) for m in moved)
        np.testing.assert_allclose(covariances[place], expected, rtol=1e-8)


def test_a_cluster_per_document_is_hc1(data):
    design, outcomes, _, _ = data
    each = {"clusters": np.arange(40), "covariance": "HC1"}
    own = LeastSquares(design, **each).fit(outcomes)[1]
    hc1 = LeastSquares(design, covariance="HC1").fit(outcomes)[1]
    np.testing.assert_allclose(own, hc1, rtol=1e-10)


def test_pooling_by_rubins_rules():
    rng = np.random.default_rng(1)
    estimates = rng.normal(size=(7, 2, 1))
    covariances = np.stack([np.diag(rng.uniform(1, 2, 2))[None] for _ in range(7)])
    pooled = pool(zip(estimates, covariances, strict=True), always(50))
    values, variances = estimates[:, 1, 0], covariances[:, 0, 1, 1]
    within, between = variances.mean(), values.var(ddof=1)
    total = within + (1 + 1 / 7) * between
    estimate, error, free = pooled.combine(np.array([0.0, 1.0]), 0)
    assert estimate == pytest.approx(values.mean())
    assert error == pytest.approx(np.sqrt(total))
    assert pooled.total[0, 1, 1] == pytest.approx(total)
    # Barnard and Rubin (1999)
    share = (1 + 1 / 7) * between / total
    observed = 51 / 53 * 50 * (1 - share)
    assert free == pytest.approx(1 / (share**2 / 6 + 1 / observed))


def test_draws_that_agree_leave_the_regression_as_it_is():
    assert degrees_of_freedom(1.0, 0.0, 25, 100) == pytest.approx(101 / 103 * 100)
    same = [(np.ones((2, 1)), np.eye(2)[None])] * 5
    pooled = pool(same, always(100))
    assert pooled.combine(np.array([1.0, 0.0]), 0)[1] == pytest.approx(1.0)


def test_the_joint_test_of_one_coefficient_is_its_t_test():
    rng = np.random.default_rng(2)
    fits = [(rng.normal(size=(2, 1)), np.eye(2)[None]) for _ in range(9)]
    pooled = pool(fits, always(80))
    row = np.array([0.0, 1.0])
    estimate, error, free = pooled.combine(row, 0)
    f, own, p = pooled.joint_test(row[None], 0)
    assert f == pytest.approx((estimate / error) ** 2)
    assert own == pytest.approx(free)
    assert p == pytest.approx(2 * stats.t.sf(abs(estimate / error), free))


def test_the_joint_test_has_its_size_with_few_clusters():
    rng = np.random.default_rng(3)
    p = []
    for _ in range(2000):  # means of 4 numbers over 15 clusters, and their covariance
        spread = rng.normal(size=(15, 4))
        covariance = np.cov(spread.T)[None] / 15
        pooled = pool([(spread.mean(axis=0)[:, None], covariance)] * 2, always(14))
        p.append(pooled.joint_test(np.eye(4), 0)[2])
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.015)
    few = pool([(np.ones((3, 1)), np.eye(3)[None])] * 2, always(2))
    assert np.isnan(few.joint_test(np.eye(3), 0)[2])


def test_one_draw_has_no_error():
    pooled = pool([(np.ones((2, 1)), np.eye(2)[None])], always(10))
    estimate, error, free = pooled.combine(np.array([1.0, 0.0]), 0)
    assert estimate == 1
    assert np.isnan(error)
    assert np.isnan(free)
    assert np.isnan(pooled.joint_test(np.eye(2), 0)[2])


def test_adjusted_p_values():
    p = np.array([0.01, 0.04, 0.03, 0.5])
    np.testing.assert_allclose(adjusted(p, "holm"), [0.04, 0.09, 0.09, 0.5])
    np.testing.assert_allclose(adjusted(p, "fdr"), [0.04, 0.16 / 3, 0.16 / 3, 0.5])
    assert adjusted(p, None) is p
    with pytest.raises(DataError, match="holm"):
        adjusted(p, "bonferroni")


def test_kinds_of_errors_by_name():
    assert check_covariance(True) == "HC3"
    assert check_covariance(False) == "classical"
    assert check_covariance("HC1") == "HC1"
    with pytest.raises(DataError, match="robust is 'HC9'"):
        check_covariance("HC9")


@pytest.mark.parametrize("kind", ["HC1", "HC3"])
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_degrees_of_freedom_of_robust_errors(data, kind, clustered, weighted):
    """Satterthwaite's: twice the squared mean of a variance over its variance."""
    design, _, weights, clusters = data
    own = weights if weighted else np.ones(40)
    options = {"clusters": clusters} if clustered else {}
    least = LeastSquares(
        design, weights=own if weighted else None, covariance=kind, **options
    )
    rng = np.random.default_rng(4)
    y = rng.normal(size=(40, 5000)) / np.sqrt(own)[:, None]
    chosen = np.array([[0.0, 1.0, 0.5]])
    drawn = np.array([chosen[0] @ c @ chosen[0] for c in least.fit(y)[1]])
    expected = 2 * drawn.mean() ** 2 / drawn.var()
    bound = least.free
    assert least.freedom(chosen) == pytest.approx(min(expected, bound), rel=0.15)


def test_degrees_of_freedom_of_several_coefficients():
    rng = np.random.default_rng(5)
    design = np.c_[np.ones(300), rng.normal(size=(300, 4)) ** 2]  # few decide
    clusters = np.repeat(np.arange(30), 10)
    rows = np.eye(5)[1:]
    for options in ({}, {"clusters": clusters}):
        least = LeastSquares(design, **options)
        free = least.freedom(rows)
        assert 4 < free < 0.9 * least.free
        y = rng.normal(size=(300, 2000))
        b, covariances = least.fit(y)
        pooled = pool([(b, covariances)] * 2, least.freedom)
        p = np.array([pooled.joint_test(rows, place)[2] for place in range(2000)])
        fixed = pool([(b, covariances)] * 2, always(least.free))
        old = np.array([fixed.joint_test(rows, place)[2] for place in range(2000)])
        assert (p < 0.05).mean() == pytest.approx(0.045, abs=0.025)
        assert (old < 0.05).mean() > (p < 0.05).mean()


def test_degrees_of_freedom_of_equal_documents_are_all_there_are():
    design = np.c_[np.ones(40), np.tile([0.0, 1.0], 20)]
    least = LeastSquares(design)
    assert least.freedom(np.array([[0.0, 1.0]])) == pytest.approx(38, rel=0.06)
    plain = LeastSquares(design, covariance="classical")
    assert plain.freedom(np.array([[0.0, 1.0]])) == 38
    assert least.freedom(np.zeros((1, 2))) == 38  # no combination at all
