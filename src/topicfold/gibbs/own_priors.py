# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""Gibbs sampling of documents that have priors of their own, or only some topics.

A prior or a mask (``parts.sides``) gives document d the α_dk of the topics that it may
use, a row of a CSR matrix. A token is drawn by

    ``P(z_i = k | rest) ∝ (N_dk + α_dk)(N_wk + η)/(N_k + Vη)``

over that row, so it costs the topics that its document may use; words of any frequency
have a row of counts. New documents are drawn by ``(N_dk + α_dk) φ_kw``.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numba import uint32
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.counts import normalize_rows
from topicfold.core.jit import lean_kernel
from topicfold.core.threads import n_threads, run_balanced
from topicfold.core.typing import Array
from topicfold.gibbs.fixed_topics import (
    FixedTopics,
    known_words,
    stream_key,
    uniform,
)
from topicfold.gibbs.sampler import CollapsedGibbs
from topicfold.gibbs.sampler_kernels import drawn
from topicfold.gibbs.tokens import Block
from topicfold.parts.sides import learn_from
from topicfold.parts.together import SideData, prior_of, spread

# Sweeps of the burn-in between two times that sides learn.
LEARN_EVERY = 5


class OwnPriors(NamedTuple):
    """α_dk of the topics that documents may use, in the form of a CSR matrix."""

    ptr: NDArray[np.int64]
    topics: NDArray[np.uint32]
    alpha: NDArray[np.float64]

    @classmethod
    def of(cls, sides: SideData) -> OwnPriors:
        """Return what the prior and the mask of a model say of documents."""
        context, allowed = sides.context, sides.allowed()
        n_documents, n_topics = context.n_documents, context.n_topics
        own: Any = context.alpha
        for side, data in sides.of("prior"):
            own = prior_of(side, data, context)
        prior = np.broadcast_to(own, (n_documents, n_topics))
        if allowed is None:
            ptr = np.arange(n_documents + 1, dtype=np.int64) * n_topics
            topics = np.tile(np.arange(n_topics, dtype=np.uint32), n_documents)
            return cls(ptr, topics, prior.astype(np.float64).ravel())
        rows = np.repeat(np.arange(n_documents), np.diff(allowed.indptr))
        topics = allowed.indices.astype(np.uint32)
        alpha = prior[rows, topics] * spread(allowed)[rows]
        return cls(allowed.indptr.astype(np.int64), topics, alpha.astype(np.float64))

    def mixtures(self, sums: Array, n_samples: int) -> Array:
        """Return θ (D, K): counts of `n_samples` and their priors, normalised."""
        theta = sums / n_samples
        rows = np.repeat(np.arange(len(theta)), np.diff(self.ptr))
        theta[rows, self.topics] += self.alpha
        return normalize_rows(theta)


class SidedGibbs(CollapsedGibbs):
    """The chain of documents with priors of their own; α is theirs and not learned."""

    fewest = 0

    def __init__(
        self,
        X: sparse.csr_matrix,
        alpha: NDArray[np.float64],
        eta: float,
        sides: SideData,
        **options: Any,
    ) -> None:
        self.sides = sides.at(0, alpha, eta)
        for side, data in self.sides.pairs():
            side.prepare(data, self.sides.context)
        self.own = OwnPriors.of(self.sides)
        super().__init__(X, alpha, eta, **options)

    def _own_topics(self) -> tuple[NDArray[Any], ...]:
        return self.own.ptr[:-1], self.own.ptr[1:], self.own.topics, self.own.alpha

    def iterate(self) -> float:
        """One sweep; in the burn-in, sides learn from the counts of documents."""
        objective = super().iterate()
        if self.n_sweeps <= self.burn_in and self.n_sweeps % LEARN_EVERY == 0:
            self._learn_sides()
        return objective

    def _learn_sides(self) -> None:
        learning = [pair for pair in self.sides.of("prior") if pair[0].learns]
        self.sides = self.sides.at(self.n_sweeps, self.alpha, self.eta)
        for side, data in learning:
            shape = self.tokens.n_documents, len(self.alpha)
            counts = self._add_documents(np.zeros(shape, dtype=np.float32))
            context = self.sides.context
            sums = functools.partial(side.gather, counts, data, context)
            learn_from(side, sums, context)
            self.own = OwnPriors.of(self.sides)

    def finish(self) -> None:
        """Let sides learn what needs the end alone."""
        counts = self._summed()[1] / max(self.n_samples, 1)
        self.sides = self.sides.at(self.n_sweeps, self.alpha, self.eta, last=True)
        context = self.sides.context
        for side, data in self.sides.pairs():
            if side.learns_last:
                sums = functools.partial(side.gather, counts, data, context)
                learn_from(side, sums, context)
            side.finish(context)

    def _learn_alpha(self) -> None:
        """Documents have their own."""

    def _sample(self, block: Block) -> None:
        n_topics, size = len(self.alpha), self.tokens.n_terms * self.eta
        corpus, sweep = self.corpus(block), self.n_sweeps + 1
        self._over_documents(
            block,
            lambda a, b: sample_own_documents(
                a, b, corpus, self.rows, self.totals, self.own, self.eta, size,
                self.seed, sweep, np.zeros(n_topics), np.empty(n_topics),
                self.doc_loglik,
            ),
        )  # fmt: skip
        self._recount(block, counted=True)

    def _documents_value(self) -> float:
        return float(self.doc_loglik.sum())

    def doc_topics(self) -> Array:
        """θ (D, K), posterior mean given the samples; without words, of the prior."""
        theta = self.own.mixtures(self._summed()[1], max(self.n_samples, 1))
        return theta.astype(self.dtype)


