# SPDX-License-Identifier: BSD-3-Clause
"""θ-steps over the document graph: solver, smoothing, objectives, edge cases."""

import numpy as np
import pytest
from graph_support import laplacian, random_graph
from scipy import sparse

from topicfold.engine import make_engine
from topicfold.exceptions import DataError
from topicfold.learn.learner import Learner
from topicfold.models.plsa import PLSA
from topicfold.phi import DirichletPhi, OrthogonalPhi, PhiStep
from topicfold.theta import LaplacianTheta, LocallyConsistentTheta, ParetoTheta
from topicfold.theta.graph import GraphOperator
from topicfold.theta.pareto import separation


@pytest.fixture
def problem():
    rng = np.random.default_rng(3)
    graph = random_graph(40, rng, isolated=(0, 7))
    lengths = rng.integers(1, 60, size=40).astype(float)
    counts = rng.dirichlet(np.full(5, 0.3), size=40) * lengths[:, None]
    theta = rng.dirichlet(np.ones(5), size=40)
    return graph, lengths, counts, theta


STEPS = [
    LaplacianTheta(1.0),
    LaplacianTheta(30.0, max_smoothings=50),
    LaplacianTheta(paper_lambda=1000.0),
    LocallyConsistentTheta(1.0),
    LocallyConsistentTheta(30.0),
    LocallyConsistentTheta(paper_lambda=10.0),
    ParetoTheta(),
]
PHI_STEPS = [PhiStep(), DirichletPhi(1.1), OrthogonalPhi(1.0, eta=1.01)]


@pytest.mark.parametrize("strength", [0.0, 0.1, 10.0, 1e4])
def test_solver_matches_a_dense_solve_and_rows_sum_to_one(problem, strength):
    graph, lengths, counts, theta = problem
    operator = GraphOperator(graph, 5)
    solved, n_iter = operator.solve(
        lengths, strength, counts, theta, tol=1e-12, max_iter=500
    )
    dense = np.linalg.solve(np.diag(lengths) + strength * laplacian(graph), counts)
    np.testing.assert_allclose(solved, dense, atol=1e-9)
    np.testing.assert_allclose(solved.sum(axis=1), 1.0, atol=1e-9)
    assert solved.min() > -1e-9
    assert n_iter <= 500


def test_rows_sum_to_one_before_the_solver_has_converged(problem):
    graph, lengths, counts, theta = problem
    solved, n_iter = GraphOperator(graph, 5).solve(
        lengths, 100.0, counts, theta, tol=0.0, max_iter=2
    )
    assert n_iter == 2
    np.testing.assert_allclose(solved.sum(axis=1), 1.0, atol=1e-9)


def test_solver_does_nothing_at_the_solution(problem):
    graph, lengths, counts, theta = problem
    operator = GraphOperator(graph, 5)
    solved, _ = operator.solve(lengths, 3.0, counts, theta, tol=1e-10, max_iter=500)
    assert operator.solve(lengths, 3.0, counts, solved, tol=1e-8)[1] == 0


def test_operator_matches_numpy(problem):
    graph, _, counts, theta = problem
    operator = GraphOperator(graph, 5)
    L = laplacian(graph)
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    np.testing.assert_allclose(operator.neighbor_sums(theta), graph @ theta)
    means = np.where(
        degrees[:, None] > 0, graph @ theta / np.maximum(degrees, 1e-9)[:, None], theta
    )
    smoothed = operator.smooth(theta, 0.3)
    np.testing.assert_allclose(smoothed, 0.7 * theta + 0.3 * means)
    np.testing.assert_allclose(
        operator.edge_products(theta, theta), np.trace(theta.T @ L @ theta)
    )
    logs = np.log(theta)
    divergence = sum(
        graph[i, j] * (theta[i] * (logs[i] - logs[j])).sum()
        for i, j in zip(*graph.nonzero(), strict=True)
    )
    np.testing.assert_allclose(operator.divergence(theta), divergence)
    np.testing.assert_allclose(
        operator.expected_loglik(counts, theta), (counts * logs).sum()
    )


