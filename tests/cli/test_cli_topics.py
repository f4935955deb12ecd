# SPDX-License-Identifier: BSD-3-Clause
import csv
import dataclasses
import io
import json

import numpy as np
import pytest

import topicfold
from topicfold import TopicData
from topicfold.cli.topics import topic_rows, topic_table, topics_as_json
from topicfold.metrics import npmi_coherence
from topicfold.persistence.model_folder import load_model_folder


def render(table, width):
    from rich.console import Console

    stream = io.StringIO()
    Console(file=stream, width=width).print(table)
    return stream.getvalue()


@pytest.fixture
def data():
    return TopicData(
        topics=[[0.6, 0.3, 0.1, 0.0], [0.0, 0.1, 0.3, 0.6]],
        vocabulary=["red", "fox", "[b]sea", "w\x1b[31mx"],
        doc_topics=[[1.0, 0.0], [0.2, 0.8], [0.0, 1.0]],
        doc_lengths=[10, 10, 20],
        labels=["land", "sea", None],
    )


def test_table(cli, model):
    result = cli("topics", model, "-n", 3)
    assert result.exit_code == 0
    assert result.stderr == ""
    assert "\x1b" not in result.stdout
    saved = load_model_folder(model).topic_data()
    for words in saved.top_terms(3):
        assert ", ".join(words) in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_phrases_can_be_told_from_words(data):
    named = dataclasses.replace(data, vocabulary=["new york", "red", "fox", "sea"])
    assert "new york, " in render(topic_table(topic_rows(named)), 80)


def test_csv_and_json_agree(cli, model):
    data = load_model_folder(model).topic_data()
    table = list(csv.DictReader(io.StringIO(cli("topics", model, "-f", "csv").stdout)))
    records = json.loads(cli("topics", model, "-f", "json").stdout)
    assert [int(row["topic"]) for row in table] == [r["topic"] for r in records]
    assert [row["words"].split(", ") for row in table] == [r["words"] for r in records]
    sizes = data.topic_sizes()
    assert list(np.argsort(-sizes)) == [r["topic"] for r in records]
    for record in records:
        assert record["share"] == pytest.approx(sizes[record["topic"]], abs=1e-6)
        assert record["words"] == list(data.top_terms(10, 0.6)[record["topic"]])


def test_relevance(cli, model):
    data = load_model_folder(model).topic_data()
    out = cli("topics", model, "-f", "json", "--relevance", 0.2, "-n", 4).stdout
    for record in json.loads(out):
        assert record["words"] == list(data.top_terms(4, 0.2)[record["topic"]])


def test_coherence(cli, model, texts):
    result = cli("topics", model, "-f", "json", "-n", 4, "--coherence", texts)
    saved = load_model_folder(model)
    X, _ = topicfold.corpus.vectorize(
        texts.read_text().splitlines(), vocabulary=saved.vocabulary
    )
    expected = npmi_coherence(saved.model.components_, X, n_words=4)
    for record in json.loads(result.stdout):
        assert record["coherence"] == pytest.approx(expected[record["topic"]], abs=1e-5)
    assert "NPMI" in cli("topics", model, "-n", 999, "--coherence", texts).stdout


@pytest.mark.parametrize("labels", [None, [None] * 3], ids=["none", "unknown"])
def test_no_column_without_classes(data, labels):
    rows = topic_rows(dataclasses.replace(data, labels=labels))
    assert not any("label" in row for row in rows)
    assert "class" not in render(topic_table(rows), 80)


def test_table_with_names_classes_and_odd_words(data):
    rows = topic_rows(dataclasses.replace(data, topic_names=["", "ocean"]))
    assert [row["topic"] for row in rows] == [1, 0]
    for width in (80, 120):
        text = render(topic_table(rows), width)
        assert "ocean" in text
        assert "land" in text
        assert "83%" in text
        assert "[b]sea" in text
        assert "\x1b" not in text
        assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [60, 80, 120])
def test_long_words_wrap(data, width):
    words = [f"{'very' * 6}long{i}" for i in range(4)]
    wide = dataclasses.replace(
        data, vocabulary=words, labels=["sklearn.feature_extraction", "b", None]
    )
    text = render(topic_table(topic_rows(wide)), width)
    assert max(map(len, text.splitlines())) <= width
    assert "sklearn.feature_extraction" in text


def test_json_has_no_nan(data):
    rows = topic_rows(data, coherence=[float("nan"), 0.5])
    assert {r["coherence"] for r in json.loads(topics_as_json(rows))} == {None, 0.5}


def test_model_saved_from_python(cli, check_error, tmp_path, texts):
    model = topicfold.PLSA(2, random_state=0).fit([[3, 1, 0], [0, 1, 2]])
    model.save(tmp_path / "m")
    result = cli("topics", tmp_path / "m")
    assert result.exit_code == 0
    assert "w0" in result.stdout
    check_error(cli("transform", tmp_path / "m", texts), "without its vocabulary")


def test_model_of_a_stream(cli, tmp_path):
    model = topicfold.LDA(2, random_state=0).partial_fit([[3, 1, 0], [0, 1, 2]])
    model.save(tmp_path / "m")
    result = cli("topics", tmp_path / "m", "-f", "json")
    assert [r["share"] for r in json.loads(result.stdout)] == [0.5, 0.5]


def test_bad_options(cli, check_error, model):
    check_error(cli("topics", model, "-n", 0), "--words")
    check_error(cli("topics", model, "--relevance", 2), "--relevance")
    check_error(cli("topics", model, "--format", "xml"), "--format")


def test_bad_model(cli, check_error, model, tmp_path):
    check_error(cli("topics", tmp_path / "nowhere"), "nowhere")
    check_error(cli("topics", tmp_path), "not a saved model")
    whole = (model / "model.safetensors").read_bytes()
    broken = tmp_path / "model.safetensors"
    broken.write_bytes(whole[: len(whole) // 2])
    check_error(cli("topics", tmp_path), "truncated")
    broken.write_bytes(whole[:-40] + bytes(40))
    check_error(cli("topics", tmp_path), "damaged")
    broken.write_bytes(b"")
    check_error(cli("topics", tmp_path), "model.safetensors")


def test_a_tree_is_shown_as_one(cli, tmp_path, texts):
    folder = tmp_path / "tree"
    flags = ("--min-df", 1, "--max-df", "1.0", "--max-iter", 8, "--no-report")
    done = cli("fit", texts, "-m", "tree", *flags, "-o", folder)
    assert done.exit_code == 0, done.stderr
    assert "--max-iter raises it" not in done.stdout
    model = topicfold.load(folder)
    lines = cli("topics", folder, "-n", 2).stdout.splitlines()
    assert len(lines) == len(model.components_)
    indents = [(len(line) - len(line.lstrip())) // 2 for line in lines]
    assert indents == model.levels_.tolist()
    rows = json.loads(cli("topics", folder, "--format", "json").stdout)
    assert len(rows) == len(lines)


def test_info_counts_the_sweeps_of_a_sampler():
    from topicfold.cli.info import _fit_line

    fit = {"iterations": 600, "converged": False, "sampled": True, "objective": -1.5e6}
    assert _fit_line(fit) == "600 sweeps, log-likelihood -1.5e+06"
    fit |= {"sampled": False, "iterations": 1}
    assert _fit_line(fit) == "1 iteration, not converged, objective -1.5e+06"
