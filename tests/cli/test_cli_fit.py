# SPDX-License-Identifier: BSD-3-Clause
import json
import warnings

import numpy as np
import pytest

import topicfold
from topicfold import corpus
from topicfold.exceptions import FitInterruptedWarning
from topicfold.persistence.model_folder import load_model_folder


@pytest.mark.parametrize("name", ["plsa", "PLSI", "lda", "LDA"])
def test_fit_saves_the_model_of_python(cli, texts, small, tmp_path, name):
    result = cli("fit", texts, "-m", name, "-o", tmp_path / "m", "--seed", 3, *small)
    assert result.exit_code == 0, result.output
    cls = topicfold.LDA if name.lower() == "lda" else topicfold.PLSA
    X, words = corpus.vectorize(
        corpus.read_texts(texts).texts, min_df=1, max_df=1.0, stop_words="english"
    )
    mine = cls(2, max_iter=3, random_state=3).fit(X)
    saved = load_model_folder(tmp_path / "m")
    assert type(saved.model) is cls
    assert saved.vocabulary == words
    assert saved.corpus == "texts"
    assert saved.text == {"min_df": 1, "max_df": 1.0, "stop_words": "english"}
    np.testing.assert_array_equal(saved.model.components_, mine.components_)
    loaded = topicfold.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.transform(X), mine.transform(X))


def test_fit_says_what_it_did(cli, texts, small, tmp_path):
    folder = tmp_path / "m"
    result = cli("fit", texts, "-o", folder, *small)
    lines = result.stdout.splitlines()
    assert lines[0].startswith("Corpus   6 documents, ")
    assert "LDA, 2 topics: 3 iterations in " in lines[1]
    assert lines[1].endswith("the maximum (--max-iter raises it)")
    assert lines[2:] == [
        f"Saved    {folder}",
        f"Report   {folder / 'report.html'}",
        f"Next     topicfold topics {folder}",
    ]
    assert "\x1b" not in result.output


def test_quiet_says_nothing(cli, texts, small, tmp_path):
    result = cli("fit", texts, "-o", tmp_path / "m", "--quiet", *small)
    assert (result.exit_code, result.output) == (0, "")


def test_options_reach_the_model(cli, texts, small, tmp_path):
    folder = tmp_path / "m"
    options = ("--algorithm", "variational", "--tol", "0.5", "--jobs", "1")
    assert cli("fit", texts, "-o", folder, *options, *small).exit_code == 0
    parameters = topicfold.load(folder).get_params()
    assert parameters["algorithm"] == "variational"
    assert (parameters["tol"], parameters["n_jobs"]) == (0.5, 1)


def test_text_options(cli, texts, tmp_path):
    words = tmp_path / "stop.txt"
    words.write_text("Fox\nsea the\n")
    fit = ("fit", texts, "-k", 2, "--max-iter", 1, "--max-df", 5)
    assert cli(*fit, "-o", tmp_path / "a", "--stop-words", words).exit_code == 0
    a = load_model_folder(tmp_path / "a")
    assert a.text == {"max_df": 5, "stop_words": ["fox", "sea", "the"]}
    assert not {"fox", "sea", "the"} & set(a.vocabulary)
    none = ("--stop-words", "none", "--max-features", 3, "--min-df", "0.1")
    assert cli(*fit, "-o", tmp_path / "b", *none).exit_code == 0
    assert len(load_model_folder(tmp_path / "b").vocabulary) == 3


def test_folder_of_texts_has_labels_and_ids(cli, small, tmp_path):
    for name, text in {"a/1": "red fox", "a/2": "red wolf", "b/3": "blue sea"}.items():
        file = tmp_path / "in" / f"{name}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert cli("fit", tmp_path / "in", "-o", tmp_path / "m", *small).exit_code == 0
    data = load_model_folder(tmp_path / "m").topic_data()
    assert data.labels == ("a", "a", "b")
    assert data.doc_ids == ("a/1.txt", "a/2.txt", "b/3.txt")


