# SPDX-License-Identifier: BSD-3-Clause
"""A formula and a table of covariates as the design of a regression.

`formulaic` reads the formula. Here columns are checked, rows with missing values are
left out and counted, dates become numbers, and an error names what makes a regression
impossible.
"""

from __future__ import annotations

import ast
import difflib
import os
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from numbers import Number
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from topicfold.core.lazy import optional
from topicfold.core.tables import listed, load_pandas
from topicfold.core.times import parse_times, unreadable
from topicfold.core.typing import Doubles
from topicfold.corpus.inputs import as_frame
from topicfold.effects.regression import cluster_shares
from topicfold.exceptions import DataError
from topicfold.known import numbers_in

SPLINE_COLUMNS = 5  # of s(x)
# Functions of formulas whose argument is a number or a date.
_OF_NUMBERS = ("s(", "bs(", "cr(", "cs(", "cc(", "poly(", "center(", "scale(")
_INSTALL = "'topicfold[effects]'"
_SAME_IDS = 0.9  # share of the documents' ids in a column that has their ids
_LOOKED_AT = 50  # texts of a column: are they dates?
MANY_LEVELS = 5  # documents per level: with fewer it is likely not a category


@dataclass(frozen=True)
class Covariate:
    """A column that the formula uses; numbers of two values are levels too."""

    name: str
    kind: Literal["levels", "number", "date"]
    levels: tuple[Any, ...] = ()  # the reference first


@dataclass(frozen=True)
class Design:
    """Rows of a regression, and how rows for other values are made."""

    formula: str
    matrix: Doubles  # (D, p), of full rank, with an intercept
    names: tuple[str, ...]  # of its columns
    covariates: tuple[Covariate, ...]
    rows: NDArray[np.int64]  # of the table that are used: without missing values
    clusters: NDArray[np.int64] | None  # of each row used
    weights: Doubles | None  # of each row used
    notes: tuple[str, ...]  # what was done with the table, to be said with the results
    _spec: Any = field(repr=False)
    _frame: Any = field(repr=False)

    def covariate(self, name: str) -> Covariate:
        """Return a covariate by name."""
        for covariate in self.covariates:
            if covariate.name == name:
                return covariate
        known = [covariate.name for covariate in self.covariates]
        raise DataError(
            f"the formula has no covariate {name!r}{_near(name, known)}. It has "
            f"{', '.join(known)}."
        )

    def mean_row(
        self, name: str, value: Any, at: Mapping[str, Any] | None = None
    ) -> Doubles:
        """Return the mean row of the design if all documents had this value.

        And those of other covariates in `at`.
        """
        values = self._frame.assign(**{**(at or {}), name: value})
        try:
            with np.errstate(all="ignore"):
                rows = self._spec.get_model_matrix(values, context=_context())
            matrix = np.asarray(rows, dtype=np.float64)
        except ValueError:  # a logarithm below zero
            matrix = np.array([[np.nan]])
        if not np.isfinite(matrix).all():
            raise DataError(
                f"the formula {self.formula} has no value where {name} is {value}. "
                "Give another value."
            )
        return np.asarray(np.average(matrix, axis=0, weights=self.weights))

    def values(self, name: str, at: Mapping[str, Any] | None = None) -> Doubles:
        """Return the numbers of a covariate in the rows used, or those with `at`."""
        frame = self._frame
        for own, value in (at or {}).items():
            frame = frame[frame[own] == value]
        return np.asarray(frame[name], dtype=np.float64)

    def only_values(self, place: int) -> list[str]:
        """Return the levels that only one document has, as column = value."""
        return [
            f"{c.name} = {textwrap.shorten(str(value), 60, placeholder=' …')}"
            for c in self.covariates
            if c.kind == "levels"
            for value in [self._frame[c.name].iloc[place]]
            if (self._frame[c.name] == value).sum() == 1
        ]

    def tested_columns(self, name: str) -> NDArray[np.int64]:
        """Return the columns of all terms that a covariate is in."""
        found = [
            np.arange(place.start, place.stop)
            for term, place in self._spec.term_slices.items()
            if name in _names_of(term)
        ]
        return np.concatenate(found) if found else np.empty(0, dtype=np.int64)


