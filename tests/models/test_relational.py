# SPDX-License-Identifier: BSD-3-Clause
"""RelationalLDA: chooses its weight, predicts and suggests links, and is saved."""

import numpy as np
import pytest

import topicfold
from topicfold import LDA, RelationalLDA
from topicfold.evidence import Links, Response
from topicfold.exceptions import DataError, DataWarning
from topicfold.learn.learner import Cvb0
from topicfold.models.relational import WEIGHTS


@pytest.fixture(scope="module")
def corpus():
    """Two groups of 60 documents; links inside a group."""
    rng = np.random.default_rng(0)
    group = np.arange(120) % 2
    weights = np.where(group[:, None] == (np.arange(24) >= 12), 4.0, 1.0)
    X = np.array([rng.multinomial(30, w / w.sum()) for w in weights])
    pairs = rng.integers(0, 120, (600, 2))
    same = (group[pairs[:, 0]] == group[pairs[:, 1]]) & (pairs[:, 0] != pairs[:, 1])
    return X, pairs[same], group


@pytest.fixture(scope="module")
def model(corpus):
    X, links, _ = corpus
    return RelationalLDA(2, random_state=0).fit(X, links=links)


def test_the_weight_is_chosen_among_multiples_of_the_length(corpus, model):
    X, links, _ = corpus
    assert [w / 30 for w, _ in model.weight_scores_] == pytest.approx(WEIGHTS)
    assert model.weight_ in [w for w, _ in model.weight_scores_]
    side = Links(weight=model.weight_)
    same = LDA(2, sides=[side], random_state=0).fit(X, links=links)
    np.testing.assert_array_equal(same.components_, model.components_)


def test_links_of_training_and_new_documents(corpus, model):
    _, _, group = corpus
    inside, across = model.predict_links([[0, 2], [0, 1]])
    assert inside > 2 * across
    new = np.r_[np.full(12, 2), np.zeros(12, int)][None]  # of group 0
    inside, across = model.predict_links([[0, 2], [0, 1]], X=new)
    assert inside > 2 * across
    documents, chances = model.suggest_links(new, 8)
    assert (group[documents] == 0).all()
    assert (np.diff(chances) <= 0).all()
    documents, _ = model.suggest_links(n=4)
    assert documents.shape == (120, 4)
    assert (group[documents] == group[:, None]).mean() > 0.9
    assert (documents != np.arange(120)[:, None]).all()


def test_a_saved_model_suggests_the_same(corpus, model, tmp_path):
    X, _, _ = corpus
    model.save(tmp_path / "model")
    loaded = topicfold.load(tmp_path / "model")
    for one, other in zip(loaded.suggest_links(X), model.suggest_links(X), strict=True):
        np.testing.assert_array_equal(one, other)
    assert loaded.weight_scores_ == model.weight_scores_
    assert loaded.intercept_ == model.intercept_
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    np.testing.assert_array_equal(loaded.std_errors_, model.std_errors_)


def test_threads_do_not_change_the_suggestions(corpus, model):
    X, links, _ = corpus
    other = RelationalLDA(2, weight=model.weight_, n_jobs=3, random_state=0)
    other.fit(X, links=links)
    for a, b in zip(other.suggest_links(X), model.suggest_links(X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_links_and_a_response_together(corpus):
    X, links, group = corpus
    model = RelationalLDA(3, weight=3.0, sides=[Response("classes")], random_state=0)
    model.fit(X, links=links, response=group)
    response = next(s for s in model.sides_ if isinstance(s, Response))
    assert response.score(model.transform(X), group) > 0.9
    inside, across = model.predict_links([[0, 2], [0, 1]])
    assert inside > across


def test_without_links_it_is_lda_and_predicts_nothing(corpus, monkeypatch):
    X, _, _ = corpus
    monkeypatch.setattr(Cvb0, "extrapolated", lambda algorithm: algorithm)
    plain = LDA(2, learn_priors=False, random_state=0).fit(X)
    for links in (None, [], [[3, 3]]):
        with pytest.warns(DataWarning, match="fitted without links") as told:
            model = RelationalLDA(2, random_state=0).fit(X, links=links)
        assert len(told) == 1
        assert told[0].filename == __file__
        np.testing.assert_allclose(model.components_, plain.components_, atol=1e-6)
    for call in (lambda: model.predict_links([[0, 1]]), model.suggest_links):
        with pytest.raises(DataError, match="fitted without links"):
            call()


def test_what_is_dropped_is_logged_once_and_about_links(corpus, caplog):
    X, links, _ = corpus
    given = np.array([*np.asarray(links).tolist(), [3, 3]])
    RelationalLDA(2, random_state=0, max_iter=3, tol=0).fit(X, links=given)
    assert [record.getMessage() for record in caplog.records] == [
        "links of documents to themselves: 1, dropped"
    ]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([[0, 120]], "document 120, but there are 120 training documents"),
        ([[0, 1], [-1, 2]], "pair 1 names document -1"),
        ([[0, 1, 2]], "two whole numbers per pair"),
        ([[0.5, 1]], "two whole numbers per pair"),
    ],
)
def test_bad_pairs_are_refused(model, pairs, message):
    with pytest.raises(DataError, match=message):
        model.predict_links(pairs)


def test_bad_rows_of_new_documents_are_refused(corpus, model):
    with pytest.raises(DataError, match="document 3, but there are 2 rows in X"):
        model.predict_links([[3, 0]], X=corpus[0][:2])
    with pytest.raises(DataError, match="n=0"):
        model.suggest_links(n=0)


def test_a_spoilt_file_is_refused(corpus, tmp_path):
    X, links, _ = corpus
    model = RelationalLDA(2, weight=1.0, random_state=0, max_iter=2)
    model.fit(X, links=links)
    model.sides_[0].coef_ = np.array([np.nan, 1.0])
    model.save(tmp_path / "model.safetensors")
    with pytest.raises(Exception, match="not finite"):
        topicfold.load(tmp_path / "model.safetensors")
