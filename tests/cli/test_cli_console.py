# SPDX-License-Identifier: BSD-3-Clause
"""What is shown of work under way: nothing unless a person looks on."""

import sys

import pytest

from topicfold.cli.console import progress_callbacks, show_fact, tell, working
from topicfold.learn import ProgressBar


def on_a_terminal(monkeypatch):
    """Make standard error one; no fixture, for capsys replaces the stream after it."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")


def test_a_terminal_shows_what_is_done_as_it_is_spelt(capsys, monkeypatch):
    on_a_terminal(monkeypatch)
    with working("Reading [red]x.txt …"):
        pass
    found = capsys.readouterr()
    assert "Reading [red]x.txt …" in found.err
    assert found.out == ""


def test_work_is_done_in_silence_when_asked_or_piped(monkeypatch, capsys):
    done = []
    with working("Reading"):
        done.append("piped")
    on_a_terminal(monkeypatch)
    with working("Reading", quiet=True):
        done.append("quiet")
    assert done == ["piped", "quiet"]
    assert capsys.readouterr() == ("", "")


def test_errors_of_the_work_come_through(monkeypatch):
    on_a_terminal(monkeypatch)
    with pytest.raises(ValueError, match="broken"), working("Reading"):
        raise ValueError("broken")


def test_a_fit_has_a_bar_on_a_terminal_only(monkeypatch):
    assert progress_callbacks("LDA") == []
    on_a_terminal(monkeypatch)
    assert progress_callbacks("LDA", quiet=True) == []
    (bar,) = progress_callbacks("LDA")
    assert isinstance(bar, ProgressBar)
    assert bar.description == "LDA"


def test_a_long_path_stays_in_one_line(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    path = "/".join(["folder"] * 30)
    show_fact("Saved", f"{path}\x1b[31m")
    assert capsys.readouterr().out == f"Saved    {path}\ufffd[31m\n"


def test_methods_are_called_as_on_the_command_line(capsys):
    tell("error", "it uses only the common ones. Use method='posterior'.")
    assert "Use --method 'posterior'." in capsys.readouterr().err