def make_design(
    formula: str,
    data: Any,
    n_documents: int,
    *,
    cluster: Any = None,
    weights: Any = None,
    with_words: NDArray[np.bool_] | None = None,
    among: NDArray[np.bool_] | None = None,
    ids: Sequence[str] | None = None,
) -> Design:
    """Return the design of a formula such as ``"~ party + s(date) | speaker"``.

    A column after ``|`` groups documents that are not independent. `data` has a row for
    each of `n_documents`; `cluster` and `weights` are columns of it or values.
    Documents that are not `with_words` are left out, with a note; if `among` is given,
    only those documents are used. A column or index that has their `ids` in another
    order is refused.
    """
    terms, grouped = _parse(formula)
    if grouped and cluster is not None:
        raise DataError(
            "the cluster is given twice: after | and as cluster=. Leave one of them "
            "out."
        )
    frame = _frame(data, n_documents, ids)
    used = _variables(terms, frame)
    frame, dates = _with_numbers(frame, used, terms)
    clusters = _column(frame, grouped or cluster, "cluster", n_documents)
    weighing = _column(frame, weights, "weights", n_documents)
    known = np.array(frame[used].notna().all(axis=1), dtype=bool)
    lacking = [name for name in used if frame[name].isna().any()]
    for what, values in (("cluster", clusters), ("weights", weighing)):
        if values is not None and (missing := load_pandas().isna(values)).any():
            known &= ~missing
            lacking.append(f"the {what}" if what == "cluster" else what)
    looked_at = np.ones(n_documents, dtype=bool) if among is None else among
    worded = looked_at if with_words is None else with_words
    notes = _dropped(lacking, known, worded, looked_at)
    known &= looked_at & worded
    rows = np.flatnonzero(known)
    frame = frame.iloc[rows].reset_index(drop=True)[used]
    for name in used:
        if hasattr(frame[name], "cat"):  # levels that no document has
            frame[name] = frame[name].cat.remove_unused_categories()
    matrix = _model_matrix(terms, frame)
    spec = matrix.model_spec
    design = Design(
        formula=f"~ {terms}",
        matrix=np.asarray(matrix, dtype=np.float64),
        names=tuple(map(str, matrix.columns)),
        covariates=tuple(
            _covariate(name, frame[name], spec, name in dates) for name in used
        ),
        rows=rows,
        clusters=None if clusters is None else _codes(clusters[rows]),
        weights=None if weighing is None else _weights(weighing[rows]),
        notes=notes,
        _spec=spec,
        _frame=frame,
    )
    _check(design)
    return design


def _parse(formula: Any) -> tuple[str, str | None]:
    """Return the covariates and the cluster's column of a formula."""
    if not isinstance(formula, str) or not formula.strip():
        raise DataError(
            f"the formula is {formula!r}. Give a text such as '~ treatment + s(date)'."
        )
    left, mark, right = formula.partition("~")
    terms = right if mark else left
    if mark and left.strip():
        raise DataError(
            f"the formula has {left.strip()!r} before ~. The formula explains the "
            "shares of topics: choose these with topics=, and begin the formula with "
            "~."
        )
    depth, cut = 0, None
    for place, letter in enumerate(terms):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "|" and depth == 0:
            cut = place
            break
    if cut is None:
        group = re.search(r"\([^()|]*\|\s*([^()|]+?)\s*\)", terms)
        if group is not None:  # as mixed models write it
            raise DataError(
                f"the formula has {group[0]}, an effect of a group. Write the column "
                f"that groups documents at the end instead: '~ party | {group[1]}'."
            )
        return terms.strip(), None
    cluster = terms[cut + 1 :].strip().strip("`")
    if not cluster or "|" in cluster:
        raise DataError(
            f"the formula {formula!r} needs one column after |, which groups documents."
        )
    return terms[:cut].strip(), cluster


