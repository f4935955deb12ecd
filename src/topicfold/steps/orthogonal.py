# SPDX-License-Identifier: BSD-3-Clause
"""Orthogonalised topics (OTM): topics that share words pay for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from topicfold.core.typing import Array
from topicfold.engine.arrays import on_device
from topicfold.engine.protocol import Engine
from topicfold.engine.rows import padded
from topicfold.exceptions import DataError
from topicfold.steps.base import PhiStep, StepContext
from topicfold.steps.dirichlet import log_sum
from topicfold.steps.orthogonal_kernels import find_multiplier, update_topics


@dataclass(frozen=True)
class OrthogonalState:
    """The λ of this corpus."""

    strength: float


class OrthogonalPhi(PhiStep):
    """φ-step of OTM: an exact maximisation for one topic after another.

    Subtracts ``λ O``, ``O = Σ_k Σ_{k'≠k} Σ_w φ_kw φ_k'w``, from the log-likelihood.
    Topic k gets ``φ_kw = N_wk / (a_k + 2λ Σ_{k'≠k} φ_k'w)`` with the a_k, possibly
    negative, that makes it sum to one. Time O(V·K) times a few Newton steps.

    Parameters
    ----------
    weight : float, default=1.0
        Nats a token that are paid when topics overlap as much as if each were the
        corpus: ``λ = weight · tokens / (K (K − 1) Σ_w p_w²)`` with the words' shares
        p. Useful between 0.1 and 10, whatever the corpus; 0 is plain PLSA.
    paper_lambda : float or None, default=None
        The λ of the paper's M-step instead of `weight`. It lacks the factor 2 of the
        derivative, so it is twice the λ of the objective here.
    eta : float, default=1.0
        Dirichlet concentration of the topics, at least 1: η − 1 is added to the
        counts and ``(η − 1) Σ log φ`` to the objective. 1 is none, as in the paper.

    References
    ----------
    The Orthogonalized Topic Model: see docs/math.md §5 for its errata.

    Examples
    --------
    >>> OrthogonalPhi(weight=2.0).weight
    2.0
    """

    def __init__(
        self,
        weight: float = 1.0,
        *,
        paper_lambda: float | None = None,
        eta: float = 1.0,
    ) -> None:
        self.weight = weight
        self.paper_lambda = paper_lambda
        self.eta = eta

    needs_all_words = True
    normalized = True

    def prepare(self, context: StepContext) -> OrthogonalState:
        """Check parameters and find the λ of this corpus (one E-step)."""
        for name, least in (("weight", 0.0), ("paper_lambda", 0.0), ("eta", 1.0)):
            value = getattr(self, name)
            if value is not None and (not np.isfinite(value) or value < least):
                raise DataError(
                    f"{name} of OrthogonalPhi must be a number of at least "
                    f"{least:g}, got {value!r}."
                )
        engine = context.corpus
        if self.paper_lambda is not None:
            strength = 0.5 * float(self.paper_lambda)
        elif self.weight == 0.0 or engine.n_topics == 1:
            strength = 0.0
        else:
            shares = _word_shares(engine, context.topics)
            pairs = engine.n_topics * (engine.n_topics - 1)
            tokens = float(engine.document_lengths.sum())
            strength = self.weight * tokens / (pairs * float(shares @ shares))
        return OrthogonalState(strength)

    @property
    def pseudo_count(self) -> float:
        """``η − 1``."""
        return self.eta - 1.0

    def update(self, counts: Array, topics: Array, context: StepContext) -> Array:
        """Update the topics one after another."""
        state: OrthogonalState = context.state
        if state.strength == 0.0:
            return counts
        xp = context.xp
        by_topic = xp.ascontiguousarray(counts.T)
        if self.eta > 1.0:
            by_topic += by_topic.dtype.type(self.pseudo_count)
        phi = xp.ascontiguousarray(topics.T)
        total = phi.sum(axis=0, dtype=np.float64)
        sweep: Callable[..., None] = update_topics
        if on_device(counts):
            from topicfold.engine.cuda.steps import update_topics as sweep
        sweep(by_topic, 2.0 * state.strength, phi, total, xp.empty_like(total))
        new: Array = phi.T
        return new

    def value(self, topics: Array, context: StepContext) -> float:
        """``−λ O`` and the log prior up to a constant."""
        state: OrthogonalState = context.state
        value = 0.0
        if state.strength > 0.0:
            value -= state.strength * overlap(topics)
        if self.eta > 1.0:
            value += self.pseudo_count * log_sum(topics, context)
        return value


def overlap(topics: Array) -> float:
    """Return ``O = ‖Σ_k φ_k‖² − Σ_k ‖φ_k‖²`` of word-major topics (V, K).

    Examples
    --------
    >>> overlap(np.array([[1.0, 0.5], [0.0, 0.5]]))
    1.0
    """
    total = topics.sum(axis=1, dtype=np.float64)
    squares = np.einsum("wk,wk->w", topics, topics, dtype=np.float64)
    return float(total @ total - squares.sum())


def multiplier(counts: Array, others: Array, strength: float) -> float:
    """Return the root a of ``Σ_w N_w / (a + strength · c_w) = 1`` right of all poles.

    Parameters
    ----------
    counts, others : ndarray of shape (n_terms,)
        Expected counts N and the other topics' sum c.
    strength : float
        Twice the λ of the objective.

    Examples
    --------
    >>> multiplier(np.array([1.0, 1.0]), np.array([0.0, 0.0]), 5.0)
    2.0
    """
    pole, t = find_multiplier(
        np.asarray(counts, np.float64), np.asarray(others, np.float64), float(strength)
    )
    return float(pole + t)


def multiplier_reference(counts: Array, others: Array, strength: float) -> float:
    """Return the same root by Brent's method."""
    used = counts > 0
    counts, poles = counts[used], strength * others[used]
    least = poles.min()

    def excess(t: float) -> float:
        return float((counts / (t + (poles - least))).sum() - 1.0)

    low, high = 0.5 * counts[poles == least].sum(), 2.0 * counts.sum()
    return float(brentq(excess, low, high, xtol=1e-300, rtol=1e-14) - least)


def update_reference(counts: Array, topics: Array, strength: float) -> Array:
    """Return one Gauss-Seidel sweep over topics (K, V) in plain NumPy."""
    topics = topics.astype(np.float64)
    for k, row in enumerate(counts):
        if row.sum() <= 0:
            continue
        others = topics.sum(axis=0) - topics[k]
        a = multiplier_reference(row, others, strength)
        with np.errstate(divide="ignore", invalid="ignore"):
            topics[k] = np.where(row > 0, row / (a + strength * others), 0.0)
    return topics


def _word_shares(engine: Engine, topics: Array) -> NDArray[np.float64]:
    """Shares of the words in the corpus, in the engine's order (one E-step)."""
    ones = np.broadcast_to(np.ones(1), (engine.n_documents, engine.n_topics))
    parameters = engine.pack_documents(ones)
    packed = padded(topics)
    if packed is None:
        raise RuntimeError("the topics of a context are a view of packed ones")
    engine.document_pass(parameters, packed)
    counts = engine.word_pass(parameters, packed, np.empty_like(packed))
    totals = counts.sum(axis=1, dtype=np.float64)
    return totals / totals.sum()
