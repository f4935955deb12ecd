# SPDX-License-Identifier: BSD-3-Clause
"""Folders and packed tables: what lies beside a file, what commands do with a model."""

from __future__ import annotations

import contextlib
import functools
import io
import shutil
import sys
import tempfile
import zlib
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import zstandard
from fuzz import mutations as m
from fuzz.models import MisreadError, small_corpus
from typer.main import get_command

from topicfold import LDA
from topicfold import corpus as tf_corpus
from topicfold.choosing import fit_many
from topicfold.cli.main import app
from topicfold.cli.sides import read_vectors
from topicfold.corpus.blocks import BlockMatrix
from topicfold.learn.resume import POINTER
from topicfold.persistence.bundle import checksum, read_bundle, write_bundle

SMALL = ("--max-iter", "2", "--min-df", "1", "--max-df", "1.0", "--jobs", "1", "-q")
LINES = [f"word{d % 4} word{d % 3} some more text of {d}" for d in range(12)]
OTHER = [f"mot{d % 4} mot{d % 3} encore du texte {d}" for d in range(12)]


@functools.cache
def _commands() -> Any:
    """Return the command line, which a process builds once."""
    return get_command(app)


def command(*args: Any) -> None:
    """Run the command line in this process, without its output, with no answers."""
    silent = io.StringIO()
    stdin, sys.stdin = sys.stdin, io.StringIO("1\nq\n")
    try:
        with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
            _commands()([str(arg) for arg in args], standalone_mode=False)
    finally:
        sys.stdin = stdin


# A corpus with its side files; a folder of texts; tables


def write_beside(path: Path) -> None:
    """Write counts with words, labels and ids in files beside them."""
    path.mkdir()
    tf_corpus.write(small_corpus(), path / "c.mtx", format="mm")


def use_beside(path: Path) -> None:
    """Read the counts with what lies beside them."""
    found = tf_corpus.read(path / "c.mtx", format="mm")
    for part in (found.labels, found.ids):
        if part is not None and len(part) != found.counts.shape[0]:
            raise MisreadError("labels or ids differ from the documents in number")
    if len(found.vocabulary) != found.counts.shape[1]:
        raise MisreadError("words differ from the columns in number")


def write_texts(path: Path) -> None:
    """Write a folder of texts, with labels."""
    for number, line in enumerate(LINES[:6]):
        file = path / "ab"[number % 2] / f"{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(line, encoding="utf-8")


def write_parquet(path: Path) -> None:
    """Write a table."""
    rows = {
        "id": range(12),
        "text": LINES,
        "label": list("ab") * 6,
        "time": [2001] * 12,
    }
    pd.DataFrame(rows).to_parquet(path)


def spoil_parquet(data: bytes, draw: Random) -> bytes:
    """Give a column other values or another type, or leave it out."""
    table = pa.parquet.read_table(io.BytesIO(data))
    name = draw.choice(table.column_names)
    odd: Any = draw.choice(
        (
            pa.array([None] * 12),
            pa.array([[["a"]]] * 12),
            pa.array([{"a": 1}] * 12),
            pa.array([b"\xff\0"] * 12),
            pa.array([float("nan")] * 12),
            pa.array([2**62] * 12, pa.timestamp("us")),
            pa.array([True, None] * 6),
            pa.array(["\0", "a"] * 6).dictionary_encode(),
        )
    )
    at = table.column_names.index(name)
    match draw.randrange(4):
        case 0:
            table = table.drop_columns([name])
        case 1:
            table = table.append_column(name, odd)  # a name that comes twice
        case 2:
            table = table.slice(0, draw.randrange(3))
        case _:
            table = table.set_column(at, name, odd)
    stream = io.BytesIO()
    pa.parquet.write_table(table, stream)
    return stream.getvalue()


def write_zst(path: Path) -> None:
    """Write lines, compressed in two frames."""
    halves = ("\n".join(LINES[:6]) + "\n", "\n".join(LINES[6:]))
    path.write_bytes(b"".join(zstandard.compress(half.encode()) for half in halves))


def zst_by_hand(path: Path) -> Any:
    """Return the lines of whole frames; another file is refused."""
    rest, text = path.read_bytes(), b""
    while rest:
        frame = zstandard.ZstdDecompressor().decompressobj()
        text += frame.decompress(rest)
        if not frame.eof:
            raise EOFError
        rest = frame.unused_data
    lines = text.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]  # an empty line is an empty document


