# SPDX-License-Identifier: BSD-3-Clause
"""The graph operator in padded arrays, and the M-steps made of it, by the equations."""

from types import SimpleNamespace

import graph_support as support
import numpy as np
import pytest
from graph_support import laplacian
from scipy import sparse

from topicfold.engine import make_engine
from topicfold.exceptions import DataError
from topicfold.parts import Context
from topicfold.parts.steps import prepare_step, step_back
from topicfold.theta import LaplacianTheta, LocallyConsistentTheta
from topicfold.theta.graph import (
    GraphOperator,
    _scaled_square,
    floored_lengths,
    graph_operator,
)


def random_graph(n, seed=0, density=0.2):
    return support.random_graph(n, seed, density, isolated=[0])


@pytest.fixture
def rows():
    """Mixtures of 3 topics padded to 8, and expected counts of them."""
    rng = np.random.default_rng(1)
    theta, counts = np.zeros((20, 8)), np.zeros((20, 8))
    theta[:, :3] = rng.dirichlet(np.ones(3), size=20)
    counts[:, :3] = rng.gamma(1.0, size=(20, 3)) * 10
    # Views without the padding, as steps see them.
    return theta[:, :3], counts[:, :3]


def test_normalising_leaves_the_padding_empty_and_fills_rows_of_zeros(rows):
    _, counts = rows
    counts[4] = 0
    counts.base[5, 3:] = 7.0  # rubbish in the padding
    operator = GraphOperator(random_graph(20), 3)
    found = operator.normalize(counts)
    shares = counts / np.maximum(counts.sum(axis=1), 1e-9)[:, None]
    shares[4] = 1 / 3
    np.testing.assert_allclose(found, shares)
    np.testing.assert_array_equal(found.base[:, 3:], 0)
    same = operator.normalize(counts, in_place=True)
    assert same.base is counts.base
    np.testing.assert_array_equal(counts, found)


def test_every_document_may_have_its_own_step(rows):
    theta, _ = rows
    graph = random_graph(20)
    operator = GraphOperator(graph, 3)
    steps = np.linspace(0, 1, 20)
    means = laplacian(graph)
    means = theta - (means @ theta) / np.maximum(operator.degrees, 1e-9)[:, None]
    expected = (1 - steps)[:, None] * theta + steps[:, None] * means
    expected[0] = theta[0]
    np.testing.assert_allclose(operator.smooth(theta, steps), expected, atol=1e-12)
    assert operator.total_weight == pytest.approx(graph.sum())
    single = GraphOperator(graph, 3, dtype=np.float32)
    found = single.smooth(theta.astype(np.float32), steps)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_zero_shares_have_finite_divergences_and_zero_counts_none(rows):
    theta, counts = rows
    theta[3, :3] = [1.0, 0.0, 0.0]
    theta[4, :3] = [0.0, 1.0, 0.0]
    graph = np.zeros((20, 20))
    graph[3, 4] = graph[4, 3] = 2.0
    operator = GraphOperator(sparse.csr_matrix(graph), 3)
    # KL of disjoint mixtures with the floor, both ways, once for the edge of weight 2.
    expected = 2.0 * 2 * -np.log(1e-10)
    assert operator.divergence(theta) == pytest.approx(expected, rel=1e-9)
    counts[3, :3] = [5.0, 0.0, 0.0]  # nothing was seen of what it has not
    found = operator.expected_loglik_rows(counts, theta)
    assert found[3] == 0
    np.testing.assert_allclose(
        found[5:], (counts[5:, :3] * np.log(theta[5:, :3])).sum(axis=1)
    )
    assert np.isfinite(found).all()
    assert operator.expected_loglik(counts, theta) == pytest.approx(found.sum())


def test_two_different_arrays_have_the_laplacians_product(rows):
    theta, counts = rows
    graph = random_graph(20)
    found = GraphOperator(graph, 3).edge_products(theta, counts)
    assert found == pytest.approx(np.trace(theta.T @ laplacian(graph) @ counts))


