# SPDX-License-Identifier: BSD-3-Clause
import sys

import numpy as np
import pytest
from protocols_support import planted_corpus

from topicfold import PLSA
from topicfold.choosing.comparison import Comparison, ModelScore
from topicfold.choosing.evaluation import candidates
from topicfold.cli.compare import _show
from topicfold.registry import find_model

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
    assert "--plot comparison.png draws a picture" in result.stdout


def test_models_may_be_repeated_and_each_may_be_a_list(cli, folder):
    given = ("-m", "tf-idf", "--models", "PLSA, fstm")
    result = cli("compare", folder, *given, *SMALL)
    assert result.exit_code == 0, result.output
    for part in ("1/3 tf-idf", "2/3 PLSA", "3/3 FSTM"):
        assert part in result.stderr


def test_without_labels(cli, write_counts):
    corpus = planted_corpus()
    folder = write_counts(corpus.counts, corpus.vocabulary)
    result = cli("compare", folder, "-m", "plsa,lda", *SMALL, "--quiet")
    assert result.exit_code == 0, result.output
    assert "stability" in result.stdout
    assert "accuracy" not in result.stdout
    assert "it ranks best overall" in " ".join(result.stdout.split())
    assert "Next" not in result.stdout
    assert result.stderr == ""


def test_scores_are_kept(cli, folder, tmp_path, monkeypatch):
    file = tmp_path / "scores.jsonl"
    arguments = ("compare", folder, "-m", "PLSA", *SMALL, "-o", file)
    first = cli(*arguments)
    assert first.exit_code == 0, first.output
    size = file.stat().st_size
    monkeypatch.setattr("topicfold.choosing.comparison.measure", None)
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
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    file = tmp_path / "p.png"
    result = cli("compare", folder, "-m", "PLSA", *SMALL, "--plot", file)
    assert result.exit_code == 0
    assert "topicfold[plot]" in result.stderr
    assert not file.exists()


def test_a_word_cache(cli, folder, check_error):
    arguments = ("compare", folder, "-m", "plsa", *SMALL, "--quiet")
    plain, cached = (cli(*arguments, *more) for more in ((), ("--cache", 0.5)))
    assert plain.exit_code == cached.exit_code == 0, cached.output
    assert plain.stdout != cached.stdout
    result = cli(*arguments, "--cache", "much")
    check_error(result, "cache='much'; give a weight")


def test_errors(cli, check_error, folder, write_counts, tmp_path):
    check_error(cli("compare", folder, "-m", "ldb"), "Did you mean lda")
    check_error(cli("compare", folder, "--plot", "x.txt"), ".svg or .pdf")
    check_error(cli("compare", tmp_path / "nothing"), "nothing")
    few = write_counts(np.eye(4, dtype=int), list("abcd"), name="few")
    check_error(cli("compare", few), "4 documents are too few")
    plain = planted_corpus()
    bare = write_counts(plain.counts, plain.vocabulary, name="bare")
    check_error(cli("compare", bare, "-m", "fstm^c"), "learns from labels")


def test_blocks_are_refused(cli, check_error, texts, tmp_path):
    blocks = tmp_path / "blocks"
    assert cli("convert", texts, blocks, "--to", "blocks", "--min-df", 1).exit_code == 0
    check_error(cli("compare", blocks), "kept in blocks")


def test_a_model_that_fails_is_told(cli, folder, monkeypatch):
    def broken(self, X, y=None):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(PLSA, "fit", broken)
    result = cli("compare", folder, "-m", "tf-idf,PLSA", *SMALL)
    assert result.exit_code == 0, result.output
    last = result.stderr.splitlines()[-1]
    assert last.startswith("note: left out: PLSA")
    assert "out of luck" in last
    assert "tf-idf" in result.stdout


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("fstm-c", "FSTM^c"),
        ("local", "LTM"),
        ("Orthogonal", "OTM"),
        ("netplsa", "LapPLSI"),
        ("tf-idf", "tf-idf"),
    ],
)
def test_models_have_their_names_of_fit_too(given, found):
    assert find_model(given, candidates()).shown == found


def test_the_next_command_has_the_name_that_fit_knows(cli, tmp_path):
    """The table says WNTM, which is short on the command line."""
    file = tmp_path / "two words.csv"
    kinds = ["red fox wood", "blue fish sea", "old tree leaf"]
    rows = [f'"{kinds[i % 3]}",a{{b}}' for i in range(60)]
    file.write_text("\n".join(["{title},kind", *rows]))
    reading = ("--text", "{title}", "--max-df", "1.0")
    result = cli("compare", file, "-m", "WNTM", *SMALL, *reading)
    assert result.exit_code == 0, result.output
    expected = f"topicfold fit '{file}' --text '{{title}}' --max-df 1.0 -m short -k 3"
    assert result.stdout.splitlines()[-1] == f"Next     {expected} -o model"


def test_what_fit_cannot_fit_is_no_next_command(cli, write_counts):
    corpus = planted_corpus()
    folder = write_counts(corpus.counts, corpus.vocabulary)
    result = cli("compare", folder, "-m", "nmf", *SMALL)
    assert result.exit_code == 0, result.output
    assert "Take NMF" in result.stdout
    assert "Next" not in result.stdout


def test_quiet_is_only_the_table(cli, folder):
    result = cli("compare", folder, "-m", "tf-idf", *SMALL, "-q")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    assert "Plot" not in result.stdout
    assert "Corpus" not in result.stdout


def test_large_numbers_fit_into_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    score = ModelScore(
        model="MedLDA",
        n_components=1000,
        accuracy=0.9876,
        perplexity=123_456.0,
        coherence=-0.123,
        diversity=0.987,
        stability=float("nan"),
        seconds=12_345.6,
        memory_mb=98_765.0,
        copies=12.0,
    )
    _show(Comparison((score,), "Take it.", (), 10))
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    for part in ("1000", "0.988", "123,456", "-0.123", "0.987", "12345.6", " 12 "):
        assert part in shown
    assert "…" not in shown
