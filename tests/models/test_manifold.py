# SPDX-License-Identifier: BSD-3-Clause
"""The graph models: graphs, labels, new documents, the planted manifold."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from topicfold.core.labels import encode_labels
from topicfold.exceptions import DataError
from topicfold.graph import NeighborGraph, document_graph
from topicfold.models.manifold import (
    DiscriminativePLSA,
    LaplacianPLSA,
    LocallyConsistentPLSA,
)
from topicfold.models.plsa import PLSA
from topicfold.phi import DirichletPhi, OrthogonalPhi, PhiStep
from topicfold.theta import LaplacianTheta
from topicfold.theta.pareto import ParetoTheta

MODELS = [LaplacianPLSA, LocallyConsistentPLSA, DiscriminativePLSA]


@pytest.fixture(scope="module")
def moons():
    """Points on two moons; words are cells of a grid around a document's point."""
    rng = np.random.default_rng(1)
    points, y = make_moons(300, noise=0.05, random_state=1)
    across, up = np.meshgrid(np.linspace(-1.5, 2.5, 28), np.linspace(-1, 1.5, 14))
    cells = np.c_[across.ravel(), up.ravel()]
    distance = ((points[:, None] - cells[None]) ** 2).sum(axis=2)
    p = np.exp(-distance / (2 * 0.25**2))
    p /= p.sum(axis=1, keepdims=True)
    return sparse.csr_matrix(np.array([rng.multinomial(40, row) for row in p])), y


def few_label_accuracy(model, X, y, seed, n_labels=3):
    rng = np.random.default_rng(seed)
    known = np.concatenate(
        [rng.choice(np.flatnonzero(y == c), n_labels, replace=False) for c in (0, 1)]
    )
    partial = np.full(len(y), -1)
    partial[known] = y[known]
    features = np.sqrt(model.set_params(random_state=seed).fit(X, partial).doc_topics_)
    classifier = LogisticRegression(C=100, max_iter=1000)
    classifier.fit(features[known], y[known])
    rest = np.setdiff1d(np.arange(len(y)), known)
    return (classifier.predict(features[rest]) == y[rest]).mean()


def test_two_moons_need_the_graph(moons):
    X, y = moons
    models = {
        "plsa": PLSA(10, init="documents"),
        "ltm": LocallyConsistentPLSA(10, weight=10.0),
        "laplacian": PLSA(
            10,
            theta_step=LaplacianTheta(100.0, max_smoothings=20),
            phi_step=DirichletPhi(1.05),
            init="neighbors",
        ),
    }
    mean = {
        name: np.mean([few_label_accuracy(model, X, y, seed) for seed in range(5)])
        for name, model in models.items()
    }
    assert mean["plsa"] < 0.9
    assert mean["ltm"] > 0.96
    assert mean["laplacian"] > mean["plsa"] + 0.05


