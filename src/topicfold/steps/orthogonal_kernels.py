# SPDX-License-Identifier: BSD-3-Clause
# mypy: ignore-errors
"""The orthogonal φ-step's kernel: one topic after another, a root for each."""

from __future__ import annotations

import numpy as np

from topicfold.core.jit import kernel, part

ROOT_TOL = 1e-13
MAX_NEWTON = 60


@part
def find_multiplier(counts, overlap, strength):
    """Return the root a of ``Σ_w N_w / (a + strength · c_w) = 1`` right of the poles.

    Also returns the pole ``-strength · min{c_w : N_w > 0}`` and ``t = a - pole``, in
    which the sum has no cancellation. Newton's method on ``1 / Σ - 1``, concave and
    increasing in t, inside a bracket. Counts must have a positive sum.
    """
    n_words = counts.shape[0]
    least = np.inf
    total = 0.0
    for w in range(n_words):
        if counts[w] > 0.0:
            total += counts[w]
            least = min(least, overlap[w])
    low = 0.0
    for w in range(n_words):
        if counts[w] > 0.0 and overlap[w] == least:
            low += counts[w]
    high = total
    t = total
    for _ in range(MAX_NEWTON):
        sum1 = 0.0
        sum2 = 0.0
        for w in range(n_words):
            if counts[w] > 0.0:
                inverse = 1.0 / (t + strength * (overlap[w] - least))
                part = counts[w] * inverse
                sum1 += part
                sum2 += part * inverse
        if abs(sum1 - 1.0) <= ROOT_TOL:
            break
        if sum1 > 1.0:
            low = max(low, t)
        else:
            high = min(high, t)
        # 1/sum1 - 1 has the derivative sum2 / sum1^2.
        following = t + (sum1 - 1.0) * sum1 / sum2
        if not (low <= following <= high):
            following = 0.5 * (low + high)
        if following == t:
            break
        t = following
    return -strength * least, t


@kernel
def update_topics(counts, strength, topics, total, work_overlap):
    """Update topics (K, V) in place by Gauss-Seidel; `total` is Σ_k φ_kw, kept.

    ``φ_kw = N_kw / (a_k + strength · c_kw)`` with ``c_kw = Σ_{k'≠k} φ_k'w``. A topic
    without counts stays.
    """
    n_topics, n_words = counts.shape
    for k in range(n_topics):
        mass = 0.0
        least = np.inf
        for w in range(n_words):
            work_overlap[w] = max(total[w] - topics[k, w], 0.0)
        for w in range(n_words):
            if counts[k, w] > 0.0:
                mass += counts[k, w]
                least = min(least, work_overlap[w])
        if mass <= 0.0:
            continue
        _, t = find_multiplier(counts[k], work_overlap, strength)
        for w in range(n_words):
            value = 0.0
            if counts[k, w] > 0.0:
                value = counts[k, w] / (t + strength * (work_overlap[w] - least))
            topics[k, w] = value
            total[w] = work_overlap[w] + topics[k, w]
