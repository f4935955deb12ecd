# SPDX-License-Identifier: BSD-3-Clause
"""Helpers shared by test modules."""

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment


def draw_corpus(n_documents, n_terms, n_topics, *, length=60, seed=0):
    """Documents drawn from topics with disjoint blocks of words."""
    rng = np.random.default_rng(seed)
    topics = np.full((n_topics, n_terms), 1e-3)
    for k, block in enumerate(np.array_split(np.arange(n_terms), n_topics)):
        topics[k, block] = rng.gamma(1.0, size=len(block)) + 0.05
    topics /= topics.sum(axis=1, keepdims=True)
    theta = rng.dirichlet(np.full(n_topics, 0.1), size=n_documents)
    counts = np.array(
        [rng.multinomial(length, p / p.sum()) for p in theta @ topics], dtype=np.int64
    )
    return sparse.csr_matrix(counts), theta, topics


def matched_overlap(found, planted):
    """Mean shared probability of topics under the best matching."""
    shared = np.minimum(found[:, None, :], planted[None, :, :]).sum(axis=2)
    return shared[linear_sum_assignment(-shared)].mean()
