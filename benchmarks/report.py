# SPDX-License-Identifier: BSD-3-Clause
"""The report: how long it takes to write, to open, and how smoothly its map moves.

    python -m benchmarks.report --write                # planted: 100,000 documents
    TOPICFOLD_CORPORA=DIR python -m benchmarks.report --corpus 20news_bydate_raw -k 50

Times are medians of some runs in one process. For a corpus from files also the fit is
timed, so that the ratio tells more than the seconds of this machine. The browser is a
headless Chromium without a graphics card. ``--write`` puts the result into
``results/report.json`` and ``.md``.
"""

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from itertools import pairwise, product
from pathlib import Path

import numpy as np

from topicfold import LDA, TopicData
from topicfold.corpus import load_folder
from topicfold.report import write_report

RESULTS = Path(__file__).parent / "results"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu"]
FRAMES = """() => {
  window.seen = [];
  const note = (at) => { seen.push(at); requestAnimationFrame(note); };
  requestAnimationFrame(note);
}"""
# One drawing of everything; moving and zooming first move the last picture.
PAINT = """() => {
  const canvas = document.querySelector("canvas");
  const times = [];
  for (let i = 0; i < 30; i += 1) {
    canvas.scatter.zoom(i % 2 ? 1.01 : 1 / 1.01);
    const began = performance.now();
    canvas.redraw();
    canvas.getContext("2d").getImageData(0, 0, 1, 1);
    times.push(performance.now() - began);
  }
  return times;
}"""
# The topics whose names can be read: at the first sight, and at any zoom.
NAMES = """() => {
  const { map } = document.querySelector("canvas");
  const seen = [];
  for (let level = 0; level < 18; level += 1) {
    map.scatter.scale = 2 ** (level / 3);
    seen.push(map.labels.at(map.scatter.context).map((label) => label.topic.id));
  }
  return [seen[0].length, new Set(seen.flat()).size, map.labels.topics.length];
}"""
SYLLABLES = ("bcdfgklmnprstvwz", "aeiou", "lmnrstkdbg", "aeiou", "lmnrst")


