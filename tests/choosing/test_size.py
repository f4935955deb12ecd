# SPDX-License-Identifier: BSD-3-Clause
"""How many topics, when nobody said."""

import numpy as np
import pytest
from scipy import sparse

from topicfold import Topics
from topicfold.choosing import compare, suggest_size
from topicfold.choosing.size import ALIKE


def planted(n_topics, n_documents, seed=0):
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(40 * n_topics, 0.02), n_topics)
    theta = rng.dirichlet(np.full(n_topics, 0.02), n_documents)
    X = np.array([rng.multinomial(60, row @ phi) for row in theta])
    return sparse.csr_matrix(X)


@pytest.mark.parametrize("n_topics", [5, 10, 20])
def test_planted_topics_are_counted_within_a_factor_of_two(n_topics):
    found = suggest_size(planted(n_topics, 800))
    assert n_topics / 2 <= found.n_topics <= 2 * n_topics
    assert f"of {found.n_topics} topics" in found.reason
    assert found.stability[found.n_topics] >= 0.7
    # Five are tried only where ten are too many: a look costs no more than it must.
    assert (5 in found.stability) == (found.stability[10] < ALIKE)


def test_the_number_of_threads_changes_nothing():
    X = planted(10, 300)
    assert suggest_size(X) == suggest_size(X, n_jobs=2)


@pytest.mark.parametrize("n_documents", [1, 2, 3, 8, 59])
def test_few_documents_have_few_topics(n_documents):
    found = suggest_size(planted(3, n_documents))
    assert 1 <= found.n_topics <= max(1, n_documents // 2)
    assert "only" in found.reason


def test_nothing_in_common():
    assert suggest_size(sparse.identity(80, format="csr")).n_topics == 5
    assert suggest_size(np.ones((100, 1))).n_topics >= 1


def test_every_door_has_the_same_number():
    X = planted(10, 300)
    expected = suggest_size(X).n_topics
    assert len(Topics().fit(X).data_.topics) == expected
    found = compare(X, ["PLSA"], n_components=None)
    assert found.scores[0].n_components == expected
