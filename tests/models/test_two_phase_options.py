# SPDX-License-Identifier: BSD-3-Clause
"""What the two-phase framework has beyond the paper: weights, neighbours, descent."""

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, normalize
from sklearn.svm import LinearSVC

import topicfold
from topicfold import (
    FSTM,
    LDA,
    LocallyConsistentPLSA,
    MedLDA,
    TopicClassifier,
    TwoPhase,
)
from topicfold.exceptions import DataError
from topicfold.graph import NeighborIndex
from topicfold.infer import two_phase
from topicfold.infer.two_phase import (
    class_word_weights,
    neighbor_mixtures,
    regressed_mixtures,
    weighted_words,
    word_regression,
)
from topicfold.models.two_phase import split_documents


@pytest.fixture(scope="module")
def corpus():
    """Themes without a class, and rare words that tell one of three classes."""
    rng = np.random.default_rng(5)
    themes = np.zeros((6, 150))
    for k in range(6):
        themes[k, 20 * k : 20 * k + 20] = rng.dirichlet(np.ones(20))
    marks = np.zeros((3, 150))
    for c in range(3):
        marks[c, 120 + 10 * c : 130 + 10 * c] = 0.1
    y = np.arange(240) % 3
    theta = rng.dirichlet(np.full(6, 0.6), size=240)
    p = 0.9 * theta @ themes + 0.1 * marks[y]
    return sparse.csr_matrix(np.array([rng.multinomial(50, row) for row in p])), y


def base():
    return FSTM(6, max_iter=20, random_state=0)


def plain(model, **options):
    """Without what the paper does not have, unless the options have it."""
    without = {"word_weights": None, "regression_weight": 0, "neighbor_weight": 0}
    return TwoPhase(model, **(without | options))


def test_word_weights_by_hand(corpus):
    X, y = corpus
    X = X[:30].astype(float)
    members = y[:30, None] == np.arange(3)
    members[:4] = False
    weights = class_word_weights(X, members)
    known = y[4:30]
    p = np.bincount(known, minlength=3) / len(known)
    by_hand = []
    for w in range(X.shape[1]):
        has = X[4:30, [w]].toarray().ravel() > 0
        n = np.bincount(known[has], minlength=3)
        q = (n + 5 * p) / (n.sum() + 5)
        by_hand.append(np.sqrt(np.sum(q * np.log(q / p))) if n.sum() else 0.0)
    by_hand = np.array(by_hand)
    scale = X.sum() / (X.log1p() @ by_hand).sum()
    np.testing.assert_allclose(weights, scale * by_hand, atol=1e-7)
    weighted = weighted_words(X, weights)
    assert weighted.sum() == pytest.approx(X.sum())
    assert weights[120:].mean() > 2 * weights[:120].mean()


def test_a_class_without_documents_and_words_without_labels_weigh_nothing():
    X = sparse.csr_matrix([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    members = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0]], dtype=bool)
    weights = class_word_weights(X, members)
    assert weights[0] == 0
    assert weights[1] > 0
    assert weights[2] == 0


def test_words_that_tell_nothing_are_refused():
    # Seven of ten: no shares that floating point has exactly.
    y = np.r_[np.zeros(7, int), np.ones(3, int)]
    X = np.ones((10, 3))
    for model in (
        MedLDA(2),
        TwoPhase(base(), word_weights="classes"),
        TopicClassifier(),
    ):
        with pytest.raises(DataError, match="no word separates the classes"):
            model.fit(X, y)


def test_weighted_words_help(corpus):
    X, y = corpus
    usual = TopicClassifier(plain(base())).fit(X[:160], y[:160])
    model = TopicClassifier(plain(base(), word_weights="classes"))
    model.fit(X[:160], y[:160])
    found = model.score(X[160:], y[160:])
    assert found > usual.score(X[160:], y[160:]) + 0.05
    reasons = model.explain(X[[160]])
    assert reasons.topics
    assert reasons.words


def test_weighted_model_is_the_model_of_weighted_words(corpus):
    X, y = corpus
    X = X.astype(float)
    weighted = weighted_words(X, class_word_weights(X, y[:, None] == np.arange(3)))
    model = plain(base(), word_weights="classes").fit(X, y)
    other = plain(base()).fit(weighted, y)
    np.testing.assert_array_equal(model.components_, other.components_)
    np.testing.assert_array_equal(model.transform(X), other.transform(weighted))
    assert model.perplexity(X) == other.perplexity(weighted)


