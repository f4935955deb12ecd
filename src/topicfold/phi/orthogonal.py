# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""Orthogonalised topics (OTM): a penalty for words that topics share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from topicfold.core.jit import kernel, part
from topicfold.core.parameters import AT_LEAST_ONE, NOT_NEGATIVE, DeclaredParameters
from topicfold.core.typing import Array
from topicfold.engine.protocol import Engine, on_device, padded
from topicfold.parts.steps import Context, PhiStep, log_sum


class OrthogonalPhi(DeclaredParameters, PhiStep):
    """φ-step of OTM: an exact maximisation for one topic after another.

    Subtracts ``λ O``, ``O = Σ_k Σ_{k'≠k} Σ_w φ_kw φ_k'w``, from the log-likelihood.
    Topic k gets ``φ_kw = N_wk / (a_k + 2λ Σ_{k'≠k} φ_k'w)`` with the a_k, possibly
    negative, that makes it sum to one. Time O(V·K) times a few Newton steps.

    Parameters
    ----------
    weight : float, default=1.0
        Penalty in nats per token if topics overlap as much as if each were the corpus:
        ``λ = weight · tokens / (K (K − 1) Σ_w p_w²)`` with the words' shares p. Useful
        between 0.1 and 10, whatever the corpus; 0 is plain PLSA.
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

    needs_all_words = True
    normalized = True
    extrapolates = True
    weight: Annotated[float, NOT_NEGATIVE]
    paper_lambda: Annotated[float | None, NOT_NEGATIVE]
    eta: Annotated[float, AT_LEAST_ONE]

    def __init__(
        self,
        weight: float = 1.0,
        *,
        paper_lambda: float | None = None,
        eta: float = 1.0,
    ) -> None:
        self._store_parameters(locals())

    def prepare(self, context: Context) -> float:
        """Find the λ of this corpus (one E-step)."""
        engine = context.corpus
        if self.paper_lambda is not None:
            return 0.5 * float(self.paper_lambda)
        if self.weight == 0.0 or engine.n_topics == 1:
            return 0.0
        shares = _word_shares(engine, context.topics)
        pairs = engine.n_topics * (engine.n_topics - 1)
        tokens = float(engine.document_lengths.sum())
        return self.weight * tokens / (pairs * float(shares @ shares))

    @property
    def pseudo_count(self) -> float:
        """``η − 1``."""
        return self.eta - 1.0

    def update(self, counts: Array, topics: Array, context: Context) -> Array:
        """Update the topics one after another."""
        strength: float = context.state
        if strength == 0.0:
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
        sweep(by_topic, 2.0 * strength, phi, total, xp.empty_like(total))
        new: Array = phi.T
        return new

    def value(self, topics: Array, context: Context) -> float:
        """``−λ O`` and the log prior up to a constant."""
        strength: float = context.state
        value = -strength * overlap(topics) if strength > 0.0 else 0.0
        if self.eta > 1.0:
            value += self.pseudo_count * log_sum(topics, context)
        return value

    def pull(self, rows: Array, context: Context) -> Array | None:
        """``−λ φ · ∂O/∂φ``; None with a prior."""
        if self.eta > 1.0:
            return None
        strength: float = context.state
        others = rows.sum(axis=1, keepdims=True) - rows
        pull: Array = -2.0 * strength * rows * others
        return pull


def overlap(topics: Array) -> float:
    """Return ``O = ‖Σ_k φ_k‖² − Σ_k ‖φ_k‖²`` of word-major topics (V, K)."""
    total = topics.sum(axis=1, dtype=np.float64)
    squares = np.einsum("wk,wk->w", topics, topics, dtype=np.float64)
    return float(total @ total - squares.sum())


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


ROOT_TOL = 1e-13
MAX_NEWTON = 60


@part
def find_multiplier(counts, overlap, strength):
    """Return the root a of ``Σ_w N_w / (a + strength · c_w) = 1`` right of the poles.

    Also returns the pole ``-strength · min{c_w : N_w > 0}`` and ``t = a - pole``, in
    which the sum has no cancellation. Newton's method on ``1 / Σ - 1``, concave and
    increasing in t, inside a bracket. Counts must have a positive sum.
    """
    n_words = counts.shape[0]
    least = np.inf
    total = 0.0
    for w in range(n_words):
        if counts[w] > 0.0:
            total += counts[w]
            least = min(least, overlap[w])
    low = 0.0
    for w in range(n_words):
        if counts[w] > 0.0 and overlap[w] == least:
            low += counts[w]
    high = total
    t = total
    for _ in range(MAX_NEWTON):
        sum1 = 0.0
        sum2 = 0.0
        for w in range(n_words):
            if counts[w] > 0.0:
                inverse = 1.0 / (t + strength * (overlap[w] - least))
                part = counts[w] * inverse
                sum1 += part
                sum2 += part * inverse
        if abs(sum1 - 1.0) <= ROOT_TOL:
            break
        if sum1 > 1.0:
            low = max(low, t)
        else:
            high = min(high, t)
        # 1/sum1 - 1 has the derivative sum2 / sum1^2.
        following = t + (sum1 - 1.0) * sum1 / sum2
        if not (low <= following <= high):
            following = 0.5 * (low + high)
        if following == t:
            break
        t = following
    return -strength * least, t


@kernel
def update_topics(counts, strength, topics, total, work_overlap):
    """Update topics (K, V) in place by Gauss-Seidel; `total` is Σ_k φ_kw, kept.

    ``φ_kw = N_kw / (a_k + strength · c_kw)`` with ``c_kw = Σ_{k'≠k} φ_k'w``. A topic
    without counts stays.
    """
    n_topics, n_words = counts.shape
    for k in range(n_topics):
        mass = 0.0
        least = np.inf
        for w in range(n_words):
            work_overlap[w] = max(total[w] - topics[k, w], 0.0)
        for w in range(n_words):
            if counts[k, w] > 0.0:
                mass += counts[k, w]
                least = min(least, work_overlap[w])
        if mass <= 0.0:
            continue
        _, t = find_multiplier(counts[k], work_overlap, strength)
        for w in range(n_words):
            value = 0.0
            if counts[k, w] > 0.0:
                value = counts[k, w] / (t + strength * (work_overlap[w] - least))
            topics[k, w] = value
            total[w] = work_overlap[w] + topics[k, w]
