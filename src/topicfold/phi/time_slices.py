# SPDX-License-Identifier: BSD-3-Clause
"""Topics by slice of time.

Times become slices: one for each value if there are few, else intervals of equal
length. How the words of topics change is estimated from a fit without time. So slices
never have topics of different subjects, and they cost one pass more than LDA.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from topicfold.core import saved
from topicfold.core.parameters import NOT_NEGATIVE, SHARE, DeclaredParameters, whole
from topicfold.evidence.times import as_numbers, checked_times
from topicfold.exceptions import DataError
from topicfold.parts.sides import Side, TopicWeights
from topicfold.parts.steps import Context
from topicfold.phi.slices import Slices

Vector = NDArray[np.float64]
# With at most this many values each is a slice; else there are so many intervals.
MOST_VALUES, INTERVALS = 30, 20


class TimeSlices(Slices, DeclaredParameters, Side):
    """Topics by slice of time: ``φ_tk ∝ Σ_s ρ^|t−s| N_sk + η + κ φ_k``.

    Neighbouring slices share their counts, and all are pulled towards the common one.

    Data
    ----
    time : sequence of numbers, dates or texts
        The time of each document; in `transform` None for unknown.

    Parameters
    ----------
    decay : float, default=0.8
        ρ: share of a slice's counts that the next one takes over; 0 is none. With 1,
        all, topics do not change.
    strength : float, default=10000.0
        κ, in tokens: how strongly slices are pulled towards the common topic.
    n_slices : int or None, default=None
        Slices of equal length. None: one for each value up to 30 values, else 20.

    Attributes
    ----------
    slice_starts_ : ndarray of shape (n_slices,)
        Where slices begin, dates as days since 1970; with a slice for each value, the
        values.
    slice_names_ : list of str
        The same, to show.
    """

    data = "time"
    hook = "topics"
    decay: Annotated[float, SHARE]
    strength: Annotated[float, NOT_NEGATIVE]
    n_slices: Annotated[int | None, whole(2, 100_000)]

    def __init__(
        self,
        decay: float = 0.8,
        *,
        strength: float = 10_000.0,
        n_slices: int | None = None,
    ) -> None:
        self._store_parameters(locals())

    def _rho(self) -> float:
        return float(self.decay)

    def _kappa(self) -> float:
        return max(float(self.strength), 1e-6)

    def check(self, data: Any, context: Context) -> Vector:
        """Return the position of each document among the slices."""
        times = checked_times(data, context.n_documents)
        if context.fitting:
            self._cut(times)
        elif (times.dtype.kind == "M") != self.dates_ and not np.isnan(
            as_numbers(times)
        ).all():
            was = "dates" if self.dates_ else "numbers"
            raise DataError(f"time was given as {was} in the fit. Give {was}.")
        return self.positions(times)

    def _cut(self, times: NDArray[Any]) -> None:
        numbers = as_numbers(times)
        missing = np.flatnonzero(np.isnan(numbers))
        if len(missing) == len(numbers):  # topics do not change
            self.dates_, self.by_value_ = False, True
            self.slice_starts_, self.slice_names_ = np.zeros(1), ["all"]
            return
        if len(missing):
            more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
            raise DataError(
                f"time is missing in row {missing[0]}{more}. Leave such documents out "
                "of the fit, or give them a time."
            )
        values = np.unique(numbers)
        if len(values) < 2:
            raise DataError(
                "time has only one value, so there is only one slice. Give times that "
                "differ, or use LDA."
            )
        self.dates_ = times.dtype.kind == "M"
        self.by_value_ = self.n_slices is None and len(values) <= MOST_VALUES
        if self.by_value_:
            self.slice_starts_ = values
        else:
            n_slices = self.n_slices or INTERVALS
            edges = np.linspace(values[0], values[-1], n_slices + 1)
            if (values == np.round(values)).all():  # years begin as years
                edges = np.unique(np.ceil(edges))
            self.slice_starts_ = edges[:-1]
        self.slice_names_ = [self._name(start) for start in self.slice_starts_]

    def _name(self, start: float) -> str:
        if self.dates_:
            return str(np.datetime64(int(np.floor(start)), "D"))
        return f"{start:g}"

    def topics(self, *given: Any) -> TopicWeights:
        """Refuse: DynamicLDA makes the topics of slices when its fit is done."""
        raise DataError(
            "TimeSlices is a part of DynamicLDA, which makes topics of slices when its "
            "fit is done. Use DynamicLDA in place of sides=[TimeSlices()]."
        )

    def positions(self, times: NDArray[Any]) -> Vector:
        """Return places among the slices, 0 the first; NaN for unknown times.

        Times between the values of slices belong to the one before; times before the
        first slice or after the last have places beyond them.
        """
        numbers, starts = as_numbers(times), self.slice_starts_
        if len(starts) == 1:
            return np.zeros(len(numbers))
        width = (starts[-1] - starts[0]) / (len(starts) - 1)
        inside = np.searchsorted(starts, numbers, side="right") - 1.0
        beyond = np.ceil((numbers - starts[-1]) / width) + len(starts) - 1.0
        before = np.floor((numbers - starts[0]) / width)
        last = starts[-1] if self.by_value_ else starts[-1] + width * (1 + 1e-9)
        beyond = beyond if self.by_value_ else beyond - 1.0
        places = np.where(numbers > last, beyond, inside)
        places = np.where(numbers < starts[0], before, places)
        return np.where(np.isnan(numbers), np.nan, places)

    _saved = saved.forms(
        slice_starts_=saved.numbers("S"),
        slice_names_=saved.texts("S"),
        dates_=saved.flag,
        by_value_=saved.flag,
    )

    def _sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        return {**sizes, "S": self.n_slices_}

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        self._check_slices(sizes["K"], sizes["V"])
        super()._check_fitted(sizes)
        if (np.diff(self.slice_starts_) <= 0).any():
            raise ValueError("slice_starts_ do not rise")
