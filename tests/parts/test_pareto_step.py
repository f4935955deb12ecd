# SPDX-License-Identifier: BSD-3-Clause
"""The parts of DTM's θ-step: how far it sweeps, what it pays, which documents pass."""

from types import SimpleNamespace

import numpy as np
import pytest
from graph_support import random_graph
from scipy import sparse

from topicfold.engine import make_engine
from topicfold.learn.learner import Learner
from topicfold.parts import Context
from topicfold.phi import PhiStep
from topicfold.theta import ParetoTheta, pareto
from topicfold.theta.graph import GraphOperator
from topicfold.theta.pareto import (
    ParetoState,
    _choose,
    passing_documents,
    separation,
    sweep_steps,
)


def start(step, n_documents=60, n_topics=4, seed=0):
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(30, 0.3), size=n_topics)
    theta = rng.dirichlet(np.full(n_topics, 0.3), size=n_documents)
    lengths = rng.integers(5, 80, n_documents)
    counts = [rng.multinomial(n, p) for n, p in zip(lengths, theta @ phi, strict=True)]
    engine = make_engine(
        sparse.csr_matrix(np.array(counts, float)), n_topics, dtype=np.float64
    )
    first = rng.dirichlet(np.ones(30), size=n_topics)
    em = Learner(
        engine,
        first,
        step,
        PhiStep(),
        graph=random_graph(n_documents, seed, density=0.15),
    )
    em.start()
    return em


def having(**constants):
    """Return a step with other constants than the class has."""
    step = ParetoTheta()
    vars(step).update(constants)
    return step


def test_a_sweep_moves_the_mean_document_by_step_and_short_ones_more():
    lengths, degrees = np.array([10.0, 40.0, 40.0, 0.0]), np.array([2.0, 2.0, 8.0, 0.0])
    moved = sweep_steps(lengths, degrees, 5.0)
    np.testing.assert_allclose(moved, [10 / 20, 10 / 50, 40 / 80, 0.0])
    for step in (0.1, 0.5, 0.9):
        em = start(ParetoTheta(step=step))
        state, context_lengths = em.theta_context.state, em.engine.document_lengths
        mean = [np.atleast_1d(context_lengths.mean())]
        mean.append(np.atleast_1d(state.operator.degrees.mean()))
        np.testing.assert_allclose(sweep_steps(*mean, state.pull), step)
        np.testing.assert_allclose(
            state.steps,
            sweep_steps(context_lengths, state.operator.degrees, state.pull),
        )


def test_a_whole_step_takes_the_neighbours_mean():
    state = start(ParetoTheta(step=1.0)).theta_context.state
    linked = state.operator.degrees > 0
    assert linked.any()
    np.testing.assert_allclose(state.steps[linked], 1.0, atol=1e-6)


def test_separation_of_equal_documents_is_zero_and_without_edges_huge():
    operator = GraphOperator(random_graph(12, 0, density=0.15), 3)
    assert separation(np.tile([0.2, 0.3, 0.5], (12, 1)), operator) == 0
    nothing = GraphOperator(sparse.csr_matrix((12, 12)), 3)
    theta = np.random.default_rng(0).dirichlet(np.ones(3), size=12)
    assert separation(theta, nothing) == pytest.approx(1e12)
    single = GraphOperator(random_graph(12, 0, density=0.15), 3, dtype=np.float32)
    assert separation(theta.astype(np.float32), single) == pytest.approx(
        separation(theta, operator), rel=1e-5
    )


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_proposal_spends_at_most_its_share_of_the_gain(share):
    """Unless the separation is still below what it was."""
    step = having(share=share, max_sweeps=6)
    em = start(step)
    rng = np.random.default_rng(2)
    context, operator = em.theta_context, em.theta_context.state.operator
    spent = []
    for _ in range(5):
        theta = rng.dirichlet(np.ones(4), size=60)
        counts = rng.dirichlet(np.full(4, 0.3), size=60) * 50
        old = separation(theta, operator)
        target = step._proposal(counts, theta, old, context)
        n_sweeps = context.state.sweeps[-1]
        assert 0 <= n_sweeps <= 6
        # It is PLSA's M-step, swept as often as is said.
        swept = counts / counts.sum(axis=1, keepdims=True)
        path = [swept]
        for _ in range(n_sweeps + 1):
            swept = operator.smooth(swept, context.state.steps)
            path.append(swept)
        np.testing.assert_allclose(target, path[n_sweeps], rtol=1e-9)
        before = operator.expected_loglik(counts, theta)
        logliks = [operator.expected_loglik(counts, p) for p in path]
        least = logliks[0] - share * (logliks[0] - before)
        # The first sweeps are those of the last proposal, one less; each sweep after
        # them was needed or affordable, and one more is neither.
        if n_sweeps < 6:
            assert separation(target, operator) >= old
            assert logliks[n_sweeps + 1] < least
        spent.append(n_sweeps)
    assert max(spent) > 0


