# SPDX-License-Identifier: BSD-3-Clause
"""Files that would fill the memory, and files that are damaged, end in one sentence."""

import contextlib
import gzip
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from topicfold.corpus import (
    Corpus,
    formats,
    lines,
    read,
    read_texts,
    tables,
    vectorize_file,
    write,
)
from topicfold.corpus.disk_corpus import open_corpus
from topicfold.corpus.formats import FORMATS
from topicfold.exceptions import DataError

LIMIT = 1000


@pytest.fixture
def low_limit(monkeypatch):
    for module in (lines, tables, formats):
        monkeypatch.setattr(module, "LONGEST_LINE", LIMIT)
    for module in (lines, formats):
        monkeypatch.setattr(module, "CHUNK", 64)


@pytest.mark.usefixtures("low_limit")
@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("t.txt", "fox\n", "\nfish\n"),
        ("t.txt", "fox\r", "\rfish\r"),
        ("t.txt", "fox\r\n", "\r\nfish"),
        ("t.csv", "text\nfox\n", "\nfish\n"),
        ("t.jsonl", '{"text": "fox"}\n', '\n{"text": "fish"}\n'),
    ],
)
def test_a_line_that_is_too_long_is_named_or_skipped(tmp_path, name, before, after):
    file = tmp_path / name
    file.write_bytes((before + "x" * (3 * LIMIT) + after).encode())
    number = 3 if name == "t.csv" else 2
    with pytest.raises(DataError, match=f"line {number}: longer than 64 MiB"):
        read_texts(file)
    with pytest.warns(UserWarning, match="one bad line was left out"):
        found = read_texts(file, skip_bad_lines=True)
    assert found.texts == ["fox", "fish"]
    # As long as is allowed, in pieces or not.
    file.write_bytes((before.replace("fox", "x" * (LIMIT - 200)) + after).encode())
    assert len(read_texts(file).texts[0]) == LIMIT - 200


@pytest.mark.usefixtures("low_limit")
@pytest.mark.parametrize("name", ["t.txt.gz", "t.csv.gz"])
def test_a_line_that_is_too_long_is_not_unpacked_to_its_end(tmp_path, name):
    # Cut off within the line: whoever unpacks further finds the damage.
    line = np.random.default_rng(0).bytes(10**6).hex()
    packed = gzip.compress(f"text\n{line}\n".encode())
    (tmp_path / name).write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError, match="line 2: longer than"):
        read_texts(tmp_path / name)


@pytest.mark.usefixtures("low_limit")
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_long_lines_of_wide_encodings(tmp_path, encoding):
    (tmp_path / "t.txt").write_text("fox\n" + "x" * (3 * LIMIT), encoding=encoding)
    with pytest.raises(DataError, match="line 2: longer than"):
        read_texts(tmp_path / "t.txt")


@pytest.mark.usefixtures("low_limit")
def test_long_rows_and_files(tmp_path):
    quoted = '"' + "xxxxxxxx\n" * LIMIT + '"\n'
    (tmp_path / "t.csv").write_text("text\n" + quoted)
    with pytest.raises(DataError, match=r"t\.csv, line \d+: longer than"):
        read_texts(tmp_path / "t.csv")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_text("fox")
    (folder / "b.txt").write_text("x" * (LIMIT + 1))
    with pytest.raises(DataError, match=r"b\.txt: longer than"):
        read_texts(folder)


@pytest.mark.usefixtures("low_limit")
@pytest.mark.parametrize("kind", ["mm", "uci", "ldac", "svmlight", "mallet"])
def test_long_lines_of_matrices(tmp_path, kind):
    file = write(Corpus([[1, 2], [3, 0]], ["a", "b"]), tmp_path / "x", format=kind)
    file.write_bytes(file.read_bytes() + b"1" * 3 * LIMIT)
    with pytest.raises(DataError, match=r"x, line \d+: "):
        read(file, format=kind)


def test_a_bomb_is_refused_in_bounded_memory(tmp_path):
    bomb = tmp_path / "bomb.txt.gz"
    with gzip.open(bomb, "wb", compresslevel=1) as stream:
        for _ in range(512):
            stream.write(b"x" * (1 << 20))
    assert bomb.stat().st_size < 4e6
    code = (
        "import resource, sys\n"
        "from topicfold.corpus import read_texts\n"
        "from topicfold.exceptions import DataError\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n    read_texts(sys.argv[1])\n"
        "except DataError as error:\n    print(error)\n"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert after - before < 300 * 1024, after - before\n"
    )
    line = [sys.executable, "-c", code, str(bomb)]
    found = subprocess.run(line, check=True, capture_output=True, text=True)
    assert "bomb.txt.gz, line 1: longer than 64 MiB" in found.stdout


def test_an_npz_that_unpacks_to_gigabytes_is_refused(tmp_path, monkeypatch):
    from topicfold.corpus import lines

    X = sparse.csr_matrix((np.ones(10**5), np.zeros(10**5, int), [0, 10**5]), (1, 1))
    sparse.save_npz(tmp_path / "x.npz", X)
    (tmp_path / "x.npz.vocab").write_text("fox")
    assert read(tmp_path / "x.npz").counts.sum() == 10**5
    monkeypatch.setattr(lines, "ALWAYS_FINE", 10**5)
    monkeypatch.setattr(lines, "MOST_PACKED", 20)
    with pytest.raises(DataError, match=r"x\.npz .* would unpack to 1,[\d,]* bytes"):
        read(tmp_path / "x.npz")


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("kind", [*FORMATS, "folder", "jsonl", "csv", "blocks"])
@pytest.mark.filterwarnings("ignore::topicfold.exceptions.DataWarning")
def test_damage_is_our_error(tmp_path, kind, packed):
    """Cut and flip files at random: nothing but our errors may come of it."""
    corpus = Corpus(
        [[1, 2, 0], [3, 0, 1]],
        ["a", "b", "c"],
        labels=["x", "y"],
        texts=["a b b", "a a a c"],
    )
    if packed and kind in ("npz", "folder", "blocks"):
        pytest.skip("not compressed like that")
    place = tmp_path / f"x{packed}"
    options = {"format": kind}
    if kind == "csv":
        raw = b'text,label\n"red fox",land\nblue fish,sea\n'
        place.write_bytes(gzip.compress(raw) if packed else raw)
    elif kind == "blocks":
        (tmp_path / "t.txt").write_text("red fox\nblue fish\n")
        vectorize_file(tmp_path / "t.txt", place, min_df=1, max_df=1.0)
    else:
        write(corpus, place, format=kind)
    if kind in ("csv", "jsonl"):
        options |= {"min_df": 1, "max_df": 1.0}
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    rng = np.random.default_rng(0)
    for _ in range(60):
        file = files[rng.integers(len(files))]
        good = file.read_bytes()
        bad = bytearray(good)
        for _ in range(rng.integers(1, 4)):
            if bad and rng.integers(3):
                bad[rng.integers(len(bad))] = rng.integers(256)
            else:
                del bad[rng.integers(len(bad) + 1) :]
        file.write_bytes(bad)
        with contextlib.suppress(DataError):
            open_corpus(place, **options).counts[:]
        file.write_bytes(good)
