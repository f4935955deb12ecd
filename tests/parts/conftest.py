# SPDX-License-Identifier: BSD-3-Clause
"""Small corpora of any size for the steps."""

import numpy as np
import pytest
from scipy import sparse


@pytest.fixture(scope="session")
def draw():
    """Return a function that draws documents from topics with blocks of words."""

    def draw_corpus(n_documents, n_terms, n_topics, length, seed):
        rng = np.random.default_rng(seed)
        topics = np.full((n_topics, n_terms), 1e-3)
        for k, block in enumerate(np.array_split(np.arange(n_terms), n_topics)):
            topics[k, block] = rng.gamma(1.0, size=len(block)) + 0.05
        topics /= topics.sum(axis=1, keepdims=True)
        theta = rng.dirichlet(np.full(n_topics, 0.1), size=n_documents)
        counts = [rng.multinomial(length, p / p.sum()) for p in theta @ topics]
        return sparse.csr_matrix(np.array(counts, dtype=np.int64))

    return draw_corpus
