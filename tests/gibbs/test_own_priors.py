# SPDX-License-Identifier: BSD-3-Clause
"""Sampling of documents with priors of their own: draws, likelihood, planted truth."""

from itertools import product

import numpy as np
import pytest
import sides_support as support
from gibbs_reference import log_joint
from scipy import sparse
from scipy.special import gammaln
from tests_support import matched_topics

import topicfold
from topicfold import GibbsLDA, HierarchicalDirichletLDA
from topicfold.evidence import Features, Labels
from topicfold.exceptions import DataError
from topicfold.gibbs.own_priors import OwnPriors, SidedGibbs, own_mixtures
from topicfold.parts import Context
from topicfold.parts.together import REFUSED, SideData
from topicfold.phi import OtherCounts
from topicfold.theta import AuthorPriors, Authors

N_TOPICS = 20


def known(X, prior=None, only=None):
    """Return the sides of documents with these priors and topics."""
    n_topics = len((prior if only is None else only)[0])
    sides, data = [], []
    if prior is not None:
        sides, data = [support.OwnPrior()], [np.asarray(prior)]
    if only is not None:
        sides, data = [*sides, support.Only()], [*data, sparse.csr_matrix(only)]
    lengths = np.asarray(X.sum(axis=1)).ravel()
    context = Context(
        X.shape[0], n_topics, X.shape[1], lengths, alpha=np.full(n_topics, 0.3)
    )
    return SideData(sides, data, context)


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(3)
    X = sparse.csr_matrix(rng.poisson(0.6, (12, 9)).astype(float))
    prior = rng.gamma(1.0, size=(12, 5)) + 0.1
    only = rng.random((12, 5)) < 0.6
    only[:, 0] = True
    return X, prior, only


def test_new_documents_have_their_posterior_mean(small):
    """Every assignment of a few tokens, weighed by its probability."""
    _, prior, only = small
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.ones(9), 5)
    X = sparse.csr_matrix(np.eye(3, 9) + np.eye(3, 9, k=1) + 2 * np.eye(3, 9, k=4))
    own = OwnPriors.of(known(X, prior[:3], only[:3]))
    found = own_mixtures(X, phi, own, burn_in=20, n_samples=20_000, seed=1)
    for d in range(3):
        alpha = prior[d] * only[d] * 5 / only[d].sum()
        words = np.repeat(X[d].indices, X[d].data.astype(int))
        mean, total = np.zeros(5), 0.0
        for topics in product(np.flatnonzero(only[d]), repeat=len(words)):
            counts = np.bincount(topics, minlength=5)
            used = alpha > 0
            value = gammaln(counts[used] + alpha[used]) - gammaln(alpha[used])
            weight = np.exp(value.sum()) * phi[list(topics), words].prod()
            mean, total = mean + weight * (counts + alpha), total + weight
        mean /= total * (len(words) + alpha.sum())
        np.testing.assert_allclose(found[d], mean, atol=0.01)
        assert (found[d, ~only[d]] == 0).all()


def test_the_chain_keeps_to_its_priors_and_counts(small):
    X, prior, only = small
    options = {"burn_in": 5, "sample_every": 1, "learn_priors": False, "n_blocks": 3}
    sides = known(X, prior, only)
    chain = SidedGibbs(X, np.full(5, 0.3), 0.1, sides, seed=0, **options)
    values = [chain.start(), *(chain.iterate() for _ in range(3))]
    words = chain.tokens.terms[chain.tokens.words]
    documents = np.repeat(np.arange(12), np.diff(chain.tokens.doc_ptr))
    topics = chain.topic_of.astype(int)
    assert only[documents, topics].all()
    counts = np.zeros((12, 5), int)
    of_words = np.zeros((9, 5), int)
    np.add.at(counts, (documents, topics), 1)
    np.add.at(of_words, (words, topics), 1)
    np.testing.assert_array_equal(chain.rows[np.argsort(chain.tokens.terms)], of_words)
    alpha = np.where(only, prior, 0) * (5 / only.sum(axis=1))[:, None]
    expected = log_joint(np.zeros((1, 1), int), of_words, np.ones(1), 0.1)
    for d in range(12):
        own = only[d]
        expected += log_joint(
            counts[d : d + 1, own], np.zeros((1, 1), int), alpha[d, own], 0.1
        )
    assert values[-1] == pytest.approx(expected)


