# SPDX-License-Identifier: BSD-3-Clause
"""Take the pictures of the README: the report of the demo, in a browser.

Run ``make demo`` first, then ``.venv/bin/python docs/screenshot.py``. It needs the
``dev`` extra and Chromium, and writes report.png and report_map.png to docs/_static.
"""

from __future__ import annotations

import argparse
import io
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
# A report asks nobody for anything, and neither shall the browser.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


PLACES = {"report.png": "#topics", "report_map.png": "#map"}


def take(report: Path, picture: Path, place: str) -> None:
    """Save what the report shows at a place, such as ``#map``."""
    with sync_playwright() as engine:
        browser = engine.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(FLAGS)
        )
        page = browser.new_page(viewport={"width": 1180, "height": 700})
        page.goto(f"{report.resolve().as_uri()}{place}")
        page.wait_for_selector("html.ready")
        # Figures and map are drawn a frame after they have their width.
        while not page.evaluate(
            "[...document.querySelectorAll('#view .figure')].every(box =>"
            " box.childElementCount) && [...document.querySelectorAll('canvas')]"
            ".every(canvas => canvas.scatter.drawn)"
        ):
            page.wait_for_timeout(50)
        shot = page.screenshot()
        browser.close()
    # Flat colours: 128 of them make a file of a third of the size.
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(128).save(
        picture, optimize=True
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The report of the demo as a PNG.")
    parser.add_argument("--report", type=Path, default=ROOT / "demo" / "report.html")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "_static")
    chosen = parser.parse_args()
    for name, place in PLACES.items():
        take(chosen.report, chosen.folder / name, place)
