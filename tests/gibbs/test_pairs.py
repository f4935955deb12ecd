# SPDX-License-Identifier: BSD-3-Clause
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import gammaln

from topicfold.gibbs.pairs import (
    Sampled,
    document_evidence,
    draw_tokens,
    halves,
    sample_sides,
    word_evidence,
    worth_of_pairs,
)
from topicfold.gibbs.pairs import _size_evidence as size_evidence


def drawn_tokens(phi, theta, length, seed=0):
    """Return tokens whose topics are those that they were drawn from."""
    rng = np.random.default_rng(seed)
    n_documents, n_topics = theta.shape
    topics = np.concatenate([rng.choice(n_topics, length, p=row) for row in theta])
    words = np.array([rng.choice(phi.shape[1], p=phi[k]) for k in topics])
    doc_ptr = np.arange(n_documents + 1) * length
    kinds = words.astype(np.int32), topics.astype(np.int32)
    return Sampled(doc_ptr, *kinds, phi.shape[1])


def log_evidence(counts, alpha, eta, documents):
    """log P(words, topics) up to what any cut into topics has."""
    value = 0.0
    for n in counts.T:
        value += (gammaln(n + eta) - gammaln(eta)).sum()
        value += gammaln(eta * len(n)) - gammaln(n.sum() + eta * len(n))
    for row in documents:
        value += (gammaln(row + alpha) - gammaln(alpha)).sum()
    return value


def test_evidence_is_that_of_the_formula():
    rng = np.random.default_rng(1)
    words, sides = rng.integers(0, 7, 60), rng.integers(0, 4, 60)
    doc_ptr = np.array([0, 20, 35, 35, 60])
    counts = np.zeros((7, 4), dtype=np.int32)
    np.add.at(counts, (words, sides), 1)
    documents = np.array(
        [np.bincount(sides[a:b], minlength=4) for a, b in pairwise(doc_ptr)]
    )
    alpha, eta = np.array([0.3, 0.5, 0.2, 0.9]), 0.07
    found = np.zeros(2)
    word_evidence(counts, gammaln(np.arange(61) + eta) - gammaln(eta), found)
    document_evidence(doc_ptr, sides.astype(np.int32), alpha, found)
    found -= size_evidence(counts, eta)
    for g in range(2):
        own = slice(2 * g, 2 * g + 2)
        two = log_evidence(counts[:, own], alpha[own], eta, documents[:, own])
        both = (a[:, own].sum(axis=1, keepdims=True) for a in (counts, documents))
        n, rows = both
        one = log_evidence(n, alpha[own].sum(keepdims=True), eta, rows)
        assert found[g] == pytest.approx(two - one)


def test_sides_are_drawn_by_their_posterior():
    """Two tokens, each side of each: 4 states, whose frequencies are exact."""
    words = np.array([0, 1], dtype=np.int32)
    doc_ptr, alpha, eta = np.array([0, 2]), np.array([0.6, 0.3]), 0.5
    sides, seen = np.array([0, 1], dtype=np.int32), np.zeros(4)
    counts = np.zeros((2, 2), dtype=np.int32)
    np.add.at(counts, (words, sides), 1)
    n_sweeps = 6000
    for sweep in range(n_sweeps):
        plan = words, sides, alpha, eta, 7, sweep, False
        totals = counts.sum(axis=0)
        sample_sides(doc_ptr, *plan, counts, totals, np.zeros(1))
        seen[2 * sides[0] + sides[1]] += 1
    expected = []
    for a in range(2):
        for b in range(2):
            n, row = np.zeros((2, 2)), np.zeros((1, 2))
            n[0, a] += 1
            n[1, b] += 1
            row[0, a] += 1
            row[0, b] += 1
            expected.append(np.exp(log_evidence(n, alpha, eta, row)))
    expected = np.array(expected) / np.sum(expected)
    np.testing.assert_allclose(seen / n_sweeps, expected, atol=0.03)


def test_copies_are_worth_less_than_nothing_and_topics_much():
    rng = np.random.default_rng(2)
    phi = rng.dirichlet(np.full(80, 0.1), size=3)
    phi = phi[[0, 0, 1, 2]]
    alpha = np.full(4, 0.3)
    tokens = drawn_tokens(phi, rng.dirichlet(alpha, size=120), 40)
    pairs = np.array([[0, 1], [2, 3]])
    worth = worth_of_pairs(tokens, pairs, alpha, 0.1, 0).worth
    assert worth[0] < 0.05 * (tokens.topics < 2).sum() / 2
    assert worth[1] > 0.2 * (tokens.topics >= 2).sum() / 2


def test_halves_of_a_mixed_topic_are_its_parts():
    rng = np.random.default_rng(3)
    phi = rng.dirichlet(np.full(80, 0.1), size=3)
    tokens = drawn_tokens(phi, rng.dirichlet(np.full(3, 0.2), size=150), 40)
    mixed = np.minimum(tokens.topics, 1).astype(np.int32)  # topics 1 and 2 in one
    found = halves(tokens._replace(topics=mixed), np.array([0.3, 0.6]), 0.1, 0)
    assert found.worth[1] > 0 > found.worth[0]
    assert found.counts.sum() == len(mixed)
    shares = found.counts[:, 2:] / found.counts[:, 2:].sum(axis=0)
    likeness = np.corrcoef(phi[1:], shares.T)[:2, 2:]
    assert max(np.trace(likeness), np.trace(likeness[::-1])) > 1.8


def test_topics_of_tokens_are_drawn_from_fixed_topics():
    """With topics that share no word, the topic of a token is certain."""
    rows = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    words = np.array([0, 1, 1, 0], dtype=np.int32)
    found = np.zeros(4, dtype=np.int32)
    alpha = np.full(2, 0.5, dtype=np.float32)
    draw_tokens(np.array([0, 3, 4]), words, rows, alpha, 0, (0, 2), found)
    np.testing.assert_array_equal(found, words)
