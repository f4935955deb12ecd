# SPDX-License-Identifier: BSD-3-Clause
import csv

import numpy as np
import pytest

from topicfold import TopicData
from topicfold.exceptions import DataError
from topicfold.metrics import (
    rater_agreement,
    read_intrusion_sheet,
    score_intrusion,
    topic_intrusion,
    word_intrusion,
    write_intrusion_sheet,
)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return TopicData(
        topics=rng.dirichlet(np.full(60, 0.05), 8),
        vocabulary=[f"wörd{i}" for i in range(60)],
        doc_topics=rng.dirichlet(np.full(8, 0.2), 30),
    )


def fill(sheet, answers, target):
    with sheet.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row, answer in zip(rows, answers, strict=True):
        row["answer"] = answer
    with target.open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, rows[0])
        table.writeheader()
        table.writerows(rows)
    return target


def test_a_sheet_has_no_answers_and_comes_back(data, tmp_path):
    items = word_intrusion(data, random_state=3)
    sheet = write_intrusion_sheet(items, tmp_path / "sheet.csv")
    assert read_intrusion_sheet(items, sheet) == [None] * len(items)
    right = [item.answer for item in items]
    numbers = fill(sheet, [place + 1 for place in right], tmp_path / "numbers.csv")
    assert read_intrusion_sheet(items, numbers) == right
    words = [item.choices[item.answer] for item in items]
    named = fill(sheet, ["", *words[1:]], tmp_path / "named.csv")
    assert read_intrusion_sheet(items, named) == [None, *right[1:]]
    assert score_intrusion(items, read_intrusion_sheet(items, named)).precision == 1


def test_a_sheet_with_answers_is_not_overwritten(data, tmp_path):
    items = word_intrusion(data, random_state=3)
    sheet = write_intrusion_sheet(items, tmp_path / "sheet.csv")
    before = sheet.read_bytes()
    assert write_intrusion_sheet(items, sheet).read_bytes() == before
    begun = fill(sheet, [2, *[""] * (len(items) - 1)], sheet).read_bytes()
    with pytest.raises(
        DataError, match="has the answers of a rater, which would be lost"
    ):
        write_intrusion_sheet(items, sheet)
    assert sheet.read_bytes() == begun


def test_a_sheet_comes_back_from_a_spreadsheet_of_another_country(data, tmp_path):
    items = word_intrusion(data, random_state=3)
    sheet = write_intrusion_sheet(items, tmp_path / "sheet.csv")
    right = [item.answer for item in items]
    filled = fill(sheet, [place + 1 for place in right], tmp_path / "filled.csv")
    text = filled.read_text("utf-8").replace(",", ";")
    for encoding in ("cp1252", "utf-16", "utf-8-sig"):
        filled.write_bytes(text.encode(encoding))
        assert read_intrusion_sheet(items, filled) == right


def test_a_sheet_of_topics_has_the_texts(data, tmp_path):
    items = topic_intrusion(data, n_items=5, random_state=0)
    texts = [f"text {row}" for row in range(30)]
    sheet = write_intrusion_sheet(items, tmp_path / "s.csv", documents=texts)
    assert f"text {items[0].subject}" in sheet.read_text(encoding="utf-8-sig")
    more = topic_intrusion(data, n_items=9, random_state=0)
    assert read_intrusion_sheet(more, sheet) == [None] * len(more)


def test_what_does_not_fit_is_named(data, tmp_path):
    items = word_intrusion(data, random_state=3)
    sheet = write_intrusion_sheet(items, tmp_path / "sheet.csv")
    with pytest.raises(
        DataError, match="line 2: question '1' is not one of this model"
    ):
        read_intrusion_sheet(word_intrusion(data, random_state=4), sheet)
    long = tmp_path / "long.csv"
    text = sheet.read_text(encoding="utf-8-sig")
    long.write_text(text.replace("\n1,", "\n" + 5000 * "9" + ",", 1), encoding="utf-8")
    with pytest.raises(DataError, match=r"line 2: question '9{40}' is not one"):
        read_intrusion_sheet(items, long)
    odd = fill(sheet, ["7", *[""] * (len(items) - 1)], tmp_path / "odd.csv")
    with pytest.raises(DataError, match=r"line 2: the answer is '7'\. Write a number"):
        read_intrusion_sheet(items, odd)
    odd = fill(sheet, ["9" * 5000, *[""] * (len(items) - 1)], tmp_path / "odd.csv")
    with pytest.raises(DataError, match=r"line 2: the answer is '9{40}"):
        read_intrusion_sheet(items, odd)
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match="no columns question and answer"):
        read_intrusion_sheet(items, other)


def test_agreement_of_raters(data):
    items = word_intrusion(data, random_state=3)
    same = [1] * len(items)
    assert rater_agreement(items, [same, same, same]) == pytest.approx(1)
    rng = np.random.default_rng(0)
    many = items * 500
    guesses = [rng.integers(0, 6, len(many)).tolist() for _ in range(2)]
    assert rater_agreement(many, guesses) == pytest.approx(0, abs=0.05)
    assert np.isnan(rater_agreement(items, [same, [None] * len(items)]))
