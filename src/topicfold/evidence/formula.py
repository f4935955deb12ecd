# SPDX-License-Identifier: BSD-3-Clause
"""Covariates by formula: which columns of a table make a design, and their products.

``~ party * s(day) + C(year)`` has the columns party and year as categories, day as a
spline, and the products of party and day. A formula is never run as a program, so that
one from a file does no harm. What a formula learns from a table is kept as numbers and
names (`evidence.design`), for new documents and for files.
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Iterable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicfold.core.parameters import level_of_caller
from topicfold.core.times import parse_times, unreadable
from topicfold.evidence.design import (
    Column,
    as_levels,
    check_columns,
    design_names,
    encoded_column,
    learn_column,
    learn_columns,
    listed,
    named_columns,
    unknown_levels,
)
from topicfold.exceptions import DataError, DataWarning
from topicfold.parts.sides import is_missing

# Columns of s(x), as in R's stm; a spline of n knots has n + 2.
SPLINE_COLUMNS, LEAST_COLUMNS = 10, 4
_NAME = r"`[^`]+`|[^\W\d][\w.]*"
_FACTOR = re.compile(
    rf"(?:(s|C)\(\s*({_NAME})\s*(?:,\s*(?:df\s*=\s*)?(\d+)\s*)?\)|({_NAME}))$"
)
_ADVICE = "Formulas have columns, s(x), s(x, df=5), C(x), +, * and :"


class Factor(NamedTuple):
    """A column in a formula: as it is, as categories (C) or as a spline (s)."""

    name: str
    kind: str = ""
    width: int = SPLINE_COLUMNS


def parse_formula(formula: str) -> list[tuple[Factor, ...]]:
    """Return the terms of a formula, each a product of factors."""
    left, mark, right = formula.partition("~")
    if not mark or left.strip():
        raise DataError(
            f"the formula is {formula!r}. Begin it with ~, such as '~ party + s(day)'."
        )
    terms: dict[frozenset[Factor], tuple[Factor, ...]] = {}
    for text in _split(right, "+"):
        if text == "1":
            continue
        starred = [_split(part, ":") for part in _split(text, "*")]
        blocks = [tuple(_factor(one, formula) for one in part) for part in starred]
        for size in range(1, len(blocks) + 1):
            for chosen in combinations(blocks, size):
                term = tuple(dict.fromkeys(f for block in chosen for f in block))
                terms.setdefault(frozenset(term), term)
    if not terms:
        raise DataError(f"the formula {formula!r} has no covariate. Name a column.")
    return sorted(terms.values(), key=len)


def formula_columns(formula: str) -> list[str]:
    """Return the columns of a table that a formula uses, each once."""
    terms = parse_formula(formula)
    return list(dict.fromkeys(factor.name for term in terms for factor in term))


def _split(text: str, mark: str) -> list[str]:
    """Return the parts between marks that are not in brackets or backquotes."""
    inside = re.compile(rf"(`[^`]*`|\([^()]*\))|{re.escape(mark)}")
    cuts = [m for m in inside.finditer(text) if m.group(1) is None]
    starts = [0, *(m.end() for m in cuts)]
    ends = [*(m.start() for m in cuts), len(text)]
    return [text[a:b].strip() for a, b in zip(starts, ends, strict=True)]


def _factor(text: str, formula: str) -> Factor:
    if not text:
        raise DataError(
            f"the formula {formula!r} has nothing before or after one of its signs. "
            f"{_ADVICE}."
        )
    found = _FACTOR.match(text)
    if found is None:
        raise DataError(
            f"{text!r} in the formula {formula!r} cannot be read. {_ADVICE}; for "
            "anything else, compute a column yourself."
        )
    kind, inner, width, plain = found.groups()
    name = (inner or plain).strip("`")
    if width is not None and (kind != "s" or int(width) < LEAST_COLUMNS):
        raise DataError(
            f"{text!r} in the formula {formula!r}: give s(x, df=n) with n of "
            f"{LEAST_COLUMNS} or more."
        )
    return Factor(name, kind or "", int(width or SPLINE_COLUMNS))


class Covariates(NamedTuple):
    """How a table becomes a design: its columns, and which of them are multiplied.

    Attributes
    ----------
    columns : list of dict
        What was learned of each column (`evidence.design`).
    terms : list of list of int
        The columns of each term, by number.
    """

    columns: list[Column]
    terms: list[list[int]]

    def names(self) -> list[str]:
        """Return a name for each column of the design, the intercept's first."""
        own = [design_names([column])[1:] for column in self.columns]
        found = ["intercept"]
        for term in self.terms:
            names = own[term[0]]
            for place in term[1:]:
                names = [f"{one}:{other}" for one in names for other in own[place]]
            found += names
        return found

    def design(
        self, data: Any, n_documents: int, *, fitting: bool = False
    ) -> NDArray[np.float64]:
        """Return the design of a table, a column of ones first.

        A warning names unknown categories, unless `fitting`.
        """
        given = dict(named_columns(data, n_documents))
        blocks = [_block(column, given, fitting) for column in self.columns]
        parts = [np.ones((n_documents, 1))]
        for term in self.terms:
            rows = blocks[term[0]]
            for place in term[1:]:
                rows = np.einsum("di,dj->dij", rows, blocks[place])
                rows = rows.reshape(n_documents, -1)
            parts.append(rows)
        return np.hstack(parts)

    def check(self) -> None:
        """Refuse what a file holds and `learn_covariates` cannot have made."""
        check_columns(self.columns)
        for term in self.terms:
            fine = isinstance(term, list) and len(term) > 0
            places = range(len(self.columns))
            if not fine or not all(type(k) is int and k in places for k in term):
                raise ValueError("the terms of the covariates are invalid")


