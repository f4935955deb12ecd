# SPDX-License-Identifier: BSD-3-Clause
"""Print the oldest versions that pyproject.toml allows, as constraints for pip.

``make test-oldest`` installs with them: ``name>=version`` becomes ``name==version``.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

# Tools that check or draw but never run beside a user's code may be of any version.
TOOLS = {"ruff", "mypy", "playwright", "hatchling"}
# Of the time of the oldest typer and matplotlib: later ones deprecate what those use.
COMPANIONS = {"click": "8.1.8", "pyparsing": "3.1.4"}
BOUND = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,-]+\])?>=(?P<version>[\w.]+)")


def oldest(pyproject: Path) -> dict[str, str]:
    """Return the lower bound of every dependency of users and of tests."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"]]
    for extra, needed in project["optional-dependencies"].items():
        lines += [] if extra in ("docs", "bench", "gpu") else needed
    bounds: dict[str, str] = {}
    for line in lines:
        found = BOUND.fullmatch(line)
        if found is None:
            raise SystemExit(f"{pyproject}: {line!r} has no lower bound ('name>=1.2').")
        name, version = found["name"], found["version"]
        if bounds.setdefault(name, version) != version:
            raise SystemExit(f"{pyproject}: {name} has two lower bounds.")
    kept = {name: bounds[name] for name in bounds if name not in TOOLS}
    return dict(sorted({**kept, **COMPANIONS}.items()))


if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent
    for name, version in oldest(root / "pyproject.toml").items():
        sys.stdout.write(f"{name}=={version}\n")
