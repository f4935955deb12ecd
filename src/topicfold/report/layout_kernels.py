# SPDX-License-Identifier: BSD-3-Clause
"""The kernel of the map: the moves that bring near documents together."""

from __future__ import annotations

import numpy as np

from topicfold.core.jit import kernel


@kernel
def pull_together(positions, neighbors, n_epochs, n_pushes, rate):
    """Move every point towards its neighbours and away from random others.

    Stochastic gradient of the cross entropy of UMAP (McInnes, Healy, Melville 2018)
    with all edges of weight 1 and closeness 1 / (1 + d²). Positions are changed in
    place, in a fixed order.
    """
    n_points, n_neighbors = neighbors.shape
    state = np.uint64(88172645463325252)
    for epoch in range(n_epochs):
        step = rate * (1.0 - epoch / n_epochs)
        for point in range(n_points):
            for slot in range(n_neighbors):
                other = neighbors[point, slot]
                dx = positions[point, 0] - positions[other, 0]
                dy = positions[point, 1] - positions[other, 1]
                pull = -2.0 * step / (1.0 + dx * dx + dy * dy)
                positions[point, 0] += pull * dx
                positions[point, 1] += pull * dy
                positions[other, 0] -= pull * dx
                positions[other, 1] -= pull * dy
                for _ in range(n_pushes):
                    # xorshift: numbers that are the same on every machine
                    state ^= state << np.uint64(13)
                    state ^= state >> np.uint64(7)
                    state ^= state << np.uint64(17)
                    share = (state >> np.uint64(32)) * np.uint64(n_points)
                    far = np.int64(share >> np.uint64(32))
                    dx = positions[point, 0] - positions[far, 0]
                    dy = positions[point, 1] - positions[far, 1]
                    square = dx * dx + dy * dy
                    if square <= 0.0:
                        continue
                    push = 2.0 * step / ((0.001 + square) * (1.0 + square))
                    positions[point, 0] += min(max(push * dx, -4.0 * step), 4.0 * step)
                    positions[point, 1] += min(max(push * dy, -4.0 * step), 4.0 * step)
