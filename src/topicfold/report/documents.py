# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""The map of the documents, its colours, and what else the page has of them.

Similar documents are near, similar topics differ in colour. Places on the map and
colours of topics are found once for a record, and are the same for the report, its map
and the figures of `topicfold.plotting`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from topicfold.core.counts import best_places
from topicfold.core.jit import kernel
from topicfold.report.page import pack_array
from topicfold.topic_data import TopicData

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
# at least 0.07 in Oklab for every kind of sight, by 0.13 for normal sight.
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
# How far any two colours are in Oklab, in 1e-5, for the sight that sees it least,
# on white or on black; the tests work it out.
GAPS = np.array(
    (
        (0, 30387, 15989, 16167, 28568, 8587, 14498, 26742, 21528, 9011),
        (30387, 0, 16575, 10936, 8830, 15487, 14094, 11085, 23112, 23080),
        (15989, 16575, 0, 10528, 12151, 8641, 17280, 8744, 19547, 15481),
        (16167, 10936, 10528, 0, 11252, 14947, 9660, 14000, 13802, 15632),
        (28568, 8830, 12151, 11252, 0, 18454, 20140, 7530, 27317, 30534),
        (8587, 15487, 8641, 14947, 18454, 0, 7966, 16380, 19459, 12855),
        (14498, 14094, 17280, 9660, 20140, 7966, 0, 20307, 8286, 9940),
        (26742, 11085, 8744, 14000, 7530, 16380, 20307, 0, 29199, 27924),
        (21528, 23112, 19547, 13802, 27317, 19459, 8286, 29199, 0, 7179),
        (9011, 23080, 15481, 15632, 30534, 12855, 9940, 27924, 7179, 0),
    )
)  # fmt: skip
# How easily they are mixed up, 1 for a colour and itself.
_ALIKE = np.exp(-np.square(GAPS / 8000))
_CELLS = 48
_SWEEPS = 4


def borders(
    positions: NDArray[np.float64], main: NDArray[np.int64], n_topics: int
) -> NDArray[np.float64]:
    """Return how much any two topics touch on the map, 1 for the most.

    The map is cut into cells; topics touch where they have documents in the same or
    the next cell.
    """
    from scipy import ndimage

    places = np.minimum((positions * _CELLS).astype(np.int64), _CELLS - 1)
    counts = np.zeros((_CELLS, _CELLS, n_topics), dtype=np.float32)
    np.add.at(counts, (*places.T, main), 1.0)
    near = ndimage.convolve(counts, np.ones((3, 3, 1)), mode="constant")
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
            cost = close[topic, others] @ _ALIKE[colors[others]] + 0.03 * used
            colors[topic] = int(np.argmin(np.round(cost, 9)))
    return colors


N_TYPICAL = 8
MAX_CLASSES = 200
_MOST_TOPICS = 16
_SCALE = 255
MAX_PERIODS = 60
# Calendar units from fine to coarse, and how much of the ISO date names one.
_UNITS = ("h", "D", "M", "Y")


def typical_documents(data: TopicData, n: int = N_TYPICAL) -> NDArray[np.int64]:
    """Return the most typical documents of every topic, up to `n`, by descending share.

    They have the largest θ_dk n_d / (n_d + m), where n_d is the length and m the
    median length: a document of two words that are both of the topic is not typical.
    Among themselves they are in the order of θ_dk, which the page shows.
    """
    if data.doc_topics is None or not len(data.doc_topics):
        return np.empty((data.n_topics, 0), dtype=np.int64)
    weights = np.ones(data.n_documents)
    if data.doc_lengths is not None and data.doc_lengths.any():
        lengths = data.doc_lengths.astype(np.float64)
        weights = lengths / (lengths + np.median(lengths[lengths > 0]))
    found = []
    for column in data.doc_topics.T:
        chosen = best_places(column * weights, n)
        found.append(chosen[np.argsort(-column[chosen], kind="stable")])
    return np.stack(found)


def shown_documents(
    n_documents: int, wanted: NDArray[np.int64], max_documents: int, seed: int
) -> NDArray[np.int64]:
    """Return the documents on the page: `wanted` ones and a random sample."""
    if n_documents <= max_documents:
        return np.arange(n_documents)
    chosen = np.unique(wanted)
    rest = np.setdiff1d(np.arange(n_documents), chosen)
    n_more = max(0, max_documents - len(chosen))
    more = np.random.default_rng(seed).choice(rest, n_more, replace=False)
    return np.sort(np.concatenate([chosen, more]))


def pack_mixtures(doc_topics: NDArray[Any]) -> dict[str, Any]:
    """Return mixtures as JSON: for each document its largest topics, in 255ths."""
    n_topics = doc_topics.shape[1]
    steps = np.empty(doc_topics.shape, dtype=np.uint8)
    np.rint(doc_topics * _SCALE, out=steps, casting="unsafe")
    if n_topics > _MOST_TOPICS:
        least = np.partition(steps, n_topics - _MOST_TOPICS, axis=1)
        steps[steps < least[:, [n_topics - _MOST_TOPICS]]] = 0
    return {
        "counts": pack_array(np.count_nonzero(steps, axis=1)),
        "topics": pack_array(np.nonzero(steps)[1]),
        "weights": pack_array(steps[steps > 0]),
    }


@dataclass(frozen=True)
class Classes:
    """The classes on the page, by name; the largest, if there are too many."""

    names: list[str]
    sizes: NDArray[np.int64]
    mixtures: NDArray[np.float64]  # the mean of each
    codes: NDArray[np.int64]  # place of a document's class + 1; 0: none on the page
    n_all: int  # classes that there are


