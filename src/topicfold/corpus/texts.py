# SPDX-License-Identifier: BSD-3-Clause
"""Readers of raw texts: a folder of files, lines, tables, JSON lines, Parquet."""

from __future__ import annotations

import csv
import datetime
import difflib
import json
import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from topicfold.corpus.lines import (
    LONGEST_LINE,
    TOO_LONG,
    BadLines,
    Progress,
    check_encoding,
    decode_whole,
    open_bytes,
    text_lines,
    warn_fallback,
)
from topicfold.corpus.npz import DAMAGE
from topicfold.exceptions import DataError, DataWarning, MissingDependencyError

# UTF-8, with or without a byte order mark: how topicfold's own files are written.
OWN_ENCODING = "utf-8-sig"
_FORMATS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".txt": "lines",
    ".text": "lines",
    "": "lines",
}
TEXT_FORMATS = ("files", "lines", "csv", "tsv", "jsonl", "parquet")


class Document(NamedTuple):
    """One raw document; "" where label, id or time are not known."""

    text: str
    label: str = ""
    id: str = ""
    time: str = ""
    line: int | str = 0


FIELDS = Document._fields[:4]


class Texts(NamedTuple):
    """Raw documents: texts, and labels, ids and times where the source has them.

    Examples
    --------
    >>> Texts(["a text"], None, ["first"]).ids
    ['first']
    """

    texts: list[str]
    labels: list[str] | None = None
    ids: list[str] | None = None
    times: list[str] | None = None


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
                                semicolons or tabs)
    .jsonl                      every line is an object; blank lines are left out
    .parquet                    every row
    ==========================  ======================================================

    Files may be compressed by gzip (.gz) or Zstandard (.zst). A label that is missing
    is ``""``: unknown. Ids must be given for every document or for none. Those of a
    column that was not named are left out, with a warning, if one comes twice.

    Parameters
    ----------
    path : str or path
        File or folder.
    **options
        ``text``, ``label``, ``id``, ``time`` : str, optional
            Names of the columns; by default columns of these very names.
        ``format`` : {"files", "lines", "csv", "tsv", "jsonl", "parquet"}, optional
            What the file is, where its name does not say it.
        ``encoding`` : str, optional
            How text is written; by default that of the byte order mark, or UTF-8, or
            Windows-1252 with a warning.
        ``skip_bad_lines`` : bool, default=False
            Leave lines out that cannot be read, and say how many, instead of an error
            at the first.
        ``progress`` : callable, optional
            Called with how much is read, and of how much.

    Returns
    -------
    Texts
        With `texts`, and `labels`, `ids` and `times` (None where the source has none).

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
    known = Known(Path(path), own_ids=options.get("id") is not None)
    texts = list(known.texts(iter_texts(path, **options)))
    return Texts(texts, *known.finish())


def iter_texts(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    text: str | None = None,
    label: str | None = None,
    id: str | None = None,
    time: str | None = None,
    encoding: str | None = None,
    skip_bad_lines: bool = False,
    progress: Progress | None = None,
) -> Iterator[Document]:
    r"""Yield documents from disk, one at a time, whatever the size of the file.

    The parameters are those of `read_texts`.

    Yields
    ------
    Document
        With `text`, `label`, `id`, `time` (``""`` where unknown) and `line`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "two.csv")
    ...     _ = file.write_text("body,label\nred fox,land\n")
    ...     next(iter_texts(file, text="body"))
    Document(text='red fox', label='land', id='', time='', line=2)
    """
    place = Path(path)
    kind = text_format(place, format)
    named = zip(FIELDS, (text, label, id, time), strict=True)
    stated = {field: name for field, name in named if name is not None}
    if stated and kind in ("files", "lines"):
        flags = ", ".join(stated)
        raise DataError(f"{place} has no columns, so {flags} cannot be named.")
    if kind == "parquet" and encoding is not None:
        raise DataError(f"{place}: Parquet files have no encoding. Leave it out.")
    unit = {"files": "file", "parquet": "row"}.get(kind, "line")
    bad = BadLines(place, skip_bad_lines, unit)
    some = False
    for document in _READERS[kind](
        _Source(place, kind, stated, encoding, bad, progress)
    ):
        some = True
        yield document
    bad.warn()
    if not some:
        raise DataError(f"{place} has no documents.")


