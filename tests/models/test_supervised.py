# SPDX-License-Identifier: BSD-3-Clause
"""SupervisedLDA: chooses its weight, predicts, explains, and is saved."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sides_support import planted
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV

import topicfold
from topicfold import LDA, SupervisedLDA
from topicfold.evidence import Response
from topicfold.evidence.response import Hidden, choose
from topicfold.exceptions import DataError, DataWarning
from topicfold.models.supervised import (
    START_PASSES,
    WEIGHTS,
    smallest_good,
    usual_unless_worse,
)
from topicfold.theta import Authors

ETA = np.array([0.0, 3.0, 6.0, 9.0])


@pytest.fixture(scope="module")
def corpus():
    X, theta, phi = planted(n_documents=240, alpha=0.3)
    return X, theta @ ETA + np.random.default_rng(0).normal(0, 0.3, 240), phi


@pytest.fixture(scope="module")
def model(corpus):
    X, y, _ = corpus
    return SupervisedLDA(4, random_state=0).fit(X[:160], y[:160])


def matched(model, phi):
    """Return the model's topic of each planted one."""
    return (phi @ model.components_.T).argmax(axis=1)


def test_the_weight_is_chosen_among_multiples_of_the_length(model):
    assert [w / 40 for w, _ in model.weight_scores_] == pytest.approx(WEIGHTS)
    assert model.weight_ in [w for w, _ in model.weight_scores_]
    assert max(score for _, score in model.weight_scores_) > 0.7
    fixed = LDA(4, sides=[Response(weight=model.weight_)], random_state=0)
    assert fixed.get_params()["sides"][0].weight == model.weight_


def test_the_fit_is_that_of_the_side_with_the_chosen_weight(corpus, model):
    X, y, _ = corpus
    side = Response(weight=model.weight_)
    start = LDA(4, random_state=0, max_iter=START_PASSES, tol=0).fit(X[:160])
    same = LDA(4, sides=[side], random_state=0, init=start.components_)
    same.fit(X[:160], response=y[:160])
    np.testing.assert_array_equal(same.components_, model.components_)
    np.testing.assert_array_equal(same.sides_[0].coef_, model.coef_)


def test_words_of_all_documents_stay_in_a_topic_of_their_own():
    rng = np.random.default_rng(0)
    n_common, n_words = 5, 400
    phi = np.zeros((20, n_common + n_words))
    phi[0, :n_common] = 1 / n_common
    phi[1:, n_common:] = rng.dirichlet(np.full(n_words, 0.05), 19)
    own = rng.dirichlet(np.full(19, 0.1), 1200)
    theta = np.hstack([np.full((1200, 1), 0.2), 0.8 * own])
    X = sparse.csr_matrix([rng.multinomial(100, row) for row in theta @ phi])
    y = own.argmax(axis=1) % 4

    def apart(model):
        """Return the largest share of the common words in one topic."""
        counts = model.components_ * model.topic_totals_[:, None]
        totals = counts[:, :n_common].sum(axis=1)
        return totals.max() / totals.sum()

    model = SupervisedLDA(20, kind="classes", weight=30, random_state=0).fit(X, y)
    assert len(model.sides_[0].background) == 1
    assert apart(model) > 0.6
    # Responses draw them elsewhere if nothing is in the background.
    options = {"init": model.components_, "doc_topic_prior": model.doc_topic_prior_}
    plain = LDA(20, sides=[Response("classes", weight=30)], random_state=0, **options)
    assert apart(plain.fit(X, response=y)) < apart(model) - 0.2
    assert model.score(X, y) > plain.sides_[0].score(plain.transform(X), y) - 0.02


def test_a_given_weight_is_used_and_nothing_tried(corpus):
    X, y, _ = corpus
    model = SupervisedLDA(4, weight=11.0, random_state=0).fit(X, y)
    assert model.weight_ == 11.0
    assert model.weight_scores_ == []


def test_the_smallest_weight_that_none_beats_beyond_doubt():
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 1, 400)
    losses = {1.0: noise + 5, 3.0: noise + rng.normal(0.01, 1, 400), 9.0: noise}
    assert smallest_good(losses) == 3.0
    assert smallest_good({2.0: np.ones(3), 1.0: np.ones(3)}) == 1.0


def test_the_usual_weight_unless_another_is_better_beyond_doubt():
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 1, 400)
    doubtful = {1.0: noise + 5, 3.0: noise + rng.normal(0.01, 1, 400), 9.0: noise}
    assert usual_unless_worse(doubtful, 3.0) == 3.0
    assert usual_unless_worse(doubtful | {9.0: noise - 1}, 3.0) == 9.0
    assert usual_unless_worse(doubtful | {1.0: noise - 2}, 3.0) == 1.0


