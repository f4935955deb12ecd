# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of topics by slice."""

from __future__ import annotations

import numpy as np

from topicfold.core.jit import kernel


@kernel
def smooth_pairs(words, slices, counts, rho, out):
    """Write ``Σ_s ρ^|t−s| N_s`` of pairs that are sorted by word and slice."""
    n_pairs, n_topics = counts.shape
    before = np.zeros(n_topics)
    for step in range(2):
        for n in range(n_pairs):
            i = n if step == 0 else n_pairs - 1 - n
            last = i - 1 if step == 0 else i + 1
            decay = 0.0
            if n > 0 and words[last] == words[i]:
                decay = rho ** abs(slices[i] - slices[last])
            if step == 0:
                for k in range(n_topics):
                    before[k] = before[k] * decay + counts[i, k]
                    out[i, k] = before[k]
            else:
                for k in range(n_topics):
                    before[k] = before[k] * decay
                    out[i, k] += before[k]
                    before[k] += counts[i, k]
        for k in range(n_topics):
            before[k] = 0.0


@kernel
def add_rows(places, weights, rows, out):
    """Add every row, times its weight, to the row of `out` at its place."""
    for i in range(rows.shape[0]):
        place = places[i]
        weight = weights[i]
        for k in range(rows.shape[1]):
            out[place, k] += weight * rows[i, k]
