# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln, psi
from sklearn.svm import LinearSVC
from tests_support import matched_overlap

from topicfold import LDA, MedLDA
from topicfold.engine import make_engine
from topicfold.exceptions import DataError, EmptyDocumentWarning
from topicfold.learn.medlda import MarginDual, MedLdaLearning, margin_weights


@pytest.fixture(scope="module")
def rare_words():
    """Six frequent themes without a class; three classes by words rare in each text."""
    rng = np.random.default_rng(5)
    themes = np.zeros((6, 150))
    for k in range(6):
        themes[k, 20 * k : 20 * k + 20] = rng.dirichlet(np.ones(20))
    marks = np.zeros((3, 150))
    for c in range(3):
        marks[c, 120 + 10 * c : 130 + 10 * c] = 0.1
    y = np.arange(360) % 3
    theta = rng.dirichlet(np.full(6, 0.6), size=360)
    p = 0.85 * theta @ themes + 0.15 * marks[y]
    return sparse.csr_matrix(np.array([rng.multinomial(60, row) for row in p])), y


def test_weights_of_documents_by_hand():
    rng = np.random.default_rng(0)
    gamma, slopes = rng.gamma(1.0, size=(6, 5)) + 0.02, 30 * rng.normal(size=(6, 5))
    weights, scale = np.empty((6, 5)), np.empty(6)
    margin_weights(gamma, slopes, weights, scale)
    exact = np.exp(psi(gamma) + slopes - scale[:, None])
    np.testing.assert_allclose(weights, exact, rtol=1e-7)
    np.testing.assert_allclose(weights.max(axis=1), 1.0)


def by_hand(X, learning, lam, gamma, slopes, alpha, eta):
    """Evidence lower bound with every responsibility written out."""
    log_phi = psi(lam) - psi(lam.sum(axis=1, keepdims=True))
    log_theta = psi(gamma) - psi(gamma.sum(axis=1, keepdims=True))
    bound = 0.0
    for d, row in enumerate(X.toarray()):
        logits = log_theta[d][:, None] + slopes[d][:, None] + log_phi
        shares = np.exp(logits - logits.max(axis=0))
        shares /= shares.sum(axis=0)
        terms = shares * (log_theta[d][:, None] + log_phi - np.log(shares + 1e-300))
        bound += float(terms.sum(axis=0) @ row)

    def dirichlet(prior, posterior, log_mean):
        ours = gammaln(prior * posterior.shape[1]) - posterior.shape[1] * gammaln(prior)
        theirs = gammaln(posterior.sum(axis=1)) - gammaln(posterior).sum(axis=1)
        cross = ((prior - posterior) * log_mean).sum(axis=1)
        return float((ours + cross - theirs).sum())

    return bound + dirichlet(alpha, gamma, log_theta) + dirichlet(eta, lam, log_phi)


def test_objective_is_the_bound_less_the_margin(rare_words):
    X, y = rare_words
    X = X[:40].astype(float)
    alpha, eta = 0.3, 0.2
    rng = np.random.default_rng(0)
    learning = MedLdaLearning(
        make_engine(X, 4, dtype=np.float64),
        rng.dirichlet(np.ones(X.shape[1]), size=4),
        MarginDual(y[:40], 3, 4, cost=8.0, loss=16.0),
        np.full(4, alpha),
        eta,
        doc_updates=2,
    )
    learning.start()
    for _ in range(3):
        slopes = learning.slopes.copy()
        value = learning.iterate()
        lam = learning.engine.unpack_topics(learning.topic_counts) + eta
        bound = by_hand(X, learning, lam, learning.gamma, slopes, alpha, eta)
        margin = learning.dual.objective(learning.mean_assignments())
        assert value == pytest.approx(bound - margin, rel=1e-9)
    assert margin > 0
    assert np.abs(slopes).max() > 0.1


