# SPDX-License-Identifier: BSD-3-Clause
"""The README as a script: every line of its blocks runs, in order, in an empty folder.

Lines that set up the machine or run this very suite are not run but checked, by the
rules of `INSTEAD`. ``.ci/run`` runs those for real.
"""

import importlib
import re
import shlex
import struct
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

import topicfold
from topicfold.cli.main import app
from topicfold.exceptions import UnsettledWarning

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
pytestmark = pytest.mark.skipif(not README.is_file(), reason="no README here")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _make(target):
    """A line ``make x``: the target is there, and make can follow it."""
    done = subprocess.run(
        ["make", "--dry-run", target],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _demo():
    # The command itself runs in tests/cli/test_cli_demo.py.
    assert "topicfold demo --output demo" in _make("demo")


def _test():
    assert "-m pytest" in _make("test")


INSTEAD = {
    "make demo": _demo,
    "make test": _test,
    # These tests run inside an environment already.
    ". .venv/bin/activate": lambda: None,
}


def _blocks(text):
    return BLOCK.findall(text)


def _lines(block):
    for line in block.splitlines():
        bare = re.sub(r"\s+# .*$", "", line).strip()
        if bare and not bare.startswith("#"):
            yield bare


def _run_line(line):
    """Run one line of a bash block; a plain topicfold command in this process."""
    if line in INSTEAD:
        INSTEAD[line]()
        return
    words = shlex.split(line)
    if words[0] == "topicfold":
        result = CliRunner(env={"COLUMNS": "100"}).invoke(app, words[1:])
        assert result.exit_code == 0, (line, result.output)
        assert result.output.strip(), line
        return
    # Nothing else may install, fetch or remove: only small things of the shell.
    assert words[0] in {"echo", "cat", "mkdir"}, f"no rule for {line!r}"
    subprocess.run(["bash", "-euc", line], check=True, timeout=600)


def _run_python(source, names):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UnsettledWarning)
        exec(compile(source, str(README), "exec"), names)


def test_every_block_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ran = []
    names = {"__name__": "__readme__"}
    for language, block in _blocks(README.read_text(encoding="utf-8")):
        assert language in {"bash", "python"}, f"a block of {language!r} has no rule"
        if language == "python":
            _run_python(block, names)
        else:
            for line in _lines(block):
                _run_line(line)
        ran.append(language)
    assert sorted(set(ran)) == ["bash", "python"]
    # What the text says that the commands leave behind.
    assert (tmp_path / "model" / "report.html").is_file()
    assert (tmp_path / "better").is_dir()


def test_a_line_that_fails_is_seen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError):
        _run_line("topicfold topics nowhere")
    with pytest.raises(AssertionError, match="no rule"):
        _run_line("pip install something")
    with pytest.raises(AssertionError):
        _make("no-such-target")
    assert list(_lines("a 'b # c'\n# d\ntopicfold x  # e\n"))[1:] == ["topicfold x"]


def test_three_lines_are_three():
    text = README.read_text(encoding="utf-8")
    block = next(text for kind, text in _blocks(text) if kind == "python")
    assert len([line for line in block.splitlines() if line.strip()]) == 3


def test_named_files_and_targets_exist():
    text = README.read_text(encoding="utf-8")
    prose = BLOCK.sub("", text)
    for name in re.findall(r"`((?:docs|benchmarks|examples)/[\w./]*)`", prose):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"`([A-Z]+\.md)`", prose):
        assert (ROOT / name).is_file(), name
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make\s+([\w-]+)`", prose):
        assert f"\n{target}:" in makefile, target


def test_every_model_is_in_the_table():
    text = README.read_text(encoding="utf-8")
    table = text.split("\n## Models\n")[1].split("\n## ")[0]
    for name in topicfold.__all__:
        value = getattr(topicfold, name)
        if isinstance(value, type) and hasattr(value, "fit"):
            assert re.search(rf"^\| `{name}\b", table, re.MULTILINE), name
    for name in re.findall(r"^\| `(\w+)", table, re.MULTILINE):
        assert hasattr(topicfold, name)


def test_the_pictures_are_there_and_small():
    names = re.findall(r"!\[[^\]]{20,}\]\(([^)]+)\)", README.read_text("utf-8"))
    assert len(names) == 2
    for name in names:
        raw = (ROOT / name).read_bytes()
        assert raw.startswith(b"\x89PNG")
        width, height = struct.unpack(">II", raw[16:24])
        assert width >= 800
        assert height >= 400
        assert len(raw) < 250_000


def test_numbers_are_those_of_the_results():
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        tables = importlib.import_module("readme_tables")
    finally:
        sys.path.remove(str(ROOT / "docs"))
    text = README.read_text(encoding="utf-8")
    assert tables.put_in(text) == text, "run: python docs/readme_tables.py"
    assert re.search(r"\| topicfold PLSA \| 0\.\d+ \| 0\.\d+ \|", text)
    with pytest.raises(ValueError, match="no '<!-- passes"):
        tables.put_in("nothing")


def test_the_measuring_command_is_understood():
    text = " ".join(README.read_text(encoding="utf-8").split())
    (command,) = re.findall(r"`python -m benchmarks\.peers ([^`]+)`", text)
    options = importlib.import_module("benchmarks.peers.cli")._parser()
    chosen = options.parse_args(shlex.split(command))
    assert chosen.mode == ["passes", "target"]
