# SPDX-License-Identifier: BSD-3-Clause
"""Gibbs sampling with the topics fixed: how tokens are laid out, what is averaged."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from topicfold.gibbs.fixed_topics import FixedTopics, gibbs_mixtures, left_to_right

TOPICS = np.array([[0.7, 0.1, 0.2, 0.0], [0.1, 0.6, 0.3, 0.0]])
ALPHA = np.array([0.5, 2.0])


def test_tokens_of_words_in_use_are_laid_out_document_by_document():
    X = sparse.csr_matrix([[2.0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 3, 0]])
    parts = FixedTopics.arrange(X, TOPICS, ALPHA)
    assert parts.doc_ptr.tolist() == [0, 3, 3, 6]
    assert parts.words.tolist() == [0, 0, 1, 1, 1, 1]  # words 0 and 2 are rows 0 and 1
    np.testing.assert_allclose(parts.rows, TOPICS[:, [0, 2]].T, rtol=1e-6)
    np.testing.assert_allclose(parts.prior_mass, ALPHA @ TOPICS[:, [0, 2]], rtol=1e-6)
    assert len(set(parts.keys)) == 3
    again = FixedTopics.arrange(X[[2, 0]], TOPICS, ALPHA)
    assert again.keys.tolist() == parts.keys[[2, 0]].tolist()


def test_one_word_documents_have_the_exact_posterior_mean():
    """One token: P(z = k) ∝ α_k φ_kw, and θ is (e_z + α) / (1 + Σα) on average."""
    X = sparse.csr_matrix(np.eye(3, 4))
    found = gibbs_mixtures(X, TOPICS, prior=ALPHA, n_samples=20_000)
    chance = ALPHA * TOPICS[:, :3].T
    chance /= chance.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, (chance + ALPHA) / (1 + ALPHA.sum()), atol=5e-3)


def test_words_that_no_topic_has_are_left_out():
    X = sparse.csr_matrix([[2.0, 1, 0, 5], [2, 1, 0, 0], [0, 0, 0, 3], [0, 0, 0, 0]])
    found = gibbs_mixtures(X, TOPICS, prior=ALPHA)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[2:], 0.5)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert gibbs_mixtures(X.astype(np.float32), TOPICS, prior=ALPHA).dtype == np.float32


def test_a_single_sample_is_a_whole_assignment():
    X = sparse.csr_matrix([[3.0, 2, 2, 0]])
    counts = gibbs_mixtures(X, TOPICS, prior=ALPHA, n_samples=1)[0] * 9.5 - ALPHA
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-9)
    assert counts.sum() == pytest.approx(7)
    seeds = {
        gibbs_mixtures(X, TOPICS, prior=ALPHA, n_samples=1, seed=s)[0, 0]
        for s in range(20)
    }
    assert len(seeds) > 2


def test_a_word_that_no_topic_has_concerns_its_own_document_only():
    X = np.array([[4, 0, 0, 0], [2, 2, 0, 0], [0, 0, 0, 0], [9, 0, 0, 0]])
    found = left_to_right(sparse.csr_matrix(X), TOPICS, ALPHA, n_particles=5)
    X[1, 3] = 1
    impossible = left_to_right(sparse.csr_matrix(X), TOPICS, ALPHA, n_particles=5)
    assert impossible.tolist() == [found[0], -np.inf, 0.0, found[3]]
