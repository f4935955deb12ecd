# SPDX-License-Identifier: BSD-3-Clause
"""Log-likelihood of whole documents by left-to-right sampling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.threads import (
    RANGES_PER_THREAD,
    balanced_ranges,
    n_threads,
    run_ranges,
)
from topicfold.infer.gibbs import FixedTopics

# Predicted probabilities held at once: 64 MB.
_AT_ONCE = 1 << 23


def left_to_right(
    X: sparse.csr_matrix,
    topics: NDArray[np.floating],
    alpha: NDArray[np.float64],
    *,
    n_particles: int = 20,
    n_sweeps: int = 1,
    seed: int = 0,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Return log P(w_d | φ, α) of each document; minus infinity for unknown words.

    See :func:`topicfold.metrics.left_to_right_log_likelihood`, which checks its input.

    Examples
    --------
    >>> X = sparse.csr_matrix([[1, 0], [0, 0]])
    >>> left_to_right(X, np.array([[0.25, 0.75]]), np.ones(1)).round(4).tolist()
    [-1.3863, 0.0]
    """
    known = topics.max(axis=0) > 0
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    impossible = np.zeros(X.shape[0], dtype=bool)
    impossible[rows[~known[X.indices]]] = True
    loglik = np.full(X.shape[0], -np.inf)
    possible = np.flatnonzero(~impossible)
    lengths = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()[possible]
    # Batches by tokens: each pair of a document and a particle has its place.
    batch = (np.cumsum(lengths) - lengths) // max(1, _AT_ONCE // n_particles)
    cuts = np.flatnonzero(np.diff(batch)) + 1
    for part in np.split(possible, cuts):
        if len(part):
            loglik[part] = _batch(
                X[part], topics, alpha, (np.uint64(seed), n_particles, n_sweeps), n_jobs
            )
    return loglik


def _batch(
    X: sparse.csr_matrix,
    topics: NDArray[np.floating],
    alpha: NDArray[np.float64],
    plan: tuple[np.uint64, int, int],
    n_jobs: int | None,
) -> NDArray[np.float64]:
    from topicfold.gibbs import fixed_kernels

    seed, n_particles, _ = plan
    parts = FixedTopics.arrange(X, topics, alpha)
    n_documents = X.shape[0]
    words = np.empty_like(parts.words)
    fixed_kernels.shuffle_documents(
        0, n_documents, parts.doc_ptr, parts.words, parts.keys, seed, words
    )
    predicted = np.empty((n_particles, len(words)))
    threads = n_threads(n_jobs)
    lengths = np.diff(parts.doc_ptr)
    longest = int(lengths.max(initial=0))
    work = np.repeat(lengths * (lengths + 1), n_particles)
    run_ranges(
        lambda a, b: fixed_kernels.predict_left_to_right(
            a, b, parts.doc_ptr, words, parts.rows, parts.prior_mass, alpha, plan,
            parts.keys, fixed_kernels.fixed_scratch(len(alpha), longest), predicted,
        ),
        balanced_ranges(
            np.concatenate(([0], np.cumsum(work))), threads * RANGES_PER_THREAD
        ),
        threads,
    )  # fmt: skip
    loglik = np.empty(n_documents)
    fixed_kernels.sum_logs(0, n_documents, parts.doc_ptr, predicted, loglik)
    return loglik
