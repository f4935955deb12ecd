# SPDX-License-Identifier: BSD-3-Clause
"""Options that say how documents are read, from fit to transform."""

import gzip
import json
import sys

import numpy as np
import pytest

from topicfold import corpus
from topicfold.cli.inputs import TextOptions, reading_progress
from topicfold.exceptions import DataError
from topicfold.persistence.model_folder import load_model_folder, save_model_folder

ROWS = [
    ("the red foxes run", "land", "a"),
    ("a red fox, a red wolf", "land", "b"),
    ("blue fishes swim", "", "c"),
    ("a blue fish in the blue sea", "sea", "d"),
]


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "table.csv"
    lines = ["body,kind,name", *(f'"{t}",{x},{i}' for t, x, i in ROWS)]
    file.write_text("\n".join(lines))
    return file


COLUMNS = ("--text", "body", "--label", "kind", "--id", "name")


def test_columns(cli, table, small, tmp_path):
    fit = cli("fit", table, *COLUMNS, "-o", tmp_path / "m", *small)
    assert fit.exit_code == 0, fit.output
    data = load_model_folder(tmp_path / "m").topic_data()
    assert data.labels == ("land", "land", None, "sea")
    assert data.doc_ids == ("a", "b", "c", "d")
    result = cli("transform", tmp_path / "m", table, "--text", "body", "--id", "name")
    assert [line[0] for line in result.stdout.splitlines()[1:]] == list("abcd")


