# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""Draws of topics, and shares of documents in them that no prior has biased.

Mixtures of a model are pulled by a prior: towards its mean, so that effects come out
too small, or towards the corners, so that they come out too large. A prior with the
covariates only corrects this if the mixtures really follow it. But for given topics φ
the expected frequencies of a document's words are linear in its mixture,

    E[f_d] = θ_d φ,   so that   E[f_d A] = θ_d   for every A with φ A = I,

whatever the mixtures are. `unbiased_shares` takes the A with the least variance,
``A = D⁻¹ φ' (φ D⁻¹ φ')⁻¹`` with the mean frequencies of words in D. The noise of short
documents is in the residuals of the regression, so its standard errors include it. The
topics are uncertain, too. `TopicChain` is a Gibbs sampler of them: in turn it draws the
topic of every token, with mixtures integrated out, and φ; the priors are learned from
the likelihood of the counts. The prior of φ_k is even, plus what the other topics have
in common: with an even one alone, words that all topics use, as in all real texts,
gather in one topic and take their part of the shares of all others. The sampler starts
at the topics of the fit and uses no covariate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import psi

from topicfold.core.counts import normalize_rows, pair_counts, token_words
from topicfold.core.threads import n_threads, one_blas_thread, run_balanced
from topicfold.core.typing import Doubles
from topicfold.gibbs.pairs import draw_tokens
from topicfold.phi.slices import add_rows

Progress = Callable[[int, int], None]
# Limits of the priors: beyond them the likelihood is flat.
DOCUMENT_PRIORS = (1e-4, 1e3)
TOPIC_PRIORS = (1e-4, 10.0)
MOST_SHARED = 1e6
# Cosine from which two topics are one subject (`same_words`). Of subjects in two pieces
# it was 0.50 to 0.89 on planted corpora; of other topics at most 0.36, on four real
# corpora 0.42. While there are such pairs, `burn_in` is repeated, up to so many times
# in all (benchmarks/results/effects_designs.md, mixtures.md).
SAME_WORDS = 0.45
MOST_ROUNDS = 4
# Steps of EM for the mean mixture, and its least share.
_MEAN_STEPS = 50
_LEAST_MEAN = 1e-4
# Topics that are this nearly a sum of others get no share of their own.
_SAME = 1e-8


