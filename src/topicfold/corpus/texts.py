# SPDX-License-Identifier: BSD-3-Clause
"""Readers of raw texts: a folder of files, lines, tables, JSON lines, Parquet."""

from __future__ import annotations

import contextlib
import csv
import datetime
import difflib
import json
import math
import os
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from topicfold.core.lazy import optional
from topicfold.corpus.lines import (
    LONGEST_LINE,
    TOO_LONG,
    BadLines,
    Progress,
    check_encoding,
    read_whole,
    text_lines,
    warn_fallback,
)
from topicfold.corpus.npz import DAMAGE, check_unpacked
from topicfold.exceptions import DataError, DataWarning

# UTF-8, with or without a byte order mark: how topicfold's own files are written.
OWN_ENCODING = "utf-8-sig"
_SUFFIXES = {
    "lines": (".txt", ".text", ""),
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "json": (".json",),
    "jsonl": (".jsonl", ".ndjson"),
    "parquet": (".parquet",),
    "xlsx": (".xlsx",),
}
TEXT_FORMATS = ("files", *_SUFFIXES)
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
_EXTRA = "extra"
# Rows of a sheet, as many as Excel has: a file may name any number.
_MOST_ROWS = 1 << 20
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


class Texts(NamedTuple):
    """Raw documents: texts, and what else the source says of them.

    Attributes
    ----------
    texts : list of str
        The documents.
    labels, ids, times : list of str or None
        What is known of them; None where the source has none.
    extra : dict of str to list of str, or None
        The other columns that were asked for.
    columns : mapping of str to str
        The columns that were read, such as ``{"text": "title, text"}``.

    Examples
    --------
    >>> Texts(["a text"], None, ["first"]).ids
    ['first']
    """

    texts: list[str]
    labels: list[str] | None = None
    ids: list[str] | None = None
    times: list[str] | None = None
    extra: dict[str, list[str]] | None = None
    columns: Mapping[str, str] = MappingProxyType({})


def read_texts(path: str | os.PathLike[str], **options: Any) -> Texts:
    r"""Read documents from disk.

    ==========================  ======================================================
    path                        documents
    ==========================  ======================================================
    a folder                    every .txt file in it, at any depth, sorted by path
                                (without any, every file that has no suffix); the
                                label is the sub-folder (``""`` at the top), the id
                                the path; hidden files are left out
    .txt, .text, no suffix      every line; a blank line is an empty document, so that
                                line numbers are row numbers
    .csv, .tsv                  every row; the first line has the names of the columns
                                (where it has no comma, a .csv file may have
                                semicolons or tabs), unless you name columns by their
                                numbers, from 1
    .jsonl                      every line is an object; blank lines are left out
    .json                       a list of objects or of strings, or a table by columns
    .xlsx                       every row of the first sheet, below the names
    .parquet                    every row
    ==========================  ======================================================

    Files may be compressed by gzip (.gz) or Zstandard (.zst). A label that is missing
    is ``""``: unknown. Ids must be given for every document or for none. If you did not
    name the column and an id occurs twice, all ids are left out, with a warning.

    Parameters
    ----------
    path : str or path
        File or folder.
    **options
        ``text`` : str or sequence of str, optional
            Name of the column; several are joined, each on lines of its own. By default
            text, body, content, message, abstract or document, below a title.
        ``label``, ``id``, ``time`` : str, optional
            Names of the columns; by default columns of these names. A time may also be
            in a column date, datetime, timestamp, year, published or created_at.
        ``format`` : str, optional
            What the file is, where its name does not say it: "files", "lines", "csv",
            "tsv", "json", "jsonl", "parquet" or "xlsx".
        ``encoding`` : str, optional
            How text is written; by default that of the byte order mark, or UTF-8, or
            Windows-1252 with a warning.
        ``skip_bad_lines`` : bool, default=False
            Skip lines that cannot be read and say how many, instead of raising an error
            at the first.
        ``extra`` : sequence of str, optional
            Names of other columns to keep; a list in JSON becomes "one; two".
        ``progress`` : callable, optional
            Called with how much is read, and of how much.

    Returns
    -------
    Texts

    See Also
    --------
    iter_texts : The same, one document at a time.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "two.txt")
    ...     _ = file.write_text("red fox\nblue fish\n")
    ...     read_texts(file).texts
    ['red fox', 'blue fish']
    """
    source = _source(Path(path), **options)
    return _gathered(source, _documents(source))


