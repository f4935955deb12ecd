# SPDX-License-Identifier: BSD-3-Clause
"""Rows of tables: CSV, JSON, Excel sheets and Parquet, each as a record by name.

csv, json, openpyxl and pyarrow read; rows come one by one, with their numbers. pandas,
which reads all four, would change what is in them: numbers beside an empty cell become
5.0, the text NA an unknown one, and an error names no row.
"""

from __future__ import annotations

import contextlib
import csv
import json
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain
from typing import Any

from topicfold.core.lazy import optional
from topicfold.corpus.columns import DELIMITERS, Record, Source, inner_names, kind_of
from topicfold.corpus.lines import LONGEST_LINE, TOO_LONG, BadLines, open_whole
from topicfold.corpus.npz import DAMAGE, check_unpacked
from topicfold.exceptions import DataError

# Rows of a sheet, as many as Excel has: a file may name any number.
_MOST_ROWS = 1 << 20


def json_objects(lines: Iterable[tuple[int, str]], bad: BadLines) -> Iterator[Record]:
    """Yield line number and object of every line that is not blank."""
    for number, line in lines:
        if not line or line.isspace():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            bad.report(number, f"not valid JSON ({error}). Write one object per line.")
            continue
        if isinstance(record, dict):
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
        value = json.loads("\n".join(lines))
    except (ValueError, RecursionError) as error:
        # Many files of JSON lines are called .json.
        if lines and lines[0].lstrip().startswith("{"):
            return _all_named(source, json_objects(enumerate(lines, 1), source.bad))
        raise DataError(
            f"{source.path} is not valid JSON ({error}). Write "
            '[{"text": "..."}, ...].'
        ) from error
    if isinstance(value, dict) and len(value) == 1:  # such as {"documents": [...]}
        only = next(iter(value.values()))
        value = only if isinstance(only, list) and _is_records(only) else value
    if isinstance(value, dict):
        value = _rows_of(value, source)
    if not isinstance(value, list) or not (
        _is_records(value) or all(isinstance(item, str) for item in value)
    ):
        raise DataError(
            f"{source.path} holds neither a list of objects nor one of strings. Write "
            '[{"text": "..."}, ...].'
        )
    records = ({"text": item} if isinstance(item, str) else item for item in value)
    return _all_named(source, enumerate(records, 1))


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
        keys = list(dict.fromkeys(chain.from_iterable(columns)))
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
            # openpyxl lets errors of zip and XML through as they are.
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
                f"{error} This is the sheet {chosen!r}. For another ({others}), give "
                "sheet='...'."
            ) from error
        texts = columns.get("text", ())
        wanted = set(chain.from_iterable(columns.values()))
        places = {name: place for place, name in enumerate(header) if name in wanted}
        for number, row in named:
            record = {n: row[p] if p < len(row) else None for n, p in places.items()}
            for name in texts:  # a title of a number is a text all the same
                if isinstance(record[name], int | float):
                    record[name] = str(record[name])
            yield number, record


def _place_of(source: Source, titles: list[str]) -> int:
    """Return the place of the sheet that was named: by its title, or from 1."""
    wanted = source.sheet
    if wanted is None:
        place = 0
    elif wanted in titles:
        place = titles.index(wanted)
    elif wanted.isdecimal() and 1 <= int(wanted) <= len(titles):
        place = int(wanted) - 1
    else:
        raise DataError(
            f"{source.path} has no sheet {wanted!r}. It has "
            f"{', '.join(map(repr, titles))}."
        )
    if len(titles) > 1:
        source.used["sheet"] = titles[place]
    return place


def _table_records(source: Source) -> Iterator[Record]:
    """Yield the rows of a CSV or TSV file; the first line has the names."""
    path, bad = source.path, source.bad
    # Many documents are longer than the module's own limit.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    place = _Place(source)
    header_line = next((line for line in place if line.strip()), None)
    if header_line is None:
        return
    marks = "\t" if source.kind == "tsv" else DELIMITERS
    delimiter = next((mark for mark in marks if mark in header_line), marks[0])
    rows = csv.reader(chain([header_line], place), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    wanted: dict[str, int] = {}
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
        if len(row) == len(header):
            yield start, {name: row[place] for name, place in wanted.items()}
        elif row and any(row):
            fix = f"Put fields with {delimiter!r} into quotes."
            if len(row) < len(header):
                fix = f"Write {delimiter!r} for each empty field too."
            bad.report(
                start,
                f"{len(row)} fields, but the first line has {len(header)}. {fix}",
            )


def _header(source: Source, row: list[str]) -> tuple[list[str], bool]:
    """Return the names of columns, and whether the first row has them."""
    header = [name.strip() for name in row]
    asked = [name for names in source.stated.values() for name in names]
    if not asked or any(name in header or not name.isdecimal() for name in asked):
        return header, True
    return [str(number) for number in range(1, len(row) + 1)], False


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


def _parts(kind: Any) -> list[Any]:
    """Return the fields within a column of a Parquet file."""
    from pyarrow import types

    if not types.is_struct(kind):
        return []
    return [kind.field(place) for place in range(kind.num_fields)]


def _parquet_records(source: Source) -> Iterator[Record]:
    """Yield the rows of a Parquet file."""
    need, install = "Parquet files need pyarrow", "'topicfold[parquet]'"
    pyarrow = optional("pyarrow", need, install)
    from pyarrow.parquet import ParquetFile

    try:
        with open_whole(source.path) as raw, ParquetFile(raw) as file:
            schema = file.schema_arrow
            inner = [f"{f.name}.{part.name}" for f in schema for part in _parts(f.type)]
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