def test_slope_is_that_of_the_margin(rare_words):
    X, y = rare_words
    X = X.astype(float)
    dual = MarginDual(y, 3, 4, cost=8.0, loss=16.0)
    phi = np.random.default_rng(0).dirichlet(np.ones(X.shape[1]), size=4)
    learning = MedLdaLearning(
        make_engine(X, 4, dtype=np.float64), phi, dual, np.full(4, 0.1), 0.1,
        doc_updates=1,
    )  # fmt: skip
    learning.start()
    lengths = np.asarray(X.sum(axis=1)).ravel()
    for d in (0, 1, 17):
        pairs = [
            -dual.duals[d, c] * (dual.weights[y[d]] - dual.weights[c])
            for c in range(3)
            if c != y[d]
        ]
        np.testing.assert_allclose(learning.slopes[d], sum(pairs) / lengths[d])


def test_without_a_margin_it_is_lda(planted):
    X, theta, _ = planted
    y = theta.argmax(axis=1)
    options = {"doc_topic_prior": 0.1, "topic_word_prior": 0.05, "random_state": 0}
    model = MedLDA(
        4, cost=1e-9, loss=1e-3, word_weights=None, max_iter=300, tol=1e-9, **options
    ).fit(X.astype(float), y)
    lda = LDA(
        4, algorithm="variational", learn_priors=False, init="documents",
        max_iter=300, tol=1e-9, **options,
    ).fit(X.astype(float))  # fmt: skip
    # Updates come in another order, so the optimum found may be another one.
    assert matched_overlap(model.components_, lda.components_) > 0.98
    assert model.objective_history_[-1] == pytest.approx(
        lda.objective_history_[-1], rel=5e-3
    )
    assert (np.diff(model.objective_history_) >= -1e-6).all()


@pytest.mark.parametrize("weights", [None, "classes"], ids=str)
def test_objective_never_falls_with_a_light_margin(planted, weights):
    X, theta, _ = planted
    options = {"cost": 1.0, "loss": 1.0, "word_weights": weights, "random_state": 0}
    model = MedLDA(6, max_iter=30, tol=0, **options).fit(X, theta.argmax(axis=1))
    history = np.array(model.objective_history_)
    assert (np.diff(history) >= -1e-6 * np.abs(history[:-1])).all()


def test_what_is_predicted_does_not_swing_with_the_objective(rare_words):
    X, y = rare_words
    models = [
        MedLDA(6, max_iter=n, tol=0, random_state=0).fit(X[:240], y[:240])
        for n in (20, 21, 22, 30)
    ]
    history = models[-1].objective_history_
    assert max(history[20:]) > 0.5 * history[0]  # it is negative
    accuracies = [model.score(X[240:], y[240:]) for model in models]
    assert np.ptp(accuracies) < 0.06


def test_finds_planted_topics_and_their_classes(planted):
    X, theta, topics = planted
    y = theta.argmax(axis=1)
    model = MedLDA(4, word_weights=None, random_state=0).fit(X[:200], y[:200])
    assert matched_overlap(model.components_, topics) > 0.8
    assert model.score(X[200:], y[200:]) > 0.9
    assert model.objective_history_[-1] > model.objective_history_[0]
    weighted = MedLDA(4, random_state=0).fit(X[:200], y[:200])
    assert weighted.score(X[200:], y[200:]) > 0.9


def test_labels_give_topics_that_tell_classes(rare_words):
    X, y = rare_words
    model = MedLDA(6, random_state=0).fit(X[:240], y[:240])
    lda = LDA(6, random_state=0).fit(X[:240])
    svm = LinearSVC(C=10).fit(np.sqrt(lda.transform(X[:240])), y[:240])
    plain = svm.score(np.sqrt(lda.transform(X[240:])), y[240:])
    assert model.score(X[240:], y[240:]) > plain + 0.1
    assert model.score(X[240:], y[240:]) > 0.8
    assert model.margin_violation_ <= 1e-2


