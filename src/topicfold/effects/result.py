# SPDX-License-Identifier: BSD-3-Clause
"""Effects for people to read: tables, tests, predicted shares, sentences."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from topicfold.core.parameters import level_of_caller
from topicfold.core.side_table import SideTable
from topicfold.core.tables import Table, html_table, text_table
from topicfold.core.typing import Doubles
from topicfold.effects.design import Covariate, Design
from topicfold.effects.regression import Outcome, Pooled, adjusted
from topicfold.exceptions import DataError, DataWarning

LEVEL = 0.95
POINTS = 40  # of a curve
DAYS_OF_YEAR = 365.25
# A covariate that is not a line is described between these quantiles of its values.
ENDS = (0.1, 0.9)
_STARRED = "* The documents do not determine these words: do not rely on the interval."
_CHANGED = (
    " The documents do not determine these words as a topic, so do not rely on this "
    "interval."
)


@dataclass(frozen=True)
class Contrast:
    """A difference of expected shares: a weighted sum of coefficients."""

    covariate: str
    label: str  # such as "party: right - left", "age: +1" or "age: 60 - 20"
    weights: Doubles  # of the coefficients, (p,)
    ends: tuple[str, ...] = ()  # the values compared, first minus second; not of slopes
    unit: str = ""  # of a slope; "date" where dates are compared


class Effects:
    """Effects of covariates on topic shares, with intervals.

    It prints as a table. An effect is a difference of expected shares, with the other
    covariates as they are in each document (an average marginal effect): between each
    level and the first; for numbers, per unit; for dates, per year; for splines and
    polynomials, between the first and the ninth decile.

    Attributes
    ----------
    design : Design
        The regression's rows and columns.
    outcomes : list of Outcome
        What is explained.
    pooled : Pooled
        Coefficients and covariances.
    notes : tuple of str
        What was left out, and how standard errors were computed.
    changed : frozenset of int
        Places in `outcomes` of those whose words in the draws are not those of the fit:
        the documents do not determine them, and intervals are too narrow.
    model_, split_ : estimator and array of bool, or None
        From `split_sample`: the fitted model, and the documents its topics are from.
    """

    model_: Any = None
    split_: NDArray[np.bool_] | None = None

    def __init__(
        self,
        design: Design,
        outcomes: list[Outcome],
        pooled: Pooled,
        notes: tuple[str, ...],
        changed: frozenset[int],
    ) -> None:
        self.design = design
        self.outcomes = outcomes
        self.pooled = pooled
        self.notes = notes
        self.changed = changed

    # Tables

    def rows(self, *, level: float = LEVEL, adjust: str | None = None) -> Table:
        """Return the effects, one per outcome and contrast, as rows.

        Parameters
        ----------
        level : float, default=0.95
            Of the intervals.
        adjust : {"holm", "fdr"} or None, default=None
            Adjust p-values for all tests of the table: "holm" keeps the probability of
            any false positive, "fdr" the expected share of them (Benjamini-Hochberg).
            Intervals do not change.

        Returns
        -------
        Table
            If the documents do not determine some topics, "determined" says which.
        """
        return self._rows(self.contrasts, level, adjust)

    def table(self, *, level: float = LEVEL, adjust: str | None = None) -> Any:
        """Return the effects as a pandas data frame; see `rows`."""
        return self.rows(level=level, adjust=adjust).to_frame()

    def contrast(
        self,
        covariate: str,
        first: Any,
        second: Any,
        *,
        at: Mapping[str, Any] | None = None,
        level: float = LEVEL,
        adjust: str | None = None,
    ) -> Table:
        """Return the difference of shares between two values: first minus second.

        Parameters
        ----------
        covariate : str
            The column.
        first, second : level, number or date
            Two values of it.
        at : mapping or None, default=None
            Values of other covariates, such as ``{"party": "left"}``, which matter in
            a formula with interactions. None: as they are in the documents.
        level, adjust
            As in `rows`.
        """
        found = self.design.covariate(covariate)
        ends = [self._chosen(found, value) for value in (first, second)]
        chosen = self._difference(found, ends[0], ends[1], at)
        return self._rows([chosen], level, adjust)

    def predict(
        self,
        covariate: str,
        values: Any = None,
        *,
        at: Mapping[str, Any] | None = None,
        level: float = LEVEL,
    ) -> Table:
        """Return the expected shares at values of a covariate, others unchanged.

        Parameters
        ----------
        covariate : str
            The column.
        values : value, sequence or None, default=None
            None is every level, or 40 numbers from the smallest to the largest.
        at : mapping or None, default=None
            Values of other covariates, as in `contrast`.
        level : float, default=0.95
            Of the intervals.
        """
        found = self.design.covariate(covariate)
        chosen, held = self._values(found, values), self._held(at, found)
        means = [self.design.mean_row(covariate, value, held) for value in chosen]
        rows = Table(
            {
                "topic": outcome.name,
                "words": outcome.words,
                "value": _shown(found, value),
                **self._interval(row, place, level, name="share"),
            }
            for place, outcome in enumerate(self.outcomes)
            for value, row in zip(chosen, means, strict=True)
        )
        return self._marked(rows)

    def tests(self, *, adjust: str | None = None) -> Table:
        """Return a test of each covariate as a whole, for each outcome.

        The null hypothesis is that all coefficients of the covariate are zero,
        interactions included: all levels are equal, or the curve is flat.
        """
        rows = Table()
        for place, outcome in enumerate(self.outcomes):
            for covariate in self.design.covariates:
                columns = self.design.tested_columns(covariate.name)
                chosen = np.eye(self.design.matrix.shape[1])[columns]
                curve = covariate.kind != "levels" and len(columns) > 1
                f, free, p = self.pooled.joint_test(chosen, place, curve=curve)
                rows.append(
                    {
                        "topic": outcome.name,
                        "words": outcome.words,
                        "covariate": covariate.name,
                        "F": f,
                        "columns": len(columns),
                        "free": free,
                        "p": p,
                    }
                )
        return self._marked(_adjust(rows, adjust))

    def coefficients(self) -> Table:
        """Return the coefficients of the regressions, as the design has them."""
        rows = Table()
        for place, outcome in enumerate(self.outcomes):
            for name, row in zip(
                self.design.names, np.eye(len(self.design.names)), strict=True
            ):
                values = self._interval(row, place, LEVEL)
                rows.append({"topic": outcome.name, "coefficient": name, **values})
        return self._marked(rows)

    @property
    def n_tests(self) -> int:
        """Number of effects in the table."""
        return len(self.outcomes) * len(self.contrasts)

    # Words and figures

    def sentences(
        self, *, level: float = LEVEL, adjust: str | None = None
    ) -> list[str]:
        """Return a sentence per effect, for a paper.

        Parameters
        ----------
        level, adjust
            As in `rows`.
        """
        rows = self.rows(level=level, adjust=adjust)
        contrasts = [c for _ in self.outcomes for c in self.contrasts]
        outcomes = [o for o in self.outcomes for _ in self.contrasts]
        return [
            _sentence(outcome, contrast, row, level, adjust is not None)
            + (_CHANGED if place // len(self.contrasts) in self.changed else "")
            for place, (outcome, contrast, row) in enumerate(
                zip(outcomes, contrasts, rows, strict=True)
            )
        ]

    def plot(
        self, covariate: str | None = None, *, kind: str | None = None,
        path: Any = None, **options: Any,
    ) -> Any:  # fmt: skip
        """Draw a figure of matplotlib, and save it to `path` if given.

        Parameters
        ----------
        covariate : str or None, default=None
            The column; None is the first.
        kind : {"effects", "shares"} or None, default=None
            "effects" are points with intervals for each topic, "shares" are expected
            shares along a number or by level. None is "shares" for a covariate whose
            effect is not a straight line or that is drawn `by` another, otherwise
            "effects".
        path : str or path, optional
            File to write: .png, .svg or .pdf.
        **options
            Those of the functions in :mod:`topicfold.effects.figures`.
        """
        from topicfold.effects.figures import draw

        figure = draw(self, covariate, kind, **options)
        if path is not None:
            figure.write(path)
        return figure

    @cached_property
    def plot_data(self) -> dict[str, Any]:
        """The data of figures, as plain lists: effects, and shares by covariate."""
        shares = {}
        for covariate in self.design.covariates:
            rows = self.predict(covariate.name)
            per_topic = len(rows) // len(self.outcomes)
            shares[covariate.name] = {
                "kind": covariate.kind,
                "values": [row["value"] for row in rows[:per_topic]],
                "topics": [
                    {
                        "topic": rows[start]["topic"],
                        "words": rows[start]["words"],
                        **{
                            key: [row.get(key) for row in rows[start:][:per_topic]]
                            for key in ("share", "low", "high")
                        },
                    }
                    for start in range(0, len(rows), per_topic)
                ],
            }
        return {
            "formula": self.design.formula,
            "level": LEVEL,
            "effects": [dict(row) for row in self.rows()],
            "shares": shares,
            "notes": list(self.notes),
        }

    def side_table(self) -> SideTable:
        """Return the effects as a side table of the topics, for the report.

        Only effects on single topics: the report has no place for sums and differences.
        """
        n_topics = len(self.outcomes[0].weights)
        single = [outcome.weights.tolist() for outcome in self.outcomes]
        if single != np.eye(n_topics).tolist():
            raise DataError(
                "the report needs the effects on every topic. Leave topics= out of "
                "effects()."
            )
        rows = self.rows()
        shape = (n_topics, len(self.contrasts))
        values = np.array([row["estimate"] for row in rows]).reshape(shape).T
        errors = None
        if "high" in rows[0]:  # so that the report's intervals are those of the table
            half = np.array([row["high"] - row["estimate"] for row in rows])
            errors = half.reshape(shape).T / stats.norm.ppf((1 + LEVEL) / 2)
        tests = f"{self._number_of_tests()}{self._not_determined()}"
        return SideTable(
            name="covariates",
            kind="effects",
            rows=tuple(contrast.label for contrast in self.contrasts),
            values=values,
            errors=errors,
            note=f"Difference of the share of a topic, {self.design.formula}: 0.05 is "
            f"five percentage points. {tests}",
        )

    def text(self, *, level: float = LEVEL, adjust: str | None = None) -> str:
        """Return the table and its notes as text, a part per effect; see `rows`."""
        rows = self.rows(level=level, adjust=adjust)
        lines = [self._title()]
        for number, contrast in enumerate(self.contrasts):
            own = rows[number :: len(self.contrasts)]
            own = [_short(row, _decimals(own)) for row in own]
            lines += ["", contrast.label, text_table(own, narrow=True)]
        return "\n".join((*lines, "", *self._remarks(adjust)))

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{escape(note)}</p>" for note in self._remarks())
        rows = [_starred(row) for row in self.rows()]
        return html_table(rows, self._title()) + notes

    # Parts

    @cached_property
    def contrasts(self) -> list[Contrast]:
        """The differences that the table shows, for every covariate."""
        found = []
        for covariate in self.design.covariates:
            if covariate.kind == "levels":
                first, *others = covariate.levels
                found += [self._difference(covariate, level, first) for level in others]
            else:
                found.append(self._slope(covariate))
        return found

    def is_line(self, covariate: Covariate) -> bool:
        """Whether shares change by the same amount per unit everywhere."""
        places = np.quantile(self.design.values(covariate.name), (0, 0.3, 0.7, 1))
        rows = np.stack([self.design.mean_row(covariate.name, x) for x in places])
        slopes = np.diff(rows, axis=0) / np.maximum(np.diff(places), 1e-300)[:, None]
        return bool(np.allclose(slopes, slopes[:1], rtol=1e-6, atol=1e-9))

    def _slope(self, covariate: Covariate) -> Contrast:
        values = self.design.values(covariate.name)
        if not self.is_line(covariate):
            low, high = np.quantile(values, ENDS, method="nearest")
            return self._difference(covariate, high, low)
        low, high = float(values.min()), float(values.max())
        name = covariate.name
        rows = [self.design.mean_row(name, value) for value in (high, low)]
        weights = (rows[0] - rows[1]) / (high - low)
        if covariate.kind == "date":
            weights = weights * DAYS_OF_YEAR
            return Contrast(name, f"{name}: +1 year", weights, unit="year")
        return Contrast(name, f"{name}: +1", weights, unit=f"unit of {name}")

    def _held(
        self, at: Mapping[str, Any] | None, covariate: Covariate
    ) -> dict[str, Any]:
        """Return the values of other covariates as the design has them."""
        if covariate.name in (at or {}):
            raise DataError(
                f"at= names {covariate.name!r}, whose values are being compared. Name "
                "other covariates in at=."
            )
        return {
            name: self._chosen(self.design.covariate(name), value)
            for name, value in (at or {}).items()
        }

    def _difference(
        self,
        covariate: Covariate,
        first: Any,
        second: Any,
        at: Mapping[str, Any] | None = None,
    ) -> Contrast:
        name, held = covariate.name, self._held(at, covariate)
        ends = tuple(_shown(covariate, value) for value in (first, second))
        if ends[0] == ends[1]:
            raise DataError(f"both values of {name} are {ends[0]}. Give two.")
        rows = [self.design.mean_row(name, value, held) for value in (first, second)]
        where = ", ".join(
            f"{own} = {_shown(self.design.covariate(own), value)}"
            for own, value in held.items()
        )
        label = f"{name}: {ends[0]} - {ends[1]}{f' ({where})' if where else ''}"
        unit = "date" if covariate.kind == "date" else ""
        return Contrast(name, label, rows[0] - rows[1], tuple(map(str, ends)), unit)

    def _chosen(self, covariate: Covariate, given: Any) -> Any:
        """Return a value as the design has it; warn if it is beyond the documents."""
        value = _value(covariate, given)
        if covariate.kind != "levels":
            own = self.design.values(covariate.name)
            low, high = float(own.min()), float(own.max())
            slack = (high - low) / 100  # values are read off a figure
            if not low - slack <= value <= high + slack:
                ends = " to ".join(str(_shown(covariate, end)) for end in (low, high))
                warnings.warn(
                    f"{covariate.name} is {ends} in the documents, so what is expected "
                    f"at {_shown(covariate, value)} is extrapolated and may be far "
                    "off.",
                    DataWarning,
                    stacklevel=level_of_caller(),
                )
        return value

    def _values(self, covariate: Covariate, values: Any) -> list[Any]:
        if values is not None:
            single = isinstance(values, str) or not hasattr(values, "__iter__")
            chosen = [values] if single else list(values)
            if not chosen:
                raise DataError("values is empty. Give values, or None for all.")
            return [self._chosen(covariate, value) for value in chosen]
        if covariate.kind == "levels":
            return list(covariate.levels)
        own = self.design.values(covariate.name)
        return np.linspace(own.min(), own.max(), POINTS).tolist()

    def _rows(
        self, contrasts: Sequence[Contrast], level: float, adjust: str | None
    ) -> Table:
        rows = Table(
            {
                "topic": outcome.name,
                "words": outcome.words,
                "effect": contrast.label,
                **self._interval(contrast.weights, place, level),
            }
            for place, outcome in enumerate(self.outcomes)
            for contrast in contrasts
        )
        return self._marked(_adjust(rows, adjust))

    def _marked(self, rows: Table) -> Table:
        """Add whether documents determine each row's topic, if they do not all.

        Each outcome has the same number of rows.
        """
        if not self.changed:
            return rows
        size = len(rows) // len(self.outcomes)
        for number, row in enumerate(rows):
            row["determined"] = number // size not in self.changed
        return _Starred(rows)

    def _interval(
        self, weights: Doubles, outcome: int, level: float, name: str = "estimate"
    ) -> dict[str, float]:
        if not isinstance(level, int | float | np.number) or not 0 < level < 1:
            raise DataError(f"level is {level!r}. Give a number between 0 and 1.")
        estimate, error, free = self.pooled.combine(weights, outcome)
        if np.isnan(error):  # point estimates have no intervals
            return {name: estimate}
        half = float(stats.t.ppf((1 + level) / 2, free)) * error
        found = {name: estimate, "error": error}
        found |= {"low": estimate - half, "high": estimate + half}
        if name == "estimate":
            p = 2 * stats.t.sf(abs(estimate) / error, free) if error > 0 else np.nan
            found["p"] = float(p)
        return found

    def _title(self) -> str:
        n = len(self.design.matrix)
        return f"Effects on topic shares, {self.design.formula}, {n:,} documents"

    def _remarks(self, adjust: str | None = None) -> list[str]:
        remarks = [_STARRED] if self.changed else []
        remarks += [
            f"{one.covariate} is a curve: {one.ends[1]} and {one.ends[0]} are the "
            "first and the ninth decile of its values."
            for one in self.contrasts
            if one.ends and self.design.covariate(one.covariate).kind != "levels"
        ]
        remarks += self.notes
        if self.pooled.n_draws < 2:
            return remarks
        if adjust is not None:
            done = f"p-values are adjusted for {self._tests} ({adjust})."
            return [*remarks, done]
        advice = "To adjust them: table(adjust='fdr')."
        return [*remarks, f"{self._number_of_tests()} {advice}"]

    @property
    def _tests(self) -> str:
        return "1 test" if self.n_tests == 1 else f"{self.n_tests:,} tests"

    def _not_determined(self) -> str:
        names = ", ".join(self.outcomes[place].name for place in sorted(self.changed))
        return f" Topics that the documents do not determine: {names}." if names else ""

    def _number_of_tests(self) -> str:
        if self.pooled.n_draws < 2:
            return ""
        return (
            f"{self._tests}, not adjusted: without any effect about "
            f"{0.05 * self.n_tests:.1f} would have p < 0.05."
        )


def _decimals(rows: Sequence[Mapping[str, Any]]) -> int:
    """Return how many decimals effects need: per dollar they are small."""
    sizes = np.array([abs(row.get("error", row["estimate"])) for row in rows])
    least = sizes[sizes > 0].min(initial=1.0)
    return max(4, 1 - math.floor(math.log10(least)))


def _short(row: dict[str, Any], decimals: int) -> dict[str, Any]:
    """Return a row of the table without its effect, with few digits."""
    rounded = ("estimate", "error", "low", "high")
    return {
        name: round(value, decimals) if name in rounded else value
        for name, value in _starred(row).items()
        if name != "effect"
    }


class _Starred(Table):
    """Rows that print a star instead of whether the topic is determined."""

    def __repr__(self) -> str:
        return f"{text_table([_starred(row) for row in self])}\n{_STARRED}"

    def _repr_html_(self) -> str:
        return f"{html_table([_starred(row) for row in self])}<p>{_STARRED}</p>"


def _starred(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with a star at a topic that the documents do not determine."""
    shown = dict(row)
    if not shown.pop("determined", True):
        shown["topic"] += "*"
    return shown