def test_neighbor_mixtures_by_hand():
    index = NeighborIndex([[3, 1, 0, 0], [2, 1, 0, 0], [0, 1, 2, 0], [0, 0, 0, 0]])
    theta = sparse.csr_array(np.array([[1.0, 0], [0, 1.0], [0.5, 0.5], [1.0, 0]]))
    near, similar = index.query_among(None, 2)
    means, found = neighbor_mixtures(index, theta, n_neighbors=2)
    assert found.tolist() == [True, True, True, False]
    for d in range(3):
        weights = similar[d][near[d] >= 0]
        rows = theta.toarray()[near[d][near[d] >= 0]]
        np.testing.assert_allclose(means[d], weights @ rows / weights.sum())
        assert d not in near[d]
    np.testing.assert_array_equal(means[3], 0)
    new, _ = neighbor_mixtures(index, theta, np.array([[3, 1, 0, 0]]), n_neighbors=1)
    np.testing.assert_allclose(new, [[1.0, 0.0]])


def test_neighbors_share_of_a_new_document(corpus):
    X, y = corpus
    X = X.astype(float)
    usual = plain(base()).fit(X[:160], y[:160])
    model = plain(base(), neighbor_weight=0.4).fit(X[:160], y[:160])
    np.testing.assert_array_equal(usual.components_, model.components_)
    means, found = neighbor_mixtures(
        NeighborIndex(X[:160].log1p()),
        model.label_mixtures_,
        X[160:].log1p(),
        n_neighbors=20,
    )
    assert found.all()
    expected = 0.6 * usual.transform(X[160:]) + 0.4 * means
    np.testing.assert_allclose(model.transform(X[160:]), expected, atol=1e-9)
    np.testing.assert_allclose(model.doc_topics_.sum(axis=1), 1, atol=1e-9)


def test_neighbors_help_and_the_training_mixtures_do_not_leak(corpus):
    X, y = corpus
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 3, 160)
    model = plain(base(), neighbor_weight=1.0)
    honest = model.fit_transform(X[:160], noise)
    np.testing.assert_array_equal(honest, model.doc_topics_)
    # With labels at random no document's neighbours know its own.
    fitted = LinearSVC(C=1).fit(np.sqrt(honest), noise)
    assert fitted.score(np.sqrt(honest), noise) < 0.65
    usual = TopicClassifier(plain(base())).fit(X[:160], y[:160])
    near = TopicClassifier(plain(base(), neighbor_weight=0.5)).fit(X[:160], y[:160])
    assert near.score(X[160:], y[160:]) > usual.score(X[160:], y[160:])


def test_regression_is_ridge_regression(corpus):
    X, _ = corpus
    theta = np.random.default_rng(0).dirichlet(np.ones(4), size=240)
    rows = normalize(X.astype(float))
    weights, mean = word_regression(X, theta)
    exact = np.linalg.solve(
        (rows.T @ rows).toarray() + np.eye(150), rows.T @ (theta - theta.mean(axis=0))
    )
    np.testing.assert_allclose(weights, exact, atol=1e-4)
    np.testing.assert_allclose(mean, theta.mean(axis=0))
    found = regressed_mixtures(X, weights, mean)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    inside = np.maximum(rows @ exact + mean, 1e-6)
    np.testing.assert_allclose(
        found, inside / inside.sum(axis=1, keepdims=True), atol=1e-3
    )


def test_a_regression_leaves_a_topic_a_millionth():
    """Of predictions below zero, and of a document for which all are."""
    X = sparse.csr_matrix(np.eye(3))
    weights = np.array([[0.6, -0.7], [-0.9, -0.9], [0.0, 0.0]])
    found = regressed_mixtures(X, weights, np.array([0.4, 0.6]))
    small = 1e-6 / (1.0 + 1e-6)
    expected = [[1 - small, small], [0.5, 0.5], [0.4, 0.6]]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_regression_of_a_new_document_is_learned_from_all(corpus):
    X, y = corpus
    X = X.astype(float)
    usual = plain(base()).fit(X[:160], y[:160])
    model = plain(base(), regression_weight=0.3).fit(X[:160], y[:160])
    np.testing.assert_array_equal(usual.components_, model.components_)
    members = y[:160, None] == np.arange(3)
    near = two_phase.class_neighbors(X[:160], members, 20)
    mixtures, _ = model._label_mixtures(X[:160], members, near)
    fit = word_regression(X[:160].log1p(), mixtures.toarray())
    new = regressed_mixtures(X[160:].log1p(), *fit)
    expected = 0.7 * usual.transform(X[160:]) + 0.3 * new
    np.testing.assert_allclose(model.transform(X[160:]), expected, atol=1e-6)
    # No training document has a part in its own prediction.
    assert not np.allclose(model.doc_topics_, model.transform(X[:160]), atol=1e-3)