def test_larger_shares_sweep_more():
    sweeps = []
    for share in (0.0, 0.3, 1.0):
        em = start(having(share=share))
        for _ in range(6):
            em.iterate()
        sweeps.append(np.mean(em.theta_context.state.sweeps[1:]))
    assert sweeps[0] < sweeps[1] < sweeps[2] <= 8


def test_an_iteration_says_what_it_accepted():
    em = start(ParetoTheta())
    for _ in range(10):
        before = em.doc_topics()
        em.iterate()
        state = em.theta_context.state
        taken, reached = state.accepted[-1], state.separation[-1]
        assert taken in (1.0, 0.5, 0.25, 0.125, 0.0625, 0.0)
        found = separation(em.doc_topics(), state.operator)
        assert reached == pytest.approx(found, rel=1e-6)
        if taken == 0:
            np.testing.assert_allclose(em.doc_topics(), before)
    assert len(state.accepted) == len(state.separation) == 10


def test_without_room_for_halvings_a_failed_proposal_leaves_the_mixtures():
    """Nothing can be at least as likely as a likelihood out of reach."""
    step = having(max_halvings=2)
    em = start(step)
    context = em.theta_context
    context.objective, tried = np.inf, []

    def evaluate(theta):
        tried.append(theta.copy())
        return em.engine.document_pass(np.ascontiguousarray(theta), em.weights)

    context.evaluate = evaluate
    theta = np.random.default_rng(0).dirichlet(np.full(4, 5.0), size=60)
    theta = em.engine.pack_documents(theta)
    counts = em.engine.document_pass(theta.copy(), em.weights).counts
    new = step.update(counts, theta, context)
    assert new is theta
    assert context.state.accepted == [0.0]
    assert context.state.separation == [separation(theta, context.state.operator)]
    # The proposal, its passing documents, then halves of the way to those.
    assert len(tried) <= 4
    whole, *halves = tried[-3:]
    for part, half in zip((0.5, 0.25), halves, strict=True):
        np.testing.assert_allclose(half - theta, part * (whole - theta), atol=1e-12)


@pytest.mark.parametrize("n_failures", range(5))
@pytest.mark.parametrize("by", ["likelihood", "separation"])
def test_the_first_try_that_lowers_neither_objective_is_taken(
    n_failures, by, monkeypatch
):
    """The proposal, the documents that pass, half of that way, a quarter; nothing."""
    step = having(max_halvings=2)
    theta, target = np.array([[0.9, 0.1]]), np.array([[0.5, 0.5]])
    passing = np.array([[0.1, 0.9]])
    failed, passed = [-1.0] * n_failures, [2.0] * 9
    # The old separation is asked for first; a try that lowers it is not evaluated.
    ratios = iter([1.0, *failed, *passed] if by == "separation" else [1.0, *passed])
    logliks = iter(passed if by == "separation" else [*failed, *passed])
    monkeypatch.setattr(pareto, "separation", lambda *_: next(ratios))
    monkeypatch.setattr(pareto, "passing_documents", lambda *_: passing)
    monkeypatch.setattr(ParetoTheta, "_proposal", lambda *_: target)
    context = SimpleNamespace(
        state=ParetoState(None, 1.0, None, 0.5),
        evaluate=lambda _: SimpleNamespace(loglik=next(logliks)),
        topics_value=0.5,
        objective=2.5,
    )
    found = step.update(None, theta, context)
    tries = [target, passing, 0.5 * (theta + passing), 0.75 * theta + 0.25 * passing]
    np.testing.assert_allclose(found, [*tries, theta][n_failures])
    assert context.state.accepted == [[1.0, 0.5, 0.25, 0.125, 0.0][n_failures]]
    assert context.state.separation == [1.0 if n_failures == 4 else 2.0]


