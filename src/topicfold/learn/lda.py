# SPDX-License-Identifier: BSD-3-Clause
"""Ways to learn LDA on the one engine (docs/math.md §2): CVB0, mode, variational."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import psi

from topicfold.core.counts import normalize_rows
from topicfold.core.typing import Array
from topicfold.engine.protocol import (
    DocumentPass,
    Engine,
    Link,
    OwnShare,
    array_module,
    corpus_fingerprint,
)
from topicfold.learn.extrapolation import Extrapolation, Point
from topicfold.learn.priors import (
    alpha_from_draws,
    dirichlet_from_mean_log,
    symmetric_from_mean_log,
)
from topicfold.steps.base import (
    PhiStep,
    StepContext,
    prepare_step,
    topics_value,
    update_topics,
)

PRIOR_EVERY = 5
# How much of a token's own count `Cvb0` leaves out of the counts of its word. Out of
# the document's counts it is left wholly, as the collapsed posterior has it.
OWN_WORD_SHARE = 0.5
# Passes at which Σα is learned from draws; after the first only if it has grown.
MIXING_AT = (10, 15, 20, 25)
# The part of itself by which an extrapolated pass of `Cvb0` may lower its objective,
# which need not rise.
CVB0_SLACK = 1e-4


class _LdaEM:
    """What the two algorithms share.

    State: document parameters ``P = N_dk + α``, topic counts or weights, the ratios
    of the last document pass inside the engine.

    Parameters
    ----------
    engine : Engine
        The corpus.
    phi : ndarray of shape (K, V)
        Start of the topics.
    alpha : ndarray of shape (K,)
        Prior of the documents.
    eta : float
        Prior of the topics.
    doc_updates : int
        Most extra updates of a document in an iteration.
    doc_tol : float
        Change of a mixture that ends its updates.
    learn_priors : bool
        Whether priors follow the data, every `PRIOR_EVERY` iterations: α and η by
        `Variational`, the shares of topics in α by the others.
    """

    link: Link
    parameters: Array
    weights: Array
    extrapolation: Extrapolation | None = None

    def __init__(
        self,
        engine: Engine,
        phi: Array,
        alpha: NDArray[np.float64],
        eta: float,
        *,
        doc_updates: int,
        doc_tol: float,
        learn_priors: bool,
    ) -> None:
        self.engine = engine
        self.alpha = alpha
        self.eta = eta
        self.doc_updates = doc_updates
        self.doc_tol = doc_tol
        self.learn_priors = learn_priors
        self.prior_updates: list[int] = []
        self._iteration = 0
        self._value = -np.inf
        self._pass: DocumentPass | None = None
        self._start(phi)

    def _start(self, phi: Array) -> None:
        raise NotImplementedError

    def _even_documents(self) -> Array:
        engine = self.engine
        shares = (engine.document_lengths / engine.n_topics)[:, None]
        packed = engine.pack_documents(
            np.broadcast_to(shares, (engine.n_documents, engine.n_topics))
        )
        return engine.add_prior(packed, engine.pack_prior(self.alpha), packed)

    def _update_documents(self) -> float:
        """Move the documents under the new topics; return the log-likelihood."""
        self._pass = self.engine.document_pass(
            self.parameters,
            self.weights,
            prior=self.engine.pack_prior(self.alpha),
            out=None if self._pass is None else self._pass.counts,
            **self._pass_options(),
        )
        return self._pass.loglik

    def _pass_options(self) -> dict[str, Any]:
        updates = {"max_updates": self.doc_updates, "tol": self.doc_tol}
        return {"link": self.link, **updates}

    def start(self) -> float:
        """Fold the documents into the starting topics."""
        self._value = self.evaluate()
        return self._value

    def iterate(self) -> float:
        """New topics, then new documents."""
        if self.extrapolation is None:
            self.advance()
            self._value = self.evaluate()
        else:
            self._value = self.extrapolation.iterate(self._value)
        return self._value

    def advance(self) -> None:
        """New topics and documents from the counts of the last pass."""
        self._iteration += 1
        self._update_topics()

    def evaluate(self) -> float:
        """Pass over the documents; return the objective."""
        return self._objective(self._update_documents())

    def _learns_now(self) -> bool:
        now = self.learn_priors and self._iteration % PRIOR_EVERY == 0
        if now:
            self.prior_updates.append(self._iteration)
        return now

    def doc_topics(self) -> Array:
        """Posterior mean mixtures (D, K); uniform where there are no words."""
        theta = self.engine.mixtures(self.parameters)
        theta[self.engine.document_lengths == 0] = 1.0 / self.engine.n_topics
        return theta

    def fingerprint(self) -> dict[str, float]:
        """Tell this corpus from others."""
        return corpus_fingerprint(self.engine)

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs to go on from here."""
        return {
            "topics": self.engine.unpack_topics(self._packed_topics()),
            "totals": self.topic_totals(),
            "documents": self.parameters,
            "alpha": self.alpha,
            "eta": self.eta,
            "iteration": self._iteration,
            "prior_updates": list(self.prior_updates),
            **({} if self.extrapolation is None else self.extrapolation.state()),
        }

    def restore(self, state: dict[str, Any]) -> float:
        """Go on from a `state`; returns the objective there."""
        self.alpha, self.eta = state["alpha"], float(state["eta"])
        self._iteration = int(state["iteration"])
        self.prior_updates = list(state["prior_updates"])
        if (state["totals"] < 0.5 * self.eta).any():
            raise ValueError("totals are below the prior of the topics")
        self.parameters = state["documents"]
        packed = self.engine.pack_topics(state["topics"])
        self._set_topics(packed, state["totals"])
        doc_updates, self.doc_updates = self.doc_updates, 0
        try:
            loglik = self._update_documents()
        finally:
            self.doc_updates = doc_updates
        if self.extrapolation is not None:
            self.extrapolation.restore(state)
        self._value = self._objective(loglik)
        return self._value

    def _packed_topics(self) -> Array:
        """What the topics are made of: themselves, or counts."""
        raise NotImplementedError

    def _set_topics(self, packed: Array, totals: NDArray[np.float64]) -> None:
        raise NotImplementedError

    def free_scratch(self) -> None:
        """Let go of what only another iteration would need."""
        self._pass = self.extrapolation = None

    def topics(self) -> Array:
        """Topics (K, V), rows on the simplex."""
        raise NotImplementedError

    def topic_totals(self) -> NDArray[np.float64]:
        """Tokens of each topic, its prior's included."""
        raise NotImplementedError

    def _update_topics(self) -> None:
        raise NotImplementedError

    def _objective(self, loglik: float) -> float:
        raise NotImplementedError


