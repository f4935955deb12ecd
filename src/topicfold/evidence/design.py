# SPDX-License-Identifier: BSD-3-Clause
"""Features of documents as a matrix: numbers scaled, categories and splines encoded.

A value that is missing, and a category that the fit did not know, is zero in all its
columns: it moves no topic. Numbers are centred, so that zero is their mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.interpolate import BSpline

from topicfold.core.parameters import warn_caller
from topicfold.core.saved import is_text
from topicfold.exceptions import DataError
from topicfold.parts.sides import SMALLEST_SCALE, check_rows, is_missing

# Up to this many columns, each is compared with all others.
MOST_COMPARED = 500
DEGREE = 3
_LONGEST = 40  # letters of a name in a message
Column = dict[str, Any]


def learn_columns(
    data: Any, n_documents: int, *, n_knots: int | None, min_documents: int
) -> tuple[list[Column], sparse.csr_matrix]:
    """Return how each column becomes numbers, and the design (D, F).

    Numbers with more values than `n_knots` become splines; if it is None, all are
    straight lines. Categories of fewer than `min_documents` get no column.
    """
    columns: list[Column] = []
    left_out = []
    for name, values in named_columns(data, n_documents):
        if sparse.issparse(values):
            columns.append({"name": name, "kind": "matrix", "width": values.shape[1]})
            continue
        column = learn_column(name, values, n_knots, min_documents)
        if column is None:
            left_out.append(name)
        else:
            columns.append(column)
    if left_out:
        warn_caller(
            "These features do not distinguish documents (they have one value in all, "
            f"or a different category in each) and are left out: {listed(left_out)}."
        )
    if not columns:
        raise DataError(
            "No feature is left to learn from. Give a column with at least two values "
            "that several documents share."
        )
    design = encode(data, n_documents, columns, fitting=True)
    _warn_collinear(columns, design)
    return columns, design


def encode(
    data: Any, n_documents: int, columns: Sequence[Column], *, fitting: bool = False
) -> sparse.csr_matrix:
    """Return the design (D, F), a column of ones first, by what was learned.

    A warning names unknown categories, unless `fitting`: then categories without a
    column were left out on purpose, as too rare.
    """
    given = dict(named_columns(data, n_documents))
    missing = [c["name"] for c in columns if c["name"] not in given]
    if missing:
        raise DataError(
            f"The features have no column {listed(missing)}, which the fit had. They "
            f"have {listed(given)}."
        )
    parts = [sparse.csr_matrix(np.ones((n_documents, 1)))]
    for column in columns:
        parts.append(encoded_column(column, given[column["name"]], fitting))
    return sparse.hstack(parts, format="csr")


def design_names(columns: Sequence[Column]) -> list[str]:
    """Return a name for each column of the design, the intercept's first."""
    names = ["intercept"]
    for column in columns:
        name, kind = column["name"], column["kind"]
        if kind == "category":
            names += [f"{name}={level}" for level in column["levels"]]
        elif kind == "number":
            names.append(name)
        else:
            names += [f"{name}[{j}]" for j in range(column["width"])]
    return names


def check_columns(columns: Any) -> None:
    """Refuse columns from a file that `learn_columns` cannot have made."""
    for column in columns:
        name, kind = column["name"], column["kind"]
        if kind == "category":
            fine = is_text(column["levels"])
        elif kind == "number":
            fine = np.isfinite(column["mean"]) and 0 < column["scale"] < np.inf
        elif kind == "spline":
            knots = np.asarray(column["knots"], dtype=np.float64)
            rising = bool(np.isfinite(knots).all() and (np.diff(knots) >= 0).all())
            fine = rising and knots.shape == (column["width"] + DEGREE + 1,)
            fine = fine and knots[DEGREE] < knots[-DEGREE - 1]
        else:
            fine = kind == "matrix" and type(column["width"]) is int
        if not fine or not isinstance(name, str):
            raise ValueError(f"the feature {name!r} is invalid")


def design_units(columns: Sequence[Column]) -> NDArray[np.float64]:
    """Return what one unit of each column of the design is in the user's units."""
    units = [1.0]
    for column in columns:
        if column["kind"] == "number":
            units.append(column["scale"])
        else:
            units += [1.0] * column.get("width", len(column.get("levels", ())))
    return np.asarray(units)


