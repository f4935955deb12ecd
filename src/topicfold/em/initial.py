# SPDX-License-Identifier: BSD-3-Clause
"""Where EM starts: topics from random numbers, random documents or an SVD."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from topicfold.exceptions import DataError

Array = NDArray[np.floating]

DOCUMENTS_PER_TOPIC = 10
BACKGROUND_SHARE = 0.5


def initial_topics(
    X: sparse.csr_matrix, n_topics: int, init: Any, rng: np.random.RandomState
) -> Array:
    """Return (K, V) float64 topics, every entry positive, rows on the simplex.

    Parameters
    ----------
    X : csr_matrix of shape (n_documents, n_terms)
        Counts.
    n_topics : int
        Number of topics.
    init : {"random", "documents", "svd"} or array of shape (K, V)
        - ``"random"``: the corpus' word frequencies times random factors;
        - ``"documents"``: half a few random documents, half the corpus;
        - ``"svd"``: positive parts of singular vectors, filled with a little of
          the corpus (after NNDSVD, Boutsidis & Gallopoulos 2008);
        - an array: used as it is after normalising.
    rng : RandomState
        Source of random numbers.
    """
    unigram = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() + 1.0 / X.shape[1]
    unigram /= unigram.sum()
    if not isinstance(init, str):
        return _given(init, n_topics, X.shape[1], unigram)
    if init == "random":
        topics = unigram * rng.gamma(1.0, size=(n_topics, X.shape[1]))
    elif init == "documents":
        topics = _from_documents(X, n_topics, unigram, rng)
    else:
        topics = _from_svd(X, n_topics, unigram, rng)
    return topics / topics.sum(axis=1, keepdims=True)


def _given(init: Any, n_topics: int, n_terms: int, unigram: Array) -> Array:
    topics = np.asarray(init, dtype=np.float64)
    if topics.shape != (n_topics, n_terms):
        raise DataError(
            f"init has shape {topics.shape}, but n_components={n_topics} topics over "
            f"{n_terms} terms need ({n_topics}, {n_terms})."
        )
    if not np.isfinite(topics).all() or (topics < 0).any():
        raise DataError("init must be finite and non-negative; check your array.")
    totals = topics.sum(axis=1, keepdims=True)
    return np.where(totals > 0, topics / np.where(totals > 0, totals, 1), unigram)


def _from_documents(
    X: sparse.csr_matrix, n_topics: int, unigram: Array, rng: np.random.RandomState
) -> Array:
    used = np.flatnonzero(np.diff(X.indptr))
    topics = np.empty((n_topics, X.shape[1]))
    for k in range(n_topics):
        rows = rng.choice(used, size=min(DOCUMENTS_PER_TOPIC, len(used)))
        counts = np.asarray(X[rows].sum(axis=0, dtype=np.float64)).ravel()
        topics[k] = counts / counts.sum()
    return (1 - BACKGROUND_SHARE) * topics + BACKGROUND_SHARE * unigram


def _from_svd(
    X: sparse.csr_matrix, n_topics: int, unigram: Array, rng: np.random.RandomState
) -> Array:
    rank = min(n_topics, min(X.shape))
    left, _, right = randomized_svd(X.astype(np.float64).sqrt(), rank, random_state=rng)
    topics = np.empty((n_topics, X.shape[1]))
    for k in range(n_topics):
        # Ranks beyond the matrix's repeat the leading vectors with the other sign.
        u, v = left[:, k % rank], right[k % rank]
        weight = [
            np.linalg.norm(np.maximum(s * u, 0)) * np.linalg.norm(np.maximum(s * v, 0))
            for s in (1, -1)
        ]
        sign = 1 if weight[0] >= weight[1] else -1
        part = np.maximum((sign if k < rank else -sign) * v, 0) ** 2
        topics[k] = part / part.sum() if part.sum() > 0 else unigram
    noise = rng.gamma(1.0, size=topics.shape)
    return 0.8 * topics + 0.2 * unigram * noise
