# SPDX-License-Identifier: BSD-3-Clause
"""Tables: which columns hold what, and rows, each as a record by name.

csv, json, openpyxl and pyarrow read CSV, JSON, Excel sheets and Parquet; rows come one
by one, with their numbers. pandas, which reads all four, would change what is in them:
numbers beside an empty cell become 5.0, the text NA an unknown one, and an error names
no row.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import difflib
import json
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Number
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicfold.core.lazy import optional
from topicfold.core.tables import listed
from topicfold.corpus.lines import (
    DAMAGE,
    LONGEST_LINE,
    TOO_LONG,
    BadLines,
    Progress,
    check_unpacked,
    open_whole,
    text_lines,
)
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
# Times and ranges of pandas, which is not imported for them.
_OF_PANDAS = ("Period", "Interval")
_NAMES_AGAIN = (
    "the names of the columns once more, as in files that were joined. Leave out all "
    "such lines but the first."
)
_WRITE = """ Write {"text": "..."} in every %s, or name the field with text='...'."""
_ADVICE = {
    "jsonl": _WRITE % "line",
    "json": _WRITE % "object",
    "parquet": " Name the column of the texts with text='...'.",
}
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


@dataclass
class Source:
    """What is read, and how; `used` has the columns that were read, once they are."""

    path: Path
    kind: str
    stated: dict[str, tuple[str, ...]]
    bad: BadLines
    encoding: str | None = None
    progress: Progress | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        self.used: dict[str, str] = {}
        # Names of fields within fields, such as "body.text".
        self._inner = [n for names in self.stated.values() for n in names if "." in n]
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
                self.used.setdefault("not used", listed(left, 6))
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
                # Two columns with the same name are no problem if neither is used.
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
        for field in ("label", "id", "time"):
            for name in self.stated.get(field, ()):
                if name in columns.get("text", ()):
                    raise DataError(
                        f"{name!r} is the column of the text, so it cannot be the "
                        f"column of the {field} too. Name another one with "
                        f"{field}='...'."
                    )
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
        shown = listed((repr(shortened(name)) for name in names), 12)
        numbered = (
            " (by its number, from 1, if the first line has no names)"
            if self.kind in ("csv", "tsv")
            else ""
        )
        by = f"; name the one with the {field} by {field}='...'{numbered}"
        return DataError(
            f"{self.path} has no column {name!r}.{hint} It has {shown or 'none'}"
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
                lower = {other.lower(): other for other in inner_names(record)}
                near = difflib.get_close_matches(name.lower(), lower, n=1)
                wrong = near and name not in record
                hint = f' Did you mean "{lower[near[0]]}"?' if wrong else ""
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
                nested = "'...'" in problem
                advice = "" if nested else _ADVICE.get(self.kind, "")
                self.bad.report(number, problem + advice, usual=nested)
                return None
            texts = [text for text in texts if isinstance(text, str)]
        single = {field: names[field][0] for field in FIELDS[1:] if field in names}
        known: dict[str, Any] = {
            field: _plain(record.get(name)) for field, name in single.items()
        }
        extra = [_listed(record.get(name)) for name in names.get(EXTRA, ())]
        found = [*known.values(), *extra]
        if None in found:
            name = [*single.values(), *names.get(EXTRA, ())][found.index(None)]
            self.bad.report(
                number,
                f'the field "{name}" is {kind_of(record[name])}. Write a string or '
                "a number.",
            )
            return None
        # Several texts are on lines of their own.
        text = texts[0] if len(texts) == 1 else "\n".join(filter(None, texts))
        known |= {"line": number, "extra": tuple(extra)}
        return Document(text, **known)


# More of a name is no name, but a text where the first row has no names.
_LONGEST_NAME = 40


def shortened(name: str) -> str:
    """Return the beginning of a name."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


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


def _listed(value: Any) -> str | None:
    """Return a value of another column as text; items of a list are joined."""
    several = isinstance(value, list | tuple | set | frozenset | np.ndarray)
    items = [_plain(item) for item in (value if several else [value])]
    found = [item for item in items if item is not None]
    if len(found) < len(items):
        return None
    return "; ".join(sorted(found) if isinstance(value, set | frozenset) else found)


