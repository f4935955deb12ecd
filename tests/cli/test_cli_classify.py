# SPDX-License-Identifier: BSD-3-Clause
import csv
import io
import json

import pytest

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
    assert "held out" in result.stdout
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
        (("--explain", "2"), "for new documents alone"),
        (("-m", "lsi"), "use one of fstm, plsa, lda"),
    ],
    ids=["explain", "model"],
)
def test_options_that_do_not_fit_training(
    cli, labelled, options, tmp_path, more, message
):
    from typer.testing import CliRunner  # noqa: F401

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
