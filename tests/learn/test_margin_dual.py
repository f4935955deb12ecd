# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from sklearn.svm import LinearSVC

from topicfold.learn.medlda import MarginDual


def problem(n_documents, n_classes, n_features, seed=0):
    """Mixtures that lean to their class, with some labels wrong."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n_documents)
    lean = 0.3 + 2.0 * (np.arange(n_features) % n_classes == labels[:, None])
    features = np.array([rng.dirichlet(row) for row in lean])
    labels[: n_documents // 10] = rng.integers(0, n_classes, n_documents // 10)
    return features, labels


PROBLEMS = [(12, 2, 3, 1.0, 1.0), (60, 4, 6, 2.0, 1.0), (50, 3, 3, 20.0, 32.0)]


@pytest.fixture(params=PROBLEMS, ids=["two classes", "four classes", "few features"])
def solved(request):
    n_documents, n_classes, n_features, cost, loss = request.param
    features, labels = problem(n_documents, n_classes, n_features)
    dual = MarginDual(labels, n_classes, n_features, cost=cost, loss=loss)
    violation = dual.solve(features, tol=1e-9, max_sweeps=20_000)
    assert violation <= 1e-9
    return features, labels, dual


def dual_objective(dual):
    """``−½ Σ_y ‖η_y‖² + ℓ Σ_d Σ_{y≠y_d} μ_dy``."""
    squared = (dual.weights**2).sum()
    return dual.loss * np.maximum(dual.duals, 0).sum() - 0.5 * squared


def test_optimality_conditions(solved):
    features, labels, dual = solved
    n_documents, n_classes = dual.duals.shape
    own = np.eye(n_classes, dtype=bool)[labels]
    # Primal from dual, and a feasible dual.
    np.testing.assert_allclose(dual.weights, dual.duals.T @ features, atol=1e-12)
    np.testing.assert_allclose(dual.duals.sum(axis=1), 0, atol=1e-9 * dual.cost)
    multipliers = -dual.duals[~own].reshape(n_documents, -1)
    assert (multipliers >= -1e-12).all()
    assert (dual.duals[own] <= dual.cost * (1 + 1e-12)).all()
    # Complementary slackness: a multiplier is positive only where its constraint is
    # the slack's, and a document with slack has multipliers that sum to C.
    scores = features @ dual.weights.T
    margins = dual.loss * ~own + scores - scores[own][:, None]
    slack = margins.max(axis=1)
    np.testing.assert_allclose(dual.slacks(features), slack, atol=1e-12)
    loose = (slack[:, None] - margins)[~own].reshape(n_documents, -1)
    assert (np.minimum(loose / dual.loss, multipliers / dual.cost) < 1e-7).all()
    idle = dual.cost - dual.duals[own]
    assert (np.minimum(slack / dual.loss, idle / dual.cost) < 1e-7).all()
    assert (slack > 1e-3 * dual.loss).any()
    assert (idle > 1e-3 * dual.cost).any()


def test_no_gap_between_primal_and_dual(solved):
    features, _, dual = solved
    assert dual.objective(features) == pytest.approx(dual_objective(dual), rel=1e-7)
    rng = np.random.default_rng(1)
    best, weights = dual.objective(features), dual.weights
    for _ in range(20):
        dual.weights = weights + 0.1 * rng.normal(size=weights.shape)
        assert dual.objective(features) > best


def test_equals_the_solver_of_scikit_learn():
    features, labels = problem(80, 3, 5)
    dual = MarginDual(labels, 3, 5, cost=3.0, loss=1.0)
    dual.solve(features, tol=1e-8, max_sweeps=20_000)
    svm = LinearSVC(
        multi_class="crammer_singer",
        C=3.0,
        fit_intercept=False,
        tol=1e-7,
        max_iter=100_000,
        random_state=0,
    ).fit(features, labels)
    np.testing.assert_allclose(dual.weights, svm.coef_, atol=1e-5)


def test_loss_and_cost_scale_the_solution():
    features, labels = problem(40, 3, 4)
    one = MarginDual(labels, 3, 4, cost=2.0, loss=1.0)
    ten = MarginDual(labels, 3, 4, cost=20.0, loss=10.0)
    for dual in (one, ten):
        dual.solve(features, tol=1e-9, max_sweeps=20_000)
    np.testing.assert_allclose(ten.weights, 10 * one.weights, atol=1e-6)


def test_a_sweep_never_lowers_the_dual_and_goes_on_where_it_was():
    features, labels = problem(60, 4, 6)
    dual = MarginDual(labels, 4, 6, cost=2.0, loss=1.0)
    values = [0.0]
    for _ in range(15):
        dual.solve(features, tol=0.0, max_sweeps=1)
        values.append(dual_objective(dual))
    assert (np.diff(values) >= -1e-10).all()
    whole = MarginDual(labels, 4, 6, cost=2.0, loss=1.0)
    whole.solve(features, tol=0.0, max_sweeps=15)
    np.testing.assert_allclose(whole.weights, dual.weights, atol=1e-10)


def test_documents_without_label_or_words_have_no_say():
    features, labels = problem(40, 3, 4)
    more = np.vstack([features, features[:5][:, ::-1], np.zeros((2, 4))])
    unknown = np.r_[labels, np.full(5, -1), [0, 1]]
    dual = MarginDual(labels, 3, 4, cost=2.0, loss=1.0)
    other = MarginDual(unknown, 3, 4, cost=2.0, loss=1.0)
    dual.solve(features, tol=1e-9, max_sweeps=20_000)
    other.solve(more, tol=1e-9, max_sweeps=20_000)
    np.testing.assert_array_equal(dual.weights, other.weights)
    assert (other.duals[40:] == 0).all()
    np.testing.assert_array_equal(other.slacks(more)[40:], [0, 0, 0, 0, 0, 1, 1])
