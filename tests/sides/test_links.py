# SPDX-License-Identifier: BSD-3-Clause
"""Links: evidence is the derivative, planted ones are found, bad ones are refused."""

import logging

import numpy as np
import pytest
from scipy import optimize, sparse
from sides_support import planted
from sklearn.linear_model import LogisticRegression

from topicfold import LDA
from topicfold.evidence import Links
from topicfold.evidence.links import PAIRS_PER_LINK, RIDGE, _logistic
from topicfold.exceptions import DataError
from topicfold.parts import Context
from topicfold.parts.sides import learn_from


def linked_corpus(n_documents=200, seed=0, length=25):
    """Return counts, mixtures, and links between documents of the same topic."""
    X, theta, _ = planted(n_documents, seed=seed, length=length, alpha=0.1)
    rng = np.random.default_rng(seed)
    pairs = np.array([(d, e) for d in range(n_documents) for e in range(d)])
    alike = (theta[pairs[:, 0]] * theta[pairs[:, 1]]).sum(axis=1)
    return X, theta, pairs[rng.random(len(pairs)) < 0.08 * alike**2]


def fitted(X, links, **options):
    return LDA(4, sides=[Links(**options)], random_state=0).fit(X, links=links)


def context_of(counts, **more):
    lengths = counts.sum(axis=1)
    return Context(len(counts), counts.shape[1], 9, lengths, **more)


def test_evidence_comes_to_rest_at_the_derivative_of_the_value():
    counts = np.random.default_rng(0).gamma(0.5, 5.0, (20, 4)) + 0.1
    links = [[0, 1], [1, 2], [5, 9], [9, 0], [3, 19]]
    context = context_of(counts, rng=np.random.RandomState(0))
    side = Links(weight=7.0)
    data = side.check(links, context)
    learn_from(side, lambda: side.gather(counts, data, context), context)
    for _ in range(60):  # δ at these counts
        evidence = side.evidence(counts, data, context)
    step = 1e-5
    slopes = np.zeros_like(counts)
    for d, k in np.ndindex(*counts.shape):
        values = []
        for sign in (1, -1):
            moved = counts.copy()
            moved[d, k] += sign * step
            values.append(side.value(moved, data, context_of(moved)))
        slopes[d, k] = (values[0] - values[1]) / (2 * step)
    np.testing.assert_allclose(evidence, slopes, atol=1e-5)


def test_the_regression_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    features = rng.random((300, 3))
    targets = (rng.random(300) < features[:, 0]).astype(float)
    masses = rng.integers(1, 4, 300).astype(float)
    penalty = np.diag([0.5, 0.5, 0.5, 1e-9])
    coef, information = _logistic(features, targets, masses, penalty)
    peer = LogisticRegression(C=2.0, tol=1e-10, max_iter=1000)
    peer.fit(features, targets, sample_weight=masses)
    np.testing.assert_allclose(coef[:-1], peer.coef_[0], atol=1e-4)
    np.testing.assert_allclose(coef[-1], peer.intercept_[0], atol=1e-4)
    assert (np.linalg.eigvalsh(information) > 0).all()


def test_no_weight_is_lda():
    X, _, links = linked_corpus()
    found = fitted(X, links, weight=0.0)
    plain = LDA(4, learn_priors=False, random_state=0).fit(X)
    np.testing.assert_allclose(found.components_, plain.components_, atol=1e-6)


def test_planted_links_are_found_again():
    X, _, links = linked_corpus()
    model = fitted(X, links)
    side = model.sides_[0]
    rng = np.random.default_rng(1)
    new, truth, _ = linked_corpus(seed=0)
    pairs = rng.integers(0, 200, (2000, 2))
    alike = (truth[pairs[:, 0]] * truth[pairs[:, 1]]).sum(axis=1)
    chances = side.predict(
        model.transform(new[pairs[:, 0]]), side.link_topics_[pairs[:, 1]]
    )
    assert chances[alike > 0.6].mean() > 4 * chances[alike < 0.1].mean()
    # Probabilities are those of links among all pairs.
    assert 0.5 < chances.mean() / (len(links) / (200 * 199 / 2)) < 2.0
    assert (side.coef_ > 0).all()
    assert (side.std_errors_ > 0).all()