def _frame(data: Any, n_documents: int, ids: Sequence[str] | None = None) -> Any:
    pandas = load_pandas()
    if isinstance(data, pandas.DataFrame):
        frame = data
    elif isinstance(data, Mapping) or (
        isinstance(data, list) and data and isinstance(data[0], Mapping)
    ):
        try:
            frame = pandas.DataFrame(data)
        except ValueError as error:
            raise DataError(
                f"the columns of the data do not match: {error}."
            ) from error
    elif (table := as_frame(data)) is not None:  # of Polars or Arrow
        rows = table.rows(range(len(table.names)))
        frame = pandas.DataFrame(list(rows), columns=table.names)
    else:
        instead = "a data frame or a mapping of columns, with a row per document"
        if isinstance(data, str | os.PathLike):
            instead = f"the table itself, such as pandas.read_csv({str(data)!r})"
        elif isinstance(data, pandas.Series):
            instead = "data.to_frame(), so that the column has a name"
        raise DataError(f"data is a {type(data).__name__}. Give {instead}.")
    if len(frame) != n_documents:
        raise DataError(
            f"data has {len(frame):,} rows, and there are {n_documents:,} documents. "
            "Give a row per document, in their order, without rows that the fit left "
            "out."
        )
    twice = [str(name) for name in frame.columns[frame.columns.duplicated()]]
    if twice:
        raise DataError(f"data has the column {twice[0]!r} twice. Rename one.")
    _check_order(frame, ids)
    return frame.reset_index(drop=True).rename(columns=str)


def _check_order(frame: Any, ids: Sequence[str] | None) -> None:
    """Refuse rows that are named as the documents are, but in another order."""
    wanted = list(ids or ())
    if wanted == [str(row) for row in range(len(wanted))]:
        return  # they have numbers only, as a column of ranks has
    columns = {f"column {name!r}": frame[name] for name in frame.columns}
    texts = {
        name: [str(value) for value in values]
        for name, values in {"index": frame.index, **columns}.items()
    }
    if wanted in texts.values():
        return
    known = set(wanted)
    for name, found in texts.items():
        if len(known.intersection(found)) < _SAME_IDS * len(known):
            continue  # not their ids, of which a few may be misspelt
        rows = [r for r, v in enumerate(found) if v in known and v != wanted[r]]
        if rows:
            raise DataError(
                f"the rows of data are in another order than the documents: its {name} "
                f"has {found[rows[0]]!r} in row {rows[0]}, where document "
                f"{wanted[rows[0]]!r} is. Sort the rows of data in the order of the "
                "documents."
            )


def _variables(terms: str, frame: Any) -> list[str]:
    """Return the columns that a formula uses, in its order; refuse unknown ones."""
    formulaic = load_formulaic()
    _check_quoted(terms, frame)
    if re.search(r"(?<![\w`.])\.(?![\w.])", terms):
        raise DataError(
            f"the formula '~ {terms}' has a point for all columns. Name the columns, "
            "such as '~ party + s(date)'."
        )
    try:
        parsed = formulaic.Formula(terms)
        named = {str(name) for name in parsed.required_variables}
    except (formulaic.errors.FormulaicError, SyntaxError) as error:
        reason = " ".join(_plain(str(error)).split())
        raise DataError(
            f"the formula '~ {terms}' cannot be read ({reason}). Write columns joined "
            "by +, * or :, such as '~ party + s(date)'."
        ) from error
    if not hasattr(parsed, "__iter__") or hasattr(parsed, "lhs"):
        raise DataError(f"the formula '~ {terms}' must have one part.")
    named = named.union(*(_names_of(term) for term in parsed))
    functions = {*formulaic.transforms.TRANSFORMS, "s"} - {*frame.columns}
    unknown = sorted(named - functions - {*frame.columns})
    if unknown:
        known = [str(name) for name in frame.columns]
        raise DataError(
            f"data has no column {unknown[0]!r}{_near(unknown[0], known)}. It has "
            f"{listed(known)}."
        )
    used = sorted(named & {*frame.columns}, key=lambda name: terms.find(name))
    if not used:
        raise DataError(f"the formula '~ {terms}' has no covariate. Name a column.")
    return used


