# SPDX-License-Identifier: BSD-3-Clause
"""Formats with one document per line: LDA-C, SVMlight and MALLET's text form.

`sklearn.datasets.load_svmlight_file` does not read SVMlight here: its errors name no
line, labels must be numbers (``007`` becomes 7), columns must be sorted, and ``1_0``
is the column 10.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from topicfold.corpus.formats.parts import (
    Parts,
    matrix_of,
    number_text,
    read_sides,
    row_slices,
    whole_counts,
    writing,
)
from topicfold.corpus.lines import BadLines, text_lines
from topicfold.corpus.record import Corpus
from topicfold.exceptions import DataError

_LDAC = re.compile(r"\s*[0-9]{1,18}(?:[ \t]+[0-9]{1,18}:[0-9]{1,18})*\s*", re.ASCII)
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_SVMLIGHT = re.compile(rf"(?:[ \t]+[0-9]{{1,18}}:{_NUMBER})*\s*", re.ASCII)
_LABEL = re.compile(r"[^\s:#]+")
_WHOLE_LABEL = re.compile(r"-?[1-9][0-9]{0,17}|0", re.ASCII)
_NO_LABEL = "_"
# What MALLET itself writes where the label is not known.
_UNKNOWN = (_NO_LABEL, "__unknown__")
_NO_CLASS = "0"


class _Rows:
    """Entries of documents, gathered row by row."""

    def __init__(self, kind: str) -> None:
        self.columns = array("q")
        self.values: Any = array(kind)
        self.ends = array("q")

    def matrix(self, path: Path, first: int = 0) -> Any:
        columns = np.asarray(self.columns)
        lengths = np.diff(np.asarray(self.ends), prepend=0)
        rows = np.repeat(np.arange(len(lengths)), lengths)
        shape = (len(lengths), int(columns.max(initial=first - 1)) + 1 - first)
        return matrix_of(rows, columns - first, self.values, shape, path)

    def end(self) -> None:
        self.ends.append(len(self.columns))


def read_ldac(path: Path) -> Parts:
    """Read LDA-C: the number of different words, then ``word:count`` from 0."""
    rows = _Rows("q")
    for number, line in _lines(path):
        if not _LDAC.fullmatch(line):
            raise _bad(path, number, line, "2 0:1 7:3 (how many words, word:count)")
        numbers = line.replace(":", " ").split()
        if len(numbers) != 2 * int(numbers[0]) + 1:
            raise DataError(
                f"{path}, line {number}: declares {numbers[0]} words, but has "
                f"{len(numbers) // 2}."
            )
        rows.columns.extend(map(int, numbers[1::2]))
        rows.values.extend(map(int, numbers[2::2]))
        rows.end()
    return Parts(rows.matrix(path), open_width=True)


def write_ldac(corpus: Corpus, path: Path) -> dict[str, list[str]]:
    """Write LDA-C."""
    counts = whole_counts(corpus, "LDA-C")
    _write_rows(path, counts, lambda row, n: str(n), first=0)
    return {}


def read_svmlight(path: Path) -> Parts:
    """Read SVMlight: a label, then ``word:value``, from 1 (from 0 where 0 occurs)."""
    rows = _Rows("d")
    labels = []
    for number, line in _lines(path):
        line, _, _ = line.partition("#")
        if not line.strip():
            continue
        label = _LABEL.match(line.lstrip())
        rest = line.lstrip()[label.end() :] if label else ""
        if label is None or not _SVMLIGHT.fullmatch(rest):
            raise _bad(path, number, line, "1 3:2 8:0.5 (label, word:value)")
        numbers = rest.replace(":", " ").split()
        rows.columns.extend(map(int, numbers[::2]))
        rows.values.extend(map(float, numbers[1::2]))
        rows.end()
        labels.append(label.group())
    first = int(min(rows.columns, default=1) > 0)
    known = {"labels": labels} if any(label != _NO_CLASS for label in labels) else {}
    return Parts(rows.matrix(path, first), known, open_width=True)


def write_svmlight(corpus: Corpus, path: Path) -> dict[str, list[str]]:
    """Write SVMlight, words from 1; labels that are not numbers get numbers."""
    if corpus.counts.dtype.kind != "f" and corpus.counts.max() >= 2**53:
        raise DataError(
            "SVMlight readers use floating point, which cannot hold "
            f"{corpus.counts.max()} exactly. Write mm or npz instead."
        )
    labels, side = corpus.labels, {}
    if labels is None:
        marks = [_NO_CLASS] * corpus.n_documents
    elif all(map(_WHOLE_LABEL.fullmatch, labels)) and set(labels) != {_NO_CLASS}:
        marks = labels
    else:
        # Classes from 1; -1 for those of unknown class.
        y, _ = corpus.encoded_labels()
        marks = [str(code + 1) if code >= 0 else "-1" for code in y.tolist()]
        side["labels"] = labels
    _write_rows(path, corpus.counts, lambda row, n: marks[row], first=1)
    return side


def read_mallet(path: Path) -> Parts:
    """Read MALLET's text form: ``id label word word ...``; words as they stand."""
    words = read_sides(path).get("vocab")
    place = {word: column for column, word in enumerate(words or ())}
    rows = _Rows("q")
    ids, labels = [], []
    for number, line in _lines(path):
        items = line.split()
        if not items:
            continue
        if len(items) < 2:
            raise _bad(path, number, line, "id label word word ...")
        for word in items[2:]:
            if words is None:
                rows.columns.append(place.setdefault(word, len(place)))
            elif word in place:
                rows.columns.append(place[word])
            else:
                raise DataError(
                    f"{path}, line {number}: {word!r} is not in its vocabulary file. "
                    "Add it there, or remove that file to take all words."
                )
        rows.values.extend([1] * (len(items) - 2))
        rows.end()
        ids.append(items[0])
        labels.append(items[1])
    counts = rows.matrix(path)
    known: dict[str, list[str]] = {}
    if words is None:
        known["vocab"] = sorted(place)
        counts = counts[:, [place[word] for word in known["vocab"]]]
    if ids != [str(row) for row in range(len(ids))]:
        known["ids"] = ids
    if not set(labels) <= set(_UNKNOWN):
        known["labels"] = ["" if label in _UNKNOWN else label for label in labels]
    return Parts(counts, known, open_width=True)