def _adjust(rows: Table, method: str | None) -> Table:
    if method is not None and rows and "p" in rows[0]:
        values = adjusted(np.array([row["p"] for row in rows]), method)
        for row, value in zip(rows, values.tolist(), strict=True):
            row["p"] = value
    elif method is not None:
        raise DataError("there are no p-values to adjust: the mixtures have no draws.")
    return rows


def _value(covariate: Covariate, given: Any) -> Any:
    """Return a value of a covariate as the design has it."""
    if covariate.kind == "levels":
        for level in covariate.levels:
            if given == level or str(given) == str(level):
                return level
        known = ", ".join(map(str, covariate.levels[:10]))
        raise DataError(f"{covariate.name} has no level {given!r}. It has {known}.")
    if covariate.kind == "date" and not isinstance(given, float):
        given = str(given) if isinstance(given, int | np.integer) else given  # a year
        try:
            return np.datetime64(given, "s").astype(np.float64) / 86400.0
        except (TypeError, ValueError) as error:
            raise DataError(
                f"{given!r} is not a date, but {covariate.name} is. Give one such as "
                "2001-05-03."
            ) from error
    try:
        number = float(given)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{given!r} is not a number, but {covariate.name} is."
        ) from error
    if not np.isfinite(number):
        raise DataError(f"{given!r} is not a number, but {covariate.name} is.")
    return number


