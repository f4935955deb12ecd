"""The sampler of topics, and shares that no prior has moved."""

import numpy as np
import pytest
from effects_support import planted
from scipy import optimize, sparse
from scipy.special import gammaln

from topicfold.effects.chain import (
    GroupedChain,
    Pairs,
    TopicChain,
    TopicPrior,
    learned_document_prior,
    same_words,
    unbiased_shares,
)
from topicfold.effects.regression import LeastSquares


def chain_of(found, **options):
    size = len(found["topics"])
    start = {"doc_topic_prior": np.full(size, 2 / size), "topic_word_prior": 0.1}
    return TopicChain(
        found["X"], found["topics"] + 1e-9, **({"seed": 1} | start | options)
    )


def words_of(rng, theta, topics, tokens):
    rows = theta @ topics
    rows /= rows.sum(axis=1, keepdims=True)
    return sparse.csr_matrix(
        [rng.multinomial(tokens, row) for row in rows], dtype=float
    )


def test_draws_are_the_same_for_any_number_of_threads():
    found = planted(0, n_documents=60)
    runs = [
        [topics.copy() for topics in chain_of(found, n_jobs=jobs).draws(3, 2, 1)]
        for jobs in (1, 3)
    ]
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
    np.testing.assert_allclose(chain.topics.sum(axis=0), 1)


def test_with_everything_known_a_token_has_its_conditional():
    """Two topics, one token, a fixed prior: shares of assignments are Bayes' rule."""
    n = 4000
    found = {
        "X": sparse.csr_matrix(np.tile([[1.0, 0.0]], (n, 1))),
        "topics": np.array([[0.8, 0.2], [0.3, 0.7]]),
    }
    chain = chain_of(found)
    chain._assign()  # the prior is even
    assert chain.counts[:, 0].mean() == pytest.approx(0.8 / 1.1, abs=0.03)


def test_drawn_topics_are_around_the_planted_ones():
    found = planted(3, n_documents=300)
    draws = np.array([topics.copy() for topics in chain_of(found).draws(10, 30, 3)])
    assert np.abs(draws.mean(axis=0) - found["topics"]).sum(axis=1).max() < 0.2
    assert draws.std(axis=0).sum(axis=1).min() > 0.01


def test_common_words_do_not_make_topics_the_same():
    rng = np.random.default_rng(0)
    own = rng.dirichlet(np.full(100, 0.1), 3)
    common = np.r_[np.full(5, 0.2), np.zeros(95)]
    topics = 0.3 * own + 0.7 * common
    cosines = topics @ topics.T / np.linalg.norm(topics, axis=1) ** 2
    assert cosines.min() > 0.8
    assert not same_words(topics, 1e4 * topics.mean(axis=0)).any()
    topics = np.vstack([topics, 0.8 * topics[0] + 0.2 * topics[1]])
    found = same_words(topics, 1e4 * topics.mean(axis=0))
    assert np.argwhere(found).tolist() == [[0, 3]]


def test_the_chain_goes_on_while_a_subject_has_two_topics():
    found = planted(0, n_documents=150, n_topics=4)
    topics = found["topics"].copy()
    assert not same_words(topics, 1e4 * topics.mean(axis=0)).any()
    sure = chain_of(found)
    list(sure.draws(1, 40, 1))
    assert sure._sweeps == 41
    topics[3] = topics[0]  # and the fourth subject has none
    lost = chain_of(found | {"topics": topics})
    (drawn,) = lost.draws(1, 40, 1)
    assert lost._sweeps > 41
    far = np.abs(drawn[:, None] - found["topics"]).sum(axis=2).min(axis=0)
    assert far.max() < 0.5


def test_the_document_prior_is_that_of_the_likelihood():
    rng = np.random.default_rng(0)
    theta = rng.dirichlet([0.3, 1.0, 2.0], 500)
    counts = np.array([rng.multinomial(50, row) for row in theta]).astype(float)
    counts[0] = [3, 0, 1]  # documents of other lengths

    def loss(log_a):
        a = np.exp(log_a)
        value = gammaln(a.sum()) - gammaln(a.sum() + counts.sum(axis=1))
        return -(value.sum() + (gammaln(counts + a) - gammaln(a)).sum())

    best = np.exp(optimize.minimize(loss, np.zeros(3)).x)
    alpha = np.ones(3)
    for _ in range(300):
        alpha = learned_document_prior(counts, alpha)
    np.testing.assert_allclose(alpha, best, rtol=1e-3)