@pytest.mark.parametrize("model", MODELS)
def test_attributes_and_monotone_history(model, planted):
    X = planted[0]
    fitted = model(4, random_state=0, max_iter=30).fit(X)
    history = np.array(fitted.objective_history_)
    assert np.diff(history).min() >= -1e-6 * np.abs(history).max()
    np.testing.assert_allclose(fitted.doc_topics_.sum(axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(fitted.components_.sum(axis=1), 1.0, atol=1e-5)
    assert fitted.graph_.shape == (300, 300)
    assert abs(fitted.graph_ - fitted.graph_.T).max() == 0


def test_pareto_lowers_neither_objective(planted):
    model = DiscriminativePLSA(4, phi_step=PhiStep(), random_state=0, max_iter=40)
    model.fit(planted[0].astype(float))
    history = np.array(model.objective_history_)
    assert np.diff(history).min() >= -1e-10 * np.abs(history).max()
    assert np.diff(model.separation_history_).min() >= 0
    assert len(model.separation_history_) == len(model.accepted_history_)
    assert model.n_restarts_ or len(model.accepted_history_) == model.n_iter_
    assert model.accepted_history_[0] == 1.0


@pytest.mark.parametrize("model", [LaplacianPLSA, LocallyConsistentPLSA])
def test_weight_zero_is_plsa_bit_for_bit(model, planted):
    X = planted[0]
    options = {"phi_step": DirichletPhi(1.05), "max_iter": 20}
    plain = PLSA(4, random_state=0, **options).fit(X)
    same = model(4, weight=0.0, random_state=0, max_iter=20).fit(X)
    np.testing.assert_array_equal(plain.doc_topics_, same.doc_topics_)
    np.testing.assert_array_equal(plain.components_, same.components_)


@pytest.mark.parametrize("model", MODELS)
def test_any_theta_step_with_orthogonal_topics(model, planted):
    step = OrthogonalPhi(3.0, eta=1.01)
    fitted = model(4, phi_step=step, random_state=0, max_iter=20).fit(planted[0])
    history = np.array(fitted.objective_history_)
    assert np.diff(history).min() >= -1e-6 * np.abs(history).max()


def test_own_graph_is_network_plsa(planted):
    X = planted[0]
    edges = np.c_[np.arange(299), np.arange(1, 300)]
    matrix = sparse.csr_matrix((np.ones(299), edges.T), shape=(300, 300))
    by_list = LaplacianPLSA(4, graph=edges, random_state=0, max_iter=5).fit(X)
    by_matrix = LaplacianPLSA(
        4, graph=matrix + matrix.T, random_state=0, max_iter=5
    ).fit(X)
    assert by_list.graph_.nnz == 598
    np.testing.assert_array_equal(by_list.doc_topics_, by_matrix.doc_topics_)


def test_labels_join_and_part_documents_where_asked(planted):
    X, theta, _ = planted
    y = np.full(300, -1)
    y[:20] = theta[:20].argmax(axis=1)
    model = LocallyConsistentPLSA(4, random_state=0, max_iter=3)
    model.set_params(graph__label_edges=True)
    graph = clone(model).fit(X, y).graph_.toarray()
    same = (y[:20, None] == y[None, :20]) & ~np.eye(20, dtype=bool)
    # As heavy as a usual edge, or heavier where the documents are near anyway.
    plain = clone(model).fit(X).graph_
    assert graph[:20, :20][same].min() == np.median(plain.data)
    assert (graph[:20, :20][~same] == 0).all()
    own = document_graph(X, 3)
    joined = NeighborGraph(label_edges=True).build(X, y, given=own).toarray()
    assert (joined[:20, :20][same] == 1).all()
    assert (joined[:20, :20][~same] == 0).all()


@pytest.mark.parametrize("model", MODELS)
def test_labels_change_nothing_but_the_strength(model, planted):
    """Features of labelled documents must be like those of all others."""
    X, theta, _ = planted
    y = theta.argmax(axis=1)
    name = "step" if model is DiscriminativePLSA else "weight"
    fitted = model(4, random_state=0, max_iter=3, **{name: 0.2})
    plain = clone(fitted).fit_transform(X)
    np.testing.assert_array_equal(plain, fitted.fit_transform(X, y))
    assert getattr(fitted, f"{name}_") == 0.2
    full = model._full_strength
    fitted.set_params(**{name: None})
    without = getattr(clone(fitted).fit(X), f"{name}_")
    assert 0.3 * full < without < full
    assert getattr(clone(fitted).fit(X, y), f"{name}_") > without  # the graph is good
    wrong = np.random.default_rng(0).permutation(y)
    assert getattr(clone(fitted).fit(X, wrong), f"{name}_") <= full
    # What is no label is not used.
    regressed = clone(fitted).fit(X, np.linspace(0.1, 0.9, 300))
    assert getattr(regressed, f"{name}_") == without


def test_a_graph_of_chance_is_hardly_used(planted):
    X = planted[0]
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 300, (2, 1500))
    chance = sparse.coo_matrix((np.ones(1500), ends), (300, 300)).tocsr()
    model = LocallyConsistentPLSA(4, random_state=0, max_iter=3)
    assert model.set_params(graph=chance).fit(X).weight_ < 0.15
    assert model.set_params(graph=document_graph(X, 5)).fit(X).weight_ > 0.4
    model.set_params(paper_lambda=3.0).fit(X)
    assert not hasattr(model, "weight_")


def test_labels_may_be_names():
    assert encode_labels([3, 1, -1, 3], 4).tolist() == [1, 0, -1, 1]
    assert encode_labels(["x", "", None, "a"], 4).tolist() == [1, -1, -1, 0]
    assert encode_labels([-1, -1], 2) is None
    with pytest.raises(DataError, match="2 labels for 3 documents"):
        encode_labels([0, 1], 3)


@pytest.mark.parametrize("model", MODELS)
def test_one_giant_class(model, planted):
    fitted = model(4, random_state=0, max_iter=10)
    fitted.set_params(graph__label_edges=True)
    fitted.fit(planted[0], np.zeros(300, int))
    np.testing.assert_allclose(fitted.doc_topics_.sum(axis=1), 1.0, atol=1e-5)
    # Neighbours of the class, not all pairs of it.
    assert 0 < fitted.graph_.nnz < 300 * 50


@pytest.mark.parametrize("model", MODELS)
def test_new_documents_use_their_neighbours(model, moons):
    X, _ = moons
    train, new = X[:200], X[200:]
    fitted = model(6, transform_neighbors=True, random_state=0).fit(train)
    theta = fitted.transform(new)
    plain = clone(fitted).set_params(transform_neighbors=False).fit(train)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, atol=1e-5)
    np.testing.assert_array_equal(fitted.doc_topics_, plain.doc_topics_)
    # The same rows whatever the batch, and nearer to the neighbours than fold-in is.
    np.testing.assert_array_equal(theta[:7], fitted.transform(new[:7]))
    near = np.asarray((train @ new.T).argmax(axis=0)).ravel()
    reference = fitted.doc_topics_[near]
    assert (
        np.abs(theta - reference).mean()
        < np.abs(plain.transform(new) - reference).mean()
    )
    # Training documents come back near their training mixtures.
    again = np.abs(fitted.transform(train) - fitted.doc_topics_).mean()
    assert again < np.abs(plain.transform(train) - fitted.doc_topics_).mean()


