# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of topics by slice."""

from __future__ import annotations

from topicfold.core.jit import kernel


@kernel
def add_rows(places, weights, rows, out):
    """Add every row, times its weight, to the row of `out` at its place."""
    for i in range(rows.shape[0]):
        place = places[i]
        weight = weights[i]
        for k in range(rows.shape[1]):
            out[place, k] += weight * rows[i, k]