@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_solver_stops_at_the_residual_it_was_asked_for(rows, tol):
    theta, counts = rows
    graph, lengths = random_graph(20), counts.sum(axis=1)
    operator = GraphOperator(graph, 3)
    solved, n_iter = operator.solve(lengths, 5.0, counts, theta, tol=tol)
    diagonal = lengths + 5.0 * operator.degrees
    system = np.diag(lengths) + 5.0 * laplacian(graph)

    def residual(x):
        return np.sqrt(
            _scaled_square(counts - system @ x, diagonal)
            / _scaled_square(counts, diagonal)
        )

    assert residual(solved) <= tol * (1 + 1e-6)
    assert n_iter > 0
    before, _ = operator.solve(lengths, 5.0, counts, theta, max_iter=n_iter - 1, tol=0)
    assert residual(before) > tol
    assert (
        _scaled_square(np.array([[3.0, 4.0], [1.0, 0.0]]), np.array([5.0, 2.0])) == 5.5
    )


def test_a_dense_problem_of_n_documents_is_solved_in_n_steps(rows):
    """Conjugate gradients end after as many steps as there are unknowns a topic."""
    theta, counts = rows
    lengths = counts.sum(axis=1)
    graph = random_graph(20, density=0.6)
    operator = GraphOperator(graph, 3)
    solved, n_iter = operator.solve(lengths, 1.0, counts, theta, tol=1e-13)
    exact = np.linalg.solve(np.diag(lengths) + laplacian(graph), counts)
    np.testing.assert_allclose(solved, exact, atol=1e-10)
    assert n_iter < 60


def test_documents_without_words_get_a_trace_of_the_uniform_mixture(rows):
    _, counts = rows
    lengths = counts.sum(axis=1)
    same_lengths, same_counts = floored_lengths(lengths, counts)
    assert same_lengths is lengths
    assert same_counts is counts
    counts[[2, 9]] = 0
    lengths[[2, 9]] = 0
    kept = counts.copy()
    floored, filled = floored_lengths(lengths, counts)
    trace = 1e-3 * lengths.mean()
    np.testing.assert_allclose(floored[[2, 9]], trace)
    np.testing.assert_allclose(filled[[2, 9], :3], trace / 3)
    np.testing.assert_array_equal(filled.base[[2, 9], 3:], 0)
    rest = np.setdiff1d(np.arange(20), [2, 9])
    np.testing.assert_array_equal(filled[rest], counts[rest])
    np.testing.assert_array_equal(counts, kept)
    assert lengths[2] == 0


@pytest.mark.parametrize(
    ("values", "share"),
    [
        ([0.0], 1.0),
        ([-1.0, 0.5], 0.5),
        ([-1.0, -1.0, 0.0], 0.25),
        ([-1.0, -1.0, -1.0], 0.0),
    ],
)
def test_the_way_to_the_target_is_halved_until_the_objective_has_not_fallen(
    values, share
):
    theta, target = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    seen = []

    def accepts(candidate):
        seen.append(candidate)
        return values[len(seen) - 1] >= 0.0

    found, taken = step_back(target, theta, accepts, max_halvings=2)
    assert taken == share
    np.testing.assert_allclose(found, [[1 - share, share]])
    assert len(seen) == len(values)
    assert (found is theta) == (share == 0)


