# SPDX-License-Identifier: BSD-3-Clause
"""What differs between systems and can be checked on any: encodings, paths, processes.

Windows reads text in a code page unless an encoding is named, refuses to rename onto a
file (`os.replace` does not), starts processes by spawning, and has no ``/tmp``.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [
    file
    for folder in ("src", "docs", "examples", ".ci")
    for file in sorted((ROOT / folder).rglob("*.py"))
    if not {"_generated", "_build"} & set(file.parts)
]
TREES = {
    file.relative_to(ROOT).as_posix(): ast.parse(file.read_text(encoding="utf-8"))
    for file in SOURCES
}
# Openers of compressed streams and archives, whose members are bytes.
BINARY = {"gzip", "zipfile", "tarfile", "archive", "webbrowser", "os", "cls"}
WORKFLOWS = ROOT / ".github" / "workflows"


def _calls(names):
    for place, tree in TREES.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = node.func
            name = getattr(called, "attr", getattr(called, "id", None))
            if name in names:
                yield place, node


def _text(node):
    """Whether a call of open is in text mode, as far as its source shows."""
    modes = [
        word.value
        for word in [*node.args, *(keyword.value for keyword in node.keywords)]
        if isinstance(word, ast.Constant) and isinstance(word.value, str)
    ]
    return not any(re.fullmatch(r"[rwxa+]*b[rwxa+]*", mode) for mode in modes)


def _named(node, keyword):
    return any(given.arg in (keyword, None) for given in node.keywords)


def test_text_is_read_and_written_with_an_encoding():
    missing = [
        f"{place}:{node.lineno}"
        for place, node in _calls({"read_text", "write_text"})
        if not _named(node, "encoding") and len(node.args) < (1 + _writes(node))
        if getattr(node.func.value, "id", None) != "formatter"  # click's, of a help
    ]
    for place, node in _calls({"open"}):
        called = node.func
        owner = getattr(getattr(called, "value", None), "id", None)
        own = isinstance(called, ast.Attribute) and (
            owner in BINARY or (owner or "x")[0].isupper()
        )
        if _text(node) and not own and not _named(node, "encoding"):
            missing.append(f"{place}:{node.lineno}")
    assert missing == []


def _writes(node):
    return node.func.attr == "write_text"


def test_files_are_replaced_and_not_renamed():
    found = [
        f"{place}:{node.lineno}"
        for place, node in _calls({"rename"})
        if place.startswith("src/")
        and getattr(getattr(node.func, "value", None), "id", None) == "os"
    ]
    assert found == []


def test_no_source_names_a_folder_of_one_system():
    found = [
        f"{place}:{node.lineno}"
        for place, tree in TREES.items()
        for node in ast.walk(tree)
        if place.startswith("src/")
        and isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.match(r"/(?:tmp|home|usr|var|etc)/", node.value)
    ]
    assert found == []


def test_processes_are_not_forked():
    found = [f"{place}:{node.lineno}" for place, node in _calls({"fork", "forkpty"})]
    assert found == []


def test_csv_files_are_written_without_translated_newlines():
    missing = []
    for place, tree in TREES.items():
        source = (ROOT / place).read_text(encoding="utf-8")
        for node in ast.walk(tree):
            if not isinstance(node, ast.With):
                continue
            text = ast.get_source_segment(source, node) or ""
            opened = ast.get_source_segment(source, node.items[0].context_expr) or ""
            if "csv.writer(" in text and "open(" in opened and "newline=" not in opened:
                missing.append(f"{place}:{node.lineno}")
    assert missing == []


@pytest.mark.skipif(not WORKFLOWS.is_dir(), reason="the workflows are not here")
def test_workflows_try_every_python_and_system():
    text = (WORKFLOWS / "ci.yml").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for version in re.findall(r"Python :: (3\.\d+)", project):
        assert f'"{version}"' in text
    for system in ("ubuntu-latest", "macos-latest", "windows-latest"):
        assert system in text
    targets = set(
        re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    )
    for file in sorted(WORKFLOWS.glob("*.yml")):
        steps = file.read_text(encoding="utf-8")
        assert set(re.findall(r"\bmake ([\w-]+)", steps)) <= targets, file.name
        # Nothing may write to the repository or publish unless a job asks for it.
        assert re.search(r"^permissions:\n  contents: read$", steps, re.M), file.name
        assert "\t" not in steps


@pytest.mark.skipif(not WORKFLOWS.is_dir(), reason="the workflows are not here")
def test_a_release_is_attested_and_published_without_a_secret():
    text = (WORKFLOWS / "release.yml").read_text(encoding="utf-8")
    assert "actions/attest-build-provenance@" in text
    assert "pypa/gh-action-pypi-publish@" in text
    assert "id-token: write" in text
    assert "secrets." not in text
    assert re.search(r"^    tags: ", text, re.M)