def test_links_settle_the_topics_of_documents_with_hardly_a_word():
    """Two words say little of a document; its links tell the group."""
    rng = np.random.default_rng(0)
    group = np.arange(160) % 2
    X = np.zeros((160, 20))
    for d, g in enumerate(group):
        size = 2 if d < 80 else 30
        words = np.r_[np.full(10, 1.0 + 2 * (g == 0)), np.full(10, 1.0 + 2 * (g == 1))]
        X[d] = rng.multinomial(size, words / words.sum())
    pairs = rng.integers(0, 160, (1200, 2))
    links = pairs[
        (group[pairs[:, 0]] == group[pairs[:, 1]]) & (pairs[:, 0] != pairs[:, 1])
    ]
    right = {}
    for weight in (0.0, 5.0):
        side = Links(weight=weight)
        model = LDA(2, sides=[side], random_state=0).fit(X, links=links)
        found = (model.doc_topics_.argmax(axis=1) == group)[:80].mean()
        right[weight] = max(found, 1 - found)
    assert right[5.0] > 0.95
    assert right[5.0] > right[0.0] + 0.1


def test_a_large_weight_does_not_put_all_documents_in_one_topic():
    X, _, links = linked_corpus()
    model = fitted(X, links, weight=1000.0)
    assert len(np.unique(model.doc_topics_.argmax(axis=1))) > 1
    assert np.isfinite(model.objective_history_).all()


def test_held_out_links_are_not_learned_from():
    X, _, links = linked_corpus()
    context = context_of(np.ones((200, 4)), rng=np.random.RandomState(0))
    data = Links(held_out=0.3).check(links, context)
    hidden = np.unique(data.held_out[:, 0])
    assert data.graph[hidden].nnz == 0
    assert data.graph.nnz // 2 + len(data.held_out) == len(links)
    model = fitted(X, links, held_out=0.3)
    assert model.sides_[0].held_out_score_ > 0.75
    rng = np.random.default_rng(0)
    wrong = fitted(X, rng.integers(0, 200, (400, 2)), held_out=0.3)
    assert wrong.sides_[0].held_out_score_ == pytest.approx(0.5, abs=0.1)


def test_a_matrix_and_pairs_are_the_same_links():
    X, _, links = linked_corpus(60)
    ones = np.ones(len(links))
    matrix = sparse.csr_matrix((ones, links.T), shape=(60, 60))
    one, other = fitted(X, links), fitted(X, matrix + matrix.T)
    np.testing.assert_array_equal(one.components_, other.components_)


def test_topics_that_keep_documents_apart_do_not_count_in_the_search():
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.full(3, 0.5), 60)
    side = Links()
    side.coef_, side.intercept_ = np.array([2.0, -0.8, 1.0]), -1.0
    side.link_topics_ = theta
    new = theta[theta[:, 1] < 0.9]  # others have no topic that counts
    found, chances = side.suggest(new, 6)
    roots, known = (np.sqrt(np.where(t >= 0.01, t, 0.0)) for t in (new, theta))
    scores = (roots * [2.0, 0.0, 1.0]) @ known.T
    best = np.argsort(-scores, axis=1)[:, :6]
    np.testing.assert_array_equal(np.sort(found), np.sort(best))
    exact = side.predict(np.repeat(new, 6, axis=0), theta[found.ravel()])
    np.testing.assert_allclose(chances.ravel(), exact)
    assert (np.diff(chances) <= 0).all()


def test_suggestions_are_the_likeliest_of_all_pairs():
    X, _, links = linked_corpus()
    model = fitted(X, links)
    side = model.sides_[0]
    theta = model.transform(X[:20])
    found, chances = side.suggest(theta, 5)
    every = np.stack(
        [side.predict(np.tile(t, (200, 1)), side.link_topics_) for t in theta]
    )
    best = -np.sort(-every, axis=1)[:, :5]
    # Small shares do not count in the search.
    np.testing.assert_allclose(chances, best, rtol=0.15)
    np.testing.assert_allclose(chances, np.take_along_axis(every, found, 1))
    itself, _ = side.suggest(side.link_topics_, 5, exclude_self=True)
    assert (itself != np.arange(200)[:, None]).all()


def test_links_of_a_document_to_itself_are_dropped(caplog):
    X, _, links = linked_corpus(60)
    with caplog.at_level(logging.WARNING):
        model = fitted(X, [*links.tolist(), [3, 3]])
    assert "links of documents to themselves: 1, dropped" in caplog.text
    assert model.sides_[0].n_links_ == len(links)


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([[0, 1], [2, 30]], "link 1 names document 30.*0 to 29"),
        ([[0, -1]], "link 0 names document -1"),
        ([[0.5, 1]], "document numbers"),
        (np.ones((20, 20)), "20 nodes but there are 30 documents"),
        ("citations", "is not understood"),
        ([[0, 10**400]], "is not understood"),
        ([[0, 1, 1e9]], "largest weight of links is 1e"),
        (sparse.csr_matrix((30, 20)), "not square"),
    ],
)
def test_bad_links_are_refused(links, message):
    X, _, _ = linked_corpus(30)
    with pytest.raises(DataError, match=message):
        fitted(X, links)