def named_columns(data: Any, n_documents: int) -> list[tuple[str, Any]]:
    """Return the columns of a data frame, mapping, array or sparse matrix by name.

    A list of mappings has one for each document, with values by column.
    """
    advice = ""
    if sparse.issparse(data):
        check_rows("features", data.shape[0], n_documents)
        return [("x", sparse.csr_matrix(data))]
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        pairs = [(str(name), data[name]) for name in data.columns]
    elif isinstance(data, Mapping):
        pairs = [(str(name), values) for name, values in data.items()]
        advice = (
            " Cross-validation cannot take rows of a mapping of columns: give it a "
            "data frame, or a list of one mapping per document."
        )
    elif _is_records(data):
        names = dict.fromkeys(str(name) for row in data for name in row)
        rows = [{str(name): value for name, value in row.items()} for row in data]
        pairs = [(name, [row.get(name) for row in rows]) for name in names]
    else:
        table = data if isinstance(data, np.ndarray) else _object_array(data)
        if table.ndim == 1:
            table = table[:, None]
        if table.ndim != 2:
            raise DataError(
                f"features has {table.ndim} dimensions. Give a data frame, a mapping "
                "of columns, or a matrix with a row per document."
            )
        pairs = [(f"x{j}", table[:, j]) for j in range(table.shape[1])]
    twice = {name for name, _ in pairs if [n for n, _ in pairs].count(name) > 1}
    if twice:
        raise DataError(f"features has the column {min(twice)!r} twice. Rename one.")
    columns = [(name, _object_array(values)) for name, values in pairs]
    for name, values in columns:
        check_rows(f"the feature {name!r}", len(values), n_documents, advice)
    return columns


def _is_records(data: Any) -> bool:
    """Whether features are a mapping for each document."""
    rows = isinstance(data, list | tuple | np.ndarray)
    return rows and len(data) > 0 and all(isinstance(row, Mapping) for row in data)


def _object_array(values: Any) -> NDArray[Any]:
    """Return values as an array; entries that are lists stay what they are."""
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "to_numpy"):
        return np.asarray(values.to_numpy())
    items = list(values)
    rows = items and all(isinstance(item, list | tuple) for item in items)
    if rows and len({len(item) for item in items}) == 1:
        return np.asarray(items, dtype=object)
    if any(isinstance(item, list | tuple | set | frozenset) for item in items):
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array
    return np.asarray(items) if not rows else np.asarray(items, dtype=object)


