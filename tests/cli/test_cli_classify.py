# SPDX-License-Identifier: BSD-3-Clause
import csv
import io
import json

import numpy as np
import pytest
from tests_support import draw_sides

from topicfold import PLSA, TopicClassifier
from topicfold.classify.few_labels import PLAIN
from topicfold.persistence.model_folder import load_model_folder

LAND = "the red fox and the wolf run in the forest with deer and bear"
SEA = "blue fish swim in deep sea water with waves and salt and whale"


@pytest.fixture
def labelled(tmp_path):
    """Documents of two classes; every fifth has no label."""
    file = tmp_path / "mails.jsonl"
    rows = []
    for i in range(60):
        text, label = (LAND, "land") if i % 2 else (SEA, "sea")
        words = text.split()
        mixed = " ".join(words[(i * 3 + j * 5) % len(words)] for j in range(9))
        rows.append(
            {"body": f"{mixed} number{i}", "kind": None if i % 5 == 0 else label}
        )
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


@pytest.fixture
def options():
    return ("--text", "body", "--label", "kind", "--min-df", 1, "--max-df", "1.0")


def train(cli, labelled, options, folder, *more):
    return cli("classify", folder, labelled, "--train", "-k", 4, *options, *more)


def test_train_then_predict(cli, labelled, options, tmp_path):
    result = train(cli, labelled, options, tmp_path / "model")
    assert result.exit_code == 0, result.stderr
    assert "of 48 documents classified without their labels" in result.stdout
    assert "95% interval" in result.stdout
    assert "FSTM, 4 topics, refined with the labels; 48 of 60" in result.stdout
    new = tmp_path / "new.txt"
    new.write_text(f"{LAND}\n{SEA}\n", encoding="utf-8")
    result = cli("classify", tmp_path / "model", new, "--explain", 2)
    assert result.exit_code == 0, result.stderr
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["class"] for row in rows] == ["land", "sea"]
    assert all(word in LAND.split() for word in rows[0]["words"].split())
    assert rows[0]["words"]
    # The topics can be looked at like any other model's.
    assert cli("topics", tmp_path / "model").exit_code == 0
    assert cli("info", tmp_path / "model").exit_code == 0


def test_topics_that_nobody_named_may_be_of_the_words_alone(
    cli, write_counts, tmp_path
):
    counts, y = draw_sides()
    labels = [str(side) if d < 30 else "" for d, side in enumerate(y)]
    words = [f"w{number}" for number in range(120)]
    folder = write_counts(counts, words, labels)
    result = cli("classify", tmp_path / "model", folder, "--train")
    assert result.exit_code == 0, result.stderr
    assert f"logistic regression on {PLAIN.text}\n" in result.stdout
    assert cli("classify", tmp_path / "model", folder).exit_code == 0


def test_few_labels_take_the_graph_model(cli, labelled, options, tmp_path):
    """Six labels: topics of all documents, and an interval as wide as six are few."""
    rows = [json.loads(line) for line in labelled.read_text("utf-8").splitlines()]
    for i, row in enumerate(rows):
        row["kind"] = row["kind"] if i in (1, 2, 3, 4, 6, 7) else None
    labelled.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    result = train(cli, labelled, options, tmp_path / "model")
    assert result.exit_code == 0, result.stderr
    assert "LocallyConsistentPLSA, 4 topics of all documents, from 3" in result.stdout
    assert "logistic regression on " in result.stdout
    assert "100.0% of 6 documents" in result.stdout
    # As wide as that of three: the same six chose what to take.
    assert "(95% interval: 43.9% to 100.0%; classes are" in result.stdout
    new = tmp_path / "new.txt"
    new.write_text(f"{LAND}\n{SEA}\n", encoding="utf-8")
    shown = cli("classify", tmp_path / "model", new).stdout
    assert [row["class"] for row in csv.DictReader(io.StringIO(shown))] == [
        "land",
        "sea",
    ]
    two_phase = train(
        cli, labelled, options, tmp_path / "other", "-m", "fstm", "--no-check"
    )
    assert "refined with the labels" in two_phase.stdout
    assert "Accuracy" not in two_phase.stdout


def test_python_and_command_line_have_one_default(cli, labelled, options, tmp_path):
    cli("classify", tmp_path / "model", labelled, "--train", "--no-check", *options)
    saved = load_model_folder(tmp_path / "model")
    labels = [json.loads(line)["kind"] for line in labelled.read_text().splitlines()]
    X = np.random.default_rng(0).poisson(1.0, (60, 30))
    ours = TopicClassifier().fit(X, labels).model_
    theirs = saved.model.model_
    assert type(ours) is type(theirs)
    assert ours.components_.shape[0] == theirs.components_.shape[0]
    again = TopicClassifier().fit(X, labels).model_
    np.testing.assert_array_equal(ours.components_, again.components_)


def test_empty_documents_are_told_once(cli, labelled, options, tmp_path):
    train(cli, labelled, options, tmp_path / "model", "--no-check")
    new = tmp_path / "new.csv"
    new.write_text(f"text\n{SEA}\n7\n{LAND}\n8\n", encoding="utf-8")
    result = cli("classify", tmp_path / "model", new, "--explain", "2", "--proba")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.count("no word") == 1
    assert "2 of 4 documents" in result.stderr


