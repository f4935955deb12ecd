# SPDX-License-Identifier: BSD-3-Clause
"""Columns of a table of texts: which of them hold what, and the document of a row."""

from __future__ import annotations

import datetime
import difflib
import math
from collections.abc import Iterator, Sequence
from itertools import chain
from numbers import Number
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicfold.corpus.lines import BadLines, Progress, text_lines
from topicfold.exceptions import DataError

# Columns that are read if none is named, in any case; of times the first that is there.
_USUAL = {
    "text": ("text", "body", "content", "message", "abstract", "document"),
    "label": ("label",),
    "id": ("id",),
    "time": (
        *("time", "date", "datetime", "timestamp", "year"),
        *("published", "created_at"),
    ),
}
# A title that comes before the text, if no column of text is named.
_TITLE = "title"
# What separates the columns of a .csv file: the first of these that its header has.
DELIMITERS = ",;\t|"
USUAL_NAMES = frozenset((_TITLE, *chain.from_iterable(_USUAL.values())))
EXTRA = "extra"
_WRITE = """ Write {"text": "..."} in every %s, or name the field with text='...'."""
_ADVICE = {"jsonl": _WRITE % "line", "json": _WRITE % "object"}
# The number of a line or row, and its fields by name.
Record = tuple[int, dict[str, Any]]


class Document(NamedTuple):
    """One raw document; "" where label, id or time are not known."""

    text: str
    label: str = ""
    id: str = ""
    time: str = ""
    line: int | str = 0
    extra: tuple[str, ...] = ()


FIELDS = Document._fields[:4]


