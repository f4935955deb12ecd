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


def draw_sides():
    """Return 300 documents of 120 words and the side of each.

    Neighbours share one of four subjects; the side is in 8 of a document's 88 words,
    which both sides use.
    """
    rng = np.random.default_rng(0)
    subjects = rng.dirichlet(np.full(100, 0.5), size=4)
    sides = np.repeat([[0.09, 0.01], [0.01, 0.09]], 10, axis=1)
    y = rng.integers(0, 2, 300)
    told = [rng.multinomial(80, subjects[d % 4]) for d in range(300)]
    said = [rng.multinomial(8, sides[side]) for side in y]
    return np.hstack([told, said]), y


def matched_overlap(found, planted):
    """Mean shared probability of topics under the best matching."""
    shared = np.minimum(found[:, None, :], planted[None, :, :]).sum(axis=2)
    return shared[linear_sum_assignment(-shared)].mean()


def matched_topics(planted, found):
    """Return the found topics that the planted ones are most like, in their order."""
    shared = np.minimum(planted[:, None], found[None]).sum(axis=2)
    return linear_sum_assignment(-shared)[1]


def planted_tree(seed, branches=(4, 3), n_documents=600, n_terms=400, length=60):
    """Draw documents of a tree of three levels; return counts and paths."""
    rng = np.random.default_rng(seed)
    eta = np.full(n_terms, 0.05)
    root, middle = rng.dirichlet(eta), rng.dirichlet(eta, branches[0])
    leaves = rng.dirichlet(eta, branches)
    rows, paths = [], []
    for _ in range(n_documents):
        a, b = rng.integers(branches[0]), rng.integers(branches[1])
        shares = rng.dirichlet(np.full(3, 5.0))
        mixed = shares @ np.array([root, middle[a], leaves[a, b]])
        rows.append(rng.multinomial(length, mixed))
        paths.append((a, a * branches[1] + b))
    return sparse.csr_matrix(np.array(rows, dtype=np.float32)), np.array(paths)
