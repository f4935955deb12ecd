# SPDX-License-Identifier: BSD-3-Clause
"""Times of documents (numbers, dates, or dates as strings): topics have a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from topicfold.core import saved
from topicfold.core.parameters import NOT_NEGATIVE, DeclaredParameters
from topicfold.core.times import parse_times
from topicfold.core.typing import Array
from topicfold.exceptions import DataError
from topicfold.parts.sides import Side, check_rows
from topicfold.parts.steps import Context

Vector = NDArray[np.float64]
# Shares of the range that the Beta distributions of stamps stay away from its ends.
EDGE = 0.01
# Limits of a Beta's parameters.
LEAST_SHAPE, MOST_SHAPE = 0.5, 500.0


def checked_times(data: Any, n_documents: int) -> NDArray[Any]:
    """Return times as float64, or as datetime64 if they are dates; NaN is unknown."""
    values = data.to_numpy() if hasattr(data, "to_numpy") else np.asarray(data)
    if values.ndim != 1:
        raise DataError(f"time has {values.ndim} dimensions. Give one per document.")
    check_rows("time", len(values), n_documents)
    if values.dtype.kind == "M":
        return values
    if values.dtype.kind in "biuf":
        numbers = values.astype(np.float64)
    else:
        missing = [v is None or v != v or not str(v).strip() for v in values]
        texts = ["" if m else str(v) for v, m in zip(values, missing, strict=True)]
        found = parse_times(texts)
        if found is None:
            if all(missing):
                return np.full(len(values), np.nan)
            known = [text for text in texts if text]
            wrong = next((text for text in known if parse_times([text]) is None), None)
            if wrong is not None:
                raise DataError(
                    f"time has {wrong!r}, which is neither a number nor a date. "
                    "Write dates as 2001-05-03, and leave unknown ones empty."
                )
            shown = known[0]
            raise DataError(
                f"time has {shown!r}, but its values must be all numbers or all dates "
                "of one form. Write dates as 2001-05-03."
            )
        if found.dtype.kind == "M":
            return found
        numbers = found
    if np.isinf(numbers).any():
        row = int(np.flatnonzero(np.isinf(numbers))[0])
        raise DataError(f"time is infinite in row {row}. Correct it.")
    return numbers


def as_numbers(times: NDArray[Any]) -> Vector:
    """Return times as numbers, dates as days since 1970; NaN is unknown."""
    if times.dtype.kind != "M":
        return np.asarray(times, dtype=np.float64)
    days = times.astype("datetime64[s]").astype(np.float64) / 86400.0
    return np.where(np.isnat(times), np.nan, days)


class TimeStamps(DeclaredParameters, Side):
    """Topics have a time: ``δ_dk = λ log Beta(t_d; a_k, b_k)``, topics over time.

    A document's time is evidence for the topics of that time, for each of its tokens;
    moments of the Betas are weighted by N_dk.

    Data
    ----
    time : sequence of numbers, dates or texts
        The time of each document; NaN or None where it is not known.

    Parameters
    ----------
    weight : float, default=0.2
        λ: the weight of a document's time, as a share of the weight of one token.

    Attributes
    ----------
    shapes_ : ndarray of shape (2, n_topics)
        a and b of every topic, of times scaled to 0 .. 1.
    range_ : ndarray of shape (2,)
        First and last time, dates as days since 1970.

    Examples
    --------
    >>> from topicfold import LDA
    >>> from topicfold.evidence import TimeStamps
    >>> X = [[5, 4, 1, 0], [4, 6, 1, 0], [0, 1, 3, 5], [0, 1, 6, 4]]
    >>> model = LDA(2, sides=[TimeStamps()], random_state=0)
    >>> model = model.fit(X, time=[1990, 1991, 2004, 2005])
    >>> sorted(model.sides_[0].mean_times().round().tolist())
    [1991.0, 2005.0]
    """

    data = "time"
    hook = "evidence"
    _saved = saved.forms(
        range_=saved.numbers("2"), shapes_=saved.numbers("2K", saved.SMALLEST)
    )
    weight: Annotated[float, NOT_NEGATIVE]

    def __init__(self, weight: float = 0.2) -> None:
        self._store_parameters(locals())

    def check(self, data: Any, context: Context) -> Vector:
        """Return times scaled to the inside of 0 .. 1."""
        times = checked_times(data, context.n_documents)
        numbers = as_numbers(times)
        if context.fitting:
            known = numbers[~np.isnan(numbers)]
            known = known if len(known) else np.array([0.0, 1.0])
            if len(np.unique(known)) < 2:
                raise DataError(
                    "time has only one value. Give times that differ, or leave "
                    "TimeStamps out."
                )
            self.dates_ = times.dtype.kind == "M"
            self.range_ = np.array([known.min(), known.max()])
            self.shapes_ = np.ones((2, context.n_topics))
        first, last = self.range_
        scaled = np.clip((numbers - first) / (last - first), 0.0, 1.0)
        return EDGE + (1 - 2 * EDGE) * scaled

    def gather(
        self, counts: Array, data: Vector, context: Context
    ) -> tuple[Vector, ...]:
        """Return sums of counts, of times and of their squares."""
        known = ~np.isnan(data)
        weights = np.asarray(counts[known], dtype=np.float64)
        times = data[known]
        return weights.sum(axis=0), times @ weights, times**2 @ weights

    def learn(self, sums: tuple[Any, ...], context: Context) -> None:
        """Learn the Betas by their moments."""
        totals = np.maximum(sums[0], 1e-12)
        if not sums[0].any():
            return
        mean = sums[1] / totals
        variance = sums[2] / totals - mean**2
        variance = np.maximum(variance, 1e-6)
        size = np.maximum(mean * (1 - mean) / variance - 1.0, 2 * LEAST_SHAPE)
        shapes = np.stack([mean * size, (1 - mean) * size])
        self.shapes_ = np.clip(shapes, LEAST_SHAPE, MOST_SHAPE)

    def evidence(self, counts: Array, data: Vector, context: Context) -> Array:
        """Return the weighted log densities of the documents' times."""
        from scipy.special import betaln

        a, b = self.shapes_
        known = np.where(np.isnan(data), 0.5, data)[:, None]
        logs = (a - 1) * np.log(known) + (b - 1) * np.log1p(-known) - betaln(a, b)
        return np.asarray(np.where(np.isnan(data)[:, None], 0.0, self.weight * logs))

    def mean_times(self) -> Vector:
        """Return the mean time of every topic, of dates the days since 1970."""
        a, b = self.shapes_
        share = (a / (a + b) - EDGE) / (1 - 2 * EDGE)
        return np.asarray(self.range_[0] + share * (self.range_[1] - self.range_[0]))

    def carried(self, data: Any, context: Context) -> dict[str, tuple[int, ...]]:
        """Return the shape of the Betas' parameters."""
        return {"shapes_": (2, context.n_topics)}

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        super()._check_fitted(sizes)
        if not self.range_[0] < self.range_[1]:
            raise ValueError("range_ is invalid")
