# SPDX-License-Identifier: BSD-3-Clause
"""Documents of the page: shown and typical ones, mixtures, classes and periods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.report.packing import pack_array, smallest_unsigned
from topicfold.topic_data import TopicData

N_TYPICAL = 8
MAX_CLASSES = 200
_MOST_TOPICS = 16
_SCALE = 255
MAX_PERIODS = 60
# Calendar units from fine to coarse, and how much of the ISO date names one.
_UNITS = (("h", 13), ("D", 10), ("M", 7), ("Y", 4))
_STEPS = (1, 2, 5)


def typical_documents(data: TopicData) -> NDArray[np.int64]:
    """Return the most typical documents of every topic, best first.

    They have the largest θ_dk n_d / (n_d + m), where n_d is the length and m the
    median length: a document of two words that are both of the topic is not typical.

    Returns
    -------
    ndarray of shape (n_topics, min(8, n_documents))

    Examples
    --------
    >>> data = TopicData(topics=[[1.0]], vocabulary=["a"], doc_topics=[[1.0], [1.0]],
    ...     doc_lengths=[2, 40])
    >>> typical_documents(data).tolist()
    [[1, 0]]
    """
    if data.doc_topics is None or not len(data.doc_topics):
        return np.empty((data.n_topics, 0), dtype=np.int64)
    weights = np.ones(data.n_documents)
    if data.doc_lengths is not None and data.doc_lengths.any():
        lengths = data.doc_lengths.astype(np.float64)
        weights = lengths / (lengths + np.median(lengths[lengths > 0]))
    n_best = min(N_TYPICAL, data.n_documents)
    best = np.empty((data.n_topics, n_best), dtype=np.int64)
    for topic, column in enumerate(data.doc_topics.T):
        score = column * weights
        threshold = np.partition(score, len(score) - n_best)[len(score) - n_best]
        found = np.flatnonzero(score >= threshold)
        best[topic] = found[np.argsort(-score[found], kind="stable")[:n_best]]
    return best


def shown_documents(
    n_documents: int, wanted: NDArray[np.int64], max_documents: int, seed: int
) -> NDArray[np.int64]:
    """Return the rows of the documents on the page: `wanted` ones and a random sample.

    Examples
    --------
    >>> shown_documents(3, np.array([1]), 10, 0).tolist()
    [0, 1, 2]
    >>> rows = shown_documents(1000, np.array([7]), 10, 0)
    >>> len(rows), 7 in rows
    (10, True)
    """
    if n_documents <= max_documents:
        return np.arange(n_documents)
    chosen = np.unique(wanted)
    rest = np.setdiff1d(np.arange(n_documents), chosen)
    n_more = max(0, max_documents - len(chosen))
    more = np.random.default_rng(seed).choice(rest, n_more, replace=False)
    return np.sort(np.concatenate([chosen, more]))


def pack_mixtures(doc_topics: NDArray[Any]) -> dict[str, Any]:
    """Return mixtures as JSON: for each document its largest topics, in 255ths.

    Examples
    --------
    >>> packed = pack_mixtures(np.array([[0.5, 0.5, 0.0]]))
    >>> sorted(packed)
    ['counts', 'topics', 'weights']
    """
    n_topics = doc_topics.shape[1]
    steps = np.empty(doc_topics.shape, dtype=np.uint8)
    np.rint(doc_topics * _SCALE, out=steps, casting="unsafe")
    if n_topics > _MOST_TOPICS:
        least = np.partition(steps, n_topics - _MOST_TOPICS, axis=1)
        steps[steps < least[:, [n_topics - _MOST_TOPICS]]] = 0
    topics = np.nonzero(steps)[1]
    counts = np.count_nonzero(steps, axis=1)
    return {
        "counts": pack_array(counts.astype(smallest_unsigned(n_topics + 1))),
        "topics": pack_array(topics.astype(smallest_unsigned(n_topics))),
        "weights": pack_array(steps[steps > 0]),
    }


@dataclass(frozen=True)
class Classes:
    """The classes on the page.

    Attributes
    ----------
    names : list of str
        In alphabetical order; the largest, if there are too many.
    sizes : ndarray of int
        Documents of each.
    mixtures : ndarray of shape (n_classes, n_topics)
        Mean mixture of each.
    codes : ndarray of shape (n_documents,)
        Place of every document's class + 1; 0 if it has none, or none on the page.
    n_all : int
        How many classes there are.
    """

    names: list[str]
    sizes: NDArray[np.int64]
    mixtures: NDArray[np.float64]
    codes: NDArray[np.int64]
    n_all: int


def find_classes(data: TopicData) -> Classes | None:
    """Return the classes; None if no document has one.

    Examples
    --------
    >>> data = TopicData(topics=[[1.0]], vocabulary=["a"], doc_topics=[[1.0], [1.0]],
    ...     labels=["x", None])
    >>> find_classes(data).codes.tolist()
    [1, 0]
    """
    if data.labels is None or data.doc_topics is None:
        return None
    known = [label for label in data.labels if label is not None]
    if not known:
        return None
    names, mixtures = data.class_topics()
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
    """The periods of the documents.

    Attributes
    ----------
    names : list of str
        What to call each, in order of time.
    documents : ndarray of int
        How many documents each has.
    shares : ndarray of shape (n_periods, n_topics)
        Share of every topic in the tokens of a period; 0 where there are none.
    values : ndarray of shape (n_documents,)
        Time of every document as a number (dates: days since 1970), NaN if unknown.
    """

    names: list[str]
    documents: NDArray[np.int64]
    shares: NDArray[np.float64]
    values: NDArray[np.float64]


def find_periods(data: TopicData) -> Periods | None:
    """Return the periods; None without times, or if all are the same.

    Examples
    --------
    >>> data = TopicData(topics=[[1.0]], vocabulary=["a"], doc_topics=[[1.0]] * 3,
    ...     times=np.array(["2001-05-03", "2001-06-01", "2003-01-01"], "datetime64[D]"))
    >>> periods = find_periods(data)
    >>> periods.names[0], periods.names[-1], len(periods.names)
    ('2001-05', '2003-01', 21)
    """
    if data.times is None or data.doc_topics is None:
        return None
    times = data.times
    dated = times.dtype.kind == "M"
    known = ~np.isnat(times) if dated else np.isfinite(times.astype(np.float64))
    if not known.any() or (times[known] == times[known][0]).all():
        return None
    names, codes = _by_calendar(times[known]) if dated else _by_number(times[known])
    lengths = np.ones(len(times))
    if data.doc_lengths is not None and data.doc_lengths.any():
        lengths = data.doc_lengths.astype(np.float64)
    weights = data.doc_topics[known] * lengths[known, None]
    tokens = np.stack([np.bincount(codes, column, len(names)) for column in weights.T])
    return Periods(
        names=names,
        documents=np.bincount(codes, minlength=len(names)),
        shares=(tokens / np.maximum(tokens.sum(axis=0), 1e-300)).T,
        values=_as_numbers(times, known),
    )


def _by_calendar(times: NDArray[Any]) -> tuple[list[str], NDArray[np.int64]]:
    for unit, _ in _UNITS:
        numbers = times.astype(f"datetime64[{unit}]").astype(np.int64)
        span = int(numbers.max() - numbers.min()) + 1
        if span <= MAX_PERIODS:
            break
    letters = dict(_UNITS)[unit]
    step = _least_step(span)
    first = (int(numbers.min()) // step) * step
    codes = (numbers - first) // step
    starts = np.arange(int(codes.max()) + 1) * step + first
    dates = np.datetime_as_string(starts.astype(f"datetime64[{unit}]"))
    return [str(date)[:letters].replace("T", " ") for date in dates], codes


def _by_number(times: NDArray[Any]) -> tuple[list[str], NDArray[np.int64]]:
    values = times.astype(np.float64)
    low, high = float(values.min()), float(values.max())
    whole = bool((values == np.round(values)).all())
    step = float(_least_step(high - low + 1)) if whole else 0.0
    if not step:
        rough = (high - low) / (MAX_PERIODS - 1)
        power = 10.0 ** np.floor(np.log10(rough))
        step = next(s * power for s in (*_STEPS, 10) if s * power >= rough)
    first = np.floor(low / step)
    codes = (np.floor(values / step) - first).astype(np.int64)
    starts = (np.arange(int(codes.max()) + 1) + first) * step
    return [f"{start:.10g}" for start in starts], codes


def _least_step(span: float) -> int:
    """Return 1, 2, 5, 10, … so that a span has at most `MAX_PERIODS` steps."""
    power = 1
    while True:
        for step in _STEPS:
            # One more may be needed, because periods begin at multiples of the step.
            if span / (step * power) <= MAX_PERIODS - (step * power > 1):
                return step * power
        power *= 10


def _as_numbers(times: NDArray[Any], known: NDArray[np.bool_]) -> NDArray[np.float64]:
    values = np.full(len(times), np.nan)
    if times.dtype.kind == "M":
        seconds = times[known].astype("datetime64[s]").astype(np.float64)
        values[known] = seconds / 86400
    else:
        values[known] = times[known]
    return values