def write_mallet(corpus: Corpus, path: Path) -> dict[str, list[str]]:
    """Write MALLET's text form; a word that counts 3 is written three times."""
    counts = whole_counts(corpus, "MALLET's text form")
    odd = next((word for word in corpus.vocabulary if word.split() != [word]), None)
    if odd is not None:
        raise DataError(
            f"MALLET's text form separates words by spaces, which {odd!r} does not "
            "allow. Write another format, or replace spaces in the vocabulary."
        )
    side: dict[str, list[str]] = {}
    numbers = [str(row) for row in range(corpus.n_documents)]
    ids = corpus.ids if corpus.ids is not None else numbers
    # Row numbers in the file mean that there are no ids: such ids stand beside it.
    if corpus.ids is not None and (corpus.ids == numbers or not _all_plain(ids)):
        side["ids"], ids = ids, numbers
    labels = [label or _NO_LABEL for label in corpus.labels or [""] * len(ids)]
    if corpus.labels is not None and (
        not any(corpus.labels)
        or not _all_plain(labels)
        or not set(_UNKNOWN).isdisjoint(corpus.labels)
    ):
        side["labels"], labels = corpus.labels, [_NO_LABEL] * len(ids)
    words = np.array(corpus.vocabulary, dtype=object)
    with writing(path) as stream:
        for row, part in enumerate(row_slices(counts)):
            tokens = np.repeat(words[counts.indices[part]], counts.data[part])
            stream.write(" ".join([ids[row], labels[row], *tokens]) + "\n")
    return side


def _all_plain(names: list[str]) -> bool:
    # A byte order mark would be taken off the first line.
    return all(n.split() == [n] and not n.startswith("\ufeff") for n in names)


def _write_rows(
    path: Path, counts: Any, head: Callable[[int, int], str], *, first: int
) -> None:
    texts = number_text(counts)
    with writing(path) as stream:
        for row, part in enumerate(row_slices(counts)):
            columns = (counts.indices[part] + first).tolist()
            items = [f"{w}:{c}" for w, c in zip(columns, texts[part], strict=True)]
            stream.write(" ".join([head(row, len(items)), *items]) + "\n")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    return text_lines(path, "utf-8-sig", BadLines(path))


def _bad(path: Path, number: int, line: str, form: str) -> DataError:
    return DataError(
        f"{path}, line {number}: {line[:60]!r} does not have the form {form}."
    )
