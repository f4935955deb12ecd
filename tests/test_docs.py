# SPDX-License-Identifier: BSD-3-Clause
"""The documentation: complete, connected, and its code runs.

A ``python`` or ``sh`` block of a page is run, after the blocks before it, unless the
line above it is ``<!-- not run: why -->``. A comment ``<!-- setup ... -->`` holds code
that makes the page's files; readers do not see it.
"""

import importlib
import os
import re
import shlex
import sys
import warnings
from pathlib import Path
from typing import get_args

import pytest
import typer
from typer.testing import CliRunner

import topicfold
from topicfold.cli.main import COMMANDS, app
from topicfold.exceptions import UnsettledWarning
from topicfold.parts.sides import Hook
from topicfold.parts.together import REFUSED
from topicfold.registry import models

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = sorted(
    page.relative_to(DOCS).as_posix()
    for page in DOCS.rglob("*.md")
    if not page.relative_to(DOCS).parts[0].startswith("_")
)
# These show fragments, which are not run.
FRAGMENTS = {"math.md", "scaling.md"}
CODE = re.compile(
    r"^<!-- setup\n(?P<setup>.*?)^-->$"
    r"|(?P<skip>^<!-- not run: .+ -->\n+)?^```(?P<kind>python|sh)\n(?P<block>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
# Tests that were copied alone have no documentation beside them.
pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="docs/ is not here")
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def generate():
    sys.path.insert(0, str(DOCS))
    try:
        return importlib.import_module("generate")
    finally:
        sys.path.remove(str(DOCS))


@pytest.fixture(scope="module")
def reference(generate):
    return generate.reference()


def _entries(text):
    for body in TOCTREE.findall(text):
        for line in body.splitlines():
            if line.strip() and not line.startswith(":"):
                yield line.strip()


def _joined(page, entry):
    place = os.path.normpath(Path("docs", page).parent / entry)
    return Path(place).as_posix().removeprefix("docs/")


def test_every_page_is_in_one_toctree():
    named = [
        f"{_joined(page, entry)}.md"
        for page in PAGES
        for entry in _entries((DOCS / page).read_text(encoding="utf-8"))
    ]
    written = [page for page in named if not page.startswith("_generated/")]
    assert sorted(written) == [page for page in PAGES if page != "index.md"]
    generated = {page for page in named if page.startswith("_generated/")}
    kinds = ["api/index", "commands", "benchmarks/index", "papers/index"]
    kinds += [f"notebooks/{f.stem}" for f in DOCS.parent.glob("examples/*.ipynb")]
    assert generated == {f"_generated/{kind}.md" for kind in kinds}


def test_llms_text_has_every_page(generate):
    text = generate.llms_text()
    for page in PAGES:
        assert f"]({page.removesuffix('.md')}.html)" in text
    assert "from topicfold import Topics" in text


def test_questions_of_the_start_page_lead_to_stories():
    start = (DOCS / "index.md").read_text(encoding="utf-8")
    stories = re.findall(r"^\| .+ \| \[.+\]\((guide/\w+\.md)\) \|$", start, re.M)
    assert len(stories) == 7
    for page in stories:
        text = (DOCS / page).read_text(encoding="utf-8")
        assert "\n## What to write in a paper\n\n> " in text, page
        assert "_generated/pictures/" in text
        assert "```python\n" in text


def test_every_public_module_is_in_the_reference(generate):
    source = Path(topicfold.__file__).parent
    packages = {
        f"topicfold.{init.parent.name}"
        for init in source.glob("*/__init__.py")
        if re.search(r"^__all__ = ", init.read_text(encoding="utf-8"), re.MULTILINE)
    }
    # Parts of models that users do not call themselves.
    assert packages - set(generate.MODULES) <= {"topicfold.engine", "topicfold.lsi"}


def test_every_public_name_has_a_page(generate, reference):
    for name in set(topicfold.__all__) - {"__version__"}:
        assert (
            f".. auto{_kind(topicfold, name)}:: topicfold.{name}\n"
            in (reference[f"api/topicfold.{name}"])
        )
    for module in generate.MODULES:
        listed = reference[f"api/{module}"]
        loaded = importlib.import_module(module)
        names = getattr(loaded, "__all__", None) or generate.public_names(module)
        for name in set(names) - {"__version__"}:
            assert f":doc:`{name} <{module}.{name}>`" in listed
            assert name in reference[f"api/{module}.{name}"]


def _kind(module, name):
    return "class" if isinstance(getattr(module, name), type) else "function"


def test_shown_names_exist_and_are_documented(generate):
    for module in generate.MODULES:
        loaded = importlib.import_module(module)
        for name in generate.public_names(module):
            value = getattr(loaded, name)
            assert not callable(value) or value.__doc__, f"{module}.{name}"


def test_methods_of_scikit_learn_are_told_from_ours(generate):
    ours, inherited = generate._members(topicfold.LDA)
    assert {"fit", "transform", "partial_fit", "perplexity"} <= set(ours)
    assert "set_output" in inherited
    assert "load" in generate._members(topicfold.TopicData)[0]
    assert "decision_function" in generate._members(topicfold.TopicClassifier)[0]


