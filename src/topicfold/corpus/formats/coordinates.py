# SPDX-License-Identifier: BSD-3-Clause
"""Formats with one entry a line: UCI bag of words and MatrixMarket."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.corpus.formats.parts import (
    Parts,
    matrix_of,
    number_text,
    whole_counts,
    writing,
)
from topicfold.corpus.opening import BadLines, text_lines
from topicfold.corpus.record import Corpus
from topicfold.exceptions import DataError

_BANNER = "%%MatrixMarket matrix coordinate"
_FIELDS = {"integer": np.int64, "real": np.float64, "pattern": None}
_LINES_AT_A_TIME = 200_000

Lines = Iterator[tuple[int, str]]


def read_uci(path: Path) -> Parts:
    """Read a UCI bag of words: documents, words, entries; then the entries."""
    lines = _lines(path)
    shape = [_size(next(lines, None), path) for _ in range(3)]
    counts = _entries(lines, path, (shape[0], shape[1]), shape[2], np.int64)
    return Parts(counts)


def write_uci(corpus: Corpus, path: Path) -> dict[str, list[str]]:
    """Write a UCI bag of words."""
    counts = whole_counts(corpus, "UCI bag of words")
    sizes = "".join(f"{size}\n" for size in (*counts.shape, counts.nnz))
    _write(path, sizes, counts)
    return {}


def read_mm(path: Path) -> Parts:
    """Read a MatrixMarket file of coordinates."""
    lines = text_lines(path, "utf-8-sig", BadLines(path))
    _, banner = next(lines, (0, ""))
    words = banner.lower().split()
    fine = (
        len(words) == 5
        and " ".join(words[:3]) == _BANNER.lower()
        and words[3] in _FIELDS
        and words[4] == "general"
    )
    if not fine:
        raise DataError(
            f"{path}, line 1: {banner[:60]!r} does not begin a matrix that is read "
            f"here. It must be '{_BANNER} integer general' (or real, or pattern); "
            "write others anew with scipy.io.mmwrite(file, csr_matrix(X))."
        )
    body = ((n, t) for n, t in lines if not t.startswith("%") and t.strip())
    number, sizes = next(body, (0, ""))
    try:
        n_rows, n_columns, nnz = (_whole(part) for part in sizes.split())
    except ValueError as error:
        raise DataError(
            f"{path}, line {number}: {sizes[:60]!r} is not the three sizes of the "
            "matrix: rows, columns, entries."
        ) from error
    counts = _entries(body, path, (n_rows, n_columns), nnz, _FIELDS[words[3]])
    return Parts(counts)


def write_mm(corpus: Corpus, path: Path) -> dict[str, list[str]]:
    """Write a MatrixMarket file."""
    texts = number_text(corpus.counts)
    whole = all(text.isdigit() for text in texts)
    n_rows, n_columns = corpus.counts.shape
    head = f"{_BANNER} {'integer' if whole else 'real'} general\n"
    sizes = f"{n_rows} {n_columns} {corpus.counts.nnz}\n"
    _write(path, head + sizes, corpus.counts)
    return {}


def _write(path: Path, head: str, counts: Any) -> None:
    texts = number_text(counts)
    with writing(path) as stream:
        stream.write(head)
        for row in range(counts.shape[0]):
            part = slice(counts.indptr[row], counts.indptr[row + 1])
            entries = zip(counts.indices[part].tolist(), texts[part], strict=True)
            stream.writelines(f"{row + 1} {w + 1} {count}\n" for w, count in entries)


def _lines(path: Path) -> Lines:
    found = text_lines(path, "utf-8-sig", BadLines(path))
    return ((number, text) for number, text in found if text.strip())


def _size(line: tuple[int, str] | None, path: Path) -> int:
    number, text = line or (0, "")
    try:
        return _whole(text.strip())
    except ValueError as error:
        raise DataError(
            f"{path}, line {number}: {text[:60]!r} is no size. A UCI bag of words "
            "begins with three lines: documents, words, entries."
        ) from error


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise ValueError(text)
    return int(text)


def _entries(
    lines: Lines, path: Path, shape: tuple[int, int], nnz: int, dtype: Any
) -> Any:
    """Return the matrix of lines "row column value", which count from one."""
    pieces = list(_pieces(lines, path, shape, dtype))
    rows, columns, values = (
        np.concatenate([piece[k] for piece in pieces] or [np.empty(0, np.int64)])
        for k in range(3)
    )
    if len(values) != nnz:
        raise DataError(
            f"{path} has {len(values):,} entries, but says that it has {nnz:,}. It was "
            "cut off, or its head is wrong."
        )
    return matrix_of(rows - 1, columns - 1, values, shape, path)


def _pieces(
    lines: Lines, path: Path, shape: tuple[int, int], dtype: Any
) -> Iterator[tuple[NDArray[Any], ...]]:
    kinds = [("row", np.int64), ("column", np.int64)]
    kinds += [] if dtype is None else [("value", dtype)]
    for first in lines:
        part = [first, *islice(lines, _LINES_AT_A_TIME)]
        found = _parsed([text for _, text in part], kinds)
        if found is None:
            _find_bad_line(part, path, shape, dtype)
            raise DataError(f"{path}, near line {part[0][0]}: not three numbers.")
        rows, columns = found["row"], found["column"]
        values = np.ones(len(rows), np.int64) if dtype is None else found["value"]
        inside = (rows >= 1) & (rows <= shape[0]) & (columns >= 1)
        if not (inside & (columns <= shape[1]) & (values >= 0)).all():
            _find_bad_line(part, path, shape, dtype)
        yield rows, columns, values


def _parsed(texts: list[str], kinds: list[Any]) -> Any:
    """Return the numbers of lines, by NumPy's quick reader; None if it refuses."""
    # It would take "1_0" or a float for a whole number, in part with a warning.
    if any(mark in text for text in texts for mark in ("_", ",", "#")):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = np.loadtxt(texts, dtype=kinds, ndmin=1, comments=None)
        except (ValueError, OverflowError, Warning):
            return None
    return found if len(found) == len(texts) else None


def _find_bad_line(
    part: list[tuple[int, str]], path: Path, shape: tuple[int, int], dtype: Any
) -> None:
    for number, text in part:
        items = text.split()
        try:
            row, column = _whole(items[0]), _whole(items[1])
            value = 1.0 if dtype is None else float(items[2])
            good = len(items) == 3 - (dtype is None)
            if dtype is np.int64 and good:
                _whole(items[2])
        except (ValueError, IndexError):
            good = False
        if not good:
            raise DataError(
                f"{path}, line {number}: {text[:60]!r} is not document, word and count."
            )
        if not (1 <= row <= shape[0] and 1 <= column <= shape[1]):
            raise DataError(
                f"{path}, line {number}: {text[:60]!r} is outside the {shape[0]} "
                f"documents and {shape[1]} words, which count from 1."
            )
        if not 0 <= value < float("inf"):
            raise DataError(
                f"{path}, line {number}: {items[2]} is no count; counts are zero or "
                "more."
            )
