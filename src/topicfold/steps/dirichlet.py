# SPDX-License-Identifier: BSD-3-Clause
"""Dirichlet priors on θ or φ: maximum a posteriori steps (docs/math.md §2, LDA-MAP)."""

from __future__ import annotations

from typing import Any

import numpy as np

from topicfold.core.typing import Array
from topicfold.engine.rows import padded
from topicfold.exceptions import DataError
from topicfold.steps.base import PhiStep, StepContext, ThetaStep

# Least share under a logarithm: float32 has no smaller ones to spare.
SMALLEST_SHARE = 1e-30


class DirichletTheta(ThetaStep):
    """``θ_dk ∝ N_dk + α − 1``: every document is drawn towards all topics.

    Adds ``(α − 1) Σ_dk log θ_dk`` to the objective.

    Parameters
    ----------
    alpha : float, default=1.1
        Concentration, at least 1; 1 is the plain step.

    Examples
    --------
    >>> from topicfold import PLSA
    >>> from topicfold.steps import DirichletTheta
    >>> model = PLSA(2, theta_step=DirichletTheta(2.0), random_state=0)
    >>> bool((model.fit([[2, 1, 0], [0, 1, 3]]).doc_topics_ > 0.1).all())
    True
    """

    def __init__(self, alpha: float = 1.1) -> None:
        self.alpha = alpha

    def prepare(self, context: StepContext) -> None:
        """Check alpha."""
        _check_concentration("alpha", self.alpha)

    @property
    def pseudo_count(self) -> float:
        """``α − 1``."""
        return self.alpha - 1.0

    def value(self, theta: Array, context: StepContext) -> float:
        """Log prior up to a constant."""
        if self.alpha == 1.0:
            return 0.0
        logs = context.xp.log(context.xp.maximum(theta, SMALLEST_SHARE))
        return (self.alpha - 1.0) * float(logs.sum(dtype=np.float64))


class DirichletPhi(PhiStep):
    """``φ_kw ∝ N_wk + η − 1``: no topic gives a word probability zero.

    Adds ``(η − 1) Σ_kw log φ_kw`` to the objective.

    Parameters
    ----------
    eta : float, default=1.01
        Concentration, at least 1; 1 is the plain step.

    Examples
    --------
    >>> from topicfold import PLSA
    >>> from topicfold.steps import DirichletPhi
    >>> model = PLSA(2, phi_step=DirichletPhi(1.5), random_state=0)
    >>> bool((model.fit([[2, 1, 0], [0, 1, 3]]).components_ > 0.05).all())
    True
    """

    # For `value`: one sum on all threads.
    needs_all_words = True

    def __init__(self, eta: float = 1.01) -> None:
        self.eta = eta

    def prepare(self, context: StepContext) -> None:
        """Check eta."""
        _check_concentration("eta", self.eta)

    @property
    def pseudo_count(self) -> float:
        """``η − 1``."""
        return self.eta - 1.0

    def value(self, topics: Array, context: StepContext) -> float:
        """Log prior up to a constant."""
        if self.eta == 1.0:
            return 0.0
        return (self.eta - 1.0) * log_sum(topics, context)


def log_sum(topics: Array, context: StepContext) -> float:
    """Return ``Σ log`` of all entries, on the engine's threads."""
    packed = padded(topics)
    packed = context.xp.ascontiguousarray(topics) if packed is None else packed
    return float(context.corpus.log_totals(packed, 0.0).sum())


def _check_concentration(name: str, value: Any) -> None:
    if not np.isfinite(value) or value < 1.0:
        raise DataError(
            f"{name} must be a number of at least 1, got {value!r}; 1 means no prior."
        )
