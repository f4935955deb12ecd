# SPDX-License-Identifier: BSD-3-Clause
"""The map: documents with similar mixtures of topics lie close together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

N_NEIGHBORS = 10
N_COLORS = 10
# Fewer documents show more in a plain projection.
_LEAST_DOCUMENTS = 3 * N_NEIGHBORS
_N_EPOCHS = 100
_N_PUSHES = 4
_RATE = 1.0
_BLOCK = 256


def map_documents(doc_topics: NDArray[Any]) -> NDArray[np.float64]:
    """Place documents on a plane.

    Every document is tied to its nearest by Σ_k √(θ_dk θ_ek); from a projection on the
    first two principal axes of √θ the ties pull, and random others push. Distances
    between far groups mean little, neighbourhoods do.

    The result is in [0, 1], and the same for the same mixtures.

    Notes
    -----
    Time O(D² K) for the exact neighbours (20,000 documents and 50 topics: about a
    second) and O(D) for the moves; memory O(D).

    References
    ----------
    McInnes, Healy and Melville (2018), UMAP, https://arxiv.org/abs/1802.03426
    """
    roots = np.sqrt(doc_topics.astype(np.float32))
    start = _principal_axes(roots)
    if len(roots) >= _LEAST_DOCUMENTS:
        from topicfold.report.layout_kernels import pull_together

        neighbors = nearest_documents(roots, N_NEIGHBORS)
        pull_together(start, neighbors, _N_EPOCHS, _N_PUSHES, _RATE)
    return _fit_square(start)


def nearest_documents(roots: NDArray[np.float32], n_nearest: int) -> NDArray[np.int64]:
    """Return the nearest rows of every row by scalar product, best first."""
    from topicfold.report.layout_kernels import keep_best

    neighbors = np.empty((len(roots), n_nearest), dtype=np.int64)
    scores = np.empty((_BLOCK, len(roots)), dtype=np.float32)
    for first in range(0, len(roots), _BLOCK):
        part = roots[first : first + _BLOCK]
        # One buffer for all blocks: memory that is new to the process is slow.
        np.matmul(part, roots.T, out=scores[: len(part)])
        keep_best(scores[: len(part)], first, neighbors[first : first + _BLOCK])
    return neighbors


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


def pick_colors(
    sizes: NDArray[np.float64],
    similarity: NDArray[np.float64],
    anchors: NDArray[np.float64] | None = None,
) -> NDArray[np.int64]:
    """Give topics colours so that those close to each other differ.

    There are fewer colours that people can tell apart than topics: large topics choose
    first, each the colour that its neighbours on the map and in words have least.
    """
    close = similarity.copy()
    if anchors is not None:
        gaps = np.square(anchors[:, None] - anchors[None]).sum(axis=2)
        close = close + 0.01 / (0.01 + gaps)
    colors = np.full(len(sizes), -1)
    for topic in np.argsort(-sizes, kind="stable"):
        cost = np.zeros(N_COLORS)
        done = colors >= 0
        # A colour in use costs a little even far away, so that all are used.
        np.add.at(cost, colors[done], close[topic, done] + 0.02)
        colors[topic] = int(np.argmin(np.round(cost, 9)))
    return colors


def _principal_axes(roots: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the projection on two principal axes, of deviation about 1."""
    centred = roots.astype(np.float64) - roots.mean(axis=0, dtype=np.float64)
    positions = np.zeros((len(roots), 2))
    if len(roots) > 1:
        _, axes = np.linalg.eigh(centred.T @ centred)
        axes = axes[:, ::-1][:, :2]
        # The sign of an axis is arbitrary; the largest entry decides.
        peaks = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])]
        axes = axes * np.where(peaks < 0, -1.0, 1.0)
        positions[:, : axes.shape[1]] = centred @ axes
    spread = positions.std()
    positions *= 5.0 / spread if spread > 0 else 1.0
    # Documents with the same mixture must not stay one point.
    return positions + np.random.default_rng(0).normal(0, 0.05, positions.shape)


def _fit_square(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale into [0, 1], equally in both directions; outliers go to the border."""
    low, high = np.quantile(positions, [0.001, 0.999], axis=0)
    width = max(float((high - low).max()), 1e-9)
    return np.clip((positions - (low + high) / 2) / (1.04 * width) + 0.5, 0.0, 1.0)