class PosteriorMode(_LdaEM):
    """CVB0 with the token's own count kept in: EM for the posterior mode.

    It is the EM step for the mode under Dirichlet(α + 1) and Dirichlet(η + 1)
    (Asuncion et al. 2009), so

        ℒ + Σ_dk α_k log θ_dk + η Σ_kw log φ_kw

    never falls while the priors stay as they are. With a φ-step other than the plain
    one (orthogonal topics), it works on N_wk + η and its value is added.
    """

    phi_step: PhiStep | None = None

    link: Link = "identity"

    def _start(self, phi: Array) -> None:
        self.weights = self.engine.pack_topics(phi)
        self._spare = np.empty_like(self.weights)
        self.parameters = self._even_documents()
        tokens = self.engine.document_lengths.sum()
        self._totals = np.full(self.engine.n_topics, tokens / self.engine.n_topics)

    def _update_topics(self) -> None:
        engine = self.engine
        if self._pass is None:
            raise RuntimeError("call start() before iterate()")
        words = engine.word_pass(self.parameters, self.weights, self._spare)
        if self._learns_now():
            self._learn_alpha(self._pass.counts)
        self._totals = engine.topic_totals(words) + self.eta * engine.n_terms
        topics = self._topics_from(words)
        self._spare, self.weights = self.weights, topics
        self._move_documents()

    def _learn_alpha(self, counts: Array) -> None:
        self.alpha = alpha_from_documents(self.engine, counts, self.alpha)

    def _move_documents(self) -> None:
        """The joint M-step: documents move by the same responsibilities."""
        if self._pass is None:
            raise RuntimeError("call start() before iterate()")
        prior = self.engine.pack_prior(self.alpha)
        self.engine.add_prior(self._pass.counts, prior, self.parameters)

    def point(self) -> Point:
        """Return where the next pass begins."""
        return Point(self.parameters, self.weights)

    def move_to(self, point: Point) -> None:
        """Let the next pass begin there."""
        self.parameters, self.weights = point

    def _packed_topics(self) -> Array:
        return self.weights

    def _set_topics(self, packed: Array, totals: NDArray[np.float64]) -> None:
        self.weights, self._totals = packed, totals

    def with_phi_step(self, phi_step: PhiStep) -> Self:
        """Let `phi_step` make the topics; returns self."""
        self.phi_step = phi_step
        self._context = StepContext.of(self.engine, self.weights)
        prepare_step(phi_step, self._context)
        return self

    def _topics_from(self, words: Array) -> Array:
        if self.phi_step is None:
            return self.engine.normalize_topics(words, self.eta, words)
        words[:, : self.engine.n_topics] += words.dtype.type(self.eta)
        return update_topics(self.phi_step, words, self.weights, self._context)

    def _objective(self, loglik: float) -> float:
        if self.phi_step is not None:
            loglik += topics_value(self.phi_step, self.weights, self._context)
        engine = self.engine
        log_theta = engine.log_totals(self.parameters, 0.0)
        log_norm = np.log(engine.document_lengths + self.alpha.sum()).sum()
        value = loglik + self.alpha @ (log_theta - log_norm)
        return float(value + self.eta * engine.log_totals(self.weights, 0.0).sum())

    def free_scratch(self) -> None:
        """Let go of what only another iteration would need."""
        super().free_scratch()
        self._spare = np.empty((0, 0), self.engine.dtype)

    def topics(self) -> Array:
        """Topics (K, V)."""
        return normalize_rows(self.engine.unpack_topics(self.weights))

    def topic_totals(self) -> NDArray[np.float64]:
        """Σ_w N_wk + η."""
        return self._totals


