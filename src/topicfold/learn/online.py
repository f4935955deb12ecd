# SPDX-License-Identifier: BSD-3-Clause
"""Learning topics batch by batch: ``λ ← (1 − ρ_t) λ + ρ_t (η + (D/|b|) N_b)``.

What sides learn comes from sums over documents, which are blended like λ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi
from sklearn.utils import check_random_state

from topicfold.core.counts import OuterSum, normalize_rows
from topicfold.core.typing import Array
from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.engine import Link, make_engine
from topicfold.engine.protocol import corpus_fingerprint
from topicfold.exceptions import DataError
from topicfold.infer.fold_in import fold_in, settled
from topicfold.learn.initial import initial_topics
from topicfold.learn.priors import dirichlet_from_mean_log, symmetric_from_mean_log
from topicfold.parts.side_rows import SideRows
from topicfold.parts.steps import (
    Context,
    PhiStep,
    is_plain,
    prepare_step,
    update_topics,
)
from topicfold.parts.together import SideData

# Entries whose likelihood is taken at a time.
BLOCK = 65_536
# Documents on which the objective of a fit in batches is taken, at most.
SAMPLE = 2000


@dataclass
class Stream:
    """What a stream has taught: the word-topic statistics λ, and how much was seen.

    λ are the topics (shares) times their totals. The step is ``ρ_t = (t0 + t)^-κ``,
    with κ the `decay` and t0 the `offset`; `total` is the size of the stream.
    """

    decay: float
    offset: float
    total: int | None
    topics: Array = field(default_factory=lambda: np.zeros((0, 0)))
    totals: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    word_frequencies: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    n_batches: int = 0
    n_documents: int = 0
    tokens: float = 0.0

    def begin(self, batch: Any, n_topics: int, init: Any, seed: Any) -> None:
        """Start the topics by the first batch, and totals if there are none."""
        if not len(self.topics):
            rng = check_random_state(seed)
            topics = initial_topics(batch, n_topics, init, rng)
            self.topics = topics.astype(batch.dtype)
            self.word_frequencies = np.full(batch.shape[1], 1.0 / batch.shape[1])
        if not len(self.totals):
            tokens = float(batch.sum(dtype=np.float64)) * self.scale(batch)
            self.totals = np.full(n_topics, tokens / n_topics)

    def scale(self, batch: Any) -> float:
        """Return how many such batches the stream has."""
        size = batch.shape[0]
        total = self.n_documents + size if self.total is None else self.total
        return max(total, size) / size

    def blend(
        self,
        batch: Any,
        counts: Array,
        prior: float,
        make: Callable[[Array], Array] = normalize_rows,
    ) -> float:
        """Blend in the expected counts (K, V) of a batch; return the step ρ.

        `make` returns topics of statistics.
        """
        self.n_batches += 1
        rho = float((self.offset + self.n_batches) ** -self.decay)
        statistics = self.topics * ((1 - rho) * self.totals[:, None]) + rho * (
            np.maximum(prior + self.scale(batch) * counts, 0)
        )
        self.totals = statistics.sum(axis=1, dtype=np.float64)
        self.topics = make(statistics.astype(batch.dtype))
        tokens = float(batch.sum(dtype=np.float64))
        words = np.asarray(batch.sum(axis=0, dtype=np.float64)).ravel()
        share = tokens / (self.tokens + tokens)
        self.word_frequencies = (
            1 - share
        ) * self.word_frequencies + share * words / tokens
        self.tokens += tokens
        self.n_documents += batch.shape[0]
        return rho


@dataclass
class OnlineLearner:
    """Learns from batches: documents under the topics so far, then the topics.

    Parameters
    ----------
    stream : Stream
        What was learned before.
    alpha, eta : ndarray of shape (K,), float
        Priors of documents and of topics.
    link, phi_step : str, PhiStep or None
        As in `Learner`; here no token's own count is left out.
    learn_priors : bool
        Whether α and η follow the data (the digamma link).
    max_updates, tol : int, float
        Of a document.
    place : dict
        Options of :func:`topicfold.engine.make_engine`.
    """

    stream: Stream
    alpha: NDArray[np.float64]
    eta: float
    link: Link = "identity"
    phi_step: PhiStep | None = None
    learn_priors: bool = False
    max_updates: int = 200
    tol: float = 1e-4
    place: dict[str, Any] = field(default_factory=dict)

    def weights(self) -> Array:
        """What documents see of topics: φ, or exp E[log φ]."""
        if self.link != "digamma":
            return self.stream.topics
        return expected_log_weights(self.stream.topics, self.stream.totals)

    def learn(self, batch: Any, sides: SideData | None = None) -> None:
        """Learn from a batch, and what is known of its documents."""
        n_topics = len(self.stream.topics)
        engine = make_engine(batch, n_topics, dtype=batch.dtype, **self.place)
        weights = engine.pack_topics(self.weights())
        scale, known = self.stream.scale(batch), None
        updates: dict[str, Any] = {"max_updates": self.max_updates, "tol": self.tol}
        if sides is None:
            start: Any = np.broadcast_to(np.ones(1), (batch.shape[0], n_topics))
            if self.alpha.any():
                start = OuterSum(engine.document_lengths / n_topics, self.alpha)
            documents = engine.pack_documents(start)
            prior = engine.pack_prior(self.alpha) if self.alpha.any() else None
            done = engine.document_pass(
                documents, weights, prior=prior, link=self.link, **updates
            )
        else:
            known = SideRows(engine, self._now(sides))
            documents, done = settled(engine, weights, known, self.link, updates)
        words = engine.word_pass(documents, weights, np.empty_like(weights))

        def make(statistics: Array) -> Array:
            if self.phi_step is None or is_plain(self.phi_step):
                return normalize_rows(statistics)
            return self._stepped(engine, weights, statistics)

        counts = engine.unpack_topics(words)
        rho = self.stream.blend(batch, counts, self.eta, make)
        if known is not None:
            first = self.stream.n_batches == 1
            share = 1.0 if first else rho
            known.learn(
                *(done.counts, self.stream.n_batches, self.alpha, self.eta),
                blend=lambda side, sums: _blended(side, sums, share, scale),
            )
        if self.learn_priors and known is None:
            self._learn_priors(engine, documents, rho)

    def _stepped(self, engine: Any, old: Array, statistics: Array) -> Array:
        """Return what the φ-step makes of as many tokens as the batch has."""
        assert self.phi_step is not None
        tokens = engine.document_lengths.sum() / max(float(statistics.sum()), 1e-30)
        packed = engine.pack_topics(statistics * statistics.dtype.type(tokens))
        context = Context.of(engine, old)
        prepare_step(self.phi_step, context)
        topics = update_topics(self.phi_step, packed, old, context)
        return normalize_rows(engine.unpack_topics(topics))

    def _learn_priors(self, engine: Any, documents: Any, rho: float) -> None:
        """Learn α from old and new mean log θ, blended; move η towards the topics'.

        What α says of log θ stands for the documents before: a batch of few documents
        has no best α of its own, one that fits a single document is infinite.
        """
        alpha, eta, stream = self.alpha, self.eta, self.stream
        totals = engine.document_lengths + alpha.sum()
        mean_log = engine.digamma_totals(documents, 0.0) - psi(totals).sum()
        blended = rho * mean_log / engine.n_documents
        blended += (1 - rho) * (psi(alpha) - psi(alpha.sum()))
        self.alpha = dirichlet_from_mean_log(blended, alpha)
        packed = engine.pack_topics(stream.topics * stream.totals[:, None])
        # From below no smaller number than the engine takes.
        log_totals = psi(np.maximum(stream.totals, 1e-9))
        log_phi = engine.digamma_totals(packed, 0.0) - engine.n_terms * log_totals
        size = len(alpha) * engine.n_terms
        best = symmetric_from_mean_log(log_phi.sum() / size, engine.n_terms, eta)
        self.eta = (1 - rho) * eta + rho * best

    def _now(self, sides: SideData) -> SideData:
        return sides.at(self.stream.n_batches, self.alpha, self.eta)

    def mixtures(self, X: Any, sides: SideData | None = None) -> Array:
        """Return the mixtures (D, K) of documents, folded in."""
        return fold_in(
            X,
            self.weights(),
            prior=self.alpha,
            link=self.link,
            sides=None if sides is None else self._now(sides),
            max_iter=self.max_updates,
            tol=self.tol,
            dtype=X.dtype,
            **self.place,
        )


def _blended(
    side: Any, sums: tuple[Any, ...], share: float, scale: float
) -> tuple[Any, ...]:
    """Return sums over the documents so far, the side's own, with those of a batch."""
    before = getattr(side, "_stream_sums", None)
    new = [scale * np.asarray(value, dtype=np.float64) for value in sums]
    if before is not None and len(before) == len(new):
        pairs = zip(before, new, strict=True)
        new = [(1 - share) * old + share * own for old, own in pairs]
    side._stream_sums = new
    return tuple(new)


