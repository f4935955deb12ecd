# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""Burstiness: every document draws words of its own from each topic.

Compound Dirichlet-multinomial topics (Doyle and Elkan 2009), ``φ_dk ~ Dirichlet(s
φ_k)``, by expected counts: a token of word w, which a document has x times, is from
topic k with

    ``γ_k ∝ (N_dk + α_k) (N_dwk + s φ_kw) / (N_dk + s)``,

the token itself left out. N_dwk is (x − 1) γ_k: a fixed point inside one entry of X, so
nothing of size entries × topics is kept.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize_scalar

from topicfold.core.counts import normalize_rows, row_sums
from topicfold.core.jit import inline, kernel
from topicfold.core.saved import SMALLEST
from topicfold.core.threads import n_threads, run_balanced
from topicfold.core.typing import Array

# Steps of the fixed point inside an entry; updates of a document.
ENTRY_STEPS, DOCUMENT_UPDATES = 4, 20
# Strengths that are tried.
WEAKEST, STRONGEST = 1.0, 1e5


@inline
def entry(x, counts, prior, beta, strength, out_gamma):
    """Write γ of an entry of X; return the probability of one of its tokens."""
    n_topics = len(prior)
    total = 0.0
    for k in range(n_topics):
        out_gamma[k] = (counts[k] + prior[k]) * beta[k] / (counts[k] + strength)
    for k in range(n_topics):
        total += out_gamma[k]
    for k in range(n_topics):
        out_gamma[k] /= total
    for _ in range(ENTRY_STEPS if x > 1.0 else 1):
        total = 0.0
        for k in range(n_topics):
            others = max(counts[k] - out_gamma[k], 0.0)
            same = max(x - 1.0, 0.0) * out_gamma[k] + beta[k]
            out_gamma[k] = (others + prior[k]) * same / (others + strength)
        for k in range(n_topics):
            total += out_gamma[k]
        for k in range(n_topics):
            out_gamma[k] /= total
    return total


@kernel
def bursty_documents(first, last, rows, beta, strength, prior, counts, out_loglik):
    """Update N_dk of the documents [first, last); write log p of their tokens.

    Each token given the others of its document.
    """
    indptr, indices, data = rows
    n_topics = len(prior)
    gamma, found = np.empty(n_topics), np.empty(n_topics)
    size = 0.0
    for k in range(n_topics):
        size += prior[k]
    for d in range(first, last):
        length = 0.0
        for i in range(indptr[d], indptr[d + 1]):
            length += data[i]
        for _ in range(DOCUMENT_UPDATES):
            loglik = 0.0
            for k in range(n_topics):
                found[k] = 0.0
            for i in range(indptr[d], indptr[d + 1]):
                w = indices[i]
                mass = entry(data[i], counts[d], prior, beta[w], strength, gamma)
                loglik += data[i] * math.log(mass / max(length - 1.0 + size, size))
                for k in range(n_topics):
                    found[k] += data[i] * gamma[k]
            for k in range(n_topics):
                counts[d, k] = found[k]
            out_loglik[d] = loglik


@kernel
def bursty_predictions(first, last, seen, asked, beta, strength, prior, counts, out_p):
    """Write p(w | d) of the entries `asked` of the documents [first, last).

    ``Σ_k θ_dk (N_dwk + s φ_kw) / (N_dk + s)`` with N_dwk of the tokens `seen`; both
    have a document's words in rising order. Σ_w N_dwk is N_dk, so it sums to one.
    """
    indptr, indices, data = seen
    asked_ptr, asked_words = asked
    n_topics = len(prior)
    gamma, own, theta = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    for d in range(first, last):
        size = 0.0
        for k in range(n_topics):
            own[k] = 0.0
        for i in range(indptr[d], indptr[d + 1]):
            entry(data[i], counts[d], prior, beta[indices[i]], strength, gamma)
            for k in range(n_topics):
                own[k] += data[i] * gamma[k]
        for k in range(n_topics):
            theta[k] = own[k] + prior[k]
        for k in range(n_topics):
            size += theta[k]
        i = indptr[d]
        for j in range(asked_ptr[d], asked_ptr[d + 1]):
            w = asked_words[j]
            while i < indptr[d + 1] and indices[i] < w:
                i += 1
            x = 0.0
            if i < indptr[d + 1] and indices[i] == w:
                x = data[i]
                entry(x, counts[d], prior, beta[w], strength, gamma)
            p = 0.0
            for k in range(n_topics):
                n = x * gamma[k] if x > 0.0 else 0.0
                p += theta[k] * (n + beta[w, k]) / (own[k] + strength)
            out_p[j] = p / size


class BurstyTopics:
    """Topics φ (K, V) of a strength s, α, and what documents are under them."""

    def __init__(
        self, topics: Array, strength: float, prior: Array, n_jobs: int | None = None
    ) -> None:
        beta = np.ascontiguousarray(topics.T, dtype=np.float64) * strength
        self.beta = np.maximum(beta, SMALLEST)  # a word that no topic has
        self.strength = strength
        self.prior = np.asarray(prior, dtype=np.float64)
        self.threads = n_threads(n_jobs)

    def counts(self, X: sparse.csr_matrix) -> tuple[Array, NDArray[np.float64]]:
        """Return N_dk of documents, and their log-likelihood, token by token."""
        rows = X.indptr, X.indices, X.data
        lengths = row_sums(X)
        counts = lengths[:, None] * (self.prior / self.prior.sum())
        loglik = np.zeros(X.shape[0])
        fixed = self.beta, self.strength, self.prior, counts, loglik
        run_balanced(bursty_documents, X.indptr, self.threads, rows, *fixed)
        return counts, loglik

    def mixtures(self, X: sparse.csr_matrix) -> Array:
        """Return θ ∝ N_dk + α_k, uniform for documents without words."""
        theta = self.counts(X)[0] + self.prior
        theta[np.diff(X.indptr) == 0] = 1.0
        return normalize_rows(theta).astype(X.dtype)

    def predictions(
        self, seen: sparse.csr_matrix, asked: sparse.csr_matrix
    ) -> NDArray[np.float64]:
        """Return p(w | d) of the non-zero entries of `asked`, given words seen."""
        counts, _ = self.counts(seen)
        found = np.empty(asked.nnz)
        rows = seen.indptr, seen.indices, seen.data
        wanted = asked.indptr, asked.indices
        fixed = wanted, self.beta, self.strength, self.prior, counts, found
        run_balanced(bursty_predictions, asked.indptr, self.threads, rows, *fixed)
        return found


def best_strength(
    X: sparse.csr_matrix, topics: Array, prior: Array, n_jobs: int | None = None
) -> float:
    """Return s by which the tokens of documents are likeliest, given their others.

    The documents must be new to the topics, which know the bursts of those they are of.
    """

    def loss(log_strength: float) -> float:
        model = BurstyTopics(topics, float(np.exp(log_strength)), prior, n_jobs)
        return -float(model.counts(X)[1].sum())

    bounds = np.log(WEAKEST), np.log(STRONGEST)
    found = minimize_scalar(
        loss, bounds=bounds, method="bounded", options={"xatol": 0.05}
    )
    return float(np.exp(found.x))
