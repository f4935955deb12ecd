# SPDX-License-Identifier: BSD-3-Clause
"""Other links of the learner (docs/math.md §2): CVB0 and variational Bayes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from topicfold.core.counts import normalize_rows
from topicfold.core.typing import Array
from topicfold.engine.protocol import Link, OwnShare
from topicfold.learn.learner import Learner
from topicfold.learn.loop import Extrapolation, Point
from topicfold.learn.priors import dirichlet_from_mean_log, symmetric_from_mean_log
from topicfold.learn.rearranging import AT

# The part of itself by which an extrapolated pass of `Cvb0` may lower its objective,
# which need not rise.
CVB0_SLACK = 1e-4
# The same of `LeftOut`: with more, the covariance of correlated topics never settles.
LEFT_OUT_SLACK = 1e-6
# After the last look at the topics, mixtures may move by so many times more when a fit
# ends. RMSE of drawn mixtures and passes (6 draws of the settings of
# benchmarks/mixtures.py): 3 .140, 46; 1.5 .138, 57; 1 .135, 67.
AFTER_LOOKS = 1.5
# Tokens of a topic that has lost all.
SMALLEST_TOTAL = 1e-30


class Cvb0(Learner):
    """Collapsed variational Bayes of order zero: tokens see counts without their own.

    A token's own count is left out of its document's counts completely, as
    ``c p_k e_dk`` and never below ``α_dk e_dk``, and out of its word's counts by
    `own_word_share`: where most words are rare, topics of counts without the token fit
    new documents worse than with half of it.

    The objective is ``Σ X_dw log Σ_k θ_dk φ_kw``, the log-likelihood of the training
    words at θ ∝ N_dk + α and φ ∝ N_wk + η. The updates do not maximise it: it rises at
    first and may fall a little later.
    """

    link: Link = "collapsed"
    settles_over = 5

    def _pass_options(self) -> dict[str, Any]:
        documents = None if self.known is None else self.known.own
        if self._iteration > 0:
            own: OwnShare | None = self._own_share()
            return {"link": self.link, "own": own, "documents": documents}
        # The start has no counts of tokens yet.
        nothing = self.engine.pack_prior(0.0)
        own = OwnShare(nothing, nothing) if self.known is None else None
        return {"link": "identity", "own": own, "documents": documents}

    def extrapolated(self) -> Self:
        """Extrapolate the passes; returns self.

        Documents that may use some of the topics only go on as they are.
        """
        if self.known is None or self.known.allowed is None:
            self.extrapolation = Extrapolation(self, CVB0_SLACK)
        return self

    def moved(self) -> float:
        """Return the mean share of a document's mixture that the last pass moves.

        Less, by `AFTER_LOOKS`, once no more topics are merged or split.
        """
        settled = self.sample is not None and self._iteration > AT[-1]
        return super().moved() / (AFTER_LOOKS if settled else 1.0)

    def _priors_value(self) -> float:
        return 0.0


class LeftOut(Learner):
    """EM with a part of a token's own count left out of its word's counts.

    Topics then fit the words of new documents better (see `Cvb0`); in its document, a
    token's count stays. The objective need not rise all the way. The φ-step makes
    topics as ``(N_wk + η) / (N_k + Vη)``, with η the `word_prior`.
    """

    def __init__(self, *args: Any, word_prior: float, **options: Any) -> None:
        super().__init__(*args, **options)
        self.word_prior = word_prior
        shape = self.engine.n_documents, self.engine.n_topics
        self._kept = self.engine.pack_documents(np.broadcast_to(np.zeros(1), shape))

    def _pass_options(self) -> dict[str, Any]:
        if self._iteration == 0:  # the start has no counts of tokens yet
            return super()._pass_options()
        kept = OwnShare(self._kept, self._kept)
        return {"link": "collapsed", "own": self._own_share(), "documents": kept}

    def extrapolated(self) -> Self:
        """Extrapolate the passes, whatever the steps; returns self."""
        self.extrapolation = Extrapolation(self, LEFT_OUT_SLACK)
        return self

    def moved(self) -> float:
        """Return 0, or infinity while what the θ-step learns still changes.

        Mixtures at their modes are not the shares that the last pass expects.
        """
        return np.inf if self.theta_step.moving else 0.0

    def free_scratch(self) -> None:
        """Let go of what only another iteration would need."""
        super().free_scratch()
        self._kept = np.empty((0, 0), self.engine.dtype)


class Variational(Learner):
    """Batch variational Bayes (Blei et al. 2003); the objective is the ELBO.

    The bound never falls, even if the priors are learned: they maximise it.
    """

    link: Link = "digamma"
    # With sides: (N + α) e, of which the documents' weights are made.
    _weighted: Any = None

    def _start_documents(self) -> None:
        super()._start_documents()
        if self.known is not None:
            self._weighted = self.documents
            self.documents = self.known.expected(self._weighted)

    def _pass_options(self) -> dict[str, Any]:
        return super()._pass_options() if self.known is None else {}

    def _start_topics(self, phi: Array) -> None:
        super()._start_topics(phi)
        #: Expected counts of words, λ without η.
        self.counts = self.weights
        self.counts *= self.engine.dtype.type(self._totals[0])
        self.weights = self._spare_topics
        self._spare_topics = self.counts
        self.engine.expected_log_topics(self.counts, self.eta, self.weights)

    def topic_totals(self) -> NDArray[np.float64]:
        """Σ_w λ_kw."""
        prior = self.eta * self.engine.n_terms
        return self.engine.topic_totals(self.counts) + prior

    def _set_topics(self, words: Array) -> None:
        self.engine.expected_log_topics(self.counts, self.eta, self.weights)

    def _move_documents(self, counts: Any) -> None:
        """Documents have been moved in the last pass, and will be in the next.

        Not so with sides: the engine knows no evidence with this link.
        """
        self._spare_documents = counts
        if self.known is not None:
            self.known.learn(counts, self._iteration, self.alpha, self.eta)
            self._weighted = self.known.weights(counts, counts, None)
            self.documents = self.known.expected(self._weighted)

    def extrapolated(self) -> Self:
        """Extrapolate the passes, unless there are sides; returns self."""
        if self.known is None:
            self.extrapolation = Extrapolation(self)
        return self

    def point(self) -> Point:
        """Return where the next pass begins: topics are λ without η."""
        return Point(self.documents, self.counts)

    def move_to(self, point: Point) -> None:
        """Let the next pass begin there, with as many tokens in a topic as now."""
        topics, totals = point.topics, self.engine.topic_totals(self.counts)
        reached = np.maximum(self.engine.topic_totals(topics), SMALLEST_TOTAL)
        topics *= self.engine.pack_prior(totals / reached)
        self.documents = point.documents
        self._adopt_topics(topics)
        self._take_topics()

    def _packed_topics(self) -> Array:
        return self.counts

    def _adopt_topics(self, packed: Array) -> None:
        self.counts = self._spare_topics = packed
        self.engine.expected_log_topics(packed, self.eta, self.weights)

    def _learn_priors(self, counts: Any, words: Array) -> None:
        engine = self.engine
        totals, documents = engine.document_lengths + self.alpha.sum(), self.documents
        if self.known is not None:
            documents = self.known.without_evidence(self._weighted)
        mean_log_theta = (
            engine.digamma_totals(documents, 0.0) - psi(totals).sum()
        ) / engine.n_documents
        self.alpha = dirichlet_from_mean_log(mean_log_theta, self.alpha)
        log_phi = engine.digamma_totals(self.counts, self.eta) - (
            engine.n_terms * psi(self.topic_totals())
        )
        mean_log_phi = float(log_phi.sum()) / (engine.n_topics * engine.n_terms)
        self.eta = symmetric_from_mean_log(mean_log_phi, engine.n_terms, self.eta)

    def _priors_value(self) -> float:
        engine = self.engine
        if self.known is None:
            prior = engine.pack_prior(self.alpha)
            documents = engine.document_bound(self.documents, prior)
        else:
            rows = self._weighted, self.documents, self._counted().counts
            documents = self.known.bound(*rows, self.alpha)
        return documents + engine.topic_bound(self.counts, self.eta)

    def doc_topics(self) -> Array:
        """Posterior means (D, K)."""
        if self.known is None:
            return super().doc_topics()
        return self.known.doc_topics(self._weighted)

    def keep_results(self) -> None:
        """Give every side what was learned for it."""
        self.documents = self._weighted
        super().keep_results()

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs; with sides, what weights are made of."""
        own = {} if self.known is None else {"documents": self._weighted}
        return super().state() | own

    def _adopt_documents(self, packed: Any) -> None:
        super()._adopt_documents(packed)
        if self.known is not None:
            self._weighted, self.documents = packed, self.known.expected(packed)

    def free_scratch(self) -> None:
        """Let go of what only another iteration would need."""
        super().free_scratch()
        self.weights = np.empty((0, 0), self.engine.dtype)

    def topics(self) -> Array:
        """Posterior mean topics (K, V)."""
        topics = self.engine.unpack_topics(self.counts)
        topics += topics.dtype.type(self.eta)
        return normalize_rows(topics)