def unbiased_shares(counts: sparse.csr_matrix, topics: NDArray[Any]) -> Doubles:
    """Return shares (D, K) whose expectations are the mixtures, given the topics.

    Rows sum to one; single shares may be negative. Every document and word has counts.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> topics = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    >>> words = sparse.csr_matrix([[2.0, 4.0, 2.0], [4.0, 4.0, 0.0]])
    >>> unbiased_shares(words, topics).round(6)
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    frequencies = sparse.csr_matrix(sparse.diags(1 / lengths) @ counts)
    with one_blas_thread():
        mean = np.asarray(frequencies.mean(axis=0)).ravel()
        share = np.full(len(topics), 1 / len(topics))
        for _ in range(_MEAN_STEPS):
            share = np.maximum(share * (topics @ (mean / (share @ topics))), 1e-12)
        share = np.maximum(share, _LEAST_MEAN)
        weighted = topics / (share @ topics)
        gram = np.linalg.pinv(weighted @ topics.T, rcond=_SAME, hermitian=True)
        return np.asarray(frequencies @ (weighted.T @ gram))


class TopicChain:
    """A Gibbs sampler of topics, from whole counts X (D, V).

    It starts at positive topics φ (K, V), α (K,) and an even η. Draws depend on `seed`
    and not on the number of threads.
    """

    def __init__(
        self,
        X: sparse.csr_matrix,
        topics: NDArray[Any],
        *,
        doc_topic_prior: Doubles,
        topic_word_prior: float,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.doc_ptr, words = token_words(X, X.indices)
        self.words = words.astype(np.int64)
        self._documents = np.repeat(np.arange(X.shape[0]), np.diff(self.doc_ptr))
        self.assigned = np.zeros(len(words), dtype=np.int32)
        self.topics = np.ascontiguousarray(topics.T, dtype=np.float64)
        self.alpha = doc_topic_prior
        half = topic_word_prior / 2
        self.prior = TopicPrior(half, half * self.topics.shape[0])
        self.counts = np.zeros((X.shape[0], len(topics)), dtype=np.int64)
        self.frequencies = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
        self._rng = np.random.default_rng(seed)
        self._seed, self._sweeps = np.uint64(seed), 0
        self._threads = n_threads(n_jobs)

    def draws(
        self,
        n_draws: int,
        burn_in: int,
        spacing: int,
        on_progress: Progress | None = None,
    ) -> Iterator[Doubles]:
        """Yield φ (K, V), `spacing` sweeps apart, after `burn_in` sweeps.

        While two topics are one subject, there are more of these: another subject has
        no topic then, and the sampler finds it, though it may take long. `on_progress`
        is called with the sweeps done, and those in all as far as is known.
        """
        in_all = n_draws * spacing

        def sweep() -> None:
            self.sweep()
            if on_progress is not None:
                on_progress(self._sweeps, in_all)

        for _ in range(MOST_ROUNDS):
            total = np.zeros_like(self.topics)
            in_all += burn_in
            for _ in range(burn_in):
                sweep()
                total += self.topics
            if not same_words(total.T, self.frequencies).any():
                break
        for _ in range(n_draws):
            for _ in range(spacing):
                sweep()
            yield self.topics.T

    def sweep(self) -> None:
        """Draw the topics of all tokens and φ once, and update the priors."""
        self._assign()
        self.alpha = learned_document_prior(self.counts, self.alpha)
        self._draw_topics()

    def _assign(self) -> None:
        sweeps = self._sweeps, self._sweeps + 1
        tokens = self.doc_ptr, self.words, self.topics, self.alpha
        plan = self._seed, sweeps, self.assigned
        run_balanced(draw_tokens, self.doc_ptr, self._threads, *tokens, *plan)
        self.counts = pair_counts(self._documents, self.assigned, self.counts.shape)
        self._sweeps += 1

    def _draw_topics(self) -> None:
        counts = pair_counts(self.words, self.assigned, self.topics.shape)
        self.prior, eta = self.prior.learned(counts)
        self.topics = np.ascontiguousarray(
            dirichlet_rows((counts + eta).T, self._rng).T
        )


class GroupedChain(TopicChain):
    """The same where each group of documents has its own words for a topic.

    A column of X and of the topics is a pair of a word and a group, `pairs` says of
    which. ``φ ~ Dirichlet(N_w + η)`` is common, ``φ_g ~ Dirichlet(N_gw + κ φ)`` that of
    a group, with the tokens κ that tie it to the common one.
    """

    def __init__(
        self, X: sparse.csr_matrix, topics: Doubles, *, pairs: Pairs, **options: Any
    ) -> None:
        super().__init__(X, topics, **options)
        self.pairs = pairs

    def _draw_topics(self) -> None:
        pairs = self.pairs
        counts = pair_counts(self.words, self.assigned, self.topics.shape)
        by_word = pairs.sums(pairs.words, counts)
        self.prior, eta = self.prior.learned(by_word)
        common = dirichlet_rows((by_word + eta).T, self._rng).T
        own = counts + pairs.strength * common[pairs.words]
        drawn = np.maximum(self._rng.standard_gamma(own), 1e-300)
        self.topics = pairs.normalized(drawn)


@dataclass(frozen=True)
class Pairs:
    """Pairs of a word and a group of documents, the columns of a wider matrix."""

    words: NDArray[np.int64]
    groups: NDArray[np.int64]
    documents: NDArray[np.int64]  # the group of each document
    strength: float  # κ

    @staticmethod
    def sums(places: NDArray[np.int64], rows: NDArray[Any]) -> Doubles:
        """Return the sums of rows (pairs, K) by word or group."""
        total = np.zeros((int(places.max()) + 1, rows.shape[1]))
        add_rows(places, np.ones(len(places)), rows.astype(np.float64), total)
        return total

    def normalized(self, topics: Doubles) -> Doubles:
        """Return topics (pairs, K) that sum to one in every group."""
        totals = self.sums(self.groups, topics)
        return np.ascontiguousarray(topics / totals[self.groups])

    def shares(self, counts: sparse.csr_matrix, topics: NDArray[Any]) -> Doubles:
        """Return the documents' shares in the topics (K, pairs) of their groups."""
        out = np.empty((counts.shape[0], len(topics)))
        for group in np.unique(self.documents):
            rows = np.flatnonzero(self.documents == group)
            columns = np.flatnonzero(self.groups == group)
            out[rows] = unbiased_shares(counts[rows][:, columns], topics[:, columns])
        return out