def test_regression_helps_and_random_labels_stay_random(corpus):
    X, y = corpus
    usual = TopicClassifier(plain(base())).fit(X[:160], y[:160])
    model = TopicClassifier(plain(base(), regression_weight=0.8)).fit(X[:160], y[:160])
    assert model.score(X[160:], y[160:]) > usual.score(X[160:], y[160:]) + 0.05
    noise = np.random.default_rng(0).integers(0, 3, 160)
    honest = np.sqrt(plain(base(), regression_weight=1.0).fit_transform(X[:160], noise))
    assert LinearSVC(C=1).fit(honest, noise).score(honest, noise) < 0.65


def test_works_in_a_pipeline_and_by_batches(corpus):
    X, y = corpus
    model = TwoPhase(base(), neighbor_weight=0.5)
    pipeline = make_pipeline(model, FunctionTransformer(np.sqrt), LinearSVC())
    pipeline.fit(X[:160], y[:160])
    assert pipeline.score(X[160:], y[160:]) > 0.8
    whole = model.transform(X[160:])
    np.testing.assert_array_equal(whole[5:9], model.transform(X[165:169]))


@pytest.mark.parametrize("kind", [base(), LDA(6, max_iter=20, random_state=0)], ids=str)
def test_a_loaded_model_sees_neighbors_too(tmp_path, corpus, kind):
    X, y = corpus
    options = {"neighbor_weight": 0.5, "word_weights": "classes", "n_rounds": 1}
    model = TwoPhase(kind, **options).fit(X[:160], y[:160])
    model.save(tmp_path / "model")
    loaded = topicfold.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))


def test_another_fit_forgets_and_a_later_option_is_an_error(corpus):
    X, y = corpus
    model = plain(base(), neighbor_weight=0.5, word_weights="classes").fit(X, y)
    model.set_params(neighbor_weight=0.0, word_weights=None).fit(X, y)
    assert not hasattr(model, "word_weights_")
    assert not hasattr(model, "training_counts_")
    with pytest.raises(AttributeError, match="fitted with neighbor_weight=0"):
        model.set_params(neighbor_weight=0.5).transform(X)


def test_same_bits_for_any_number_of_threads(corpus):
    X, y = corpus
    options = {"neighbor_weight": 0.5, "word_weights": "classes", "n_rounds": 1}
    one = TwoPhase(base(), **options).fit(X, y)
    many = TwoPhase(base(), n_jobs=3, **options).fit(X, y)
    np.testing.assert_array_equal(one.doc_topics_, many.doc_topics_)
    np.testing.assert_array_equal(one.transform(X), many.transform(X))


def test_approximate_neighbors_are_the_best_candidates_by_cosine(corpus, monkeypatch):
    X, y = corpus
    X = X.astype(float)
    members = y[:, None] == np.arange(3)
    members[::10] = False
    exact = two_phase.class_neighbors(X, members, 5)
    small = two_phase.class_neighbors(X, members, 5, approximate=True)
    np.testing.assert_array_equal(small, exact)  # too few documents to be approximate

    def by_cosine(index, n_neighbors, *, n_jobs=None):
        assert index.similarity == "cosine"
        return (*index.query_among(None, n_neighbors), 1.0)

    monkeypatch.setattr(two_phase, "APPROXIMATE_FROM", 10)
    monkeypatch.setattr(two_phase, "approximate_neighbors", by_cosine)
    near = two_phase.class_neighbors(X, members, 5, approximate=True)
    kl = NeighborIndex(X, similarity="kl")
    for d in (0, 1, 50, 239):
        among = np.flatnonzero(members[:, y[d]]) if members[d].any() else np.arange(240)
        cosine = NeighborIndex(X[among]).query(X[[d]], 16)[0][0]
        candidates = among[cosine]
        candidates = candidates[candidates != d][:15]
        order, _ = kl.query(X[[d]], 240)
        expected = [j for j in order[0] if j in candidates][:5]
        assert near[d].tolist() == expected
    assert not np.array_equal(near, exact)
    model = plain(base(), approximate=True, n_rounds=1).fit(X, y)
    other = plain(base(), n_rounds=1).fit(X, y)
    assert not np.array_equal(model.components_, other.components_)


