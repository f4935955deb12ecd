# SPDX-License-Identifier: BSD-3-Clause
"""Readers of raw texts: a folder of files, lines, tables, JSON lines, Parquet.

A name may say that a table or JSON lines are something else. Read line by line, a table
of 1,700 articles becomes 15,000 "documents", its header and halves of sentences among
them; JSON lines read as a table have a sentence for a column. So the beginning of a
file is looked at first (`check_suffix`).
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from topicfold.corpus.lines import (
    CHUNK,
    LONGEST_LINE,
    BadLines,
    Progress,
    check_encoding,
    open_bytes,
    read_whole,
    text_lines,
    warn_fallback,
)
from topicfold.corpus.tables import (
    DELIMITERS,
    EXTRA,
    RECORDS,
    USUAL_NAMES,
    Document,
    Source,
    is_missing,
)
from topicfold.exceptions import DataError, DataWarning

# UTF-8, with or without a byte order mark: how topicfold's own files are written.
OWN_ENCODING = "utf-8-sig"
# Files with pages and fonts, whose text has to be exported.
_PRINTED = (".pdf", ".doc", ".docx", ".odt", ".rtf", ".epub", ".html", ".htm")
# The suffixes of a kind of file, how it is read, and what else its reader takes.
_KINDS: dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]] = {
    "lines": ((".txt", ".text", ""), "one document per line", ()),
    "csv": ((".csv",), "a table", ("csv", "tsv")),
    "tsv": ((".tsv", ".tab"), "a table with tabs", ("tsv",)),
    "json": ((".json",), "JSON", ("jsonl",)),
    "jsonl": ((".jsonl", ".ndjson"), "JSON lines", ("jsonl",)),
    "parquet": ((".parquet",), "a Parquet file", ()),
    "xlsx": ((".xlsx",), "an Excel file", ()),
}
TEXT_FORMATS = ("files", *_KINDS)


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
                                semicolons, tabs or bars), unless you name columns by
                                their numbers, from 1
    .jsonl                      every line is an object; blank lines are left out
    .json                       a list of objects or of strings, or a table as pandas
                                writes it
    .xlsx                       every row of a sheet, below the names
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
            text, body, content, message, abstract or document, below a title. Points
            lead into fields of JSON and Parquet: "body.text".
        ``label``, ``id``, ``time`` : str, optional
            Names of the columns; by default columns of these names. A time may also be
            in a column date, datetime, timestamp, year, published or created_at.
        ``format`` : str, optional
            What the file is, where its name does not say it: "files", "lines", "csv",
            "tsv", "json", "jsonl", "parquet" or "xlsx".
        ``sheet`` : str or int, optional
            Title of the sheet of an Excel file, or its number, from 1; by default the
            first.
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
    names: Sequence[str],
    rows: Callable[[Sequence[int]], Iterable[Sequence[Any]]],
    **columns: Any,
) -> Texts:
    """Return the documents of a data frame, columns as in `read_texts`.

    `names` has the names of its columns; `rows` takes the places of some of them and
    returns their values, row by row.

    Examples
    --------
    >>> names, values = ["text", "kind"], ["red fox", "land"]
    >>> frame_texts(names, lambda places: [[values[p] for p in places]]).texts
    ['red fox']
    """
    place = Path("the data frame")
    bad = BadLines(place, False, "row")
    source = Source(place, "frame", _stated(**columns), bad)
    found = source.check_columns(list(names))
    wanted = list(dict.fromkeys(chain.from_iterable(found.values())))
    documents: list[Document] = []
    for number, row in enumerate(rows([list(names).index(name) for name in wanted])):
        values = (None if is_missing(value) else value for value in row)
        record = dict(zip(wanted, values, strict=True))
        problem = source.text_problem(record)
        if problem:
            advice = "Give a string in every row."
            if "(null)" in problem:
                advice = "Leave such rows out with frame.dropna(), or fill them with "
                advice += "''."
            raise DataError(f"row {number} of the data frame: {problem} {advice}")
        document = source.document(record, number)
        documents += [] if document is None else [document]
    if not documents:
        raise DataError("the data frame has no rows.")
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
    sheet: str | int | None = None,
    **columns: Any,
) -> Source:
    """Return what is to be read, its options checked."""
    kind = text_format(path, format)
    stated = _stated(**columns)
    if stated and kind in ("files", "lines"):
        named = ", ".join(stated)
        raise DataError(
            f"{path} has no columns, so {named} has no meaning. Leave it out."
        )
    if sheet is not None and kind != "xlsx":
        raise DataError(f"{path} has no sheets. Leave sheet='...' out.")
    if kind in ("parquet", "xlsx") and encoding is not None:
        raise DataError(f"{path}: .{kind} files have no encoding. Leave it out.")
    unit = {"files": "file", "parquet": "row", "json": "entry", "xlsx": "row"}
    bad = BadLines(path, skip_bad_lines, unit.get(kind, "line"))
    chosen = None if sheet is None else str(sheet)
    return Source(path, kind, stated, bad, encoding, progress, chosen)


# Where values are given that are in no column.
_VALUES = {
    "label": "labels themselves are the second argument of fit",
    "id": "ids themselves are a column of a data frame",
    "time": "over_time takes times themselves",
}


def _stated(
    *,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    time: str | None = None,
    extra: Sequence[str] | None = None,
) -> dict[str, tuple[str, ...]]:
    """Return the columns that were named, by what they hold."""
    single: dict[str, Any] = {"label": label, "id": id, "time": time}
    for field, name in single.items():
        if name is not None and not isinstance(name, str):
            raise DataError(
                f"{field}= takes the name of one column, and it is of type "
                f"{type(name).__name__}. Give a name, such as {field}='{field}'; "
                f"{_VALUES[field]}."
            )
    return {
        field: (names,) if isinstance(names, str) else tuple(names)
        for field, names in {"text": text, **single, EXTRA: extra or None}.items()
        if names is not None
    }


def _documents(source: Source) -> Iterator[Document]:
    """Yield the documents of a source; there must be one."""
    found: Iterator[Document]
    if source.kind == "files":
        found = _file_documents(source)
    elif source.kind == "lines":  # a blank one is an empty document
        found = (Document(line, line=number) for number, line in source.lines())
    else:
        records = RECORDS[source.kind](source)
        made = (source.document(record, number) for number, record in records)
        found = (document for document in made if document is not None)
    some = False
    for document in found:
        some = True
        yield document
    source.bad.warn()
    if not some:
        raise DataError(f"{source.path} has no documents. Is it the file you meant?")


def _gathered(source: Source, documents: Iterable[Document]) -> Texts:
    """Return all documents of a source with what is known of them."""
    known = Known(source.path, "id" in source.stated, source.bad.unit)
    texts = list(known.texts(documents))
    columns = [list(values) for values in zip(*known.extra, strict=True)]
    extra = dict(zip(source.stated.get(EXTRA, ()), columns, strict=True))
    labels, ids, times = known.finish()
    if ids is None:
        source.used.pop("id", None)
    return Texts(texts, labels, ids, times, extra or None, source.used)


def missing_place(path: Path) -> DataError:
    """Return the error for a file or folder that is not there."""
    if re.match(r"[a-z][a-z0-9]+:/", path.as_posix()):
        return DataError(
            f"{path} is a web address, but topicfold downloads nothing. Download the "
            "file, and give its name."
        )
    return DataError(f"{path} does not exist. Give a file or a folder.")


def text_format(path: Path, format: str | None = None) -> str:
    """Return what kind of text a place holds, from its name."""
    if format is not None and format not in TEXT_FORMATS:
        raise DataError(
            f"format={format!r} is not a text format. Give one of "
            f"{', '.join(TEXT_FORMATS)}."
        )
    if not path.exists():
        raise missing_place(path)
    if path.is_dir() != (format == "files") and format is not None:
        what = "a folder" if path.is_dir() else "a file"
        raise DataError(f"{path} is {what}, which does not fit format={format!r}.")
    if format is not None or path.is_dir():
        return format or "files"
    suffix = plain_suffix(path)
    kind = next((kind for kind, (own, *_) in _KINDS.items() if suffix in own), None)
    if kind is None:
        seen, what = looks_like(path)
        advice = f"It looks like {what}: format='{seen}'."
        if not seen and suffix in _PRINTED:
            advice = "Export it as text first, and give the .txt file."
        elif not seen:
            advice = (
                "Give a folder of .txt files, a .txt file (one document per line), or "
                "a .csv, .tsv, .json, .jsonl, .xlsx or .parquet file; or name the "
                "format with format=..."
            )
        raise DataError(
            f"{path} has the suffix {path.suffix!r}, which is not read. {advice}"
        )
    check_suffix(path, kind)
    return kind


def plain_suffix(path: Path) -> str:
    """Return the suffix in lower case, without that of compression."""
    packed = path.suffix.lower() in (".gz", ".zst")
    return Path(path.stem if packed else path.name).suffix.lower()


class Known:
    """What is known of documents apart from their text, gathered and checked."""

    def __init__(self, path: Path, own_ids: bool, unit: str = "line") -> None:
        self.path, self.unit, self.own_ids = path, unit, own_ids
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
            f"{self.path}, {self.unit} {line}: the id {name!r} is already used in "
            f"{self.unit} {self._lines[name]}."
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
                f"{self.path}, {self.unit} {self._unnamed}: the id is missing, but "
                f"other {self.unit}s have one. Give an id in every {self.unit} or in "
                "none."
            )
        if self._twice:
            self._lines = {}
            warnings.warn(
                f"{self._twice} All ids are ignored, and documents are identified by "
                "their row numbers. To have names, choose another column with "
                "id='...'.",
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


def _file_documents(source: Source) -> Iterator[Document]:
    """Yield every text file of a folder; sub-folders are labels, paths are ids."""
    if source.encoding is not None:
        check_encoding(source.encoding)
    files, others = _text_files(source.path)
    if others:
        kinds = Counter(Path(name).suffix.lower() or "no suffix" for name in others)
        counts = ", ".join(f"{n:,} {kind}" for kind, n in kinds.most_common(3))
        are = "files are" if len(others) > 1 else "file is"
        warnings.warn(
            f"{len(others):,} {are} left out of {source.path} ({counts}; first: "
            f"{others[0]}): of a folder, only .txt files are read. Export the others "
            "as text if they are documents.",
            DataWarning,
            stacklevel=2,
        )
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


def _text_files(folder: Path) -> tuple[list[tuple[str, Path]], list[str]]:
    """Return relative name and path of the documents in a folder, sorted by name, and
    the names of other files that somebody may have meant.
    """
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
        files = [(n, f) for n, f in shown if plain_suffix(f) in suffixes]
        if files and suffixes[0]:
            chosen = {name for name, _ in files}
            return files, [name for name, _ in shown if name not in chosen]
        if files:
            return files, []
    raise DataError(
        f"the folder {folder} has no .txt files. Put one document into each, in "
        "sub-folders if they have labels."
    )


# Rows that are looked at, and the share of them that must be as wide as the first.
_ROWS = 50
_ALIKE = 0.9
_NAME = re.compile(r"[^\W\d][\w .:/()-]{0,30}")


def check_suffix(path: Path, kind: str) -> None:
    """Raise an error if a file does not look like the kind that its suffix names."""
    _, read_as, taken = _KINDS[kind]
    seen, what = looks_like(path)
    if seen and seen not in taken:
        other = "every line is a document" if kind == "lines" else f"it is {read_as}"
        binary = kind in ("xlsx", "parquet")
        more = "" if binary else f", or format='{kind}' if {other}"
        raise DataError(
            f"{path} would be read as {read_as}, but it looks like {what}. Choose the "
            f"format: format='{seen}'{more}."
        )


def looks_like(path: Path) -> tuple[str, str]:
    """Return the format that the beginning of a file shows, and what it looks like;
    nothing if it is no table.
    """
    if not path.is_file():  # a pipe can be read only once
        return "", ""
    try:
        with open_bytes(path) as stream:
            raw = stream.read(CHUNK)
    except DataError:  # its reader says what is wrong
        return "", ""
    text = raw.decode("utf-8-sig", "replace")
    if _is_json(text):
        return "jsonl", "an object of JSON in every line"
    delimiter, names = _columns(text, whole=len(raw) < CHUNK)
    if not names:
        return "", ""
    more = ", …" if len(names) > 6 else ""
    what = f"a table with the columns {', '.join(map(repr, names[:6]))}{more}"
    return "tsv" if delimiter == "\t" else "csv", what


def _is_json(text: str) -> bool:
    """Tell whether the first lines are objects of JSON."""
    lines = [line for line in text.split("\n")[:-1] or [text] if line.strip()][:3]
    try:
        found = [json.loads(line) for line in lines if line.lstrip().startswith("{")]
    except (ValueError, RecursionError):
        return False
    return bool(lines) and len(found) == len(lines)


def _columns(text: str, *, whole: bool) -> tuple[str, list[str]]:
    """Return delimiter and names of the columns of a table; none if it is no table."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    for delimiter in DELIMITERS:
        rows: list[list[str]] = []
        try:
            for row in csv.reader(io.StringIO(text), delimiter=delimiter):
                if row:
                    rows.append([cell.strip() for cell in row])
                if len(rows) > _ROWS:
                    break
        except csv.Error:
            continue
        if len(rows) <= _ROWS and not whole:
            rows = rows[:-1]  # it may be cut
        if len(rows) > 1 and _is_header(rows[0], rows[1:]):
            return delimiter, rows[0]
    return "", []


def _is_header(names: list[str], rows: list[list[str]]) -> bool:
    """Tell whether names head a table: usual ones, or so many that it is no chance."""
    if len(names) < 2 or len({*names}) < len(names):
        return False
    if not all(_NAME.fullmatch(name) for name in names):
        return False
    alike = sum(len(row) == len(names) for row in rows)
    if alike < max(_ALIKE * len(rows), 1):
        return False
    if any(name.lower() in USUAL_NAMES for name in names):
        return True
    return len(names) > 2 and len(rows) > 4
