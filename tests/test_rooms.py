# SPDX-License-Identifier: BSD-3-Clause
"""Imports go one way between the rooms of the package, those inside functions too."""

import ast
from pathlib import Path

import networkx
import pytest

import topicfold

PACKAGE = Path(topicfold.__file__).parent
# From the ground up: a room imports only from lower floors, or from its own.
FLOORS = (
    ("exceptions", "core", "registry"),
    ("graph", "lsi", "persistence", "topic_data", "corpus", "engine", "gibbs"),
    ("steps", "sides", "metrics", "infer", "learn"),
    ("models",),
    ("choosing", "editing", "report", "search"),
    ("cli",),
)
# Public names, and old names of modules.
DOORS = {"__init__", "_version", "em", "protocols", "selection"}


def _for_types_only(tree):
    """Yield the nodes under ``if TYPE_CHECKING``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from ast.walk(node)


def _home(name):
    """Return the room of a public name."""
    return topicfold._PUBLIC.get(name, f".{name}").split(".")[1].split(":")[0]


def _imports(file):
    """Yield the rooms that a file imports from."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    skipped = set(_for_types_only(tree))
    for node in set(ast.walk(tree)) - skipped:
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = node.module.split(".")
            if parts[0] == "topicfold":
                yield from parts[1:2] or [_home(alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "topicfold" and len(parts) > 1:
                    yield parts[1]


@pytest.fixture(scope="module")
def rooms():
    """The graph of rooms; an edge knows the files that make it."""
    graph = networkx.DiGraph()
    names = {path.stem for path in PACKAGE.iterdir() if path.name != "__pycache__"}
    for file in sorted(PACKAGE.rglob("*.py")):
        place = file.relative_to(PACKAGE)
        room = place.parts[0].removesuffix(".py")
        graph.add_node(room)
        for other in _imports(file):
            if other in names and other != room:
                graph.add_edge(room, other)
                graph.edges[room, other].setdefault("files", set()).add(str(place))
    return graph


def test_no_room_imports_itself_by_way_of_others(rooms):
    circles = [
        {f"{a} → {b}": rooms.edges[a, b]["files"] for a, b in rooms.edges(circle)}
        for circle in networkx.strongly_connected_components(rooms)
        if len(circle) > 1
    ]
    assert circles == []


def test_rooms_import_only_from_lower_floors(rooms):
    floor = {room: level for level, names in enumerate(FLOORS) for room in names}
    assert set(rooms) - DOORS <= set(floor)
    upward = {
        f"{room} → {other}": data["files"]
        for room, other, data in rooms.edges(data=True)
        if room in floor and floor.get(other, 0) > floor[room]
    }
    assert upward == {}
