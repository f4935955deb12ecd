# SPDX-License-Identifier: BSD-3-Clause
"""Topics over time: periods that suit the dates, and the topics' shares in each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.topic_data import TopicData

MAX_PERIODS = 60
# Calendar units from fine to coarse, and how much of the ISO date names one.
_UNITS = (("h", 13), ("D", 10), ("M", 7), ("Y", 4))
_STEPS = (1, 2, 5)


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
