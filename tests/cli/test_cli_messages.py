# SPDX-License-Identifier: BSD-3-Clause
import errno
import logging
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from contextlib import suppress

import pytest
import typer

import topicfold
from topicfold.cli.console import MessageGroup
from topicfold.exceptions import DataError


@pytest.fixture
def failing(monkeypatch):
    """Let `topicfold topics` call a function of the test."""

    def use(function):
        monkeypatch.setattr(
            "topicfold.persistence.model_folder.load_model_folder", function
        )

    return use


def raising(error):
    def fail(*args):
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (DataError("two problems:\n- a\n- b"), 2, "error: two problems: - a - b"),
        (
            FileNotFoundError(2, "No such file", "x.txt"),
            2,
            "error: x.txt: No such file. Check path, permissions and free space.",
        ),
        (
            PermissionError(13, "Permission denied", "x"),
            2,
            "error: x: Permission denied. Check path, permissions and free space.",
        ),
        (
            OSError(errno.ENOSPC, "No space left"),
            2,
            "error: No space left. Check path, permissions and free space.",
        ),
        (
            OSError(errno.EFBIG, "File too large", "x"),
            2,
            "error: x: File too large. The system limits how large a file may be: "
            "raise the limit (ulimit -f), or write to another disk.",
        ),
        (ValueError("tol must be 0 or more"), 2, "error: tol must be 0 or more"),
        (MemoryError(), 2, "error: not enough memory."),
        (DataError("escape \x1b[31m"), 2, "error: escape �[31m"),
        (KeyboardInterrupt(), 130, "error: interrupted"),
        (typer.Abort(), 130, "error: interrupted"),
    ],
)
def test_errors_are_one_line(cli, failing, error, code, line):
    failing(raising(error))
    result = cli("topics", "x")
    assert (result.exit_code, result.stderr, result.stdout) == (code, f"{line}\n", "")


def test_a_bug_says_so(cli, failing):
    failing(raising(KeyError("components")))
    result = cli("topics", "x")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: KeyError: 'components'. This is a bug")
    assert "--debug" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "args", [("--debug", "topics", "x"), ("topics", "x", "--debug")]
)
def test_debug_shows_the_traceback(cli, args):
    result = cli(*args)
    assert result.exit_code == 2
    assert result.stderr.startswith("Traceback (most recent call last)")
    assert "ModelFileError" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("error: There is no file")


def test_debug_as_a_file_name(cli, check_error, model):
    check_error(cli("transform", model, "--", "--debug"), "--debug does not exist")


def test_warnings_and_log_are_one_line_each(cli, failing):
    log = logging.getLogger("topicfold.learn")

    def talk(path):
        warnings.warn("first\n  line", UserWarning, stacklevel=1)
        warnings.warn("of no interest", DeprecationWarning, stacklevel=1)
        log.info("of no interest")
        log.warning("compiling %d kernels", 3)
        log.error("bad")
        raise DataError("end")

    failing(talk)
    assert cli("topics", "x").stderr.splitlines() == [
        "warning: first line",
        "note: compiling 3 kernels",
        "error: bad",
        "error: end",
    ]
    assert logging.getLogger("topicfold").propagate
    assert not logging.getLogger("topicfold").handlers


def test_a_record_that_cannot_be_written_ends_nothing(cli, failing):
    def talk(path):
        logging.getLogger("topicfold.learn").warning("%d kernels", "three")
        raise DataError("end")

    failing(talk)
    result = cli("topics", "x")
    assert result.exit_code == 2
    assert "--- Logging error ---" in result.stderr
    assert result.stderr.endswith("error: end\n")


