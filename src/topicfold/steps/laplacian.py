# SPDX-License-Identifier: BSD-3-Clause
"""Laplacian PLSA (LapPLSI): neighbours agree in squared distance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from topicfold.core.typing import Array
from topicfold.exceptions import DataError
from topicfold.steps.base import StepContext
from topicfold.steps.graph_operator import GraphState, GraphTheta


@dataclass
class LaplacianState(GraphState):
    """And how often the rows of each iteration were smoothed."""

    smoothings: list[int] = field(default_factory=lambda: [0])


class LaplacianTheta(GraphTheta):
    """θ-step of LapPLSI: the mixtures of neighbours are averaged, lightly.

    Subtracts ``(λ/2) Σ_ij W_ij ‖θ_i − θ_j‖²`` from the log-likelihood. The M-step
    takes PLSA's, then smooths ``θ_i ← (1 − γ) θ_i + γ Σ_j W_ij θ_j / D_ii`` while
    the expected objective rises, `max_smoothings` times at most, and steps back
    towards the old θ where the whole objective would fall. Time O(edges·K) a
    smoothing.

    Parameters
    ----------
    weight : float, default=10.0
        Nats a token that are paid for a squared distance of one across every edge:
        ``λ = 2 · weight · tokens / Σ_ij W_ij``. It means the same on a corpus, on
        its double and with heavier edges. 0 is plain PLSA.
    paper_lambda : float or None, default=None
        The paper's λ (1000 there) instead of `weight`.
    step : float, default=0.4
        The paper's γ (0.1 there), in (0, 1]: larger steps, fewer of them.
    max_smoothings : int, default=5
        Most smoothings an iteration. Many of them collapse all topics into one.
    graph : sparse matrix, edge list, networkx graph or None, default=None
        The graph when the step is given to a plain PLSA; None there is the cosine
        graph of 10 neighbours.

    References
    ----------
    D. Cai, Q. Mei, J. Han & C. Zhai (2008). Modeling hidden topics on document
    manifold. CIKM. doi:10.1145/1458082.1458202

    Examples
    --------
    >>> LaplacianTheta(weight=0.5).needs_graph
    True
    """

    def __init__(
        self,
        weight: float = 10.0,
        *,
        paper_lambda: float | None = None,
        step: float = 0.4,
        max_smoothings: int = 5,
        graph: Any = None,
    ) -> None:
        self.weight = weight
        self.paper_lambda = paper_lambda
        self.step = step
        self.max_smoothings = max_smoothings
        self.graph = graph

    def prepare(self, context: StepContext) -> LaplacianState:
        """Check parameters, set up the graph."""
        if not 0.0 < self.step <= 1.0:
            raise DataError(
                f"step of LaplacianTheta must be in (0, 1], got {self.step!r}; the "
                "paper's value is 0.1."
            )
        common = super().prepare(context)
        return LaplacianState(common.operator, common.strength)

    def update(self, counts: Array, theta: Array, context: StepContext) -> Array:
        """Smooth PLSA's rows while it pays."""
        state: LaplacianState = context.state
        strength, operator = state.strength, state.operator
        if strength == 0.0:
            return counts
        # The count changes little between iterations: only its end is tested.
        n_smoothings = max(state.smoothings[-1] - 1, 0)
        target = operator.normalize(counts)
        for _ in range(n_smoothings):
            target = operator.smooth(target, self.step)
        best = self._expected(counts, target, strength, operator)
        while n_smoothings < self.max_smoothings:
            smoothed = operator.smooth(target, self.step)
            reached = self._expected(counts, smoothed, strength, operator)
            if reached <= best:
                break
            n_smoothings += 1
            target, best = smoothed, reached
        state.smoothings.append(n_smoothings)
        return target

    def _expected(
        self, counts: Array, theta: Array, strength: float, operator: Any
    ) -> float:
        loglik = float(operator.expected_loglik(counts, theta))
        return loglik - strength * self._penalty(theta, operator)

    def _penalty(self, theta: Array, operator: Any) -> float:
        return float(operator.edge_products(theta, theta))
