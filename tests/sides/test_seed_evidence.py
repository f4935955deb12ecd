# SPDX-License-Identifier: BSD-3-Clause
"""Seed words teach which documents are about what: naive Bayes by the equations."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax

import topicfold
from topicfold import SeededLDA
from topicfold.core.counts import document_frequencies
from topicfold.exceptions import DataWarning
from topicfold.parts import Context
from topicfold.phi.seeds import (
    LEAST,
    LEAST_UNSEEDED,
    SMOOTHING,
    STRENGTH,
    SeedEvidence,
    self_trained,
)


@pytest.fixture(scope="module")
def corpus():
    """Four themes of unequal size; seeds are rare words of two of them."""
    rng = np.random.default_rng(0)
    own = rng.dirichlet(np.full(120, 0.05), 4)
    common = rng.dirichlet(np.ones(120))
    y = rng.choice(4, 400, p=[0.2, 0.2, 0.3, 0.3])
    X = np.array([rng.multinomial(30, 0.5 * own[k] + 0.5 * common) for k in y])
    seeds = {n: [int(own[k].argsort()[-3])] for k, n in enumerate("ab")}
    return sparse.csr_matrix(X.astype(float)), y, seeds


def test_naive_bayes_by_the_equations(corpus, monkeypatch):
    X, _, seeds = corpus
    monkeypatch.setattr("topicfold.phi.seeds.ROUNDS", 2)
    monkeypatch.setattr("topicfold.phi.seeds.ROWS", 150)
    counts = X.toarray()
    frequencies = document_frequencies(X)
    np.testing.assert_array_equal(frequencies, (counts > 0).sum(axis=0))
    found = self_trained(X, list(seeds.values()), frequencies)
    idf = np.log(400 / frequencies)
    marks = np.stack([(counts[:, w] > 0) @ idf[w] for w in seeds.values()], axis=1)
    best = (marks == marks.max(axis=1, keepdims=True)) & (marks > 0)
    Q = best / np.maximum(best.sum(axis=1, keepdims=True), 1)
    corpus = counts.sum(axis=0) + SMOOTHING
    corpus /= corpus.sum()
    rest = 1 / 3
    for root in (1.0, np.sqrt(counts.sum(axis=1, keepdims=True))):
        words = Q[:, :2].T @ counts + SMOOTHING
        words /= words.sum(axis=1, keepdims=True)
        prior = [*(Q[:, :2].sum(axis=0) + 1) / 402, rest]
        logs = counts @ np.log(np.vstack([words, corpus])).T
        P = softmax(logs / root + np.log(prior), axis=1)
        rest = P[:, 2].mean() + 1 / 400
        Q = P[:, :2] / np.sqrt(P[:, :2].sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found.shares, P, atol=1e-12)
    np.testing.assert_allclose(found.topics, words)


def test_evidence_is_the_log_of_what_was_found():
    side = SeedEvidence()
    side._shares = np.array([[0.8, 0.1, 0.1], [0.001, 0.199, 0.8]])
    context = Context(2, 3, 5, np.ones(2))
    data = side.check(None, context)
    found = side.evidence(np.ones((2, 3)), data, context)
    least = np.log(LEAST)
    wanted = [[np.log(0.8), np.log(0.1)], [least, np.log(0.199)]]
    np.testing.assert_allclose(found[:, :2], STRENGTH * np.array(wanted))
    rest = np.log([LEAST_UNSEEDED, 0.8])
    np.testing.assert_allclose(found[:, 2], STRENGTH * rest)
    side.finish(context)
    assert not side.evidence(np.ones((2, 3)), side.check(None, context), context).any()


def test_seeded_topics_are_those_of_their_documents(corpus):
    X, y, seeds = corpus
    of_seeds = y < 2

    def right(model):
        best = model.fit(X).doc_topics_[of_seeds, :2].argmax(axis=1)
        return (best == y[of_seeds]).mean()

    assert right(SeededLDA(8, seeds=seeds, random_state=0)) > 0.85


def test_documents_of_many_topics_do_not_mislead_seeded_topics():
    rng = np.random.default_rng(2)
    topics = rng.dirichlet(np.full(400, 0.05), 10)
    mixtures = rng.dirichlet(np.full(10, 0.2), 500)
    X = np.array([rng.multinomial(60, row) for row in mixtures @ topics])
    own = topics / topics.sum(axis=0) * (topics > 0.01) * (topics < 0.04)
    seeds = {str(k): own[k].argsort()[-3:].tolist() for k in range(4)}

    def likeness(self_train, tries=True):
        model = SeededLDA(10, seeds=seeds, self_train=self_train, random_state=0)
        model._tries = tries
        found = model.fit(X).components_[:4]
        return np.sqrt(found * topics[:4]).sum(axis=1).mean()

    with pytest.warns(DataWarning, match="seed words are rarer than"):
        assert likeness(True, tries=False) < 0.9  # what self-training alone would do
    assert likeness(True) == likeness(False) > 0.95


def test_few_documents_teach_nothing(corpus):
    X, _, seeds = corpus
    few = {"seeds": seeds, "random_state": 0, "max_iter": 5, "tol": 0}
    one = SeededLDA(4, **few).fit(X[:49])
    other = SeededLDA(4, self_train=False, **few).fit(X[:49])
    np.testing.assert_allclose(one.components_, other.components_, atol=1e-6)


def test_some_dozens_of_documents_per_topic_teach():
    rng = np.random.default_rng(0)
    own, common = rng.dirichlet(np.full(400, 0.05), 6), rng.dirichlet(np.ones(400))
    parts = rng.dirichlet(np.full(400, 0.05), (6, 3))  # themes within each subject
    y, part = rng.integers(6, size=240), rng.integers(3, size=240)
    chances = 0.3 * own[y] + 0.4 * parts[y, part] + 0.3 * common
    X = np.array([rng.multinomial(60, row) for row in chances])
    seeds = {str(k): own[k].argsort()[-5:-2].tolist() for k in range(6)}
    counted = np.stack([X[:, w].sum(axis=1) for w in seeds.values()], axis=1)

    def right(self_train):
        model = SeededLDA(seeds=seeds, self_train=self_train, random_state=0)
        return (model.fit(X).doc_topics_[:, :6].argmax(axis=1) == y).mean()

    assert right(True) > 0.95  # the original model 0.80, counting seed words 0.78
    assert (counted.argmax(axis=1) == y).mean() < 0.85


def test_saved_models_do_not_hold_the_documents(corpus, tmp_path):
    X, _, seeds = corpus
    model = SeededLDA(4, seeds=seeds, random_state=0, max_iter=5).fit(X)
    assert not vars(model.sides_[1]).get("_shares")
    model.save(tmp_path / "model")
    again = topicfold.load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


def test_seeds_that_tell_nothing_are_named(corpus):
    X, *_ = corpus
    with pytest.warns(DataWarning, match="'a' and 'b' have the same seed words"):
        SeededLDA(4, seeds={"a": [3, 4], "b": [4, 3]}, max_iter=2).fit(X)
    everywhere = int(document_frequencies(X).argmax())
    dense = X.tolil()
    dense[:, everywhere] = 1.0
    with pytest.warns(DataWarning, match=f"more than 40% .* '{everywhere}'"):
        SeededLDA(4, seeds={"a": [everywhere]}, max_iter=2).fit(dense.tocsr())