def test_the_same_priors_are_those_of_plain_sampling():
    X = support.planted(n_documents=300, length=60)[0]
    options = {"random_state": 0, "learn_priors": False, "doc_topic_prior": 0.15}
    plain = GibbsLDA(4, **options).fit(X)
    prior = np.full((300, 4), 0.15)
    own = GibbsLDA(4, sides=[support.OwnPrior()], **options).fit(X, alphas=prior)
    order = matched_topics(plain.components_, own.components_)
    gap = np.abs(own.doc_topics_[:, order] - plain.doc_topics_).sum(axis=1)
    assert gap.mean() < 0.06
    again = own.transform(X, alphas=prior)
    assert np.abs(again - own.doc_topics_).sum(axis=1).mean() < 0.06


@pytest.fixture(scope="module")
def grouped():
    """Documents of four groups, whose mixtures differ."""
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(300, 0.05), N_TOPICS)
    groups = rng.integers(0, 4, 500)
    means = rng.dirichlet(np.full(N_TOPICS, 0.3), 4)
    theta = np.array([rng.dirichlet(2 * means[g] + 1e-3) for g in groups])
    X, short = (
        sparse.csr_matrix([rng.multinomial(n, row) for row in theta @ phi], dtype=float)
        for n in (60, 8)
    )
    return X, short, phi, theta, [str(g) for g in groups]


@pytest.mark.parametrize("side", [Features(), AuthorPriors()])
def test_priors_help_where_words_are_few(grouped, side):
    X, short, phi, theta, groups = grouped
    data = {"features": {"group": groups}, "authors": [[g] for g in groups]}
    data = {side.data: data[side.data]}
    model = GibbsLDA(N_TOPICS, sides=[side], random_state=0).fit(X, **data)
    order = matched_topics(phi, model.components_)
    errors = [
        np.abs(model.transform(short, **given)[:, order] - theta).sum(axis=1).mean()
        for given in ({}, data)
    ]
    assert errors[1] < 0.93 * errors[0]
    assert model.doc_topic_prior_.shape == (N_TOPICS,)


@pytest.mark.parametrize("init", ["random", "lda"])
def test_labels_are_the_topics_of_documents(init, tmp_path):
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(300, 0.05), N_TOPICS)
    theta = np.zeros((400, N_TOPICS))
    for row in theta:
        used = [*rng.choice(N_TOPICS - 1, 2, replace=False), N_TOPICS - 1]
        row[used] = rng.dirichlet(np.ones(3))
    X = sparse.csr_matrix(
        [rng.multinomial(60, row) for row in theta @ phi], dtype=float
    )
    labels = [[f"l{k:02}" for k in np.flatnonzero(row[:-1])] for row in theta]
    model = GibbsLDA(N_TOPICS, sides=[Labels()], init=init, random_state=0)
    model.set_params(max_iter=60).fit(X, labels=labels)
    assert model.topic_names_ == [*(f"l{k:02}" for k in range(19)), "background"]
    assert np.abs(model.doc_topics_ - theta).sum(axis=1).mean() < 0.2
    assert (model.doc_topics_[theta == 0] == 0).all()
    given = model.transform(X, labels=labels)
    assert np.abs(given - model.doc_topics_).sum(axis=1).mean() < 0.06
    threads = model.set_params(n_jobs=3)
    np.testing.assert_array_equal(threads.transform(X, labels=labels), given)
    model.save(tmp_path / "m")
    loaded = topicfold.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.transform(X, labels=labels), given)


def test_threads_make_no_difference(grouped):
    X, *_, groups = grouped
    one, many = (
        GibbsLDA(9, sides=[Features()], max_iter=12, random_state=0, n_jobs=n).fit(
            X, features={"group": groups}
        )
        for n in (1, 3)
    )
    np.testing.assert_array_equal(one.components_, many.components_)
    np.testing.assert_array_equal(one.sides_[0].effects_, many.sides_[0].effects_)


def test_what_sampling_does_not_take_is_for_lda():
    X, theta, _ = support.planted()
    sides = {
        "mixing": (Authors(), {"authors": [["a"]] * len(theta)}),
        "evidence": (support.Slant(), {"slant": theta}),
        "counts": (OtherCounts("more"), {"more": X}),
        "topics": (support.Banned(3), {}),
    }
    assert {hook for hook, place in REFUSED if place == "gibbs"} == set(sides)
    for side, data in sides.values():
        with pytest.raises(DataError, match=f"{type(side).__name__} .* use LDA"):
            GibbsLDA(4, sides=[side], max_iter=4).fit(X, **data)
    with pytest.raises(TypeError, match="sides"):
        HierarchicalDirichletLDA(4, sides=[Labels()])
