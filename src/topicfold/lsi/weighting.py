# SPDX-License-Identifier: BSD-3-Clause
"""Term weights for latent semantic indexing: a local one times a global one.

============  ============  ====================================================
name          local         global, for a term in df of D documents
============  ============  ====================================================
counts        x             1
binary        1             1
tfidf         x             ln((1 + D) / (1 + df)) + 1
log-entropy   ln(1 + x)     1 + Σ_d p_d ln p_d / ln D,  p_d = x_d / Σ_d x_d
============  ============  ====================================================
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from topicfold.core.counts import smooth_idf
from topicfold.core.typing import Doubles

WEIGHTINGS = ("counts", "binary", "tfidf", "log-entropy")


def global_weights(counts: sparse.csr_matrix, weighting: str) -> Doubles:
    """Return the weight of every term.

    A term that no document has gets the weight of the rarest: ``ln(1 + D) + 1``, or 1
    for log-entropy. With one document all entropies count as zero.
    """
    n_documents, n_terms = counts.shape
    if weighting == "tfidf":
        return smooth_idf(counts)
    weights = np.ones(n_terms)
    if weighting == "log-entropy" and n_documents > 1:
        values = counts.data.astype(np.float64)
        totals = np.bincount(counts.indices, values, n_terms)
        shares = values / totals[counts.indices]
        shares *= np.log(shares)
        weights += np.bincount(counts.indices, shares, n_terms) / np.log(n_documents)
        # A term spread evenly has weight 0, which rounding must not change.
        weights[weights < 1e-12] = 0.0
    return weights


def weigh(
    counts: sparse.csr_matrix, weighting: str, weights: Doubles
) -> sparse.csr_matrix:
    """Return the weighted matrix; counts themselves are not changed.

    Counts and ones keep the type of the counts, which holds them exactly; the others
    are float64.
    """
    if weighting == "counts":
        return counts
    if weighting == "binary":
        values = np.ones_like(counts.data)
    elif weighting == "tfidf":
        values = counts.data * weights[counts.indices]
    else:
        values = np.log1p(counts.data, dtype=np.float64)
        values *= weights[counts.indices]
    return sparse.csr_matrix(
        (values, counts.indices, counts.indptr), shape=counts.shape
    )