def planted(n_documents, n_topics, *, n_terms=20_000, length=60, seed=0):
    """Return a record with families of ten topics; texts are words drawn from them."""
    rng = np.random.default_rng(seed)
    n_families = max(1, n_topics // 10)
    family = np.arange(n_topics) % n_families
    words = ["".join(letters) for letters in product(*SYLLABLES)][:n_terms]
    shared = rng.dirichlet([0.02] * n_terms, size=n_families)[family]
    own = rng.dirichlet([0.01] * n_terms, size=n_topics)
    common = 1 / np.arange(1, n_terms + 1)
    topics = 0.6 * own + 0.25 * shared + 0.15 * common / common.sum()
    sizes = rng.pareto(2.5, n_topics) + 0.3
    main = rng.choice(n_topics, n_documents, p=sizes / sizes.sum())
    # A document: its topic, one of the family, and two of any.
    kin = (main + n_families * rng.integers(1, 10, n_documents)) % n_topics
    others = rng.choice(n_topics, (n_documents, 2), p=sizes / sizes.sum())
    chosen = np.column_stack([main, kin, others])
    shares = rng.dirichlet([6, 1.6, 0.5, 0.5], n_documents)
    theta = np.full((n_documents, n_topics), 0.02 / n_topics, dtype=np.float32)
    for topic, share in zip(chosen.T, shares.T, strict=True):
        np.add.at(theta, (np.arange(n_documents), topic), 0.98 * share)
    lengths = 5 + rng.poisson(length, n_documents)
    document = np.repeat(np.arange(n_documents), lengths)
    drawn = rng.random(len(document))[:, None] > np.cumsum(shares, axis=1)[document]
    topic_of = chosen[document, np.minimum(drawn.sum(axis=1), 3)]
    word = np.empty(len(document), dtype=np.int64)
    for topic in range(n_topics):
        places = np.flatnonzero(topic_of == topic)
        word[places] = rng.choice(n_terms, len(places), p=topics[topic])
    tokens = np.array(words)[word]
    ends = np.cumsum(lengths)
    return TopicData(
        topics=topics.astype(np.float32),
        vocabulary=words,
        doc_topics=theta / theta.sum(axis=1, keepdims=True),
        doc_lengths=lengths,
        labels=[f"family {family[topic]}" for topic in main],
        doc_ids=[f"document {row}" for row in range(n_documents)],
        texts=[
            " ".join(tokens[end - size : end])
            for end, size in zip(ends, lengths, strict=True)
        ],
        times=1990 + rng.integers(0, 30, n_documents),
        settings={"model": "planted"},
    )


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
        opened, worked = [], []
        for _ in range(repeats):
            page = browser.new_page(viewport={"width": 1360, "height": 900})
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            page.goto(f"{file.as_uri()}#map")
            page.wait_for_selector("html.ready canvas")
            page.wait_for_timeout(300)
            mark = "performance.getEntriesByName('ready')[0].startTime"
            opened.append(page.evaluate(mark))
            metrics = session.send("Performance.getMetrics")["metrics"]
            spent = {metric["name"]: metric["value"] for metric in metrics}
            worked.append(1000 * spent["TaskDuration"])
        page.mouse.move(500, 500)
        page.mouse.down()
        page.evaluate(FRAMES)
        for step in range(150):
            page.mouse.move(500 + 3 * (step % 50), 500 + step)
        page.mouse.up()
        frames = page.evaluate("seen")
        page.evaluate("() => { seen.length = 0; }")
        for step in range(60):
            page.mouse.wheel(0, -40 if step < 30 else 40)
        zooming = page.evaluate("seen")
        paints = page.evaluate(PAINT)
        first, readable, named = page.evaluate(NAMES)
        browser.close()
    gaps = sorted(b - a for a, b in pairwise(frames))
    return {
        "zoom_frames_per_second": 1000
        * (len(zooming) - 1)
        / (zooming[-1] - zooming[0]),
        "open_ms": statistics.median(opened),
        "open_cpu_ms": statistics.median(worked),
        "frames_per_second": 1000 * len(gaps) / sum(gaps),
        "slow_frame_ms": gaps[int(0.95 * len(gaps))],
        "paint_ms": statistics.median(paints),
        "slow_paint_ms": sorted(paints)[int(0.95 * len(paints))],
        "names_at_first": first,
        "names_readable": readable,
        "names": named,
    }


def fitted(options):
    """Return the record of a corpus, its counts, and how long the fit took."""
    folder = Path(os.environ["TOPICFOLD_CORPORA"]) / options.corpus
    corpus = load_folder(folder)
    model = LDA(options.components, random_state=0, n_jobs=options.jobs)
    if options.max_iter:
        model.set_params(max_iter=options.max_iter)
    seconds, _ = timed(lambda: model.fit(corpus.counts), 1)
    labels = corpus.labels and [label or None for label in corpus.labels]
    data = model.topic_data(
        corpus.vocabulary, labels=labels, doc_ids=corpus.ids, texts=corpus.texts
    )
    return data, corpus.counts, seconds


def run(options):
    """Measure one corpus."""
    if options.corpus == "planted":
        data, counts, fit_seconds = (
            planted(options.documents, options.components),
            None,
            None,
        )
    else:
        data, counts, fit_seconds = fitted(options)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "report.html")
        seconds, _ = timed(lambda: write_report(data, file, counts=counts), 1)
        result = {
            "corpus": options.corpus,
            "documents": data.n_documents,
            "terms": data.n_terms,
            "topics": data.n_topics,
            "fit_seconds": fit_seconds,
            "report_seconds": seconds,
            "bytes": file.stat().st_size,
            **measure_page(file, options.repeats),
            "load_per_core": os.getloadavg()[0] / (os.cpu_count() or 1),
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
        "Fit: LDA with the passes and threads that the command was given "
        "(`--max-iter`, `--jobs`); simulated documents have none. Report: "
        "`write_report` with default settings. Open: from navigation to the finished "
        "page, at its map; CPU: how long its main thread worked for that, independent "
        "of other load on the machine. Frames: while the map of all documents is "
        "dragged, and while it is zoomed, in a headless Chromium without a graphics "
        "card; paint: one drawing of everything. Medians; slow: the 95th percentile. "
        "Names: topics whose name is on the map at first, at some zoom, and all topics "
        "that are the main topic of a document. Load: processes that were waiting for "
        "a core during the measurement, per core; above 1, times would be shorter on a "
        "free machine.",
        "",
        "| corpus | documents | topics | fit s | report s | MB | open ms "
        "| open CPU ms | frames/s "
        "| zoom frames/s | slow frame ms | paint ms | slow paint ms | names | load |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {r['corpus']} | {r['documents']:,} | {r['topics']} "
        f"| {'' if r['fit_seconds'] is None else format(r['fit_seconds'], '.1f')} "
        f"| {r['report_seconds']:.1f} "
        f"| {r['bytes'] / 1e6:.2f} | {r['open_ms']:.0f} "
        f"| {r['open_cpu_ms']:.0f} "
        f"| {r['frames_per_second']:.0f} | {r['zoom_frames_per_second']:.0f} "
        f"| {r['slow_frame_ms']:.0f} "
        f"| {r['paint_ms']:.1f} | {r['slow_paint_ms']:.1f} "
        f"| {r['names_at_first']}, {r['names_readable']} of {r['names']} "
        f"| {r['load_per_core']:.1f} |"
        for r in results
    ]
    (RESULTS / "report.md").write_text("\n".join(lines) + "\n")


def main():
    """Parse options and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", default="planted")
    parser.add_argument("--documents", type=int, default=100_000, help="if planted")
    parser.add_argument("-k", "--components", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--max-iter", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--keep", help="where to keep the report")
    parser.add_argument("--write", action="store_true", help="write the results")
    options = parser.parse_args()
    result = run(options)
    print(json.dumps(result, indent=1))
    if not options.write:
        return
    stored = RESULTS / "report.json"
    known = json.loads(stored.read_text()) if stored.is_file() else []
    same = ("corpus", "topics")
    known = [r for r in known if any(r[key] != result[key] for key in same)]
    known = [r for r in known if "open_cpu_ms" in r]
    write([*known, result])


if __name__ == "__main__":
    main()
