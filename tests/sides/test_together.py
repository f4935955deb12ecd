# SPDX-License-Identifier: BSD-3-Clause
"""Several sides in one model: each tells a part of the truth that the others lack.

A document is of one of four topics, (i, j), of which its words hardly tell. One side
tells i, another j: a model with one side finds one part, a model with both finds both.
"""

import numpy as np
import pytest
from scipy import sparse
from sides_support import Slant

import topicfold
from topicfold import LDA, PLSA, SupervisedLDA
from topicfold.evidence import Features, Labels, Response
from topicfold.exceptions import UnsettledWarning
from topicfold.models.supervised import WEIGHTS
from topicfold.phi import OtherCounts, Seeds
from topicfold.theta import Authors, LaplacianTheta, LocallyConsistentTheta

GOOD = 0.9
# How much better a part is found by the side that tells it.
MARGIN = 0.1


def drawn(own_share, length, n_documents=400):
    """Return counts of documents, the two parts of their topics, and telling words."""
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 2, (2, n_documents))
    own = rng.dirichlet(np.full(80, 0.1), 4)
    phi = (1 - own_share) * rng.dirichlet(np.ones(80)) + own_share * own
    X = np.array([rng.multinomial(length, phi[k]) for k in 2 * i + j], float)
    return sparse.csr_matrix(X), i, j, own


def side_of(name, part, seed=1):
    """Return a side that tells a part, and its data."""
    rng = np.random.default_rng(seed)
    tags = rng.poisson(np.where(part[:, None] == np.arange(6) // 3, 2.0, 0.1))
    return {
        "tags": lambda: (OtherCounts("tags", weight=3.0), tags),
        "citations": lambda: (OtherCounts("citations", weight=3.0), tags),
        "response": lambda: (Response(weight=60.0), part + 0.0),
        "classes": lambda: (Response("classes", weight=10.0), part),
        "labels": lambda: (
            Labels(topics_per_label=2, n_background=0),
            np.array(["one", "two"])[part],
        ),
        "authors": lambda: (Authors(), [f"{p} {rng.integers(9)}" for p in part]),
    }[name]()


def score(theta, part):
    """Share of documents whose part the best topic tells, each topic by majority."""
    best = theta.argmax(axis=1)
    said = [round(part[best == k].mean()) if (best == k).any() else 0 for k in range(4)]
    return float((np.array(said)[best] == part).mean())


def fitted(X, *sides):
    data = {side.keyword: data for side, data in sides if side.keyword is not None}
    # From a start that does not find by itself what the sides tell.
    options = {"init": "neighbors", "random_state": 0, "tol": 1e-4}
    return LDA(4, sides=[side for side, _ in sides], **options).fit(X, **data)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tags", "response"),
        ("tags", "citations"),
        ("tags", "classes"),
        ("labels", "response"),
        ("labels", "tags"),
    ],
)
def test_two_sides_find_both_parts(one, other):
    X, i, j, _ = drawn(0.15, 25)
    first, second = side_of(one, i), side_of(other, j, seed=2)
    of_first, of_second = fitted(X, first).doc_topics_, fitted(X, second).doc_topics_
    both = fitted(X, first, second).doc_topics_
    assert score(both, i) > max(GOOD, score(of_second, i) + MARGIN)
    assert score(both, j) > max(GOOD, score(of_first, j) + MARGIN)


def test_authors_and_tags():
    """Authors write of i; tags tell j, of new documents too."""
    X, i, j, _ = drawn(0.15, 25)
    authors, tags = side_of("authors", i), side_of("tags", j, seed=2)
    both, of_authors = fitted(X, authors, tags), fitted(X, authors)
    assert score(both.doc_topics_, i) > max(
        GOOD, score(fitted(X, tags).doc_topics_, i) + MARGIN
    )
    found = both.transform(X, tags=tags[1])
    assert score(found, j) > max(GOOD, score(of_authors.transform(X), j) + MARGIN)


