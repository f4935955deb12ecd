# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from protocols_support import planted_corpus

SMALL = ("--jobs", "1", "-k", "3")


@pytest.fixture
def folder(write_counts):
    corpus = planted_corpus()
    return write_counts(corpus.counts, corpus.vocabulary, corpus.labels)


def test_with_labels(cli, folder):
    result = cli("compare", folder, "--models", "tf-idf,PLSA,fstm^c", *SMALL)
    assert result.exit_code == 0, result.output
    for part in ("tf-idf", "PLSA", "FSTM^c", "accuracy", "perplexity", "seconds"):
        assert part in result.stdout
    assert "Result   Take " in result.stdout
    assert "3/3 FSTM^c" in result.stderr
    assert "--plot comparison.png draws one" in result.stdout


def test_without_labels(cli, write_counts):
    corpus = planted_corpus()
    folder = write_counts(corpus.counts, corpus.vocabulary)
    result = cli("compare", folder, "-m", "plsa,lda", *SMALL, "--quiet")
    assert result.exit_code == 0, result.output
    assert "stability" in result.stdout
    assert "accuracy" not in result.stdout
    assert "best mean rank" in " ".join(result.stdout.split())
    assert result.stderr == ""


def test_scores_are_kept(cli, folder, tmp_path, monkeypatch):
    file = tmp_path / "scores.jsonl"
    arguments = ("compare", folder, "-m", "PLSA", *SMALL, "-o", file)
    first = cli(*arguments)
    assert first.exit_code == 0, first.output
    size = file.stat().st_size
    monkeypatch.setattr("topicfold.protocols.comparing.measure", None)
    second = cli(*arguments)
    assert second.exit_code == 0, second.output
    assert file.stat().st_size == size
    assert second.stdout == first.stdout


def test_picture(cli, folder, tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "picture.svg"
    result = cli("compare", folder, "-m", "PLSA", *SMALL, "--plot", file)
    assert result.exit_code == 0, result.output
    assert "<svg" in file.read_text()


def test_no_picture_without_matplotlib_is_said(cli, folder, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    file = tmp_path / "p.png"
    result = cli("compare", folder, "-m", "PLSA", *SMALL, "--plot", file)
    assert result.exit_code == 0
    assert "topicfold[plot]" in result.stderr
    assert not file.exists()


def test_errors(cli, check_error, folder, write_counts, tmp_path):
    check_error(cli("compare", folder, "-m", "ldb"), "Did you mean LDA")
    check_error(cli("compare", folder, "--plot", "x.txt"), ".svg or .pdf")
    check_error(cli("compare", tmp_path / "nothing"), "nothing")
    few = write_counts(np.eye(4, dtype=int), list("abcd"), name="few")
    check_error(cli("compare", few), "4 documents are too few")
    plain = planted_corpus()
    bare = write_counts(plain.counts, plain.vocabulary, name="bare")
    check_error(cli("compare", bare, "-m", "fstm^c"), "learns from labels")
