# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""The map and its colours: similar documents are near, similar topics differ."""

from __future__ import annotations

from functools import lru_cache
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
# Directions in which embeddings are compared.
_N_AXES = 50
# Cells of the grid on which islands are found, and the water left between them.
_GRID = 160
_WATER = 2


def map_documents(
    doc_topics: NDArray[Any],
    topics: NDArray[Any] | None = None,
    vectors: NDArray[Any] | None = None,
) -> NDArray[np.float64]:
    """Place documents on a plane.

    Every document is tied to its nearest by Σ_k √(θ_dk θ_ek), or by the cosine of
    `vectors` where they are given, and starts between its
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
    near = roots if vectors is None else _directions(vectors)
    neighbors = nearest_documents(near, N_NEIGHBORS)
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


def _directions(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Return rows of length 1, in the `_N_AXES` directions in which they differ most.

    Fewer numbers are compared sooner, and neighbours hardly change.
    """
    rows = vectors.astype(np.float64)
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    if rows.shape[1] > _N_AXES:
        _, axes = np.linalg.eigh(rows.T @ rows)
        rows = rows @ axes[:, -_N_AXES:]
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return rows.astype(np.float32)


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


# The same hues on white and on black paper. They were searched for: any two differ by
# at least 0.07 in Oklab for every kind of sight below, by 0.13 for normal sight.
PALETTE = {
    "light": (
        "#1f2899", "#b17721", "#207693", "#bb2c56", "#65a277",
        "#6d3fb7", "#675102", "#9786c2", "#6f1916", "#601268",
    ),
    "dark": (
        "#5874ea", "#fbbd6e", "#6dbddc", "#fd879e", "#aae9bc",
        "#b08cfd", "#ae9654", "#dbcffd", "#bd6158", "#ab5db2",
    ),
}  # fmt: skip
N_COLORS = len(PALETTE["light"])
# What linear RGB becomes without one kind of cone (Machado, Oliveira and Fernandes,
# 2009, https://doi.org/10.1109/TVCG.2009.113, severity 1).
_SIGHTS = (
    np.eye(3),
    np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
)
# Linear RGB to cones, and their cube roots to Oklab (Ottosson, 2020).
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
_GAP = 0.08
_CELLS = 48
_SWEEPS = 4


def color_gaps(theme: str) -> NDArray[np.float64]:
    """Return how far any two colours are, for the sight that sees it least."""
    codes = PALETTE[theme]
    values = [[int(code[at : at + 2], 16) / 255 for at in (1, 3, 5)] for code in codes]
    rgb = np.array(values)
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    gaps = []
    for sight in _SIGHTS:
        seen = np.clip(linear @ sight.T, 0, 1)
        lab = np.cbrt(seen @ _CONES.T) @ _OKLAB.T
        gaps.append(np.linalg.norm(lab[:, None] - lab[None], axis=2))
    return np.asarray(np.min(gaps, axis=0))


@lru_cache(maxsize=1)
def _alike() -> NDArray[np.float64]:
    """Return how easily any two colours are mixed up, 1 for a colour and itself."""
    gaps = np.minimum(color_gaps("light"), color_gaps("dark"))
    return np.asarray(np.exp(-np.square(gaps / _GAP)))


def borders(
    positions: NDArray[np.float64], main: NDArray[np.int64], n_topics: int
) -> NDArray[np.float64]:
    """Return how much any two topics touch on the map, 1 for the most.

    The map is cut into cells; topics touch where they have documents in the same or
    the next cell.
    """
    places = np.minimum((positions * _CELLS).astype(np.int64), _CELLS - 1)
    counts = np.zeros((_CELLS + 2, _CELLS + 2, n_topics), dtype=np.float32)
    np.add.at(counts, (places[:, 0] + 1, places[:, 1] + 1, main), 1.0)
    near = np.zeros((_CELLS, _CELLS, n_topics), dtype=np.float32)
    for x in range(3):
        for y in range(3):
            near += counts[x : x + _CELLS, y : y + _CELLS]
    rows = np.sqrt(near).reshape(-1, n_topics)
    touching = (rows.T @ rows).astype(np.float64)
    np.fill_diagonal(touching, 0.0)
    return touching / max(float(touching.max()), 1e-300)


def pick_colors(
    sizes: NDArray[np.float64],
    similarity: NDArray[np.float64],
    touching: NDArray[np.float64] | None = None,
) -> NDArray[np.int64]:
    """Give topics colours so that those close to each other differ.

    There are fewer colours that people can tell apart than topics: large topics choose
    first, each the colour least like those of its neighbours, on the map and in words;
    then all choose again a few times.
    """
    close = 0.2 * similarity
    if touching is not None:
        # The square root: a short border is a border.
        close = close + np.sqrt(touching)
    close = close - np.diag(np.diag(close))
    colors = np.full(len(sizes), -1)
    order = np.argsort(-sizes, kind="stable")
    for _ in range(_SWEEPS):
        for topic in order:
            others = (colors >= 0) & (np.arange(len(sizes)) != topic)
            # A colour in use costs a little even far away, so that all are used.
            used = np.bincount(colors[others], minlength=N_COLORS)
            cost = close[topic, others] @ _alike()[colors[others]] + 0.03 * used
            colors[topic] = int(np.argmin(np.round(cost, 9)))
    return colors