def test_authors_and_responses():
    """Authors write of i; the response tells j, of documents that have one."""
    X, i, j, _ = drawn(0.2, 60)
    authors, response = side_of("authors", i), (Response(weight=300.0), j + 0.0)
    both, of_authors = fitted(X, authors, response), fitted(X, authors)
    of_response = fitted(X, response)
    assert score(both.doc_topics_, i) > max(
        GOOD, score(of_response.doc_topics_, i) + MARGIN
    )
    words = both.transform(X)
    assert score(words, j) > max(GOOD, score(of_authors.transform(X), j) + MARGIN)
    assert score(both.transform(X, response=j + 0.0), j) >= score(words, j)


def test_seeds_and_features():
    """Seeds tell which topic is which, the feature how frequent each one is."""
    rng = np.random.default_rng(3)
    *_, own = drawn(0.5, 2)
    phi = 0.4 * rng.dirichlet(np.ones(80)) + 0.6 * own
    feature = rng.integers(0, 2, 600)
    usual = np.where(feature == 1, 1, 2)
    k = np.where(rng.random(600) < 0.75, usual, rng.integers(0, 4, 600))
    X = sparse.csr_matrix([rng.multinomial(20, phi[t]) for t in k], dtype=float)
    words = [[int(w) for w in own[t].argsort()[::-1][:4]] for t in (0, 1)]
    seeds = Seeds(dict(zip(("zero", "one"), words, strict=True))), None
    features = Features(), feature[:, None] + 0.0
    both, of_features = fitted(X, seeds, features), fitted(X, features)
    nothing, values = sparse.csr_matrix((2, 80)), np.array([[0.0], [1.0]])
    for model, named in ((both, True), (of_features, False)):
        best = model.doc_topics_.argmax(axis=1)
        assert ((best[k == 1] == 1).mean() > GOOD) == named
        with pytest.warns(topicfold.exceptions.EmptyDocumentWarning):
            shares = model.transform(nothing, features=values)
        assert np.abs(shares[1] - shares[0]).max() > 0.3
        assert (shares[1].argmax() == 1) == named


