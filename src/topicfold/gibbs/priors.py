# SPDX-License-Identifier: BSD-3-Clause
"""Minka's fixed points for α and η from whole counts (docs/math.md §3).

The same updates as `topicfold.learn.priors`, which work on dense expected counts; whole
counts repeat, so that each distinct one is looked at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from topicfold.core.simplex import SMALLEST_PRIOR

Vector = NDArray[np.float64]
Integers = NDArray[np.integer]

# Codes below this are counted in a table, without sorting.
LARGEST_TABLE = 1 << 23


def alpha_from_pairs(
    topics: Integers,
    counts: Integers,
    lengths: Integers,
    alpha: Vector,
    n_steps: int = 3,
) -> Vector:
    """Return α of a Dirichlet-multinomial, from the pairs (k, N_dk > 0).

    ``α_k ← α_k Σ_d[ψ(N_dk + α_k) − ψ(α_k)] / Σ_d[ψ(n_d + α_0) − ψ(α_0)]``

    Parameters
    ----------
    topics, counts : ndarray of shape (n_pairs,)
        Topics and counts of all documents, in any order.
    lengths : ndarray of shape (n_documents,)
        n_d; documents without tokens say nothing.
    alpha : ndarray of shape (n_topics,)
        Where to start.
    n_steps : int, default=3
        Updates.

    Examples
    --------
    >>> alpha_from_pairs(np.array([0, 1, 0]), np.array([3, 3, 6]), np.array([6, 6]),
    ...                  np.ones(2), 100).round(2)
    array([1.88, 0.57])
    """
    n_topics = len(alpha)
    code = counts.astype(np.int64)
    code *= n_topics
    code += topics
    distinct, repeats = _distinct(code)
    k, n = distinct % n_topics, distinct // n_topics
    length, documents = np.unique(lengths[lengths > 0], return_counts=True)
    for _ in range(n_steps):
        terms = repeats * (psi(n + alpha[k]) - psi(alpha[k]))
        above = np.bincount(k, weights=terms, minlength=n_topics)
        total = alpha.sum()
        below = float(documents @ (psi(length + total) - psi(total)))
        alpha = np.maximum(alpha * above / max(below, 1e-300), SMALLEST_PRIOR)
    return alpha


def eta_from_histogram(
    histogram: Integers,
    totals: Integers,
    n_terms: int,
    eta: float,
    n_steps: int = 3,
) -> float:
    """Return the symmetric η of the topics.

    Parameters
    ----------
    histogram : ndarray
        How many N_wk have each value; the zeros do not matter.
    totals : ndarray of shape (n_topics,)
        N_k.
    n_terms : int
        Number of words V.
    eta : float
        Where to start.
    n_steps : int, default=3
        Updates.
    """
    n = np.flatnonzero(histogram)
    n = n[n > 0]
    repeats = histogram[n]
    for _ in range(n_steps):
        above = float(repeats @ (psi(n + eta) - psi(eta)))
        below = float((psi(totals + n_terms * eta) - psi(n_terms * eta)).sum())
        eta = max(eta * above / max(n_terms * below, 1e-300), SMALLEST_PRIOR)
    return float(eta)


def _distinct(code: Integers) -> tuple[Integers, Integers]:
    """Return the distinct codes and how often each occurs."""
    if code.max(initial=0) >= LARGEST_TABLE:
        return np.unique(code, return_counts=True)
    table = np.bincount(code)
    distinct = np.flatnonzero(table)
    return distinct, table[distinct]
