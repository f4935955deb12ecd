# SPDX-License-Identifier: BSD-3-Clause
"""Colours of topics: neighbours differ, for colour-blind readers too."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

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