def find_classes(data: TopicData) -> Classes | None:
    """Return the classes; None if no document has one."""
    if data.labels is None or data.doc_topics is None:
        return None
    names, mixtures = data.class_topics()
    if not names:
        return None
    place = {name: number for number, name in enumerate(names)}
    codes = np.array([-1 if x is None else place[x] for x in data.labels])
    sizes = np.bincount(codes[codes >= 0], minlength=len(names))
    kept = np.sort(np.argsort(-sizes, kind="stable")[:MAX_CLASSES])
    new_code = np.zeros(len(names) + 1, dtype=np.int64)
    new_code[kept] = np.arange(len(kept)) + 1
    return Classes(
        names=[names[number] for number in kept],
        sizes=sizes[kept],
        mixtures=mixtures[kept],
        codes=new_code[codes],
        n_all=len(names),
    )


@dataclass(frozen=True)
class Periods:
    """The periods of the documents, in order of time."""

    names: list[str]
    documents: NDArray[np.int64]  # how many each has
    shares: NDArray[np.float64]  # of topics in a period's tokens; NaN without any
    values: NDArray[np.float64]  # times as numbers (days since 1970), NaN if unknown


def find_periods(data: TopicData) -> Periods | None:
    """Return the periods; None without times, or if all are the same."""
    if data.times is None or data.doc_topics is None:
        return None
    times = data.times
    dated = times.dtype.kind == "M"
    known = ~np.isnat(times) if dated else np.isfinite(times.astype(np.float64))
    if not known.any() or (times[known] == times[known][0]).all():
        return None
    names, codes = _by_calendar(times[known]) if dated else _by_number(times[known])
    lengths = data.document_weights()
    values = np.full(len(times), np.nan)
    seconds = times[known].astype("datetime64[s]" if dated else np.float64)
    values[known] = seconds.astype(np.float64) / (86400 if dated else 1)
    weights = data.doc_topics[known] * lengths[known, None]
    tokens = np.stack([np.bincount(codes, column, len(names)) for column in weights.T])
    total = tokens.sum(axis=0)
    return Periods(
        names=names,
        documents=np.bincount(codes, minlength=len(names)),
        shares=(tokens / np.where(total > 0, total, np.nan)).T,
        values=values,
    )


def _by_calendar(times: NDArray[Any]) -> tuple[list[str], NDArray[np.int64]]:
    for unit in _UNITS:
        # Years are counted from 0, so that centuries begin where people have them.
        first = 1970 if unit == "Y" else 0
        numbers = times.astype(f"datetime64[{unit}]").astype(np.int64) + first
        span = int(numbers.max() - numbers.min()) + 1
        if span <= MAX_PERIODS:
            break
    step = 1 if span <= MAX_PERIODS else int(_round_step(span / (MAX_PERIODS - 1)))
    codes = numbers // step - int(numbers.min()) // step
    starts = (np.arange(int(codes.max()) + 1) + int(numbers.min()) // step) * step
    dates = np.datetime_as_string((starts - first).astype(f"datetime64[{unit}]"))
    return [str(date).replace("T", " ") for date in dates], codes


def _by_number(times: NDArray[Any]) -> tuple[list[str], NDArray[np.int64]]:
    values = times.astype(np.float64)
    low, high = float(values.min()), float(values.max())
    if (values == np.round(values)).all():
        span = high - low + 1
        step = 1.0 if span <= MAX_PERIODS else _round_step(span / (MAX_PERIODS - 1))
    else:
        step = _round_step((high - low) / (MAX_PERIODS - 1))
    first = np.floor(low / step)
    codes = (np.floor(values / step) - first).astype(np.int64)
    starts = (np.arange(int(codes.max()) + 1) + first) * step
    return [f"{start:.10g}" for start in starts], codes


def _round_step(least: float) -> float:
    """Return the first of …, 1, 2, 5, 10, … from `least` on."""
    power = float(10.0 ** np.floor(np.log10(least)))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least)


# Documents of a figure, and those that colours are chosen by.
MAX_POINTS = 10_000

_positions: WeakKeyDictionary[TopicData, tuple[NDArray[np.int64], NDArray[np.float64]]]
_positions = WeakKeyDictionary()
_colors: WeakKeyDictionary[TopicData, NDArray[np.int64]] = WeakKeyDictionary()


def figure_rows(data: TopicData) -> NDArray[np.int64]:
    """Return the documents of a figure: all, or the typical ones and a sample."""
    n_documents = data.n_documents if data.doc_topics is not None else 0
    typical = typical_documents(data).ravel()
    return shown_documents(n_documents, typical, MAX_POINTS, seed=0)


def document_places(data: TopicData, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the places of some documents on their map, in [0, 1], from the top."""
    if data.doc_topics is None:
        return np.empty((0, 2))
    known = _positions.get(data)
    if known is None or not np.array_equal(known[0], rows):
        vectors = None if data.embeddings is None else data.embeddings[rows]
        known = rows, map_documents(data.doc_topics[rows], data.topics, vectors)
        _positions[data] = known
    return known[1]


def topic_colors(data: TopicData) -> NDArray[np.int64]:
    """Return the place of every topic's colour in the palette.

    Topics that touch on the map, or have similar words, have colours that differ.
    """
    if data not in _colors:
        touching = None
        rows = figure_rows(data)
        if len(rows):
            places = document_places(data, rows)
            touching = borders(places, data.main_topics()[rows], data.n_topics)
        _colors[data] = pick_colors(
            data.topic_sizes(), topic_similarity(data), touching
        )
    return _colors[data]


def topic_similarity(data: TopicData) -> NDArray[np.float64]:
    """Return the Bhattacharyya coefficients Σ_w √(φ_kw φ_lw) of topics, in [0, 1]."""
    roots = np.sqrt(data.topics)
    return np.clip((roots @ roots.T).astype(np.float64), 0.0, 1.0)