@pytest.mark.parametrize("kind", ["real", "classes"])
def test_words_beside_topics(kind, tmp_path):
    """Words that topics cannot tell apart predict; topics stay as they are."""
    rng = np.random.default_rng(0)
    X, theta, _ = planted(n_documents=240, alpha=0.3)
    marks = rng.poisson(1.0, (240, 2))
    X = sparse.hstack([X, marks]).tocsr()
    y = theta @ ETA + 2.0 * np.sign(marks[:, 0] - marks[:, 1])
    y = y if kind == "real" else np.where(y > 4.5, "high", "low")
    options = {"kind": kind, "weight": 12.0, "random_state": 0}
    plain = SupervisedLDA(4, **options).fit(X[:160], y[:160])
    model = SupervisedLDA(4, words=True, **options).fit(X[:160], y[:160])
    np.testing.assert_array_equal(model.components_, plain.components_)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.score(X[160:], y[160:]) > plain.score(X[160:], y[160:])
    assert 0.1 < model.topic_share_ < 0.9
    label = {} if kind == "real" else {"label": "high"}
    ranked = [word for word, _ in model.own_word_effects(n_words=20, **label)]
    first, second = (ranked.index(f"w{X.shape[1] - place}") for place in (2, 1))
    assert first < second  # one raises the response, the other lowers it
    with pytest.raises(DataError, match="only with words=True"):
        plain.own_word_effects()
    model.save(tmp_path / "model.safetensors")
    loaded = topicfold.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_hidden_numbers_choose_the_share_and_the_penalty_of_words():
    """Where one word decides, its coefficient is large; where topics do, they count."""
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(rng.poisson(1.0, (400, 30)).astype(float))
    by_word = 3.0 * np.sign(X[:, [0]].toarray() - 0.5)
    known, rows = np.ones(400, bool), np.arange(300, 400)
    useless = Hidden(rows, rng.normal(size=100))
    penalty, share = choose(X, by_word, known, useless)
    assert (share, penalty < 1.0) == (1.0, True)
    noise = rng.normal(size=(400, 1))
    right = Hidden(rows, noise[rows, 0])
    penalty, share = choose(X, noise, known, right)
    assert (share, penalty) == (0.5, 3.0)
    few = Hidden(rows[:10], noise[rows[:10], 0])
    assert choose(X, noise, known, few) == choose(X, noise, known, None) == (1.0, 0.7)


def test_the_share_of_words_is_chosen_in_a_fit(tmp_path):
    """A number that a single word decides: the words alone predict it."""
    rng = np.random.default_rng(0)
    X, _, _ = planted(n_documents=400, alpha=0.3)
    mark = rng.integers(0, 2, (400, 1))
    X = sparse.hstack([X, mark]).tocsr()
    y = 4.0 * mark[:, 0] + rng.normal(scale=0.1, size=400)
    options = {"weight": 0.0, "words": True, "random_state": 0, "max_iter": 20}
    model = SupervisedLDA(4, **options).fit(X[:300], y[:300])
    assert model.word_share_ == 1.0
    assert model.topic_share_ == pytest.approx(0.0)
    assert model.score(X[300:], y[300:]) > 0.95
    model.save(tmp_path / "model.safetensors")
    loaded = topicfold.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    loaded.word_share_ = 2.0
    with pytest.raises(ValueError, match="word_share_"):
        loaded._check_loaded()


def test_words_are_for_numbers_and_classes_in_memory(corpus):
    X, y, _ = corpus
    counts = np.floor(np.maximum(y, 0))
    with pytest.raises(DataError, match="words=True is for numbers and classes"):
        SupervisedLDA(4, kind="counts", words=True).fit(X, counts)


def test_predictions_and_planted_coefficients(corpus, model):
    X, y, phi = corpus
    assert model.score(X[160:], y[160:]) > 0.8
    assert model.predict(X[160:]).shape == (80,)
    found = model.coef_[matched(model, phi)]
    # A document of 40 words is never wholly of one topic to the model.
    np.testing.assert_allclose(found, ETA, atol=1.5)
    assert (model.std_errors_ > 0).all()
    assert is_regressor(model)
    assert not hasattr(model, "predict_proba")


def test_effects_name_topics_and_words(corpus, model):
    _, _, phi = corpus
    words = [f"t{row.argmax()} {w}" for w, row in enumerate(phi.T)]
    effects = model.topic_effects(words, n_words=3)
    assert [e.topic for e in effects] == np.argsort(-model.coef_).tolist()
    assert effects[0].words[0].startswith("t3")
    assert effects[0].coefficient == model.coef_.max()
    assert sum(e.share for e in effects) == pytest.approx(1.0)
    found = [word.split()[0] for word, _ in model.word_effects(words, n_words=3)]
    assert found == ["t3"] * 3 + ["t0"] * 3