def test_transform_of_empty_and_strange_documents(planted):
    X = planted[0].tolil()
    X[:, 7] = 0  # a word that no document has
    X = X.tocsr()
    model = LocallyConsistentPLSA(4, transform_neighbors=True, random_state=0).fit(X)
    strange = sparse.csr_matrix(([3.0], ([0], [7])), shape=(1, 120))
    np.testing.assert_allclose(model.transform(strange).sum(axis=1), 1.0, atol=1e-6)
    with pytest.warns(UserWarning, match="no word"):
        theta = model.transform(sparse.csr_matrix((2, 120)))
    np.testing.assert_allclose(theta, 0.25)


def test_neighbours_must_have_been_kept(planted):
    model = LaplacianPLSA(4, transform_neighbors=True, random_state=0, max_iter=3)
    # Those of an earlier fit are other documents.
    model.fit(planted[0][:200]).set_params(transform_neighbors=False).fit(planted[0])
    assert not hasattr(model, "training_counts_")
    with pytest.raises(AttributeError, match="transform_neighbors=True"):
        model.set_params(transform_neighbors=True).transform(planted[0])


@pytest.mark.parametrize("model", MODELS)
def test_no_partial_fit(model):
    assert not hasattr(model(), "partial_fit")


@pytest.mark.parametrize("how", ["counts", "documents"])
@pytest.mark.parametrize("model", MODELS)
def test_doubling_the_corpus_changes_nothing(model, planted, how):
    X = planted[0][:100].astype(float)
    graph = document_graph(X, 5)
    init = np.random.default_rng(0).dirichlet(np.ones(120), size=4)
    options = {"phi_step": PhiStep(), "init": init, "max_iter": 15, "tol": 0.0}
    once = model(4, graph=graph, **options).fit(X).doc_topics_
    if how == "documents":
        X, graph = sparse.vstack([X, X]).tocsr(), sparse.block_diag([graph, graph])
    else:
        X = 2.0 * X
    twice = model(4, graph=graph, **options).fit(X).doc_topics_
    np.testing.assert_allclose(twice[:100], once, atol=2e-3)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (LaplacianPLSA, {"weight": -1}),
        (LaplacianPLSA, {"step": 0.0}),
        (LocallyConsistentPLSA, {"graph": NeighborGraph(n_neighbors=0)}),
        (DiscriminativePLSA, {"graph": NeighborGraph(metric="euclid")}),
    ],
)
def test_parameters_are_checked(model, options, planted):
    name = "NeighborGraph" if "graph" in options else next(iter(options))
    with pytest.raises(ValueError, match=name):
        model(**options).fit(planted[0])


