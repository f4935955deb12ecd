# SPDX-License-Identifier: BSD-3-Clause
"""Readers of raw texts: a folder of files, a file of lines, JSON lines."""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from topicfold.exceptions import DataError

# UTF-8, with or without a byte order mark.
DEFAULT_ENCODING = "utf-8-sig"
_LINE_SUFFIXES = ("", ".txt", ".text")
_JSON_SUFFIXES = (".jsonl", ".jsonl.gz")


class Texts(NamedTuple):
    """Raw documents: texts, and labels and ids where the source has them.

    Examples
    --------
    >>> Texts(["a text"], None, ["first"]).ids
    ['first']
    """

    texts: list[str]
    labels: list[str] | None
    ids: list[str] | None


def read_texts(path: str | os.PathLike[str], *, encoding: str | None = None) -> Texts:
    r"""Read documents from disk.

    ==========================  ======================================================
    path                        documents
    ==========================  ======================================================
    a folder                    every .txt file in it, at any depth, sorted by path;
                                the label is the sub-folder (``""`` at the top), the
                                id the path; hidden files are left out
    a file .txt, .text or       every line; a blank line is an empty document, so that
    without suffix              line numbers are row numbers
    a file .jsonl, .jsonl.gz    every line is an object with the field "text" and
                                optionally "label" and "id"; blank lines are left out
    ==========================  ======================================================

    Parameters
    ----------
    path : str or path
        File or folder.
    encoding : str, optional
        How text is written; UTF-8 by default.

    Returns
    -------
    Texts
        With `texts`, and `labels` and `ids` (None where the source has none; a
        missing label among others is ``""``).

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "two.txt")
    ...     _ = file.write_text("red fox\nblue fish\n")
    ...     read_texts(file).texts
    ['red fox', 'blue fish']
    """
    place = Path(path)
    encoding = encoding or DEFAULT_ENCODING
    if not place.exists():
        raise DataError(f"{place} does not exist. Give a file or a folder.")
    name = place.name.lower()
    if place.is_dir():
        found = _read_tree(place, encoding)
    elif name.endswith(_JSON_SUFFIXES):
        found = _read_json_lines(place, encoding)
    elif place.suffix.lower() in _LINE_SUFFIXES:
        found = Texts(read_lines(place, encoding), None, None)
    else:
        raise DataError(
            f"{place} has the suffix {place.suffix!r}, which is not read. Give a "
            "folder of .txt files, a .txt file with one document a line, or a .jsonl "
            "file."
        )
    if not found.texts:
        raise DataError(f"{place} has no documents.")
    return found


def read_lines(path: Path, encoding: str = DEFAULT_ENCODING) -> list[str]:
    """Return the lines of a text file; only line ends separate, not form feeds."""
    lines = _read_text(path, encoding).split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def json_lines(
    path: Path, encoding: str = DEFAULT_ENCODING
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line number and object of every line of a .jsonl or .jsonl.gz file."""
    for number, line in enumerate(read_lines(path, encoding), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"{path}, line {number}: not valid JSON ({error}). Write one object a "
                "line."
            ) from error
        if not isinstance(record, dict):
            raise DataError(
                f"{path}, line {number}: a {type(record).__name__} instead of an "
                'object. Write {"text": "..."} in every line.'
            )
        yield number, record


def _read_text(path: Path, encoding: str) -> str:
    try:
        raw = path.read_bytes()
        if path.suffix.lower() == ".gz":
            raw = gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {error}.") from error
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        number = raw.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}, line {number}: byte {raw[error.start]:#04x} is not {encoding}. "
            "Give the encoding of the file, for instance encoding='latin-1'."
        ) from error
    except LookupError as error:
        raise DataError(f"the encoding {encoding!r} is not known.") from error
    # Line ends of every system become "\n".
    return io.IncrementalNewlineDecoder(None, translate=True).decode(text, final=True)


def _read_tree(folder: Path, encoding: str) -> Texts:
    files = sorted(
        (file.relative_to(folder).as_posix(), file)
        for file in folder.rglob("*")
        if file.suffix.lower() == ".txt" and file.is_file()
    )
    files = [
        (name, file)
        for name, file in files
        if not any(part.startswith(".") for part in name.split("/"))
    ]
    if not files:
        raise DataError(
            f"the folder {folder} has no .txt files. Put one document into each, in "
            "sub-folders if they have labels."
        )
    labels = [name.rpartition("/")[0] for name, _ in files]
    return Texts(
        [_read_text(file, encoding) for _, file in files],
        labels if any(labels) else None,
        [name for name, _ in files],
    )


def _read_json_lines(path: Path, encoding: str) -> Texts:
    texts: list[str] = []
    labels: list[str] = []
    ids: list[str] = []
    unnamed = 0
    for number, record in json_lines(path, encoding):
        text = record.get("text")
        if not isinstance(text, str):
            has = "is missing" if text is None else f"is a {type(text).__name__}"
            raise DataError(
                f'{path}, line {number}: the field "text" {has}. Write {{"text": '
                '"..."} in every line.'
            )
        texts.append(text)
        labels.append(_plain(record, "label", path, number))
        name = _plain(record, "id", path, number)
        ids.append(name)
        unnamed = unnamed or (0 if name else number)
    if unnamed and any(ids):
        raise DataError(
            f'{path}, line {unnamed}: the field "id" is missing, other lines have it. '
            "Give an id in every line or in none."
        )
    return Texts(
        texts, labels if any(labels) else None, ids if texts and not unnamed else None
    )


def _plain(record: dict[str, Any], field: str, path: Path, number: int) -> str:
    value = record.get(field)
    if value is None:
        return ""
    if isinstance(value, str | int | float):
        return str(value)
    raise DataError(
        f'{path}, line {number}: the field "{field}" is a {type(value).__name__}. '
        "Write a string or a number."
    )