def test_other_counts_and_links():
    """Half of the documents have tags that tell; links lead from the others to them."""
    Links = pytest.importorskip("topicfold.evidence.links").Links
    X, i, j, _ = drawn(0.15, 25)
    topic, bare = 2 * i + j, np.arange(len(i)) % 2 == 1
    rng = np.random.default_rng(5)
    tags = rng.poisson(np.where(topic[:, None] == np.arange(8) // 2, 3.0, 0.1)) + 0.0
    tags[bare] = 0
    near = [np.flatnonzero(~bare & (topic == t)) for t in range(4)]
    pairs = [
        (d, e) for d in np.flatnonzero(bare) for e in rng.choice(near[topic[d]], 2)
    ]
    sides = (OtherCounts("tags", weight=3.0), tags), (Links(), np.array(pairs))

    def found(*sides):
        """Share of documents of which the best topic tells the true one."""
        best = fitted(X, *sides).doc_topics_.argmax(axis=1)
        said = [np.bincount(topic[best == t], minlength=4).argmax() for t in range(4)]
        right = np.array(said)[best] == topic
        return right[bare].mean(), right[~bare].mean()

    of_tags, of_links, both = found(sides[0]), found(sides[1]), found(*sides)
    assert min(both) > 0.98
    assert both[0] > of_tags[0] + MARGIN
    assert both[1] > of_links[1] + MARGIN / 2


@pytest.mark.parametrize("kind", [LaplacianTheta, LocallyConsistentTheta])
def test_labels_and_a_graph(kind):
    """A tenth of the documents has labels; neighbours carry them to the others."""
    X, i, j, _ = drawn(0.15, 25)
    part, rng = 2 * i + j, np.random.default_rng(5)
    ends = np.repeat(np.arange(400), 6)
    others = [
        rng.choice(np.flatnonzero(part == part[d]))
        if rng.random() < 0.8
        else rng.integers(400)
        for d in ends
    ]
    graph = sparse.csr_matrix((np.ones(len(ends)), (ends, others)), (400, 400))
    graph = graph.maximum(graph.T)
    graph.setdiag(0)
    known = rng.random(400) < 0.1
    labels = [f"t{k}" if own else None for k, own in zip(part, known, strict=True)]
    options = {"sides": [Labels(n_background=0)], "random_state": 0}
    step = kind(weight=0.5, graph=graph)
    both = PLSA(4, theta_step=step, **options).fit(X, labels=labels)
    alone = PLSA(4, **options).fit(X, labels=labels)

    def right(model):
        return (model.doc_topics_.argmax(axis=1) == part)[~known].mean()

    assert right(both) > 0.97
    assert right(alone) < 0.8
    history = np.array(both.objective_history_)
    assert (np.diff(history) >= -1e-9 * np.abs(history[:-1])).all()
    outside = np.arange(4)[None, :] != part[known][:, None]
    assert (both.doc_topics_[known][outside] == 0).all()


def test_a_graph_that_contradicts_labels_is_named():
    """Documents of other labels are linked: the fit stands still, and says so."""
    X, i, j, _ = drawn(0.15, 25)
    part, rng = 2 * i + j, np.random.default_rng(5)
    known = rng.random(400) < 0.5
    labels = [f"t{k}" if own else None for k, own in zip(part, known, strict=True)]
    ends = np.repeat(np.arange(400), 6)
    others = [rng.choice(np.flatnonzero(part != part[d])) for d in ends]
    graph = sparse.csr_matrix((np.ones(len(ends)), (ends, others)), (400, 400))
    step = LocallyConsistentTheta(weight=0.5, graph=graph.maximum(graph.T))
    model = PLSA(4, theta_step=step, sides=[Labels(n_background=0)], random_state=0)
    said = "LocallyConsistentTheta moves documents towards topics that Labels does not"
    with pytest.warns(UnsettledWarning, match=said):
        model.fit(X, labels=labels)
    assert not model.converged_
    assert model.n_iter_ < model.max_iter


def lengthened(seed=0):
    """Return counts, long other counts of the same topics, and a response of them."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(6, 0.3), 500)
    phi, other = rng.dirichlet(np.full(80, 0.1), 6), rng.dirichlet(np.full(60, 0.1), 6)
    X = np.array([rng.multinomial(20, row) for row in theta @ phi])
    tags = np.array([rng.multinomial(200, row) for row in theta @ other])
    y = theta @ rng.normal(0, 3, 6) + rng.normal(0, 1.0, 500)
    return X.astype(float), tags.astype(float), y


class Spy(Slant):
    """Keeps the counts of the last pass and the lengths of the documents."""

    def evidence(self, counts, data, context):
        self.seen_ = np.asarray(counts).sum(axis=1), context.lengths
        return 0.0 * data


def test_lengths_are_those_of_all_counts():
    X, tags, _ = lengthened()
    X[:50], tags[50:100] = 0.0, 0.0
    data = {"tags": tags, "slant": np.zeros((500, 6))}
    model = LDA(6, sides=[Spy(), OtherCounts("tags", 0.5)], max_iter=3, random_state=0)
    model.fit(X, **data)
    for _ in ("fit", "transform"):
        counts, lengths = model.sides_[0].seen_
        np.testing.assert_allclose(lengths, X.sum(axis=1) + 0.5 * tags.sum(axis=1))
        np.testing.assert_allclose(counts, lengths, rtol=1e-4)
        model.transform(X, **data)


def test_other_counts_do_not_harm_a_response():
    """The other counts are of the same topics: with them more is explained."""
    X, tags, y = lengthened()
    train, test = slice(0, 300), slice(300, 500)
    alone = SupervisedLDA(6, random_state=0).fit(X[train], y[train])
    both = SupervisedLDA(6, sides=[OtherCounts("tags")], random_state=0)
    both.fit(X[train], y[train], tags=tags[train])
    assert both.score(X[test], y[test], tags=tags[test]) > alone.score(X[test], y[test])
    shares = np.array([w for w, _ in both.weight_scores_]) / 220
    np.testing.assert_allclose(shares, WEIGHTS)
    assert LDA(
        6, sides=[OtherCounts("tags"), Response()], max_iter=2, random_state=0
    ).fit(X, tags=tags, response=y).sides_[1].weight_ == pytest.approx(220)