@pytest.mark.parametrize("options", [{"weight": -1}, {"ridge": 0}, {"held_out": 1.0}])
def test_bad_parameters_are_refused(options):
    X, _, links = linked_corpus(30)
    with pytest.raises(ValueError, match=next(iter(options))):
        fitted(X, links, **options)


def test_transform_takes_no_links():
    X, _, links = linked_corpus(30)
    with pytest.raises(DataError, match="only fit accepts links"):
        fitted(X, links).transform(X, links=links)


def settled(n_documents=30, weights=(1.0, 2.5, 0.5), **options):
    """Return a side whose coefficients were settled, and all that it saw."""
    rng = np.random.default_rng(3)
    theta, doc_topics = rng.dirichlet(np.ones(3), (2, n_documents))
    pairs = [(d, (d + s) % n_documents) for d in range(n_documents) for s in (1, 5)]
    links = [(d, e, weights[d % 3]) for d, e in pairs]
    context = context_of(np.ones((n_documents, 3)), rng=np.random.RandomState(0))
    side = Links(**options)
    data = side.check(np.array(links), context)
    side.fit_prediction(theta, doc_topics, data, context)
    return side, data, theta, doc_topics


def test_the_coefficients_that_predict_solve_the_stated_regression():
    """A link against drawn pairs, its other end without the link itself."""
    side, data, theta, doc_topics = settled(ridge=4.0)
    graph, own = data.graph.toarray(), (theta + doc_topics) / 2
    degrees = graph.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(side.link_topics_, (own + graph @ own / degrees) / 2)
    rows, targets, masses = [], [], []
    for d, e in np.argwhere(graph):
        left = graph[e].copy()
        left[d] = 0.0
        other = (own[e] + left @ own / left.sum()) / 2
        rows.append(np.sqrt(theta[d] * other))
        targets.append(1.0)
        masses.append(graph[d, e] / 2)
    assert len(data.others) == PAIRS_PER_LINK * len(rows) / 2
    for d, e in data.others:
        rows.append(np.sqrt(theta[d] * side.link_topics_[e]))
        targets.append(0.0)
        masses.append(1.0)
    rows, signs, masses = np.array(rows), 2 * np.array(targets) - 1, np.array(masses)

    def loss(found):
        fits = masses @ np.logaddexp(0, -signs * (rows @ found[:3] + found[3]))
        apart = found[:3] - found[:3].mean()
        return fits + 0.5 * (RIDGE * found[:3] @ found[:3] + 4.0 * apart @ apart)

    best = optimize.minimize(loss, np.zeros(4), tol=1e-12).x
    np.testing.assert_allclose(side.coef_, best[:3], atol=1e-3)
    # Of all pairs, not of those drawn.
    told = side.intercept_ - np.log(len(data.others) / (30 * 29 / 2))
    assert told == pytest.approx(best[3], abs=1e-3)


def test_steps_that_overshoot_are_halved():
    """Newton's first step from far away makes things worse."""
    features = np.array([[0.0], [1.0], [2.0], [3.0]])
    targets = np.array([0.0, 1.0, 0.0, 1.0])
    penalty, masses = 1e-3 * np.eye(2), np.full(4, 5.0)
    start = np.array([9.0, -30.0])
    near, _ = _logistic(features, targets, masses, penalty)
    found = start
    for _ in range(60):
        found, _ = _logistic(features, targets, masses, penalty, found)
    np.testing.assert_allclose(found, near, atol=1e-4)


def test_a_held_out_link_among_equals_is_in_the_middle():
    """All documents are the same: half of the rivals that tie count as better."""
    context = context_of(np.ones((20, 3)), rng=np.random.RandomState(0))
    side = Links(held_out=0.4)
    data = side.check([[d, (d + 1) % 20] for d in range(20)], context)
    same = np.full((20, 3), 1 / 3)
    side.fit_prediction(same, same, data, context)
    assert len(data.held_out)
    np.testing.assert_array_equal(side.held_out_losses_, 0.5)
    assert side.held_out_score_ == 0.5


def test_fewer_documents_than_asked_have_no_chance():
    """A document that shares no topic is not found; its place has chance zero."""
    side, *_ = settled()
    side.coef_, side.link_topics_ = np.ones(3), np.eye(3)[[0, 0, 1, 2]]
    found, chances = side.suggest(np.eye(3)[[0]], 4)
    assert set(found[0, :2]) == {0, 1}
    np.testing.assert_array_equal(found[0, 2:], -1)
    np.testing.assert_array_equal(chances[0, 2:], 0.0)
