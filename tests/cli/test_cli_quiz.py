# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from typer.testing import CliRunner

from topicfold import PLSA
from topicfold.cli.main import app
from topicfold.metrics import topic_intrusion, word_intrusion
from topicfold.persistence.model_folder import load_model_folder, save_model_folder


@pytest.fixture
def ask():
    def run(*args, answers):
        return CliRunner().invoke(app, ["quiz", *map(str, args)], input=answers)

    return run


def test_right_answers_score_full(model, ask):
    data = load_model_folder(model).topic_data()
    items = word_intrusion(data, n_words=5, n_items=10, random_state=0)
    assert items
    answers = "".join(f"{item.answer + 1}\n" for item in items)
    result = ask(model, answers=answers)
    assert result.exit_code == 0, result.output
    assert f"{len(items)} of {len(items)} found (100%)" in result.output
    assert "guessing would find 17%" in result.output
    assert "Unclear" not in result.output


def test_wrong_answers_name_the_topics(model, ask):
    data = load_model_folder(model).topic_data()
    (item,) = word_intrusion(data, n_words=5, n_items=1, random_state=0)
    wrong = 1 if item.answer else 2
    result = ask(model, "-n", 1, answers=f"nonsense\n99\n{wrong}\n")
    assert "0 of 1 found (0%)" in result.output
    assert f"No, it was {item.choices[item.answer]}." in result.output
    assert f"topics {item.subject} (" in result.output


@pytest.mark.parametrize("answers", ["q\n", "", "s\nq\n"])
def test_it_can_be_left_at_any_time(model, ask, answers):
    result = ask(model, answers=answers)
    assert result.exit_code == 0
    assert "no question was answered" in result.output


def test_topics_of_documents(model, ask):
    data = load_model_folder(model).topic_data()
    assert np.ptp(data.doc_topics, axis=1).max() > 0
    result = ask(model, "--kind", "topics", "-n", 2, answers="1\n1\n")
    assert result.exit_code == 0, result.output
    assert "Which topic is not in the document" in result.output
    assert "of 2 found" in result.output


def test_no_model_is_an_error(cli, check_error, tmp_path):
    check_error(cli("quiz", tmp_path / "nothing"), "nothing")


def test_documents_are_shown_with_the_questions_about_them(ask, tmp_path):
    X = np.kron(np.eye(3, dtype=int), np.full((2, 2), 4)) + 1
    model = PLSA(3, max_iter=20, random_state=0).fit(X)
    texts = [f"number\n {d} of\x1b[31m them" for d in range(6)]
    save_model_folder(
        model, tmp_path, texts=texts, doc_ids=[f"id{d}" for d in range(6)]
    )
    result = ask(tmp_path, "--kind", "topics", "-n", 1, answers="q\n")
    assert result.exit_code == 0, result.output
    data = load_model_folder(tmp_path).topic_data()
    (item,) = topic_intrusion(data, n_topics=2, n_items=1, random_state=0)
    assert f"number {item.subject} of\ufffd[31m them" in result.output
    assert f"Which topic is not in the document id{item.subject}?" in result.output


def test_a_model_without_questions_says_so(cli, check_error, tmp_path):
    model = PLSA(1, max_iter=2, random_state=0).fit([[2, 1], [1, 3]])
    save_model_folder(model, tmp_path)
    check_error(cli("quiz", tmp_path), "1 topics, 2 words", "for a question")


def test_a_sheet_for_raters_and_its_score(cli, model, tmp_path):
    sheet = tmp_path / "sheet.csv"
    made = cli("quiz", model, "--sheet", sheet)
    assert made.exit_code == 0, made.output
    assert "number of the intruder into the column answer" in made.stdout
    data = load_model_folder(model).topic_data()
    items = word_intrusion(data, n_words=5, random_state=0)
    lines = sheet.read_text(encoding="utf-8-sig").splitlines()
    assert len(lines) == len(items) + 1
    assert lines[0] == "question,1,2,3,4,5,6,answer"
    raters = []
    for name, wrong in (("ann", 0), ("ben", 1)):
        answers = [
            (item.answer + (row < wrong)) % 6 + 1 for row, item in enumerate(items)
        ]
        text = [
            lines[0],
            *(f"{line}{a}" for line, a in zip(lines[1:], answers, strict=True)),
        ]
        raters.append(tmp_path / f"{name}.csv")
        raters[-1].write_text("\n".join(text), encoding="utf-8")
    scored = cli("quiz", model, "--score", raters[0], "--score", raters[1])
    assert scored.exit_code == 0, scored.output
    n = len(items)
    assert f"{n} of {n} found\n" in scored.stdout
    assert f"{2 * n - 1} of {2 * n} found" in scored.stdout
    assert "kappa 0." in scored.stdout
    both = cli("quiz", model, "--score", raters[0], "--sheet", sheet)
    assert (
        "--sheet writes questions, and --score reads answers. Give one of them."
        in both.stderr
    )
    assert "there is no file" in cli("quiz", model, "--score", tmp_path / "no").stderr


def test_a_sheet_without_answers(cli, model, tmp_path):
    cli("quiz", model, "--sheet", tmp_path / "ann.csv")
    scored = cli("quiz", model, "--score", tmp_path / "ann.csv")
    assert scored.exit_code == 0, scored.stderr
    assert scored.stdout.count("no question was answered") == 2
