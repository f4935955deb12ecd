# SPDX-License-Identifier: BSD-3-Clause
"""Rooms (the first folder, or a module of the package's root) import in one direction.

Imports inside functions count, those for type checkers do not.
"""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import topicfold

PACKAGE = Path(topicfold.__file__).resolve().parent
# What the rooms of each line may never import: everything on a later line.
LAYERS = [
    {"exceptions", "core"},
    {"corpus", "metrics", "graph", "persistence", "topic_data"},
    {"engine"},
    {"parts"},
    {"theta", "phi", "evidence"},
    {"learn", "infer"},
    {"models"},
    {"classify"},
    {"choosing", "effects", "report", "search", "plotting", "session", "cli"},
]
# (importer, imported): known, and to go.
KNOWN_EXCEPTIONS: set[tuple[str, str]] = set()


def _imports(source):
    """Yield the modules that a file imports, those for type checkers aside."""
    tree = ast.parse(source)
    aside = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            aside.update(id(inner) for inner in ast.walk(node))
    for node in ast.walk(tree):
        if id(node) in aside:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
            if node.module == "topicfold":
                yield from (f"topicfold.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _edges(package):
    """Return, for each room, the rooms that it imports."""
    edges = {}
    for path in package.rglob("*.py"):
        room = path.relative_to(package).parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        found = edges.setdefault(room, set())
        for name in _imports(path.read_text(encoding="utf-8")):
            parts = name.split(".")
            if parts[0] == package.name and len(parts) > 1 and parts[1] != room:
                found.add(parts[1])
    # `from topicfold import PLSA` names no room.
    return {room: found & edges.keys() for room, found in edges.items()}


def _cycle(edges):
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_modules_named_in_docstrings_exist():
    named = re.compile(r"``([a-z]+)\.([a-z_]+)``")
    gone = [
        f"{path.name}: {room}.{module}"
        for path in PACKAGE.rglob("*.py")
        for room, module in named.findall(path.read_text(encoding="utf-8"))
        if (PACKAGE / room).is_dir() or room in {"sides", "steps"}  # rooms once
        if not list((PACKAGE / room).glob(f"{module}*"))
        if module not in {"html", *vars(import_module(f"topicfold.{room}"))}
    ]
    assert gone == []


def test_the_map_in_contributing_is_the_tree():
    text = (PACKAGE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]*) \| ([^|]*) \|$", text, re.MULTILINE)
    rooms = {
        name: holds for names, holds in rows for name in re.findall(r"`(\w+)/`", names)
    }
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert rooms.keys() == folders
    modules = {path.name for path in PACKAGE.glob("[a-z]*.py")}
    assert modules <= {
        name for names, _ in rows for name in re.findall(r"`(\S+)`", names)
    }
    for name, holds in rooms.items():
        for file in re.findall(r"`(\w+(?:\.py|/))`", holds):
            places = [PACKAGE / room / file for room in (name, "learn")]
            assert any(place.exists() for place in places), f"{name}: {file}"


def test_no_two_rooms_import_each_other_even_by_detours():
    edges = _edges(PACKAGE)
    assert len(edges) > 10
    for importer, imported in KNOWN_EXCEPTIONS:
        assert imported in edges[importer], "no longer so: take it off the list"
        edges[importer].discard(imported)
    assert _cycle(edges) == []


def test_no_room_imports_one_above_it():
    edges = _edges(PACKAGE)
    level = {room: n for n, rooms in enumerate(LAYERS) for room in rooms}
    assert set(level) <= set(edges)
    upwards = {
        (room, other)
        for room, found in edges.items()
        for other in found
        if level.get(room, len(LAYERS)) < level.get(other, 0)
    }
    assert upwards <= KNOWN_EXCEPTIONS


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import topicfold.engine.cpu", ["topicfold.engine.cpu"]),
        ("from topicfold.parts import x", ["topicfold.parts"]),
        ("from topicfold import theta", ["topicfold", "topicfold.theta"]),
        ("def f():\n    from topicfold.learn import g", ["topicfold.learn"]),
        ("if TYPE_CHECKING:\n    import topicfold.models", []),
    ],
)
def test_imports_are_found(source, expected):
    assert list(_imports(source)) == expected


def test_a_detour_is_a_cycle(tmp_path):
    package = tmp_path / "topicfold"
    for room, other in (("a", "b"), ("b", "c"), ("c", "a")):
        (package / room).mkdir(parents=True)
        text = f"def f():\n    import topicfold.{other}.x\n"
        (package / room / "x.py").write_text(text, encoding="utf-8")
    assert set(_cycle(_edges(package))) == {"a", "b", "c"}
