# SPDX-License-Identifier: BSD-3-Clause
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from tests_support import matched_overlap

from topicfold import (
    PLSA,
    DiscriminativePLSA,
    LocallyConsistentPLSA,
    OrthogonalPLSA,
)
from topicfold.exceptions import DataError, EmptyDocumentWarning
from topicfold.phi import DirichletPhi, OrthogonalPhi
from topicfold.theta import (
    DirichletTheta,
    LaplacianTheta,
    LocallyConsistentTheta,
    ThetaStep,
)
from topicfold.theta.graph import GraphOperator, GraphState


@pytest.mark.parametrize("init", ["random", "documents", "svd"])
def test_finds_planted_topics(planted, init):
    X, _, topics = planted
    model = PLSA(4, init=init, random_state=1).fit(X)
    assert matched_overlap(model.components_, topics) > 0.9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "steps",
    [{}, {"theta_step": DirichletTheta(1.5)}, {"phi_step": DirichletPhi(1.1)}],
    ids=["plain", "theta prior", "phi prior"],
)
def test_objective_never_falls(planted, dtype, steps):
    X = planted[0].astype(dtype)
    model = PLSA(6, max_iter=60, tol=0, random_state=0, **steps).fit(X)
    history = np.array(model.objective_history_)
    slack = (1e-6 if dtype is np.float32 else 1e-12) * abs(history[0])
    assert len(history) == model.n_iter_ + 1 == 61
    assert (np.diff(history) >= -slack).all()
    assert history[-1] > history[0]


def test_objective_is_the_log_likelihood_of_the_fitted_parameters(planted):
    X = planted[0].astype(float)
    model = PLSA(4, max_iter=20, random_state=0).fit(X)
    p = model.doc_topics_ @ model.components_
    rows, columns = X.nonzero()
    exact = X.data @ np.log(p[rows, columns])
    assert model.objective_history_[-1] == pytest.approx(exact, rel=1e-9)


def test_is_the_fixed_point_of_kl_nmf(planted):
    X = planted[0].astype(float)
    model = PLSA(4, max_iter=4000, tol=1e-13, random_state=0).fit(X)
    lengths = X.sum(axis=1).A1
    nmf = NMF(
        4,
        init="custom",
        solver="mu",
        beta_loss="kullback-leibler",
        max_iter=1,
        tol=0,
    )
    W0 = np.maximum(model.doc_topics_ * lengths[:, None], 1e-12)
    H0 = np.maximum(model.components_, 1e-12)
    W = nmf.fit_transform(X, W=W0.copy(), H=H0.copy())
    np.testing.assert_allclose(W @ nmf.components_, W0 @ H0, rtol=1e-3, atol=1e-5)


def test_one_em_step_equals_kl_nmf_updates():
    """W then H updated by the same responsibilities is PLSA up to scaling."""
    rng = np.random.default_rng(2)
    X = rng.poisson(1.0, size=(9, 7)).astype(float) + 0.1
    phi = rng.dirichlet(np.ones(7), size=3)
    model = PLSA(3, init=phi, max_iter=1, tol=0).fit(X)
    theta = np.full((9, 3), 1 / 3)
    ratio = X / (theta @ phi)
    new_theta = theta * (ratio @ phi.T)
    new_phi = phi * (theta.T @ ratio)
    np.testing.assert_allclose(
        model.doc_topics_, new_theta / new_theta.sum(axis=1, keepdims=True), rtol=1e-9
    )
    np.testing.assert_allclose(
        model.components_, new_phi / new_phi.sum(axis=1, keepdims=True), rtol=1e-9
    )


def test_plain_plsa_goes_on_until_mixtures_have_settled():
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(200, 0.1), 20)
    theta = rng.dirichlet(np.full(20, 0.2), 300)
    X = np.vstack([rng.multinomial(80, row) for row in theta @ phi]).astype(float)
    X[7] = 0  # has no mixture that could move
    tol = 1e-5
    with pytest.warns(EmptyDocumentWarning):
        model = PLSA(20, tol=tol, random_state=0).fit(X)
    assert model.converged_
    changes = np.abs(np.diff(model.objective_history_) / model.objective_history_[1:])
    assert np.flatnonzero(changes <= tol)[0] + 1 < model.n_iter_
    used = np.arange(300) != 7
    theta, phi, X = model.doc_topics_[used], model.components_, X[used]
    after = theta * ((X / (theta @ phi)) @ phi.T) / X.sum(axis=1, keepdims=True)
    assert np.abs(after - theta).sum(axis=1).mean() / 2 <= 10 * tol