def frame_texts(
    records: Sequence[dict[str, Any]],
    *,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    time: str | None = None,
) -> Texts:
    """Return the documents of the rows of a data frame, columns as in `read_texts`.

    Examples
    --------
    >>> frame_texts([{"text": "red fox", "kind": "land"}], label="kind").labels
    ['land']
    """
    stated = _stated(text=text, label=label, id=id, time=time)
    place = Path("the data frame")
    source = _Source(place, "frame", stated, BadLines(place, False, "row"))
    if not records:
        raise DataError("the data frame has no rows.")
    source.check_columns(list(records[0]))
    advice = "Leave such rows out with frame.dropna(), or fill them with ''."
    documents: list[Document] = []
    for number, record in enumerate(records):
        row = {n: None if v is not None and v != v else v for n, v in record.items()}
        problem = source.text_problem(row)
        if problem:
            raise DataError(f"row {number} of the data frame: {problem} {advice}")
        document = source.document(row, number)
        documents += [] if document is None else [document]
    return _gathered(source, documents)


def iter_texts(path: str | os.PathLike[str], **options: Any) -> Iterator[Document]:
    r"""Yield documents from disk, one at a time, whatever the size of the file.

    Parameters
    ----------
    path : str or path
        File or folder.
    **options
        Those of `read_texts`.

    Yields
    ------
    Document
        With `text`, `label`, `id`, `time` (``""`` where unknown), `line` and `extra`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "two.csv")
    ...     _ = file.write_text("body,label\nred fox,land\n")
    ...     next(iter_texts(file, text="body"))
    Document(text='red fox', label='land', id='', time='', line=2, extra=())
    """
    return _documents(_source(Path(path), **options))


def _source(
    path: Path,
    *,
    format: str | None = None,
    encoding: str | None = None,
    skip_bad_lines: bool = False,
    progress: Progress | None = None,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    time: str | None = None,
    extra: Sequence[str] = (),
) -> _Source:
    """Return what is to be read, its options checked."""
    kind = text_format(path, format)
    stated = _stated(text=text, label=label, id=id, time=time, extra=extra or None)
    if stated and kind in ("files", "lines"):
        named = ", ".join(stated)
        raise DataError(f"{path} has no columns, so {named} cannot be named.")
    if kind in ("parquet", "xlsx") and encoding is not None:
        raise DataError(f"{path}: .{kind} files have no encoding. Leave it out.")
    unit = {"files": "file", "parquet": "row", "json": "entry", "xlsx": "row"}
    bad = BadLines(path, skip_bad_lines, unit.get(kind, "line"))
    return _Source(path, kind, stated, bad, encoding, progress)