class Cvb0(PosteriorMode):
    """Collapsed variational Bayes of order zero: tokens see counts without their own.

    A token's own count is left out of its document's counts completely, and out of its
    word's counts by `OWN_WORD_SHARE`: on long documents and few topics a word's counts
    without the token fit worse, on short ones and many topics they fit better.

    The objective is ``Σ X_dw log Σ_k θ_dk φ_kw``, the log-likelihood of the training
    words at θ ∝ N_dk + α and φ ∝ N_wk + η. The updates do not maximise it: it rises at
    first and may fall a little later.
    """

    link: Link = "collapsed"
    settles_over = 5
    #: Documents by which Σα is learned, and the threads that sample their topics.
    sample: sparse.csr_matrix | None = None
    n_jobs: int | None = None

    def with_sample(self, sample: sparse.csr_matrix | None, n_jobs: int | None) -> Self:
        """Let Σα grow where documents are more mixed than it says; returns self."""
        self.sample, self.n_jobs = sample, n_jobs
        self._least = float(self.alpha.sum())
        return self

    def _learn_alpha(self, counts: Array) -> None:
        super()._learn_alpha(counts)
        first = self._iteration == MIXING_AT[0]
        grown = self.sample is not None and self.alpha.sum() > 1.001 * self._least
        if self.sample is None or not (first or grown):
            return
        if self._iteration in MIXING_AT:
            topics = self.engine.unpack_topics(self.weights)
            found = alpha_from_draws(self.sample, topics, self.alpha, self.n_jobs)
            self.alpha *= max(self._least, float(found.sum())) / self.alpha.sum()

    def _pass_options(self) -> dict[str, Any]:
        pack = self.engine.pack_prior
        if self._iteration == 0:  # the start has no counts of tokens yet
            return {"link": "identity", "own": OwnShare(pack(0.0), pack(0.0))}
        scale, floor = OWN_WORD_SHARE / self._totals, self.eta / self._totals
        return {"link": self.link, "own": OwnShare(pack(scale), pack(floor))}

    def extrapolated(self) -> Self:
        """Extrapolate the passes; returns self."""
        self.extrapolation = Extrapolation(self, CVB0_SLACK)
        return self

    def moved(self) -> float:
        """Return the mean share of a document's mixture that the last pass moves."""
        if self.extrapolation is None or self._pass is None:
            return 0.0
        documents = self.parameters, self._pass.counts
        (total,) = self.engine.gather_rows(_moved_rows, documents, (self.alpha,))
        return float(total) / max(self.engine.n_documents, 1)

    def _objective(self, loglik: float) -> float:
        return loglik


