# SPDX-License-Identifier: BSD-3-Clause
"""One document after another, from lines, JSON lines, tables and folders."""

from __future__ import annotations

import csv
import datetime
import difflib
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from topicfold.corpus.opening import (
    BadLines,
    Progress,
    check_encoding,
    decode_whole,
    open_bytes,
    text_lines,
    warn_guessed_files,
)
from topicfold.exceptions import DataError, MissingDependencyError

FIELDS = ("text", "label", "id", "time")
_LONGEST_FIELD = 2**30
_TEXT_SUFFIXES = (".txt", ".text")


class Document(NamedTuple):
    """One raw document; "" where label, id or time are not known.

    Examples
    --------
    >>> Document("a text", line=3).label
    ''
    """

    text: str
    label: str = ""
    id: str = ""
    time: str = ""
    line: int | str = 0


@dataclass(frozen=True)
class Fields:
    """Names of the columns; None means the column of that very name, if there is one.

    Examples
    --------
    >>> Fields(text="body").columns({"body", "label"}, "x.csv")
    {'text': 'body', 'label': 'label'}
    """

    text: str | None = None
    label: str | None = None
    id: str | None = None
    time: str | None = None

    def stated(self) -> dict[str, str]:
        """Return the columns that were named."""
        return {f: getattr(self, f) for f in FIELDS if getattr(self, f) is not None}

    def columns(self, found: Iterable[str], where: str) -> dict[str, str]:
        """Return the column of every field; one that is missing is an error."""
        names = list(found)
        wanted = {field: getattr(self, field) or field for field in FIELDS}
        for field, name in wanted.items():
            needed = field == "text" or getattr(self, field) is not None
            if needed and name not in names:
                raise DataError(missing_column(where, field, name, names))
        return {field: name for field, name in wanted.items() if name in names}


def missing_column(where: str, field: str, name: str, names: list[str]) -> str:
    """Return the message for a column that is not there, with what may be meant."""
    lower = {other.lower(): other for other in names}
    near = difflib.get_close_matches(name.lower(), lower, n=1)
    hint = f" Did you mean {lower[near[0]]!r}?" if near else ""
    shown = ", ".join(repr(other) for other in names[:12])
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return (
        f"{where} has no column {name!r}.{hint} It has {shown or 'none'}{more}; name "
        f"the one with the {field} by {field}='...' (--{field})."
    )


def line_documents(
    path: Path, encoding: str | None, bad: BadLines, progress: Progress | None = None
) -> Iterator[Document]:
    """Yield every line as a document; a blank one is an empty document."""
    for number, line in text_lines(path, encoding, bad, progress):
        yield Document(line, line=number)


def json_documents(
    path: Path,
    fields: Fields,
    encoding: str | None,
    bad: BadLines,
    progress: Progress | None = None,
) -> Iterator[Document]:
    """Yield the documents of a file with one JSON object a line."""
    names = {field: getattr(fields, field) or field for field in FIELDS}
    seen: dict[str, None] = {}
    some = False
    for number, line in text_lines(path, encoding, bad, progress):
        record = json_object(line, number, bad)
        if record is None:
            continue
        some = True
        if len(seen) < 1000:
            seen.update(dict.fromkeys(record))
        text = record.get(names["text"])
        if not isinstance(text, str):
            has = "is missing" if text is None else f"is a {type(text).__name__}"
            hint = _near(names["text"], record)
            bad.report(
                number,
                f'the field "{names["text"]}" {has}.{hint} Write {{"text": "..."}} in '
                "every line, or name the field with text='...' (--text).",
            )
            continue
        document = _document(text, record, names, number, bad)
        if document is not None:
            yield document
    if some:
        for field, name in fields.stated().items():
            if name not in seen:
                raise DataError(missing_column(str(path), field, name, list(seen)))


def json_object(line: str, number: int, bad: BadLines) -> dict[str, Any] | None:
    """Return the object of a line; None for a blank line and a skipped one."""
    if not line or line.isspace():
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        bad.report(number, f"not valid JSON ({error}). Write one object a line.")
        return None
    if not isinstance(record, dict):
        bad.report(
            number,
            f"a {type(record).__name__} instead of an object. Write "
            '{"text": "..."} in every line.',
        )
        return None
    return record