def test_every_command_and_option_is_on_the_page(generate):
    text = generate.commands_page()
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        section = text.split(f"## topicfold {name}\n")[1].split("\n## ")[0]
        first = command.help.split("\n\n")[0].split()
        assert " ".join(first) in section
        for item in command.params:
            for option in item.opts if item.param_type_name == "option" else ():
                assert f"`{option}`" in section or option in ("--help", "-h")
    assert set(group.commands) == set(COMMANDS)
    assert "[bold]" not in text


def test_every_model_is_in_the_tables():
    text = (DOCS / "guide/which_model.md").read_text(encoding="utf-8")
    for entry in models():
        assert f"`{entry.name}`" in text
        assert f"| `{entry.class_name}" in text


def test_pages_of_results_are_the_files(generate):
    pages = generate.results()
    for file in generate.RESULTS.rglob("*.md"):
        kind = "papers" if file.parent.name == "papers" else "benchmarks"
        text = pages[f"{kind}/{file.stem}"]
        kept = [line for line in file.read_text(encoding="utf-8").splitlines() if line]
        for line in kept[1:]:
            assert line.removeprefix("# ") in text
        assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1
        assert file.stem in _entries(pages[f"{kind}/index"])


def test_the_table_of_sides_has_every_hook_and_refusal(generate):
    table = generate.places_table()
    assert set(generate.HOOKS) == set(get_args(Hook))
    assert all(f"`{hook}`" in table for hook in generate.HOOKS)
    assert all(place in table for place in generate.PLACES.values())
    assert table.count("| no ") == len(REFUSED)


def test_every_page_has_its_picture_and_every_picture_its_page():
    drawn = set(
        re.findall(r'^    "(\w+)": \w+,$', (DOCS / "pictures.py").read_text(), re.M)
    )
    shown = {
        page: re.findall(r"_generated/pictures/(\w+)\.svg", (DOCS / page).read_text())
        for page in PAGES
    }
    assert {name for names in shown.values() for name in names} == drawn
    ideas = [p for p in PAGES if p.startswith("guide/") and p != "guide/index.md"]
    assert [page for page in ideas if len(shown[page]) != 1] == []


def test_links_lead_somewhere(generate):
    made = {f"{name}.rst" for name in generate.reference()}
    made |= {f"{name}.md" for name in generate.results()} | {"commands.md"}
    # conf.py points these at their generated pages.
    results = {
        file.relative_to(DOCS.parent).as_posix()
        for file in generate.RESULTS.rglob("*.md")
    }
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            place = _joined(page, target)
            if place.startswith("_generated/"):
                assert place.removeprefix("_generated/") in made, (page, target)
            elif not target.startswith(("http:", "https:")):
                assert (DOCS / place).exists() or place in results, (page, target)


def test_named_tests_exist():
    root = DOCS.parent
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        for file, name in re.findall(r"(tests/[\w/]+\.py)(?:::(\w+))?", text):
            source = (root / file).read_text(encoding="utf-8")
            assert f"def {name}" in source, (page, file, name)


def _with_code():
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        if page not in FRAGMENTS and CODE.search(text):
            yield page


def _run_commands(block):
    """Run the lines of a ``sh`` block: commands of topicfold, in this process."""
    for line in block.splitlines():
        words = shlex.split(line, comments=True)
        if not words or words[:2] == ["pip", "install"]:
            continue
        words, target = (words[:-2], words[-1]) if ">" in words else (words, None)
        assert words[0] == "topicfold", f"no rule for {line!r}"
        result = CliRunner(env={"COLUMNS": "100"}).invoke(app, words[1:])
        assert result.exit_code == 0, (line, result.output)
        assert result.stdout.strip(), line
        if target:
            Path(target).write_text(result.stdout, encoding="utf-8")


def test_tasks_take_three_lines_or_one_command():
    text = (DOCS / "tasks.md").read_text(encoding="utf-8")
    tasks = re.split(r"^## \d+\. ", text, flags=re.MULTILINE)[1:]
    assert len(tasks) == 18
    for task in tasks:
        blocks = re.findall(r"^```(python|sh)\n(.*?)^```$", task, re.M | re.S)
        assert [kind for kind, _ in blocks] in (["python", "sh"], ["python"]), task
        for kind, block in blocks:
            lines = [line for line in block.splitlines() if line.strip()]
            assert len(lines) <= (3 if kind == "python" else 1), block


@pytest.mark.parametrize("page", list(_with_code()))
def test_code_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "__page__", None)
    monkeypatch.syspath_prepend(DOCS)  # for drawn.py, which makes files
    text = (DOCS / page).read_text(encoding="utf-8")
    names = {"__name__": "__page__"}
    ran = 0
    for found in CODE.finditer(text):
        if found["skip"]:
            continue
        ran += found["block"] is not None
        if found["kind"] == "sh":
            _run_commands(found["block"])
            continue
        source = found["setup"] or found["block"]
        line = text.count("\n", 0, found.start()) + 1
        code = compile("\n" * line + source, str(DOCS / page), "exec")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UnsettledWarning)
            exec(code, names)
    assert ran >= 1
