# SPDX-License-Identifier: BSD-3-Clause
"""Locally-consistent topic modelling (LTM): neighbours agree in divergence."""

from __future__ import annotations

from typing import Any

import numpy as np

from topicfold.core.typing import Array
from topicfold.steps.base import StepContext
from topicfold.steps.graph_operator import GraphState, GraphTheta, floored_lengths


class LocallyConsistentTheta(GraphTheta):
    """θ-step of LTM: linear equations that pull each document to its neighbours.

    Subtracts ``(λ/2) Σ_ij W_ij (KL(θ_i‖θ_j) + KL(θ_j‖θ_i))`` from the
    log-likelihood. The M-step solves ``(diag(n_d) + λ L) θ = N`` by conjugate
    gradients; where the objective would fall, it moves from the old θ towards the
    solution only as far as it does not. Time O(edges·K) a conjugate-gradient step.

    Parameters
    ----------
    weight : float, default=1.0
        Nats a token that are paid for a divergence of one across every edge:
        ``λ = 2 · weight · tokens / Σ_ij W_ij``. It means the same on a corpus, on
        its double and with heavier edges. 0 is plain PLSA.
    paper_lambda : float or None, default=None
        The paper's λ instead of `weight`.
    graph : sparse matrix, edge list, networkx graph or None, default=None
        The graph when the step is given to a plain PLSA; None there is the cosine
        graph of 10 neighbours.

    References
    ----------
    D. Cai, X. Wang & X. He (2009). Probabilistic dyadic data analysis with local and
    global consistency. ICML. doi:10.1145/1553374.1553388

    Examples
    --------
    >>> LocallyConsistentTheta(weight=0.5).needs_graph
    True
    """

    tol = 1e-3  # relative residual of the equations; the next iteration goes on
    max_solver_iter = 50  # conjugate gradients: a dozen steps reach `tol`
    _earlier_parameters = {  # noqa: RUF012
        **GraphTheta._earlier_parameters,
        "tol": "it stays 1e-3; the next iteration solves on from there",
        "max_solver_iter": "it stays 50; tol ends almost all solutions before",
    }

    def __init__(
        self,
        weight: float = 1.0,
        *,
        paper_lambda: float | None = None,
        graph: Any = None,
    ) -> None:
        self.weight = weight
        self.paper_lambda = paper_lambda
        self.graph = graph

    def update(self, counts: Array, theta: Array, context: StepContext) -> Array:
        """Solve for the new rows."""
        state: GraphState = context.state
        if state.strength == 0.0:
            return counts
        lengths, filled = floored_lengths(context.corpus.document_lengths, counts)
        target, _ = state.operator.solve(
            lengths,
            state.strength,
            filled,
            theta,
            tol=self.tol,
            max_iter=self.max_solver_iter,
        )
        np.maximum(target, 0, out=target)
        rows: Array = state.operator.normalize(target, in_place=True)
        return rows

    def _penalty(self, theta: Array, operator: Any) -> float:
        return float(operator.divergence(theta))