def table_documents(
    path: Path,
    fields: Fields,
    encoding: str | None,
    bad: BadLines,
    progress: Progress | None = None,
    *,
    tabs: bool = False,
) -> Iterator[Document]:
    """Yield the rows of a CSV or TSV file; the first line has the names."""
    # The module's own limit is below the length of many a document.
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
    place = _Place(text_lines(path, encoding, bad, progress))
    header_line = next((line for line in place if line.strip()), None)
    if header_line is None:
        return
    delimiter = "\t" if tabs else _delimiter(header_line)
    rows = csv.reader(place.again(header_line), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    columns: dict[str, int] = {}
    while True:
        start = place.number + (header is not None)
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
            header = [name.strip() for name in row]
            names = fields.columns(header, str(path))
            _check_once(header, list(names.values()), path)
            columns = {field: header.index(name) for field, name in names.items()}
        elif len(row) == len(header):
            values = {field: row[column] for field, column in columns.items()}
            yield Document(**values, line=start)
        elif row and any(row):
            bad.report(
                start,
                f"{len(row)} fields, the first line has {len(header)}. Put fields "
                f"with {delimiter!r} into quotes.",
            )


def parquet_documents(
    path: Path, fields: Fields, bad: BadLines, progress: Progress | None = None
) -> Iterator[Document]:
    """Yield the rows of a Parquet file."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet files need pyarrow. Install it with pip install "
            "'topicfold[parquet]'."
        ) from error
    try:
        with ParquetFile(path) as file:
            names = fields.columns(file.schema_arrow.names, str(path))
            total, number = file.metadata.num_rows, 0
            for batch in file.iter_batches(10_000, columns=list(names.values())):
                for record in batch.to_pylist():
                    number += 1
                    document = _row_document(record, names, number, bad)
                    if document is not None:
                        yield document
                if progress is not None:
                    progress(number, total)
    except (ArrowException, OSError) as error:
        reason = str(error).rstrip(".")
        raise DataError(f"{path} cannot be read as Parquet: {reason}.") from error


def file_documents(
    folder: Path, encoding: str | None, bad: BadLines, progress: Progress | None = None
) -> Iterator[Document]:
    """Yield every text file of a folder; sub-folders are labels, paths are ids."""
    if encoding is not None:
        check_encoding(encoding)
    files = text_files(folder)
    guessed: list[str] = []
    for place, (name, file) in enumerate(files):
        try:
            with open_bytes(file) as stream:
                text, guess = decode_whole(stream.read(), file, encoding)
        except DataError as error:
            if not bad.skip:
                raise
            bad.report(name, str(error))
            continue
        if guess:
            guessed.append(name)
        yield Document(text, label=name.rpartition("/")[0], id=name, line=name)
        if progress is not None:
            progress(place + 1, len(files))
    warn_guessed_files(folder, guessed)


def text_files(folder: Path) -> list[tuple[str, Path]]:
    """Return relative name and path of the documents in a folder, sorted by name."""
    try:
        every = sorted(
            (file.relative_to(folder).as_posix(), file)
            for file in folder.rglob("*")
            if file.is_file()
        )
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}.") from error
    shown = [
        (name, file)
        for name, file in every
        if not any(part.startswith(".") for part in name.split("/"))
    ]
    files = [(n, f) for n, f in shown if f.suffix.lower() in _TEXT_SUFFIXES]
    # Old collections, such as 20 Newsgroups, have files without any suffix.
    files = files or [(n, f) for n, f in shown if not f.suffix]
    if not files:
        raise DataError(
            f"the folder {folder} has no .txt files. Put one document into each, in "
            "sub-folders if they have labels."
        )
    return files


class _Place:
    """Lines with their ends, and the number of the last one given out."""

    def __init__(self, lines: Iterator[tuple[int, str]]) -> None:
        self._lines = lines
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        for number, line in self._lines:
            self.number = number
            yield f"{line}\n"

    def again(self, line: str) -> Iterator[str]:
        yield line
        yield from self


def _delimiter(header: str) -> str:
    """Return the separator of a header: a comma, else what spreadsheets also write."""
    if "," in header:
        return ","
    return next((mark for mark in (";", "\t") if mark in header), ",")


def _check_once(header: list[str], used: list[str], path: Path) -> None:
    for name in used:
        if header.count(name) > 1:
            raise DataError(
                f"{path} has {header.count(name)} columns named {name!r}. Rename all "
                "but one."
            )


def _near(name: str, record: dict[str, Any]) -> str:
    near = difflib.get_close_matches(name, record, n=1)
    return f' Did you mean "{near[0]}"?' if near else ""


def _plain(
    record: dict[str, Any], field: str, number: int, bad: BadLines
) -> str | None:
    """Return a label, id or time as text, "" if unknown; None if it is a bad one."""
    value = record.get(field)
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    bad.report(
        number,
        f'the field "{field}" is a {type(value).__name__}. Write a string or a number.',
    )
    return None


def _row_document(
    record: dict[str, Any], names: dict[str, str], number: int, bad: BadLines
) -> Document | None:
    text = record[names["text"]]
    if not isinstance(text, str):
        kind = "empty (null)" if text is None else f"a {type(text).__name__}"
        bad.report(number, f"the column {names['text']!r} is {kind}, not a string.")
        return None
    return _document(text, record, names, number, bad)


def _document(
    text: str,
    record: dict[str, Any],
    names: dict[str, str],
    number: int,
    bad: BadLines,
) -> Document | None:
    label, name, time = (
        _plain(record, names[field], number, bad) if field in names else ""
        for field in FIELDS[1:]
    )
    if label is None or name is None or time is None:
        return None
    return Document(text, label, name, time, number)