def _names_of(term: Any) -> set[str]:
    """Return the names in a term; formulaic leaves out those in bs(x) or poly(x, 2)."""
    found: set[str] = set()
    for factor in term.factors:
        text, how = str(factor.expr), factor.eval_method.value
        if how == "lookup":
            found.add(text)
        elif how == "python":
            found |= set(re.findall("`([^`]+)`", text))
            tree = ast.parse(re.sub("`[^`]+`", "0", text), mode="eval")
            called = [
                node.func for node in ast.walk(tree) if isinstance(node, ast.Call)
            ]
            names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
            found |= {name.id for name in names if name not in called}
    return found


def _check_quoted(terms: str, frame: Any) -> None:
    """Refuse a column such as Written on without quotes, and one such as a.b."""
    bare = re.sub("`[^`]*`", " ", terms)
    for name in map(str, frame.columns):
        if re.search(rf"(?<![\w.]){re.escape(name)}\(", bare.replace(" ", "")):
            raise DataError(
                f"the formula '~ {terms}': {name} is a column and a function. Rename "
                "the column."
            )
        odd = not name.isidentifier() and re.search(r"[^\W\d]", name)
        if not odd:
            continue
        used = re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", bare)
        if "." in name and (used or f"`{name}`" in terms):
            raise DataError(
                f"the formula '~ {terms}': a name with a point cannot be used here. "
                f"Rename the column {name!r}, such as {name.replace('.', '_')!r}."
            )
        if used:
            raise DataError(
                f"the formula '~ {terms}': the name of the column {name!r} is not one "
                f"word. Put it into backquotes: `{name}`."
            )


def _with_numbers(frame: Any, used: list[str], terms: str) -> tuple[Any, set[str]]:
    """Return the table with dates as days, and which columns are dates."""
    pandas = load_pandas()
    changed: dict[str, Any] = {}
    dates = set()
    for name in used:
        column = frame[name]
        if pandas.api.types.is_datetime64_any_dtype(column):
            if getattr(column.dt, "tz", None) is not None:
                column = column.dt.tz_localize(None)
            changed[name] = _days(np.asarray(column, dtype="datetime64[s]"))
            dates.add(name)
        elif pandas.api.types.is_bool_dtype(column) and column.notna().all():
            changed[name] = np.where(column, "True", "False")
        elif not pandas.api.types.is_numeric_dtype(column) and any(
            f"{function}{name}" in terms.replace(" ", "") for function in _OF_NUMBERS
        ):
            changed[name], is_date = _numbers_of(name, column)
            dates |= {name} if is_date else set()
        elif hasattr(column, "cat"):  # of numbers, too: new values are told by names
            changed[name] = column.cat.rename_categories(str)
        elif pandas.api.types.is_timedelta64_dtype(column):
            changed[name] = column.dt.total_seconds() / 86400.0
        elif (numbers := _all_numbers(name, column, terms)) is not None:
            changed[name] = numbers
        elif not pandas.api.types.is_numeric_dtype(column):
            changed[name], is_date = _of_texts(name, column, terms)
            dates |= {name} if is_date else set()
        values = pandas.Series(changed.get(name, column)).dropna()
        if pandas.api.types.is_numeric_dtype(values):
            infinite = values.index[np.isinf(values.to_numpy(dtype=complex))]
            if len(infinite):
                raise DataError(
                    f"the column {name!r} is infinite in row {infinite[0]} of the "
                    "data. Correct it, or leave the value empty."
                )
    return frame.assign(**changed), dates


def _all_numbers(name: str, column: Any, terms: str) -> Doubles | None:
    """Return a column of objects that are numbers; refuse numbers among texts."""
    if column.dtype != object or _as_levels(name, terms):
        return None
    known = column[column.notna()]
    number = [
        isinstance(v, Number | Decimal) and not isinstance(v, bool) for v in known
    ]
    if number and all(number):
        return np.asarray(load_pandas().to_numeric(column), dtype=np.float64)
    if any(number) and all(isinstance(v, str) for v in known[~np.array(number)]):
        row = int(known.index[number.index(False)])
        raise DataError(
            f"the column {name!r} has numbers, but in row {row} of the data it has the "
            f"text {column[row]!r}. Correct it or leave it empty, or write C({name}) "
            "for categories."
        )
    return None


