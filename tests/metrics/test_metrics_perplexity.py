# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from topicfold.exceptions import DataError
from topicfold.metrics import completion_perplexity, perplexity, unigram


def draw(rng, *shape):
    return rng.dirichlet(np.full(shape[-1], 0.5), size=shape[0])


def brute_force(theta, topics, X, background, smoothing):
    total, tokens = 0.0, 0.0
    for d, w in zip(*np.nonzero(X), strict=True):
        p = sum(theta[d, k] * topics[k, w] for k in range(len(topics)))
        p = (1 - smoothing) * p + smoothing * background[w]
        total += X[d, w] * np.log(p)
        tokens += X[d, w]
    return np.exp(-total / tokens)


@pytest.fixture
def example():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, size=(20, 30))
    X[3] = 0  # an empty document
    return draw(rng, 20, 4), draw(rng, 4, 30), X


def test_by_hand():
    # p = 1/2 for the first word, 1/8 for the second: exp(-(log 1/2 + log 1/8) / 2) = 4.
    theta, topics = [[0.5, 0.5]], [[1.0, 0.0, 0.0], [0.0, 0.25, 0.75]]
    score = completion_perplexity(theta, topics, [[1, 1, 0]], smoothing=0)
    assert score == pytest.approx(4)
    # With half uniform: p = (1/2 + 1/3) / 2 = 5/12 and (1/8 + 1/3) / 2 = 11/48.
    score = completion_perplexity(
        theta, topics, [[1, 1, 0]], smoothing=0.5, background=[1 / 3] * 3
    )
    assert score == pytest.approx(np.sqrt(12 / 5 * 48 / 11))


@pytest.mark.parametrize("smoothing", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("container", [np.array, sparse.csr_matrix, sparse.csc_array])
def test_against_brute_force(example, smoothing, container):
    theta, topics, X = example
    background = unigram(X)
    score = completion_perplexity(
        theta, topics, container(X), background=background, smoothing=smoothing
    )
    assert score == pytest.approx(brute_force(theta, topics, X, background, smoothing))


@settings(deadline=None)
@given(
    st.integers(1, 12), st.integers(1, 5), st.floats(0, 1), st.integers(0, 2**32 - 1)
)
def test_uniform_model_has_the_size_of_the_vocabulary(n_terms, k, smoothing, seed):
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.0, size=(3, n_terms))
    X[0, 0] += 1
    uniform = np.full((k, n_terms), 1 / n_terms)
    score = completion_perplexity(
        draw(rng, 3, k), uniform, X, background=uniform[0], smoothing=smoothing
    )
    assert score == pytest.approx(n_terms)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_true_distribution_is_best(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 9, size=(1, 6))
    best = completion_perplexity([[1.0]], X / X.sum(), X, smoothing=0)
    other = completion_perplexity(
        [[1.0]], draw(rng, 1, 6) * 0.9 + 0.1 / 6, X, smoothing=0
    )
    assert 1 <= best <= other * (1 + 1e-12)


def test_blocks_do_not_matter(example, monkeypatch):
    theta, topics, X = example
    whole = completion_perplexity(theta, topics, X, smoothing=0)
    monkeypatch.setattr(perplexity, "_BLOCK", 7)
    parts = completion_perplexity(theta, topics, X, smoothing=0)
    assert parts == pytest.approx(whole, rel=1e-12)


def test_perfect_prediction_is_one_and_impossible_words_are_infinite():
    assert completion_perplexity([[1]], [[1, 0]], [[5, 0]], smoothing=0) == 1
    assert completion_perplexity([[1]], [[1, 0]], [[5, 1]], smoothing=0) == np.inf
    mixed = completion_perplexity([[1]], [[1, 0]], [[5, 1]], background=[0.5, 0.5])
    assert np.isfinite(mixed)


def test_single_precision(example):
    theta, topics, X = example
    expected = completion_perplexity(theta, topics, X, smoothing=0)
    score = completion_perplexity(
        theta.astype("f4"), topics.astype("f4"), X, smoothing=0
    )
    assert score == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"held_out": [[0, 0]]}, "no tokens"),
        ({"held_out": sparse.csr_array((1, 2))}, "no tokens"),
        ({"held_out": [[1, -1]]}, "negative"),
        ({"held_out": [[1, 0, 0]]}, "do not fit together"),
        ({"held_out": "text"}, "held_out"),
        ({"theta": [[0.5]]}, "theta has rows that do not sum to 1: 1"),
        ({"theta": [[0.5, 0.5]]}, "do not fit together"),
        ({"topics": [[2, -1]]}, r"negative: 1 \(first at row 0, column 1\)"),
        ({"topics": [[np.nan, 1]]}, "not finite"),
        ({"topics": [0.5, 0.5]}, "two-dimensional"),
        ({"smoothing": 0.1, "background": None}, "needs a background"),
        ({"smoothing": 1.1}, "smoothing"),
        ({"background": [1.0]}, "background has shape"),
        ({"background": [1.0, 1.0]}, "background has rows"),
    ],
)
def test_errors(change, message):
    good = {"theta": [[1.0]], "topics": [[0.5, 0.5]], "held_out": [[1, 2]]}
    options = {**good, "background": [0.5, 0.5], **change}
    with pytest.raises(DataError, match=message):
        completion_perplexity(**options)


def test_unigram():
    X = sparse.csr_matrix([[1, 0, 2], [1, 0, 0]])
    np.testing.assert_allclose(unigram(X), [3 / 7, 1 / 7, 3 / 7])
    np.testing.assert_allclose(unigram(X, pseudocount=0), [0.5, 0, 0.5])
    with pytest.raises(DataError, match="no tokens"):
        unigram(X * 0, pseudocount=0)
    with pytest.raises(DataError, match="pseudocount"):
        unigram(X, pseudocount=-1)
