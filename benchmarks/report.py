# SPDX-License-Identifier: BSD-3-Clause
"""The report: how long it takes to write, to open, and how smoothly its map moves.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.report
    TOPICFOLD_CORPORA=DIR python -m benchmarks.report --corpus ap_blei -k 20

Times are medians of some runs in one process: the fit and the report of the same
documents, so that their ratio tells more than the seconds of this machine. The
browser is a headless Chromium without a graphics card. Results:
``results/report.json`` and ``.md``.
"""

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from topicfold import LDA
from topicfold.corpus import load_folder
from topicfold.report import write_report

RESULTS = Path(__file__).parent / "results"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu"]
FRAMES = """() => {
  window.seen = [];
  const note = (at) => { seen.push(at); requestAnimationFrame(note); };
  requestAnimationFrame(note);
}"""
PAINT = """() => {
  const canvas = document.querySelector("canvas");
  const times = [];
  for (let i = 0; i < 60; i += 1) {
    canvas.scatter.left += i % 2 ? 7 : -7;
    const began = performance.now();
    canvas.redraw();
    canvas.getContext("2d").getImageData(0, 0, 1, 1);
    times.push(performance.now() - began);
  }
  return times;
}"""


def timed(action, repeats):
    """Return the median time of an action, and what it returned last."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        result = action()
        times.append(time.perf_counter() - began)
    return statistics.median(times), result


def measure_page(file, repeats):
    """Open the file in Chromium, drag its map, and return the times."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=program, args=FLAGS)
        opened = []
        for _ in range(repeats):
            page = browser.new_page(viewport={"width": 1360, "height": 900})
            page.goto(f"{file.as_uri()}#map")
            page.wait_for_selector("html.ready canvas")
            page.wait_for_timeout(300)
            mark = "performance.getEntriesByName('ready')[0].startTime"
            opened.append(page.evaluate(mark))
        page.mouse.move(500, 500)
        page.mouse.down()
        page.evaluate(FRAMES)
        for step in range(150):
            page.mouse.move(500 + 3 * (step % 50), 500 + step)
        page.mouse.up()
        frames = page.evaluate("seen")
        paints = page.evaluate(PAINT)
        browser.close()
    gaps = sorted(b - a for a, b in pairwise(frames))
    return {
        "open_ms": statistics.median(opened),
        "frames_per_second": 1000 * len(gaps) / sum(gaps),
        "slow_frame_ms": gaps[int(0.95 * len(gaps))],
        "paint_ms": statistics.median(paints),
        "slow_paint_ms": sorted(paints)[int(0.95 * len(paints))],
    }


def run(options):
    """Measure one corpus."""
    folder = Path(os.environ["TOPICFOLD_CORPORA"]) / options.corpus
    corpus = load_folder(folder)
    model = LDA(options.components, random_state=0, n_jobs=options.jobs)
    if options.max_iter:
        model.set_params(max_iter=options.max_iter)
    fit_seconds, _ = timed(lambda: model.fit(corpus.counts), 1)
    labels = corpus.labels and [label or None for label in corpus.labels]
    data = model.topic_data(
        corpus.vocabulary, labels=labels, doc_ids=corpus.ids, texts=corpus.texts
    )
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "report.html")
        seconds, _ = timed(
            lambda: write_report(data, file, counts=corpus.counts), options.repeats
        )
        result = {
            "corpus": options.corpus,
            "documents": corpus.n_documents,
            "terms": corpus.n_terms,
            "topics": options.components,
            "iterations": model.n_iter_,
            "fit_seconds": fit_seconds,
            "report_seconds": seconds,
            "bytes": file.stat().st_size,
            **measure_page(file, options.repeats),
        }
        if options.keep:
            shutil.copy(file, options.keep)
    return result


def write(results):
    """Write the table."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "report.json").write_text(json.dumps(results, indent=1) + "\n")
    lines = [
        "# The report",
        "",
        "Fit: LDA with default settings. Report: `write_report` with counts and texts. "
        "Open: from navigation to the finished page, at its map. Frames: while the map "
        "of all documents is dragged, in a headless Chromium without a graphics card; "
        "paint: one drawing of the map. Medians; slow: the 95th percentile.",
        "",
        "| corpus | documents | topics | fit s | report s | MB | open ms | frames/s "
        "| slow frame ms | paint ms | slow paint ms |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {r['corpus']} | {r['documents']:,} | {r['topics']} "
        f"| {r['fit_seconds']:.1f} | {r['report_seconds']:.1f} "
        f"| {r['bytes'] / 1e6:.2f} | {r['open_ms']:.0f} "
        f"| {r['frames_per_second']:.0f} | {r['slow_frame_ms']:.0f} "
        f"| {r['paint_ms']:.1f} | {r['slow_paint_ms']:.1f} |"
        for r in results
    ]
    (RESULTS / "report.md").write_text("\n".join(lines) + "\n")


def main():
    """Parse options and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", default="20news_bydate_raw")
    parser.add_argument("-k", "--components", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--max-iter", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--keep", help="where to keep the report")
    options = parser.parse_args()
    result = run(options)
    print(json.dumps(result, indent=1))
    stored = RESULTS / "report.json"
    known = json.loads(stored.read_text()) if stored.is_file() else []
    same = ("corpus", "topics")
    known = [r for r in known if any(r[key] != result[key] for key in same)]
    write([*known, result])


if __name__ == "__main__":
    main()
