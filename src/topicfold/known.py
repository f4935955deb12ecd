# SPDX-License-Identifier: BSD-3-Clause
"""What else is known of documents: from columns of a table to the data of a model.

`Topics` and the command line take the same: columns by name, texts as they are in a
table. Several names in one cell are separated by a semicolon.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from topicfold.exceptions import DataError

if TYPE_CHECKING:
    from topicfold.evidence.response import Kind

# Separator of several names in a cell.
BETWEEN = ";"
# The model whose business a keyword is; of several, the first.
MODELS = {
    "labels": "labeled",
    "response": "slda",
    "links": "rtm",
    "features": "features",
    "authors": "authors",
    "prevalence": "structural",
    "content": "structural",
    "language": "multimodal",
}
_WITH_COMMA = re.compile(r"[+-]?\d+(,\d+)?")
# Keywords of several columns.
_TABLES = ("features", "prevalence")


class Table(dict[str, Any]):
    """Columns by name, and the formula that named them."""

    formula: str | None = None


class Column(list[Any]):
    """Values of a column, with its name."""

    name: str = ""


def is_formula(value: Any) -> bool:
    """Whether a value is a formula: a text that begins with ``~``."""
    return isinstance(value, str) and value.lstrip().startswith("~")


def model_for(known: Mapping[str, Any]) -> str:
    """Return the name of the model for what is known; LDA if it is nothing."""
    return next((name for key, name in MODELS.items() if key in known), "lda")


def columns_in(known: Mapping[str, Any]) -> list[str]:
    """Return the columns that are named, each once."""
    named = [name for key, value in known.items() for name in _columns(key, value)]
    return list(dict.fromkeys(named))


def _columns(keyword: str, value: Any) -> list[str]:
    if is_formula(value):
        if keyword != "prevalence":
            raise DataError(f"{keyword} takes columns, not a formula: {value!r}.")
        from topicfold.evidence.formula import formula_columns

        return formula_columns(value)
    if isinstance(value, str):
        return [value]
    several = keyword in _TABLES and isinstance(value, list | tuple) and len(value) > 0
    return list(value) if several and all(isinstance(n, str) for n in value) else []


def known_data(
    known: Mapping[str, Any], extra: Mapping[str, list[str]] | None
) -> dict[str, Any]:
    """Return what `fit` takes by keyword; `extra` has the columns of a table."""
    return {key: _data(key, value, extra or {}) for key, value in known.items()}


def _data(keyword: str, value: Any, extra: Mapping[str, list[str]]) -> Any:
    names = _columns(keyword, value)
    if not names:
        return value
    missing = [name for name in names if name not in extra]
    if missing:  # counts have no columns
        raise DataError(
            f"{keyword} names the column {missing[0]!r}, but these documents have no "
            "columns. Give a table, or in Python the values themselves."
        )
    if keyword in _TABLES:
        table = Table({name: numbers_in(extra[name]) or extra[name] for name in names})
        table.formula = value if is_formula(value) else None
        return table
    cells = extra[names[0]]
    if keyword in ("authors", "labels"):
        return [names_in(cell) or None for cell in cells]
    found = Column()
    found += numbers_in(cells) or [cell or None for cell in cells]
    found.name = names[0]
    return found


def names_in(cell: str) -> list[str]:
    """Return the names in a cell."""
    return [name.strip() for name in cell.split(BETWEEN) if name.strip()]


def numbers_in(cells: Sequence[str]) -> list[float] | None:
    """Return a column as numbers, NaN where it is empty; None if it holds others.

    Numbers may have a decimal comma, as spreadsheets in Europe write them.

    Examples
    --------
    >>> numbers_in(["3.5", "4"]), numbers_in(["3,5", "4"]), numbers_in(["a", "4"])
    ([3.5, 4.0], [3.5, 4.0], None)
    """
    try:
        return [float(cell) if cell.strip() else float("nan") for cell in cells]
    except ValueError:
        pass
    texts = [cell.strip() for cell in cells]
    decimals = [text.partition(",")[2] for text in texts]
    # 1,250 may be more than a thousand.
    if not all(_WITH_COMMA.fullmatch(text) for text in texts if text) or all(
        len(digits) in (0, 3) for digits in decimals
    ):
        return None
    return [float(text.replace(",", ".")) if text else float("nan") for text in texts]


def taken_by(model: Any) -> set[str]:
    """Return the keywords of what a model takes beside counts."""
    if not hasattr(model, "_keywords"):
        return set()
    return set(model._keywords(model._all_sides()))


def with_times(model: Any, data: dict[str, Any], times: Any) -> dict[str, Any]:
    """Return the data with the documents' times, if the model learns from them."""
    if times is None or "time" in data or "time" not in taken_by(model):
        return data
    return {**data, "time": list(times)}


def kind_of(response: Any) -> Kind:
    """Return what a response is: numbers are real, everything else classes."""
    return "real" if len(response) and isinstance(response[0], float) else "classes"


def add_sides(model: Any, data: Mapping[str, Any], *, kind: Any = None) -> None:
    """Give a model the sides for the data that it does not learn from by itself."""
    unknown = [name for name in data if name not in {*MODELS, *taken_by(model)}]
    if unknown:
        raise TypeError(
            f"fit got the data {unknown[0]!r}, which no model takes. Give "
            f"{', '.join(MODELS)}. For groups, use prevalence if they differ in how "
            "much they say about a topic, and content if they differ in its words."
        )
    parameters = model.get_params(deep=False)
    if "response" in data and "kind" in parameters:
        model.set_params(kind=kind or kind_of(data["response"]))
    formula = getattr(data.get("prevalence"), "formula", None)
    if formula is not None and "formula" in parameters:
        model.set_params(formula=formula)
    sides = list(_sides(data, kind)) if "sides" in parameters else []
    taken = taken_by(model) | {side.keyword for side in sides}
    others = [name for name in data if name not in taken]
    if others:
        better = {"prevalence", "content"} & set(others)
        advice = f"Use the model {'structural' if better else 'lda'}."
        if len(others) < len(data):
            advice = f"{' and '.join(data)} cannot be combined: leave out one of them."
        raise DataError(
            f"{type(model).__name__} does not learn from {', '.join(others)}. {advice}"
        )
    if "sides" in parameters:
        _set_sides(model, sides)


def add_counts(model: Any, names: Iterable[str]) -> None:
    """Give a model the sides for counts in other languages."""
    from topicfold.phi import OtherCounts

    if "sides" not in model.get_params(deep=False):
        raise DataError(
            f"{type(model).__name__} does not learn from several languages. Use the "
            "model lda or multimodal."
        )
    _set_sides(model, [OtherCounts(name) for name in names])


def _set_sides(model: Any, sides: Iterable[Any]) -> None:
    """Give a model sides, those whose data it takes already aside."""
    given = list(model.sides or ())
    own = {side.keyword for side in (*model._own_sides(), *given)}
    given += [side for side in sides if side.keyword not in own]
    model.set_params(sides=given or None)


def _sides(data: Mapping[str, Any], kind: Kind | None) -> Iterator[Any]:
    from topicfold import evidence, theta

    if "authors" in data:
        yield theta.AuthorPriors()
    if "response" in data:
        yield evidence.Response(kind or kind_of(data["response"]))
    if "features" in data:
        yield evidence.Features()
    if "labels" in data:
        yield evidence.Labels()
    if "links" in data:
        yield evidence.Links()
