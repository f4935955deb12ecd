# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""Topics by slice: the words of a topic depend on a document's time or group.

A document of slice t sees the columns (t, w) of a wider matrix, of which only pairs
that occur are made, so that its non-zeros are those of X. Slices are tied to each other
by the counts that they share, and to the common topic:

    φ_kw ∝ Σ_t N_twk + η,   φ_tkw ∝ Σ_s ρ^|t−s| N_swk + η + κ φ_kw

with ρ = 0 for groups, which have no order; with ρ = 1 every slice has the common topic.
Times become slices: one for each value if there are few, else intervals of equal
length. How the words of topics change is estimated from a fit without time. So slices
never have topics of different subjects, and they cost one pass more than LDA.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core import saved
from topicfold.core.jit import kernel
from topicfold.core.parameters import NOT_NEGATIVE, SHARE, DeclaredParameters, whole
from topicfold.core.typing import Array
from topicfold.corpus.block_corpus import BlockCorpus, pair_keys
from topicfold.evidence.times import as_numbers, checked_times
from topicfold.exceptions import DataError
from topicfold.parts.sides import Side, TopicWeights, is_missing
from topicfold.parts.steps import Context, PhiStep

Matrix = NDArray[np.float64]
Numbers = NDArray[np.int64]
# Expected tokens of a word that is shown as one of a slice.
LEAST_TOKENS = 2.0
Vector = NDArray[np.float64]
# With at most this many values each is a slice; else there are so many intervals.
MOST_VALUES, INTERVALS = 30, 20


class Slices:
    """Pairs of word and slice that occur, and the counts of topics in them.

    `_rho` ties neighbouring slices, `_kappa` (tokens) each to the common topic.
    """

    # Of a fit: sorted pairs, expected counts in them, and the prior in use.
    pair_words_: Numbers
    pair_slices_: Numbers
    pair_counts_: Array
    n_slices_: int
    n_terms_: int
    eta_: float

    def _rho(self) -> float:
        return 0.0

    def _kappa(self) -> float:
        raise NotImplementedError

    def widen(self, X: Any, slices: Numbers, n_slices: int) -> Any:
        """Return X with a column for each pair of a word and a slice that occurs.

        A corpus in blocks stays in blocks.
        """
        if isinstance(X, BlockCorpus):
            blocks, pairs = X.by_slice(slices, n_slices)
            self._keep_pairs(pairs, n_slices, X.shape[1])
            return blocks
        keys = pair_keys(X, slices, n_slices)
        pairs, columns = np.unique(keys, return_inverse=True)
        self._keep_pairs(pairs, n_slices, X.shape[1])
        shape = X.shape[0], len(pairs)
        return sparse.csr_matrix((X.data, columns.ravel(), X.indptr), shape)

    def _keep_pairs(self, pairs: Numbers, n_slices: int, n_terms: int) -> None:
        self.pair_words_, self.pair_slices_ = pairs // n_slices, pairs % n_slices
        self.n_slices_, self.n_terms_ = int(n_slices), int(n_terms)

    def take(self, counts: Array, eta: float) -> None:
        """Keep expected counts (pairs, K), which all topics are made of."""
        self.pair_counts_, self.eta_ = np.ascontiguousarray(counts), float(eta)

    def _summed(self, places: Numbers, size: int, weights: Any = None) -> Matrix:
        """Return the sums of the pairs' counts (size, K) by place."""
        counts = self.pair_counts_
        weights = np.ones(len(places)) if weights is None else weights
        total = np.zeros((size, counts.shape[1]))
        add_rows(places, weights, counts, total)
        return total

    def _kernel(self, positions: Any) -> Matrix:
        """Return ``ρ^|t−s|`` for positions t and all slices s."""
        gaps = np.abs(np.subtract.outer(positions, np.arange(self.n_slices_)))
        return np.asarray(np.power(self._rho(), gaps, dtype=np.float64))

    def common(self) -> Matrix:
        """Return the common topics (K, V)."""
        counts = self._summed(self.pair_words_, self.n_terms_) + self.eta_
        return np.asarray((counts / counts.sum(axis=0)).T)

    def topics_of(self, position: float) -> Matrix:
        """Return the topics (K, V) of a slice, or of a place between or after them."""
        weights = self._kernel(np.array([float(position)]))[0][self.pair_slices_]
        counts = self._summed(self.pair_words_, self.n_terms_, weights)
        counts += self._kappa() * self.common().T + self.eta_
        return np.asarray((counts / counts.sum(axis=0)).T)

    def words_of(self, number: int) -> Matrix:
        """Return the topics (K, V) of a slice, 0 where it has no word of a topic.

        A word of a topic has two expected tokens or more there.
        """
        here = self.pair_slices_ == number
        own = np.zeros((self.n_terms_, self.pair_counts_.shape[1]))
        own[self.pair_words_[here]] = self.pair_counts_[here]
        return np.where(own.T >= LEAST_TOKENS, self.topics_of(number), 0.0)

    def _check_slices(self, n_topics: int, n_terms: int) -> None:
        """Refuse loaded pairs that are not those of topics of this size."""
        words, slices, counts = self.pair_words_, self.pair_slices_, self.pair_counts_
        numbers = isinstance(words, np.ndarray) and isinstance(slices, np.ndarray)
        if not numbers or words.dtype.kind != "i" or slices.dtype.kind != "i":
            raise ValueError("pair_words_ and pair_slices_ are not whole numbers")
        size = len(words)
        if self.n_terms_ != n_terms or slices.shape != words.shape or size == 0:
            raise ValueError("pairs of words and slices do not fit the topics")
        if counts.shape != (size, n_topics) or not np.isfinite(counts).all():
            raise ValueError(f"pair_counts_ has shape {counts.shape}")
        inside = 0 <= words.min() <= words.max() < n_terms
        if not inside or not 0 <= slices.min() <= slices.max() < self.n_slices_:
            raise ValueError("a pair is outside of the words or slices")
        if (counts < 0).any() or not 0 < self.eta_ < np.inf:
            raise ValueError("pair_counts_ or eta_ is negative")