def test_decision_and_mean_assignments(rare_words):
    X, y = rare_words
    model = MedLDA(5, max_iter=10, random_state=0).fit(X, y)
    values = model.decision_function(X)
    assert values.shape == (360, 3)
    np.testing.assert_array_equal(model.predict(X), values.argmax(axis=1))
    z = model._mean_assignments(X.astype(float))
    np.testing.assert_allclose(z.sum(axis=1), 1, rtol=1e-5)
    assert (z > -1e-5).all()
    two = MedLDA(5, max_iter=10, random_state=0).fit(X, y > 0)
    assert two.decision_function(X).shape == (360,)
    np.testing.assert_array_equal(two.predict(X), two.decision_function(X) > 0)


def test_documents_of_unknown_class_teach_topics_only(rare_words):
    X, y = rare_words
    names = np.array(["red", "green", "blue"])[y].astype(object)
    names[::2] = "?"
    model = MedLDA(6, unknown_label="?", random_state=0).fit(X, names)
    assert model.classes_.tolist() == ["blue", "green", "red"]
    hidden = np.array(["red", "green", "blue"])[y[::2]]
    assert (model.predict(X[::2]) == hidden).mean() > 0.8


def test_fewer_topics_than_classes_and_a_class_of_one_document(rare_words):
    X, y = rare_words
    y = y.copy()
    y[0] = 3
    model = MedLDA(2, max_iter=5, random_state=0).fit(X, y)
    assert model.coef_.shape == (4, 2)
    assert np.isfinite(model.components_).all()


def test_an_empty_document_is_classified(ragged):
    y = np.arange(40) % 2
    with pytest.warns(EmptyDocumentWarning):
        model = MedLDA(3, max_iter=5, random_state=0).fit(ragged, y)
    with pytest.warns(EmptyDocumentWarning):
        values = model.decision_function(ragged)
    assert np.isfinite(values).all()
    np.testing.assert_allclose(model.doc_topics_[0], 1 / 3, rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({}, None, "requires y to be passed"),
        ({}, [1, 1, 1, 1], "y has 1 class in 4 labelled of 4"),
        ({"unknown_label": -1}, [-1, -1, -1, -1], "y has 0 classes in 0 labelled"),
        ({}, [0, 1, 0], "y has 3 labels for 4 documents"),
    ],
    ids=["none", "one class", "all unknown", "length"],
)
def test_errors_say_what_is_wrong(options, y, message):
    with pytest.raises(DataError, match=message):
        MedLDA(2, **options).fit(np.eye(4), y)


@pytest.mark.parametrize(
    "option",
    [
        {"cost": 1.0},
        {"loss": 2.0},
        {"word_weights": None},
        {"doc_topic_prior": 1.0},
        {"topic_word_prior": 1.0},
        {"unknown_label": 0},
        {"init": "svd"},
    ],
    ids=lambda option: next(iter(option)),
)
def test_every_option_changes_the_topics(rare_words, option):
    X, y = rare_words
    usual = {"max_iter": 5, "random_state": 0}
    one = MedLDA(4, **usual).fit(X, y)
    other = MedLDA(4, **usual, **option).fit(X, y)
    assert not np.array_equal(one.components_, other.components_)


def test_topics_are_not_left_empty_or_copied():
    """Two classes, ten themes, short documents, and many topics."""
    rng = np.random.default_rng(0)
    themes = np.full((10, 100), 0.05 / 100)
    for k in range(10):
        themes[k, 10 * k : 10 * k + 10] += 0.095
    theme = rng.integers(0, 10, 400)
    X = sparse.csr_matrix([rng.multinomial(8, themes[k]) for k in theme])
    y = theme % 2
    model = MedLDA(40, random_state=0).fit(X, y)
    prior = model.topic_word_prior * 100
    assert (model.topic_totals_ > prior + 1).all()
    tops = {tuple(np.sort(np.argsort(-row)[:5])) for row in model.components_}
    assert len(tops) == 40
    free = MedLDA(40, random_state=0, max_pull=None, init="documents").fit(X, y)
    assert (free.topic_totals_ < prior + 1).sum() > 10
    assert model.score(X, y) > free.score(X, y) - 0.05