def _plain(value: Any) -> str | None:
    """Return a label, id or time as text, "" if unknown; None if it is a bad one."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    # Columns of pandas that may have gaps hold numbers of NumPy.
    number = isinstance(value, Number | np.number | np.bool_)
    if number and not isinstance(value, complex):
        return str(value)
    named = isinstance(value, uuid.UUID) or type(value).__name__ in _OF_PANDAS
    return str(value) if named else None


# Rows of a sheet, as many as Excel has: a file may name any number.
_MOST_ROWS = 1 << 20


class _Repeated(dict[str, Any]):
    """An object of JSON with a name that is there twice, of which the last counts."""

    name: str


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; json itself keeps the last of equal names."""
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    names = [name for name, _ in pairs]
    made = _Repeated(made)
    made.name = next(name for name in names if names.count(name) > 1)
    return made


def _loads(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_object)


def json_objects(lines: Iterable[tuple[int, str]], bad: BadLines) -> Iterator[Record]:
    """Yield line number and object of every line that is not blank."""
    for number, line in lines:
        if not line or line.isspace():
            continue
        try:
            record = _loads(line)
        except (ValueError, RecursionError) as error:
            bad.report(number, f"not valid JSON ({error}). Write one object per line.")
            continue
        if isinstance(record, _Repeated):
            bad.report(number, f"the field {record.name!r} occurs twice. Rename one.")
        elif isinstance(record, dict):
            yield number, record
        else:
            bad.report(
                number,
                f"{kind_of(record)} instead of an object. Write "
                '{"text": "..."} in every line.',
            )


def _all_named(source: Source, records: Iterable[Record]) -> Iterator[Record]:
    """Yield objects; a named field that none of them has is an error at the end."""
    seen: dict[str, None] = {}
    for number, record in records:
        if not seen:
            seen.update(dict.fromkeys(inner_names(record)))
        whole = source.with_inner(record)
        if len(seen) < 1000:
            seen.update(dict.fromkeys(whole))
        yield number, whole
    for field, names in source.stated.items():
        for name in names:
            if seen and name not in seen:
                raise source.missing(field, name, list(seen))


def _whole_json_records(source: Source) -> Iterator[Record]:
    """Yield the objects of one JSON value: a list, or a table by columns."""
    lines = [line for _, line in source.lines()]
    try:
        value = _loads("\n".join(lines))
    except (ValueError, RecursionError) as error:
        # Many files of JSON lines are called .json.
        if lines and lines[0].lstrip().startswith("{"):
            return _all_named(source, json_objects(enumerate(lines, 1), source.bad))
        raise DataError(
            f"{source.path} is not valid JSON ({error}). Write "
            '[{"text": "..."}, ...].'
        ) from error
    inner = [value, *value.values()] if isinstance(value, dict) else []
    _refuse_repeated(inner, source)
    if isinstance(value, dict) and len(value) == 1:  # such as {"documents": [...]}
        only = next(iter(value.values()))
        value = only if isinstance(only, list) and _is_records(only) else value
    inside = _lists_within(value)
    if isinstance(value, dict):
        value = _rows_of(value, source)
    if value is None and inside:
        raise DataError(
            f"{source.path} is one object, and its field {inside} has a list of "
            "objects. Write that list alone into a file."
        )
    if not isinstance(value, list) or not (
        _is_records(value) or all(isinstance(item, str) for item in value)
    ):
        raise DataError(
            f"{source.path} holds neither a list of objects nor one of strings. Write "
            '[{"text": "..."}, ...].'
        )
    _refuse_repeated(value, source)
    records = ({"text": item} if isinstance(item, str) else item for item in value)
    return _all_named(source, enumerate(records, 1))


def _lists_within(value: Any) -> str:
    """Return the fields of an object that have lists of objects, to name them."""
    fields = value.items() if isinstance(value, dict) else ()
    lists = (n for n, v in fields if isinstance(v, list) and v and _is_records(v))
    return " or ".join(repr(shortened(name)) for name in lists)


def _refuse_repeated(values: list[Any], source: Source) -> None:
    for number, value in enumerate(values, 1):
        if isinstance(value, _Repeated):
            raise DataError(
                f"{source.path}, object {number}: the field {value.name!r} occurs "
                "twice. Rename one."
            )


def _is_records(values: Any) -> bool:
    return all(isinstance(item, dict) for item in values)


