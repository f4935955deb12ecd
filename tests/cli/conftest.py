# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures: the command line in this process and in its own, and tiny corpora."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest
from scipy import sparse
from typer.testing import CliRunner

from topicfold.cli.main import app
from topicfold.corpus import Corpus

LINES = [
    "the red fox runs in the red forest",
    "a fox and a wolf run in the forest",
    "blue fish swim in the deep sea",
    "the sea has blue water and fish",
    "wolf and fox hunt in the red forest",
    "deep water, blue sea, many fish",
]
SMALL = ("-k", "2", "--max-iter", "3", "--min-df", "1", "--max-df", "1.0")


@pytest.fixture
def cli():
    """Run the command line in this process."""

    def run(*args):
        # Older versions mix the two streams unless asked.
        old = "mix_stderr" in inspect.signature(CliRunner).parameters
        runner = CliRunner(
            env={"COLUMNS": "80"}, **{"mix_stderr": False} if old else {}
        )
        return runner.invoke(app, [str(a) for a in args])

    return run


@pytest.fixture
def shell(tmp_path):
    """Run the command line in a process of its own."""

    def run(*args, **env):
        return subprocess.run(
            [sys.executable, "-m", "topicfold.cli.main", *map(str, args)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "80", **env},
            timeout=600,
            check=False,
        )

    return run


@pytest.fixture
def small():
    """Options of a fit that takes no time."""
    return SMALL


@pytest.fixture
def texts(tmp_path):
    """A file of six documents."""
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """Folder of a model of the six documents; not to be changed."""
    place = tmp_path_factory.mktemp("fitted")
    file = place / "texts.txt"
    file.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    folder = place / "model"
    result = CliRunner().invoke(app, ["fit", str(file), "-o", str(folder), *SMALL])
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def write_counts(tmp_path):
    """Write a corpus folder with counts and return it."""

    def write(counts, words, labels=None, name="counts") -> Path:
        folder = tmp_path / name
        folder.mkdir()
        sparse.save_npz(folder / "counts.npz", sparse.csr_matrix(counts))
        (folder / "vocab.txt").write_text("".join(f"{w}\n" for w in words))
        if labels:
            (folder / "labels.txt").write_text("".join(f"{x}\n" for x in labels))
        return folder

    return write


@pytest.fixture
def fake_docs(monkeypatch):
    """Put a small corpus in the place of the built-in one."""
    texts = [f"{line} number{i}x" for i in range(10) for line in LINES]
    corpus = Corpus.from_texts(
        texts,
        labels=["land", "land", "sea", "sea", "land", "sea"] * 10,
        ids=[f"d{i}" for i in range(60)],
        name="docs",
        min_df=1,
        max_df=1.0,
        stop_words=None,
    )
    monkeypatch.setattr("topicfold.corpus.load_docs", lambda **bounds: corpus)
    return corpus


def check_error(result, *parts, code=2):
    """Check that a command failed with one line that says the parts."""
    lines = result.stderr.splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    assert result.exit_code == code, result.output
    assert len(errors) == 1
    assert errors[0] == lines[-1]
    assert "Traceback" not in result.stderr
    for part in parts:
        assert str(part) in errors[0]


@pytest.fixture(name="check_error")
def _check_error():
    return check_error