def _moved_rows(
    rows: slice, lengths: Any, arrays: list[Array], data: Any, alpha: Any
) -> tuple[float]:
    """Return ``½ Σ_dk |θ_dk − θ'_dk|`` of mixtures before and after a pass."""
    before, counts = arrays
    xp = array_module(before)
    after = counts + xp.asarray(alpha.astype(counts.dtype))
    after /= after.sum(axis=1, keepdims=True)
    after -= before / before.sum(axis=1, keepdims=True)
    return (float(xp.abs(after).sum(dtype=np.float64)) / 2,)


class Variational(_LdaEM):
    """Batch variational Bayes (Blei et al. 2003); the objective is the ELBO.

    The bound never falls, even if the priors are learned: they maximise it.
    """

    link: Link = "digamma"

    def _start(self, phi: Array) -> None:
        engine = self.engine
        tokens_per_topic = engine.document_lengths.sum() / engine.n_topics
        self.counts = engine.pack_topics(phi)
        self.counts *= engine.dtype.type(tokens_per_topic)
        self.weights = engine.expected_log_topics(
            self.counts, self.eta, np.empty_like(self.counts)
        )
        self.parameters = self._even_documents()

    def topic_totals(self) -> NDArray[np.float64]:
        """Σ_w λ_kw."""
        prior = self.eta * self.engine.n_terms
        return self.engine.topic_totals(self.counts) + prior

    def _update_topics(self) -> None:
        engine = self.engine
        engine.word_pass(self.parameters, self.weights, self.counts)
        if self._learns_now():
            self._learn_priors()
        engine.expected_log_topics(self.counts, self.eta, self.weights)

    def _packed_topics(self) -> Array:
        return self.counts

    def _set_topics(self, packed: Array, totals: NDArray[np.float64]) -> None:
        self.counts = packed
        self.engine.expected_log_topics(packed, self.eta, self.weights)

    def _learn_priors(self) -> None:
        engine = self.engine
        totals = engine.document_lengths + self.alpha.sum()
        mean_log_theta = (
            engine.digamma_totals(self.parameters, 0.0) - psi(totals).sum()
        ) / engine.n_documents
        self.alpha = dirichlet_from_mean_log(mean_log_theta, self.alpha)
        log_phi = engine.digamma_totals(self.counts, self.eta) - (
            engine.n_terms * psi(self.topic_totals())
        )
        mean_log_phi = float(log_phi.sum()) / (engine.n_topics * engine.n_terms)
        self.eta = symmetric_from_mean_log(mean_log_phi, engine.n_terms, self.eta)

    def _objective(self, loglik: float) -> float:
        engine = self.engine
        prior = engine.pack_prior(self.alpha)
        documents = engine.document_bound(self.parameters, prior)
        return loglik + documents + engine.topic_bound(self.counts, self.eta)

    def free_scratch(self) -> None:
        """Let go of what only another iteration would need."""
        super().free_scratch()
        self.weights = np.empty((0, 0), self.engine.dtype)

    def topics(self) -> Array:
        """Posterior mean topics (K, V)."""
        topics = self.engine.unpack_topics(self.counts)
        topics += topics.dtype.type(self.eta)
        return normalize_rows(topics)


def alpha_from_documents(
    engine: Engine, counts: Array, alpha: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return α by how many documents have a topic, half of it even; its sum stays.

    A topic of which a document has an expected count below one counts as that part of
    a document. The sum is not learned, nor is η, and the best α of a
    Dirichlet-multinomial is not taken: expected counts are spread more evenly than
    counts of tokens, which Gibbs sampling has, and both would follow the spread.
    """
    documents = engine.documents_of_topics(counts)
    shares = documents / documents.sum()
    return np.asarray(alpha.sum() * (shares + 1.0 / len(alpha)) / 2)