def text_format(path: Path, format: str | None = None) -> str:
    """Return what kind of text a place holds, from its name."""
    if format is not None and format not in TEXT_FORMATS:
        raise DataError(
            f"format={format!r} is no format of texts. Give one of "
            f"{', '.join(TEXT_FORMATS)}."
        )
    if not path.exists():
        raise DataError(f"{path} does not exist. Give a file or a folder.")
    if path.is_dir() != (format == "files") and format is not None:
        kind = "a folder" if path.is_dir() else "a file"
        raise DataError(f"{path} is {kind}, which does not fit format={format!r}.")
    if format is not None or path.is_dir():
        return format or "files"
    suffix = plain_suffix(path)
    if suffix not in _FORMATS:
        raise DataError(
            f"{path} has the suffix {path.suffix!r}, which is not read. Give a folder "
            "of .txt files or a file .txt (one document per line), .csv, .tsv, .jsonl "
            "or .parquet; or say what it is with format=..."
        )
    return _FORMATS[suffix]


def plain_suffix(path: Path) -> str:
    """Return the suffix in lower case, without that of compression."""
    packed = path.suffix.lower() in (".gz", ".zst")
    return Path(path.stem if packed else path.name).suffix.lower()


class Known:
    """What is known of documents beside their text, gathered and checked."""

    def __init__(self, path: Path, own_ids: bool) -> None:
        self.path = path
        self.own_ids = own_ids
        self._twice = ""
        self._labels: list[str] = []
        self._times: list[str] = []
        self._lines: dict[str, int | str] = {}
        self._names: dict[str, str] = {}
        self._unnamed: int | str | None = None

    def texts(self, documents: Iterable[Document]) -> Iterator[str]:
        """Yield the texts of documents, and keep what else is known of them."""
        for text, label, name, time, line in documents:
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


def json_objects(
    lines: Iterable[tuple[int, str]], bad: BadLines
) -> Iterator[tuple[int, dict[str, Any]]]:
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


class _Source(NamedTuple):
    """What is read, and how."""

    path: Path
    kind: str
    stated: dict[str, str]
    encoding: str | None
    bad: BadLines
    progress: Progress | None

    def lines(self) -> Iterator[tuple[int, str]]:
        return text_lines(self.path, self.encoding, self.bad, self.progress)

    def columns(self, found: list[str]) -> dict[str, str]:
        """Return the column of every field; one that is missing is an error."""
        for field, name in ({"text": "text"} | self.stated).items():
            if name not in found:
                raise self.missing(field, name, found)
        wanted = {field: self.stated.get(field, field) for field in FIELDS}
        return {field: name for field, name in wanted.items() if name in found}

    def missing(self, field: str, name: str, names: list[str]) -> DataError:
        """Return the error for a column that is not there, with what may be meant."""
        lower = {other.lower(): other for other in names}
        near = difflib.get_close_matches(name.lower(), lower, n=1)
        hint = f" Did you mean {lower[near[0]]!r}?" if near else ""
        shown = ", ".join(repr(other) for other in names[:12])
        more = f" and {len(names) - 12} more" if len(names) > 12 else ""
        return DataError(
            f"{self.path} has no column {name!r}.{hint} It has {shown or 'none'}{more};"
            f" name the one with the {field} by {field}='...'."
        )

    def documents(
        self, record: dict[str, Any], names: dict[str, str], number: int
    ) -> Iterator[Document]:
        """Yield the document of a record whose text is a string, unless it is bad."""
        known = {}
        for field in FIELDS[1:]:
            value = _plain(record.get(names[field])) if field in names else ""
            if value is None:
                self.bad.report(
                    number,
                    f'the field "{names[field]}" is a '
                    f"{type(record[names[field]]).__name__}. Write a string or a "
                    "number.",
                )
                return
            known[field] = value
        yield Document(record[names["text"]], **known, line=number)


