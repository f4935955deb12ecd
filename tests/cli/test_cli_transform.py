# SPDX-License-Identifier: BSD-3-Clause
import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from topicfold.corpus import vectorize
from topicfold.persistence.model_folder import load_model_folder

NEW = ["a red fox", "blue sea and a red zebra, zebra"]


def read_csv(text):
    header, *rows = csv.reader(io.StringIO(text))
    values = np.array([[float(v) for v in row[1:]] for row in rows])
    return header, [row[0] for row in rows], values


@pytest.fixture
def new(tmp_path):
    file = tmp_path / "new.txt"
    file.write_text("\n".join(NEW))
    return file


@pytest.fixture
def expected(model):
    saved = load_model_folder(model)
    X, _ = vectorize(NEW, vocabulary=saved.vocabulary)
    return saved.model.transform(X)


def test_csv_equals_python(cli, model, new, expected):
    result = cli("transform", model, new)
    assert result.exit_code == 0
    header, ids, values = read_csv(result.stdout)
    assert header == ["id", "topic0", "topic1"]
    assert ids == ["0", "1"]
    np.testing.assert_allclose(values, expected, rtol=1e-5)


def test_unknown_words_are_said_once(cli, model, new):
    result = cli("transform", model, new)
    note = "note: 2 of 7 words (1 different) are not in the model's vocabulary"
    assert result.stderr.startswith(note)
    assert result.stderr.count("\n") == 1


def test_csv_file(cli, check_error, model, new, tmp_path):
    deep = tmp_path / "deep" / "out.csv"
    check_error(cli("transform", model, new, "-o", deep), "there is no folder")
    assert not deep.parent.exists()
    out = tmp_path / "out.csv"
    result = cli("transform", model, new, "-o", out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert out.read_text() == cli("transform", model, new, "-o", "-").stdout


def test_npz_without_pickle(cli, model, new, tmp_path, expected):
    out = tmp_path / "out.npz"
    assert cli("transform", model, new, "-o", out).exit_code == 0
    with np.load(out, allow_pickle=False) as arrays:
        assert sorted(arrays) == ["doc_topics", "ids"]
        assert arrays["ids"].tolist() == ["0", "1"]
        np.testing.assert_array_equal(arrays["doc_topics"], expected)


def test_ids_are_kept(cli, model, tmp_path):
    file = tmp_path / "new.jsonl"
    records = [{"text": "red fox", "id": 'a,"b"'}, {"text": "sea", "id": "ü"}]
    file.write_text("\n".join(map(json.dumps, records)))
    assert read_csv(cli("transform", model, file).stdout)[1] == ['a,"b"', "ü"]


def test_empty_documents_get_the_uniform_row(cli, tmp_path, texts, small):
    folder = tmp_path / "plsa"
    assert cli("fit", texts, "-m", "plsa", "-o", folder, *small).exit_code == 0
    file = tmp_path / "new.txt"
    file.write_text("red fox\n\nthe\n")
    result = cli("transform", folder, file)
    np.testing.assert_allclose(read_csv(result.stdout)[2][1:], 0.5)
    assert result.stderr.startswith("warning: 2 of 3 documents")
    assert result.stderr.count("\n") == 1


def test_counts_of_the_same_words(cli, model, write_counts, expected):
    words = load_model_folder(model).vocabulary
    X, _ = vectorize(NEW, vocabulary=words)
    result = cli("transform", model, write_counts(X, words))
    np.testing.assert_allclose(read_csv(result.stdout)[2], expected, rtol=1e-5)


def test_counts_of_other_words(cli, check_error, model, write_counts):
    words = load_model_folder(model).vocabulary
    n = len(words)
    other = write_counts(np.ones((1, n)), [*words[:-1], "zebra"], name="other")
    check_error(
        cli("transform", model, other), "1 of the model's", words[-1], "'zebra'"
    )
    turned = write_counts(np.ones((1, n)), words[::-1], name="turned")
    check_error(cli("transform", model, turned), "another order", "column 0")
    check_error(cli("transform", model, turned, "--encoding", "utf-8"), "--encoding")


@pytest.mark.usefixtures("fake_docs")
def test_built_in_corpus(cli, check_error, model, tmp_path):
    folder = tmp_path / "m"
    assert cli("fit", "docs", "-k", 2, "--max-iter", 2, "-o", folder).exit_code == 0
    _, ids, values = read_csv(cli("transform", folder, "docs").stdout)
    assert ids[:2] == ["d0", "d1"]
    np.testing.assert_allclose(values.sum(axis=1), 1, rtol=1e-4)
    check_error(cli("transform", model, "docs"), "the vocabulary of docs")


def test_many_documents(cli, model, tmp_path):
    file = tmp_path / "new.txt"
    file.write_text("red fox\nsea\n" * 1250)
    _, ids, values = read_csv(cli("transform", model, file).stdout)
    assert ids == [str(row) for row in range(2500)]
    assert (values[::2] == values[0]).all()


def test_errors(cli, check_error, model, new, tmp_path):
    check_error(cli("transform", model, tmp_path / "no.txt"), "no.txt does not exist")
    check_error(cli("transform", tmp_path / "no", new), "no")
    check_error(cli("transform", model, new, "-o", "x.feather"), "'x.feather'", ".csv")
    check_error(cli("transform", model, new, "-o", new / "x.csv"), "new.txt")
    check_error(cli("transform", model), "INPUT")
    new.write_text("")
    check_error(cli("transform", model, new), "no documents")


def test_parquet(cli, model, new, tmp_path, expected):
    parquet = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "out.parquet"
    result = cli("transform", model, new, "-o", out)
    assert (result.exit_code, result.stdout) == (0, ""), result.stderr
    table = parquet.read_table(out).to_pydict()
    ids = table.pop("id")
    assert list(table) == [f"topic{k}" for k in range(len(table))]
    found = np.array(list(table.values())).T
    assert len(ids) == len(found)
    np.testing.assert_array_equal(found, np.asarray(expected))


def test_parquet_without_pyarrow(cli, model, new, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    result = cli("transform", model, new, "-o", tmp_path / "out.parquet")
    assert result.exit_code == 2
    assert "topicfold[parquet]" in result.stderr


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="no such file")
def test_standard_input(model, new):
    command = [sys.executable, "-m", "topicfold.cli.main", "transform", str(model), "-"]
    with new.open("rb") as stream:
        found = subprocess.run(
            command, stdin=stream, capture_output=True, text=True, check=True
        )
    _, ids, values = read_csv(found.stdout)
    assert ids == ["0", "1"]
    assert values.shape == (2, 2)