def test_operator_is_the_same_bits_for_any_number_of_threads(problem):
    graph, lengths, counts, theta = problem
    results = [
        GraphOperator(graph, 5, threads=threads).solve(lengths, 5.0, counts, theta)[0]
        for threads in (1, 3)
    ]
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("step", [0.01, 0.5, 1.0])
def test_smoothing_never_leaves_the_simplex(problem, step):
    graph, _, _, theta = problem
    operator = GraphOperator(graph, 5)
    for _ in range(50):
        theta = operator.smooth(theta, step)
    assert theta.min() >= 0
    np.testing.assert_allclose(theta.sum(axis=1), 1.0)


def test_separation_is_the_papers_ratio(problem):
    graph, _, _, theta = problem
    squares = ((theta[:, None] - theta[None]) ** 2).sum(axis=2)
    expected = squares.sum() / graph.multiply(squares).sum()
    np.testing.assert_allclose(separation(theta, GraphOperator(graph, 5)), expected)


def run(X, graph, theta_step, phi_step=None, n_topics=4, n_iter=15, seed=0):
    engine = make_engine(X, n_topics, dtype=np.float64)
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.ones(X.shape[1]), size=n_topics)
    em = Learner(engine, phi, theta_step, phi_step or PhiStep(), graph=graph)
    history = [em.start()]
    history += [em.iterate() for _ in range(n_iter)]
    return em, np.array(history)


def slack(history):
    return 1e-10 * np.abs(history).max()