def test_the_topic_prior_is_that_of_the_likelihood():
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(np.full(80, 0.2), 5)
    counts = np.array([rng.multinomial(2000, row) for row in topics])

    def loss(log_eta):
        eta = np.exp(log_eta)
        value = 5 * (gammaln(80 * eta) - gammaln(80 * eta + 2000))
        return -(value + (gammaln(counts + eta) - gammaln(eta)).sum())

    best = np.exp(optimize.minimize_scalar(loss, bounds=(-7, 2), method="bounded").x)
    prior = TopicPrior(0.01, 0.0)
    for _ in range(300):
        prior, eta = prior.learned(counts.T)
    assert prior.even == pytest.approx(best, rel=1e-3)
    assert (eta == prior.even).all()


def test_words_that_topics_share_are_in_the_prior_and_own_words_are_not():
    """Both parts are those of the likelihood of each topic beside the others."""
    rng = np.random.default_rng(1)
    common = rng.dirichlet(np.full(80, 0.5))
    for shared in (0.0, 60.0):
        topics = np.array([rng.dirichlet(0.1 + shared * common) for _ in range(5)])
        counts = np.array([rng.multinomial(4000, row) for row in topics]).T

        def loss(logs, counts=counts):
            eta = TopicPrior(*np.exp(logs)).of(counts)
            sizes = eta.sum(axis=0)
            value = gammaln(sizes) - gammaln(sizes + counts.sum(axis=0))
            return -(value.sum() + (gammaln(counts + eta) - gammaln(eta)).sum())

        prior = TopicPrior(0.05, 4.0)
        for _ in range(600):
            prior, _ = prior.learned(counts)
        if shared:
            best = optimize.minimize(loss, np.log(prior), method="Nelder-Mead").x
            np.testing.assert_allclose(prior, np.exp(best), rtol=0.02)
            assert 20 < prior.shared < 180
        else:
            assert prior.shared < 0.5
            assert 0.05 < prior.even < 0.2


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_chain_learns_whether_topics_share_words(share):
    rng = np.random.default_rng(4)
    topics = np.zeros((4, 120))
    topics[:, :80] = (1 - share) * rng.dirichlet(np.full(80, 0.1), 4)
    topics[:, 80:] = share * rng.dirichlet(np.full(40, 0.3))
    theta = rng.dirichlet(np.full(4, 0.5), 100)
    X = sparse.csr_matrix([rng.multinomial(50, row @ topics) for row in theta])
    chain = TopicChain(
        X.astype(float), topics + 1e-9, doc_topic_prior=np.full(4, 0.5),
        topic_word_prior=0.1, seed=1,
    )  # fmt: skip
    for _ in range(80):
        chain.sweep()
    assert (chain.prior.shared > 3) == (share > 0)


def test_without_noise_shares_are_the_mixtures():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(80, 0.2), 9)
    theta = rng.dirichlet(np.full(9, 0.3), 50)
    shares = unbiased_shares(sparse.csr_matrix(theta @ topics * 30), topics)
    np.testing.assert_allclose(shares, theta, atol=1e-8)


def paired(strength):
    """Two groups with words of their own: topics (K, pairs), pairs, mixtures."""
    rng = np.random.default_rng(2)
    topics = rng.dirichlet(np.full(30, 0.3), (2, 3))
    words, groups = np.tile(np.arange(30), 2), np.repeat([0, 1], 30)
    documents = np.arange(40) % 2
    pairs = Pairs(words, groups, documents, strength)
    return np.hstack(topics), pairs, rng.dirichlet(np.ones(3), 40)


