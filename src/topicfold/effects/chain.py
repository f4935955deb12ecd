# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""Draws of mixtures that know the covariates: plausible values of topic shares.

Mixtures of a model are means of a posterior that does not know the covariates. Their
draws are pulled towards one common mean, and so is every effect; mixtures that are too
sharp exaggerate effects instead. Here mixtures are drawn from the model that the
regression itself assumes,

    θ_d ~ Dirichlet(s m_d),   m_d = z_d B,   φ_k ~ Dirichlet(η),

z_d being the row of the design. A Gibbs sampler draws the topic of every token, θ, φ
and B in turn; s and η follow the likelihood of the counts. It starts at the topics of
the fit. What is drawn is the uncertainty of mixtures, topics and effects together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import uint32
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import psi

from topicfold.core.jit import kernel
from topicfold.core.threads import (
    RANGES_PER_THREAD,
    balanced_ranges,
    n_threads,
    one_blas_thread,
    run_ranges,
)
from topicfold.gibbs.fixed_topics import stream_key, uniform
from topicfold.gibbs.tokens import token_words

Floats = NDArray[np.float64]
# A topic's expected share is at least this part of its share in the corpus, whatever
# the line through the shares says of a document.
LEAST_SHARE = 0.02
# Limits of s and η: beyond them the likelihood is flat.
CONCENTRATIONS = (0.02, 1e4)
TOPIC_PRIORS = (1e-4, 10.0)