def _as_levels(name: str, terms: str) -> bool:
    return f"C({name}" in terms.replace(" ", "").replace("`", "")


def _of_texts(name: str, column: Any, terms: str) -> tuple[Any, bool]:
    """Return levels, or the days of dates, or numbers with commas; and if dates.

    Numbers as texts are levels: that is how many tables say so.
    """
    texts = column.astype(object).where(column.notna(), "").astype(str).tolist()
    if not _as_levels(name, terms):
        times = parse_times(texts)
        if times is not None and times.dtype.kind == "M":
            return _days(times), True
        if times is None and (numbers := numbers_in(texts)) is not None:
            return numbers, False
        if times is None:
            _check_dates(name, texts)
    return np.array([text if text.strip() else None for text in texts], object), False


def _check_dates(name: str, texts: list[str]) -> None:
    """Refuse texts most of which are dates: as levels each date would be a group."""
    distinct = dict.fromkeys(text for text in texts if text.strip())
    looked_at = list(distinct)[:_LOOKED_AT]
    times = [parse_times([text]) for text in looked_at]
    if 2 * sum(t is not None and t.dtype.kind == "M" for t in times) > len(looked_at):
        wrong = unreadable(list(distinct))
        raise DataError(
            f"the column {name!r} has dates, but in row {texts.index(wrong)} of the "
            f"data it has {wrong!r}. Write all dates like 2001-05-03 or leave them "
            f"empty, or write C({name}) for categories."
        )


def _numbers_of(name: str, column: Any) -> tuple[Doubles, bool]:
    """Return a column of texts as numbers, and whether they are the days of dates."""
    texts = ["" if value is None or value != value else str(value) for value in column]
    values = parse_times(texts)
    if values is None:
        raise DataError(
            f"the column {name!r} is used as a number or date, but some of its values "
            f"are neither (first: {unreadable(texts)!r}). Write dates like 2001-05-03."
        )
    if values.dtype.kind == "M":
        return _days(values), True
    return values, False


def _days(values: NDArray[Any]) -> Doubles:
    """Return dates as days since 1970."""
    days = values.astype("datetime64[s]").astype(np.float64) / 86400.0
    return np.where(np.isnat(values), np.nan, days)


def column_of(data: Any, given: Any, what: str, n: int) -> NDArray[Any]:
    """Return a column of the data by its name, or the values given."""
    found = _column(_frame(data, n), given, what, n)
    return np.asarray(found, dtype=object)


def _column(frame: Any, given: Any, what: str, n: int) -> NDArray[Any] | None:
    """Return a column by its name, or the values given."""
    if given is None:
        return None
    if isinstance(given, str):
        if given not in frame.columns:
            known = [str(name) for name in frame.columns]
            raise DataError(
                f"data has no column {given!r} for {what}{_near(given, known)}. It has "
                f"{listed(known)}."
            )
        return np.asarray(frame[given])
    values = np.asarray(given)
    if values.shape != (n,):
        raise DataError(
            f"{what} has the shape {values.shape}. Give the name of a column, or one "
            f"value for each of the {n:,} documents."
        )
    return values


def _codes(values: NDArray[Any]) -> NDArray[np.int64]:
    found, codes = np.unique(values.astype(str), return_inverse=True)
    if len(found) < 2:
        raise DataError(
            "all documents are in one cluster, so the difference between clusters "
            "cannot be estimated. Leave the cluster out, or give another column."
        )
    return codes.astype(np.int64)


def _weights(values: NDArray[Any]) -> Doubles:
    try:
        weights = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError("weights must be numbers.") from error
    if not (np.isfinite(weights).all() and (weights > 0).all()):
        raise DataError(
            "weights must be positive and finite. Leave out documents with a "
            "weight of zero."
        )
    return weights / weights.mean()


