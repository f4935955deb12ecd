# SPDX-License-Identifier: BSD-3-Clause
"""Learning LDA's priors: asymmetric α, symmetric η."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln, polygamma, psi

from topicfold.core.counts import SMALLEST_PRIOR
from topicfold.core.typing import Array

Vector = NDArray[np.float64]
# Of Σα by sampling: documents, the most tokens of each, draws, sweeps before each, and
# steps of the fixed point after each.
SAMPLE_DOCUMENTS = 200
SAMPLE_TOKENS = 100
DRAWS = 5
SWEEPS = 3
STEPS = 20


def dirichlet_from_mean_log(mean_log: Vector, start: Vector) -> Vector:
    """Maximum likelihood Dirichlet with given mean of log θ, by Newton's method.

    Minka (2000): the Hessian is a diagonal plus a constant, so a step costs O(K). A
    step that leaves the domain or lowers the likelihood is halved.
    """
    alpha = start.astype(np.float64).copy()
    if len(alpha) == 1:
        return alpha  # the share of an only topic is 1 under any prior

    def likelihood(alpha: Vector) -> float:
        sizes = gammaln(alpha.sum()) - gammaln(alpha).sum()
        return float(sizes + (alpha - 1.0) @ mean_log)

    for _ in range(100):
        total = alpha.sum()
        gradient = psi(total) - psi(alpha) + mean_log
        diagonal = -polygamma(1, alpha)
        constant = polygamma(1, total)
        offset = (gradient / diagonal).sum() / (1.0 / constant + (1.0 / diagonal).sum())
        step = (gradient - offset) / diagonal
        size = 1.0
        least = likelihood(alpha)
        least -= 1e-12 * abs(least)  # rounding is no fall
        while size > 1e-6:
            moved = alpha - size * step
            if (moved > SMALLEST_PRIOR / 10).all() and likelihood(moved) >= least:
                break
            size *= 0.5
        alpha = np.maximum(alpha - size * step, SMALLEST_PRIOR)
        if np.abs(size * step).max() <= 1e-8 * alpha.max():
            break
    return alpha


def symmetric_from_mean_log(mean_log: float, size: int, start: float) -> float:
    """Maximum likelihood η of a symmetric Dirichlet over `size` words."""
    log_eta = np.log(start)
    for _ in range(100):
        eta = np.exp(log_eta)
        gradient = psi(size * eta) - psi(eta) + mean_log
        curvature = size * polygamma(1, size * eta) - polygamma(1, eta)
        # Newton on log η, where the likelihood is concave enough to behave.
        slope = gradient * eta
        bend = curvature * eta**2 + slope
        step = -slope / bend if bend < 0 else np.sign(slope)
        log_eta += float(np.clip(step, -1.0, 1.0))
        if abs(step) < 1e-10:
            break
    return float(max(np.exp(log_eta), SMALLEST_PRIOR))


def sample_of(X: Any) -> sparse.csr_matrix | None:
    """Return a few documents of a few tokens each; None of weights that are no counts.

    Documents are spread evenly over the corpus; of a longer one `SAMPLE_TOKENS` tokens
    are left in the mean. Both are always the same.
    """
    n_documents = X.shape[0]
    spread = np.linspace(0, n_documents - 1, min(SAMPLE_DOCUMENTS, n_documents))
    sample = sparse.csr_matrix(X[np.unique(spread.astype(np.int64))])
    if (sample.data != np.floor(sample.data)).any():
        return None
    lengths = np.asarray(sample.sum(axis=1, dtype=np.float64)).ravel()
    kept = np.minimum(1.0, SAMPLE_TOKENS / np.maximum(lengths, 1.0))
    kept = np.repeat(kept, np.diff(sample.indptr))
    rng = np.random.default_rng(0)
    drawn = rng.binomial(sample.data.astype(np.int64), kept)
    parts = drawn.astype(sample.dtype), sample.indices, sample.indptr
    sample = sparse.csr_matrix(parts, sample.shape)
    sample.eliminate_zeros()
    return sample


def alpha_from_draws(
    sample: sparse.csr_matrix, topics: Array, alpha: Vector, n_jobs: int | None = None
) -> Vector:
    """Return α by stochastic EM over a sample of documents, the topics fixed.

    Topics of tokens are drawn, N_dk counted, and α moved to the best one for them, by
    turns. Expected counts would not do: they are spread more evenly than counts.
    """
    from topicfold.gibbs.fixed_topics import drawn_counts  # compiles

    for number in range(DRAWS):
        plan = (np.uint64(number), SWEEPS, 1)
        counts = drawn_counts(sample, topics, alpha, plan, n_jobs)
        alpha = dirichlet_from_counts(counts, alpha)
    return alpha


def dirichlet_from_counts(counts: NDArray[np.float64], alpha: Vector) -> Vector:
    """Return α of a Dirichlet-multinomial (D, K) after some of Minka's fixed points."""
    lengths = counts.sum(axis=1)
    for _ in range(STEPS):
        total = alpha.sum()
        above = (psi(counts + alpha) - psi(alpha)).sum(axis=0)
        below = float((psi(lengths + total) - psi(total)).sum())
        alpha = np.maximum(alpha * above / max(below, 1e-300), SMALLEST_PRIOR)
    return alpha
