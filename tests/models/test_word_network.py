# SPDX-License-Identifier: BSD-3-Clause
"""Topics of short texts: what is counted, and that themes are found again."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from tests_support import draw_corpus

from topicfold import LDA, WordNetworkLDA
from topicfold.exceptions import DataError
from topicfold.infer.fold_in import fold_in
from topicfold.metrics import clustering_nmi
from topicfold.models import word_network as module
from topicfold.models.word_network import central_words, word_network


@pytest.fixture(scope="module")
def titles():
    """800 titles of four words; one of eight themes each, 25 words in a theme."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 8, 800)
    shares = np.full((8, 200), 0.1 / 200)
    for k in range(8):
        shares[k, 25 * k : 25 * k + 25] += 0.9 * rng.dirichlet(np.ones(25))
    X = np.array([rng.multinomial(4, shares[k]) for k in y])
    return sparse.csr_matrix(X.astype(np.float64)), y, shares


def test_network_by_hand():
    X = np.array([[2, 1, 1, 0], [1, 0, 3, 0], [0, 0, 0, 5], [0, 0, 0, 1]], float)
    expected = [[0, 1, 2, 0], [1, 0, 1, 0], [2, 1, 0, 0], [0, 0, 0, 2]]
    np.testing.assert_array_equal(word_network(X).toarray(), expected)
    assert word_network(X.astype(np.float32)).dtype == np.float32


@pytest.mark.filterwarnings("ignore::topicfold.exceptions.EmptyDocumentWarning")
def test_is_lda_of_the_network_and_folds_texts_in(titles):
    X = titles[0]
    model = WordNetworkLDA(8, random_state=0, max_iter=30).fit(X)
    eta = model.topic_word_prior_
    options = {"random_state": 0, "max_iter": 30}
    alone = LDA(8, topic_word_prior=eta, learn_priors=False, **options)
    network = word_network(X)
    topics, totals = alone.fit(network).components_, alone.topic_totals_
    central = central_words(network, topics, totals)
    np.testing.assert_allclose(model.components_, (topics + central) / 2, atol=1e-7)
    theta = fold_in(X, model.components_, prior=model.doc_topic_prior_)
    np.testing.assert_allclose(model.doc_topics_, theta, atol=1e-3)
    np.testing.assert_array_equal(model.transform(X), model.doc_topics_)
    np.testing.assert_array_equal(model.doc_lengths_, 4)
    assert model.perplexity(X[np.diff(X.indptr) > 2]) < 200


def test_central_words_are_the_first_eigenvector_of_a_topic(monkeypatch):
    rng = np.random.default_rng(0)
    network = sparse.random(9, 9, 0.6, random_state=0)
    network = sparse.csr_matrix(network + network.T)
    topics, totals = rng.dirichlet(np.ones(9), 2), np.array([30.0, 10.0])
    belongs = totals[:, None] * topics / (totals @ topics)
    monkeypatch.setattr(module, "CENTRAL_STEPS", 200)
    found = central_words(network, topics, totals)
    for k in range(2):
        dense = belongs[k][:, None] * network.toarray() * belongs[k]
        first = np.abs(np.linalg.eigh(dense)[1][:, -1])
        np.testing.assert_allclose(found[k], first / first.sum(), atol=1e-9)
    same = central_words(network, topics, totals, 2)
    np.testing.assert_array_equal(found, same)


def test_a_topic_of_two_stories_shows_the_larger():
    stories = np.kron(np.eye(2), np.ones((1, 12)))
    stories = np.repeat(stories, [60, 40], axis=0)
    rng = np.random.default_rng(0)
    X = np.array([row * (rng.random(24) < 0.4) for row in stories])
    X = X[X.any(axis=1)]
    top = np.argsort(-WordNetworkLDA(1, random_state=0).fit(X).components_[0])
    assert (top[:10] < 12).all()
    plain = np.argsort(-LDA(1, random_state=0).fit(word_network(X)).components_[0])
    assert (plain[:10] >= 12).any()


@pytest.mark.parametrize(("n_topics", "tokens"), [(2, 0.2), (49, 0.1)])
def test_prior_counts_a_token_once_for_each_word_that_it_meets(n_topics, tokens):
    X = np.repeat([[1.0, 1, 0, 0, 0], [0, 0, 3, 1, 1]], [60, 40], axis=0)
    model = WordNetworkLDA(n_topics, random_state=0, max_iter=2).fit(X)
    words, pairs = 60 * 2 + 40 * 3, 60 * 2 + 40 * 6
    assert model.topic_word_prior_ == pytest.approx(tokens * pairs / words)
    pairs_alone = WordNetworkLDA(n_topics, random_state=0, max_iter=2).fit(X[:60])
    assert pairs_alone.topic_word_prior_ == pytest.approx(tokens)
    given = WordNetworkLDA(n_topics, topic_word_prior=0.03, max_iter=2).fit(X)
    assert given.topic_word_prior_ == 0.03


def test_more_topics_than_themes_do_not_break_the_themes():
    rng = np.random.default_rng(5)
    zipf = 1 / np.arange(1, 41)
    shares = 0.2 / 240 + 0.8 * np.kron(np.eye(6), zipf / zipf.sum())
    y = np.arange(300) % 6
    X = np.array([rng.multinomial(6, shares[k]) for k in y], float)
    X = X[:, X.any(axis=0)]
    nmi = {}
    for eta in (None, 0.1):  # 0.1 is the most that LDA takes by itself
        model = WordNetworkLDA(20, topic_word_prior=eta, random_state=0).fit(X)
        nmi[eta] = clustering_nmi(y, model.doc_topics_.argmax(axis=1))
    assert nmi[None] > nmi[0.1] + 0.05


def test_finds_the_themes_of_titles(titles):
    X, y, shares = titles
    model = WordNetworkLDA(8, random_state=0).fit(X)
    assert clustering_nmi(y, model.doc_topics_.argmax(axis=1)) > 0.95
    overlap = np.minimum(model.components_[:, None], shares[None]).sum(axis=2)
    assert (overlap.max(axis=0) > 0.8).all()


@pytest.mark.parametrize(
    "X",
    [np.eye(5), np.ones((6, 3)), np.diag([3.0, 0, 2]), np.ones((1, 1))],
    ids=["one word each", "all the same", "an empty one", "one word"],
)
@pytest.mark.filterwarnings("ignore::topicfold.exceptions.EmptyDocumentWarning")
def test_poor_texts_have_mixtures(X):
    model = WordNetworkLDA(2, random_state=0).fit(X)
    assert np.isfinite(model.components_).all()
    np.testing.assert_allclose(model.doc_topics_.sum(axis=1), 1, rtol=1e-5)


def test_says_what_it_cannot_do(titles, monkeypatch):
    model = WordNetworkLDA(2)
    assert not hasattr(model, "partial_fit")
    assert "sides" not in model.get_params()
    with pytest.raises(TypeError, match="authors"):
        model.fit(titles[0], authors=[["a"]] * 800)
    monkeypatch.setattr(module, "MOST_PAIRS", 1000)
    with pytest.raises(DataError, match="not short texts"):
        model.fit(titles[0])


def test_texts_that_are_not_short_are_told():
    X, _, _ = draw_corpus(120, 60, 3, seed=0, length=40)
    with pytest.warns(UserWarning, match="about 40 words each.*Use LDA"):
        WordNetworkLDA(3, max_iter=2, random_state=0).fit(X)
    X, _, _ = draw_corpus(120, 60, 3, seed=0, length=8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WordNetworkLDA(3, random_state=0).fit(X)
