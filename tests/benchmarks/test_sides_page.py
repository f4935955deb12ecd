# SPDX-License-Identifier: BSD-3-Clause
"""The page of what holds of the sides says what their tables say."""

from benchmarks import sides


def test_the_page_is_made_from_the_tables():
    written = (sides.RESULTS / "sides.md").read_text("utf-8")
    assert written == sides.page()


def test_a_promise_that_fails_is_said(monkeypatch):
    tables = sides.tables("sides_labels")
    tables[0][0]["LDA ÷ LabeledLDA"] = "3.0"
    others = sides.tables
    monkeypatch.setattr(
        sides, "tables", lambda name: tables if name == "sides_labels" else others(name)
    )
    _, told, holds = next(sides.labels())
    assert not holds
    assert told.startswith("3 to ")
