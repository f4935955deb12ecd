# SPDX-License-Identifier: BSD-3-Clause
import csv
import io
import json

import pytest

from topicfold.persistence.model_folder import load_model_folder

FIT = ("-k", 2, "--min-df", 1, "--max-df", 1.0, "-q")


@pytest.fixture
def fitted(cli, texts, tmp_path):
    folder = tmp_path / "model"
    assert cli("fit", texts, "-o", folder, *FIT).exit_code == 0
    return folder


def test_more_documents(cli, fitted, tmp_path):
    new = tmp_path / "new.txt"
    new.write_text("a blue fish\nred fox, unheard\n", encoding="utf-8")
    before = load_model_folder(fitted)
    done = cli("update", fitted, new)
    assert done.exit_code == 0, done.stderr
    assert "2 new documents, now 8" in done.stdout
    assert "1 different) are not in the model's vocabulary yet" in done.stderr
    assert "1 new word learned" in done.stdout
    after = load_model_folder(fitted)
    assert after.texts[6:] == ["a blue fish", "red fox, unheard"]
    assert after.counts.shape == (8, before.counts.shape[1] + 1)
    assert after.vocabulary == [*before.vocabulary, "unheard"]
    assert after.model.components_.shape[1] == len(after.vocabulary)
    assert (fitted / "report.html").is_file()


def test_into_another_folder(cli, check_error, fitted, texts, tmp_path):
    done = cli("update", fitted, texts, "-o", tmp_path / "new", "-q")
    assert (done.exit_code, done.stdout) == (0, "")
    assert load_model_folder(fitted).counts.shape[0] == 6
    assert load_model_folder(tmp_path / "new").counts.shape[0] == 12
    check_error(cli("update", fitted, texts, "-o", tmp_path / "new"), "--force")


def test_a_column_that_is_not_named_again(cli, check_error, tmp_path):
    """In place, the documents would be in the model without it, for good."""
    words = ["red fox wood", "blue fish sea"]
    rows = [f"{words[i % 2]},{'ab'[i % 2]},{2000 + i}\n" for i in range(8)]
    table, model = tmp_path / "t.csv", tmp_path / "m"
    table.write_text("text,kind,when\n" + "".join(rows))
    named = ("--label", "kind", "--time", "when")
    assert cli("fit", table, "-o", model, *named, *FIT).exit_code == 0
    told = "read as a label (not used: kind, when). Name the column by --label."
    check_error(cli("update", model, table), told)
    check_error(cli("update", model, table, *named[:2]), "read as a time", "--time")
    apart = cli("update", model, table, "-o", tmp_path / "n")
    assert apart.exit_code == 0, apart.stderr
    assert "no new document has a label" in apart.stdout
    assert "no new document has a time" in apart.stdout
    plain = tmp_path / "t.txt"
    plain.write_text("red fox\nblue sea\n")  # has no columns
    assert cli("update", model, plain).exit_code == 0
    done = cli("update", model, table, *named)
    assert done.exit_code == 0, done.stderr
    assert load_model_folder(model).labels == [*"ab" * 4, "", "", *"ab" * 4]


def test_a_model_without_documents(cli, check_error, texts, tmp_path):
    folder = tmp_path / "bare"
    assert cli("fit", texts, "-o", folder, *FIT, "--no-documents").exit_code == 0
    saved = load_model_folder(folder)
    assert (saved.texts, saved.counts) == (None, None)
    check_error(cli("update", folder, texts), "saved without its documents")
    check_error(
        cli("edit", folder, "--split", "0:2", "-o", tmp_path / "x"), "--documents INPUT"
    )


def test_edits_need_no_documents_and_write_a_report(cli, fitted, tmp_path):
    edited = tmp_path / "edited"
    options = ("--split", "0:2", "--rename", "1=my name")
    done = cli("edit", fitted, *options, "-o", edited)
    assert done.exit_code == 0, done.stderr
    assert "my name" in (edited / "report.html").read_text(encoding="utf-8")
    new = tmp_path / "new.txt"
    new.write_text("a fox\n", encoding="utf-8")
    table = cli("transform", edited, new).stdout
    assert next(csv.reader(io.StringIO(table))) == [
        *("id", "topic0", "my name", "topic2"),
    ]
    shown = json.loads(cli("topics", edited, "-f", "json").stdout)
    assert "my name" in {row["name"] for row in shown}