def test_missing_column(cli, check_error, table, small, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("name,words\na,red fox\n", encoding="utf-8")
    fit = ("fit", other, "-o", tmp_path / "m", *small)
    check_error(cli(*fit), "no column 'text'", "'words'", "--text")
    fit = ("fit", table, "-o", tmp_path / "m", *small)
    check_error(cli(*fit, "--text", "bdy"), "Did you mean 'body'?")
    check_error(cli(*fit, "--text", "body", "--time", "date"), "'date'", "--time")
    assert not (tmp_path / "m").exists()


def test_bad_lines(cli, check_error, small, tmp_path):
    file = tmp_path / "in.jsonl"
    file.write_text('{"text": "red fox"}\n{"text":\n{"text": "red sea"}\n')
    fit = ("fit", file, "-o", tmp_path / "m", *small)
    check_error(cli(*fit), "line 2: not valid JSON", "--skip-bad-lines")
    result = cli(*fit, "--skip-bad-lines")
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: ")
    assert "one bad line was left out: line 2" in result.stderr
    assert len(load_model_folder(tmp_path / "m").model.doc_topics_) == 2


@pytest.mark.parametrize(
    "options",
    [
        ("--ngrams", "2"),
        ("--stem", "english"),
        ("--tokens", "spaces", "--stop-words", "none"),
        ("--ngrams", "2-2", "--stem", "english"),
    ],
    ids=["pairs", "stems", "spaces", "both"],
)
def test_new_texts_are_cut_like_the_old(cli, table, small, tmp_path, options):
    if "--stem" in options:
        pytest.importorskip("snowballstemmer")
    model = tmp_path / "m"
    fit = cli("fit", table, *COLUMNS, "-o", model, *small, *options)
    assert fit.exit_code == 0, fit.output
    saved = load_model_folder(model)
    texts = [text for text, _, _ in ROWS]
    X, words = corpus.vectorize(texts, **saved.text)
    assert words == saved.vocabulary
    out = tmp_path / "out.npz"
    result = cli("transform", model, table, "--text", "body", "-o", out)
    assert (result.exit_code, result.stderr) == (0, "")
    with np.load(out) as arrays:
        np.testing.assert_array_equal(arrays["doc_topics"], saved.model.transform(X))


def test_a_function_of_the_user(cli, check_error, texts, small, tmp_path, monkeypatch):
    (tmp_path / "my_words.py").write_text(
        "def cut(text):\n    return text.split('e')\n"
    )
    monkeypatch.chdir(tmp_path)
    own = ("--tokens", "my_words:cut")
    fit = ("fit", texts, "-o", "m", *small)
    assert cli(*fit, *own).exit_code == 0
    saved = load_model_folder("m")
    assert saved.text["tokens"] == "my_words:cut"
    # "th" is what the cut leaves of the stop word "the".
    assert {" r", "d for"} <= set(saved.vocabulary)
    assert "th" not in saved.vocabulary
    # A model from a stranger must not choose what is run here.
    check_error(
        cli("transform", "m", texts), "only with your permission", "my_words:cut"
    )
    assert cli("transform", "m", texts, *own).exit_code == 0
    check_error(cli(*fit, "--force", "--tokens", "my_words:no"), "--tokens", "'no'")
    check_error(cli(*fit, "--force", "--tokens", "nowhere:f"), "--tokens", "nowhere")
    check_error(cli(*fit, "--force", "--tokens", "letters"), "'letters'", "words")
    check_error(cli(*fit, "--force", "--tokens", "string:digits"), "not a function")
    sys.modules.pop("my_words")


def test_tokens_of_another_kind(cli, check_error, model, texts):
    result = cli("transform", model, texts, "--tokens", "spaces")
    check_error(result, "--tokens words", "Leave --tokens out")


def test_damaged_text_settings(cli, check_error, texts, tmp_path, model):
    saved = load_model_folder(model)
    for text in ({"colour": 1}, {"ngram_range": "x"}, {"stem": "klingon"}):
        save_model_folder(
            saved.model, tmp_path / "m", vocabulary=saved.vocabulary, text=text
        )
        check_error(cli("transform", tmp_path / "m", texts), next(iter(text)))


def test_matrix_formats(cli, check_error, small, tmp_path):
    docs = corpus.Corpus([[2, 1, 0], [0, 1, 3]], ["red", "fox", "sea"], ids=["a", "b"])
    file = corpus.write(docs, tmp_path / "x.ldac")
    fit = cli("fit", file, "-k", 2, "--max-iter", 2, "-o", tmp_path / "m")
    assert fit.exit_code == 0, fit.output
    result = cli("transform", tmp_path / "m", file)
    assert [line[0] for line in result.stdout.splitlines()] == ["i", "a", "b"]
    check_error(cli("fit", file, "-o", tmp_path / "n", "--stem", "english"), "--stem")
    other = tmp_path / "other"
    other.write_bytes(file.read_bytes())
    (tmp_path / "other.vocab").write_text("a\nb\nc\n")
    result = cli("transform", tmp_path / "m", other, "--from", "ldac")
    check_error(result, "the vocabulary of", "not that of the model")
    check_error(cli("transform", tmp_path / "m", other, "--from", "lda"), "'ldac'")


def test_compressed_lines(cli, small, texts, tmp_path):
    packed = tmp_path / "in.txt.gz"
    packed.write_bytes(gzip.compress(texts.read_bytes()))
    assert cli("fit", packed, "-o", tmp_path / "m", *small).exit_code == 0
    assert load_model_folder(tmp_path / "m").corpus == "in"


@pytest.mark.parametrize("text", ["0", "x", "3-2", "-", "1-x"])
def test_lengths_of_terms(text):
    with pytest.raises(ValueError, match="--ngrams"):
        TextOptions(ngrams=text).vectorizing()


def test_given_options_by_their_flags():
    options = TextOptions(min_df="2", skip_bad_lines=False, text="body")
    assert options.given() == {"--min-df": "2", "--text": "body"}
    assert options.reading() == {"text": "body"}
    assert TextOptions(ngrams="2-3").vectorizing()["ngram_range"] == [2, 3]


def test_progress_only_on_a_terminal(monkeypatch, tmp_path, capsys):
    with reading_progress("x") as show:
        assert show is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with reading_progress("[red]x.txt", quiet=True) as show:
        assert show is None
    file = tmp_path / "x.jsonl"
    file.write_text(json.dumps({"text": "fox"}) + "\n")
    with reading_progress("[red]x.txt") as show:
        corpus.read_texts(file, progress=show)
    assert "[red]x.txt" in capsys.readouterr().err


def test_progress_bar_ends_with_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with (
        pytest.raises(DataError, match=r"no\.txt does not exist"),
        reading_progress("x") as show,
    ):
        corpus.read_texts(tmp_path / "no.txt", progress=show)


def test_usual_names_of_columns_are_known_and_others_are_said(cli, tmp_path, small):
    file = tmp_path / "a.csv"
    rows = [f"{word} {i},x,y" for i in range(3) for word in ("red fox", "blue sea")]
    file.write_text("Content,page,kind\n" + "\n".join(rows), encoding="utf-8")
    done = cli("fit", file, "-o", tmp_path / "m", *small)
    assert "Columns  text: Content; not used: page, kind\n" in done.stdout


def test_several_columns_are_joined_and_said(cli, tmp_path, small):
    file = tmp_path / "a.csv"
    rows = [f"Foxes,red fox {i},2001-05-0{i + 1}" for i in range(3)]
    rows += [f"Fish,blue sea {i},2002-05-0{i + 1}" for i in range(3)]
    file.write_text("title,body,date\n" + "\n".join(rows), encoding="utf-8")
    columns = ("--text", "title", "--text", "body")
    done = cli("fit", file, *columns, "-o", tmp_path / "m", *small)
    assert done.exit_code == 0, done.output
    assert (
        "Columns  text: title, body; time: date (2001-05-01 to 2002-05-03)"
        in done.output
    )
    words = cli("topics", tmp_path / "m", "-f", "csv").stdout
    assert {"foxes", "fox", "sea"} <= set(words.replace(",", " ").split())


@pytest.mark.parametrize(
    ("content", "options", "told"),
    [
        ("the of\n", (), "in.txt: no words to count in 1 text"),
        ("red fox\n", ("--from", "klingon"), "'klingon'"),
        ("red fox\n", ("--tokens", "operator:length_hint"), "it returned int"),
        ("r\0d\n", (), "(--encoding utf-16-le)"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "convert"])
def test_what_is_wrong_with_a_text_is_said(
    cli, check_error, tmp_path, command, content, options, told
):
    file = tmp_path / "in.txt"
    file.write_text(content)
    words = ("--min-df", 1, "--max-df", "1.0", *options)
    if command == "fit":
        check_error(cli("fit", file, "-k", 1, "-o", tmp_path / "m", *words), told)
    else:
        to_blocks = ("convert", file, tmp_path / "b", "--to", "blocks")
        check_error(cli(*to_blocks, *words), told)


def test_a_path_that_is_nested_too_deeply(cli, check_error, texts, tmp_path):
    check_error(cli("convert", texts, tmp_path / ("x/" * 2000 + "y.npz")), "too deep")
