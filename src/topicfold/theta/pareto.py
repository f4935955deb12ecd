# SPDX-License-Identifier: BSD-3-Clause
"""The discriminative topic model (DTM): two objectives, neither of which may fall."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from topicfold.core.parameters import POSITIVE_SHARE, DeclaredParameters
from topicfold.core.typing import Array
from topicfold.engine.protocol import array_module, to_numpy
from topicfold.parts.steps import Context, ThetaStep, step_back
from topicfold.theta.graph import GraphOperator, graph_operator

Vector = NDArray[np.float64]
# So many iterations in which nothing is accepted, with mixtures that are this blunt,
# begin the walk again, once; then this part of `share` is spent.
FROZEN = 5
BLUNT = 0.85
RESTART_SHARE = 0.2


@dataclass
class ParetoState:
    """What the step keeps during a fit.

    `steps` is how far a sweep moves each document; `separation` is Q2 after each
    iteration, `accepted` the part of the way taken, `sweeps` how many there were, all
    since the last start; `spent_share` of the gain of ℒ is spent on Q2.
    """

    operator: Any
    pull: float
    steps: Vector
    spent_share: float
    separation: list[float] = field(default_factory=list)
    accepted: list[float] = field(default_factory=list)
    sweeps: list[int] = field(default_factory=lambda: [0])
    n_restarts: int = 0

    def is_frozen(self) -> bool:
        """Whether nothing was accepted in the last iterations."""
        return len(self.accepted) >= FROZEN and not any(self.accepted[-FROZEN:])


class ParetoTheta(DeclaredParameters, ThetaStep):
    """θ-step of DTM: Pareto improvements of likelihood and separation.

    The separation is ``Q2 = Σ_ij ‖θ_i − θ_j‖² / Σ_ij W_ij ‖θ_i − θ_j‖²``: large when
    neighbours are near and all others far. An iteration is accepted only if neither
    ℒ nor Q2 falls, so no weight between them is chosen. As in Algorithm 1 of the
    paper a proposal raises one objective and pays with the other: PLSA's M-step
    raises ℒ, then sweeps towards the neighbours, stronger for short documents, raise
    Q2 until `share` of the gain of ℒ is spent and Q2 is at least what it was. Where
    the whole proposal fails a test, the documents whose changes together pass both
    are kept, then smaller steps are tried. Where nothing is accepted five times in
    a row and mixtures are still blunt, the walk begins once more and spends a fifth of
    `share`. Time O(edges·K) per sweep; Q2 costs O(D·K + edges·K), never D × D.

    Parameters
    ----------
    step : float, default=0.3
        The paper's γ (0.1 there), in (0, 1]: how far one sweep moves a document of
        mean length towards its neighbours' mean.
    graph : sparse matrix, edge list, networkx graph or None, default=None
        The graph when the step is given to a plain PLSA; None there is the cosine
        graph of 10 neighbours.

    Notes
    -----
    The state of a fit holds Q2 after each iteration. The update of the paper's eq.
    18-19 is not used: it does not keep Theorem 2's promise, see docs/math.md §4.

    References
    ----------
    S. Huh & S. E. Fienberg (2010). Discriminative topic modeling based on manifold
    learning. KDD. doi:10.1145/1835804.1835888

    Examples
    --------
    >>> ParetoTheta(step=0.2).needs_graph
    True
    """

    needs_graph = True
    needs_all_documents = True
    normalized = True
    share = 0.5  # of the gain of ℒ that is spent on Q2
    max_sweeps = 8  # per iteration; half a dozen are the most that pay
    max_halvings = 3
    step: Annotated[float, POSITIVE_SHARE]
    graph: Any

    def __init__(self, *, step: float = 0.3, graph: Any = None) -> None:
        self._store_parameters(locals())

    def prepare(self, context: Context) -> ParetoState:
        """Find each document's step from its length and degree."""
        operator = graph_operator(type(self).__name__, context)
        lengths, degrees = context.corpus.document_lengths, operator.degrees
        # s_i = c D_i / (n_i + c D_i): a document with the means' n and D moves by step.
        pull = lengths.mean() / max(degrees.mean(), 1e-300)
        pull *= self.step / max(1.0 - self.step, 1e-9)
        steps = sweep_steps(lengths, degrees, pull)
        return ParetoState(operator, pull, steps, self.share)

    def update(self, counts: Array, theta: Array, context: Context) -> Array:
        """Propose, test both objectives, keep what passes."""
        state: ParetoState = context.state
        if state.is_frozen() and not state.n_restarts and bluntness(theta) > BLUNT:
            return self._restart(counts, state)
        old = separation(theta, state.operator)
        reached = old

        def passes(rows: Array) -> bool:
            nonlocal reached
            reached = separation(rows, state.operator)
            return reached >= old and self._keeps_likelihood(rows, context)

        target = self._proposal(counts, theta, old, context)
        new, share = step_back(target, theta, passes, 0)
        if share == 0.0:
            target = passing_documents(target, counts, theta, old, state.operator)
            new, share = step_back(target, theta, passes, self.max_halvings)
            share *= 0.5
        state.separation.append(reached if share else old)
        state.accepted.append(share)
        return new

    def _restart(self, counts: Array, state: ParetoState) -> Array:
        """Begin again from PLSA's M-step, and spend less on Q2.

        Q2 does not depend on how sharp mixtures are. If mixtures start nearly uniform
        and a large part of ℒ is spent on Q2, Q2 becomes so large that no sharper
        mixtures reach it, and ℒ cannot rise.
        """
        new: Array = state.operator.normalize(counts)
        state.n_restarts += 1
        state.spent_share = RESTART_SHARE * self.share
        state.separation[:] = [separation(new, state.operator)]
        state.accepted[:] = [1.0]
        state.sweeps[:] = [0]
        return new

    def _proposal(
        self, counts: Array, theta: Array, old: float, context: Context
    ) -> Array:
        """PLSA's M-step, then sweeps to the neighbours while they are affordable."""
        state: ParetoState = context.state
        operator, steps = state.operator, state.steps
        target: Array = operator.normalize(counts)
        before = operator.expected_loglik(counts, theta)
        most = operator.expected_loglik(counts, target)
        least = most - state.spent_share * (most - before)
        n_sweeps = max(state.sweeps[-1] - 1, 0)
        for _ in range(n_sweeps):
            target = operator.smooth(target, steps)
        reached = separation(target, operator)
        while n_sweeps < self.max_sweeps:
            swept = operator.smooth(target, steps)
            affordable = operator.expected_loglik(counts, swept) >= least
            if reached >= old and not affordable:
                break
            n_sweeps += 1
            target, reached = swept, separation(swept, operator)
        state.sweeps.append(n_sweeps)
        return target

    def _keeps_likelihood(self, theta: Array, context: Context) -> bool:
        if context.evaluate is None:
            raise RuntimeError("a θ-step needs context.evaluate")
        loglik = context.evaluate(theta).loglik
        return loglik + context.topics_value >= context.objective