def _rows_of(table: dict[str, Any], source: Source) -> Any:
    """Return the rows of a table that is one object, in the shapes that pandas writes:
    by column (lists, or objects), by row, or names and values apart.
    """
    columns = list(table.values())
    names, values = table.get("columns"), table.get("data")
    if "schema" in table and isinstance(values, list) and _is_records(values):
        return values
    if isinstance(names, list) and isinstance(values, list):
        named = all(isinstance(name, str) for name in names)
        rows = [row for row in values if isinstance(row, list)]
        if named and [len(row) for row in rows] == [len(names)] * len(values):
            source.check_columns(names)
            return [dict(zip(names, row, strict=True)) for row in rows]
    if columns and _is_records(columns):
        by_row = all("text" in source.find_columns(tuple(row)) for row in columns)
        if by_row and "text" not in source.find_columns(tuple(table)):
            return columns
        whole_first = sorted(columns, key=len, reverse=True)  # its order is kept
        keys = list(dict.fromkeys(chain.from_iterable(whole_first)))
        return [{name: table[name].get(key) for name in table} for key in keys]
    if columns and all(isinstance(column, list) for column in columns):
        if len({len(column) for column in columns}) > 1:
            sizes = ", ".join(f"{name!r} {len(table[name])}" for name in table)
            raise DataError(f"{source.path} has columns of different lengths: {sizes}.")
        together = zip(*columns, strict=True)
        return [dict(zip(table, row, strict=True)) for row in together]
    return None


def _sheet_records(source: Source) -> Iterator[Record]:
    """Yield the rows of a sheet of an Excel file, the first where none is named."""
    openpyxl = optional(
        "openpyxl",
        ".xlsx files need openpyxl",
        "'topicfold[xlsx]'",
        "or save the sheet as .csv",
    )

    titles: list[str] = []

    def rows() -> Generator[tuple[int, tuple[Any, ...]]]:
        try:
            with open_whole(source.path) as raw:
                check_unpacked(raw)
                book = openpyxl.load_workbook(raw, read_only=True, data_only=True)
                titles.extend(sheet.title for sheet in book.worksheets)
                sheet = book.worksheets[_place_of(source, titles)]
                # Else each row, also one that is missing, is as wide as the widest.
                sheet.reset_dimensions()
                found = sheet.iter_rows(max_row=_MOST_ROWS, values_only=True)
                for number, row in enumerate(found, 1):
                    if row.count(None) < len(row):
                        yield number, row
        except DataError:
            raise
        except DAMAGE as error:
            # openpyxl does not convert errors of zip and XML.
            raise DataError(
                f"{source.path} cannot be read as .xlsx ({error}). Save the sheet "
                "again, or as .csv."
            ) from error

    with contextlib.closing(rows()) as named:
        _, first = next(named, (0, ()))
        header = ["" if name is None else str(name).strip() for name in first]
        try:
            columns = source.check_columns(header) if header else {}
        except DataError as error:
            if len(titles) < 2:
                raise
            chosen = titles[_place_of(source, titles)]
            others = ", ".join(repr(title) for title in titles if title != chosen)
            raise DataError(
                f"{error} This is the sheet {chosen!r}; the file also has {others}. To "
                "read another, name it with sheet='...'."
            ) from error
        texts = columns.get("text", ())
        wanted = set(chain.from_iterable(columns.values()))
        places = {name: place for place, name in enumerate(header) if name in wanted}
        for number, row in named:
            if _names_again(row, header):
                source.bad.report(number, _NAMES_AGAIN)
                continue
            record = {n: row[p] if p < len(row) else None for n, p in places.items()}
            for name in texts:  # as if the sheet had been saved as .csv
                if record[name] is None:
                    record[name] = ""
                elif isinstance(record[name], int | float):
                    record[name] = str(record[name])
            yield number, record


def _place_of(source: Source, titles: list[str]) -> int:
    """Return the place of the sheet to read, and note its title if there are others."""
    place = sheet_place(source.path, titles, source.sheet)
    if len(titles) > 1:
        source.used["sheet"] = titles[place]
    return place


def sheet_place(path: Path, titles: list[str], wanted: str | None) -> int:
    """Return the place of the sheet that was named: by its title, or from 1."""
    if wanted is None:
        return 0
    if wanted in titles:
        return titles.index(wanted)
    if wanted.isdecimal() and 1 <= int(wanted) <= len(titles):
        return int(wanted) - 1
    raise DataError(
        f"{path} has no sheet {wanted!r}. It has {', '.join(map(repr, titles))}."
    )


