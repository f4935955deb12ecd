# SPDX-License-Identifier: BSD-3-Clause
"""Pages that nobody types: the references and the results of the benchmarks.

``conf.py`` calls `write_all` before Sphinx reads its sources. The reference lists what
the modules name in ``__all__``, so it cannot fall behind the code.
"""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

from commands import commands_page

from topicfold.parts.together import REFUSED

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
RESULTS = ROOT / "benchmarks" / "results"

# The public modules; one without ``__all__`` shows the public names it defines itself.
MODULES = (
    "topicfold",
    "topicfold.session",
    "topicfold.corpus",
    "topicfold.corpus.blocks",
    "topicfold.graph",
    "topicfold.theta",
    "topicfold.phi",
    "topicfold.evidence",
    "topicfold.parts",
    "topicfold.learn",
    "topicfold.classify.classifier",
    "topicfold.engine.dask",
    "topicfold.metrics",
    "topicfold.choosing",
    "topicfold.effects",
    "topicfold.registry",
    "topicfold.editing",
    "topicfold.search",
    "topicfold.report",
    "topicfold.plotting",
    "topicfold.persistence",
    "topicfold.persistence.model_folder",
    "topicfold.exceptions",
)
# The hooks of sides, and where they may run.
HOOKS = {
    "mixing": "mixtures of entities (authors)",
    "evidence": "evidence (responses, links)",
    "prior": "a prior of each document (features)",
    "mask": "topics a document may use (labels)",
    "counts": "more counts (languages, citations)",
    "topics": "parts of topics (seed words)",
}
PLACES = {
    "memory": "CPU",
    "blocks": "blocks on disk, Dask",
    "gpu": "GPU",
    "streamed": "GPU, larger than its memory",
    "theta_step": "beside a θ-step of PLSA (graph)",
    "phi_step": "beside a φ-step of PLSA or LDA",
    "online": "in batches (`batch_size`, `partial_fit`)",
    "variational": "LDA by variational Bayes",
    "gibbs": "`GibbsLDA`",
    "resume": "taken up again by Resume",
}
# Modules of which only these are for users: what functions return, mostly.
SHOWN = {
    "topicfold.classify.classifier": (
        "Accuracy",
        "Explanation",
        "TopicReason",
        "WordReason",
    ),
    "topicfold.persistence.model_folder": (
        "ModelFolder",
        "load_model_folder",
        "save_model_folder",
    ),
}


def public_names(module: str) -> list[str]:
    """Return the names that the reference shows of a module."""
    loaded = importlib.import_module(module)
    listed = SHOWN.get(module) or getattr(loaded, "__all__", None)
    if listed is None:
        listed = [name for name in vars(loaded) if _defined_here(loaded, name)]
    return sorted((n for n in listed if n != "__version__"), key=str.lower)


def reference() -> dict[str, str]:
    """Return the pages of the reference: path without suffix → reST."""
    pages = {}
    for module in MODULES:
        names = public_names(module)
        pages[f"api/{module}"] = _module_page(module, names)
        for name in names:
            pages[f"api/{module}.{name}"] = _name_page(module, name)
    pages["api/index"] = _reference_index()
    return pages


def results() -> dict[str, str]:
    """Return the pages of the benchmarks and papers: path without suffix → Markdown."""
    pages = {}
    for folder, title in (("", "Benchmarks"), ("papers", "The papers' tables")):
        kind = folder or "benchmarks"
        files = sorted((RESULTS / folder).glob("*.md"))
        for file in files:
            pages[f"{kind}/{file.stem}"] = _result_page(file)
        pages[f"{kind}/index"] = _results_index(title, kind, [f.stem for f in files])
    return pages