def bluntness(theta: Array) -> float:
    """Return how near mixtures are to uniform: 1 if uniform, 0 with one topic each."""
    squares = float(np.einsum("ik,ik->", theta, theta, dtype=np.float64))
    return (1.0 - squares / len(theta)) / max(1.0 - 1.0 / theta.shape[1], 1e-9)


def sweep_steps(lengths: Vector, degrees: Vector, pull: float) -> Vector:
    """Return how far one sweep moves each document: ``c D / (n + c D)``."""
    return pull * degrees / np.maximum(lengths + pull * degrees, 1e-300)


def separation(theta: Array, operator: GraphOperator) -> float:
    """Return Q2, at most 1e12; 0 where all documents are the same."""
    total = theta.sum(axis=0, dtype=np.float64)
    squares = float(np.einsum("ik,ik->", theta, theta, dtype=np.float64))
    spread = len(theta) * squares - float(total @ total)
    if spread <= 1e-9 * len(theta) * squares:
        return 0.0
    return spread / max(operator.edge_products(theta, theta), 1e-12 * spread)


def passing_documents(
    target: Array, counts: Array, theta: Array, old: float, operator: GraphOperator
) -> Array:
    """Keep the changes of the documents that together should pass both tests.

    With ``R = spread − Q2_old · (edge sum)``, quadratic in θ, the change of R is the
    sum over documents of δ_d times the gradient half way, exactly. Documents are
    chosen by gain of ℒ plus μ times gain of R, with the smallest μ at which the gain
    of R is positive.
    """
    gain = operator.expected_loglik_rows(counts, target)
    gain -= operator.expected_loglik_rows(counts, theta)
    xp = array_module(theta)
    middle = 0.5 * (theta + target)
    gradient = len(theta) * middle - middle.sum(axis=0)
    edges = xp.asarray(operator.degrees.astype(theta.dtype))[:, None] * middle
    gradient -= theta.dtype.type(old) * (edges - operator.neighbor_sums(middle))
    change = np.einsum("ik,ik->i", gradient, target - theta, dtype=np.float64)
    chosen = xp.asarray(_choose(to_numpy(gain), to_numpy(change)))
    kept: Array = xp.where(chosen[:, None], target, theta)
    return kept


def _choose(gain: Vector, change: Vector) -> NDArray[np.bool_]:
    scale = np.abs(gain).sum() / max(float(np.abs(change).sum()), 1e-300)
    for power in range(-20, 21):
        chosen = gain + scale * 1.5**power * change > 0
        if change[chosen].sum() > 0:
            if gain[chosen].sum() >= 0:
                return chosen
            break
    return (gain >= 0) & (change >= 0)