def _block(column: Column, given: dict[str, Any], fitting: bool) -> NDArray[np.float64]:
    values = _values(column["name"], given)
    if column.get("as_levels", False):
        values = as_levels(values)
    elif column["kind"] == "spline":
        values = _numbers(column["name"], values)
    return np.asarray(encoded_column(column, values, fitting).todense())


def _numbers(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers or dates that may be texts."""
    if values.dtype.kind not in "OUS":
        return values
    texts = ["" if is_missing(value) else str(value) for value in values]
    if not any(text.strip() for text in texts):
        return np.full(len(values), np.nan)
    found = parse_times(texts)
    if found is None:
        shown = unreadable(texts)
        raise DataError(
            f"s({name}) needs numbers or dates, and {shown!r} is neither. Dates are "
            "such as 2001-05-03."
        )
    return found


def learn_covariates(
    data: Any, n_documents: int, formula: str | None
) -> tuple[Covariates, NDArray[np.float64]]:
    """Return what is learned of a table, and its design.

    Without a formula every column is a term: numbers are lines, texts categories. What
    is missing is reported.
    """
    given = dict(named_columns(data, n_documents))
    _warn_of_missing(given, given if formula is None else formula_columns(formula))
    if formula is None:
        columns, design = learn_columns(
            data, n_documents, n_knots=None, min_documents=2
        )
        found = Covariates(columns, [[place] for place in range(len(columns))])
        _warn_of_rare(columns, given)
        rows = np.asarray(design.todense())
        _warn_of_collinear(found, rows)
        return found, rows
    terms = parse_formula(formula)
    factors = list(dict.fromkeys(factor for term in terms for factor in term))
    columns = [_learned(factor, given) for factor in factors]
    numbers = [[factors.index(factor) for factor in term] for term in terms]
    covariates = Covariates(columns, numbers)
    rows = covariates.design(data, n_documents, fitting=True)
    _warn_of_rare(columns, given)
    _warn_of_collinear(covariates, rows)
    return covariates, rows


def _warn_of_collinear(covariates: Covariates, design: NDArray[np.float64]) -> None:
    """Report a covariate that follows from the others: they share its effect."""
    if len(design) <= design.shape[1]:
        return  # everything follows from everything
    columns, terms = covariates
    widths = [len(design_names([column])) - 1 for column in columns]
    single = [term[0] for term in terms if len(term) == 1]  # these come first
    owner = np.repeat(single, [widths[place] for place in single])
    rows = design[:, : 1 + len(owner)]
    scale = np.maximum(np.linalg.norm(rows, axis=0), 1e-300)
    products = (rows.T @ rows) / np.outer(scale, scale)
    rank = np.linalg.matrix_rank(products, hermitian=True)
    for place in single[::-1]:
        others = np.flatnonzero(np.r_[True, owner != place])
        left = products[np.ix_(others, others)]
        if np.linalg.matrix_rank(left, hermitian=True) == rank:
            name = columns[place]["name"]
            warnings.warn(
                f"The covariate {name!r} follows from the others (collinear), so their "
                "effects cannot be separated. Leave it out.",
                DataWarning,
                stacklevel=level_of_caller(),
            )
            return


def _warn_of_rare(columns: Iterable[Column], given: dict[str, Any]) -> None:
    """Report categories of one document, which have no effect."""
    for column in columns:
        if column["kind"] != "category":
            continue
        values = given[column["name"]]
        own = as_levels(values) if column.get("as_levels", False) else values
        rare = unknown_levels(column, own)
        if rare:
            one = len(rare) == 1
            what = "a category" if one else f"{len(rare):,} categories"
            warnings.warn(
                f"The covariate {column['name']!r} has {what} of one document"
                f"{'' if one else ' each'}, {listed(rare)}: "
                f"{'it has' if one else 'they have'} no effect. Merge rare "
                "categories.",
                DataWarning,
                stacklevel=level_of_caller(),
            )


def _warn_of_missing(given: dict[str, Any], names: Iterable[str]) -> None:
    """Report documents without a value: they stay, as if it had no effect."""
    for name in names:
        values = given.get(name, ())
        n_missing = sum(is_missing(value) for value in values)
        if 0 < n_missing < len(values):
            warnings.warn(
                f"The covariate {name!r} is missing in {n_missing:,} of "
                f"{len(values):,} documents. They stay in the fit without an effect of "
                "this covariate; leave them out if you do not want that.",
                DataWarning,
                stacklevel=level_of_caller(),
            )


def _learned(factor: Factor, given: dict[str, Any]) -> Column:
    values = _values(factor.name, given)
    if factor.kind == "C":
        values = as_levels(values)
    elif factor.kind == "s":
        values = _numbers(factor.name, values)
    knots = factor.width - 2 if factor.kind == "s" else None
    column = learn_column(factor.name, values, knots, 2)
    if column is None:
        raise DataError(
            f"the covariate {factor.name!r} does not distinguish documents: it has "
            "the same value in all of them, or a different one in each. Leave it "
            "out of the formula."
        )
    if factor.kind == "s" and column["kind"] != "spline":
        known = {value for value in values if not is_missing(value)}
        fewer = f", or s({factor.name}, df={LEAST_COLUMNS})"
        raise DataError(
            f"s({factor.name}) needs a number with more different values than the "
            "spline has knots. Write "
            f"{factor.name}{fewer if len(known) > LEAST_COLUMNS else ''}."
        )
    return {**column, "as_levels": True} if factor.kind == "C" else column


def _values(name: str, given: dict[str, Any]) -> Any:
    if name not in given:
        close = difflib.get_close_matches(name, given, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise DataError(
            f"the covariates have no column {name!r}{hint}. They have {listed(given)}."
        )
    return given[name]
