# SPDX-License-Identifier: BSD-3-Clause
"""The notebooks of examples/ as pages: run when the documentation is built.

A page has the cells with what they gave: tables, figures, the report in a frame. A
notebook is run again when it or topicfold's version has changed.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import topicfold

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SECONDS = 300


def run(file: Path) -> Any:
    """Return a notebook after all its cells were run; an error in one is raised."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(file, as_version=4)
    options = {
        "timeout": SECONDS,
        "resources": {"metadata": {"path": str(file.parent)}},
    }
    NotebookClient(notebook, kernel_name="python3", **options).execute()
    return notebook


def page(notebook: Any, name: str, pictures: Path) -> str:
    """Return a notebook that was run as Markdown; its pictures are written beside."""
    parts = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for place, output in enumerate(cell.get("outputs", ())):
            parts.append(_shown(output, pictures / f"{name}_{number}_{place}.png"))
    return "\n\n".join(part for part in parts if part) + "\n"


def _shown(output: Any, picture: Path) -> str:
    """Return an output of a cell: the richest form that it has."""
    if output.output_type == "stream":
        return _fenced("text", output.text) if output.name == "stdout" else ""
    data = output.get("data", {})
    if "image/png" in data:
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_bytes(base64.b64decode(data["image/png"]))
        return f"![Figure drawn by the cell above.]({picture.name})"
    if "text/html" in data:
        return _fenced(
            "{raw} html", f'<div class="cell-output">{data["text/html"]}</div>'
        )
    return _fenced("text", data.get("text/plain", ""))


def _fenced(kind: str, text: str) -> str:
    return f"``````{kind}\n{text.rstrip()}\n``````" if text.strip() else ""


def write_all(folder: Path) -> None:
    """Write the pages of all notebooks that have changed."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted(EXAMPLES.glob("*.ipynb")):
        state = hashlib.sha256(file.read_bytes() + topicfold.__version__.encode())
        target, stamp = folder / f"{file.stem}.md", folder / f"{file.stem}.state"
        known = stamp.exists() and stamp.read_text("utf-8") == state.hexdigest()
        if not (known and target.exists()):
            target.write_text(page(run(file), file.stem, folder), encoding="utf-8")
            stamp.write_text(state.hexdigest(), encoding="utf-8")