def _dropped(
    lacking: list[str],
    known: NDArray[np.bool_],
    worded: NDArray[np.bool_],
    looked_at: NDArray[np.bool_],
) -> tuple[str, ...]:
    """Say how many documents are left out, and why."""
    notes = []
    total = int(looked_at.sum())
    missing = int((looked_at & ~known).sum())
    if missing:
        are = "is" if missing == 1 else "are"
        notes.append(
            f"{missing:,} of {total:,} documents {are} left out: a value is missing "
            f"({listed(lacking)})."
        )
    empty = int((looked_at & known & ~worded).sum())
    if empty:
        one = "1 document has no known word and is"
        many = f"{empty:,} documents have no known word and are"
        notes.append(f"{one if empty == 1 else many} left out.")
    if missing + empty == total:
        raise DataError(f"no document is left. {' '.join(notes)}")
    return tuple(notes)


def _model_matrix(terms: str, frame: Any) -> Any:
    formulaic = load_formulaic()
    try:
        with np.errstate(all="ignore"):  # what is not finite is refused below
            return formulaic.model_matrix(
                f"~ {terms}", frame, context=_context(), na_action="raise"
            )
    except DataError:
        raise
    except Exception as error:  # formulas call functions, which raise anything
        if isinstance(error.__cause__, DataError):
            raise error.__cause__ from error
        empty = re.search(r"`([^`]*)` contains null values", str(error))
        if empty:
            raise DataError(
                f"{empty[1]} is not a number in all documents: a logarithm needs "
                "positive numbers, a root none below zero. Correct the column, or "
                "leave these documents out."
            ) from error
        reason = " ".join(_plain(str(error)).split())
        raise DataError(f"the formula '~ {terms}' does not work: {reason}") from error


def _covariate(name: str, column: Any, spec: Any, date: bool) -> Covariate:
    pandas = load_pandas()
    plain = name.replace(" ", "")
    heads = tuple(f"C({one}{end}" for one in (plain, f"`{plain}`") for end in "),")
    states = [
        state[1]
        for factor, state in spec.encoder_state.items()
        if str(factor).replace(" ", "").startswith(heads)
    ]
    if hasattr(column, "cat"):
        levels = _from_reference(column.cat.categories, states)
        return Covariate(name, "levels", levels)
    if not pandas.api.types.is_numeric_dtype(column):
        levels = _from_reference(sorted(column.unique()), states)
        return Covariate(name, "levels", levels)
    values = np.unique(np.asarray(column, dtype=np.float64))
    if len(values) == 2 or any(state.get("categories") for state in states):
        levels = _from_reference(np.unique(column).tolist(), states)
        return Covariate(name, "levels", levels)
    return Covariate(name, "date" if date else "number")


def _from_reference(levels: Iterable[Any], states: list[Any]) -> tuple[Any, ...]:
    """Return levels with the one first that C(x, Treatment('b')) names."""
    bases = [getattr(state.get("contrasts"), "contrasts", None) for state in states]
    named = [getattr(base, "base", None) for base in bases]
    return tuple(sorted(levels, key=lambda level: level not in named))


def _check(design: Design) -> None:
    """Refuse a design without intercept, of too few documents or not of full rank."""
    matrix, names = design.matrix, design.names
    n, p = matrix.shape
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0].tolist()
        raise DataError(
            f"the covariate {names[column]!r} is not finite in row "
            f"{int(design.rows[row])} of the data. Correct it."
        )
    if "Intercept" not in names:
        raise DataError(
            "the formula has no intercept. Leave out the 0 or -1: shares do not start "
            "at zero."
        )
    flat = [c.name for c in design.covariates if len(c.levels) == 1]
    empty = [
        names[j] for j in range(1, p) if not matrix[:, j].any() and ":" in names[j]
    ]
    if empty and not flat:
        raise DataError(
            f"no document has the combination {empty[0]}, so the interaction cannot be "
            "estimated. Merge levels, or write + instead of *."
        )
    flat += [names[j] for j in range(1, p) if np.ptp(matrix[:, j]) == 0]
    if flat:
        raise DataError(
            f"the covariate {flat[0]!r} has one value in all {n:,} documents, so it "
            "has no effect to estimate. Leave it out."
        )
    if n <= p:
        raise DataError(
            f"there are {n:,} documents and {p} coefficients. Give fewer covariates "
            "or levels: a regression needs more documents than coefficients."
            f"{_many_levels(design)}"
        )
    scaled = matrix / np.linalg.norm(matrix, axis=0)
    rest = np.abs(np.diag(np.linalg.qr(scaled, mode="r")))
    follow = [names[j] for j in np.flatnonzero(rest < 1e-8)]
    if follow:
        one = len(follow) == 1
        what = "covariate {} follows" if one else "covariates {} follow"
        raise DataError(
            f"the {what.format(listed(follow))} from those before (collinear), so "
            "effects cannot be separated. Leave "
            f"{'it' if one else 'them'} out."
        )
    _check_single(design, scaled)


