# SPDX-License-Identifier: BSD-3-Clause
"""Formats with one entry per line: UCI bag of words and MatrixMarket.

NumPy reads the numbers and SciPy writes them. Readers of numbers stop at the first
character that is not one, so a regular expression checks every line first.
`scipy.io.mmread` stops there too: it reads ``3abc`` as 3, and of counts ``2.5`` as 2,
``1_000`` as 1 and ``0x10`` as 0, without a word; it takes the number of entries in the
header as memory to ask for. So it does not read here.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import io as scipy_io

from topicfold.corpus.formats.parts import (
    Parts,
    matrix_of,
    number_text,
    row_slices,
    smallest_type,
    whole_counts,
    writing,
)
from topicfold.corpus.lines import CHUNK, LONGEST_LINE, open_bytes
from topicfold.corpus.record import Corpus
from topicfold.exceptions import DataError

_BANNER = "%%MatrixMarket matrix coordinate"
_PLACE = rb"[ \t]*+[0-9]{1,18}[ \t]++[0-9]{1,18}"
_REAL = rb"-?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
_VALUES = {
    "integer": rb"[ \t]++[0-9]{1,18}",
    "real": rb"[ \t]++" + _REAL,
    "pattern": rb"",
}
_LINES = {
    field: re.compile(rb"(?:(?:" + _PLACE + value + rb")?[ \t]*+\r?\n)*+")
    for field, value in _VALUES.items()
}
_FORMS = {
    "integer": "document, word and count",
    "real": "document, word and weight",
    "pattern": "document and word",
}


def read_uci(path: Path) -> Parts:
    """Read a UCI bag of words: documents, words, entries; then the entries."""
    with open_bytes(path) as stream:
        head = _Head(stream, path)
        sizes = []
        for _ in range(3):
            text = head.line()
            sizes.append(_whole(text))
            if sizes[-1] is None:
                raise DataError(
                    f"{path}, line {head.number}: {text[:60]!r} is not a size. A UCI "
                    "bag of words begins with three lines: documents, words, entries."
                )
        return Parts(_entries(stream, head, "integer", sizes))


def write_uci(corpus: Corpus, path: Path) -> dict[str, list[str]]:
    """Write a UCI bag of words."""
    counts = whole_counts(corpus, "UCI bag of words")
    texts = number_text(counts)
    with writing(path) as stream:
        stream.writelines(f"{size}\n" for size in (*counts.shape, counts.nnz))
        for row, part in enumerate(row_slices(counts), start=1):
            entries = zip(counts.indices[part].tolist(), texts[part], strict=True)
            stream.writelines(f"{row} {w + 1} {count}\n" for w, count in entries)
    return {}


def read_mm(path: Path) -> Parts:
    """Read a MatrixMarket file of coordinates."""
    with open_bytes(path) as stream:
        head = _Head(stream, path)
        banner = head.line(blank=True)
        *kind, field, symmetry = ["", "", *banner.lower().split()]
        fine = " ".join(kind).strip() == _BANNER.lower() and symmetry == "general"
        if not fine or field not in _VALUES:
            raise DataError(
                f"{path}, line 1: {banner[:60]!r} does not begin a matrix that is read "
                f"here. It must be '{_BANNER} integer general' (or real, or pattern); "
                "write others again with scipy.io.mmwrite(file, csr_matrix(X))."
            )
        text = head.line(comments=True)
        sizes = [_whole(part) for part in text.split()]
        if len(sizes) != 3 or None in sizes:
            raise DataError(
                f"{path}, line {head.number}: {text[:60]!r} is not the three sizes of "
                "the matrix: rows, columns, entries."
            )
        return Parts(_entries(stream, head, field, sizes))


def write_mm(corpus: Corpus, path: Path) -> dict[str, list[str]]:
    """Write a MatrixMarket file; values read back as the very same numbers."""
    counts = corpus.counts
    values = smallest_type(counts.data) if counts.dtype.kind == "f" else counts.data
    whole = values.dtype.kind != "f"
    counts = counts.astype(np.int64 if whole else np.float64)
    with writing(path, binary=True) as stream:
        field = "integer" if whole else "real"
        scipy_io.mmwrite(stream, counts, field=field, symmetry="general")
    return {}


class _Head:
    """The first lines of a file, with their numbers."""

    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self.stream, self.path = stream, path
        self.number = 0

    def line(self, *, comments: bool = False, blank: bool = False) -> str:
        """Return the next line that is not blank (and no comment)."""
        while raw := self.stream.readline(LONGEST_LINE):
            self.number += 1
            if self.number == 1:
                raw = raw.removeprefix(codecs.BOM_UTF8)
            text = raw.decode("utf-8", "replace").strip()
            if blank or (text and not (comments and text.startswith("%"))):
                return text
        return ""


def _whole(text: str) -> Any:
    fine = text.isascii() and text.isdigit() and len(text) < 19
    return int(text) if fine else None


def _entries(stream: BinaryIO, head: _Head, field: str, sizes: list[int]) -> Any:
    """Return the matrix of lines "row column value", which count from one."""
    path, n_entries = head.path, sizes[2]
    says = (
        f"The file declares {sizes[0]:,} documents, {sizes[1]:,} words and "
        f"{n_entries:,} entries; numbers start at 1."
    )
    kind, width = np.float64 if field == "real" else np.int64, 3 - (field == "pattern")
    parts, found = [np.empty((0, width), kind)], 0
    for number, lines in _good_lines(stream, head, field):
        if lines.isspace():  # NumPy would make a zero of it
            continue
        part = np.fromstring(lines, kind, sep=" ").reshape(-1, width)
        outside = ((part[:, :2] < 1) | (part[:, :2] > sizes[:2])).any(axis=1)
        if outside.any():
            full = [
                (n, x) for n, x in enumerate(lines.split(b"\n"), number) if x.strip()
            ]
            line, text = full[int(outside.argmax())]
            raise DataError(
                f"{path}, line {line}: {text.decode().strip()!r} is outside of the "
                f"matrix. {says}"
            )
        parts.append(part)
        found += len(part)
        if found > n_entries:
            raise DataError(f"{path} has more than {n_entries:,} entries.")
    if found < n_entries:
        raise DataError(f"{path} is truncated: it has {found:,} entries. {says}")
    entries = np.concatenate(parts)
    rows, columns = entries[:, :2].astype(np.int64).T - 1
    values = entries[:, 2] if width == 3 else np.ones(found, np.int64)
    return matrix_of(rows, columns, values, (sizes[0], sizes[1]), path)


def _good_lines(
    stream: BinaryIO, head: _Head, field: str
) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines of the form that a field has, and the first one's number."""
    number, rest = head.number + 1, b""
    while True:
        chunk = stream.read(CHUNK)
        data = rest + (chunk or b"\n")
        cut = data.rfind(b"\n") + 1
        lines, rest = data[:cut], data[cut:]
        found = _LINES[field].match(lines)
        end = found.end() if found else 0
        if end < cut or len(rest) > LONGEST_LINE:
            number += lines.count(b"\n", 0, end)
            line = data[end : end + 200].split(b"\n")[0].decode("utf-8", "replace")
            raise DataError(
                f"{head.path}, line {number}: {line[:60]!r} is not {_FORMS[field]}."
            )
        if lines:
            yield number, lines
        number += lines.count(b"\n")
        if not chunk:
            return
