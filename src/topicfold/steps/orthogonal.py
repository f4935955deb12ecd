# SPDX-License-Identifier: BSD-3-Clause
"""Orthogonalised topics (OTM): topics that share words pay for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from topicfold.core.typing import Array
from topicfold.engine.arrays import on_device
from topicfold.exceptions import DataError
from topicfold.steps.base import PhiStep, StepContext
from topicfold.steps.orthogonal_kernels import find_multiplier, update_topics


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

    def prepare(self, context: StepContext) -> None:
        """Check parameters and find the λ of this corpus (one E-step)."""
        for name, least in (("weight", 0.0), ("paper_lambda", 0.0), ("eta", 1.0)):
            value = getattr(self, name)
            if value is not None and (not np.isfinite(value) or value < least):
                raise DataError(
                    f"{name} of OrthogonalPhi must be a number of at least "
                    f"{least:g}, got {value!r}."
                )
        engine = context.engine
        if self.paper_lambda is not None:
            strength = 0.5 * float(self.paper_lambda)
        elif self.weight == 0.0 or engine.n_topics == 1:
            strength = 0.0
        else:
            shares = _word_shares(context)
            pairs = engine.n_topics * (engine.n_topics - 1)
            tokens = float(engine.document_lengths.sum())
            strength = self.weight * tokens / (pairs * float(shares @ shares))
        context.memory["overlap_strength"] = strength

    def update(self, counts: Array, topics: Array, context: StepContext) -> Array:
        """Update the topics one after another."""
        strength = context.memory["overlap_strength"]
        engine = context.engine
        if strength == 0.0:
            return engine.normalize_topics(counts, self.eta - 1.0, counts)
        used = slice(0, engine.n_topics)
        if on_device(counts):
            from topicfold.engine.cuda import orthogonal

            if self.eta > 1.0:
                counts[:, used] += counts.dtype.type(self.eta - 1.0)
            return orthogonal.update_topics(engine, counts, topics, 2.0 * strength)
        by_topic = np.ascontiguousarray(counts[:, used].T)
        if self.eta > 1.0:
            by_topic += by_topic.dtype.type(self.eta - 1.0)
        phi = np.ascontiguousarray(topics[:, used].T)
        total = phi.sum(axis=0, dtype=np.float64)
        update_topics(by_topic, 2.0 * strength, phi, total, np.empty_like(total))
        counts[:, used] = phi.T
        return counts

    def value(self, topics: Array, context: StepContext) -> float:
        """``−λ O`` and the log prior up to a constant."""
        strength = context.memory["overlap_strength"]
        value = 0.0
        if strength > 0.0:
            value -= strength * overlap(topics)
        if self.eta > 1.0:
            logs = context.engine.log_totals(topics, 0.0)
            value += (self.eta - 1.0) * float(logs.sum())
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


def _word_shares(context: StepContext) -> NDArray[np.float64]:
    """Shares of the words in the corpus, in the engine's order."""
    engine = context.engine
    ones = np.broadcast_to(np.ones(1), (engine.n_documents, engine.n_topics))
    parameters = engine.pack_documents(ones)
    engine.document_pass(parameters, context.topics)
    counts = engine.word_pass(parameters, context.topics, np.empty_like(context.topics))
    totals = counts.sum(axis=1, dtype=np.float64)
    return totals / totals.sum()