def test_output_file(cli, labelled, options, tmp_path):
    train(cli, labelled, options, tmp_path / "model", "--no-check")
    new = tmp_path / "new.txt"
    new.write_text(f"{SEA}\n", encoding="utf-8")
    result = cli("classify", tmp_path / "model", new, "-o", tmp_path / "out.csv")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    header, row = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert header == "id,class"
    assert row.endswith(",sea")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--explain", "2"), "only for new documents"),
        (("-m", "lsi"), "use one of fstm, plsa, lda, local"),
    ],
    ids=["explain", "model"],
)
def test_options_that_do_not_fit_training(
    cli, labelled, options, tmp_path, more, message
):
    result = train(cli, labelled, options, tmp_path / "model", *more)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "model").exists()


def test_no_labels(cli, texts, tmp_path):
    result = cli("classify", tmp_path / "model", texts, "--train")
    assert result.exit_code == 2
    assert "have no labels" in result.stderr


def test_training_options_need_training(cli, model, texts):
    result = cli("classify", model, texts, "-k", 5)
    assert result.exit_code == 2
    assert "need --train" in result.stderr


def test_a_model_without_classes(cli, model, texts):
    result = cli("classify", model, texts)
    assert result.exit_code == 2
    assert "has no classes" in result.stderr


def test_one_class_is_none(cli, check_error, tmp_path):
    file = tmp_path / "in.csv"
    file.write_text("text,label\nred fox,x\nred wolf,\nblue sea,x\n")
    result = cli("classify", tmp_path / "model", file, "--train", "--max-df", "1.0")
    check_error(result, "fewer than two classes")
    assert not (tmp_path / "model").exists()


def test_a_classifier_saved_from_python_without_words(cli, write_counts, tmp_path):
    """Its columns have numbers only, which must be as many as the model's."""
    rng = np.random.default_rng(0)
    X = np.vstack(
        [rng.poisson([4, 4, 0, 0], (9, 4)), rng.poisson([0, 0, 4, 4], (9, 4))]
    )
    y = np.repeat(["left", "right"], 9)
    TopicClassifier(PLSA(2, random_state=0)).fit(X, y).save(tmp_path / "model")
    new = write_counts([[5, 1, 0, 0], [0, 0, 2, 9]], list("abcd"))
    result = cli("classify", tmp_path / "model", new, "--explain", 1)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "id,class,words\n0,left,w0\n1,right,w3\n"
    narrow = write_counts([[5, 1, 0]], list("abc"), name="narrow")
    result = cli("classify", tmp_path / "model", narrow)
    assert result.exit_code == 2
    assert "3 words, the model has 4" in result.stderr


def test_a_classifier_has_no_mixtures(cli, check_error, labelled, options, tmp_path):
    train(cli, labelled, options, tmp_path / "model", "--no-check")
    new = tmp_path / "new.txt"
    new.write_text(f"{SEA}\n", encoding="utf-8")
    check_error(cli("transform", tmp_path / "model", new), "topicfold classify")


def test_settings_of_a_classifier_are_one_line(cli, labelled, options, tmp_path):
    train(cli, labelled, options, tmp_path / "model", "--no-check")
    shown = cli("info", tmp_path / "model").stdout
    assert "\ufffd" not in shown
    assert "TwoPhase(base=FSTM(n_components=4, n_jobs=-1, random_state=0)" in shown
    assert "60 documents, 2 classes" in shown


def test_blocks_are_refused_before_the_work(
    cli, check_error, labelled, options, tmp_path
):
    blocks = tmp_path / "blocks"
    result = cli("convert", labelled, blocks, "--to", "blocks", *options)
    assert result.exit_code == 0, result.stderr
    result = cli("classify", tmp_path / "model", blocks, "--train", "-k", 4)
    check_error(result, "kept in blocks", f"topicfold convert {blocks}")
    assert result.stdout == ""


def test_too_few_labels_to_measure(cli, check_error, tmp_path):
    """Without the only document of a class one class is left."""
    file = tmp_path / "few.csv"
    file.write_text(f"text,label\n{LAND},land\n{LAND} fox,land\n{SEA},sea\n")
    train = ("classify", tmp_path / "model", file, "--train", "-m", "fstm", "-k", 2)
    train = (*train, "--max-df", "1.0", "--min-df", 1)
    result = cli(*train)
    check_error(result, "3 labelled documents are too few", "--no-check trains without")
    assert cli(*train, "--no-check").exit_code == 0


def test_labels_that_no_word_tells(cli, check_error, tmp_path):
    file = tmp_path / "same.jsonl"
    rows = [{"text": f"{LAND} a{i}", "label": f"class {i % 2}"} for i in range(4)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    result = cli("classify", tmp_path / "model", file, "--train", "--max-df", "1.0")
    check_error(result, "no word separates the classes")
    assert "--no-check" not in result.stderr
