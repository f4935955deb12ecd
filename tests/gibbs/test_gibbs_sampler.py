# SPDX-License-Identifier: BSD-3-Clause
"""The chain: its draws, its counts, its likelihood, its independence of threads."""

from itertools import product

import numpy as np
import pytest
from gibbs_reference import ExactState, log_joint
from scipy import sparse
from scipy.stats import chi2
from tests_support import draw_corpus

from topicfold.gibbs import sampler_kernels as kernels
from topicfold.gibbs.sampler import CollapsedGibbs


def chain(X, alpha, eta=0.1, *, n_blocks=3, seed=0, **options):
    settings = {"burn_in": 10**9, "sample_every": 1, "learn_priors": False}
    X = sparse.csr_matrix(X, dtype=np.float64)
    return CollapsedGibbs(
        X, alpha, eta, n_blocks=n_blocks, seed=seed, **{**settings, **options}
    )


@pytest.fixture(params=[1, 4, 10**6], ids=["rows", "rows and lists", "lists"])
def storage(request, monkeypatch):
    """Words with rows of counts, with lists of topics, and some of both."""
    monkeypatch.setattr(CollapsedGibbs, "fewest", request.param)


def as_exact(state, X):
    """The same topics of the same tokens, in the plain reference."""
    exact = ExactState(
        sparse.csr_matrix(X), state.alpha, state.eta, np.random.default_rng(0)
    )
    tokens = state.tokens
    exact.documents = np.repeat(np.arange(X.shape[0]), np.diff(tokens.doc_ptr))
    exact.words = tokens.terms[tokens.words]
    exact.topics = state.topic_of.astype(np.int64)
    exact.doc_counts[:] = exact.word_counts[:] = 0
    np.add.at(exact.doc_counts, (exact.documents, exact.topics), 1)
    np.add.at(exact.word_counts, (exact.words, exact.topics), 1)
    return exact


def small_counts(seed=3):
    return np.random.default_rng(seed).poisson(0.5, size=(30, 25))


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize("size", ["small", "tiny"])
def test_a_token_is_drawn_from_its_conditional(size):
    # In the tiny corpus a token is a large part of the counts it is left out of.
    X = small_counts() if size == "small" else np.array([[1, 0], [0, 1], [3, 1]])
    alpha = np.random.default_rng(1).gamma(1.0, size=7) * 0.4
    state = chain(X, alpha, n_blocks=1)
    state.start()
    d = int(np.argmax(X.sum(axis=1)))
    i = int(state.tokens.doc_ptr[d])  # its first token sees no changed one
    expected = as_exact(state, X).conditional(i)
    before = state.topic_of.copy()
    scale = 1.0 / (state.totals + X.shape[1] * state.eta)
    prior = (alpha * scale).astype(np.float32)
    kernels.prior_masses(
        0, len(state.rows), state.rows, prior, state.eta, state.prior_mass
    )
    weights = (scale.astype(np.float32), prior, np.cumsum(alpha * scale))
    scratch = kernels.document_scratch(7)
    seen = np.zeros(7)
    n_draws = 20_000
    corpus = state.corpus(state.blocks[0])
    for sweep in range(n_draws):
        state.topic_of[:] = before
        kernels.sample_documents(
            d, d + 1, corpus, state.rows, state.prior_mass, state.lists, weights,
            state.eta, 5, sweep, state._alpha_table, alpha, scratch, state.doc_loglik,
        )  # fmt: skip
        seen[state.topic_of[i]] += 1
    distance = ((seen - n_draws * expected) ** 2 / (n_draws * expected)).sum()
    assert distance < chi2(6).ppf(0.999)


@pytest.mark.usefixtures("storage")
def test_counts_and_likelihood_are_those_of_the_topics():
    X = small_counts()
    X[:, 3] = 0
    X[4] = 0
    alpha = np.array([0.2, 0.5, 0.1, 0.3])
    state = chain(X, alpha)
    state.start()
    state.iterate()
    objective = state.iterate()
    exact = as_exact(state, X)
    np.testing.assert_array_equal(state.word_counts().T, exact.word_counts)
    np.testing.assert_array_equal(state.totals, exact.word_counts.sum(axis=0))
    plain = log_joint(exact.doc_counts, exact.word_counts, alpha, 0.1)
    assert objective == pytest.approx(plain, rel=1e-12)