@pytest.fixture(scope="module")
def eight_topics():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(200, 0.05), size=8)
    theta = rng.dirichlet(np.full(8, 0.1), size=200)
    return sparse.csr_matrix([rng.multinomial(60, row) for row in theta @ topics])


@pytest.mark.parametrize("seed", [0, 1])
def test_dtm_does_not_freeze_near_the_uniform_mixture(eight_topics, seed):
    """From a random start Q2 rose so far that no sharper mixture ever passed."""
    model = DiscriminativePLSA(30, init="random", random_state=seed).fit(eight_topics)
    assert model.n_restarts_ == 1
    assert model.converged_
    assert model.doc_topics_.max(axis=1).mean() > 0.3
    assert np.mean(np.array(model.accepted_history_) == 0) < 0.1
    separation = np.array(model.separation_history_)
    assert (np.diff(separation) >= -1e-8 * separation[-1]).all()
    rises = np.diff(model.objective_history_)
    assert (rises >= -1e-9 * abs(model.objective_history_[0])).all()


def test_dtm_says_when_nothing_was_accepted(eight_topics, monkeypatch):
    def prepare(step, context, usual=ParetoTheta.prepare):
        state = usual(step, context)
        state.n_restarts = 1  # no other start
        return state

    monkeypatch.setattr(ParetoTheta, "prepare", prepare)
    with pytest.warns(ConvergenceWarning, match="no change raised one"):
        model = DiscriminativePLSA(30, init="random", random_state=0).fit(eight_topics)
    assert not model.converged_
    assert model.accepted_history_[-5:] == [0.0] * 5


def test_documents_of_one_word_are_numbers_all_the_way():
    """Neighbours are all alike there, and Q2 has no largest value."""
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(np.eye(8, dtype=int)[rng.integers(0, 8, 60)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = DiscriminativePLSA(4, random_state=0).fit(X)
    assert np.isfinite(model.doc_topics_).all()


@pytest.mark.parametrize(("length", "times"), [(4, 4.0), (20, 2.0), (40, 1.0), (90, 1)])
def test_short_texts_have_smoother_topics_and_more_of_their_neighbours(length, times):
    """A few words fix a mixture badly; the prior and LapPLSI's graph make up for it."""
    rng = np.random.default_rng(0)
    X = rng.multinomial(length, np.full(30, 1 / 30), 60)
    graph = np.ones((60, 60)) - np.eye(60)
    model = LaplacianPLSA(9, graph=graph, max_iter=2, random_state=0).fit(X)
    local = LocallyConsistentPLSA(9, graph=graph, max_iter=2, random_state=0).fit(X)
    assert model._topic_pseudo_count() == pytest.approx(0.05 * times)
    assert local._topic_pseudo_count() == pytest.approx(0.05 * times)
    assert model.weight_ == pytest.approx(10 * times * local.weight_)
    chosen = LaplacianPLSA(9, graph=graph, phi_step=PhiStep(), weight=3.0, max_iter=2)
    assert chosen.fit(X).weight_ == 3.0
    assert chosen._topic_pseudo_count() == 0.0