def _stated(**given: str | Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    """Return the columns that were named, by what they hold."""
    return {
        field: (names,) if isinstance(names, str) else tuple(names)
        for field, names in given.items()
        if names is not None
    }


def _documents(source: _Source) -> Iterator[Document]:
    """Yield the documents of a source; there must be one."""
    found: Iterator[Document]
    if source.kind == "files":
        found = _file_documents(source)
    elif source.kind == "lines":  # a blank one is an empty document
        found = (Document(line, line=number) for number, line in source.lines())
    else:
        records = _RECORDS[source.kind](source)
        made = (source.document(record, number) for number, record in records)
        found = (document for document in made if document is not None)
    some = False
    for document in found:
        some = True
        yield document
    source.bad.warn()
    if not some:
        raise DataError(f"{source.path} has no documents. Is it the file you meant?")


def _gathered(source: _Source, documents: Iterable[Document]) -> Texts:
    """Return all documents of a source with what is known of them."""
    known = Known(source.path, own_ids="id" in source.stated)
    texts = list(known.texts(documents))
    columns = [list(values) for values in zip(*known.extra, strict=True)]
    extra = dict(zip(source.stated.get(_EXTRA, ()), columns, strict=True))
    return Texts(texts, *known.finish(), extra or None, source.used)


def text_format(path: Path, format: str | None = None) -> str:
    """Return what kind of text a place holds, from its name."""
    if format is not None and format not in TEXT_FORMATS:
        raise DataError(
            f"format={format!r} is not a text format. Give one of "
            f"{', '.join(TEXT_FORMATS)}."
        )
    if not path.exists():
        raise DataError(f"{path} does not exist. Give a file or a folder.")
    if path.is_dir() != (format == "files") and format is not None:
        what = "a folder" if path.is_dir() else "a file"
        raise DataError(f"{path} is {what}, which does not fit format={format!r}.")
    if format is not None or path.is_dir():
        return format or "files"
    suffix = plain_suffix(path)
    kind = next((kind for kind, own in _SUFFIXES.items() if suffix in own), None)
    if kind is None:
        raise DataError(
            f"{path} has the suffix {path.suffix!r}, which is not read. Give a folder "
            "of .txt files or a file .txt (one document per line), .csv, .tsv, .json, "
            ".jsonl, .xlsx or .parquet; or say what it is with format=..."
        )
    return kind


def plain_suffix(path: Path) -> str:
    """Return the suffix in lower case, without that of compression."""
    packed = path.suffix.lower() in (".gz", ".zst")
    return Path(path.stem if packed else path.name).suffix.lower()


class Known:
    """What is known of documents apart from their text, gathered and checked."""

    def __init__(self, path: Path, own_ids: bool) -> None:
        self.path = path
        self.own_ids = own_ids
        self._twice = ""
        self._labels: list[str] = []
        self._times: list[str] = []
        self._lines: dict[str, int | str] = {}
        self._names: dict[str, str] = {}
        self._unnamed: int | str | None = None
        self.extra: list[tuple[str, ...]] = []

    def texts(self, documents: Iterable[Document]) -> Iterator[str]:
        """Yield the texts of documents, and keep what else is known of them."""
        for text, label, name, time, line, extra in documents:
            if extra:
                self.extra.append(extra)
            # Labels and times are few and often repeated: kept once each.
            self._labels.append(self._names.setdefault(label, label))
            self._times.append(self._names.setdefault(time, time))
            if not name:
                self._unnamed = line if self._unnamed is None else self._unnamed
            elif self._lines.setdefault(name, line) != line:
                self._note_twice(name, line)
            yield text

    def _note_twice(self, name: str, line: int | str) -> None:
        problem = (
            f"{self.path}, line {line}: the id {name!r} is that of line "
            f"{self._lines[name]} already."
        )
        if self.own_ids:
            raise DataError(
                f"{problem} Give every document its own id, or leave id out."
            )
        self._twice = self._twice or problem

    def finish(self) -> tuple[list[str] | None, list[str] | None, list[str] | None]:
        """Return labels, ids and times; None where no document has any."""
        if self._lines and self._unnamed is not None:
            raise DataError(
                f"{self.path}, line {self._unnamed}: the id is missing, other lines "
                "have one. Give an id in every line or in none."
            )
        if self._twice:
            self._lines = {}
            warnings.warn(
                f"{self._twice} All ids are left out, documents are known by their row "
                "number. Name another column with id='...' to have names.",
                DataWarning,
                stacklevel=3,
            )
        return (
            self._labels if any(self._labels) else None,
            list(self._lines) or None,
            self._times if any(self._times) else None,
        )


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file; only line ends separate, not form feeds."""
    return [line for _, line in text_lines(path, OWN_ENCODING, BadLines(path))]


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
                f"a {type(record).__name__} instead of an object. Write "
                '{"text": "..."} in every line.',
            )


class _Source:
    """What is read, and how; `used` has the columns that were read, once they are."""

    def __init__(
        self,
        path: Path,
        kind: str,
        stated: dict[str, tuple[str, ...]],
        bad: BadLines,
        encoding: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.path, self.kind, self.stated, self.bad = path, kind, stated, bad
        self.encoding, self.progress = encoding, progress
        self.used: dict[str, str] = {}
        self._known: dict[tuple[str, ...], dict[str, tuple[str, ...]]] = {}

    def lines(self) -> Iterator[tuple[int, str]]:
        return text_lines(self.path, self.encoding, self.bad, self.progress)

    def columns(self, found: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the columns of every field that is there, found out once."""
        key = tuple(found)
        if key not in self._known:
            self._known[key] = self._columns(key)
            for field, names in self._known[key].items():
                self.used.setdefault(field, ", ".join(names))
            taken = {name for names in self._known[key].values() for name in names}
            left = [name for name in key if name not in taken]
            if left:
                more = f" and {len(left) - 6} more" if len(left) > 6 else ""
                self.used.setdefault("not used", ", ".join(left[:6]) + more)
        return self._known[key]

    def _columns(self, found: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
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
        columns[_EXTRA] = self.stated.get(_EXTRA, ())
        return {field: names for field, names in columns.items() if names}

    def check_columns(self, found: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the columns of a table; one that is missing is an error."""
        columns = self.columns(found)
        for field, names in ({"text": ("text",)} | self.stated).items():
            if field == "text" and field not in self.stated and field in columns:
                continue
            for name in names:
                if name not in found:
                    raise self.missing(field, name, found)
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
            f"{'' if field == _EXTRA else by}."
        )

    def text_problem(self, record: dict[str, Any]) -> str:
        """Return what is wrong with the text of a record, "" if nothing is."""
        names = self.columns(tuple(record)).get("text", ())
        wanted = self.stated.get("text", names or ("text",))
        for name in wanted:
            value = record.get(name)
            if not isinstance(value, str) and (value is not None or len(wanted) == 1):
                has = f"is a {type(value).__name__}"
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
                self.bad.report(number, problem + _ADVICE.get(self.kind, ""))
                return None
            texts = [text for text in texts if isinstance(text, str)]
        known = []
        for field in FIELDS[1:]:
            value = _plain(record.get(names[field][0])) if field in names else ""
            if value is None:
                name = names[field][0]
                self.bad.report(
                    number,
                    f'the field "{name}" is a {type(record[name]).__name__}. Write a '
                    "string or a number.",
                )
                return None
            known.append(value)
        # Several texts are on lines of their own.
        text = texts[0] if len(texts) == 1 else "\n".join(filter(None, texts))
        extra = tuple(_listed(record.get(name)) for name in names.get(_EXTRA, ()))
        label, name, time = known
        return Document(text, label, name, time, number, extra)


def _listed(value: Any) -> str:
    """Return a value of another column as text; items of a list are joined."""
    values = value if isinstance(value, list) else [value]
    return "; ".join(_plain(item) or "" for item in values)


def _all_named(source: _Source, records: Iterable[Record]) -> Iterator[Record]:
    """Yield objects; at the end, a field that was named and that none has is told."""
    seen: dict[str, None] = {}
    for number, record in records:
        if len(seen) < 1000:
            seen.update(dict.fromkeys(record))
        yield number, record
    for field, names in source.stated.items():
        for name in names:
            if seen and name not in seen:
                raise source.missing(field, name, list(seen))


def _whole_json_records(source: _Source) -> Iterator[Record]:
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
        value = _rows_of(value, source.path)
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


def _rows_of(table: dict[str, Any], path: Path) -> Any:
    """Return the rows of a table given as columns: lists, or objects as of pandas."""
    columns = list(table.values())
    if columns and _is_records(columns):
        keys = list(columns[0])
        return [{name: table[name].get(key) for name in table} for key in keys]
    if columns and all(isinstance(column, list) for column in columns):
        if len({len(column) for column in columns}) > 1:
            sizes = ", ".join(f"{name!r} {len(table[name])}" for name in table)
            raise DataError(f"{path} has columns of different lengths: {sizes}.")
        rows = zip(*columns, strict=True)
        return [dict(zip(table, row, strict=True)) for row in rows]
    return None


def _sheet_records(source: _Source) -> Iterator[Record]:
    """Yield the rows of the first sheet of an Excel file."""
    openpyxl = optional(
        "openpyxl",
        ".xlsx files need openpyxl",
        "'topicfold[xlsx]'",
        "or save the sheet as .csv",
    )

    def rows() -> Generator[tuple[int, tuple[Any, ...]]]:
        try:
            with source.path.open("rb") as raw:
                check_unpacked(raw)
                book = openpyxl.load_workbook(raw, read_only=True, data_only=True)
                sheet = book.worksheets[0]
                # Else each row, also one that is missing, is as wide as the widest.
                sheet.reset_dimensions()
                found = sheet.iter_rows(max_row=_MOST_ROWS, values_only=True)
                for number, row in enumerate(found, 1):
                    if row.count(None) < len(row):
                        yield number, row
        except DAMAGE as error:
            # openpyxl lets errors of zip and XML through as they are.
            raise DataError(
                f"{source.path} cannot be read as .xlsx ({error}). Save the sheet "
                "again, or as .csv."
            ) from error

    with contextlib.closing(rows()) as named:
        _, first = next(named, (0, ()))
        header = ["" if name is None else str(name).strip() for name in first]
        columns = source.check_columns(header) if header else {}
        texts = columns.get("text", ())
        wanted = set(chain.from_iterable(columns.values()))
        places = {name: place for place, name in enumerate(header) if name in wanted}
        for number, row in named:
            record = {n: row[p] if p < len(row) else None for n, p in places.items()}
            for name in texts:  # a title of a number is a text all the same
                if isinstance(record[name], int | float):
                    record[name] = str(record[name])
            yield number, record


def _table_records(source: _Source) -> Iterator[Record]:
    """Yield the rows of a CSV or TSV file; the first line has the names."""
    path, bad = source.path, source.bad
    # Many documents are longer than the module's own limit.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    place = _Place(source)
    header_line = next((line for line in place if line.strip()), None)
    if header_line is None:
        return
    # A comma, else what spreadsheets also write.
    marks = "\t" if source.kind == "tsv" else ",;\t"
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
            bad.report(
                start,
                f"{len(row)} fields, the first line has {len(header)}. Put fields "
                f"with {delimiter!r} into quotes.",
            )


def _header(source: _Source, row: list[str]) -> tuple[list[str], bool]:
    """Return the names of columns, and whether the first row has them."""
    header = [name.strip() for name in row]
    asked = [name for names in source.stated.values() for name in names]
    if not asked or any(name in header or not name.isdecimal() for name in asked):
        return header, True
    return [str(number) for number in range(1, len(row) + 1)], False


def _places(source: _Source, header: list[str]) -> dict[str, int]:
    """Return the places of the columns to read, each of which is there once."""
    names = chain.from_iterable(source.check_columns(header).values())
    places = {name: header.index(name) for name in names}
    twice = next((name for name in places if header.count(name) > 1), None)
    if twice is not None:
        raise DataError(
            f"{source.path} has {header.count(twice)} columns named {twice!r}. Rename "
            "all but one."
        )
    return places


class _Place:
    """Lines with their ends, and the number of the last one given out."""

    def __init__(self, source: _Source) -> None:
        self._lines, self._path = source.lines(), source.path
        self.number = self.size = 0

    def __iter__(self) -> Iterator[str]:
        for number, line in self._lines:
            self.number = number
            self.size += len(line)
            if self.size > LONGEST_LINE:
                raise DataError(f"{self._path}, line {number}: {TOO_LONG}")
            yield f"{line}\n"


def _parquet_records(source: _Source) -> Iterator[Record]:
    """Yield the rows of a Parquet file."""
    need, install = "Parquet files need pyarrow", "'topicfold[parquet]'"
    pyarrow = optional("pyarrow", need, install)
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(source.path) as file:
            names = source.check_columns(file.schema_arrow.names)
            wanted = [name for found in names.values() for name in found]
            number = 0
            for batch in file.iter_batches(10_000, columns=wanted):
                for record in batch.to_pylist():
                    number += 1
                    yield number, record
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


def _file_documents(source: _Source) -> Iterator[Document]:
    """Yield every text file of a folder; sub-folders are labels, paths are ids."""
    if source.encoding is not None:
        check_encoding(source.encoding)
    files = _text_files(source.path)
    guessed: list[str] = []
    for place, (name, file) in enumerate(files, start=1):
        try:
            text, guess = read_whole(file, source.encoding)
        except DataError as error:
            if not source.bad.skip:
                raise
            source.bad.report(name, str(error))
            continue
        if guess:
            guessed.append(name)
        yield Document(text, label=name.rpartition("/")[0], id=name, line=name)
        if source.progress is not None:
            source.progress(place, len(files))
    if guessed:
        warn_fallback(
            f"{len(guessed)} files in {source.path} are not UTF-8 (first: {guessed[0]})"
        )


def _text_files(folder: Path) -> list[tuple[str, Path]]:
    """Return relative name and path of the documents in a folder, sorted by name."""
    try:
        every = sorted(
            (file.relative_to(folder).as_posix(), file)
            for file in folder.rglob("*")
            if file.is_file()
        )
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}.") from error
    shown = [(n, f) for n, f in every if not n.startswith(".") and "/." not in n]
    # Old collections, such as 20 Newsgroups, have files without any suffix.
    for suffixes in ((".txt", ".text"), ("",)):
        files = [(n, f) for n, f in shown if f.suffix.lower() in suffixes]
        if files:
            return files
    raise DataError(
        f"the folder {folder} has no .txt files. Put one document into each, in "
        "sub-folders if they have labels."
    )


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


_RECORDS: dict[str, Callable[[_Source], Iterator[Record]]] = {
    "csv": _table_records,
    "tsv": _table_records,
    "json": _whole_json_records,
    "jsonl": lambda s: _all_named(s, json_objects(s.lines(), s.bad)),
    "parquet": _parquet_records,
    "xlsx": _sheet_records,
}
