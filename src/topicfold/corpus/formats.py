# SPDX-License-Identifier: BSD-3-Clause
"""The field's matrix formats, each read and written: counts in, counts out.

==========  ============================================  =============================
name        what a file looks like                        names
==========  ============================================  =============================
ldac        LDA-C: one document per line, ``2 0:1 7:3``   .ldac
uci         UCI bag of words: three sizes, then one line  .uci, docword.NAME.txt
            ``document word count`` per entry, from 1
mm          MatrixMarket, coordinates, general            .mtx, .mm
svmlight    SVMlight and LIBSVM: ``label 1:1 8:3``        .svmlight, .svm, .libsvm
mallet      MALLET's import-file text form: one document  .mallet
            per line, ``id label word word ...``
npz         SciPy's sparse matrix                         .npz
==========  ============================================  =============================

What a format cannot hold is written beside the file, one line per word or document:
``FILE.vocab``, ``FILE.labels``, ``FILE.ids``, ``FILE.times``, ``FILE.split``. With
these a corpus comes back as it was: shape, counts, words and what is known of
documents (texts and links are not written). Whole counts come back as int32 (int64
where they must), others as float64; npz keeps the type. Where there is no FILE.vocab,
vocab.NAME.txt beside docword.NAME.txt, gensim's dictionary as text beside NAME.mm
(NAME.mm.dict, NAME.dict, NAME_wordids.txt) and vocab.txt are looked for.

NumPy reads the numbers of UCI and MatrixMarket and SciPy writes them. Readers of
numbers stop at the first character that is not one, so a regular expression checks
every line first. `scipy.io.mmread` stops there too: it reads ``3abc`` as 3, and of
counts ``2.5`` as 2, ``1_000`` as 1 and ``0x10`` as 0, without a word; it takes the
number of entries in the header as memory to ask for. So it does not read here. Nor does
`sklearn.datasets.load_svmlight_file`: its errors name no line, labels must be numbers
(``007`` becomes 7), columns must be sorted, and ``1_0`` is the column 10.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import itertools
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import io as scipy_io
from scipy import sparse

from topicfold.core.counts import bad_values, canonical
from topicfold.corpus.lines import (
    CHUNK,
    LONGEST_LINE,
    BadLines,
    check_size,
    load_counts,
    open_bytes,
    text_lines,
)
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
        raise DataError(
            f"{path} has counts that are too large to add up. Is a number wrong?"
        )
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
    # The sum, because repeated entries add up.
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
            f"{title} can only hold whole counts, and {counts.data[odd.argmax()]:g} is "
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
            f"{name} has {error.object[error.start]!r}, half of a surrogate pair, "
            "which UTF-8 cannot encode. Remove it."
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


_LDAC = re.compile(r"\s*[0-9]{1,18}(?:[ \t]+[0-9]{1,18}:[0-9]{1,18})*\s*", re.ASCII)
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_SVMLIGHT = re.compile(rf"(?:[ \t]+[0-9]{{1,18}}:{_NUMBER})*\s*", re.ASCII)
_LABEL = re.compile(r"[^\s:#]+")
_WHOLE_LABEL = re.compile(r"-?[1-9][0-9]{0,17}|0", re.ASCII)
_NO_LABEL = "_"
# The label that MALLET itself writes where it is unknown.
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
                f"{path}, line 1: {banner[:60]!r} is not a header that topicfold can "
                f"read. It must be '{_BANNER} integer general' (or real, or pattern); "
                "convert other files with scipy.io.mmwrite(file, csr_matrix(X))."
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


class MatrixFormat(NamedTuple):
    """One format."""

    name: str
    title: str
    suffixes: tuple[str, ...]
    read: Callable[[Path], Parts]
    write: Callable[[Corpus, Path], dict[str, list[str]]]


def _write_npz(corpus: Corpus, path: Path) -> dict[str, list[str]]:
    with path.open("wb") as stream:
        sparse.save_npz(stream, corpus.counts)
    return {}


_SVMLIGHT_SUFFIXES = (".svmlight", ".svm", ".libsvm")
FORMATS = {
    row[0]: MatrixFormat(*row)
    for row in (
        ("ldac", "LDA-C", (".ldac",), read_ldac, write_ldac),
        ("uci", "UCI bag of words", (".uci",), read_uci, write_uci),
        ("mm", "MatrixMarket", (".mtx", ".mm"), read_mm, write_mm),
        (
            "svmlight",
            "SVMlight, LIBSVM",
            _SVMLIGHT_SUFFIXES,
            read_svmlight,
            write_svmlight,
        ),
        ("mallet", "MALLET's text form", (".mallet",), read_mallet, write_mallet),
        (
            "npz",
            "SciPy's sparse matrix",
            (".npz",),
            lambda path: Parts(load_counts(path)),
            _write_npz,
        ),
    )
}
