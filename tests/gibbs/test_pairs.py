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
    table = gammaln(np.arange(61) + eta) - gammaln(eta)
    document = np.repeat(np.arange(4), np.diff(doc_ptr)).astype(np.int32)
    for g in range(2):
        own, of_pair = slice(2 * g, 2 * g + 2), sides // 2 == g
        found = word_evidence(np.ascontiguousarray(counts[:, own]), table)
        side = (sides[of_pair] % 2).astype(np.int8)
        found += document_evidence(document[of_pair], side, alpha[own])
        two = log_evidence(counts[:, own], alpha[own], eta, documents[:, own])
        both = (a[:, own].sum(axis=1, keepdims=True) for a in (counts, documents))
        n, rows = both
        one = log_evidence(n, alpha[own].sum(keepdims=True), eta, rows)
        # What totals say is added by the caller.
        totals = np.r_[counts[:, own].sum(axis=0), n.sum()] + 7 * eta
        of_totals = gammaln(totals[:2]).sum() - gammaln(totals[2]) - gammaln(7 * eta)
        assert found - of_totals == pytest.approx(two - one)


def test_sides_are_drawn_by_their_posterior():
    """Two tokens, each side of each: 4 states, whose frequencies are exact."""
    words = np.array([0, 1], dtype=np.int32)
    alpha, eta = np.array([0.6, 0.3]), 0.5
    documents, places = np.zeros(2, np.int32), np.arange(2, dtype=np.int32)
    sides, seen = np.array([0, 1], dtype=np.int8), np.zeros(4)
    counts = np.zeros((2, 2), dtype=np.int32)
    np.add.at(counts, (words, sides), 1)
    n_sweeps = 6000
    for sweep in range(n_sweeps):
        plan = alpha, eta, 7, sweep, False, counts, counts.sum(axis=0)
        sample_sides(words, documents, places, sides, *plan)
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
    counts = found.counts(1)
    assert found.counts(0).sum() + counts.sum() == len(mixed)
    shares = counts / counts.sum(axis=0)
    likeness = np.corrcoef(phi[1:], shares.T)[:2, 2:]
    assert max(np.trace(likeness), np.trace(likeness[::-1])) > 1.8


def test_topics_of_tokens_are_drawn_from_fixed_topics():
    """With topics that share no word, the topic of a token is certain."""
    rows = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    words = np.array([0, 1, 1, 0], dtype=np.int32)
    found = np.zeros(4, dtype=np.int32)
    alpha = np.full(2, 0.5, dtype=np.float32)
    draw_tokens(0, 2, np.array([0, 3, 4]), words, rows, alpha, 0, (0, 2), found)
    np.testing.assert_array_equal(found, words)


def test_draws_do_not_depend_on_the_documents_before():
    """1e-8 + 1 - 1 is 0 in float32, and the topic would be lost to later documents."""
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.full(9, 0.1), size=50).astype(np.float32)
    doc_ptr = np.arange(0, 6001, 20)
    words = rng.integers(0, 50, 6000).astype(np.int32)
    alpha = np.full(9, 1e-8, dtype=np.float32)
    found = np.zeros((2, 6000), dtype=np.int32)
    for out, ranges in zip(found, ([(0, 300)], [(0, 90), (90, 300)]), strict=True):
        for some in ranges:
            draw_tokens(*some, doc_ptr, words, rows, alpha, 0, (0, 3), out)
    np.testing.assert_array_equal(*found)


def test_threads_change_no_bit():
    rng = np.random.default_rng(4)
    phi, alpha = rng.dirichlet(np.full(80, 0.1), size=6), np.full(6, 0.3)
    tokens = drawn_tokens(phi, rng.dirichlet(alpha, size=60), 30)
    pairs = np.array([[0, 1], [5, 2]])
    for found in (
        [halves(tokens, alpha, 0.1, 0, threads) for threads in (1, 3)],
        [worth_of_pairs(tokens, pairs, alpha, 0.1, 0, threads) for threads in (1, 3)],
    ):
        one, three = found
        np.testing.assert_array_equal(one.worth, three.worth)
        np.testing.assert_array_equal(one.tokens.sides, three.tokens.sides)