def test_kkt_residual_is_what_another_em_step_would_change(planted):
    X = planted[0].astype(float)
    dense, residuals = X.toarray(), []
    for tol in (1e-4, 1e-9):
        model = PLSA(4, random_state=0, tol=tol, max_iter=3000).fit(X)
        theta, phi = model.doc_topics_, model.components_
        ratio = dense / (theta @ phi)
        new_theta = theta * (ratio @ phi.T) / dense.sum(axis=1, keepdims=True)
        new_phi = phi * (theta.T @ ratio)
        new_phi /= new_phi.sum(axis=1, keepdims=True)
        change = max(np.abs(new_theta - theta).max(), np.abs(new_phi - phi).max())
        assert model.kkt_residual_ == pytest.approx(change, rel=1e-6)
        residuals.append(change)
    assert residuals[1] < 0.1 * residuals[0]
    smoothed = PLSA(4, theta_step=DirichletTheta(1.5), random_state=0).fit(X)
    assert not hasattr(smoothed, "kkt_residual_")


def rows_and_steps():
    """Return rows of nine topics, a step each, and its context."""
    rng = np.random.default_rng(0)
    graph = sparse.random(12, 12, 0.3, random_state=0)
    state = GraphState(GraphOperator(graph + graph.T, 9), 3.0)
    theta, phi = rng.dirichlet(np.ones(9), 12), rng.dirichlet(np.ones(15), 9).T
    return [
        (theta, LaplacianTheta(), SimpleNamespace(state=state)),
        (theta, LocallyConsistentTheta(), SimpleNamespace(state=state)),
        (phi, OrthogonalPhi(), SimpleNamespace(state=2.0)),
    ]


@pytest.mark.parametrize(("rows", "step", "context"), rows_and_steps())
def test_pull_is_rows_times_the_gradient_of_the_value(rows, step, context):
    slopes = np.zeros_like(rows)
    for place in np.ndindex(rows.shape):
        change = np.zeros_like(rows)
        change[place] = 1e-6
        ends = [step.value(rows + sign * change, context) for sign in (1, -1)]
        slopes[place] = (ends[0] - ends[1]) / 2e-6
    np.testing.assert_allclose(step.pull(rows, context), rows * slopes, atol=1e-4)


def test_kkt_residual_counts_what_steps_add_to_the_objective(planted):
    X, options = planted[0].astype(float), {"random_state": 0, "max_iter": 1000}
    loose, tight = (OrthogonalPLSA(4, tol=t, **options).fit(X) for t in (1e-4, 1e-9))
    assert tight.kkt_residual_ < 1e-4 < loose.kkt_residual_
    assert 0 < LocallyConsistentPLSA(4, random_state=0).fit(X).kkt_residual_ < 1
    assert not hasattr(DiscriminativePLSA(4, random_state=0).fit(X), "kkt_residual_")


def test_transform_agrees_with_training_mixtures(planted):
    X = planted[0].astype(float)
    model = PLSA(4, max_iter=2000, tol=1e-10, doc_tol=1e-8)
    model.max_doc_updates = 5000
    theta = model.set_params(random_state=0).fit_transform(X)
    np.testing.assert_array_equal(model.transform(X), theta)
    np.testing.assert_allclose(model.doc_topics_, theta, atol=5e-3)


def test_input_is_not_changed():
    X = sparse.csr_matrix(
        (np.array([1.0, 0.0, 2.0, 3.0]), np.array([1, 0, 2, 2]), np.array([0, 2, 4])),
        shape=(2, 3),
    )
    before = (X.data.copy(), X.indices.copy(), X.indptr.copy())
    PLSA(2, max_iter=2, random_state=0).fit(X)
    for old, now in zip(before, (X.data, X.indices, X.indptr), strict=True):
        np.testing.assert_array_equal(old, now)


def test_weight_two_is_the_row_twice(planted):
    X = planted[0][:50].astype(float)
    weighted = X.copy()
    weighted.data *= np.where(np.repeat(np.arange(50), np.diff(X.indptr)) < 10, 2, 1)
    phi = PLSA(3, max_iter=1, random_state=0).fit(X).components_
    options = {"init": phi, "max_iter": 10, "tol": 0}
    doubled = PLSA(3, **options).fit(sparse.vstack([X, X[:10]]).tocsr())
    np.testing.assert_allclose(
        doubled.components_, PLSA(3, **options).fit(weighted).components_, atol=1e-10
    )


def test_empty_documents_get_uniform_mixtures_and_one_warning(ragged):
    model = PLSA(4, max_iter=5, random_state=0)
    with pytest.warns(EmptyDocumentWarning, match="3 of 40 documents have no word"):
        model.fit(ragged)
    np.testing.assert_allclose(model.doc_topics_[0], 0.25)
    with pytest.warns(EmptyDocumentWarning, match="1 of 1"):
        np.testing.assert_allclose(model.transform(sparse.csr_matrix((1, 50))), 0.25)


