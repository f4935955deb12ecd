# SPDX-License-Identifier: BSD-3-Clause
"""Which of two starts leads to topics that say more of the words."""

import numpy as np
import pytest
from scipy import sparse

from topicfold.learn import initial
from topicfold.learn.initial import lead


@pytest.fixture
def corpus():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(80, 0.05), 4)
    theta = rng.dirichlet(np.full(4, 0.2), 300)
    X = np.array([rng.multinomial(30, row @ topics) for row in theta])
    return sparse.csr_matrix(X.astype(np.float64)), topics + 1e-3


def test_topics_that_mix_others_are_behind(corpus):
    X, topics = corpus
    mixed = topics[[0, 1, 2, 2]] + 0.5 * topics[[1, 0, 3, 3]]
    found = lead(X, topics, mixed)
    assert found > 0.05
    assert lead(X, mixed, topics) == pytest.approx(-found)
    assert lead(X, topics, topics[::-1]) == pytest.approx(0, abs=1e-6)


def test_a_sample_tells_as_much(corpus, monkeypatch):
    X, topics = corpus
    mixed = topics[[0, 1, 2, 2]] + 0.5 * topics[[1, 0, 3, 3]]
    whole = lead(X, topics, mixed)
    monkeypatch.setattr(initial, "RIVAL_DOCUMENTS", 100)
    assert lead(X, topics, mixed) == pytest.approx(whole, rel=0.3)


def test_a_sample_without_words_prefers_none():
    assert lead(sparse.csr_matrix((3, 4)), np.eye(2, 4), np.eye(2, 4)) == 0.0