def test_json_lines_without_a_label(cli, small, tmp_path):
    file = tmp_path / "in.jsonl"
    records = [{"text": "red fox", "label": "x"}, {"text": "blue sea"}]
    file.write_text("\n".join(map(json.dumps, records)))
    assert cli("fit", file, "-o", tmp_path / "m", *small).exit_code == 0
    assert load_model_folder(tmp_path / "m").topic_data().labels == ("x", None)


def test_counts(cli, write_counts, tmp_path):
    folder = write_counts([[2, 1, 0], [0, 1, 3]], ["red", "fox", "sea"], ["x", "y"])
    assert cli("fit", folder, "-k", 2, "-o", tmp_path / "m").exit_code == 0
    saved = load_model_folder(tmp_path / "m")
    assert (saved.vocabulary, saved.text) == (["red", "fox", "sea"], None)
    assert saved.labels == ["x", "y"]


def test_counts_refuse_options_of_text(cli, check_error, write_counts, tmp_path):
    folder = write_counts([[1]], ["red"])
    result = cli(
        "fit", folder, "-o", tmp_path / "m", "--min-df", 2, "--stop-words", "x"
    )
    check_error(result, "--min-df, --stop-words", "raw text")


@pytest.mark.usefixtures("fake_docs")
def test_built_in_corpus(cli, check_error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    fit = ("fit", "docs", "-k", 2, "--max-iter", 2, "-o", "m")
    result = cli(*fit, "--min-df", 2)
    assert result.exit_code == 0
    assert "./docs" in result.stderr
    assert load_model_folder("m").text == {"min_df": 2}
    check_error(cli(*fit, "--force", "--max-features", 5), "--max-features", "built-in")
    # The folder itself, which is empty.
    check_error(cli("fit", "./docs", "-o", "m2"), "docs has no .txt files")


def test_existing_output(cli, check_error, texts, small, tmp_path):
    folder = tmp_path / "m"
    folder.mkdir()
    assert cli("fit", texts, "-o", folder, *small).exit_code == 0
    before = (folder / "model.safetensors").read_bytes()
    again = ("fit", texts, "-o", folder, "--seed", 5, *small)
    check_error(cli(*again), folder, "--force")
    assert (folder / "model.safetensors").read_bytes() == before
    assert cli(*again, "--force").exit_code == 0
    assert (folder / "model.safetensors").read_bytes() != before


@pytest.mark.parametrize(
    "options", [("--no-report",), ("--model", "lsi")], ids=["unwanted", "impossible"]
)
def test_no_report_of_a_replaced_model_stays(cli, texts, small, tmp_path, options):
    folder = tmp_path / "m"
    fit = ("fit", texts, "-o", folder, *small)
    assert cli(*fit).exit_code == 0
    assert (folder / "report.html").is_file()
    if "lsi" in options:
        fit = (
            "fit",
            texts,
            "-o",
            folder,
            *small[:2],
            *small[4:],
        )  # it has no --max-iter
    result = cli(*fit, "--force", *options)
    assert result.exit_code == 0, result.output
    assert not (folder / "report.html").exists()
    assert "Removed  " in result.stdout
    assert str(folder / "report.html") in result.stdout
    assert "Removed" not in cli(*fit, "--force", *options).stdout


def test_output_that_is_not_ours(cli, check_error, texts, small, tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "cat.jpg").touch()
    fit = ("fit", texts, *small, "--force", "-o")
    check_error(cli(*fit, folder), "cat.jpg", "no topicfold model")
    (folder / "model.safetensors").write_bytes(b"someone else's")
    check_error(cli(*fit, folder), "not a file of topicfold")
    check_error(cli(*fit, texts), "is a file")
    check_error(cli(*fit, texts / "below"), "cannot be written")
    assert (folder / "model.safetensors").read_bytes() == b"someone else's"


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (("--model", "ldaa"), ("'ldaa'", "Did you mean lda?")),
        (("--model", "zzz"), ("'zzz'", "lda, gibbs, short, plsa")),
        (("--model", "plsa", "--algorithm", "cvb0"), ("plsa", "--algorithm")),
        (("--algorithm", "gibbs"), ("'algorithm'", "cvb0", "Got 'gibbs'")),
        (("--device", "abacus"), ("'device'", "Got 'abacus'")),
        (("--topics", "0"), ("--topics", "fit --help")),
        (("--topics", "many"), ("--topics",)),
        (("--tol", "-1"), ("--tol",)),
        (("--max-iter", "0"), ("--max-iter",)),
        (("--min-df", "few"), ("--min-df", "'few'")),
        (("--min-df", "7"), ("--min-df 7 is more than the 6 documents",)),
        (("--stop-words", "klingon"), ("'klingon'", "english")),
        (("--encoding", "utf-16"), ("utf-16",)),
        (("--no-such-option",), ("--no-such-option",)),
    ],
)
def test_bad_options(cli, check_error, texts, tmp_path, options, parts):
    check_error(cli("fit", texts, "-o", tmp_path / "m", *options), *parts)
    assert not (tmp_path / "m").exists()