@pytest.mark.parametrize("phi_step", PHI_STEPS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("theta_step", STEPS, ids=repr)
def test_objective_never_falls(theta_step, phi_step, draw):
    X = draw(80, 60, 4, length=30, seed=1)
    graph = random_graph(80, np.random.default_rng(0), isolated=(0, 1, 2))
    em, history = run(X, graph, theta_step, phi_step)
    assert np.diff(history).min() >= -slack(history)
    theta = em.doc_topics()
    assert np.isfinite(theta).all()
    np.testing.assert_allclose(theta.sum(axis=1), 1.0)
    q2 = getattr(em.theta_context.state, "separation", None)
    if q2 is not None:
        assert np.diff(q2).min() >= 0


@pytest.mark.parametrize("theta_step", STEPS, ids=repr)
def test_objective_is_the_stated_one(theta_step, draw):
    X = draw(50, 40, 4, length=30, seed=1)
    graph = random_graph(50, np.random.default_rng(0))
    em, history = run(X, graph, theta_step, n_iter=5)
    theta, phi = em.doc_topics(), em.topics()
    loglik = (X.toarray() * np.log(theta @ phi)).sum()
    strength = getattr(em.theta_context.state, "strength", 0.0)
    pairs = theta[:, None] - theta[None]
    if isinstance(theta_step, LocallyConsistentTheta):
        pairs = pairs * (np.log(theta)[:, None] - np.log(theta)[None])
    else:
        pairs = pairs**2
    penalty = 0.5 * graph.multiply(pairs.sum(axis=2)).sum()
    np.testing.assert_allclose(history[-1], loglik - strength * penalty, rtol=1e-9)


@pytest.mark.parametrize(
    "theta_step",
    [
        LaplacianTheta(0.0),
        LaplacianTheta(paper_lambda=0.0),
        LocallyConsistentTheta(0.0),
    ],
)
def test_weight_zero_is_plsa_bit_for_bit(theta_step, planted):
    X, _, _ = planted
    plain = PLSA(4, random_state=0, max_iter=20).fit(X)
    same = PLSA(4, theta_step=theta_step, random_state=0, max_iter=20).fit(X)
    np.testing.assert_array_equal(plain.doc_topics_, same.doc_topics_)
    np.testing.assert_array_equal(plain.components_, same.components_)
    assert plain.objective_history_ == same.objective_history_


@pytest.mark.parametrize("theta_step", STEPS, ids=repr)
def test_no_edges_is_a_working_model(theta_step, ragged):
    em, history = run(ragged, sparse.csr_matrix((40, 40)), theta_step)
    assert np.isfinite(history).all()
    assert np.diff(history).min() >= -slack(history)
    np.testing.assert_allclose(em.doc_topics().sum(axis=1), 1.0)


@pytest.mark.parametrize("theta_step", STEPS, ids=repr)
def test_empty_documents_disconnected_parts_and_duplicates(theta_step, ragged):
    # Rows 0, 17 and 39 are empty: 0 and 17 form a part without any word, 39 hangs on
    # a document with words; 1 to 4 are duplicates of each other.
    X = ragged.toarray()
    X[1:5] = X[5]
    graph = np.zeros((40, 40))
    for i, j in [(0, 17), (39, 5), (1, 2), (2, 3), (3, 4), (20, 21), (21, 22)]:
        graph[i, j] = graph[j, i] = 1.0
    em, history = run(sparse.csr_matrix(X), sparse.csr_matrix(graph), theta_step)
    theta = em.doc_topics()
    assert np.diff(history).min() >= -slack(history)
    assert np.isfinite(theta).all()
    assert theta.min() >= 0
    np.testing.assert_allclose(theta.sum(axis=1), 1.0)
    np.testing.assert_allclose(theta[1], theta[4], atol=0.05)


@pytest.mark.parametrize("theta_step", STEPS, ids=repr)
def test_one_giant_class_joined_completely(theta_step, draw):
    X = draw(60, 40, 4, length=30, seed=2)
    graph = sparse.csr_matrix(np.ones((60, 60)) - np.eye(60))
    em, history = run(X, graph, theta_step)
    assert np.diff(history).min() >= -slack(history)
    np.testing.assert_allclose(em.doc_topics().sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "theta_step",
    [LaplacianTheta(2.0), LocallyConsistentTheta(2.0), ParetoTheta()],
    ids=repr,
)
@pytest.mark.parametrize("how", ["documents", "counts", "edges"])
def test_weights_are_free_of_scale(theta_step, how, draw):
    X = draw(60, 40, 4, length=30, seed=5)
    X = X.astype(float)
    graph = random_graph(60, np.random.default_rng(1))
    once = run(X, graph, theta_step)[0].doc_topics()
    if how == "documents":
        X, graph = sparse.vstack([X, X]).tocsr(), sparse.block_diag([graph, graph])
    elif how == "counts":
        X = 2.0 * X
    else:
        graph = 3.0 * graph
    twice = run(X, sparse.csr_matrix(graph), theta_step)[0].doc_topics()
    np.testing.assert_allclose(twice[:60], once, atol=1e-3)


@pytest.mark.parametrize("step", [LaplacianTheta, LocallyConsistentTheta])
def test_larger_weights_bring_neighbours_closer(step, draw):
    X = draw(80, 60, 4, length=30, seed=1)
    graph = random_graph(80, np.random.default_rng(0))
    operator = GraphOperator(graph, 4)
    spread = []
    for weight in (0.01, 1.0, 10.0):
        theta = run(X, graph, step(weight))[0].doc_topics()
        spread.append(operator.edge_products(theta, theta))
    assert spread[0] > spread[1] > spread[2]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (LaplacianTheta(-1.0), "weight"),
        (LaplacianTheta(paper_lambda=np.nan), "paper_lambda"),
        (LaplacianTheta(step=0.0), "step"),
        (LocallyConsistentTheta(np.inf), "weight"),
        (ParetoTheta(step=2.0), "step"),
    ],
)
def test_bad_parameters_are_named(step, message, planted):
    with pytest.raises(ValueError, match=message):
        PLSA(2, theta_step=step).fit(planted[0])


def test_missing_graph_says_how_to_give_one(planted):
    with pytest.raises(DataError, match="needs a document graph"):
        run(planted[0], None, LaplacianTheta())


def test_wrong_size_of_graph_is_an_error(planted):
    with pytest.raises(DataError, match="3 nodes"):
        run(planted[0], sparse.csr_matrix((3, 3)), LaplacianTheta())
