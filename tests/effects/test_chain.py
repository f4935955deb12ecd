"""The sampler of mixtures that knows the covariates."""

import numpy as np
import pytest
from effects_support import planted
from scipy import optimize, sparse
from scipy.special import gammaln

from topicfold.effects.chain import (
    MixtureChain,
    learned_concentration,
    learned_topic_prior,
)
from topicfold.effects.regression import LeastSquares, pool


def chain_of(found, design=None, **options):
    options = {"concentration": 2.0, "topic_word_prior": 0.1, "seed": 1} | options
    if design is None:
        design = np.c_[np.ones(len(found["x"])), found["x"]]
    return MixtureChain(found["X"], found["topics"] + 1e-9, design, **options)


def test_draws_are_the_same_for_any_number_of_threads():
    found = planted(0, n_documents=60)
    runs = [list(chain_of(found, n_jobs=jobs).draws(3, 2, 1)) for jobs in (1, 3)]
    np.testing.assert_array_equal(runs[0], runs[1])
    other = list(chain_of(found, seed=2).draws(3, 2, 1))
    assert not np.array_equal(runs[0], other)


def test_counts_are_those_of_the_assignments():
    found = planted(1, n_documents=40)
    chain = chain_of(found)
    for _ in range(3):
        chain.sweep()
    for d in range(40):
        own = chain.assigned[chain.doc_ptr[d] : chain.doc_ptr[d + 1]]
        np.testing.assert_array_equal(chain.counts[d], np.bincount(own, minlength=3))
    np.testing.assert_allclose(chain.mixtures.sum(axis=1), 1)
    np.testing.assert_allclose(chain.expected.sum(axis=1), 1)
    np.testing.assert_allclose(chain.topics.sum(axis=0), 1)


def test_fixed_topics_stay():
    found = planted(2, n_documents=30)
    chain = chain_of(found, sample_topics=False)
    before = chain.topics.copy()
    chain.sweep()
    np.testing.assert_array_equal(chain.topics, before)


def test_with_everything_known_a_token_has_its_conditional():
    """Two topics, one token, a fixed prior: shares of assignments are Bayes' rule."""
    n = 4000
    found = {
        "X": sparse.csr_matrix(np.tile([[1.0, 0.0]], (n, 1))),
        "topics": np.array([[0.8, 0.2], [0.3, 0.7]]),
        "x": np.zeros(n),
    }
    chain = chain_of(found, design=np.ones((n, 1)), sample_topics=False)
    chain._assign()  # the prior is even
    assert chain.counts[:, 0].mean() == pytest.approx(0.8 / 1.1, abs=0.03)


def test_the_concentration_is_that_of_the_likelihood():
    rng = np.random.default_rng(0)
    expected = rng.dirichlet(np.full(4, 5.0), 400)
    theta = np.array([rng.dirichlet(3.0 * row) for row in expected])
    counts = np.array([rng.multinomial(50, row) for row in theta]).astype(float)

    def loss(log_s):
        a = np.exp(log_s) * expected
        total = a.sum(axis=1)
        value = gammaln(total) - gammaln(total + 50)
        value += (gammaln(counts + a) - gammaln(a)).sum(axis=1)
        return -value.sum()

    best = np.exp(optimize.minimize_scalar(loss, bounds=(-3, 4), method="bounded").x)
    s = 1.0
    for _ in range(200):
        s = learned_concentration(counts, expected, s)
    assert s == pytest.approx(best, rel=1e-3)


def test_the_topic_prior_is_that_of_the_likelihood():
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(np.full(80, 0.2), 5)
    counts = np.array([rng.multinomial(2000, row) for row in topics])

    def loss(log_eta):
        eta = np.exp(log_eta)
        value = 5 * (gammaln(80 * eta) - gammaln(80 * eta + 2000))
        return -(value + (gammaln(counts + eta) - gammaln(eta)).sum())

    best = np.exp(optimize.minimize_scalar(loss, bounds=(-7, 2), method="bounded").x)
    eta = 0.01
    for _ in range(300):
        eta = learned_topic_prior(counts.T, eta)
    assert eta == pytest.approx(best, rel=1e-3)


def test_draws_that_know_the_covariate_are_not_attenuated():
    """With few tokens, a prior that does not know the covariate hides its effect."""
    found = planted(8, n_documents=600, tokens=8)
    x = found["x"]
    true = found["theta"][x == 1].mean(axis=0) - found["theta"][x == 0].mean(axis=0)

    def slope(design):
        draws = chain_of(found, design, sample_topics=False).draws(30, 40, 4)
        effects = [t[x == 1].mean(axis=0) - t[x == 0].mean(axis=0) for t in draws]
        return float(np.mean(effects, axis=0) @ true / (true @ true))

    knowing, plain = slope(None), slope(np.ones((len(x), 1)))
    assert knowing == pytest.approx(1, abs=0.15)
    assert plain < 0.75


def test_draws_are_as_alike_within_clusters_as_documents_are():
    """With few tokens, a prior without clusters makes their errors too small."""
    rng = np.random.default_rng(0)
    clusters = np.arange(320) % 40
    x = rng.integers(0, 2, 40)[clusters]
    eta = np.outer(x, [0.5, -0.5, 0]) + rng.normal(0, 0.6, (40, 3))[clusters]
    theta = np.exp(eta + rng.normal(0, 0.6, (320, 3)))
    theta /= theta.sum(axis=1, keepdims=True)
    topics = rng.dirichlet(np.full(150, 0.1), 3)
    rows = theta @ topics
    rows /= rows.sum(axis=1, keepdims=True)
    counts = np.array([rng.multinomial(20, row) for row in rows]).astype(float)
    found = {"X": sparse.csr_matrix(counts), "topics": topics, "x": x}
    least = LeastSquares(np.c_[np.ones(320), x], clusters=clusters)
    true = np.sqrt(least.fit(theta)[1][:, 1, 1]).mean()

    def ratio(clusters):
        chain = chain_of(found, clusters=clusters, sample_topics=False)
        pooled = pool([least.fit(t) for t in chain.draws(20, 40, 4)], least.free)
        return float(np.sqrt(pooled.total[:, 1, 1]).mean() / true)

    assert ratio(clusters) == pytest.approx(1.05, abs=0.12)
    assert ratio(None) < ratio(clusters) - 0.08