class OnlineFit:
    """Passes over a corpus in shuffled mini-batches, for the EM driver.

    The recorded objective is the log-likelihood per token of the documents under
    the current topics, on a fixed sample of at most `SAMPLE` documents.
    """

    def __init__(
        self,
        learner: OnlineLearner,
        X: Any,
        batch_size: int,
        *,
        n_topics: int,
        init: Any,
        seed: Any,
        sides: SideData | None = None,
    ) -> None:
        self.learner, self.X, self.sides = learner, X, sides
        self.batch_size = batch_size
        self.start_options = n_topics, init, seed
        self.rng = check_random_state(seed)
        used = np.flatnonzero(np.diff(X.indptr))
        size = min(SAMPLE, len(used))
        rows = np.sort(self.rng.choice(used, size, replace=False))
        self.sample = X[rows]
        self.sample_sides = None if sides is None else sides.rows(rows)
        learner.stream.total = X.shape[0]

    def start(self) -> float:
        """Set up the statistics from the corpus."""
        self.learner.stream.begin(self.X, *self.start_options)
        return self._objective()

    def iterate(self) -> float:
        """One pass over the corpus."""
        for rows, batch in batches_of(self.X, self.batch_size, self.rng):
            if batch.nnz:
                own = None if self.sides is None else self.sides.rows(rows)
                self.learner.learn(batch, own)
        return self._objective()

    def _objective(self) -> float:
        theta = self.learner.mixtures(self.sample, self.sample_sides)
        rows = np.repeat(np.arange(self.sample.shape[0]), np.diff(self.sample.indptr))
        total = 0.0
        phi = np.ascontiguousarray(self.learner.stream.topics.T)
        for first in range(0, len(rows), BLOCK):
            part = slice(first, first + BLOCK)
            p = np.einsum("ik,ik->i", theta[rows[part]], phi[self.sample.indices[part]])
            total += float(self.sample.data[part] @ np.log(np.maximum(p, 1e-30)))
        return total / float(self.sample.sum(dtype=np.float64))

    def fingerprint(self) -> dict[str, Any]:
        """Tell this corpus from others."""
        known = {} if self.sides is None else self.sides.fingerprint()
        tokens = self.X.sum(dtype=np.float64)
        return corpus_fingerprint(self.X.shape, self.start_options[0], tokens) | known

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs: the statistics, and the random numbers'."""
        if self.sides is not None and any(side.learns for side in self.sides.sides):
            raise DataError(
                "Resume cannot save what sides learn in batches. Leave out batch_size "
                "or Resume; Checkpoint saves results during a fit."
            )
        stream, learner = self.learner.stream, self.learner
        values = {f.name: getattr(stream, f.name) for f in fields(stream)[3:]}
        _, keys, position, has_gauss, gauss = self.rng.get_state(legacy=True)
        random = {"keys": keys, "rest": [int(position), int(has_gauss), float(gauss)]}
        return values | {"alpha": learner.alpha, "eta": learner.eta} | random

    def restore(self, state: dict[str, Any]) -> float:
        """Go on from a `state`; returns the objective there."""
        for f in fields(self.learner.stream)[3:]:
            setattr(self.learner.stream, f.name, state[f.name])
        self.learner.alpha, self.learner.eta = state["alpha"], state["eta"]
        position, has_gauss, gauss = state["rest"]
        if not 0 <= position <= len(state["keys"]):
            raise ValueError(f"the random generator has no position {position}")
        self.rng.set_state(
            ("MT19937", state["keys"], int(position), int(has_gauss), gauss)
        )
        return self._objective()

    def topics(self) -> Array:
        """Topics (K, V)."""
        return self.learner.stream.topics

    def doc_topics(self) -> Array:
        """Mixtures (D, K) of the whole corpus, folded in."""
        return self.learner.mixtures(self.X, self.sides)


def batches_of(
    X: Any, size: int, rng: np.random.RandomState
) -> Iterator[tuple[NDArray[np.integer], Any]]:
    """Yield the rows of shuffled mini-batches of `size` documents, and these."""
    if isinstance(X, BlockCorpus):
        yield from X.batches(size, rng)
        return
    order = rng.permutation(X.shape[0])
    for first in range(0, len(order), size):
        rows = np.sort(order[first : first + size])
        yield rows, X[rows]


def expected_log_weights(
    topics: NDArray[np.floating], totals: NDArray[np.float64]
) -> NDArray[np.floating]:
    """Return ``exp E[log φ]`` of Dirichlets with these means and concentrations."""
    lam = topics.astype(np.float64) * totals[:, None]
    log_totals = psi(np.maximum(totals, 1e-30))
    log_weights = psi(np.maximum(lam, 1e-30)) - log_totals[:, None]
    return np.exp(log_weights).astype(topics.dtype)
