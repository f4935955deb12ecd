# SPDX-License-Identifier: BSD-3-Clause
import itertools

import pytest

from topicfold import corpus
from topicfold.persistence.model_folder import load_model_folder


@pytest.fixture
def docs(tmp_path):
    found = corpus.Corpus(
        [[2, 1, 0], [0, 1, 3]], ["red", "fox", "sea"], labels=["x", ""], ids=["a", "b"]
    )
    corpus.write(found, tmp_path / "in.ldac")
    return found


def same(found, other):
    assert (found.counts != other.counts).nnz == 0
    for field in ("vocabulary", "labels", "ids"):
        assert getattr(found, field) == getattr(other, field)


def test_through_all_formats(cli, docs, tmp_path):
    names = ["in.ldac", "a.mtx", "b.svm", "c.uci", "d.mallet", "e.npz", "f", "g.mtx.gz"]
    for name, following in itertools.pairwise(names):
        result = cli("convert", tmp_path / name, tmp_path / following)
        assert result.exit_code == 0, result.output
        assert result.stderr == ""
        same(docs, corpus.read(tmp_path / following))
    lines = result.stdout.splitlines()
    assert lines[0] == "Corpus   2 documents, 3 different words, 7 in all, 1 class"
    assert lines[1] == f"Saved    {tmp_path / 'g.mtx.gz'}"


def test_stated_formats(cli, check_error, docs, tmp_path):
    (tmp_path / "in").write_bytes((tmp_path / "in.ldac").read_bytes())
    (tmp_path / "in.vocab").write_text("red\nfox\nsea\n")
    out = tmp_path / "out.dat"
    result = cli("convert", tmp_path / "in", out, "--from", "ldac", "--to", "mm", "-q")
    assert (result.exit_code, result.output) == (0, "")
    assert (corpus.read(out, format="mm").counts != docs.counts).nnz == 0
    convert = ("convert", tmp_path / "in.ldac")
    check_error(cli(*convert, tmp_path / "x.dat"), "does not tell which format", "--to")
    check_error(cli(*convert, tmp_path / "x", "--to", "docx"), "'docx'")
    check_error(cli(*convert, tmp_path / "x.jsonl"), "no texts")


def test_existing_output(cli, check_error, docs, tmp_path):
    out = tmp_path / "out.mtx"
    out.write_text("mine")
    convert = ("convert", tmp_path / "in.ldac", out)
    check_error(cli(*convert), "already exists", "--force")
    assert out.read_text() == "mine"
    assert cli(*convert, "--force").exit_code == 0
    same(docs, corpus.read(out))


def test_texts(cli, texts, tmp_path):
    out = tmp_path / "out.svmlight"
    options = ("--min-df", 1, "--stop-words", "none", "--ngrams", "2")
    assert cli("convert", texts, out, *options).exit_code == 0
    X, words = corpus.vectorize(
        corpus.read_texts(texts).texts, min_df=1, ngram_range=(1, 2), stop_words=None
    )
    found = corpus.read(out)
    assert found.vocabulary == words
    assert (found.counts != X).nnz == 0


def test_texts_to_json_lines(cli, tmp_path):
    file = tmp_path / "in.csv"
    file.write_text("body,label\nred fox,x\nthe red sea,\n")
    out = tmp_path / "out.jsonl"
    options = ("--text", "body", "--min-df", 1, "--max-df", "1.0")
    assert cli("convert", file, out, *options).exit_code == 0
    assert out.read_text() == (
        '{"text": "red fox", "label": "x"}\n{"text": "the red sea", "label": ""}\n'
    )


def test_blocks_are_fitted(cli, check_error, texts, tmp_path):
    out = tmp_path / "blocks"
    convert = ("convert", texts, out, "--to", "blocks", "--min-df", 1)
    result = cli(*convert)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Corpus   6 documents, ")
    check_error(cli(*convert), "exists already")
    assert cli(*convert, "--force").exit_code == 0
    fit = ("fit", out, "-k", 2, "--max-iter", 2, "-o", tmp_path / "m")
    fitted = cli(*fit)
    assert fitted.exit_code == 0, fitted.output
    words = load_model_folder(tmp_path / "m").vocabulary
    assert words == corpus.read(texts, min_df=1, stop_words="english").vocabulary
    check_error(cli(*fit, "--force", "--min-df", 2), "--min-df", "holds counts")
    assert cli("convert", out, tmp_path / "back.mtx").exit_code == 0
    assert corpus.read(tmp_path / "back.mtx").vocabulary == words
    result = cli("convert", tmp_path / "back.mtx", tmp_path / "y", "--to", "blocks")
    check_error(result, "holds counts")


def test_help_shows_python(cli):
    text = cli("convert", "--help").stdout
    for part in ("Examples", "In Python", "corpus.write", "--from", "--to", "ldac"):
        assert part in text


def test_blocks_of_the_built_in_corpus_say_how(cli, check_error, tmp_path):
    result = cli("convert", "docs", tmp_path / "blocks", "--to", "blocks")
    check_error(result, "topicfold convert docs docs.jsonl")
