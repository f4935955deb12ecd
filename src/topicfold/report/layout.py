# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""The map: documents with similar mixtures of topics are close together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.core.jit import kernel

N_NEIGHBORS = 10
# Fewer documents show more in a plain projection.
_LEAST_DOCUMENTS = 3 * N_NEIGHBORS
_N_EPOCHS = 100
_N_PUSHES = 4
_RATE = 1.0
# More documents than this move for half as long.
_MANY = 20_000
# Neighbours are looked for among so many documents, at most.
MOST_COMPARED = 30_000
# Cells of the grid on which islands are found, and the water left between them.
_GRID = 160
_WATER = 2


def map_documents(
    doc_topics: NDArray[Any], topics: NDArray[Any] | None = None
) -> NDArray[np.float64]:
    """Place documents on a plane.

    Every document is tied to its nearest by Σ_k √(θ_dk θ_ek) and starts between its
    topics, themselves placed by their words (`map_topics`; without `topics` in a
    projection on the first two principal axes of √θ). The ties pull, and random others
    push. Islands far from the rest are then moved closer, so that they do not take
    the room of all others. Distances between far groups mean little, neighbourhoods do.

    The result is in [0, 1], and the same for the same mixtures.

    Notes
    -----
    Time O(D² K) for the neighbours of up to 30,000 documents; of more, each is compared
    with a random sample of 30,000. Memory O(D K).

    References
    ----------
    McInnes, Healy and Melville (2018), UMAP, https://arxiv.org/abs/1802.03426
    """
    roots = np.sqrt(doc_topics.astype(np.float32))
    if len(roots) < _LEAST_DOCUMENTS:
        return _fit_square(_apart(_principal_axes(roots)))
    if topics is None or doc_topics.shape[1] < 3:
        start = _principal_axes(roots)
    else:
        start = 10.0 * (doc_topics.astype(np.float64) @ (map_topics(topics) - 0.5))
    positions = _apart(start)
    neighbors = nearest_documents(roots, N_NEIGHBORS)
    n_epochs = _N_EPOCHS if len(roots) <= _MANY else _N_EPOCHS // 2
    pull_together(positions, neighbors, n_epochs, _N_PUSHES, _RATE)
    return _fit_square(_pull_in_islands(positions))


