# SPDX-License-Identifier: BSD-3-Clause
"""Documents of the page: shown and typical ones, mixtures, classes and periods.

Places on the map and colours of topics are found once for a record, and are the same
for the report, its map and the figures of `topicfold.plotting`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from topicfold.core.counts import best_places
from topicfold.report.layout import borders, map_documents, pick_colors
from topicfold.report.page import pack_array
from topicfold.topic_data import TopicData

N_TYPICAL = 8
MAX_CLASSES = 200
_MOST_TOPICS = 16
_SCALE = 255
MAX_PERIODS = 60
# Calendar units from fine to coarse, and how much of the ISO date names one.
_UNITS = ("h", "D", "M", "Y")


def typical_documents(data: TopicData) -> NDArray[np.int64]:
    """Return the most typical documents of every topic, up to 8, by descending share.

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
        chosen = best_places(column * weights, N_TYPICAL)
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
