# SPDX-License-Identifier: BSD-3-Clause
"""The sampler from its equations, in plain NumPy: slow and exact.

The kernels are tested against it.

Collapsed Gibbs sampling of LDA (Griffiths and Steyvers 2004) and the left-to-right
evaluation of Wallach et al. (2009).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln

Vector = NDArray[np.float64]
Integers = NDArray[np.integer]


class ExactState:
    """Topics of all tokens and their counts."""

    def __init__(
        self,
        X: sparse.csr_matrix,
        alpha: Vector,
        eta: float,
        rng: np.random.Generator,
    ) -> None:
        repeats = X.data.astype(np.int64)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        self.documents = np.repeat(rows, repeats)
        self.words = np.repeat(X.indices, repeats)
        self.alpha, self.eta, self.rng = alpha, eta, rng
        self.topics = rng.integers(len(alpha), size=len(self.words))
        self.doc_counts = np.zeros((X.shape[0], len(alpha)), dtype=np.int64)
        self.word_counts = np.zeros((X.shape[1], len(alpha)), dtype=np.int64)
        np.add.at(self.doc_counts, (self.documents, self.topics), 1)
        np.add.at(self.word_counts, (self.words, self.topics), 1)

    def conditional(self, i: int) -> Vector:
        """P(z_i = · | rest), all counts without token i."""
        d, w, z = self.documents[i], self.words[i], self.topics[i]
        self.doc_counts[d, z] -= 1
        self.word_counts[w, z] -= 1
        totals = self.word_counts.sum(axis=0) + len(self.word_counts) * self.eta
        weights = (self.doc_counts[d] + self.alpha) * (self.word_counts[w] + self.eta)
        self.doc_counts[d, z] += 1
        self.word_counts[w, z] += 1
        weights /= totals
        return np.asarray(weights / weights.sum())

    def exact_sweep(self) -> float:
        """Draw every token anew given all others; return log P(w, z)."""
        for i in range(len(self.words)):
            new = self.rng.choice(len(self.alpha), p=self.conditional(i))
            for counts, row in (
                (self.doc_counts, self.documents[i]),
                (self.word_counts, self.words[i]),
            ):
                counts[row, self.topics[i]] -= 1
                counts[row, new] += 1
            self.topics[i] = new
        return log_joint(self.doc_counts, self.word_counts, self.alpha, self.eta)


def log_joint(
    doc_counts: Integers, word_counts: Integers, alpha: Vector, eta: float
) -> float:
    """Log P(w, z | α, η) with θ and φ integrated out."""
    documents = gammaln(alpha.sum()) - gammaln(doc_counts.sum(axis=1) + alpha.sum())
    documents += (gammaln(doc_counts + alpha) - gammaln(alpha)).sum(axis=1)
    size = len(word_counts) * eta
    topics = gammaln(size) - gammaln(word_counts.sum(axis=0) + size)
    topics += (gammaln(word_counts + eta) - gammaln(eta)).sum(axis=0)
    return float(documents.sum() + topics.sum())


def left_to_right(
    words: Integers,
    topics: Vector,
    alpha: Vector,
    rng: np.random.Generator,
    n_particles: int,
) -> float:
    """Log P(w | φ, α) of one document, its words in the given order."""
    concentration = alpha.sum()
    predicted = np.zeros(len(words))
    for _ in range(n_particles):
        chosen = np.empty(len(words), dtype=np.int64)
        counts = np.zeros(len(alpha))
        for n, word in enumerate(words):
            for i in range(n):
                counts[chosen[i]] -= 1
                weights = (counts + alpha) * topics[:, words[i]]
                chosen[i] = rng.choice(len(alpha), p=weights / weights.sum())
                counts[chosen[i]] += 1
            weights = (counts + alpha) * topics[:, word]
            predicted[n] += weights.sum() / (n + concentration)
            chosen[n] = rng.choice(len(alpha), p=weights / weights.sum())
            counts[chosen[n]] += 1
    return float(np.log(predicted / n_particles).sum())