def map_topics(topics: NDArray[Any]) -> NDArray[np.float64]:
    """Place topics on a plane, in [0, 1]: those with similar words are close."""
    roots = np.sqrt(topics.astype(np.float32))
    positions = _apart(_principal_axes(roots))
    if len(roots) > 3:
        n_near = min(N_NEIGHBORS, len(roots) // 8 + 1)
        near = nearest_documents(roots, n_near)
        pull_together(positions, near, 3 * _N_EPOCHS, _N_PUSHES, _RATE)
    return _fit_square(positions)


def nearest_documents(roots: NDArray[np.float32], n_nearest: int) -> NDArray[np.int64]:
    """Return the nearest rows of every row by scalar product, best first."""
    from sklearn.neighbors import NearestNeighbors

    rows = np.arange(len(roots))
    others = rows
    if len(rows) > MOST_COMPARED:
        others = np.random.default_rng(0).choice(rows, MOST_COMPARED, replace=False)
    # All rows have length 1: the nearest have the largest product.
    search = NearestNeighbors(n_neighbors=n_nearest + 1, algorithm="brute")
    found = others[search.fit(roots[others]).kneighbors(roots, return_distance=False)]
    left_out = found == rows[:, None]
    left_out[~left_out.any(axis=1), -1] = True  # a row that is not among the others
    return found[~left_out].reshape(len(rows), n_nearest)


def topic_anchors(
    positions: NDArray[np.float64], doc_topics: NDArray[Any]
) -> NDArray[np.float64]:
    """Return where every topic is on the map: in the middle of its documents.

    A topic that is nowhere the largest stands at the mean of all documents, weighted
    by its share of them.
    """
    main = doc_topics.argmax(axis=1)
    anchors = np.empty((doc_topics.shape[1], 2))
    for topic in range(len(anchors)):
        own = positions[main == topic]
        if len(own):
            middle = np.median(own, axis=0)
            # The median of a ring lies where nothing is: take the nearest document.
            anchors[topic] = own[np.square(own - middle).sum(axis=1).argmin()]
            continue
        weights = doc_topics[:, topic].astype(np.float64) + 1e-12
        anchors[topic] = weights @ positions / weights.sum()
    return anchors


def _principal_axes(roots: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the projection on two principal axes, of deviation about 5."""
    centred = roots.astype(np.float64) - roots.mean(axis=0, dtype=np.float64)
    positions = np.zeros((len(roots), 2))
    if len(roots) > 1:
        # The smaller of the two products has the same axes.
        if centred.shape[0] < centred.shape[1]:
            values, axes = np.linalg.eigh(centred @ centred.T)
            axes = axes * np.sqrt(np.maximum(values, 0.0))
        else:
            _, axes = np.linalg.eigh(centred.T @ centred)
            axes = centred @ axes
        axes = axes[:, ::-1][:, :2]
        # The sign of an axis is arbitrary; the largest entry decides.
        peaks = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])]
        positions[:, : axes.shape[1]] = axes * np.where(peaks < 0, -1.0, 1.0)
    spread = positions.std()
    return positions * (5.0 / spread if spread > 0 else 1.0)


def _apart(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move points a little, so that documents of the same mixture are not one."""
    return positions + np.random.default_rng(0).normal(0, 0.05, positions.shape)


def _pull_in_islands(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move islands, each as a whole, towards the largest until water is left between.

    One far island would otherwise squeeze all others into a corner of the map.
    """
    from scipy import ndimage

    low, high = np.quantile(positions, [0.002, 0.998], axis=0)
    size = max(float((high - low).max()) / _GRID, 1e-9)
    cells = np.rint((positions - (low + high) / 2) / size).astype(np.int64)
    cells = np.clip(cells, -_GRID, _GRID)
    land = np.zeros((2 * _GRID + 1, 2 * _GRID + 1), dtype=bool)
    land[tuple((cells + _GRID).T)] = True
    near = ndimage.generate_binary_structure(2, 2)
    numbers, _ = ndimage.label(ndimage.binary_dilation(land, near), near)
    island = numbers[tuple((cells + _GRID).T)]
    sizes = np.bincount(island)
    order = np.argsort(-sizes[1:], kind="stable") + 1
    centre = cells[island == order[0]].mean(axis=0)
    taken = np.zeros((4 * _GRID, 4 * _GRID), dtype=bool)
    moved = positions.copy()
    wide = np.ones((2 * _WATER + 1, 2 * _WATER + 1), dtype=bool)
    for number in order:
        own = island == number
        places = np.unique(cells[own], axis=0) + 2 * _GRID
        step = _steps_inwards(places, centre + 2 * _GRID, taken)
        moved[own] += step * size
        fresh = np.zeros_like(taken)
        fresh[tuple((places + step).T)] = True
        taken |= ndimage.binary_dilation(fresh, wide)
    return moved


def _steps_inwards(
    places: NDArray[np.int64], centre: NDArray[np.float64], taken: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return how far cells can move towards a centre before they meet others."""
    way = centre - places.mean(axis=0)
    n_steps = int(np.abs(way).max())
    best = np.zeros(2, dtype=np.int64)
    for number in range(1, n_steps + 1):
        step = np.rint(way * number / n_steps).astype(np.int64)
        if taken[tuple((places + step).T)].any():
            break
        best = step
    return best


def _fit_square(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale into [0, 1]; outliers go to the border.

    The shorter side is stretched, up to half as much again: a map is rarely square.
    """
    low, high = np.quantile(positions, [0.001, 0.999], axis=0)
    widths = np.maximum(high - low, 1e-9)
    widths = np.maximum(widths, widths.max() / 1.5)
    return np.clip((positions - (low + high) / 2) / (1.04 * widths) + 0.5, 0.0, 1.0)


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
