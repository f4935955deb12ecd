# SPDX-License-Identifier: BSD-3-Clause
"""Which of two starts leads to topics that say more of the words.

Vectors that tell only some of the topics apart (a language, a form, subjects in pairs)
make clusters that mix the others, and a fit does not leave such a start. The words show
it within a few passes of EM over a sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from topicfold.core.typing import Array
from topicfold.engine import make_engine
from topicfold.learn.learner import Learner

# Documents that are looked at, passes over them, and updates of each in a pass.
SAMPLE, PASSES, UPDATES, TOL = 1000, 3, 2, 1e-3
# Nats per token below which topics start from words (benchmarks/results/embeddings.md).
LEAST_LEAD = -0.04
# Priors: Σα, the largest α, and η.
ALPHA_SUM, ALPHA_MOST, ETA = 2.0, 0.2, 0.01


def lead(
    counts: sparse.csr_matrix, topics: Array, others: Array, n_jobs: int | None = None
) -> float:
    """Return how many nats per token the words are likelier with the first topics.

    Both are topics (K, V) that EM starts from, and improves for a few passes before.

    Examples
    --------
    >>> X = sparse.csr_matrix([[3.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 3.0]])
    >>> apart = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    >>> lead(X, apart, np.full((2, 4), 0.25)) > 0.05
    True
    """
    step = -(-counts.shape[0] // SAMPLE)
    seen = counts[::step]
    tokens = float(seen.sum(dtype=np.float64))
    if not tokens:
        return 0.0
    found = [_log_likelihood(seen, start, n_jobs) for start in (topics, others)]
    return (found[0] - found[1]) / tokens


def _log_likelihood(seen: sparse.csr_matrix, topics: Array, n_jobs: Any) -> float:
    size = len(topics)
    learner = Learner(
        make_engine(seen, size, dtype=seen.dtype, device="cpu", n_jobs=n_jobs),
        topics.astype(seen.dtype),
        alpha=np.full(size, min(ALPHA_SUM / size, ALPHA_MOST)),
        eta=ETA,
        doc_updates=UPDATES,
        doc_tol=TOL,
    )
    learner.start()
    for _ in range(PASSES):
        learner.iterate()
    return learner.log_likelihood
