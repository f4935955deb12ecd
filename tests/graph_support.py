# SPDX-License-Identifier: BSD-3-Clause
"""Small random graphs, and their Laplacian by its definition."""

import numpy as np
from scipy import sparse


def random_graph(n, seed, density=0.1, isolated=()):
    """A symmetric graph with random weights; `seed` may be a generator."""
    rng = np.random.default_rng(seed)
    dense = np.triu(rng.random((n, n)) < density, 1) * rng.random((n, n))
    dense[list(isolated)] = 0
    dense[:, list(isolated)] = 0
    return sparse.csr_matrix(dense + dense.T)


def laplacian(graph):
    return np.diag(np.asarray(graph.sum(axis=1)).ravel()) - graph.toarray()