def own_mixtures(
    X: sparse.csr_matrix,
    topics: Array,
    own: OwnPriors,
    *,
    burn_in: int,
    n_samples: int,
    seed: int,
    n_jobs: int | None = None,
) -> Array:
    """Return θ (D, K) of documents with priors of their own, the topics being fixed.

    As ``fixed_topics.gibbs_mixtures``; without words, the mean of a document's prior.
    """
    parts = FixedTopics.arrange(known_words(X, topics), topics, np.zeros(len(topics)))
    plan = (np.uint64(seed), burn_in, n_samples)
    longest = int(np.diff(parts.doc_ptr).max(initial=0))
    sums = np.zeros((X.shape[0], len(topics)))

    def sample(a: int, b: int) -> None:
        scratch = np.zeros(len(topics)), np.empty(len(topics)), np.empty(longest, "u4")
        fixed = parts.doc_ptr, parts.words, parts.rows, own, plan, parts.keys
        sample_own_mixtures(a, b, *fixed, scratch, sums)

    run_balanced(sample, parts.doc_ptr, n_threads(n_jobs))
    return own.mixtures(sums, n_samples).astype(X.dtype)


@lean_kernel
def sample_own_documents(
    first, last, corpus, rows, totals, own, eta, size, seed, sweep, counts, work,
    out_loglik,
):  # fmt: skip
    """Draw topics for the documents [first, last) of a block; keep the old ones.

    `size` is Vη. Also writes each document's log P(z).
    """
    doc_ptr, words, topics, old, block_begin = corpus
    ptr, own_topics, alpha = own
    for d in range(first, last):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        a, b = ptr[d], ptr[d + 1]
        for i in range(begin, end):
            counts[uint32(topics[i])] += 1.0
        key = stream_key(seed, sweep, d)
        for i in range(begin, end):
            w = words[i]
            z = uint32(topics[i])
            counts[z] -= 1.0
            for j in range(a, b):
                k = own_topics[j]
                itself = 1.0 if k == z else 0.0
                weight = (rows[w, k] - itself + eta) / (totals[k] - itself + size)
                work[j - a] = (counts[k] + alpha[j]) * weight
            k = own_topics[drawn(uniform(key, i - begin), a, b, work)]
            counts[k] += 1.0
            old[i - block_begin] = z
            topics[i] = k
        loglik = 0.0
        total = 0.0
        for j in range(a, b):
            n = counts[own_topics[j]]
            total += alpha[j]
            if n > 0.0:
                loglik += math.lgamma(n + alpha[j]) - math.lgamma(alpha[j])
        if end > begin:
            loglik += math.lgamma(total) - math.lgamma(end - begin + total)
        out_loglik[d] = loglik
        for j in range(a, b):
            counts[own_topics[j]] = 0.0


@lean_kernel
def sample_own_mixtures(
    first, last, doc_ptr, words, rows, own, plan, keys, scratch, out_sums
):  # fmt: skip
    """Add N_dk of `plan`'s samples to the rows [first, last) of `out_sums`.

    As ``fixed_topics.sample_mixtures``, over the topics that documents may use.
    """
    seed, burn_in, n_samples = plan
    ptr, own_topics, alpha = own
    counts, work, topics = scratch
    for d in range(first, last):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        a, b = ptr[d], ptr[d + 1]
        for sweep in range(burn_in + n_samples + 1):
            key = stream_key(seed, sweep, keys[d])
            for i in range(end - begin):
                if sweep > 0:
                    counts[topics[i]] -= 1.0
                w = words[begin + i]
                for j in range(a, b):
                    k = own_topics[j]
                    work[j - a] = (counts[k] + alpha[j]) * rows[w, k]
                k = own_topics[drawn(uniform(key, i), a, b, work)]
                topics[i] = k
                counts[k] += 1.0
            if sweep > burn_in:
                for j in range(a, b):
                    out_sums[d, own_topics[j]] += counts[own_topics[j]]
        for j in range(a, b):
            counts[own_topics[j]] = 0.0
