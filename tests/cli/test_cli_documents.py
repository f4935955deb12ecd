# SPDX-License-Identifier: BSD-3-Clause
"""Documents that are an option of a command are read as those that are its input."""

import csv

import pytest

LINES = [
    ("d0", "red fox and red forest", "land"),
    ("d1", "fox and wolf of the forest", "land"),
    ("d2", "blue fish swim in the sea", "sea"),
    ("d3", "sea of blue water and fish", "sea"),
    ("d4", "wolf and fox hunt in the forest", "land"),
    ("d5", "deep water and blue fish", "sea"),
]
COLUMNS = ("--text", "body", "--id", "name")
WAYS = {
    "topics": ("--coherence", ()),
    "search": ("--documents", ("fish",)),
    "edit": ("--documents", ("-o", "{}/edited", "--split", "0:2")),
    "report": ("--documents", ("-o", "{}/page.html")),
}


@pytest.fixture
def mails(tmp_path):
    """A table whose columns have names of their own."""
    file = tmp_path / "mails.csv"
    with file.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("name", "body", "kind"), *LINES])
    return file


@pytest.fixture
def fitted(cli, mails, small, tmp_path):
    result = cli("fit", mails, "-o", tmp_path / "m", "--no-report", *COLUMNS, *small)
    assert result.exit_code == 0, result.stderr
    return tmp_path / "m"


@pytest.mark.parametrize("command", WAYS)
def test_columns_can_be_named(cli, check_error, fitted, mails, tmp_path, command):
    flag, more = WAYS[command]
    line = (command, fitted, *(part.format(tmp_path) for part in more), flag, mails)
    check_error(cli(*line, "--text", "bodi"), "no column 'bodi'", "--text")
    result = cli(*line, *COLUMNS)
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize("command", WAYS)
def test_options_of_no_documents_are_refused(
    cli, check_error, fitted, tmp_path, command
):
    flag, more = WAYS[command]
    more = [part.format(tmp_path) for part in more]
    if command == "edit":
        more = [*more[:2], "--drop", "0"]
    given = ("--text", "body", "--encoding", "latin-1")
    wanted = f"--text, --encoding applies to {flag}"
    check_error(cli(command, fitted, *more, *given), wanted)


def test_classes_of_the_report_are_those_asked_for(cli, mails, small, tmp_path):
    folder, page = tmp_path / "m", tmp_path / "m" / "report.html"
    fit = cli("fit", mails, "-o", folder, *COLUMNS, "--label", "kind", *small)
    assert fit.exit_code == 0, fit.stderr
    line = ("report", folder, "--documents", mails, *COLUMNS)
    assert cli(*line).exit_code == 0
    assert '"land"' in page.read_text(encoding="utf-8")
    assert cli(*line, "--label", "name").exit_code == 0
    assert '"land"' not in page.read_text(encoding="utf-8")


def test_the_built_in_corpus_takes_no_columns(cli, check_error, fitted, fake_docs):
    result = cli("report", fitted, "--documents", "docs", "--text", "body")
    check_error(result, "--text", "the built-in corpus")
