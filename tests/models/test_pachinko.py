# SPDX-License-Identifier: BSD-3-Clause
"""Super-topics: planted ones are found, for new documents too."""

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from topicfold import PachinkoLDA


def planted(seed, n_super=3, per_super=3, n_terms=300, n_documents=600):
    rng = np.random.default_rng(seed)
    n_topics = n_super * per_super
    phi = rng.dirichlet(np.full(n_terms, 0.05), n_topics)
    above = np.kron(np.eye(n_super), np.ones(per_super)) + 1e-3
    above /= above.sum(axis=1, keepdims=True)
    shares = rng.dirichlet(np.full(n_super, 0.2), n_documents)
    rows = []
    for own in shares:
        theta = own @ np.array([rng.dirichlet(8 * row) for row in above])
        rows.append(rng.multinomial(100, theta @ phi))
    return sparse.csr_matrix(np.array(rows, dtype=np.float64)), shares


def test_planted_super_topics_are_found():
    X, shares = planted(0)
    model = PachinkoLDA(9, n_supertopics=3, random_state=0).fit(X[:500])
    found = model.transform_super(X)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(model.super_topics_.sum(axis=1), 1)
    for rows in (slice(0, 500), slice(500, None)):
        like = np.corrcoef(found[rows].T, shares[rows].T)[:3, 3:]
        assert (like[linear_sum_assignment(-like)] > 0.95).all()
    assert np.abs(found[:500] - model.doc_super_topics_).sum(axis=1).mean() < 0.05