def test_shares_are_those_in_the_topics_of_a_group():
    topics, pairs, theta = paired(1.0)
    here = pairs.groups == pairs.documents[:, None]
    counts = sparse.csr_matrix(np.where(here, theta @ topics, 0.0) * 100)
    np.testing.assert_allclose(pairs.shares(counts, topics), theta, atol=1e-8)
    np.testing.assert_allclose(pairs.normalized(2 * topics.T).T, topics)


@pytest.mark.parametrize(("strength", "alike"), [(1e7, True), (1.0, False)])
def test_the_strength_ties_groups_to_the_common_topic(strength, alike):
    topics, pairs, theta = paired(strength)
    here = pairs.groups == pairs.documents[:, None]
    rows = np.where(here, theta @ topics, 0.0)
    rng = np.random.default_rng(3)
    counts = [rng.multinomial(200, row / row.sum()) for row in rows]
    chain = GroupedChain(
        sparse.csr_matrix(counts, dtype=float), topics, pairs=pairs,
        doc_topic_prior=np.ones(3), topic_word_prior=0.1, seed=1,
    )  # fmt: skip
    for _ in range(3):
        chain.sweep()
    one, other = chain.topics[:30], chain.topics[30:]
    np.testing.assert_allclose(one.sum(axis=0), 1)
    far = np.abs(one - other).sum(axis=0) / 2
    assert (far < 0.05).all() if alike else (far > 0.3).all()


def test_shares_are_unbiased_and_sum_to_one():
    """One document drawn many times: the mean of its shares is its mixture."""
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(np.full(60, 0.3), 4)
    theta = np.array([0.0, 0.1, 0.3, 0.6])
    counts = words_of(rng, np.tile(theta, (4000, 1)), topics, 8)
    shares = unbiased_shares(counts, topics)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    error = shares.std(axis=0) / np.sqrt(4000)
    assert np.abs((shares.mean(axis=0) - theta) / error).max() < 4
    # Of all unbiased weights these have the least variance, least squares has more.
    squares = counts @ np.linalg.pinv(topics) / 8
    assert (shares.var(axis=0) < 1.02 * squares.var(axis=0)).all()


def test_equal_topics_share_evenly():
    topics = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    words = sparse.csr_matrix([[2.0, 4.0, 2.0], [4.0, 4.0, 0.0]])
    shares = unbiased_shares(words, topics)
    np.testing.assert_allclose(shares, [[0.25, 0.25, 0.5], [0.5, 0.5, 0]], atol=1e-8)


@pytest.mark.parametrize("truth", ["logistic normal", "Dirichlet"])
def test_with_many_topics_intervals_cover_whatever_the_mixtures_are(truth):
    """20 topics, 30 tokens: no prior is right for both truths, and none is needed."""
    rng = np.random.default_rng(5)
    covered, noise, slope = [], [], np.zeros(2)
    for _ in range(12):
        topics, slopes = rng.dirichlet(np.full(300, 0.1), 20), rng.normal(0, 0.8, 20)

        def mixtures(x, slopes=slopes):
            rows = np.exp(np.outer(x, slopes))
            if truth == "Dirichlet":
                return np.array([rng.dirichlet(3 * row / row.sum()) for row in rows])
            rows *= np.exp(rng.normal(0, 2, rows.shape))
            return rows / rows.sum(axis=1, keepdims=True)

        many, x = np.arange(20_000) % 2, rng.integers(0, 2, 500)
        theta = mixtures(many)
        effect = theta[many == 1].mean(axis=0) - theta[many == 0].mean(axis=0)
        counts = words_of(rng, mixtures(x), topics, 30)
        least = LeastSquares(np.c_[np.ones(500), x, rng.standard_normal(500)])
        found, covariances = least.fit(unbiased_shares(counts, topics))
        errors = np.sqrt(np.einsum("kii->ik", covariances))
        covered.append(np.abs(found[1] - effect) < 1.96 * errors[1])
        noise.append(np.abs(found[2]) > 1.96 * errors[2])
        slope += found[1] @ effect, effect @ effect
    assert 0.91 < np.mean(covered) < 0.99
    assert np.mean(noise) < 0.09
    assert slope[0] / slope[1] == pytest.approx(1, abs=0.1)
