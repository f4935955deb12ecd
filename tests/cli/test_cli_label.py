# SPDX-License-Identifier: BSD-3-Clause

import csv
import json

import pytest

LAND = "red fox wolf forest deer bear run tree"
SEA = "blue fish swim deep sea wave salt whale"
OPTIONS = ("--text", "body", "--min-df", 1, "--max-df", "1.0", "--jobs", 1)


@pytest.fixture
def mails(tmp_path):
    file = tmp_path / "mails.csv"
    rows = []
    for i in range(30):
        words = (LAND if i % 2 else SEA).split()
        rows.append(" ".join(words[(i + j * 3) % 8] for j in range(6)) + f" x{i}")
    file.write_text("body\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return file


@pytest.fixture
def answers(monkeypatch):
    """Give the lines that a person would type, in order."""

    def give(*lines):
        left = iter(lines)
        asked = []

        def answer(prompt=""):
            asked.append(prompt)
            try:
                return next(left)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr("builtins.input", answer)
        return asked

    return give


def read(file):
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_answers_are_saved_at_once_and_taken_up_again(cli, mails, answers, tmp_path):
    file = tmp_path / "labels.csv"
    asked = answers("²", "9", "1", "s", "+sky", "3")
    result = cli("label", mails, file, "--classes", "land, sea", *OPTIONS)
    assert result.exit_code == 0, result.stderr
    assert [row["label"] for row in read(file)] == ["land", "sky", "sky"]
    assert "1 land  2 sea\nClass number, +new class, s = skip, q = quit: " in asked[0]
    assert "3 of 30, 3 new" in result.stdout
    assert result.stdout.count("Give the number of a class") == 2  # for ² and 9
    first = {row["id"] for row in read(file)}
    answers("land", "2", "1", "q")
    result = cli("label", mails, file, "--classes", "land", *OPTIONS)
    assert result.exit_code == 0, result.stderr
    assert "6 of 30, 3 new" in result.stdout
    rows = read(file)
    assert [row["label"] for row in rows[3:]] == ["land", "sky", "land"]
    assert len({row["id"] for row in rows}) == 6  # none is asked about twice
    assert first < {row["id"] for row in rows}


def test_classes_that_are_named_like_commands(cli, mails, answers, tmp_path):
    file = tmp_path / "labels.csv"
    answers("1", "+q", "s", "3", "2")
    result = cli("label", mails, file, "--classes", "s,land", *OPTIONS)
    assert result.exit_code == 0, result.stderr
    assert [row["label"] for row in read(file)] == ["s", "q", "q", "land"]
    next_command = result.stdout.splitlines()[-1].split()
    assert next_command[:4] == ["Next", "topicfold", "classify", "MODEL"]
    train = [str(tmp_path / "m") if w == "MODEL" else w for w in next_command[2:]]
    done = cli(*train, "-k", 3)
    assert done.exit_code == 0, done.stderr
    assert "4 of 30 documents have a label" in done.stdout


def test_classes_may_be_repeated(cli, mails, answers, tmp_path):
    asked = answers("1", "q")
    given = ("--classes", "land", "--classes", "sea, sky")
    result = cli("label", mails, tmp_path / "labels.csv", *given, *OPTIONS)
    assert result.exit_code == 0, result.stderr
    assert "1 land  2 sea  3 sky\nClass number, +new class" in asked[0]


def test_a_classifier_learns_from_the_answers(cli, check_error, mails, tmp_path):
    file = tmp_path / "labels.csv"
    lines = [f"{i},{'land' if i % 2 else 'sea'}" for i in range(8)]
    file.write_text("id,label\n" + "\n".join(lines) + "\n0,land\n0,sea\n")
    train = ("classify", tmp_path / "model", mails, "--train", "-k", 3, *OPTIONS)
    result = cli(*train, "--labels", file)
    assert result.exit_code == 0, result.stderr
    assert "8 of 30 documents have a label" in result.stdout
    new = tmp_path / "new.csv"
    new.write_text(f"body\n{LAND}\n{SEA}\nnothing known\n")
    asked = ("classify", tmp_path / "model", new, "--text", "body", "--proba")
    rows = list(csv.DictReader(cli(*asked, "--abstain", "0.6").stdout.splitlines()))
    assert [row["class"] for row in rows] == ["land", "sea", ""]
    assert float(rows[0]["probability"]) > 0.6 > float(rows[2]["probability"])
    check_error(cli(*asked, "--labels", file), "need --train")
    missing = cli(*train, "--force", "--labels", tmp_path / "none.csv")
    check_error(missing, "there is no file")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,label\n99,land\n", "labels for 1 document that the input does not have"),
        ("a,b\n1,2\n", "does not begin with the columns id,label"),
    ],
)
def test_labels_of_other_documents(
    cli, check_error, mails, answers, tmp_path, content, message
):
    file = tmp_path / "labels.csv"
    file.write_text(content)
    answers()
    check_error(cli("label", mails, file, *OPTIONS), message)


def test_documents_without_texts_are_shown_by_words(
    cli, write_counts, answers, tmp_path
):
    counts = write_counts([[3, 0, 1], [0, 2, 2], [1, 1, 0]], ["fox", "sea", "sky"])
    answers("+x", "q")
    result = cli("label", counts, tmp_path / "labels.csv", "-n", 2)
    assert result.exit_code == 0, result.stderr
    assert "1/2" in result.stdout
    assert any(word in result.stdout for word in ("fox sky", "sea sky", "fox sea"))
    assert len(read(tmp_path / "labels.csv")) == 1


@pytest.mark.parametrize("left", ["", "id,label", "id,label\r\n5,land"])
def test_a_file_that_a_killed_command_or_an_editor_left(
    cli, mails, answers, tmp_path, left
):
    file = tmp_path / "labels.csv"
    file.write_bytes(left.encode())
    answers("land")
    result = cli("label", mails, file, "--classes", "land,sea", *OPTIONS)
    if not left:
        assert "does not begin with the columns id,label" in result.stderr
        return
    assert result.exit_code == 0, result.stderr
    assert [row["label"] for row in read(file)] == ["land"] * (1 + left.count("land"))


def test_ids_that_a_file_cannot_hold(cli, check_error, tmp_path):
    rows = [{"id": f"a{i}\ud800", "text": "red fox"} for i in range(3)]
    file = tmp_path / "odd.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    words = ("--min-df", 1, "--max-df", "1.0")
    check_error(cli("label", file, tmp_path / "labels.csv", *words), "Name another")


def test_labels_that_no_word_tells_of_end_no_session(cli, answers, tmp_path):
    file = tmp_path / "same.txt"
    file.write_text("fox\nfox fox\nfox\nfox\n")
    answers("1", "2", "1", "2")
    words = ("--min-df", 1, "--max-df", "1.0", "--jobs", 1, "--classes", "a,b")
    result = cli("label", file, tmp_path / "labels.csv", *words)
    assert result.exit_code == 0, result.stderr
    assert "4 of 4, 4 new" in result.stdout