def _shown(covariate: Covariate, value: Any) -> Any:
    """Return a value as people read it."""
    if covariate.kind == "date":
        return str(np.datetime64(round(float(value)), "D"))
    if isinstance(value, float | np.floating):
        short = float(f"{float(value):.6g}")
        return int(short) if short.is_integer() and abs(short) < 1e15 else short
    return value


def _sentence(
    outcome: Outcome,
    contrast: Contrast,
    row: dict[str, Any],
    level: float,
    after_adjusting: bool,
) -> str:
    """Return an effect as a sentence, in percentage points."""
    points = 100 * row["estimate"]
    kind = "higher" if points >= 0 else "lower"
    subject = _subject(outcome)
    if contrast.ends:
        first, second = contrast.ends
        where = f"where {contrast.covariate} is {first} than where it is {second}"
        if contrast.unit == "date":
            where = f"on {first} than on {second}"
        what = f"{subject} is {_digits(abs(points))} percentage points {kind} {where}"
    else:
        verb = "rises" if points >= 0 else "falls"
        what = (
            f"{subject} {verb} by {_digits(abs(points))} percentage points per "
            f"{contrast.unit}"
        )
    if "low" not in row:
        return f"{what}; no interval, because the mixtures are point estimates."
    p = "p < 0.001" if row["p"] < 0.001 else f"p = {row['p']:.3f}"
    p = f"adjusted {p}" if after_adjusting else p  # an interval may exclude zero then
    return f"{what} ({level:.0%} interval {_ends(row['low'], row['high'])}; {p})."


def _ends(low: float, high: float) -> str:
    """Return the ends of an interval in percentage points, with their directions."""
    if low < 0 < high:
        return f"from {_digits(-100 * low)} lower to {_digits(100 * high)} higher"
    sides = sorted((abs(100 * low), abs(100 * high)))
    kind = "higher" if high > 0 else "lower"
    return f"{_digits(sides[0])} to {_digits(sides[1])} {kind}"


def _subject(outcome: Outcome) -> str:
    used = outcome.weights[outcome.weights != 0]
    if len(used) == 1 and used[0] == 1:
        return f"The share of topic {outcome.name} ({outcome.words})"
    if (used == 1).all():
        return f"The joint share of {outcome.name} ({outcome.words})"
    kind = "difference" if set(used) == {1.0, -1.0} else "weighted sum"
    return f"The {kind} of shares {outcome.name} ({outcome.words})"


def _digits(points: float) -> str:
    """Return percentage points with as many digits as they need."""
    if abs(points) >= 0.095 or points == 0:
        return f"{points:.1f}".replace("-0.0", "0.0")
    return f"{points:.2g}"