def _check_single(design: Design, scaled: Doubles) -> None:
    """Refuse documents that alone decide a coefficient: it would have no error."""
    left, _, _ = np.linalg.svd(scaled, full_matrices=False)
    alone = np.flatnonzero((left**2).sum(axis=1) > 1 - 1e-9)
    if len(alone):
        own = design.only_values(int(alone[0]))
        what = f" ({listed(own)})" if own else ""
        raise DataError(
            f"the document in row {int(design.rows[alone[0]])} of the data is the only "
            f"one of its kind{what}: its effect has no standard error. Leave it out or "
            f"merge its level with another.{_many_levels(design)}"
        )
    if design.clusters is None:
        return
    shares = cluster_shares(left, design.clusters, int(design.clusters.max()) + 1)
    deciding = np.flatnonzero(np.linalg.eigvalsh(shares).max(axis=1) > 1 - 1e-9)
    if len(deciding):
        others = design.matrix[design.clusters != deciding[0]]
        names = [n for n, x in zip(design.names, np.ptp(others, axis=0), strict=True)
                 if x == 0 and n != "Intercept"]  # fmt: skip
        what = f" ({listed(names)})" if names else ""
        raise DataError(
            f"one cluster alone determines a coefficient{what}, so its spread over "
            "clusters cannot be estimated. Leave the covariate out, or the cluster."
        )


def _many_levels(design: Design) -> str:
    """Say that dates and numbers written as text are taken as categories."""
    n = len(design.rows)
    for c in design.covariates:
        if c.kind == "levels" and len(c.levels) > max(n // MANY_LEVELS, 2):
            return (
                f" {c.name!r} has {len(c.levels):,} levels; if its texts are dates or "
                f"numbers, write s({c.name})."
            )
    return ""


@cache
def _context() -> Mapping[str, Any]:
    """Return the functions that formulas may call beside those of formulaic."""
    load_formulaic()
    splines = optional("formulaic.transforms.cubic_spline", "splines", _INSTALL)
    states = optional("formulaic.utils.stateful_transforms", "splines", _INSTALL)

    @states.stateful_transform
    def s(x: Any, df: int = SPLINE_COLUMNS, _state: Any = None, **other: Any) -> Any:
        """A natural cubic spline with `df` columns, knots at quantiles."""
        if other or not isinstance(df, int | np.integer) or df < 1:
            given = f"the option {next(iter(other))!r}" if other else f"df={df!r}"
            raise DataError(
                f"s() is given {given}. Give the number of its columns only, such as "
                f"s(x, df={SPLINE_COLUMNS})."
            )
        if not _state:
            distinct = len(np.unique(x))
            if distinct < 3:
                raise DataError(
                    f"s() is used for a covariate with {distinct} different values, "
                    "but a spline needs three or more. Leave s() out."
                )
            df = min(df, distinct - 1)
        return splines.natural_cubic_spline(
            np.asarray(x, dtype=np.float64), df=df, constraints="center", _state=_state
        )

    return {"s": s}


def load_formulaic() -> Any:
    """Return formulaic, or say how to install it."""
    module = optional("formulaic", "effects need formulaic", _INSTALL)
    optional("formulaic.errors", "effects need formulaic", _INSTALL)
    return module


def _plain(text: str) -> str:
    """Return the text of an error without the marks of a terminal."""
    return re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]|\[[0-9;]*m", "", text)


def _near(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    return f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""
