"""Planted effects: documents whose mixtures depend on covariates in a known way."""

import numpy as np
from scipy import sparse


def planted(seed, *, n_documents=300, tokens=60, n_topics=3, n_terms=120):
    """Return counts, topics, mixtures and a 0/1 covariate with its effects."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_terms, 0.1), n_topics)
    slopes = rng.normal(0, 0.8, n_topics)

    def mixtures(x):
        eta = np.exp(np.outer(x, slopes) + rng.normal(0, 0.8, (len(x), n_topics)))
        return eta / eta.sum(axis=1, keepdims=True)

    x = rng.integers(0, 2, n_documents)
    many = np.arange(100_000) % 2
    theta = mixtures(many)
    effect = theta[many == 1].mean(axis=0) - theta[many == 0].mean(axis=0)
    theta = mixtures(x)
    rows = theta @ topics
    rows /= rows.sum(axis=1, keepdims=True)
    counts = np.array([rng.multinomial(tokens, row) for row in rows])
    return {
        "X": sparse.csr_matrix(counts.astype(np.float64)),
        "topics": topics,
        "theta": theta,
        "x": x,
        "effect": effect,
    }