@pytest.mark.slow
@pytest.mark.parametrize("module", ["typer", "numba", "topicfold.cli.fit"])
def test_control_c_while_modules_are_imported(tmp_path, module):
    code = f"""
import sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from topicfold.__main__ import run
sys.argv[1:] = ["fit", "docs", "-o", "m"]
run()
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")


def test_embedding_raises_as_usual():
    from typer.main import get_command

    from topicfold.cli.main import app

    command = get_command(app)
    assert isinstance(command, MessageGroup)
    with pytest.raises(topicfold.exceptions.ModelFileError):
        command.main(["topics", "nowhere"], standalone_mode=False)


def test_version_and_help(cli):
    version = cli("--version")
    assert version.stdout == f"topicfold {topicfold.__version__}\n"
    for args in ((), ("--help",), ("-h",)):
        result = cli(*args)
        assert result.exit_code == 0
        assert "topicfold fit reviews.txt" in result.stdout


@pytest.mark.parametrize("command", ["demo", "fit", "topics", "transform"])
def test_help_has_the_python(cli, command):
    result = cli(command, "--help")
    assert result.exit_code == 0
    assert "In Python" in result.stdout
    assert "import" in result.stdout


def test_unknown_command(cli, check_error):
    check_error(cli("topic"), "'topic'", "topicfold --help")


def test_start_is_light():
    code = (
        "import sys, topicfold.cli.main; "
        "heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'safetensors'}; "
        "sys.exit(' '.join(heavy & set(sys.modules)) or 0)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
def test_process_round_trip(shell, texts, small, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    fit = shell("fit", texts, "-o", "m", *small)
    assert fit.returncode == 0
    assert {"Saved    m", "Report   m/report.html"} <= set(fit.stdout.splitlines())
    topics = shell("topics", "m", PYTHONIOENCODING="ascii")
    assert topics.returncode == 0
    assert "fox" in topics.stdout
    assert "\x1b" not in fit.stdout + fit.stderr + topics.stdout + topics.stderr
    missing = shell("topics", "none")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr.startswith("error: ")
    assert missing.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs pipes and signals of POSIX")
def test_reader_that_goes_away(model, tmp_path):
    file = tmp_path / "many.txt"
    file.write_text("red fox\n" * 20_000)
    command = f"'{sys.executable}' -m topicfold.cli.main transform '{model}' '{file}'"
    result = subprocess.run(
        f"{command} | head -n 1",
        shell=True,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.stdout == "id,topic0,topic1\n"
    # The first run on a machine says that it compiles.
    assert not [x for x in result.stderr.splitlines() if "compiling" not in x]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs pipes and signals of POSIX")
def test_reader_that_was_gone_before_the_first_line(model, texts):
    """What is written at the very end, when the buffer is emptied, fails too."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        command = [
            sys.executable,
            "-m",
            "topicfold.cli.main",
            "transform",
            model,
            texts,
        ]
        done = subprocess.run(
            command, stdout=closed, stderr=subprocess.PIPE, timeout=600, check=False
        )
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs pipes and signals of POSIX")
def test_control_c_while_reading(tmp_path):
    pipe = tmp_path / "slow.txt"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [sys.executable, "-m", "topicfold.cli.main", "fit", str(pipe), "-o", "m"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    # Without a reader opening fails, so that a command that ended is not waited for.
    end = None
    while end is None and process.poll() is None:
        with suppress(OSError):
            end = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    assert end is not None, process.communicate()
    with os.fdopen(end, "w"):
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=600)
    assert (process.returncode, out, err) == (130, "", "error: interrupted\n")


@pytest.mark.parametrize("command", ["fit", "effects", "classify", "search"])
def test_help_is_readable_in_a_narrow_terminal(cli, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = cli(command, "--help").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    # No name is cut, and there is room beside it for a few words.
    assert not [line for line in lines if re.search(r"--[a-z-]+…", line)]
    assert "[bold]" not in text
    assert "<str>" not in text
    named = [line for line in lines if re.match(r"  (-\w, )?--[a-z-]+.*  \S", line)]
    assert len(named) > 5
    starts = [re.match(r"  (?:\S+ )+ +", line).end() for line in named]
    assert max(starts) <= 30