def delimiter_of(header: str) -> str:
    """Return what separates the columns of a table with this line of names."""
    return next((mark for mark in DELIMITERS if mark in header), DELIMITERS[0])


def _table_records(source: Source) -> Iterator[Record]:
    """Yield the rows of a CSV or TSV file; the first line has the names."""
    path, bad = source.path, source.bad
    # Many documents are longer than the module's own limit.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    place = _Place(source)
    header_line = next((line for line in place if line.strip()), None)
    if header_line is None:
        return
    delimiter = "\t" if source.kind == "tsv" else delimiter_of(header_line)
    rows = csv.reader(chain([header_line], place), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    named, wanted = False, dict[str, int]()
    while True:
        start = place.number + (header is not None)
        place.size = 0
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            if "end of data" in str(error):
                raise DataError(
                    f"{path}, line {start}: a quote is opened here and never closed. "
                    'Close it, or write "" for a quote within a field.'
                ) from error
            bad.report(start, f"no valid row ({error}).")
            continue
        if header is None:
            header, named = _header(source, row)
            wanted = _places(source, header)
            if named:
                continue
        if named and _names_again(row, header):
            bad.report(start, _NAMES_AGAIN)
        elif len(row) == len(header):
            yield start, {name: row[place] for name, place in wanted.items()}
        elif row and any(row):
            fix = f"Put fields with {delimiter!r} into quotes."
            if len(row) < len(header):
                fix = f"Write {delimiter!r} for each empty field too."
            bad.report(
                start, f"{len(row)} fields, but the first line has {len(header)}. {fix}"
            )


def _header(source: Source, row: list[str]) -> tuple[list[str], bool]:
    """Return the names of columns, and whether the first row has them."""
    header = [name.strip() for name in row]
    asked = [name for names in source.stated.values() for name in names]
    if not asked or any(name in header or not name.isdecimal() for name in asked):
        return header, True
    return [str(number) for number in range(1, len(row) + 1)], False


def _names_again(row: Sequence[Any], header: list[str]) -> bool:
    """Whether a row has the names of the columns, as where files were joined."""
    cells = [cell.strip() for cell in row if isinstance(cell, str)]
    return len(header) > 1 and len(cells) == len(row) and cells == header


def _places(source: Source, header: list[str]) -> dict[str, int]:
    """Return the places of the columns to read, each of which is there once."""
    names = chain.from_iterable(source.check_columns(header).values())
    return {name: header.index(name) for name in names}


class _Place:
    """Lines with their ends, and the number of the last one given out."""

    def __init__(self, source: Source) -> None:
        self._lines, self._path = source.lines(), source.path
        self.number = self.size = 0

    def __iter__(self) -> Iterator[str]:
        for number, line in self._lines:
            self.number = number
            self.size += len(line)
            if self.size > LONGEST_LINE:
                raise DataError(f"{self._path}, line {number}: {TOO_LONG}")
            yield f"{line}\n"


def _parquet_records(source: Source) -> Iterator[Record]:
    """Yield the rows of a Parquet file."""
    need, install = "Parquet files need pyarrow", "'topicfold[parquet]'"
    pyarrow = optional("pyarrow", need, install)
    from pyarrow.parquet import ParquetFile

    try:
        with open_whole(source.path) as raw, ParquetFile(raw) as file:
            schema = file.schema_arrow
            flat = [part.name for column in schema for part in column.flatten()]
            inner = [name for name in flat if name not in schema.names]
            names = source.check_columns([*schema.names, *inner])
            wanted = [name for found in names.values() for name in found]
            number = 0
            for batch in file.iter_batches(10_000, columns=wanted):
                for record in batch.to_pylist():
                    number += 1
                    yield number, source.with_inner(record)
                if source.progress is not None:
                    source.progress(number, file.metadata.num_rows)
    except DataError:
        raise
    except (pyarrow.ArrowException, *DAMAGE) as error:
        reason = str(error).rstrip(".")
        raise DataError(
            f"{source.path} cannot be read as Parquet ({reason}). Write it again, or "
            "save it as .csv."
        ) from error


RECORDS: dict[str, Callable[[Source], Iterator[Record]]] = {
    "csv": _table_records,
    "tsv": _table_records,
    "json": _whole_json_records,
    "jsonl": lambda s: _all_named(s, json_objects(s.lines(), s.bad)),
    "parquet": _parquet_records,
    "xlsx": _sheet_records,
}
