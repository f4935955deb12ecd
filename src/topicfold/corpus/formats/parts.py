# SPDX-License-Identifier: BSD-3-Clause
"""What the matrix formats share: entries to a matrix, side files, whole numbers."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.counts import bad_values, canonical
from topicfold.corpus.npz import check_size
from topicfold.corpus.record import Corpus
from topicfold.corpus.texts import read_lines
from topicfold.exceptions import DataError

SIDES = ("vocab", "labels", "ids", "times", "split")
# The side files of a folder, by field.
FOLDER_SIDES = {
    "labels": "labels.txt",
    "split": "split.txt",
    "times": "time.txt",
    "ids": "ids.txt",
}


@dataclass
class Parts:
    """What a file of a matrix format says; side files say the rest."""

    counts: Any
    known: dict[str, list[str]] = field(default_factory=dict)
    open_width: bool = False


def matrix_of(
    rows: Any, columns: Any, values: Any, shape: tuple[int, int], path: Path
) -> Any:
    """Return the canonical CSR matrix of entries; repeated ones add up."""
    values = np.asarray(values)
    check_size(shape, len(values), str(path))
    values = smallest_type(values)
    if values.dtype.kind == "i" and float(values.sum(dtype=np.float64)) >= 2.0**62:
        raise DataError(f"{path} has counts too large to add up. Is a number wrong?")
    matrix = sparse.csr_matrix((values, (rows, columns)), shape=shape)
    found = bad_values(matrix)
    if found:
        raise DataError(f"{path} has {found}. Counts are zero or more.")
    return canonical(matrix)


def smallest_type(values: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers as int32 or int64, others as float64."""
    if values.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            whole = bool(np.all((values == np.rint(values)) & (np.abs(values) < 2**53)))
        if not whole:
            return values.astype(np.float64)
    # The sum, for entries that are repeated add up.
    small = not len(values) or float(np.abs(values).sum(dtype=np.float64)) < 2**31
    return values.astype(np.int32 if small else np.int64)


def whole_counts(corpus: Corpus, title: str) -> Any:
    """Return counts as whole numbers; others cannot be written in this format."""
    counts = corpus.counts
    if counts.dtype.kind != "f":
        return counts
    odd = (counts.data != np.rint(counts.data)) | (counts.data >= 2**53)
    if odd.any():
        raise DataError(
            f"{title} holds whole counts only, and {counts.data[odd.argmax()]:g} is "
            "not one. Write mm, svmlight or npz instead."
        )
    return counts.astype(np.int64)


def number_text(counts: Any) -> list[str]:
    """Return the stored values as text that reads back to the very same values."""
    kept = counts.dtype.kind in "iu"
    values = counts.data if kept else smallest_type(counts.data)
    return [repr(value) for value in values.tolist()]


def row_slices(counts: Any) -> Iterator[slice]:
    """Yield the place of every row among the stored values."""
    for start, stop in itertools.pairwise(counts.indptr.tolist()):
        yield slice(start, stop)


def side_file(path: Path, name: str) -> Path:
    """Return the place of a side file."""
    return path.with_name(f"{path.name}.{name}")


def read_sides(path: Path) -> dict[str, list[str]]:
    """Return what the side files of a matrix say."""
    files = {name: side_file(path, name) for name in SIDES}
    found = {name: read_lines(file) for name, file in files.items() if file.is_file()}
    if "vocab" not in found:
        words = _usual_vocabulary(path)
        found |= {} if words is None else {"vocab": words}
    return found


def read_folder_sides(folder: Path, n_documents: int, source: str) -> dict[str, Any]:
    """Return what the side files of a folder say, one line per document."""
    found: dict[str, Any] = {}
    for field_name, name in FOLDER_SIDES.items():
        if (folder / name).is_file():
            found[field_name] = read_lines(folder / name)
            check_length(folder / name, found[field_name], n_documents, source)
    return found


def check_length(file: Path, lines: list[Any], expected: int, source: str) -> None:
    """Refuse a side file of another length; `source` says where that length is from."""
    if len(lines) != expected:
        raise DataError(
            f"{file} has {len(lines)} lines{source.format(expected)}. Write one line "
            "for each."
        )


def _usual_vocabulary(path: Path) -> list[str] | None:
    """Return the words where others put them: UCI, gensim, or vocab.txt."""
    plain = path.name.removesuffix(".gz").removesuffix(".zst")
    usual = "vocab.txt"
    if plain.lower().startswith("docword."):
        usual = "vocab" + plain[len("docword") :]
    elif plain.lower().endswith(".mm"):
        stem = plain[:-3]
        for name in (f"{plain}.dict", f"{stem}.dict", f"{stem}_wordids.txt"):
            for file in (path.with_name(name), path.with_name(f"{name}.gz")):
                if file.is_file():
                    return _gensim_words(file)
    file = path.with_name(usual)
    return read_lines(file) if file.is_file() else None


def _gensim_words(file: Path) -> list[str]:
    """Return the words of gensim's ``Dictionary.save_as_text``, in their order."""
    with file.open("rb") as stream:
        if stream.read(1) == b"\x80":
            raise DataError(
                f"{file} is a pickle, which can run code and is not read here. Save "
                "the dictionary with its save_as_text, or remove the file."
            )
    words: dict[int, str] = {}
    for number, line in enumerate(read_lines(file), start=1):
        place, *rest = line.split("\t")
        if len(rest) == 2 and place.isascii() and place.isdigit() and len(place) < 10:
            words[int(place)] = rest[0]
        elif number > 1 and line.strip():  # the first line has the number of documents
            raise DataError(
                f"{file}, line {number}: {line[:60]!r} is not a line of gensim's "
                "Dictionary.save_as_text: number, word, documents."
            )
    width = max(words, default=-1) + 1
    if width > 2 * len(words) + 1000:
        raise DataError(
            f"{file} has the word number {width - 1:,} but only {len(words):,} words. "
            "Check its numbers."
        )
    return [words.get(place, f"w{place}") for place in range(width)]


def side_bytes(lines: Sequence[str], name: str) -> bytes:
    """Return the bytes of a side file, one line per entry."""
    for number, line in enumerate(lines):
        if "\n" in line or "\r" in line:
            raise DataError(
                f"{name}[{number}] is {line!r}: a line break cannot be written. "
                "Replace it by a space."
            )
    try:
        raw = "".join(f"{line}\n" for line in lines).encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(
            f"{name} has {error.object[error.start]!r}, half of a character, which "
            "UTF-8 cannot encode. Remove it."
        ) from error
    # One mark is taken off when read: a word that begins with it needs another.
    return codecs.BOM_UTF8 + raw if raw.startswith(codecs.BOM_UTF8) else raw


@contextmanager
def writing(path: Path, *, binary: bool = False) -> Iterator[Any]:
    """Open a file to write text or bytes, compressed where its name ends in .gz."""
    with path.open("wb") as raw, contextlib.ExitStack() as stack:
        stream: Any = raw
        if path.suffix.lower() == ".gz":
            # No name and no time in the file, so that equal content is equal bytes.
            packed = gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0)
            stream = stack.enter_context(packed)
        if not binary:
            text = io.TextIOWrapper(stream, encoding="utf-8", newline="\n")
            stream = stack.enter_context(text)
        yield stream