def learned_document_prior(counts: NDArray[Any], alpha: Doubles) -> Doubles:
    """Return α after a step of Minka's fixed point for Dirichlet-multinomial counts."""
    # Where a topic has no token both digammas are the same.
    rows, columns = np.nonzero(counts)
    found = psi(counts[rows, columns] + alpha[columns]) - psi(alpha)[columns]
    gained = np.bincount(columns, found, minlength=len(alpha))
    sizes, n_documents = np.unique(counts.sum(axis=1), return_counts=True)
    total = n_documents @ (psi(sizes + alpha.sum()) - psi(alpha.sum()))
    if total <= 0:
        return alpha
    return np.clip(alpha * gained / total, *DOCUMENT_PRIORS)


class TopicPrior(NamedTuple):
    """``η_wk = even + shared · (mean share of w in the other topics)``, in tokens.

    Other topics than k: with k itself among them its own words would seem shared.
    """

    even: float
    shared: float

    def of(self, counts: NDArray[Any]) -> Doubles:
        """Return η (V, K) beside counts (V, K) of two or more topics."""
        return self.even + self.shared * _shares_elsewhere(counts)

    def learned(self, counts: NDArray[Any]) -> tuple[TopicPrior, Doubles]:
        """Return the prior after a step of the fixed point, and its η.

        Of the likelihood of each topic's counts given the other topics: what the counts
        of a word add to it is split between both parts as η is.
        """
        elsewhere, eta = _shares_elsewhere(counts), self.of(counts)
        places = np.nonzero(counts)
        own = eta[places]
        gained = psi(counts[places] + own) - psi(own)
        sizes = eta.sum(axis=0)
        total = np.sum(psi(counts.sum(axis=0) + sizes) - psi(sizes))
        if total <= 0:
            return self, eta
        even = self.even * gained.sum() / (len(counts) * total)
        shared = self.shared * (gained @ elsewhere[places]) / total
        found = TopicPrior(
            float(np.clip(even, *TOPIC_PRIORS)), float(min(shared, MOST_SHARED))
        )
        return found, found.of(counts)


def _shares_elsewhere(counts: NDArray[Any]) -> Doubles:
    shares = counts / np.maximum(counts.sum(axis=0), 1)
    own = shares.sum(axis=1, keepdims=True) - shares
    return np.asarray(np.maximum(own, 0.0) / max(counts.shape[1] - 1, 1))


def same_words(topics: Doubles, frequencies: Doubles) -> NDArray[np.bool_]:
    """Return which pairs of topics (K, V) are one subject, the first before the second.

    By the cosine of their words, each divided by the root of its frequency and without
    what all topics have in common: else common words would make all pairs alike.
    """
    rows = topics / np.sqrt(np.maximum(frequencies, 1))
    if len(rows) > 2:
        rows = rows - rows.min(axis=0)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    with one_blas_thread():
        cosines = rows @ rows.T
    return np.asarray(np.triu(cosines > SAME_WORDS, 1))


def dirichlet_rows(parameters: NDArray[Any], rng: np.random.Generator) -> Doubles:
    """Return a draw from each row's Dirichlet distribution."""
    drawn = np.maximum(rng.standard_gamma(parameters), 1e-300)
    return np.asarray(normalize_rows(drawn))