def _numbers(values: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return a column as floats (NaN: missing), None if it is not one of numbers."""
    if values.dtype.kind == "M":
        days = values.astype("datetime64[s]").astype(np.float64) / 86400.0
        return np.where(np.isnat(values), np.nan, days)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if values.dtype.kind != "O":
        return None
    known = [value for value in values if not is_missing(value)]
    if not known or any(isinstance(v, str) or not np.isscalar(v) for v in known):
        return None
    try:
        return np.array([np.nan if is_missing(v) else float(v) for v in values])
    except (TypeError, ValueError):
        return None


def as_levels(values: NDArray[Any]) -> NDArray[Any]:
    """Return a column as texts, None where it is missing; 3 and 3.0 are the same."""
    found = np.full(len(values), None, dtype=object)
    for row, value in enumerate(values):
        if not is_missing(value):
            number = isinstance(value, int | float | np.integer | np.floating)
            found[row] = f"{value:g}" if number else str(value)
    return found


def _levels(value: Any) -> Iterable[str]:
    """Return the categories of one document: none, one, or those of a list."""
    if is_missing(value):
        return ()
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return dict.fromkeys(str(item) for item in value if not is_missing(item))
    return (str(value),)


def learn_column(
    name: str, values: NDArray[Any], n_knots: int | None, min_documents: int
) -> Column | None:
    """Return how a column is encoded; None if it does not distinguish documents."""
    numbers = _numbers(values)
    if numbers is None:
        found: dict[str, int] = {}
        for value in values:
            for level in _levels(value):
                found[level] = found.get(level, 0) + 1
        levels = sorted(level for level, n in found.items() if n >= min_documents)
        everywhere = [level for level in levels if found[level] == len(values)]
        if not levels or levels == everywhere or max(found.values()) < 2:
            return None
        return {"name": name, "kind": "category", "levels": levels}
    known = numbers[~np.isnan(numbers)]
    if not np.isfinite(known).all():
        row = int(np.flatnonzero(np.isinf(numbers))[0])
        raise DataError(f"The feature {name!r} is infinite in row {row}. Correct it.")
    distinct = np.unique(known)
    if len(distinct) < 2:
        return None
    if n_knots is not None and len(distinct) > n_knots:
        inner = np.quantile(known, np.linspace(0, 1, n_knots))
        inner = np.unique(inner)
        knots = np.r_[[inner[0]] * DEGREE, inner, [inner[-1]] * DEGREE]
        width = len(knots) - DEGREE - 1
        return {"name": name, "kind": "spline", "knots": knots, "width": width}
    two = len(distinct) == 2
    with np.errstate(over="ignore", invalid="ignore"):
        scale = float(distinct[1] - distinct[0] if two else known.std())
    if not SMALLEST_SCALE < scale < 1 / SMALLEST_SCALE:
        raise DataError(
            f"The feature {name!r} has the standard deviation {scale:.3g}, too small "
            "or too large to compute with. Rescale it."
        )
    return {"name": name, "kind": "number", "mean": float(known.mean()), "scale": scale}


def encoded_column(
    column: Column, values: Any, fitting: bool = False
) -> sparse.csr_matrix:
    """Return the columns of the design for one column of the user's."""
    kind, name = column["kind"], column["name"]
    if kind == "matrix":
        if not sparse.issparse(values):
            values = sparse.csr_matrix(np.asarray(values, dtype=np.float64))
        if values.shape[1] != column["width"]:
            raise DataError(
                f"features has {values.shape[1]} columns; the fit had "
                f"{column['width']}."
            )
        if not np.isfinite(values.data).all():
            raise DataError("features has NaN or infinity. Sparse matrices may have "
                            "neither: remove these entries.")  # fmt: skip
        return sparse.csr_matrix(values, dtype=np.float64)
    if kind == "category":
        return _encode_levels(name, values, column["levels"], warn=not fitting)
    numbers = _numbers(values)
    if numbers is None:
        raise DataError(
            f"The feature {name!r} was a number in the fit, but is not a number now. "
            "Give numbers."
        )
    known = np.isfinite(numbers)
    if kind == "number":
        scaled = (numbers - column["mean"]) / column["scale"]
        return sparse.csr_matrix(np.where(known, scaled, 0.0)[:, None])
    knots = np.asarray(column["knots"])
    inside = np.clip(np.where(known, numbers, knots[0]), knots[0], knots[-1])
    basis = BSpline.design_matrix(inside, knots, DEGREE).toarray()
    return sparse.csr_matrix(basis * known[:, None])


def _encode_levels(
    name: str, values: NDArray[Any], levels: Sequence[str], *, warn: bool
) -> sparse.csr_matrix:
    """Return a column for each level; the entries of a row have a length of one.

    So two names of a document count as much together as one alone, whose effects are
    not known any better.
    """
    place = {level: j for j, level in enumerate(levels)}
    rows, columns, entries, unknown = [], [], [], dict[str, None]()
    for row, value in enumerate(values):
        own = list(_levels(value))
        for level in own:
            if level in place:
                rows.append(row)
                columns.append(place[level])
                entries.append(len(own) ** -0.5)
            else:
                unknown[level] = None
    if unknown and warn:
        warn_caller(
            f"The feature {name!r} has categories that the fit did not know, "
            f"{listed(unknown)}: they have no effect."
        )
    shape = len(values), len(levels)
    return sparse.csr_matrix((entries, (rows, columns)), shape=shape)


def _warn_collinear(columns: Sequence[Column], design: sparse.csr_matrix) -> None:
    """Say which columns follow from those before them: they share their effects.

    The levels of a category add up to the intercept by construction, so one of each
    is not looked at, and neither is the first piece of a spline.
    """
    names = design_names(columns)
    looked_at = [0]
    place = 1
    for column in columns:
        width = column.get("width", len(column.get("levels", ())) or 1)
        one_less = column["kind"] in ("category", "spline")
        looked_at += range(place + int(one_less), place + width)
        place += width
    if len(looked_at) > MOST_COMPARED:
        return
    part = design[:, looked_at]
    gram = np.asarray((part.T @ part).todense(), dtype=np.float64)
    dependent = _dependent(gram)
    if dependent:
        found = [names[looked_at[j]] for j in dependent]
        warn_caller(
            "These features follow from those before them (collinear): "
            f"{listed(found)}. Only their joint effect can be learned. Leave them out "
            "if you want to read the effects of the others."
        )


def _dependent(gram: NDArray[np.float64]) -> list[int]:
    """Return the columns that are linear combinations of earlier ones (Cholesky)."""
    left = gram.copy()
    own = np.maximum(np.diag(gram).copy(), 1e-300)
    dependent = []
    for j in range(len(gram)):
        if left[j, j] <= 1e-9 * own[j]:
            dependent.append(j)
            continue
        row = left[j] / left[j, j]
        left -= np.outer(left[:, j], row)
    return dependent


def unknown_levels(column: Column, values: NDArray[Any]) -> list[str]:
    """Return the categories of a column that have no column of the design."""
    found = dict.fromkeys(level for value in values for level in _levels(value))
    return [level for level in found if level not in column["levels"]]


def listed(names: Iterable[str], most: int = 5) -> str:
    """Return the first names in quotes, long ones cut, and how many more there are."""
    cut = [n if len(n) <= _LONGEST else f"{n[: _LONGEST - 1]}…" for n in names]
    shown = [repr(name) for name in cut]
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more