def posterior_of_all_states(X, alpha, eta):
    """Enumerate: P(z | w) of every assignment of topics to the tokens of X."""
    state = ExactState(sparse.csr_matrix(X), alpha, eta, np.random.default_rng(0))
    states = list(product(range(len(alpha)), repeat=len(state.words)))
    logs = []
    for topics in states:
        doc_counts = np.zeros_like(state.doc_counts)
        word_counts = np.zeros_like(state.word_counts)
        np.add.at(doc_counts, (state.documents, np.array(topics)), 1)
        np.add.at(word_counts, (state.words, np.array(topics)), 1)
        logs.append(log_joint(doc_counts, word_counts, alpha, eta))
    weights = np.exp(np.array(logs) - max(logs))
    return weights / weights.sum()


def visited(state, n_sweeps):
    """Share of sweeps that end in each state."""
    base = len(state.alpha) ** np.arange(state.tokens.n_tokens)[::-1]
    state.start()
    seen = np.zeros(len(state.alpha) ** state.tokens.n_tokens)
    for _ in range(n_sweeps):
        state.n_sweeps += 1
        for block in state.blocks:
            state._sample(block)
        seen[state.topic_of @ base] += 1
    return seen / n_sweeps


@pytest.mark.usefixtures("storage")
def test_one_document_a_block_is_the_exact_sampler():
    """Documents of one token: the chain visits states as often as they are likely."""
    X = np.array([[1, 0], [1, 0], [0, 1], [1, 0]])
    alpha = np.array([0.5, 1.0])
    exact = posterior_of_all_states(X, alpha, 0.3)
    shares = visited(chain(X, alpha, 0.3, n_blocks=4), 6000)
    assert np.abs(shares - exact).sum() / 2 < 0.05


@pytest.mark.parametrize("n_blocks", [1, 8])
def test_reaches_the_likelihood_of_the_exact_sampler(n_blocks):
    X = draw_corpus(30, 40, 3, length=20, seed=5)[0]
    alpha = np.full(3, 0.2)
    exact = ExactState(X, alpha, 0.1, np.random.default_rng(0))
    plain = np.array([exact.exact_sweep() for _ in range(50)])[20:]
    values = []
    for seed in range(3):
        state = chain(X, alpha, n_blocks=n_blocks, seed=seed)
        state.start()
        values.append([state.iterate() for _ in range(120)][40:])
    spread = np.std(values)
    assert abs(np.median(values) - np.median(plain)) < spread


def test_same_bits_for_any_number_of_threads():
    X = draw_corpus(80, 60, 3)[0]
    results = []
    for n_jobs in (1, 2, 3):
        state = chain(X, np.full(5, 0.1), n_jobs=n_jobs, learn_priors=True, burn_in=12)
        history = [state.start()] + [state.iterate() for _ in range(20)]
        results.append((history, state.topics(), state.doc_topics(), state.alpha))
    for other in results[1:]:
        assert other[0] == results[0][0]
        for ours, theirs in zip(results[0][1:], other[1:], strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_samples_are_averaged_after_the_burn_in():
    X = draw_corpus(30, 40, 3)[0]
    state = chain(X, np.full(3, 0.1), burn_in=4, sample_every=3)
    state.start()
    words, documents, kept = [], [], []
    for sweep in range(1, 12):
        state.iterate()
        exact = as_exact(state, X)
        words.append(exact.word_counts)
        documents.append(exact.doc_counts)
        if state.n_samples > len(kept):
            kept.append(sweep)
    assert kept == [5, 8, 11]
    mean = np.mean([words[sweep - 1] for sweep in kept], axis=0) + 0.1
    np.testing.assert_allclose(state.topics().T, mean / mean.sum(axis=0), rtol=1e-6)
    mean = np.mean([documents[sweep - 1] for sweep in kept], axis=0) + 0.1
    np.testing.assert_allclose(
        state.doc_topics(), mean / mean.sum(axis=1, keepdims=True), rtol=1e-6
    )


def test_more_topics_than_a_small_integer_holds():
    assert chain(small_counts(), np.full(70_000, 1e-3)).topic_of.dtype == np.uint32
    assert chain(small_counts(), np.full(300, 1e-3)).topic_of.dtype == np.uint16
    assert chain(small_counts(), np.full(256, 1e-3)).topic_of.dtype == np.uint8


def test_the_chain_is_given_back_and_the_results_stay():
    X = draw_corpus(30, 40, 3)[0]
    for burn_in in (1, 10):  # with samples, and with the state alone
        state = chain(X, np.full(3, 0.1), burn_in=burn_in)
        state.start()
        for _ in range(3):
            state.iterate()
        before = state.topics(), state.doc_topics(), state.topic_totals()
        state.free_scratch()
        assert not hasattr(state, "topic_of")
        after = state.topics(), state.doc_topics(), state.topic_totals()
        for ours, theirs in zip(before, after, strict=True):
            np.testing.assert_array_equal(ours, theirs)