class Source:
    """What is read, and how; `used` has the columns that were read, once they are."""

    def __init__(
        self,
        path: Path,
        kind: str,
        stated: dict[str, tuple[str, ...]],
        bad: BadLines,
        encoding: str | None = None,
        progress: Progress | None = None,
        sheet: str | None = None,
    ) -> None:
        self.path, self.kind, self.stated, self.bad = path, kind, stated, bad
        self.encoding, self.progress, self.sheet = encoding, progress, sheet
        self.used: dict[str, str] = {}
        # Names of fields within fields, such as "body.text".
        self._inner = [n for names in stated.values() for n in names if "." in n]
        self._known: dict[tuple[str, ...], dict[str, tuple[str, ...]]] = {}

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines of a text file with their numbers."""
        return text_lines(self.path, self.encoding, self.bad, self.progress)

    def columns(self, found: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the columns of every field that is there, found out once."""
        key = tuple(found)
        if key not in self._known:
            self._known[key] = self.find_columns(key)
            for field, names in self._known[key].items():
                self.used.setdefault(field, ", ".join(names))
            taken = {name for names in self._known[key].values() for name in names}
            # What holds a field that is used, and the index of a pandas frame, aside.
            taken |= {name.partition(".")[0] for name in taken}
            left = [
                name
                for name in key
                if name not in taken and not name.startswith("__index_level_")
            ]
            if left:
                more = f" and {len(left) - 6} more" if len(left) > 6 else ""
                self.used.setdefault("not used", ", ".join(left[:6]) + more)
        return self._known[key]

    def find_columns(self, found: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        """Return the columns of every field among those found."""
        lower = {name.strip().lower(): name for name in reversed(found)}
        columns: dict[str, tuple[str, ...]] = {}
        for field, usual in _USUAL.items():
            stated = self.stated.get(field)
            if stated is None:
                there = [lower[name] for name in usual if name in lower][:1]
                if field == "text" and there and _TITLE in lower:
                    there.insert(0, lower[_TITLE])
                # A name of two columns that nobody asked for says nothing.
                stated = tuple(name for name in there if found.count(name) == 1)
                stated = tuple(there) if field == "text" else stated
            columns[field] = tuple(name for name in stated if name in found)
        columns[EXTRA] = self.stated.get(EXTRA, ())
        return {field: names for field, names in columns.items() if names}

    def with_inner(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return a record with the fields within fields that were named."""
        more = {}
        for name in self._inner:
            value: Any = record
            for part in () if name in record else name.split("."):
                value = value.get(part) if isinstance(value, dict) else None
            if value is not record and value is not None:
                more[name] = value
        return {**record, **more} if more else record

    def check_columns(self, found: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the columns of a table; one missing, or there twice, is an error."""
        columns = self.columns(found)
        for field, names in ({"text": ("text",)} | self.stated).items():
            if field == "text" and field not in self.stated and field in columns:
                continue
            for name in names:
                if name not in found:
                    raise self.missing(field, name, found)
        used = [name for names in columns.values() for name in names]
        twice = next((name for name in used if found.count(name) > 1), None)
        if twice is not None:
            raise DataError(
                f"{self.path} has {found.count(twice)} columns named {twice!r}. Rename "
                "all but one."
            )
        return columns

    def missing(self, field: str, name: str, names: Sequence[str]) -> DataError:
        """Return the error for a column that is not there, with what may be meant."""
        lower = {other.lower(): other for other in names}
        near = difflib.get_close_matches(name.lower(), lower, n=1)
        hint = f" Did you mean {lower[near[0]]!r}?" if near else ""
        shown = ", ".join(repr(other) for other in names[:12])
        more = f" and {len(names) - 12} more" if len(names) > 12 else ""
        numbered = (
            " (by its number, from 1, if the first line has no names)"
            if self.kind in ("csv", "tsv")
            else ""
        )
        by = f"; name the one with the {field} by {field}='...'{numbered}"
        return DataError(
            f"{self.path} has no column {name!r}.{hint} It has {shown or 'none'}{more}"
            f"{'' if field == EXTRA else by}."
        )

    def text_problem(self, record: dict[str, Any]) -> str:
        """Return what is wrong with the text of a record, "" if nothing is."""
        names = self.columns(tuple(record)).get("text", ())
        wanted = self.stated.get("text", names or ("text",))
        for name in wanted:
            value = record.get(name)
            if not isinstance(value, str) and (value is not None or len(wanted) == 1):
                has = f"is {kind_of(value)}"
                if isinstance(value, dict) and value:
                    inner = ", ".join(inner_names({name: value})[1:4])
                    return (
                        f'the field "{name}" holds other fields: {inner}. Name one of '
                        "them with text='...'."
                    )
                if value is None:
                    has = "is empty (null)" if name in record else "is missing"
                near = difflib.get_close_matches(name, record, n=1)
                wrong = near and name not in record
                hint = f' Did you mean "{near[0]}"?' if wrong else ""
                return f'the field "{name}" {has}.{hint}'
        if not any(isinstance(record.get(name), str) for name in wanted):
            return f"the fields {', '.join(wanted)} are all missing."
        return ""

    def document(self, record: dict[str, Any], number: int) -> Document | None:
        """Return the document of a record; a bad one is reported, and None."""
        names = self.columns(tuple(record))
        texts: list[Any] = [record.get(name) for name in names.get("text", ())]
        if not texts or not all(isinstance(text, str) for text in texts):
            problem = self.text_problem(record)
            if problem:
                advice = "" if "'...'" in problem else _ADVICE.get(self.kind, "")
                self.bad.report(number, problem + advice)
                return None
            texts = [text for text in texts if isinstance(text, str)]
        known = []
        for field in FIELDS[1:]:
            value = _plain(record.get(names[field][0])) if field in names else ""
            if value is None:
                name = names[field][0]
                self.bad.report(
                    number,
                    f'the field "{name}" is {kind_of(record[name])}. Write a string or '
                    "a number.",
                )
                return None
            known.append(value)
        # Several texts are on lines of their own.
        text = texts[0] if len(texts) == 1 else "\n".join(filter(None, texts))
        extra = tuple(_listed(record.get(name)) for name in names.get(EXTRA, ()))
        label, name, time = known
        return Document(text, label, name, time, number, extra)


def inner_names(record: dict[str, Any], depth: int = 3) -> list[str]:
    """Return the names of the fields of a record, and of fields within them.

    Examples
    --------
    >>> inner_names({"id": 1, "body": {"text": "red fox", "size": {"words": 2}}})
    ['id', 'body', 'body.text', 'body.size', 'body.size.words']
    """
    names = []
    for name, value in record.items():
        names.append(name)
        if isinstance(value, dict) and depth:
            names += [f"{name}.{inner}" for inner in inner_names(value, depth - 1)]
    return names


def kind_of(value: Any) -> str:
    """Return what a value is, in words.

    Examples
    --------
    >>> kind_of(3), kind_of(["fox"]), kind_of(b"fox")
    ('a number (3)', 'a list', 'of type bytes')
    """
    if isinstance(value, Number | np.number):
        return f"a number ({value})"
    if isinstance(value, datetime.date):
        return "a date"
    names: dict[type, str] = {list: "a list", tuple: "a list", dict: "an object"}
    return names.get(type(value), f"of type {type(value).__name__}")


def is_missing(value: Any) -> bool:
    """Tell whether a value of a data frame is missing: None, NaN, NaT or NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas' NA; an array
        return not hasattr(value, "__len__")


def _listed(value: Any) -> str:
    """Return a value of another column as text; items of a list are joined."""
    values = value if isinstance(value, list) else [value]
    return "; ".join(_plain(item) or "" for item in values)


def _plain(value: Any) -> str | None:
    """Return a label, id or time as text, "" if unknown; None if it is a bad one."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return None
