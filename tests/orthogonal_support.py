# SPDX-License-Identifier: BSD-3-Clause
"""The orthogonal φ-step in plain NumPy: what its kernels are held to."""

import numpy as np
from scipy.optimize import brentq


def multiplier_reference(counts, others, strength):
    """Return the root that `find_multiplier` finds, by Brent's method."""
    used = counts > 0
    counts, poles = counts[used], strength * others[used]
    least = poles.min()

    def excess(t):
        return float((counts / (t + (poles - least))).sum() - 1.0)

    low, high = 0.5 * counts[poles == least].sum(), 2.0 * counts.sum()
    return float(brentq(excess, low, high, xtol=1e-300, rtol=1e-14) - least)


def update_reference(counts, topics, strength):
    """Return one Gauss-Seidel sweep over topics (K, V) in plain NumPy."""
    topics = topics.astype(np.float64)
    for k, row in enumerate(counts):
        if row.sum() <= 0:
            continue
        others = topics.sum(axis=0) - topics[k]
        a = multiplier_reference(row, others, strength)
        with np.errstate(divide="ignore", invalid="ignore"):
            topics[k] = np.where(row > 0, row / (a + strength * others), 0.0)
    return topics