def test_passing_documents_move_whole_or_not_at_all_and_gain_likelihood():
    """The ratio is only expected to rise: the step tests it before it accepts."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        operator = GraphOperator(random_graph(40, seed, density=0.15), 3)
        theta = rng.dirichlet(np.ones(3), size=40)
        counts = rng.dirichlet(np.full(3, 0.4), size=40) * rng.integers(1, 50, (40, 1))
        target = counts / counts.sum(axis=1, keepdims=True)
        old = separation(theta, operator)
        kept = passing_documents(target, counts, theta, old, operator)
        own = (kept == target).all(axis=1)
        assert (own | (kept == theta).all(axis=1)).all()
        assert own.any()
        loglik = operator.expected_loglik(counts, kept)
        assert loglik >= operator.expected_loglik(counts, theta)


def test_the_choice_gains_of_both_kinds_or_takes_only_documents_that_do():
    gain = np.array([5.0, 1.0, -0.5, 2.0, -4.0])
    change = np.array([-3.0, 0.2, 4.0, 1.0, 1.0])
    # Documents 0, 1 and 3 gain likelihood and lose 1.8 of the other; the least weight
    # of it that turns this brings in document 2, which pays 0.5, and keeps document 0.
    assert _choose(gain, change).tolist() == [True, True, True, True, False]
    # In other units the choice is the same.
    assert _choose(1e5 * gain, 1e-7 * change).tolist() == [True] * 4 + [False]
    # No weight gives both: only documents that lose neither are kept.
    gain, change = np.array([1.0, -8.0, 0.0]), np.array([-3.0, 1.0, 0.0])
    assert _choose(gain, change).tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step": 0.0}, r"'step' parameter of ParetoTheta .* Got 0.0"),
        ({"step": -0.1}, "step"),
        ({"step": np.nan}, "step"),
    ],
    ids=["no step", "back", "nan"],
)
def test_parameters_outside_their_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        start(having(**options))


@pytest.mark.parametrize("options", [{"step": 1.0}, {"share": 0.0}, {"share": 1.0}])
def test_the_ends_of_the_ranges_are_allowed(options):
    assert start(having(**options)).theta_context.state.sweeps == [0]


def test_a_step_without_evaluate_says_so():
    em = start(ParetoTheta())
    context = Context.of(em.engine, em.weights)
    theta = em.engine.pack_documents(np.ones((60, 4)))
    with pytest.raises(RuntimeError, match=r"needs context\.evaluate"):
        ParetoTheta()._keeps_likelihood(theta, context)


def test_separation_of_documents_far_apart_is_the_sum_over_pairs():
    rng = np.random.default_rng(3)
    # Many topics, a document in hardly more than one: the pairs outweigh the mean.
    theta = rng.dirichlet(np.full(8, 0.02), size=9)
    graph = random_graph(9, rng, density=0.5)
    pairs = ((theta[:, None] - theta[None]) ** 2).sum(axis=2)
    expected = pairs.sum() / (graph.toarray() * pairs).sum()
    assert separation(theta, GraphOperator(graph, 8)) == pytest.approx(expected)


def test_documents_that_gain_on_both_counts_pass_when_no_trade_does():
    # The third is needed to outweigh the second, and costs more than both gain.
    gain, change = np.array([1.0, 50.0, -100.0]), np.array([1.0, -10.0, 1000.0])
    np.testing.assert_array_equal(_choose(gain, change), [True, False, False])


def test_changes_of_documents_add_up_to_the_change_of_the_quadratic(monkeypatch):
    rng = np.random.default_rng(5)
    operator = GraphOperator(random_graph(12, rng, density=0.4), 6)
    theta, target = rng.dirichlet(np.full(6, 0.05), size=(2, 12))
    old = separation(theta, operator)
    seen = []
    monkeypatch.setattr(
        pareto, "_choose", lambda gain, change: seen.append(change) or change > 0
    )
    passing_documents(target, 10 * target, theta, old, operator)

    def quadratic(rows):
        spread = len(rows) * (rows**2).sum() - (rows.sum(axis=0) ** 2).sum()
        return spread - old * operator.edge_products(rows, rows)

    # The gradient is that of half the quadratic.
    difference = quadratic(target) - quadratic(theta)
    assert 2 * seen[0].sum() == pytest.approx(difference)


def test_bluntness_is_one_of_uniform_mixtures_and_zero_of_one_topic_each():
    assert pareto.bluntness(np.full((5, 4), 0.25)) == pytest.approx(1.0)
    assert pareto.bluntness(np.eye(4)[[0, 2, 2]]) == pytest.approx(0.0)
    half = np.vstack([np.full((1, 4), 0.25), np.eye(4)[[0]]])
    assert pareto.bluntness(half) == pytest.approx(0.5)


def test_small_gains_are_gains():
    gain, change = np.array([0.3, -0.1]), np.array([-0.1, 0.3])
    np.testing.assert_array_equal(_choose(gain, change), [True, True])
