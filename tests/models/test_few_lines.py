# SPDX-License-Identifier: BSD-3-Clause
"""Models that are a few lines on others (docs/howto/few_lines.md), on planted data."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from topicfold import PLSA, AuthorTopics, MultimodalLDA

PAGE = Path(__file__).resolve().parents[2] / "docs/howto/few_lines.md"


def same_groups(theta, groups):
    """Share of rows whose largest column is that of their group, two of each."""
    found = np.asarray(theta).argmax(axis=1)
    return max(np.mean(found == groups), np.mean(found != groups))


@pytest.fixture
def network():
    rng = np.random.default_rng(0)
    groups = np.arange(80) % 2
    chance = np.where(groups[:, None] == groups, 0.3, 0.03)
    return sparse.csr_matrix((rng.random((80, 80)) < chance).astype(float)), groups


def drawn_topics(own, length=40, seed=0):
    """Counts over 20 words; documents have their own of two topics."""
    rng = np.random.default_rng(seed)
    topics = np.kron(np.array([[0.9, 0.1], [0.1, 0.9]]), np.full(10, 0.1))
    return np.array([rng.multinomial(length, topics[k]) for k in own])


def test_phits_finds_communities_and_their_authorities(network):
    links, groups = network
    model = PLSA(2, random_state=0).fit(links)
    assert same_groups(model.doc_topics_, groups) > 0.95
    assert same_groups(model.components_.T, groups) > 0.95


def test_pairs_of_author_and_recipient_have_mixtures():
    pair = np.arange(90) % 3  # the first author writes differently to two people
    X = drawn_topics(np.array([0, 1, 1])[pair])
    names = [["a to b", "a to c", "d to b"][p] for p in pair]
    model = AuthorTopics(2, random_state=0).fit(X, authors=[[name] for name in names])
    own = dict(
        zip(model.author_names_, model.author_topics_.argmax(axis=1), strict=True)
    )
    assert own["a to c"] == own["d to b"] != own["a to b"]


def test_a_tensor_of_time_says_when_topics_are_spoken_of():
    when = np.arange(90) % 3
    X = drawn_topics(np.array([0, 0, 1])[when])
    times = sparse.csr_matrix((X.sum(axis=1), (np.arange(90), when)), shape=(90, 3))
    model = MultimodalLDA(2, random_state=0).fit({"words": X, "time": times})
    share = model.group_components_["time"]
    late = share[:, 2].argmax()
    np.testing.assert_allclose(share[late], [0, 0, 1], atol=0.02)
    np.testing.assert_allclose(share[1 - late], [0.5, 0.5, 0], atol=0.02)


def test_topics_have_phrases():
    own = np.arange(60) % 2
    words, phrases = drawn_topics(own), drawn_topics(own, 6, seed=1)
    model = MultimodalLDA(2, random_state=0).fit({"words": words, "phrases": phrases})
    for group in ("words", "phrases"):
        share = model.group_components_[group][:, :10].sum(axis=1)
        np.testing.assert_allclose(np.sort(share), [0.1, 0.9], atol=0.05)


@pytest.mark.skipif(not PAGE.is_file(), reason="docs/ is not here")
def test_blocks_of_a_network_are_found(network):
    links, groups = network
    code = re.search(
        r"^def blocks.*?^    return theta, B$", PAGE.read_text(), re.M | re.S
    )
    made = {"np": np}
    exec(code[0], made)
    start = np.random.default_rng(1).dirichlet(np.ones(2), 80)
    theta, B = made["blocks"](links, start)
    assert same_groups(theta, groups) > 0.95
    assert np.diag(B).min() > 4 * max(B[0, 1], B[1, 0])
    np.testing.assert_allclose(theta.sum(axis=1), 1)
    # EM: the likelihood of Poisson counts rises.
    rates = [made["blocks"](links, start, n) for n in (1, 5, 25)]
    loglik = [
        (links.multiply(np.log(t @ b @ t.T))).sum() - (t @ b @ t.T).sum()
        for t, b in rates
    ]
    assert loglik[0] < loglik[1] < loglik[2]
