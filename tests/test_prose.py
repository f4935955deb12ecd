# SPDX-License-Identifier: BSD-3-Clause
"""Prose: the words that CONTRIBUTING.md asks for, in pages, messages and captions."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "CONTRIBUTING.md"
pytestmark = pytest.mark.skipif(
    not RULES.is_file(), reason="CONTRIBUTING.md is not here"
)
# British spelling; names of the API, in code, have scikit-learn's.
AMERICAN = (
    r"\bcolor\b|\bcolors\b|\bneighbors?\b|\bbehavior\b|\blabeled\b|\bunlabeled\b"
    r"|\bmodeling\b|\bgray\b|\bcenter\b|\banalyz|\b(?:token|vector|normal|optim|maxim"
    r"|minim|initial|general|summar|recogn|regular)iz(?:e|es|ed|er|ing|ation)\b"
)


def _banned():
    """Read the second column of the list of words, which has regular expressions."""
    section = (
        RULES.read_text(encoding="utf-8").split("\n## Words\n")[1].split("\n## ")[0]
    )
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", section, re.MULTILINE)[2:]
    return [
        (pattern, write)
        for write, cell in rows
        for pattern in re.findall("`(.+?)`", cell)
    ]


def _prose(page):
    """Return a page without code, formulas and links' targets."""
    text = re.sub(r"<!-- setup.*?-->|^```.*?^```$", "", page, flags=re.S | re.M)
    text = re.sub(r"^    .*$|`[^`]*`|\]\([^)]*\)|<[^>]+>", "", text, flags=re.M)
    return " ".join(text.split())


def _pages():
    files = [
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        RULES,
        *ROOT.glob("docs/**/*.md"),
    ]
    for file in files:
        place = file.relative_to(ROOT).as_posix()
        if "_generated" not in place and "_build" not in place and file.is_file():
            text = file.read_text(encoding="utf-8")
            if file == RULES:
                text = re.sub(r"^\| .*$", "", text, flags=re.MULTILINE)
            yield place, _prose(text)


def _strings(tree):
    """Yield strings of code that look like sentences, and first lines of docstrings."""
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node)
            if text is not None:
                docstrings.add(id(node.body[0].value))
                yield text.split("\n\n")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                part.value if isinstance(part, ast.Constant) else "…"
                for part in node.values
            )
        elif (
            isinstance(node, ast.Constant)
            and id(node) not in docstrings
            and isinstance(node.value, str)
            and node.value.count(" ") >= 2
        ):
            yield node.value


def _sources():
    for file in sorted((ROOT / "src").rglob("*.py")):
        text = " \n ".join(_strings(ast.parse(file.read_text(encoding="utf-8"))))
        yield file.relative_to(ROOT).as_posix(), re.sub(r"`[^`]*`", "", text)
    for file in sorted((ROOT / "src").rglob("static/*.js")):
        strings = re.findall(
            r"\"[^\"\n]* [^\"\n]*\"|`[^`]* [^`]*`", file.read_text("utf-8")
        )
        yield file.relative_to(ROOT).as_posix(), " \n ".join(strings)


TEXTS = {**dict(_pages()), **dict(_sources())} if RULES.is_file() else {}


def test_the_list_is_read_and_finds_its_words():
    banned = _banned()
    assert len(banned) >= 12
    example = "You are told that 20 words a document lie side by side."
    assert sum(bool(re.search(pattern, example)) for pattern, _ in banned) >= 3
    assert re.search(AMERICAN, "neighbors of one color") is not None


@pytest.mark.parametrize(("pattern", "write"), _banned() if RULES.is_file() else [])
def test_no_text_has_it(pattern, write):
    found = [
        f"{place}: …{text[max(0, hit.start() - 40) : hit.end() + 40]}…"
        for place, text in TEXTS.items()
        for hit in re.finditer(pattern, text)
    ]
    assert found == [], f"write {write}"


def test_pages_have_british_spelling():
    found = [
        f"{place}: …{text[max(0, hit.start() - 40) : hit.end() + 40]}…"
        for place, text in TEXTS.items()
        if place.endswith(".md")
        for hit in re.finditer(AMERICAN, text)
    ]
    assert found == []
