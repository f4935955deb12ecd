# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of MedLDA: a sweep of its dual, and the weights of its documents."""

from __future__ import annotations

import numpy as np

from topicfold.core.jit import kernel
from topicfold.engine.special import exp_digamma_scalar, exp_scalar


@kernel
def sweep_documents(features, norms, labels, cost, loss, threshold, duals, weights):
    """Set the variables of each document to their best, one document after another.

    Changes `duals` (D, C) and `weights` (C, K); returns the largest violation met.
    With ``A = ‖z‖²`` and ``b_y = g_y − A a_y`` the best values are
    ``min(C_y, (β − b_y) / A)``, C_y = cost for the own class and else 0, with the β
    that makes them sum to zero: the mean of ``b_y + A C_y`` over the classes whose
    value is not capped, less ``A·cost`` shared among them.
    """
    n_classes, n_features = weights.shape
    gradient = np.empty(n_classes)
    bound = np.empty(n_classes)
    worst = 0.0
    for d in range(features.shape[0]):
        own = labels[d]
        if own < 0 or norms[d] <= 0.0:
            continue
        z = features[d]
        dual = duals[d]
        highest = -np.inf
        lowest = np.inf
        for y in range(n_classes):
            score = 0.0
            for k in range(n_features):
                score += weights[y, k] * z[k]
            gradient[y] = score if y == own else score + loss
            highest = max(highest, gradient[y])
            if dual[y] < (cost if y == own else 0.0):
                lowest = min(lowest, gradient[y])
        violation = highest - lowest
        worst = max(worst, violation)
        if violation <= 0.1 * threshold:
            continue
        size = norms[d]
        n_free = n_classes
        total = -size * cost
        for y in range(n_classes):
            bound[y] = gradient[y] - size * dual[y]
            if y == own:
                bound[y] += size * cost
        for y in range(n_classes):
            total += bound[y]
        beta = total / n_free
        changed = True
        while changed:  # classes at their cap leave, for good, and raise the mean
            changed = False
            for y in range(n_classes):
                if bound[y] <= beta and not np.isneginf(bound[y]):
                    total -= bound[y]
                    bound[y] = -np.inf
                    n_free -= 1
                    changed = True
            beta = total / n_free
        for y in range(n_classes):
            cap = cost if y == own else 0.0
            value = cap if np.isneginf(bound[y]) else cap + (beta - bound[y]) / size
            step = value - dual[y]
            dual[y] = value
            if step != 0.0:
                for k in range(n_features):
                    weights[y, k] += step * z[k]
    return worst


@kernel
def margin_weights(gamma, slopes, out_weights, out_log_scale):
    """Write ``exp(ψ(γ_dk) + δ_dk − m_d)``, the largest δ of a row taken out as m_d.

    Rows are then scaled so that their largest entry is 1; `out_log_scale` has the
    logarithm of what was taken out. Equivalent to ``np.exp(psi(gamma) + slopes -
    out_log_scale[:, None])``.
    """
    for d in range(gamma.shape[0]):
        highest = -np.inf
        for k in range(gamma.shape[1]):
            highest = max(highest, slopes[d, k])
        largest = 1e-300
        for k in range(gamma.shape[1]):
            weight = exp_digamma_scalar(gamma[d, k]) * exp_scalar(
                slopes[d, k] - highest
            )
            out_weights[d, k] = weight
            largest = max(largest, weight)
        for k in range(gamma.shape[1]):
            out_weights[d, k] /= largest
        out_log_scale[d] = highest + np.log(largest)