def places_table() -> str:
    """Return the table of what runs where, in Markdown."""
    lines = [
        "| hook | " + " | ".join(PLACES.values()) + " |",
        "| --- |" + " --- |" * len(PLACES),
    ]
    for hook, what in HOOKS.items():
        cells = ["no" if (hook, place) in REFUSED else "yes" for place in PLACES]
        lines.append(f"| `{hook}`: {what} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def llms_text() -> str:
    """Return llms.txt: what topicfold is, its first lines, every page with a line."""
    start = (DOCS / "index.md").read_text(encoding="utf-8")
    about = " ".join(start.split("\n\n")[1].split())
    lines = re.search(r"^```python\n(.*?)^```$", start, re.MULTILINE | re.DOTALL)
    code = lines[1] if lines else ""
    parts = [f"# topicfold\n\n> {about}\n", f"```python\n{code}```\n"]
    for title, folder in (
        ("Start", ""),
        ("Guide", "guide"),
        ("How to", "howto"),
        ("From other libraries", "migration"),
        ("Theory", "theory"),
    ):
        parts.append(f"## {title}\n")
        parts += [_llms_line(page) for page in sorted((DOCS / folder).glob("*.md"))]
        parts.append("")
    parts.append("## Reference\n")
    generated = (
        ("API reference", "api/index", "every public class and function"),
        ("Command line", "commands", "every command and option"),
        ("Benchmarks", "benchmarks/index", "measured beside other libraries"),
    )
    for name, page, what in generated:
        parts.append(f"- [{name}](_generated/{page}.html): {what}")
    return "\n".join(parts) + "\n"


def _llms_line(page: Path) -> str:
    """Return a page's title and address, and its sections or its first sentence."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$|^<!--.*?-->$", "", text, flags=re.M | re.S)
    title = re.findall(r"^# (.+)$", text, re.MULTILINE)[0]
    about = "; ".join(re.findall(r"^## (.+)$", text, re.MULTILINE))
    if not about:
        paragraphs = [part for part in text.split("\n\n")[1:] if part.strip()]
        about = re.split(r"(?<=[.?!]) ", " ".join(paragraphs[0].split()))[0]
    about = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", about)
    place = page.relative_to(DOCS).with_suffix(".html").as_posix()
    return f"- [{title}]({place}): {about}"


def write_all(folder: Path) -> None:
    """Write all generated pages; those that are no longer made are removed."""
    pages = {f"{name}.rst": text for name, text in reference().items()}
    pages |= {f"{name}.md": text for name, text in results().items()}
    pages["commands.md"] = commands_page()
    pages["sides_places.md"] = places_table()
    pages["llms.txt"] = llms_text()
    for name, text in pages.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        # A page that did not change keeps its time: Sphinx does not read it again.
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
    pictures = _copy_pictures(folder)
    for kind in ("api", "benchmarks", "papers"):
        for file in (folder / kind).iterdir():
            if f"{kind}/{file.name}" not in {*pages, *pictures}:
                file.unlink()


def _copy_pictures(folder: Path) -> list[str]:
    """Copy the pictures that results show."""
    copied = []
    for kind, home in (("benchmarks", RESULTS), ("papers", RESULTS / "papers")):
        for file in [*home.glob("*.svg"), *home.glob("*.png")]:
            shutil.copy2(file, folder / kind / file.name)
            copied.append(f"{kind}/{file.name}")
    return copied


def _defined_here(module: ModuleType, name: str) -> bool:
    value = getattr(module, name)
    return (
        not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    )


def _heading(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n"


def _summary(value: Any) -> str:
    """Return the first paragraph of a docstring, as one line."""
    if not (inspect.isclass(value) or callable(value) or inspect.ismodule(value)):
        return ""
    first = (inspect.getdoc(value) or "").split("\n\n")[0]
    return " ".join(first.split())


def _table(rows: list[tuple[str, str]]) -> str:
    lines = [".. list-table::", "   :widths: 35 65", ""]
    for left, right in rows:
        lines += [f"   * - {left}", f"     - {right}"]
    return "\n".join(lines) + "\n"


def _toctree(entries: list[str], *, hidden: bool = True, depth: int = 1) -> str:
    options = "   :hidden:\n" if hidden else ""
    body = "\n".join(f"   {entry}" for entry in entries)
    return f".. toctree::\n   :maxdepth: {depth}\n{options}\n{body}\n"


def _module_page(module: str, names: list[str]) -> str:
    loaded = importlib.import_module(module)
    rows = [
        (f":doc:`{name} <{module}.{name}>`", _summary(getattr(loaded, name)))
        for name in names
    ]
    parts = [
        _heading(module),
        f".. py:module:: {module}\n",
        f"{_summary(loaded)}\n",
        _table(rows),
        _toctree([f"{module}.{name}" for name in names]),
    ]
    return "\n".join(parts)


def _name_page(module: str, name: str) -> str:
    value = getattr(importlib.import_module(module), name)
    full = f"{module}.{name}"
    parts = [_heading(name), f"{_summary(value)}\n"]
    parts.append(f"``from {module} import {name}``\n")
    home = _home(module, name)
    if home != module:
        parts.append(f"See :doc:`{home}.{name}`.\n")
    elif inspect.isclass(value):
        parts.append(f".. autoclass:: {full}\n")
        methods, inherited = _members(value)
        if methods:
            parts.append(_heading("Methods", "-"))
            parts += [f".. automethod:: {full}.{method}\n" for method in methods]
        if inherited:
            listed = ", ".join(f"``{method}``" for method in inherited)
            parts.append(f"From scikit-learn: {listed}.\n")
    elif inspect.isfunction(value):
        parts.append(f".. autofunction:: {full}\n")
    else:
        parts.append(_constant(name, value))
    return "\n".join(parts)


def _home(module: str, name: str) -> str:
    """Return the first module of the reference that has the same thing."""
    value = getattr(importlib.import_module(module), name)
    return next(
        other
        for other in MODULES
        if name in public_names(other)
        and getattr(importlib.import_module(other), name) is value
    )


def _constant(name: str, value: Any) -> str:
    # Rows of a registry by their names; anything else as it prints.
    if isinstance(value, tuple) and all(hasattr(item, "name") for item in value):
        listed = ", ".join(f"``{item.name}``" for item in value)
        return f"A tuple of `{type(value[0]).__name__}`: {listed}.\n"
    return f".. code-block:: python\n\n   {name} = {value!r}\n"


def _members(cls: type) -> tuple[list[str], list[str]]:
    """Return public methods that topicfold defines, and those of scikit-learn."""
    ours, inherited = [], []
    for name in sorted(n for n in dir(cls) if not n.startswith("_")):
        value = inspect.getattr_static(cls, name)
        function = value.__func__ if isinstance(value, classmethod) else value
        function = getattr(function, "fn", function)  # sklearn's available_if
        if not inspect.isfunction(function) and name not in ("set_output",):
            continue
        home = getattr(function, "__module__", "") or ""
        if home.startswith("topicfold"):
            ours.append(name)
        elif home.startswith("sklearn") and not name.endswith("_request"):
            inherited.append(name)
    return ours, inherited


def _reference_index() -> str:
    rows = [
        (f":doc:`{module} <{module}>`", _summary(importlib.import_module(module)))
        for module in MODULES
    ]
    parts = [
        _heading("API reference"),
        "Every public name. What is not listed here may change without notice; what "
        "is experimental is marked so, and listed under :doc:`/stability`.\n",
        _table(rows),
        _toctree(list(MODULES)),
    ]
    return "\n".join(parts)


def _result_page(file: Path) -> str:
    text = file.read_text(encoding="utf-8").strip()
    if not text.startswith("# "):
        text = f"# {file.stem.replace('_', ' ')}\n\n{text}"
    # Every page has one title: other headings start at the second level.
    first, *rest = text.split("\n")
    body = "\n".join(re.sub(r"^# ", "## ", line) for line in rest)
    place = file.relative_to(ROOT).as_posix()
    title = first if "peers" not in first else f"{first}: {file.stem.replace('_', ' ')}"
    return f"{title}\n\n*Generated from `{place}`.*\n{body}\n"


def _results_index(title: str, kind: str, stems: list[str]) -> str:
    about = (
        "Measured by the scripts in `benchmarks/`, peers in the same run. Speed is a "
        "ratio to a peer on one machine; read it as such."
        if kind == "benchmarks"
        else "The papers' experiments again: their figures beside ours, and where "
        "they differ."
    )
    tree = "\n".join(stems)
    return f"# {title}\n\n{about}\n\n```{{toctree}}\n:maxdepth: 1\n\n{tree}\n```\n"