def _line_documents(source: _Source) -> Iterator[Document]:
    """Yield every line as a document; a blank one is an empty document."""
    for number, line in source.lines():
        yield Document(line, line=number)


def _json_documents(source: _Source) -> Iterator[Document]:
    """Yield the documents of a file with one JSON object per line."""
    names = {field: source.stated.get(field, field) for field in FIELDS}
    own = names["text"]
    seen: dict[str, None] = {}
    record = None
    for number, record in json_objects(source.lines(), source.bad):
        if len(seen) < 1000:
            seen.update(dict.fromkeys(record))
        text = record.get(own)
        if isinstance(text, str):
            yield from source.documents(record, names, number)
            continue
        has = "is missing" if text is None else f"is a {type(text).__name__}"
        near = difflib.get_close_matches(own, record, n=1)
        hint = f' Did you mean "{near[0]}"?' if near else ""
        source.bad.report(
            number,
            f'the field "{own}" {has}.{hint} Write {{"text": "..."}} in every line, or '
            "name the field with text='...'.",
        )
    for field, name in source.stated.items():
        if record is not None and name not in seen:
            raise source.missing(field, name, list(seen))


def _table_documents(source: _Source) -> Iterator[Document]:
    """Yield the rows of a CSV or TSV file; the first line has the names."""
    path, bad = source.path, source.bad
    # The module's own limit is below the length of many a document.
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
    columns: dict[str, int] = {}
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
            header = [name.strip() for name in row]
            for field, name in source.columns(header).items():
                if header.count(name) > 1:
                    raise DataError(
                        f"{path} has {header.count(name)} columns named {name!r}. "
                        "Rename all but one."
                    )
                columns[field] = header.index(name)
        elif len(row) == len(header):
            values = {field: row[column] for field, column in columns.items()}
            yield Document(**values, line=start)
        elif row and any(row):
            bad.report(
                start,
                f"{len(row)} fields, the first line has {len(header)}. Put fields "
                f"with {delimiter!r} into quotes.",
            )


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


def _parquet_documents(source: _Source) -> Iterator[Document]:
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
        with ParquetFile(source.path) as file:
            names = source.columns(file.schema_arrow.names)
            own, number = names["text"], 0
            for batch in file.iter_batches(10_000, columns=list(names.values())):
                for record in batch.to_pylist():
                    number += 1
                    if isinstance(record[own], str):
                        yield from source.documents(record, names, number)
                        continue
                    kind = f"a {type(record[own]).__name__}"
                    kind = "empty (null)" if record[own] is None else kind
                    problem = f"the column {own!r} is {kind}, not a string."
                    source.bad.report(number, problem)
                if source.progress is not None:
                    source.progress(number, file.metadata.num_rows)
    except DataError:
        raise
    except (ArrowException, *DAMAGE) as error:
        reason = str(error).rstrip(".")
        raise DataError(
            f"{source.path} cannot be read as Parquet: {reason}."
        ) from error


def _file_documents(source: _Source) -> Iterator[Document]:
    """Yield every text file of a folder; sub-folders are labels, paths are ids."""
    if source.encoding is not None:
        check_encoding(source.encoding)
    files = _text_files(source.path)
    guessed: list[str] = []
    for place, (name, file) in enumerate(files, start=1):
        try:
            with open_bytes(file) as stream:
                raw = stream.read(LONGEST_LINE + 1)
            if len(raw) > LONGEST_LINE:
                raise DataError(f"{file}: {TOO_LONG}")  # noqa: TRY301
            text, guess = decode_whole(raw, file, source.encoding)
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


_READERS: dict[str, Callable[[_Source], Iterator[Document]]] = {
    "files": _file_documents,
    "lines": _line_documents,
    "csv": _table_documents,
    "tsv": _table_documents,
    "jsonl": _json_documents,
    "parquet": _parquet_documents,
}