def make_context(step, n_topics=3, graph=None, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.csr_matrix(rng.poisson(1.0, size=(20, 15)).astype(float))
    engine = make_engine(X, n_topics, dtype=np.float64)
    phi = engine.pack_topics(rng.dirichlet(np.ones(15), size=n_topics))
    graph = random_graph(20) if graph is None else graph
    context = Context.of(engine, phi, graph=graph)
    prepare_step(step, context)
    theta = engine.pack_documents(rng.dirichlet(np.ones(n_topics), size=20))
    counts = engine.document_pass(theta.copy(), phi).counts
    return context, theta, counts


@pytest.mark.parametrize("kind", [LaplacianTheta, LocallyConsistentTheta])
def test_lambda_is_nats_a_token_over_the_edges(kind):
    context, theta, _ = make_context(kind(weight=3.0))
    tokens, total = context.engine.document_lengths.sum(), random_graph(20).sum()
    strength = context.state.strength
    assert strength == pytest.approx(2 * 3.0 * tokens / total)
    context, *_ = make_context(kind(weight=3.0, paper_lambda=7.0))
    assert context.state.strength == 7.0
    context, *_ = make_context(kind(weight=3.0), graph=sparse.csr_matrix((20, 20)))
    assert context.state.strength == 0.0
    assert kind().value(theta, context) == 0.0


@pytest.mark.parametrize("kind", [LaplacianTheta, LocallyConsistentTheta])
def test_value_is_minus_lambda_times_the_penalty(kind):
    step = kind(weight=2.0)
    context, theta, _ = make_context(step)
    operator = context.state.operator
    penalty = {
        LaplacianTheta: operator.edge_products(theta, theta),
        LocallyConsistentTheta: operator.divergence(theta),
    }[kind]
    expected = -context.state.strength * penalty
    assert step.value(theta, context) == pytest.approx(expected)


def test_laplacian_smooths_plsas_rows_as_often_as_it_pays():
    step = LaplacianTheta(weight=0.5, step=0.3, max_smoothings=6)
    context, theta, counts = make_context(step)
    operator, strength = context.state.operator, context.state.strength
    path = [counts[:, :3] / counts[:, :3].sum(axis=1, keepdims=True)]
    for _ in range(7):
        path.append(operator.smooth(path[-1], 0.3))
    values = [
        (counts[:, :3] * np.log(p)).sum() - strength * operator.edge_products(p, p)
        for p in path
    ]
    pays = 0
    while pays < 6 and values[pays + 1] > values[pays]:
        pays += 1
    assert 0 < pays < 6
    found = step.update(counts, theta, context)
    assert context.state.smoothings == [0, pays]
    np.testing.assert_allclose(found[:, :3], path[pays], rtol=1e-9)
    # The next iteration starts from one smoothing less and ends at the same.
    step.update(counts, theta, context)
    assert context.state.smoothings == [0, pays, pays]
    fewer = LaplacianTheta(weight=0.5, step=0.3, max_smoothings=1)
    context, theta, counts = make_context(fewer)
    found = fewer.update(counts, theta, context)
    np.testing.assert_allclose(found[:, :3], path[1], rtol=1e-9)


def test_local_consistency_solves_its_linear_equations():
    step = LocallyConsistentTheta(weight=0.5)
    step.tol, step.max_solver_iter = 1e-12, 500
    context, theta, counts = make_context(step)
    lengths, strength = context.engine.document_lengths, context.state.strength
    system = np.diag(lengths) + strength * laplacian(random_graph(20))
    exact = np.maximum(np.linalg.solve(system, counts[:, :3]), 0)
    exact /= exact.sum(axis=1, keepdims=True)
    found = step.update(counts, theta, context)
    np.testing.assert_allclose(found[:, :3], exact, atol=1e-9)


def test_what_a_graph_must_be_is_said():
    context, *_ = make_context(LaplacianTheta())
    context.graph = None
    with pytest.raises(DataError, match=r"Laps needs a document graph.*PLSA\(theta_"):
        graph_operator("Laps", context)
    context.graph = sparse.csr_matrix((4, 4))
    with pytest.raises(DataError, match="the graph has 4 nodes, the corpus 20"):
        graph_operator("Laps", context)
    context.graph = random_graph(20)
    context.engine = SimpleNamespace(n_documents=20, in_one_place=False)
    with pytest.raises(DataError, match=r"LaplacianTheta needs.* visited in blocks"):
        prepare_step(LaplacianTheta(), context)
    context.engine = SimpleNamespace(
        n_documents=20, n_topics=3, dtype=np.float32, threads=2
    )
    operator = graph_operator("Laps", context)
    assert operator.threads == 2
    assert operator.weights.dtype == np.float32


@pytest.mark.parametrize("step", [0.0, -0.1, 1.1, np.nan])
def test_smoothing_steps_outside_zero_to_one_are_refused(step):
    message = r"'step' parameter of LaplacianTheta must be .* range \(0.*1"
    with pytest.raises(ValueError, match=message):
        make_context(LaplacianTheta(step=step))
    make_context(LaplacianTheta(step=1.0))