def test_unknown_words_are_ignored(planted):
    X = planted[0].tolil()
    X[:, 0] = 0
    model = PLSA(4, max_iter=50, random_state=0).fit(X.tocsr())
    new = np.zeros((2, X.shape[1]))
    new[:, 5] = 4
    new[1, 0] = 7
    theta = model.transform(new)
    np.testing.assert_allclose(theta[0], theta[1], atol=1e-5)
    np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=1e-6)


def test_partial_fit_learns_the_topics(planted):
    X, _, topics = planted
    model = PLSA(4, random_state=0)
    for _ in range(15):
        for first in range(0, 300, 60):
            model.partial_fit(X[first : first + 60])
    assert matched_overlap(model.components_, topics) > 0.85
    assert model.n_documents_seen_ == 15 * 300
    np.testing.assert_allclose(
        model.word_frequencies_, X.sum(axis=0).A1 / X.sum(), atol=1e-6
    )
    assert model.transform(X).shape == (300, 4)


def test_partial_fit_goes_on_from_fit(planted):
    X, _, topics = planted
    model = PLSA(4, random_state=0).fit(X)
    before = matched_overlap(model.components_, topics)
    model.partial_fit(X[:100])
    assert matched_overlap(model.components_, topics) > before - 0.05


def test_partial_fit_refuses_steps_of_the_whole_corpus(planted):
    class Other(ThetaStep):
        pass

    with pytest.raises(NotImplementedError, match="whole corpus"):
        PLSA(2, theta_step=Other()).partial_fit(planted[0])


def test_perplexity_prefers_the_true_number_of_topics(planted):
    X = planted[0]
    train, test = X[:200], X[200:]
    values = {
        k: PLSA(k, random_state=0, phi_step=DirichletPhi(1.05))
        .fit(train)
        .perplexity(test)
        for k in (1, 4)
    }
    assert 1 < values[4] < values[1] < X.shape[1]
    model = PLSA(4, random_state=0).fit(train)
    assert model.score(test) == pytest.approx(-np.log(model.perplexity(test)))


def test_works_in_a_pipeline(planted):
    X, theta, _ = planted
    classifier = make_pipeline(PLSA(4, random_state=0), LinearSVC())
    labels = theta.argmax(axis=1)
    assert classifier.fit(X[:200], labels[:200]).score(X[200:], labels[200:]) > 0.85


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[1.0, -1.0], [2.0, -3.0]]), r"2 negative entries \(first at row 0"),
        (np.array([[1.0, 2.0], [np.nan, 1.0]]), r"1 NaN entry \(first at row 1, col"),
        (np.array([[1.0, np.inf]]), "1 infinite entry"),
        (np.zeros((3, 4)), "no non-zero entry"),
        (np.array([["a text", "another"]]), "CountVectorizer"),
        (["a text", "another"], "CountVectorizer"),
    ],
    ids=["negative", "nan", "inf", "zero", "strings", "texts"],
)
def test_bad_matrices(X, message):
    with pytest.raises(DataError, match=message):
        PLSA(2).fit(X)


@pytest.mark.parametrize(
    "options",
    [
        {"n_components": 0},
        {"max_iter": 0},
        {"tol": -1.0},
        {"init": "nonsense"},
        {"theta_step": "nonsense"},
        {"device": "abacus"},
        {"learning_decay": 0.4},
    ],
)
def test_bad_parameters(planted, options):
    name = next(iter(options))
    with pytest.raises(ValueError, match=f"The '{name}' parameter of PLSA"):
        PLSA(**options).fit(planted[0])


def test_bad_init_array(planted):
    with pytest.raises(DataError, match=r"init has shape \(2, 3\)"):
        PLSA(2, init=np.ones((2, 3))).fit(planted[0])
    with pytest.raises(DataError, match="non-negative"):
        PLSA(2, init=-np.ones((2, 120))).fit(planted[0])


def test_wrong_number_of_columns_at_transform(planted):
    model = PLSA(2, max_iter=2, random_state=0).fit(planted[0])
    with pytest.raises(ValueError, match="120 features"):
        model.transform(planted[0][:, :100])


def test_bad_concentrations(planted):
    with pytest.raises(ValueError, match="'alpha' parameter of DirichletTheta must be"):
        PLSA(2, theta_step=DirichletTheta(0.5)).fit(planted[0])
    with pytest.raises(ValueError, match="'eta' parameter of DirichletPhi must be"):
        PLSA(2, phi_step=DirichletPhi(float("nan"))).fit(planted[0])
