# SPDX-License-Identifier: BSD-3-Clause
"""Bursts and the word cache: predictions sum to one, and planted ones are found."""

import numpy as np
import pytest
from scipy import sparse

from topicfold import LDA, BurstyLDA
from topicfold.exceptions import DataError
from topicfold.infer.bursty import ENTRY_STEPS, BurstyTopics, best_strength
from topicfold.metrics import cache_weight, completion_perplexity


def drawn(strength, n_documents=300, n_terms=60, n_topics=3, length=50, seed=0):
    """Draw documents whose topics are φ_dk ~ Dirichlet(s φ_k)."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(n_terms, 0.3), n_topics)
    theta = rng.dirichlet(np.full(n_topics, 0.3), n_documents)
    rows = []
    for own in theta:
        topics = np.array([rng.dirichlet(strength * row + 1e-9) for row in phi])
        rows.append(rng.multinomial(length, own @ topics))
    return sparse.csr_matrix(np.array(rows, dtype=np.float64)), phi, theta


def plain_entry(x, counts, prior, beta, strength):
    """γ of one entry, from the equation of the module."""
    gamma = (counts + prior) * beta / (counts + strength)
    gamma /= gamma.sum()
    for _ in range(ENTRY_STEPS if x > 1 else 1):
        others = np.maximum(counts - gamma, 0)
        gamma = (others + prior) * ((x - 1) * gamma + beta) / (others + strength)
        gamma /= gamma.sum()
    return gamma


def test_predictions_are_those_of_the_equation_and_sum_to_one():
    X, phi, _ = drawn(20.0, n_documents=8)
    prior = np.array([0.2, 0.1, 0.4])
    model = BurstyTopics(phi, 20.0, prior)
    everything = sparse.csr_matrix(np.ones(X.shape))
    p = model.predictions(X, everything).reshape(X.shape)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    counts, _ = model.counts(X)
    for d in range(X.shape[0]):
        own = np.zeros((3, X.shape[1]))
        row = X[[d]]
        for w, x in zip(row.indices, row.data, strict=True):
            gamma = plain_entry(x, counts[d], prior, 20.0 * phi[:, w], 20.0)
            own[:, w] = x * gamma
        n = own.sum(axis=1)
        theta = (n + prior) / (n + prior).sum()
        expected = theta @ ((own + 20.0 * phi) / (n + 20.0)[:, None])
        np.testing.assert_allclose(p[d], expected, rtol=1e-9)


def test_a_large_strength_is_lda():
    X, _, _ = drawn(20.0)
    lda = LDA(3, random_state=0).fit(X[:200])
    model = BurstyLDA(3, strength=1e9, random_state=0).fit(X[:200])
    np.testing.assert_array_equal(model.components_, lda.components_)
    assert model.perplexity(X[200:]) == pytest.approx(lda.perplexity(X[200:]), rel=0.02)


def test_the_strength_is_learned_from_documents_that_are_new():
    for strength in (8.0, 60.0):
        X, phi, _ = drawn(strength, n_documents=400, length=150)
        found = best_strength(X, phi, np.full(3, 0.3))
        assert strength / 2 < found < strength * 2


def test_bursty_documents_are_predicted_better_than_by_lda():
    X, _, _ = drawn(15.0, n_documents=400)
    lda = LDA(3, random_state=0).fit(X[:300])
    model = BurstyLDA(3, random_state=0).fit(X[:300])
    plain, cached = (lda.perplexity(X[300:], cache=c) for c in (None, "learned"))
    assert model.perplexity(X[300:]) < cached * 1.02 < plain
    assert model.strength_ < 60
    np.testing.assert_array_equal(model.transform(X[:300]), model.doc_topics_)
    with pytest.raises(DataError, match="takes no cache"):
        model.perplexity(X, cache=0.1)


def test_the_cache_sums_to_one_and_is_the_mixture_it_says():
    rng = np.random.default_rng(0)
    theta, topics = rng.dirichlet(np.ones(3), 5), rng.dirichlet(np.ones(20), 3)
    counts = rng.poisson(0.4, (5, 20)).astype(float)
    counts[4] = 0  # nothing was seen of it: the topics alone
    seen = sparse.csr_matrix(counts)
    p = np.empty((5, 20))
    for d, w in np.ndindex(p.shape):
        one = sparse.csr_matrix(([1.0], ([d], [w])), shape=p.shape)
        options = {"smoothing": 0, "observed": seen, "cache": 0.3}
        p[d, w] = 1 / completion_perplexity(theta, topics, one, **options)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-9)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    expected = 0.7 * theta @ topics + 0.3 * shares
    np.testing.assert_allclose(p[:4], expected[:4], rtol=1e-9)
    np.testing.assert_allclose(p[4], theta[4] @ topics, rtol=1e-9)


def test_the_weight_of_the_cache_is_the_likeliest():
    X, phi, theta = drawn(15.0, n_documents=50)
    found = cache_weight(theta, phi, X)
    x = X.toarray()
    n = x.sum(axis=1, keepdims=True)
    p, own = theta @ phi, np.maximum(x - 1, 0) / (n - 1)
    grid = np.linspace(0.001, 0.999, 999)
    loglik = [(x * np.log((1 - w) * p + w * own)).sum() for w in grid]
    assert found == pytest.approx(grid[int(np.argmax(loglik))], abs=2e-3)
    assert 0.1 < found < 0.9
    lone = sparse.csr_matrix(np.minimum(x, 1))
    assert cache_weight(theta, phi, lone) == 0


def test_a_cache_that_is_none():
    X, _, _ = drawn(15.0, n_documents=60)
    lda = LDA(3, random_state=0).fit(X)
    assert lda.perplexity(X, cache=0.0) == lda.perplexity(X)
    for wrong in (-0.1, 1.5, "yes", True):
        with pytest.raises(DataError, match="cache="):
            lda.perplexity(X, cache=wrong)
    with pytest.raises(DataError, match="needs observed"):
        completion_perplexity([[1.0]], [[0.5, 0.5]], [[1, 0]], smoothing=0, cache=0.1)


def test_perplexity_of_nothing_held_out_is_an_error():
    X = np.eye(4, dtype=int)[[0, 1, 2, 3] * 3]
    model = BurstyLDA(2, strength=5.0, max_iter=2, random_state=0).fit(X)
    with pytest.raises(DataError, match="held_out has no tokens"):
        model.perplexity(X)


def test_a_word_that_no_topic_has_leaves_mixtures_finite():
    topics = np.array([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]])
    X = sparse.csr_matrix([[2.0, 1.0, 1.0], [0.0, 0.0, 3.0]])
    theta = BurstyTopics(topics, 20.0, np.full(2, 0.5)).mixtures(X)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0)
    np.testing.assert_allclose(theta[1], 0.5)