class GroupedPhi(DeclaredParameters, Slices, PhiStep):
    """Topics by group of documents, pulled towards the common topic (content).

    ``φ_gkw ∝ N_gwk + η + κ φ_kw``. Works on the wider matrix of `widen`.

    Parameters
    ----------
    strength : float, default=3000.0
        κ, in tokens: with more, groups share more of a topic's words.
    eta : float, default=0.01
        Prior of the common topics, in tokens.
    """

    needs_all_words = True
    normalized = True

    strength: Annotated[float, NOT_NEGATIVE]
    eta: Annotated[float, NOT_NEGATIVE]

    def __init__(self, strength: float = 3000.0, eta: float = 0.01) -> None:
        self._store_parameters(locals())

    def _kappa(self) -> float:
        return float(self.strength)

    def prepare(self, context: Context) -> None:
        """Begin without counts: those of a fit that goes on come from its state."""
        shape = len(self.pair_words_), context.n_topics
        self.take(np.zeros(shape, np.asarray(context.topics).dtype), self.eta)

    def update(self, counts: Array, topics: Array, context: Context) -> Array:
        """Return the topics of every pair."""
        plain = np.empty_like(counts)
        plain[context.rows] = counts
        self.take(plain, self.eta)
        kappa, slices = self._kappa(), self.pair_slices_
        weights = kappa * self.common().T[self.pair_words_] + (plain + self.eta_)
        totals = self._summed(slices, self.n_slices_) + self.eta_ * self.n_terms_
        weights /= (totals + kappa)[slices]
        return weights[context.rows].astype(counts.dtype)


def numbered(values: Any, known: Any, what: str) -> Numbers:
    """Return the number of each value among the known ones, -1 where it is missing.

    Raises
    ------
    DataError
        If a value is not known.
    """
    place = {str(name): number for number, name in enumerate(known)}
    found = np.full(len(values), -1)
    for row, value in enumerate(values):
        if is_missing(value):
            continue
        if str(value) not in place:
            names = ", ".join(list(place)[:10])
            raise DataError(
                f"{what} is {value!r} in row {row}, which the fit did not have. It had "
                f"{names}; None uses the topics of all groups together."
            )
        found[row] = place[str(value)]
    return found


@kernel
def add_rows(places, weights, rows, out):
    """Add every row, times its weight, to the row of `out` at its place."""
    for i in range(rows.shape[0]):
        place = places[i]
        weight = weights[i]
        for k in range(rows.shape[1]):
            out[place, k] += weight * rows[i, k]


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
