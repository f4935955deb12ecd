# SPDX-License-Identifier: BSD-3-Clause
"""Opening files from anyone: text line by line, and arrays, never by pickle.

Files may be compressed: the first bytes tell, gzip or Zstandard. The encoding of text,
where none is stated, is that of the byte order mark, else UTF-8 where it fits, else
Windows-1252 (Western European), with a warning. A file in which some lines are UTF-8
and others are not has bad lines, reported with their numbers.

No library guesses further: charset-normalizer takes French and Swedish in
Windows-1252 for Central European (``ê`` becomes ``ę``), and a guess that is sometimes
wrong in silence is worse than one that is always the same.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import re
import struct
import tempfile
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from scipy import sparse

from topicfold.core.counts import as_csr, check_structure, checked_csr
from topicfold.core.lazy import optional
from topicfold.exceptions import DataError, DataWarning

FALLBACK = "cp1252"
UTF8 = "utf-8"
# (bytes of the file read, bytes of the file)
Progress = Callable[[int, int], None]

CHUNK = 1 << 20
# Bytes of a line, of a row of a table and of a text file: a generous limit, so that a
# small compressed file that unpacks to gigabytes without a line end is refused.
LONGEST_LINE = 64 << 20
# Above the first size a file may unpack to at most so many times its own size.
ALWAYS_FINE = 2**30
MOST_PACKED = 200
# An unpacked file that is larger goes to a temporary file.
_MOST_IN_MEMORY = 256 << 20
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
TOO_LONG = f"longer than {LONGEST_LINE >> 20} MiB, which is the limit. Split it."
# What a byte that does not fit an encoding is decoded to.
_ESCAPED = re.compile("[\udc80-\udcff]")
# The longer marks first: that of UTF-32 begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NO_TEXT = {
    b"%PDF": "a PDF file",
    b"PK\x03\x04": "a ZIP archive (Word and Excel files are such archives)",
    b"PAR1": "a Parquet file; its name must end in .parquet",
}


@dataclass
class BadLines:
    """What happens to lines that cannot be read: an error, or skipped and counted."""

    path: Path
    skip: bool = False
    unit: str = "line"
    count: int = 0
    first: str = ""

    def report(self, number: int | str, reason: str, *, usual: bool = False) -> None:
        """Raise for a bad line, or note that it is left out; if all are likely to be
        as bad, leaving them out is no advice.
        """
        if not self.skip:
            advice = f" To leave such {self._units()} out: skip_bad_lines=True."
            raise DataError(
                f"{self.path}, {self.unit} {number}: {reason}{'' if usual else advice}"
            )
        if not self.count:
            self.first = f"{self.unit} {number}: {reason}"
        self.count += 1

    def _units(self) -> str:
        return "entries" if self.unit == "entry" else f"{self.unit}s"

    def warn(self) -> None:
        """Say once how many lines were left out."""
        if self.count:
            left_out = f"{self.count:,} bad {self._units()} were left out. The first"
            if self.count == 1:
                left_out = f"one bad {self.unit} was left out"
            warnings.warn(
                f"{self.path}: {left_out}: {self.first}",
                DataWarning,
                stacklevel=2,
            )


@contextlib.contextmanager
def open_bytes(path: Path, progress: Progress | None = None) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressed; all errors of reading are DataError."""
    try:
        with path.open("rb") as raw:
            size = path.stat().st_size
            head = raw.read(4) if raw.seekable() else b""
            if head:
                raw.seek(0)
            source: Any = raw
            if progress is not None:
                source = io.BufferedReader(_Counted(raw, size, progress), CHUNK)
            with _decompressed(source, path, head) as stream:
                yield stream
    except (OSError, EOFError, zlib.error, struct.error) as error:
        problem = getattr(error, "strerror", None)
        detail = f"{problem}." if problem else f"{error}. Copy or compress it again."
        raise DataError(f"{path} cannot be read: {detail}") from error


