# SPDX-License-Identifier: BSD-3-Clause
"""What makes a model that model: how expected counts become parameters.

A θ-step turns expected counts of documents into topic mixtures, a φ-step expected
counts of words into topics. Both see packed arrays (see ``engine.protocol``) and
know their own part of the objective.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from topicfold.core.typing import Array
from topicfold.engine.protocol import DocumentPass, Engine


@dataclass
class StepContext:
    """What a step may look at besides the counts.

    Attributes
    ----------
    engine : Engine
        The corpus; ``engine.document_lengths`` are the token counts.
    topics : ndarray
        Packed topics; for a θ-step the new ones of this iteration.
    objective : float
        Whole objective at the end of the last iteration.
    topics_value : float
        The φ-step's part of the objective at `topics`.
    evaluate : callable
        ``evaluate(theta)`` runs a document pass under `topics` and returns it. The
        pass of the θ that a step returns is not run again.
    graph : csr_matrix or None
        Document graph, when the step asked for one.
    memory : dict
        A step's own state between iterations of one fit.
    """

    engine: Engine
    topics: Array
    objective: float = -np.inf
    topics_value: float = 0.0
    evaluate: Callable[[Array], DocumentPass] | None = None
    graph: Any = None
    memory: dict[str, Any] = field(default_factory=dict)


class ThetaStep(BaseEstimator):
    """Plain θ-step of PLSA: ``θ_dk ∝ N_dk``. Base of the others.

    Experimental: as the base of steps of your own; what it is given may change.

    Examples
    --------
    >>> ThetaStep().needs_graph
    False
    """

    needs_graph: bool = False

    def prepare(self, context: StepContext) -> None:
        """Check parameters and set up `context.memory`; called once a fit."""

    def update(self, counts: Array, theta: Array, context: StepContext) -> Array:
        """Return new rows (any positive scale) from expected counts N_dk."""
        return counts

    def value(self, theta: Array, context: StepContext) -> float:
        """This step's part of the objective."""
        return 0.0


class PhiStep(BaseEstimator):
    """Plain φ-step of PLSA: ``φ_kw ∝ N_wk``. Base of the others.

    Experimental: as the base of steps of your own; what it is given may change.
    """

    def prepare(self, context: StepContext) -> None:
        """Check parameters and set up `context.memory`; called once a fit."""

    def update(self, counts: Array, topics: Array, context: StepContext) -> Array:
        """Return new packed topics from expected counts N_wk; may overwrite them."""
        return context.engine.normalize_topics(counts, 0.0, counts)

    def value(self, topics: Array, context: StepContext) -> float:
        """This step's part of the objective."""
        return 0.0
