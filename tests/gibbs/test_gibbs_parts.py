# SPDX-License-Identifier: BSD-3-Clause
"""Parts of the Gibbs samplers: random numbers, tokens, priors, mixtures."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln
from scipy.stats import kstest

from topicfold.exceptions import DataError
from topicfold.gibbs import pairs
from topicfold.gibbs.fixed_topics import (
    content_keys,
    gibbs_mixtures,
    stream_key,
    uniform,
)
from topicfold.gibbs.pairs import alpha_from_codes
from topicfold.gibbs.sampler import eta_from_histogram
from topicfold.gibbs.tokens import Tokens, check_whole


def keys_of(X):
    X = sparse.csr_matrix(X)
    keys = np.zeros(X.shape[0], dtype=np.uint64)
    content_keys(X.indptr, X.indices, X.data, keys)
    return keys


def test_numbers_of_a_stream_and_across_streams_are_uniform():
    def number(seed, sweep, document, counter):
        return uniform(np.uint64(stream_key(seed, sweep, document)), counter)

    along = [number(1, 2, 3, i) for i in range(3000)]
    across = {
        "seed": [number(i, 2, 3, 0) for i in range(3000)],
        "sweep": [number(1, i, 3, 0) for i in range(3000)],
        "document": [number(1, 2, i, 0) for i in range(3000)],
    }
    for numbers in (along, *across.values()):
        assert kstest(numbers, "uniform").pvalue > 1e-3
        assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.05
    assert min(along) >= 0
    assert max(along) < 1


def test_a_documents_key_is_its_content():
    X = np.array([[1, 2, 0], [2, 1, 0], [1, 2, 0], [0, 0, 0], [1, 2, 1]])
    keys = keys_of(X)
    assert keys[0] == keys[2]
    assert len(set(keys.tolist())) == 4
    backwards = sparse.csr_matrix(X)
    backwards.indices = backwards.indices.copy()
    backwards.indices[:2] = backwards.indices[:2][::-1]
    backwards.data[:2] = backwards.data[:2][::-1]
    np.testing.assert_array_equal(keys_of(backwards), keys)


def test_tokens_and_their_order_by_word():
    X = sparse.csr_matrix(np.random.default_rng(0).poisson(0.4, size=(23, 11)))
    tokens = Tokens(X)
    rows = np.repeat(np.arange(23), np.diff(tokens.doc_ptr))
    again = np.zeros(X.shape, dtype=int)
    np.add.at(again, (rows, tokens.terms[tokens.words]), 1)
    np.testing.assert_array_equal(again, X.toarray())
    assert (np.diff(tokens.word_counts) <= 0).all()
    blocks = tokens.blocks(4)
    assert len(blocks) == 4
    order = np.concatenate([block.order for block in blocks])
    np.testing.assert_array_equal(np.sort(order), np.arange(tokens.n_tokens))
    for block in blocks:
        for word, begin, end in zip(
            block.words, block.ptr[:-1], block.ptr[1:], strict=True
        ):
            assert end > begin
            places = block.order[begin:end]
            assert (tokens.words[places] == word).all()
            assert rows[places].min() >= block.first
            assert rows[places].max() < block.last


def test_parts_of_tokens_are_refused():
    X = sparse.csr_matrix([[1.0, 0.0, 2.0], [0.0, 2.5, 0.25]])
    with pytest.raises(DataError, match=r"2 entries .* row 1, column 1: 2.5.* use LDA"):
        check_whole(X, "GibbsLDA", "use LDA")


def dirichlet_multinomial(counts, alpha):
    total = gammaln(alpha.sum()) - gammaln(alpha).sum()
    value = gammaln(counts + alpha).sum() + len(counts) * total
    return value - gammaln(counts.sum(axis=1) + alpha.sum()).sum()


def test_alpha_raises_the_likelihood_and_finds_the_parameters():
    rng = np.random.default_rng(1)
    theta = rng.dirichlet([0.2, 0.5, 2.0], size=200)
    counts = np.array([rng.multinomial(30, p) for p in theta])
    counts[7] = 0
    rows, topics = np.nonzero(counts)
    codes = counts[rows, topics] * 3 + topics
    alpha = np.full(3, 1.0)
    values = [dirichlet_multinomial(counts, alpha)]
    for _ in range(40):
        alpha = alpha_from_codes(codes, counts.sum(axis=1), alpha)
        values.append(dirichlet_multinomial(counts, alpha))
    assert (np.diff(values) >= -1e-9).all()
    np.testing.assert_allclose(alpha, [0.2, 0.5, 2.0], rtol=0.3)


def test_eta_raises_the_likelihood_and_finds_the_parameter():
    rng = np.random.default_rng(2)
    topics = rng.dirichlet(np.full(40, 0.3), size=3)
    counts = np.array([rng.multinomial(400, p) for p in topics])
    histogram = np.bincount(counts.ravel())
    eta, values = 1.0, []
    for _ in range(30):
        eta = eta_from_histogram(histogram, counts.sum(axis=1), 40, eta)
        values.append(dirichlet_multinomial(counts, np.full(40, eta)))
    assert (np.diff(values) >= -1e-9).all()
    assert eta == pytest.approx(0.3, rel=0.4)


def exact_mean_mixture(words, topics, alpha):
    """E[θ | w] by summing over all assignments of topics."""
    total, mean = 0.0, np.zeros(len(alpha))
    for z in product(range(len(alpha)), repeat=len(words)):
        probability, counts = 1.0, np.zeros(len(alpha))
        for n, k in enumerate(z):
            probability *= topics[k, words[n]] * (counts[k] + alpha[k])
            probability /= n + alpha.sum()
            counts[k] += 1
        total += probability
        mean += probability * (counts + alpha) / (len(words) + alpha.sum())
    return mean / total


def test_mixtures_are_the_posterior_mean():
    rng = np.random.default_rng(2)
    topics = rng.dirichlet(np.full(5, 0.5), size=3)
    alpha = np.array([0.3, 0.6, 0.2])
    X = sparse.csr_matrix([[2.0, 0, 1, 0, 2], [0, 3, 0, 1, 0], [1, 0, 0, 0, 0]])
    found = gibbs_mixtures(X, topics, prior=alpha, n_samples=20_000, burn_in=100)
    for d in range(3):
        words = np.repeat(X[d].indices, X[d].data.astype(int))
        exact = exact_mean_mixture(words, topics, alpha)
        np.testing.assert_allclose(found[d], exact, atol=0.01)


def test_mixtures_do_not_depend_on_batch_or_threads():
    rng = np.random.default_rng(4)
    topics = rng.dirichlet(np.full(30, 0.3), size=6)
    X = sparse.csr_matrix(rng.poisson(0.8, size=(20, 30)).astype(np.float32))
    alpha = np.full(6, 0.1)
    whole = gibbs_mixtures(X, topics, prior=alpha, seed=3)
    for rows in (slice(7, 9), slice(19, None, -1), [4, 4, 0]):
        part = gibbs_mixtures(X[rows], topics, prior=alpha, seed=3, n_jobs=2)
        np.testing.assert_array_equal(part, whole[rows])
    assert (gibbs_mixtures(X, topics, prior=alpha, seed=4) != whole).any()


def test_words_that_no_topic_has_are_ignored():
    topics = np.array([[0.5, 0.5, 0.0], [0.1, 0.9, 0.0]])
    X = sparse.csr_matrix([[3.0, 0, 0], [3, 0, 7], [0, 0, 2]])
    found = gibbs_mixtures(X, topics, prior=np.full(2, 0.5))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[2], [0.5, 0.5])


def test_counts_too_large_for_a_table_are_counted_by_sorting(monkeypatch):
    rng = np.random.default_rng(0)
    codes = rng.integers(1, 9, 60) * 4 + rng.integers(0, 4, 60)
    lengths, alpha = np.full(20, 15), np.array([0.2, 0.1, 0.5, 1.0])
    by_table = alpha_from_codes(codes, lengths, alpha)
    monkeypatch.setattr(pairs, "LARGEST_TABLE", 3)
    by_sorting = alpha_from_codes(codes, lengths, alpha)
    np.testing.assert_allclose(by_sorting, by_table, rtol=1e-12)
