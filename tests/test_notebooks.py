# SPDX-License-Identifier: BSD-3-Clause
"""The notebooks of examples/ run from top to bottom, and become pages."""

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
pytestmark = pytest.mark.skipif(
    not NOTEBOOKS or not (ROOT / "docs").is_dir(), reason="no notebooks here"
)


@pytest.fixture(scope="module")
def notebooks():
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return importlib.import_module("notebooks")
    finally:
        sys.path.remove(str(ROOT / "docs"))


@pytest.mark.filterwarnings("ignore")  # of Jupyter's own packages
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_every_cell_runs_and_shows_something(notebooks, file, tmp_path):
    done = notebooks.run(file)
    kinds = {
        kind
        for cell in done.cells
        for output in cell.get("outputs", ())
        for kind in output.get("data", {})
    }
    assert {"text/html", "image/png"} <= kinds
    page = notebooks.page(done, file.stem, tmp_path)
    assert page.startswith("# ")
    assert "<table>" in page
    assert list(tmp_path.glob("*.png"))
    if file.stem == "first_look":
        assert "<iframe srcdoc=" in page


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_notebooks_are_stored_without_outputs_and_listed(file):
    nbformat = pytest.importorskip("nbformat")
    cells = nbformat.read(file, as_version=4).cells
    assert not any(cell.get("outputs") for cell in cells)
    listed = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert f"`{file.name}`" in listed
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert f"_generated/notebooks/{file.stem}\n" in gallery
