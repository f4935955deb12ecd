# SPDX-License-Identifier: BSD-3-Clause
"""Sampling with the topics fixed: mixtures of documents, and their likelihood."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.simplex import normalize_rows
from topicfold.core.threads import (
    RANGES_PER_THREAD,
    balanced_ranges,
    n_threads,
    run_ranges,
)
from topicfold.core.typing import Array
from topicfold.gibbs import fixed_topics_kernels as kernels
from topicfold.gibbs.tokens import token_words


class FixedTopics(NamedTuple):
    """Documents and topics as the kernels want them.

    Row ``words[i]`` of `rows` is φ of token i's word, and `prior_mass` is its
    Σ_k α_k φ_kw; `keys` are hashes of the documents' content, on which their random
    numbers depend.
    """

    doc_ptr: NDArray[np.int64]
    words: NDArray[np.uint32]
    rows: NDArray[np.float32]
    prior_mass: NDArray[np.float64]
    keys: NDArray[np.uint64]

    @classmethod
    def arrange(
        cls, X: sparse.csr_matrix, topics: Array, alpha: NDArray[np.float64]
    ) -> FixedTopics:
        """Expand whole counts to tokens and gather the rows of their words."""
        keys = np.zeros(X.shape[0], dtype=np.uint64)
        kernels.content_keys(X.indptr, X.indices, X.data.astype(np.int64), keys)
        used, place = np.unique(X.indices, return_inverse=True)
        rows = np.ascontiguousarray(topics[:, used].T, dtype=np.float32)
        prior_mass = np.empty(len(used))
        kernels.prior_masses(rows, alpha, prior_mass)
        return cls(*token_words(X, place.astype(np.uint32)), rows, prior_mass, keys)


def gibbs_mixtures(
    X: sparse.csr_matrix,
    topics: Array,
    *,
    prior: NDArray[np.float64],
    burn_in: int = 10,
    n_samples: int = 40,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Array:
    """Return θ (D, K), the posterior mean of mixtures by Gibbs sampling.

    ``P(z_i = k | rest) ∝ (N_dk + α_k) φ_kw``; θ is the mean of ``N_dk + α_k`` over the
    samples, normalised. A document's random numbers are keyed by the seed and its own
    words and counts, so its row depends neither on the batch it came in nor on the
    number of threads. A document without words that any topic knows gets the uniform
    mixture.
    """
    known = topics.max(axis=0) > 0
    if not known[X.indices].all():
        X = sparse.csr_matrix(X @ sparse.diags(known.astype(X.dtype)))
        X.eliminate_zeros()
    parts = FixedTopics.arrange(X, topics, prior)
    sums = np.zeros((X.shape[0], len(topics)))
    plan = (np.uint64(seed), burn_in, n_samples)
    _run(kernels.sample_mixtures, parts, prior, plan, parts.doc_ptr, sums, n_jobs)
    sums /= n_samples
    sums += prior
    sums[np.diff(parts.doc_ptr) == 0] = 1.0
    return normalize_rows(sums).astype(X.dtype)


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
    """
    parts = FixedTopics.arrange(X, topics, alpha)
    lengths = np.diff(parts.doc_ptr)
    work = np.concatenate(([0], np.cumsum(lengths * (lengths + 1))))
    plan = (np.uint64(seed), n_particles, n_sweeps)
    loglik = np.empty(X.shape[0])
    _run(kernels.predict_left_to_right, parts, alpha, plan, work, loglik, n_jobs)
    unknown = (topics.max(axis=0) <= 0).astype(np.float64)
    loglik[X @ unknown > 0] = -np.inf
    return loglik


def _run(
    kernel: Callable[..., None],
    parts: FixedTopics,
    alpha: NDArray[np.float64],
    plan: tuple[np.uint64, int, int],
    work: NDArray[np.integer],
    out: NDArray[np.float64],
    n_jobs: int | None,
) -> None:
    """Run a kernel over all documents; `work` says how much of it is before each."""
    longest = int(np.diff(parts.doc_ptr).max(initial=0))
    threads = n_threads(n_jobs)
    run_ranges(
        lambda a, b: kernel(
            a, b, *parts[:4], alpha, plan, parts.keys,
            kernels.fixed_scratch(len(alpha), longest), out,
        ),
        balanced_ranges(work, threads * RANGES_PER_THREAD),
        threads,
    )  # fmt: skip