@pytest.mark.slow
def test_classes(corpus):
    X, y, _ = corpus
    labels = np.where(y > 4.5, "high", "low")
    model = SupervisedLDA(4, kind="classes", random_state=0).fit(X[:160], labels[:160])
    assert is_classifier(model)
    assert model.score(X[160:], labels[160:]) > 0.8
    chances = model.predict_proba(X[160:])
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    best = model.classes_[chances.argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X[160:]), best)
    assert {e.label for e in model.topic_effects()} == {"high", "low"}
    assert model.word_effects(label="high", n_words=2)
    with pytest.raises(DataError, match="Choose one of: 'high', 'low'"):
        model.word_effects()


def test_counts_are_predicted_as_rates(corpus):
    X, y, _ = corpus
    counts = np.random.default_rng(1).poisson(np.exp(y / 4))
    model = SupervisedLDA(4, kind="counts", random_state=0).fit(X[:160], counts[:160])
    assert (model.predict(X) > 0).all()
    assert 0.4 < model.score(X[160:], counts[160:]) < 1.0


def test_a_saved_model_predicts_the_same(corpus, model, tmp_path):
    X, y, _ = corpus
    model.save(tmp_path / "model.safetensors")
    loaded = topicfold.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.weight_scores_ == model.weight_scores_
    assert loaded.score(X, y) == model.score(X, y)


def test_a_grid_search_uses_the_score_of_the_response(corpus):
    X, y, _ = corpus
    search = GridSearchCV(
        SupervisedLDA(weight=40.0, random_state=0, max_iter=20),
        {"n_components": [2, 4]},
        cv=2,
    ).fit(X, y)
    assert search.best_params_ == {"n_components": 4}
    assert 0.5 < search.best_score_ < 1.0


def test_a_series_with_gaps_is_a_response(corpus):
    X, y, _ = corpus
    some = pd.Series(y).where(np.arange(240) % 3 > 0)
    model = SupervisedLDA(4, weight=40.0, random_state=0).fit(X, some)
    assert model.score(X, some) > 0.7


def test_another_side_goes_with_it(corpus):
    X, y, _ = corpus
    names = [f"a{d % 12}" for d in range(240)]
    model = SupervisedLDA(4, sides=[Authors()], random_state=0, max_iter=20)
    model.fit(X, y, authors=names)
    assert model.predict(X[:5], authors=names[:5]).shape == (5,)
    assert len(model.weight_scores_) == len(WEIGHTS)


def test_a_fit_without_y_is_refused(corpus):
    with pytest.raises(DataError, match="requires y"):
        SupervisedLDA(4).fit(corpus[0])


def test_a_score_without_any_response_is_refused(corpus, model):
    X, _, _ = corpus
    with pytest.raises(DataError, match="no score"):
        model.score(X[:5], np.full(5, np.nan))


def test_a_spoilt_file_is_refused(model, tmp_path):
    model.sides_[0].coef_[0] = np.nan
    try:
        model.save(tmp_path / "model.safetensors")
        with pytest.raises(Exception, match="not finite"):
            topicfold.load(tmp_path / "model.safetensors")
    finally:
        model.sides_[0].coef_[0] = 0.0


@pytest.fixture(scope="module")
def unrelated():
    """Return words, and a response that has nothing to do with them."""
    X, *_ = planted(n_documents=300, n_topics=6, n_terms=400, length=30, alpha=0.5)
    return X, np.random.default_rng(1).normal(5.0, 2.0, 300)


def test_a_response_that_words_do_not_tell_is_said(unrelated):
    X, y = unrelated
    with pytest.warns(DataWarning, match="no topics that predict hidden responses"):
        model = SupervisedLDA(10, random_state=0).fit(X[:200], y[:200])
    assert model.weight_ == 0.0
    assert max(score for _, score in model.weight_scores_) <= 0
    assert model.score(X[200:], y[200:]) > -0.3
    strong = SupervisedLDA(10, weight=90.0, random_state=0).fit(X[:200], y[:200])
    assert strong.score(X[200:], y[200:]) < model.score(X[200:], y[200:])


@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, 90.0])
def test_noise_is_that_of_new_documents(corpus, unrelated, weight):
    for X, y in (corpus[:2], unrelated):
        n = len(y) * 2 // 3
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            model = SupervisedLDA(4, weight=weight, random_state=0).fit(X[:n], y[:n])
        error = np.sqrt(np.mean((model.predict(X[n:]) - y[n:]) ** 2))
        assert model.noise_ == pytest.approx(error, rel=0.3)