# What commands do with a model, and with languages


def write_languages(path: Path) -> None:
    """Write a table of texts in two languages."""
    rows = {"text": LINES, "french": OTHER}
    pd.DataFrame(rows).to_csv(path, index=False)


def use_languages(path: Path) -> None:
    """Fit topics to the texts of two languages."""
    with tempfile.TemporaryDirectory(dir=path.parent) as work:
        out = Path(work, "m")
        options = ("--language", "french", "-k", 2, "-o", out, "--no-report", *SMALL)
        command("fit", path, "--text", "text", *options)


def write_model(path: Path) -> None:
    """Fit a model with its texts and the options by which they were cut."""
    with tempfile.TemporaryDirectory(dir=path.parent) as work:
        file = Path(work, "docs.txt")
        file.write_text("\n".join(LINES), encoding="utf-8")
        options = ("--ngrams", 2, "-k", 2, "-o", work + "/m", "--no-report", *SMALL)
        command("fit", file, *options)
        shutil.copy(Path(work, "m", "model.safetensors"), path)


def use_by_commands(path: Path) -> None:
    """Give a saved model to one of the commands that take one; a sound one to all."""
    with tempfile.TemporaryDirectory(dir=path.parent) as work:
        new, out = Path(work, "new.txt"), Path(work, "out")
        new.write_text("word1 some text\nword2 word3\n", encoding="utf-8")
        known = Path(work, "known.csv")
        known.write_text("side\n" + "left\nright\n" * 6, encoding="utf-8")
        commands = (
            ("info", path),
            ("info", path, "--describe"),
            ("topics", path, "--coherence", new),
            ("transform", path, new, "-o", f"{out}.csv"),
            ("search", path, "word1 text"),
            ("report", path, "-o", f"{out}.html"),
            ("quiz", path),
            ("update", path, new, "-o", out, "-q"),
            ("update", path, new, "-o", out, "-q", "--new-topics", "1"),
            ("edit", path, "-o", out, "--split", "0:2"),
            ("effects", path, known, "-F", "~ side", "--draws", 2, "--jobs", 1),
        )
        content = path.read_bytes() if path.is_file() else b""
        chosen = zlib.crc32(content) % len(commands)
        for number, args in enumerate(commands):
            if number == chosen or path.parent.name != "spoiled":
                shutil.rmtree(out, ignore_errors=True)
                command(*args)


# Many fits, which go on where a folder ends; vectors of documents


def write_fits(path: Path) -> None:
    """Fit two models into a folder."""
    _fit_many(path, 1)


def use_fits(path: Path) -> None:
    """Go on with the folder: one more seed."""
    found = _fit_many(path, 2)
    found.rows()
    found.best(2)
    found.consensus(3)


def _fit_many(path: Path, n_seeds: int) -> Any:
    model = LDA(init="random", max_iter=2)
    X = small_corpus().counts
    return fit_many(model, X, [2, 3], n_seeds=n_seeds, folder=path)


def write_vectors(path: Path) -> None:
    """Write a vector for each document."""
    np.save(path, np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32))


def use_vectors(path: Path) -> None:
    """Fit topics with the vectors, as ``fit --embeddings`` does."""
    vectors = read_vectors(str(path), 12, "--embeddings", "document")
    model = LDA(2, init="random", max_iter=2, random_state=0)
    model.fit(small_corpus().counts, embeddings=vectors)
    if not np.isfinite(model.components_).all():
        raise MisreadError("NaN in topics")


# A state beside which mixtures lie in blocks


def blocks_beside(path: Path) -> BlockMatrix:
    """Return the corpus of a state as blocks, written once."""
    folder = path.with_name(f"{path.name}-corpus")
    if folder.exists():
        return BlockMatrix.open(folder)
    return BlockMatrix.write(folder, small_corpus().counts, block_size=5)


def seal_state(path: Path, file: Path) -> None:
    """State the checksum of a forged file in the state beside it."""
    state = file.parent / "state.safetensors"
    bundle = read_bundle(state)
    bundle.meta["files"][file.name] = checksum(file)
    state.unlink()
    write_bundle(state, kind=bundle.kind, arrays=bundle.arrays, meta=bundle.meta)
    if not (path / POINTER).is_file():
        raise MisreadError("a state without its pointer")


TABLE = (spoil_parquet, spoil_parquet, m.spoil_bytes)
