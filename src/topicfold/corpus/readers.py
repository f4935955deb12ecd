# SPDX-License-Identifier: BSD-3-Clause
"""Readers of raw texts: a folder of files, lines, tables, JSON lines, Parquet."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from topicfold.corpus.documents import (
    Document,
    Fields,
    file_documents,
    json_documents,
    json_object,
    line_documents,
    parquet_documents,
    table_documents,
)
from topicfold.corpus.opening import BadLines, Progress, text_lines
from topicfold.exceptions import DataError, DataWarning

# UTF-8, with or without a byte order mark: how topicfold's own files are written.
DEFAULT_ENCODING = "utf-8-sig"
_PACKED = (".gz", ".zst")
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
_WITH_COLUMNS = ("csv", "tsv", "jsonl", "parquet")


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
    texts = []
    for document in iter_texts(path, **options):
        known.add(document)
        texts.append(document.text)
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
    fields = Fields(text, label, id, time)
    if fields.stated() and kind not in _WITH_COLUMNS:
        flags = ", ".join(fields.stated())
        raise DataError(f"{place} has no columns, so {flags} cannot be named.")
    if kind == "parquet" and encoding is not None:
        raise DataError(f"{place}: Parquet files have no encoding. Leave it out.")
    unit = {"files": "file", "parquet": "row"}.get(kind, "line")
    bad = BadLines(place, skip_bad_lines, unit)
    if kind == "files":
        found = file_documents(place, encoding, bad, progress)
    elif kind == "lines":
        found = line_documents(place, encoding, bad, progress)
    elif kind == "jsonl":
        found = json_documents(place, fields, encoding, bad, progress)
    elif kind == "parquet":
        found = parquet_documents(place, fields, bad, progress)
    else:
        tabs = kind == "tsv"
        found = table_documents(place, fields, encoding, bad, progress, tabs=tabs)
    some = False
    for document in found:
        some = True
        yield document
    bad.warn()
    if not some:
        raise DataError(f"{place} has no documents.")


def text_format(path: Path, format: str | None = None) -> str:
    """Return what kind of text a place holds, from its name.

    Examples
    --------
    >>> text_format(Path("."))
    'files'
    """
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
            "of .txt files or a file .txt (one document a line), .csv, .tsv, .jsonl "
            "or .parquet; or say what it is with format=... (--from)."
        )
    return _FORMATS[suffix]


def plain_suffix(path: Path) -> str:
    """Return the suffix in lower case, without that of compression.

    Examples
    --------
    >>> plain_suffix(Path("news.JSONL.gz"))
    '.jsonl'
    """
    packed = path.suffix.lower() in _PACKED
    return Path(path.stem if packed else path.name).suffix.lower()


class Known:
    """What is known of documents beside their text, gathered and checked.

    Parameters
    ----------
    path : Path
        Where they are from, for messages.
    own_ids : bool, default=False
        Whether the user named the column of ids: then an id that comes twice is an
        error; otherwise ids that name no document are left out, with a warning.

    Examples
    --------
    >>> known = Known(Path("x.csv"))
    >>> known.add(Document("red fox", label="land", line=2))
    >>> known.finish()
    (['land'], None, None)
    """

    def __init__(self, path: Path, own_ids: bool = False) -> None:
        self.path = path
        self.own_ids = own_ids
        self._twice = ""
        self._labels: list[str] = []
        self._times: list[str] = []
        self._lines: dict[str, int | str] = {}
        self._names: dict[str, str] = {}
        self._unnamed: int | str | None = None

    def add(self, document: Document) -> None:
        """Add one document."""
        # Labels and times are few and often repeated: kept once each.
        self._labels.append(self._names.setdefault(document.label, document.label))
        self._times.append(self._names.setdefault(document.time, document.time))
        name = document.id
        if not name:
            if self._unnamed is None:
                self._unnamed = document.line
        elif self._lines.setdefault(name, document.line) != document.line:
            self._note_twice(name, document.line)

    def _note_twice(self, name: str, line: int | str) -> None:
        problem = (
            f"{self.path}, line {line}: the id {name!r} is that of line "
            f"{self._lines[name]} already."
        )
        if self.own_ids:
            raise DataError(
                f"{problem} Give every document its own id, or leave id (--id) out."
            )
        self._twice = self._twice or problem

    def finish(self) -> tuple[list[str] | None, list[str] | None, list[str] | None]:
        """Return labels, ids and times; None where no document has any."""
        if self._lines and self._unnamed is not None:
            raise DataError(
                f"{self.path}, line {self._unnamed}: the id is missing, other lines "
                "have one. Give an id in every line or in none."
            )
        ids = list(self._lines) or None
        if self._twice:
            ids = None
            warnings.warn(
                f"{self._twice} All ids are left out, documents are known by their row "
                "number. Name another column with id='...' (--id) to have names.",
                DataWarning,
                stacklevel=3,
            )
        return (
            self._labels if any(self._labels) else None,
            ids,
            self._times if any(self._times) else None,
        )


def read_lines(path: Path, encoding: str = DEFAULT_ENCODING) -> list[str]:
    """Return the lines of a text file; only line ends separate, not form feeds."""
    return [line for _, line in text_lines(path, encoding, BadLines(path))]


def json_lines(
    path: Path, encoding: str = DEFAULT_ENCODING
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line number and object of every line of a .jsonl or .jsonl.gz file."""
    bad = BadLines(path)
    for number, line in text_lines(path, encoding, bad):
        record = json_object(line, number, bad)
        if record is not None:
            yield number, record
