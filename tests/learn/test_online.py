# SPDX-License-Identifier: BSD-3-Clause
"""Streams: what a fit has learned counts when documents come batch by batch."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from topicfold import FSTM, LDA, PLSA
from topicfold.exceptions import DataError
from topicfold.learn import initial

MODELS = {
    "plsa": PLSA(4, random_state=0),
    "fstm": FSTM(4, random_state=0),
    "cvb0": LDA(4, random_state=0),
    "variational": LDA(4, algorithm="variational", random_state=0),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_single_documents_do_not_undo_a_fit(planted, model):
    X = planted[0]
    train, new, test = X[:200], X[200:205], X[205:]
    model = clone(model).fit(train)
    before = model.perplexity(test)
    for row in range(new.shape[0]):
        model.partial_fit(new[[row]])
    assert model.perplexity(test) < 1.03 * before


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_stream_counts_the_corpus_of_the_fit(planted, model):
    X = planted[0]
    model = clone(model).fit(X[:200]).partial_fit(X[200:250])
    assert model.n_documents_seen_ == 250
    assert model.tokens_seen_ == X[:250].sum()
    assert model.n_batches_ == 200 // 50 + 1
    shares = np.asarray(X[:250].sum(axis=0)).ravel() / X[:250].sum()
    np.testing.assert_allclose(model.word_frequencies_, shares, atol=1e-7)
    # The statistics are those of a corpus of as many tokens, and of its topics.
    prior = model.topic_word_prior_ * X.shape[1] * 4 if isinstance(model, LDA) else 0
    assert model.topic_totals_.sum() - prior == pytest.approx(X[:250].sum(), rel=0.25)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_fit_forgets_the_stream_before_it(planted, model):
    X = planted[0]
    fresh = clone(model).fit(X[:200]).partial_fit(X[200:250])
    used = clone(model).partial_fit(X[250:]).fit(X[:200]).partial_fit(X[200:250])
    np.testing.assert_array_equal(used.components_, fresh.components_)
    np.testing.assert_array_equal(used.topic_totals_, fresh.topic_totals_)


def test_priors_that_a_stream_cannot_learn_are_refused(planted):
    with pytest.raises(DataError, match="learn_priors=True"):
        LDA(2, learn_priors=True).partial_fit(planted[0])


def test_priors_are_learned_from_single_documents(planted):
    # One document alone has an infinite best prior.
    X = planted[0]
    model = LDA(4, algorithm="variational", random_state=0)
    for row in range(200):
        model.partial_fit(X[[row]])
    assert model.doc_topic_prior_.max() < 1.0


@pytest.mark.parametrize("seed", range(3))
def test_topics_of_an_svd_are_squares_of_its_positive_parts(monkeypatch, seed):
    """The sign of a vector is that of its stronger part; the rest is random."""
    rng = np.random.default_rng(seed)
    X = sparse.csr_matrix(rng.poisson(0.3, (80, 600)).astype(float))
    unigram = np.asarray(X.sum(axis=0)).ravel() + 1 / 600
    unigram /= unigram.sum()
    exact = np.linalg.svd(np.sqrt(X.toarray()), full_matrices=False)
    exact = exact[0][:, 1:4], exact[1][1:4], exact[2][1:4]
    monkeypatch.setattr(initial, "randomized_svd", lambda *_, **__: exact)
    start = initial._Start(X, 3, unigram, np.random.RandomState(0), 1)
    for k, topic in enumerate(start.svd()):
        u, v = exact[0][:, k], exact[2][k]
        parts = [
            np.linalg.norm(np.maximum(s * u, 0)) * np.linalg.norm(np.maximum(s * v, 0))
            for s in (1, -1)
        ]
        chosen = np.maximum(v if parts[0] >= parts[1] else -v, 0) ** 2
        noise = (topic - 0.8 * chosen / chosen.sum()) / (0.2 * unigram)
        # Exponential: mean one, and never below zero.
        assert noise.min() >= -1e-9
        assert noise.mean() == pytest.approx(1.0, abs=0.25)
        assert noise.std() == pytest.approx(1.0, abs=0.35)