@contextlib.contextmanager
def open_whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file that is not read from beginning to end; unpack a compressed one."""
    with path.open("rb") as raw:
        packed = raw.read(4).startswith((_GZIP, _ZSTD))
        raw.seek(0)
        if not packed:
            yield raw
            return
    most = max(ALWAYS_FINE, MOST_PACKED * path.stat().st_size)
    with tempfile.SpooledTemporaryFile(_MOST_IN_MEMORY) as unpacked:
        with open_bytes(path) as stream:
            while chunk := stream.read(CHUNK):
                unpacked.write(chunk)
                if unpacked.tell() > most:
                    raise DataError(
                        f"{path} would unpack to more than {most:,} bytes. Unpack it "
                        "first, if you trust it."
                    )
        unpacked.seek(0)
        yield cast(BinaryIO, unpacked)


def detect_encoding(path: Path, *, past_long_lines: bool = True) -> str:
    """Return the encoding of a text file, from all of its bytes.

    Or from those up to a line that is too long, if the file is refused there anyway. A
    warning names a guess other than UTF-8 or that of a byte order mark; a file that is
    not text is an error.
    """
    if not path.is_file():  # a pipe can be read only once
        return UTF8
    some_known = False
    number = 1
    first = ""
    with open_bytes(path) as stream:
        chunk = stream.read(CHUNK)
        marked = _encoding_of_mark(chunk)
        if marked:
            return marked
        _check_is_text(chunk, path)
        while chunk:
            rest = stream.readline(LONGEST_LINE)
            chunk += rest
            if b"\0" in chunk:
                _check_is_text(chunk, path)
            if not chunk.isascii():
                bad = _bad_byte(chunk)
                if bad is not None and not first:
                    line = number + chunk.count(b"\n", 0, bad)
                    first = f"byte {chunk[bad]:#04x} in line {line}"
                some_known = some_known or any(
                    not line.isascii() and _bad_byte(line) is None
                    for line in ([chunk] if bad is None else chunk.split(b"\n"))
                )
            number += chunk.count(b"\n")
            too_long = len(rest) == LONGEST_LINE and not rest.endswith(b"\n")
            if too_long and b"\r" not in rest and not past_long_lines:
                break
            chunk = stream.read(CHUNK)
    if some_known or not first:
        return UTF8
    warn_fallback(f"{path} is not UTF-8 ({first})")
    return FALLBACK


def read_whole(path: Path, encoding: str | None = None) -> tuple[str, bool]:
    """Return the text of a whole file, and whether its encoding was a guess."""
    with open_bytes(path) as stream:
        raw = stream.read(LONGEST_LINE + 1)
    if len(raw) > LONGEST_LINE:
        raise DataError(f"{path}: {TOO_LONG}")
    guessed = False
    encoding = encoding or _encoding_of_mark(raw)
    if encoding is None:
        _check_is_text(raw, path)
        guessed = _bad_byte(raw) is not None
        encoding = FALLBACK if guessed else UTF8
    try:
        text = raw.decode(encoding)
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        number = raw.count(b"\n", 0, start) + 1
        problem = _not_encoded(raw[start], encoding)
        raise DataError(f"{path}, line {number}: {problem}") from error
    newlines = io.IncrementalNewlineDecoder(None, translate=True)
    return newlines.decode(text, final=True), guessed


def text_lines(
    path: Path, encoding: str | None, bad: BadLines, progress: Progress | None = None
) -> Iterator[tuple[int, str]]:
    r"""Yield number and text of every line; only \n, \r and \r\n end one."""
    if encoding is None:
        encoding = detect_encoding(path, past_long_lines=bad.skip)
    else:
        check_encoding(encoding)
        if path.is_file():
            _check_mark(path, encoding)
    codec = codecs.lookup(encoding).name
    codec = "utf-8-sig" if codec == UTF8 else codec
    # Where a byte is a line end, one that is wrong does not affect other lines.
    wide = "\n".encode(codec).removeprefix(codecs.BOM_UTF8) != b"\n"
    errors = "strict" if wide else "surrogateescape"
    number = 0
    with open_bytes(path, progress) as stream:
        text = io.TextIOWrapper(stream, codec, errors)
        try:
            while line := text.readline(LONGEST_LINE):
                number += 1
                whole = len(line) < LONGEST_LINE or line.endswith("\n")
                wrong = None if line.isascii() else _ESCAPED.search(line)
                if not whole:
                    bad.report(number, TOO_LONG)
                elif wrong:
                    bad.report(number, _not_encoded(ord(wrong[0]) & 0xFF, encoding))
                else:
                    yield number, line.removesuffix("\n")
                while line and not line.endswith("\n"):
                    line = text.readline(LONGEST_LINE)
        except UnicodeError as error:
            raise DataError(
                f"{path}, after line {number}: not {encoding} ({error}). Give the "
                "encoding of the file, for instance encoding='utf-8'."
            ) from error


def check_encoding(encoding: str) -> None:
    """Refuse the name of an encoding that Python does not have."""
    try:
        b"".decode(encoding)
        "\n".encode(encoding)
    except (LookupError, ValueError, TypeError) as error:
        raise DataError(
            f"the encoding {encoding!r} is not known. Give one such as utf-8, latin-1 "
            "or utf-16."
        ) from error


def _encoding_of_mark(raw: bytes) -> str | None:
    """Return the encoding that a byte order mark names."""
    return next((name for mark, name in _MARKS if raw.startswith(mark)), None)


def _check_mark(path: Path, encoding: str) -> None:
    """Refuse an encoding other than the one whose mark the file has."""
    with open_bytes(path) as stream:
        marked = _encoding_of_mark(stream.read(4))
    wide = "\n".encode(encoding) != b"\n"
    if marked in ("utf-16", "utf-32") and not wide:
        raise DataError(
            f"{path} begins with the mark of {marked}, so it is not {encoding}. Leave "
            f"encoding='{encoding}' out."
        )


def _check_is_text(raw: bytes, path: Path) -> None:
    """Refuse what is not text: a file with zero bytes, or of a known binary kind."""
    kind = next((k for mark, k in _NO_TEXT.items() if raw.startswith(mark)), None)
    if kind is None and b"\0" in raw:
        kind = "a binary file, or UTF-16 text without its mark (encoding='utf-16-le')"
    if kind is not None:
        raise DataError(f"{path} is not text: it is {kind}. Export it as text first.")


def warn_fallback(what: str) -> None:
    """Say that an encoding was guessed."""
    warnings.warn(
        f"{what}; read as {FALLBACK} (Western European). If letters look wrong, state "
        "the encoding=... of the file.",
        DataWarning,
        stacklevel=3,
    )


def _bad_byte(raw: bytes) -> int | None:
    """Return the place of the first byte that is not UTF-8."""
    try:
        raw.decode(UTF8)
    except UnicodeDecodeError as error:
        return error.start
    return None


def _not_encoded(byte: int, encoding: str) -> str:
    return (
        f"byte {byte:#04x} is not {encoding}. Give the encoding of the file, for "
        "instance encoding='latin-1'."
    )


class _Counted(io.RawIOBase):
    """A raw file that tells how far it has been read."""

    def __init__(self, raw: Any, size: int, progress: Progress) -> None:
        self._raw, self._size, self._progress = raw, size, progress

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = int(self._raw.readinto(buffer))
        self._progress(self._raw.tell(), self._size)
        return count


@contextlib.contextmanager
def _decompressed(source: Any, path: Path, head: bytes) -> Iterator[BinaryIO]:
    suffix = path.suffix.lower()
    if head.startswith(_GZIP) or suffix == ".gz":
        with gzip.GzipFile(fileobj=source) as packed:
            yield cast(BinaryIO, packed)
        return
    if not (head.startswith(_ZSTD) or suffix == ".zst"):
        yield source
        return
    zstandard = optional(
        "zstandard",
        "Files in .zst need zstandard",
        "zstandard",
        "or unpack the file first (zstd -d)",
    )
    reader = zstandard.ZstdDecompressor().stream_reader(
        source, read_across_frames=True, closefd=False
    )
    try:
        if path.is_file():
            with path.open("rb") as whole:
                _check_frames(whole, zstandard)
        with io.BufferedReader(reader, CHUNK) as stream:
            yield cast(BinaryIO, stream)
    except zstandard.ZstdError as error:
        raise OSError(str(error)) from error


def _check_frames(stream: BinaryIO, zstandard: Any) -> None:
    """Refuse a Zstandard file that ends within a frame; its reader would just end."""
    size, at = stream.seek(0, io.SEEK_END), 0
    while at < size:
        stream.seek(at)
        head = stream.read(18)
        if head[1:4] == b"\x2a\x4d\x18":  # a frame to be skipped
            at += 8 + int.from_bytes(head[4:8], "little")
            continue
        at += zstandard.frame_header_size(head)
        last = False
        while not last and at < size:
            stream.seek(at)
            block = int.from_bytes(stream.read(3), "little")
            last, repeats = bool(block & 1), block >> 1 & 3 == 1
            at += 3 + (1 if repeats else block >> 3)
        at += 4 * zstandard.get_frame_parameters(head).has_checksum + (not last)
    if at > size:
        raise EOFError("it ends in the middle")


# What NumPy, SciPy and zipfile raise on damaged files.
DAMAGE = (
    OSError,
    ValueError,  # also bad UTF-8, bad JSON and pickled arrays
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
    RuntimeError,  # also zip features that are not implemented
    MemoryError,
    SyntaxError,  # a damaged header of an array
    tokenize.TokenError,
    EOFError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
# Above this size a matrix must be as large as its entries suggest, so that one wrong
# number does not fill the memory.
_ALWAYS_FINE_SIDE = 2_000_000
_MOST_EMPTY = 1000


def check_unpacked(raw: BinaryIO) -> None:
    """Refuse an archive that unpacks to absurdly much; go back to its start."""
    with zipfile.ZipFile(raw) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > max(ALWAYS_FINE, MOST_PACKED * raw.seek(0, io.SEEK_END)):
        raise ValueError(f"it would unpack to {size:,} bytes")
    raw.seek(0)


def load_counts(path: Path) -> sparse.csr_matrix:
    """Return the counts of a file of ``scipy.sparse.save_npz``, all of it checked."""
    advice = "Write it again with scipy.sparse.save_npz."
    try:
        # Opened here, because NumPy leaves a damaged file open.
        with open_whole(path) as raw:
            check_unpacked(raw)
            with np.load(raw, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        format = arrays["format"].item()
        if format in (b"csr", "csr"):
            parts = [arrays[name] for name in ("data", "indices", "indptr", "shape")]
        else:
            with open_whole(path) as raw:
                matrix = sparse.load_npz(raw)
            check_size(matrix.shape, matrix.nnz, str(path))
            check_structure(matrix, str(path))
            csr = as_csr(matrix)
            parts = [csr.data, csr.indices, csr.indptr, csr.shape]
    except DataError:
        raise
    except DAMAGE as error:
        # NumPy's own message advises to unpickle what is not a matrix.
        reason = "" if "allow_pickle=" in str(error) else f" ({str(error).rstrip('.')})"
        raise DataError(f"{path} is not a sparse matrix{reason}. {advice}") from error
    data, indices, indptr, shape = parts
    dtype = getattr(data, "dtype", np.dtype("O"))  # a member may be no array
    if dtype.kind == "f" and dtype.itemsize not in (4, 8):
        data = data.astype(np.float32 if dtype.itemsize < 4 else np.float64)
    matrix = checked_csr(data, indices, indptr, shape, str(path), advice=advice)
    check_size(matrix.shape, matrix.nnz, str(path))
    return matrix


def check_size(shape: tuple[int, int], n_entries: int, source: str) -> None:
    """Refuse a matrix that is absurdly large for its entries."""
    for size, what in zip(shape, ("documents", "words"), strict=True):
        if size > max(_ALWAYS_FINE_SIDE, _MOST_EMPTY * n_entries):
            raise DataError(
                f"{source} would have {size:,} {what} for {n_entries:,} entries. Is a "
                "number wrong?"
            )
