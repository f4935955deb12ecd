# SPDX-License-Identifier: BSD-3-Clause
"""Authors' mixtures around which documents have their own: equations, new documents."""

import numpy as np
import pytest
from scipy import sparse
from sides_support import planted

import topicfold
from topicfold import LDA, PLSA, AuthorTopics
from topicfold.exceptions import DataError, DataWarning, EmptyDocumentWarning
from topicfold.parts import Context
from topicfold.parts.sides import learn_from
from topicfold.theta import AuthorPriors
from topicfold.theta.authors import EVEN_SHARE, FOLDS, STRENGTHS

FEW = {"max_iter": 12, "tol": 0.0, "random_state": 0}


@pytest.fixture(scope="module")
def written():
    """Documents around the mixtures of one or two of thirty authors."""
    rng = np.random.default_rng(1)
    _, _, phi = planted(seed=2)
    mixtures = rng.dirichlet(np.full(4, 0.3), 30)
    lists = [rng.choice(30, rng.integers(1, 3), False).tolist() for _ in range(200)]
    means = np.array([mixtures[own].mean(axis=0) for own in lists])
    theta = np.array([rng.dirichlet(4 * row + 0.05) for row in means])
    X = np.array([rng.multinomial(60, row) for row in theta @ phi]).astype(float)
    names = [[f"author {a:02d}" for a in own] for own in lists]
    return sparse.csr_matrix(X), names, phi


def learned(counts, names, alpha):
    """Return what the side learns of counts, and the prior of their documents."""
    side = AuthorPriors()
    shape = counts.shape
    context = Context(*shape, 9, counts.sum(axis=1), alpha=alpha, iteration=5)
    data = side.check(names, context)
    learn_from(side, lambda: side.gather(counts, data, context), context)
    return side, side.prior(data, context)


def test_mixtures_and_priors_by_the_equations():
    rng = np.random.default_rng(0)
    counts = rng.gamma(0.4, 9.0, (12, 3))
    counts[11] = 0.0
    names = [["a"], ["b"], ["b"], ["c"], ["a"], None] * 2  # nothing to divide
    side, prior = learned(counts, names, np.full(3, 0.5))
    n = counts.sum(axis=1)
    w = n / (n + 1.5)
    theta = counts / np.maximum(n, 1e-30)[:, None]
    mean = (1 - EVEN_SHARE) * (w @ theta) / w.sum() + EVEN_SHARE / 3
    np.testing.assert_allclose(side.mean_, mean / mean.sum())

    def mixture(name, without=(), strength=side.strength_):
        own = [d for d, a in enumerate(names) if a and name in a and d not in without]
        total = sum((w[d] * theta[d] for d in own), strength * side.mean_)
        return total / (sum(w[own]) + strength)

    def value(strength):
        total = 0.0
        for fold in range(FOLDS):
            hidden = range(fold, 12, FOLDS)
            for d in hidden:
                if names[d]:
                    logs = [mixture(a, hidden, strength) for a in names[d]]
                    total += w[d] * theta[d] @ np.log(np.mean(logs, axis=0))
        return total

    expected = [mixture(name) for name in "abc"]
    np.testing.assert_allclose(side.entity_topics_, expected)
    for d, own in enumerate(names):
        wanted = [mixture(name, without=[d]) for name in own or ()] or [side.mean_]
        np.testing.assert_allclose(prior[d], 1.5 * np.mean(wanted, axis=0))
    assert side.strength_ == max(STRENGTHS, key=value)


def test_new_documents_are_predicted_better_than_by_the_strict_model(written):
    X, names, _ = written
    train, test = slice(0, 150), slice(150, 200)
    few = {"random_state": 0}
    model = AuthorTopics(4, **few).fit(X[train], authors=names[train])
    strict = AuthorTopics(4, strict=True, **few).fit(X[train], authors=names[train])
    known = [[a for a in own if a in model.author_names_] for own in names[test]]

    def fit(model):
        words = np.log(model.expected_topics(known) @ model.components_)
        return float(X[test].multiply(words).sum())

    assert fit(model) > fit(strict)
    mean = np.log(model.sides_[0].mean_ @ model.components_)
    assert fit(model) > float((X[test] @ mean).sum())
    lda = LDA(4, **few).fit(X[train])
    assert model.perplexity(X[test], authors=known) < lda.perplexity(X[test])


def test_topics_are_divided_among_authors_who_write_of_different_things():
    """Ann writes of the first topic and Bob of the second, mostly together."""
    rng = np.random.default_rng(0)
    names = [["Ann", "Bob"]] * 60 + [["Ann"], ["Bob"]] * 20
    theta = np.array([[0.5, 0.5]] * 60 + [[0.95, 0.05], [0.05, 0.95]] * 20)
    order = rng.permutation(100)
    counts = np.array([rng.multinomial(80, theta[d]) for d in order]).astype(float)
    apart, _ = learned(counts, [names[d] for d in order], np.full(2, 0.5))
    assert apart.entity_topics_[0, 0] > 0.85
    assert apart.entity_topics_[1, 1] > 0.85


def test_documents_have_mixtures_of_their_own(written):
    X, names, _ = written
    model = AuthorTopics(4, random_state=0).fit(X, authors=names)
    alone = [d for d, own in enumerate(names) if own == ["author 03"]]
    assert np.ptp(model.doc_topics_[alone], axis=0).max() > 0.05
    assert not np.allclose(model.transform(X), model.transform(X, authors=names))
    with pytest.warns(EmptyDocumentWarning):
        nothing = model.transform(X[:1] * 0, authors=names[:1])
    np.testing.assert_allclose(nothing, model.expected_topics(names[:1]), atol=1e-5)


def test_unknown_authors_and_those_of_one_document(written):
    X, names, _ = written
    once = [["only here"], *names[1:]]
    model = AuthorTopics(4, **FEW).fit(X, authors=once)
    side = model.sides_[0]
    with pytest.warns(DataWarning, match="no documents by 'Nobody'"):
        found = model.expected_topics([["Nobody"], None, ["only here"]])
    np.testing.assert_allclose(found[:2], [side.mean_, side.mean_])
    # An author of one document is between it and the mean of all.
    own = model.doc_topics_[0] - side.mean_
    share = (found[2] - side.mean_) @ own / (own @ own)
    assert 0.3 < share < 1.0


def test_saved_and_loaded(written, tmp_path):
    X, names, _ = written
    model = AuthorTopics(4, **FEW).fit(X, authors=names)
    model.save(tmp_path / "model")
    again = topicfold.load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.transform(X, authors=names), model.transform(X, authors=names)
    )
    again.sides_[0].strength_ = 0.0
    with pytest.raises(ValueError, match="strength_"):
        again._check_loaded()


def test_without_a_prior_it_says_so(written):
    with pytest.raises(DataError, match="Use LDA, or Authors"):
        PLSA(4, sides=[AuthorPriors()], **FEW).fit(written[0], authors=written[1])