def test_bad_input(cli, check_error, tmp_path):
    fit = ("fit", "-o", tmp_path / "m")
    check_error(cli(*fit, tmp_path / "no.txt"), "no.txt does not exist")
    empty = tmp_path / "empty.txt"
    empty.touch()
    check_error(cli(*fit, empty), "no documents")
    empty.write_text("\n\n\n")
    check_error(cli(*fit, empty), "no words")
    (tmp_path / "x.pdf").touch()
    check_error(cli(*fit, tmp_path / "x.pdf"), "'.pdf'")
    (tmp_path / "latin.txt").write_bytes(b"caf\xc3\xa9\ncaf\xe9\n")
    check_error(cli(*fit, tmp_path / "latin.txt"), "line 2", "0xe9", "encoding")
    check_error(cli("fit", empty), "--output")
    check_error(cli(*fit), "INPUT")


def test_empty_documents_are_one_warning(cli, small, tmp_path):
    file = tmp_path / "in.txt"
    file.write_text("red fox\n\nblue sea\n")
    result = cli("fit", file, "-o", tmp_path / "m", *small)
    assert result.exit_code == 0
    assert result.stderr.startswith(
        "warning: 1 of 3 documents has no word (row 1, counted from 0); it gets"
    )
    assert result.stderr.count("\n") == 1


def test_interrupted_fit_is_saved(cli, texts, small, tmp_path, monkeypatch):
    fit = topicfold.LDA.fit

    def interrupted(self, X):
        warnings.warn("stopped", FitInterruptedWarning, stacklevel=2)
        return fit(self, X)

    monkeypatch.setattr(topicfold.LDA, "fit", interrupted)
    result = cli("fit", texts, "-o", tmp_path / "m", *small)
    assert result.exit_code == 130
    assert result.stderr == "warning: stopped\n"
    assert load_model_folder(tmp_path / "m").vocabulary


def test_a_model_without_topics_has_no_report(cli, check_error, texts, tmp_path):
    line = ("fit", texts, "-m", "lsi", "-k", 2, "--min-df", 1)
    result = cli(*line, "-o", tmp_path / "m")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    assert "Report" not in result.stdout
    assert not (tmp_path / "m" / "report.html").exists()
    check_error(cli(*line, "-o", tmp_path / "n", "--report"), "lsi has no topics")
    assert not (tmp_path / "n").exists()


def test_one_is_not_plural_and_the_next_command_can_be_copied(cli, tmp_path):
    file = tmp_path / "one.txt"
    file.write_text("red fox", encoding="utf-8")
    folder = tmp_path / "a model"
    options = ("--min-df", 1, "--max-df", "1.0", "-k", 1, "--no-report")
    result = cli("fit", file, "-o", folder, *options)
    assert result.exit_code == 0, result.stderr
    assert "Corpus   1 document, 2 different words, 2 in all\n" in result.stdout
    assert f"Next     topicfold topics '{folder}'\n" in result.stdout


