# SPDX-License-Identifier: BSD-3-Clause
"""Plain tables fit the terminal and hide nothing without saying so."""

import pytest

from topicfold.core.tables import Table, text_table

LONG = "Container for the Philox pseudo-random number generator, " * 3
ROWS = [
    {"document": "numpy.random.Philox", "share": 0.98, "title": LONG, "text": LONG},
    {"document": "short", "share": 0.5, "title": "a title", "text": "a text"},
]


@pytest.mark.parametrize("width", [60, 80, 100, 160, 300, 1000])
def test_texts_are_readable_at_any_width(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = repr(Table(ROWS)).splitlines()
    assert max(map(len, lines)) <= width
    shown = " ".join(" ".join(lines).split())
    # More than a few letters of the passage, beside its row or below it.
    assert LONG[:50] in shown
    assert "a text" in shown
    assert "numpy.random.Philox" in shown


def test_a_row_that_fits_is_one_line():
    assert text_table(ROWS[1:], width=60).splitlines()[1] == (
        "short       0.5  a title  a text"
    )


def test_columns_of_numbers_that_are_not_shown_are_counted():
    rows = [
        {"period": f"year {year}"} | {f"{k}: topic": 0.01 * k for k in range(20)}
        for year in range(2000, 2030)
    ]
    lines = text_table(rows, width=80).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("period     0: topic  1: topic")
    shown = lines[0].count("topic")
    assert lines[-1] == f"… and {20 - shown} more columns; to_frame() has all"


def test_texts_are_cut_before_numbers_are_left_out():
    effect = "treatment: 1 - 0 (pid_rep = 1)"
    rows = [
        {"topic": "0", "words": "immigration, illegal", "effect": effect, "p": p}
        for p in (0.25, 0.5)
    ]
    text = text_table(rows, width=50)
    assert text.splitlines()[1].endswith("0.25")
    assert max(map(len, text.splitlines())) <= 50
    assert "more column" not in text


def test_rows_become_columns_where_more_of_them_fit():
    names = [f"{k}: a name of a topic" for k in range(20)]
    rows = [
        {"class": name} | {topic: 0.01 * k for k, topic in enumerate(names)}
        for name in ("sport", "politics", "weather")
    ]
    head, *lines = text_table(rows, width=80).splitlines()
    assert head.split() == ["sport", "politics", "weather"]
    assert len(lines) == 20
    assert lines[7].split() == [*names[7].split(), "0.070", "0.070", "0.070"]


def test_names_that_begin_alike_stay_different():
    names = ["talk.politics.misc", "talk.politics.mideast", "sci.space"]
    rows = [
        {"class": name} | {f"{k}: a name of a topic": 0.01 for k in range(3)}
        for name in [*names, *(f"class {k}" for k in range(30))]
    ]
    lines = text_table(rows, width=80).splitlines()
    assert max(map(len, lines)) <= 80
    assert len({line.split("  ")[0] for line in lines}) == len(lines)


def test_a_stranger_moves_no_cursor():
    assert "\x1b" not in text_table(
        [{"a": "x\x1b[2J" * 30, "b": "\x1b" * 90}], width=40
    )