OPTIONS = {
    "plain": {},
    "words": {"word_weights": "classes"},
    "neighbours": {"word_weights": "classes", "neighbor_weight": 0.5},
}


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_random_labels_cannot_be_learned_from_cross_fitted_mixtures(corpus, options):
    """On the mixtures of `fit_transform` they look learnable, and are not."""
    X, y = corpus
    y = np.random.default_rng(1).permutation(y)
    train, new = np.arange(240) % 4 > 0, np.arange(240) % 4 == 0
    model = plain(FSTM(30, max_iter=20, random_state=0), **options)
    known = np.sqrt(model.fit_transform(X[train], y[train]))
    honest = np.sqrt(model.cross_fit_transform(X[train], y[train]))
    svm = LinearSVC().fit(known, y[train])
    test = svm.score(np.sqrt(model.transform(X[new])), y[new])
    misled, told = (
        cross_val_score(LinearSVC(), features, y[train]).mean()
        for features in (known, honest)
    )
    error = np.sqrt(test * (1 - test) * (1 / train.sum() + 1 / new.sum()))
    assert misled > test + 2 * error
    assert abs(told - test) < 3 * error
    assert told < misled


def test_cross_fitted_mixtures_do_not_know_the_label(corpus):
    X, y = corpus
    model = TwoPhase(base(), word_weights="classes", neighbor_weight=0.5)
    rows = model.cross_fit_transform(X, y, cv=3)
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-5)
    hidden = split_documents(y, 3) == 0
    others = np.where(hidden, (y + 1) % 3, y)
    (counts, _), start = model._read(X, y), base()
    twin = copy.copy(model)
    twin._do_phases(counts, others[:, None] == np.arange(3), start, ~hidden)
    np.testing.assert_array_equal(twin.transform(X[hidden]), rows[hidden])
    twin._do_phases(counts, others[:, None] == np.arange(3), start)
    assert not np.array_equal(twin.transform(X[hidden]), rows[hidden])


def test_documents_without_a_label_are_not_hidden(corpus):
    X, y = corpus
    model = plain(base())
    rows = model.cross_fit_transform(X, np.where(np.arange(240) < 5, -1, y))
    np.testing.assert_array_equal(rows[:5], model.doc_topics_[:5])
    assert not np.array_equal(rows[5:], model.doc_topics_[5:])


def test_classes_are_learned_from_cross_fitted_mixtures(corpus):
    X, y = corpus
    features = TwoPhase(base(), word_weights="classes").cross_fit_transform(X, y)
    assert cross_val_score(LinearSVC(), np.sqrt(features), y).mean() > 0.7


@pytest.mark.parametrize(
    ("y", "cv", "message"),
    [([0, 1] * 4, 1, "cv=1"), ([0, 0, 1] + [-1] * 5, 3, "3 labelled .* too few")],
)
def test_too_few_labels_to_cross_fit(y, cv, message):
    X = np.random.default_rng(0).poisson(1.0, (8, 6))
    with pytest.raises(DataError, match=message):
        TwoPhase(FSTM(2, random_state=0)).cross_fit_transform(X, y, cv=cv)


@pytest.mark.slow
@pytest.mark.parametrize("model", [LDA, TwoPhase, MedLDA, LocallyConsistentPLSA])
def test_labelled_documents_predicted_without_their_labels(corpus, model):
    X, y = corpus
    made = TwoPhase(base()) if model is TwoPhase else model(6, random_state=0)
    given = np.where(np.arange(240) < 40, -1, y)
    classifier = TopicClassifier(made)
    rows, found = classifier.fit_cross_predict(X, given)
    assert sorted(rows) == list(range(40, 240))
    plain = TopicClassifier(made).fit(X, given)
    np.testing.assert_array_equal(classifier.predict(X), plain.predict(X))
    few, _ = classifier.fit_cross_predict(X, given, enough=1)
    assert len(few) == 40
    permuted = np.random.default_rng(2).permutation(y)
    rows, found = classifier.fit_cross_predict(X, permuted)
    assert abs((found == permuted[rows]).mean() - 1 / 3) < 2 * np.sqrt(2 / 9 / 240)