def test_a_model_of_blocks_is_used_without_warnings(cli, texts, small, tmp_path):
    blocks, folder = tmp_path / "blocks", tmp_path / "m"
    words = small[-4:]
    cli("convert", texts, blocks, "--to", "blocks", *words)
    assert cli("fit", blocks, "-o", folder, *small[:-4]).exit_code == 0
    for line in (("transform", folder, texts), ("search", folder, "fox")):
        result = cli(*line)
        assert result.exit_code == 0, result.stderr
        assert "warning" not in result.stderr


def test_short_texts_are_told_of_their_model(cli, tmp_path):
    words = ["red fox den", "fox den cub", "blue sea sand", "sea sand wave"]
    lines = tmp_path / "titles.txt"
    lines.write_text("\n".join(words * 25) + "\n")
    options = ("-k", 2, "--max-iter", 3, "--no-report")
    said = cli("fit", lines, "-o", tmp_path / "lda", *options).stdout
    assert "have about 3 counted words each" in said
    assert "For short texts, --model short often gives" in said
    short = cli("fit", lines, "-o", tmp_path / "short", "-m", "short", *options)
    assert "Advice" not in short.stdout
    long = tmp_path / "long.txt"
    long.write_text("\n".join(" ".join(words[k % 2 :: 2] * 20) for k in range(100)))
    said = cli("fit", long, "-o", tmp_path / "long", *options).stdout
    assert "Advice" not in said
    # Words that are alone tell no model which of them belong together.
    lines.write_text("fox\nsea\n" * 50)
    said = cli("fit", lines, "-o", tmp_path / "one", *options).stdout
    assert "Advice" not in said


def test_few_documents_get_fewer_topics(cli, check_error, texts, tmp_path):
    """Without -k, as many topics as two fits of a sample agree on."""
    few = tmp_path / "few.txt"
    few.write_text("red fox\nblue sea\ndeep sea\nred den\nold fox\n" * 6)
    fit = ("fit", few, "--max-iter", 2, "--no-report", "--force", "-o", tmp_path / "m")
    result = cli(*fit)
    assert "Topics   5: there are only 30 documents (--topics" in result.stdout
    assert len(topicfold.load(tmp_path / "m").components_) == 5
    few.write_text("\n".join(f"red fox number{n // 2}" for n in range(500)))
    result = cli(*fit)
    assert "two fits agree on" in result.stdout
    check_error(cli("fit", texts, "-k", 50, "-o", tmp_path / "n"), "50 topics are more")


def test_the_sweeps_of_a_sampler_are_the_plan(cli, texts, small, tmp_path):
    result = cli("fit", texts, "-m", "gibbs", "-o", tmp_path / "m", *small)
    line = next(x for x in result.stdout.splitlines() if x.startswith("Model"))
    assert "3 sweeps in" in line
    assert "the maximum (--max-iter" not in line


def test_advice_on_words_names_the_flags(cli, check_error, tmp_path):
    lines = tmp_path / "texts.txt"
    fit = ("fit", lines, "-k", 1, "--max-iter", 2, "--no-report", "-o", tmp_path / "m")
    lines.write_text("the red fox\n")
    check_error(cli(*fit), "One document is too few", "or --min-df 1, --max-df 1.0")
    lines.write_text("the red fox\n" * 60)
    said = cli(*fit).stderr
    assert "59 of 60 texts are copies of others" in said
    assert "All 2 words are in more than 30 of the 60 texts" in said
    assert "Raise --max-df; 1.0 keeps all words." in said
    lines.write_text("der Fuchs und die Maus\n das ist nicht ein Meer von Land\n" * 2)
    said = cli(*fit).stderr
    assert "look German (der, und, die …): --stop-words 'english,german'" in said