class MixtureChain:
    """A Gibbs sampler of mixtures whose prior mean is linear in a design.

    Parameters
    ----------
    X : CSR matrix of shape (D, V)
        Whole counts.
    topics : array of shape (K, V)
        φ where the chain starts.
    design : array of shape (D, p)
        Rows z_d; a column of ones alone is a prior that knows no covariates.
    clusters : array of int of shape (D,) or None
        Documents of a cluster are alike: the prior mean is z_d B + u_c, with random
        effects u_c. Without them draws would be less alike within clusters than the
        documents are, and errors of clusters too small.
    concentration, topic_word_prior : float
        s and η where they start.
    sample_topics : bool
        Draw φ too; otherwise it stays as it is.
    seed : int
        Of all random numbers; draws are the same for any number of threads.
    """

    def __init__(
        self,
        X: sparse.csr_matrix,
        topics: NDArray[Any],
        design: Floats,
        *,
        concentration: float,
        topic_word_prior: float,
        clusters: NDArray[np.integer] | None = None,
        sample_topics: bool = True,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.doc_ptr, words = token_words(X, X.indices)
        self.words = words.astype(np.int64)
        self.assigned = np.zeros(len(words), dtype=np.uint32)
        self.topics = np.ascontiguousarray(topics.T, dtype=np.float64)
        self.sample_topics = sample_topics
        self.concentration, self.eta = concentration, topic_word_prior
        self.counts = np.zeros((X.shape[0], len(topics)))
        self.expected = np.full_like(self.counts, 1 / len(topics))
        self.mixtures = self.expected.copy()
        self._prior = _DesignPrior(design, clusters)
        self._rng = np.random.default_rng(seed)
        self._seed, self._sweeps = np.uint64(seed), 0
        self._threads = n_threads(n_jobs)
        self._ranges = balanced_ranges(
            self.doc_ptr, self._threads * RANGES_PER_THREAD
        )  # the same bits for any ranges

    def draws(self, n_draws: int, burn_in: int, spacing: int) -> Iterator[Floats]:
        """Yield θ (D, K), `spacing` sweeps apart, after `burn_in` sweeps."""
        for _ in range(burn_in):
            self.sweep()
        for _ in range(n_draws):
            for _ in range(spacing):
                self.sweep()
            yield self.mixtures

    def sweep(self) -> None:
        """Draw the topics of all tokens, θ, φ and B once."""
        self._assign()
        if self.sample_topics:
            self._draw_topics()
        prior = self.concentration * self.expected
        self.mixtures = dirichlet_rows(self.counts + prior, self._rng)
        with one_blas_thread():
            self.expected = self._prior.draw(self.mixtures, self._rng)
        self.concentration = learned_concentration(
            self.counts, self.expected, self.concentration
        )

    def _assign(self) -> None:
        prior = self.concentration * self.expected
        start = self._sweeps == 0
        run_ranges(
            lambda a, b: draw_assignments(
                a, b, self.doc_ptr, self.words, self.topics, prior, self._seed,
                np.uint64(self._sweeps), start, np.empty(prior.shape[1]),
                self.assigned, self.counts,
            ),
            self._ranges,
            self._threads,
        )  # fmt: skip
        self._sweeps += 1

    def _draw_topics(self) -> None:
        n_terms, size = self.topics.shape
        pairs = self.words * size + self.assigned
        counts = np.bincount(pairs, minlength=n_terms * size).reshape(n_terms, size)
        self.eta = learned_topic_prior(counts, self.eta)
        self.topics = np.ascontiguousarray(
            dirichlet_rows((counts + self.eta).T, self._rng).T
        )


class _DesignPrior:
    """The expected mixtures z_d B + u_c, and B and u given mixtures."""

    def __init__(self, design: Floats, clusters: NDArray[Any] | None = None) -> None:
        self.design = design
        left, sizes, right = np.linalg.svd(design, full_matrices=False)
        self.solve = (right.T / sizes) @ left.T
        self.spread = right.T / sizes  # its square is (Z'Z)⁻¹
        self.free = max(len(design) - design.shape[1], 1)
        self.shifts: Any = 0.0  # u of each document's cluster
        self.clusters = np.zeros(0, np.int64) if clusters is None else clusters
        self.sizes = np.bincount(self.clusters)

    def draw(self, mixtures: Floats, rng: np.random.Generator) -> Floats:
        """Return expected mixtures, B and u drawn; positive rows that sum to one."""
        own = mixtures - self.shifts
        fit = self.solve @ own
        rest = own - self.design @ fit
        values, vectors = np.linalg.eigh(rest.T @ rest / self.free)
        root = np.sqrt(np.maximum(values, 0)) * vectors
        noise = rng.standard_normal((self.design.shape[1], len(values)))
        lines = self.design @ (fit + self.spread @ (noise @ root.T))
        if len(self.clusters):
            self.shifts = self._draw_shifts(mixtures - lines, root, rng)
        least = LEAST_SHARE * mixtures.mean(axis=0)
        return on_simplex(np.maximum(lines + self.shifts, np.maximum(least, 1e-12)))

    def _draw_shifts(
        self, rest: Floats, root: Floats, rng: np.random.Generator
    ) -> Floats:
        """Return u_c of each document, drawn given what B leaves of the mixtures.

        One ratio of variances for all topics, by the analysis of variance, keeps the
        sum of every row.
        """
        n, groups = self.sizes.sum(), len(self.sizes)
        means = np.zeros((groups, rest.shape[1]))
        np.add.at(means, self.clusters, rest)
        means /= self.sizes[:, None]
        within = ((rest - means[self.clusters]) ** 2).sum() / max(n - groups, 1)
        between = (self.sizes[:, None] * means**2).sum() / groups
        apart = max(between - within, 0.0) / (n / groups)
        kept = apart / (apart + within / self.sizes + 1e-300)
        noise = rng.standard_normal(means.shape) @ root.T
        drawn = kept[:, None] * means + np.sqrt(kept / self.sizes)[:, None] * noise
        return np.asarray(drawn[self.clusters])


def learned_concentration(counts: Floats, expected: Floats, s: float) -> float:
    """Return s after a step of Minka's fixed point for Dirichlet-multinomial counts."""
    prior = s * expected
    # Where a topic has no token both digammas are the same.
    some = counts > 0
    gained = expected[some] @ (psi(counts[some] + prior[some]) - psi(prior[some]))
    lengths = counts.sum(axis=1)
    total = np.sum(psi(lengths + s) - psi(s))
    if total <= 0 or gained <= 0:
        return s
    return float(np.clip(s * gained / total, *CONCENTRATIONS))


def learned_topic_prior(counts: NDArray[np.integer], eta: float) -> float:
    """Return η after a step of the fixed point; `counts` are words × topics."""
    found = counts[counts > 0]
    size = len(counts)
    gained = np.sum(psi(found + eta) - psi(eta))
    total = size * np.sum(psi(counts.sum(axis=0) + size * eta) - psi(size * eta))
    return float(np.clip(eta * gained / total, *TOPIC_PRIORS)) if total > 0 else eta


def dirichlet_rows(parameters: NDArray[Any], rng: np.random.Generator) -> Floats:
    """Return a draw from each row's Dirichlet distribution."""
    return on_simplex(np.maximum(rng.standard_gamma(parameters), 1e-300))


def on_simplex(rows: Floats) -> Floats:
    """Return positive rows divided by their sums."""
    return rows / rows.sum(axis=1, keepdims=True)


@kernel
def draw_assignments(
    first, last, doc_ptr, words, topics, prior, seed, sweep, start, scratch,
    out_assigned, out_counts,
):  # fmt: skip
    """Draw the topics of the tokens of the documents [first, last).

    ``P(k) ∝ (N_dk + α_dk) φ_wk``, the token itself not counted; `start` is the first
    sweep, in which only tokens before it are.
    """
    size = prior.shape[1]
    for d in range(first, last):
        key = stream_key(seed, sweep, d)
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            if not start:
                out_counts[d, out_assigned[i]] -= 1.0
            w = words[i]
            for k in range(size):
                scratch[k] = (out_counts[d, k] + prior[d, k]) * topics[w, k]
            total = 0.0
            for k in range(size):
                total += scratch[k]
            u = uniform(key, i - doc_ptr[d]) * total - scratch[0]
            k = 0
            while u >= 0 and k < size - 1:
                k += 1
                u -= scratch[k]
            out_assigned[i] = uint32(k)
            out_counts[d, k] += 1.0
