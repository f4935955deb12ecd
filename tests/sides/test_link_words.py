# SPDX-License-Identifier: BSD-3-Clause
"""Words beside topics in the prediction of links."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.feature_extraction.text import TfidfTransformer

import topicfold
from topicfold import RelationalLDA
from topicfold.core.counts import smooth_idf
from topicfold.evidence.links import around, graph_of
from topicfold.evidence.words import word_weights

FEW = {"weight": 3.0, "random_state": 0, "max_iter": 20, "tol": 0}


@pytest.fixture(scope="module")
def corpus():
    """Two topics; within them, documents that share a rare word are linked."""
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(40, 0.2), 2)
    group, pair = np.repeat([0, 1], 60), np.arange(120) // 4
    X = np.array([rng.multinomial(30, phi[g]) for g in group])
    rare = np.zeros((120, 30))
    rare[np.arange(120), pair] = 2
    links = [(d, e) for d in range(120) for e in range(d) if pair[d] == pair[e]]
    X = sparse.csr_matrix(np.hstack([X, rare]).astype(float))
    return X, np.array(links), pair


def test_weights_are_those_of_scikit_learn(corpus):
    X, *_ = corpus
    logs = X.log1p()
    theirs = TfidfTransformer().fit(logs)
    idf = smooth_idf(X)
    np.testing.assert_allclose(idf, theirs.idf_)
    ours = word_weights(X, idf).toarray()
    np.testing.assert_allclose(ours, theirs.transform(logs).toarray(), atol=1e-12)


def test_words_find_which_documents_of_a_topic_are_linked(corpus):
    X, links, pair = corpus
    rows = np.arange(120)
    train = rows % 4 > 0
    place = np.cumsum(train) - 1
    among = np.array([(place[d], place[e]) for d, e in links if train[d] and train[e]])

    def found(words):
        model = RelationalLDA(2, words=words, **FEW).fit(X[train], links=among)
        best, chances = model.suggest_links(X[~train], 3)
        assert (np.diff(chances, axis=1) <= 0).all()
        return (pair[train][best] == pair[~train][:, None]).mean()

    assert found(True) > 0.95
    assert found(False) < 0.5


def test_probabilities_are_those_of_topics_and_words(corpus):
    X, links, _ = corpus
    model = RelationalLDA(2, **FEW).fit(X, links=links)
    side, theta = model.sides_[0], model.transform(X[:5])
    start, by_topics, own, near, by_degree, by_votes = model.word_coef_
    assert own > 0
    words = model.link_words_.toarray()
    mean = around(model.link_words_, graph_of(side)).toarray()
    np.testing.assert_allclose(mean[0], words[1:4].mean(axis=0), atol=1e-6)
    topics = np.sqrt(theta[2] * side.link_topics_[7]) @ side.coef_ + side.intercept_
    odds = start + by_topics * topics + words[2] @ (own * words[7] + near * mean[7])
    graph = graph_of(side).toarray()
    cosines = words[2] @ words.T
    likes = np.argsort(-cosines, kind="stable")[:20]
    odds += (
        by_degree * np.log1p(graph[7].sum())
        + by_votes * cosines[likes] @ graph[likes, 7]
    )
    assert model.predict_links([[2, 7]], X[:5]) == pytest.approx(expit(odds), rel=1e-4)
    documents, chances = model.suggest_links(X[:5], 4)
    again = model.predict_links([[2, documents[2, 0]]], X[:5])
    assert chances[2, 0] == pytest.approx(again[0], rel=1e-6)


def test_what_many_link_to_is_likely_linked_again(corpus):
    """A third of a topic's documents link to one."""
    X, *_ = corpus
    rng = np.random.default_rng(1)
    hubs = {0: 1, 1: 61}
    links = [(d, hubs[d // 60]) for d in range(120) if d % 3 == 0]
    links += [tuple(pair) for pair in rng.integers(0, 120, (40, 2))]
    links = np.array([(d, e) for d, e in links if d != e])
    model = RelationalLDA(2, **FEW).fit(X, links=links)
    assert model.word_coef_[4] > 0
    new = np.arange(4, 120, 3)
    best, _ = model.suggest_links(X[new], 3)
    assert (
        np.mean([hubs[d // 60] in found for d, found in zip(new, best, strict=True)])
        > 0.9
    )


def test_documents_with_the_same_words_have_the_same_links():
    """Words of both ends differ, so that only links of similar documents say it."""
    group = np.arange(80) % 4
    X = np.zeros((84, 60))
    rng = np.random.default_rng(0)
    for d in range(80):
        X[d, group[d] * 10 + rng.choice(10, 6, replace=False)] = 1
    for hub in range(4):
        X[80 + hub, 40 + hub * 5 : 45 + hub * 5] = 1
    known = np.arange(80) % 8 < 4
    links = [(d, 80 + group[d]) for d in np.flatnonzero(known)]
    model = RelationalLDA(4, **FEW).fit(X, links=links)
    assert model.word_coef_[5] > 0
    new = np.flatnonzero(~known)
    best, _ = model.suggest_links(X[new], 1)
    assert (best[:, 0] == 80 + group[new]).mean() > 0.9


def test_likes_leave_out_the_document_itself(corpus):
    X, links, _ = corpus
    model = RelationalLDA(2, **FEW).fit(X, links=links)
    rule = model._rule()
    found, cosines = rule.likes(model.link_words_[5:8], np.arange(5, 8))
    exact = (model.link_words_[5:8] @ model.link_words_.T).toarray()
    exact[np.arange(3), np.arange(5, 8)] = 0
    np.testing.assert_allclose(cosines, -np.sort(-exact, axis=1)[:, :20], atol=1e-6)
    assert not (found == np.arange(5, 8)[:, None]).any()
    # One row is what it is among others; none is none.
    one = model.predict_links([[6, 9]])
    assert one == pytest.approx(model.predict_links([[5, 1], [6, 9], [7, 6]])[[1]])
    assert model.predict_links(np.zeros((0, 2), int)).shape == (0,)


def test_a_regression_of_some_of_the_documents(corpus, monkeypatch):
    X, links, _ = corpus
    whole = RelationalLDA(2, **FEW).fit(X, links=links)
    monkeypatch.setattr("topicfold.evidence.links.MOST_ENDS", 80)
    some = RelationalLDA(2, **FEW).fit(X, links=links)
    assert (some.word_coef_ != whole.word_coef_).any()
    pairs = np.array([[d, e] for d in range(120) for e in range(d)])
    ours, theirs = (model.predict_links(pairs) for model in (some, whole))
    # As many links are expected, by fewer pairs.
    assert ours.sum() == pytest.approx(theirs.sum(), rel=0.3)


def test_saved_and_spoilt(corpus, tmp_path):
    X, links, _ = corpus
    model = RelationalLDA(2, **FEW).fit(X, links=links)
    model.save(tmp_path / "model")
    loaded = topicfold.load(tmp_path / "model")
    for one, other in zip(loaded.suggest_links(X), model.suggest_links(X), strict=True):
        np.testing.assert_array_equal(one, other)
    loaded.word_coef_ = np.array([0.0, -1.0, 1.0, 1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="word_coef_"):
        loaded._check_loaded()
    loaded.link_words_ = loaded.link_words_[:3]
    with pytest.raises(ValueError, match="link_words_"):
        loaded._check_loaded()
