# SPDX-License-Identifier: BSD-3-Clause
"""The first minute: from ``pip install`` to topics, and what the first calls cost.

A new environment is made, topicfold is installed in it from this clone by pip (which
may have packages in its own cache), and ``topicfold fit`` and ``topicfold topics`` run
on a CSV of 7,600 documents with an empty cache of kernels. Each step has seconds of
the clock and of CPU (user and system, of all its processes): on a busy machine the
clock says little, and the CPU is what the step needs.

Every case runs in a process of its own with an empty ``NUMBA_CACHE_DIR``, then again
with the cache that it left. Seconds of CPU beside the import, so that a busy machine
changes little; what kernels were compiled is listed with the seconds of each.

    python -m benchmarks.first_minute --corpora DIR --write

DIR has ``20news_bydate_raw/docs.jsonl.gz``; without it the documents are drawn.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
N_DOCUMENTS = 7600
RESULTS = Path(__file__).parent / "results"
PREPARE = """
import json, logging, sys, time, warnings
import numpy as np
from scipy import sparse
began = time.process_time()
import topicfold
from topicfold import LDA, PLSA, TopicClassifier
from topicfold.search import TopicIndex
from numba.core import event
imported = time.process_time() - began
warnings.simplefilter("ignore")
said = []
logging.getLogger("topicfold").addFilter(lambda r: said.append(r.msg) or False)
seconds, open_ones = {}, []


class Listener(event.Listener):
    def on_start(self, event):
        open_ones.append([time.process_time(), 0.0])

    def on_end(self, event):
        began, inner = open_ones.pop()
        took = time.process_time() - began
        if open_ones:
            open_ones[-1][1] += took
        function = event.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__name__}"
        seconds[name] = seconds.get(name, 0.0) + took - inner


event.register("numba:compile", Listener())
rng = np.random.default_rng(0)
y = rng.integers(0, 4, 600)
X = sparse.csr_matrix(rng.poisson(0.05 + 0.1 * np.eye(4)[y] @ rng.random((4, 800))))
"""
REPORT = """
took = time.process_time() - began
compiling = sum("Compiling" in line for line in said)
print(json.dumps({"import": imported, "seconds": took, "said": compiling,
                  "kernels": seconds}))
"""
CASES = {
    "LDA(20).fit": "LDA(20, random_state=0).fit(X)",
    "PLSA(20).fit": "PLSA(20, random_state=0).fit(X)",
    "LDA fit and transform": "LDA(20, random_state=0).fit(X).transform(X)",
    "search": (
        "index = TopicIndex(LDA(20, random_state=0).fit(X)).add(X)\n"
        "index.query(document=0)"
    ),
    "classify": "TopicClassifier(random_state=0).fit(X, y).predict(X)",
    "classify, 20 labels": (
        "y[20:] = -1\nTopicClassifier(random_state=0).fit(X, y).predict(X)"
    ),
}


def run(code: str, cache: str) -> dict[str, Any]:
    """Run a case in a process of its own."""
    script = f"{PREPARE}\nbegan = time.process_time()\n{code}\n{REPORT}"
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def texts_of(corpora: Path | None) -> tuple[str, list[str]]:
    """Return 7,600 posts of 20 Newsgroups, or drawn texts, and what they are."""
    chance = random.Random(0)
    file = corpora and corpora / "20news_bydate_raw" / "docs.jsonl.gz"
    if file and file.is_file():
        with gzip.open(file, "rt", encoding="utf-8") as stream:
            texts = [json.loads(line)["text"] for line in stream]
        return "posts of 20 Newsgroups, raw", chance.sample(texts, N_DOCUMENTS)
    words = [f"word{i}" for i in range(20_000)]
    lengths = (chance.randint(100, 300) for _ in range(N_DOCUMENTS))
    draw = [
        " ".join(words[int(20_000 * chance.random() ** 3)] for _ in range(length))
        for length in lengths
    ]
    return "drawn documents", draw


def timed(*command: str, cache: str) -> dict[str, float]:
    """Run a command; return its seconds by the clock and of CPU."""
    used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    wall = time.perf_counter() - began
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = now.ru_utime - used.ru_utime + now.ru_stime - used.ru_stime
    return {"wall": wall, "cpu": cpu}


def from_install(corpora: Path | None) -> tuple[str, dict[str, dict[str, float]]]:
    """Return the seconds of every step from an empty environment to a table."""
    kind, texts = texts_of(corpora)
    with tempfile.TemporaryDirectory() as folder:
        file, model = Path(folder, "texts.csv"), str(Path(folder, "model"))
        with file.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([["text"], *([text] for text in texts)])
        home = Path(folder, "venv", "bin")
        cache = str(Path(folder, "kernels"))
        steps = {
            "python -m venv": (sys.executable, "-m", "venv", str(home.parent)),
            "pip install": (
                *(str(home / "python"), "-m", "pip", "install", "--quiet"),
                *("--disable-pip-version-check", str(ROOT)),
            ),
            "topicfold fit texts.csv -k 20": (
                *(str(home / "topicfold"), "fit", str(file), "-k", "20", "-o", model),
                "--no-report",
            ),
            "topicfold topics": (str(home / "topicfold"), "topics", model),
            "topicfold report": (str(home / "topicfold"), "report", model),
            "topicfold fit": (
                *(str(home / "topicfold"), "fit", str(file), "-k", "20", "-o", model),
                *("--no-report", "--force"),
            ),
        }
        found = {name: timed(*step, cache=cache) for name, step in steps.items()}
    return kind, found


def install_page(kind: str, found: dict[str, dict[str, float]]) -> list[str]:
    """Return the seconds from the installation to the first table as lines."""
    later = {"topicfold report": "then `{}`", "topicfold fit": "`{}` again"}
    counted = [name for name in found if name not in later]
    total = {key: sum(found[name][key] for name in counted) for key in ("wall", "cpu")}
    lines = [
        "## From pip install to the first table",
        "",
        f"A CSV of {N_DOCUMENTS:,} {kind}; {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f} while measured. CPU is user and system time of the "
        "step; wall time also includes other programs and waiting for files. pip may "
        "use its own cache; the cache of kernels is empty.",
        "",
        "| step | CPU s | clock s |",
        "| --- | --- | --- |",
    ]
    for name in counted:
        row = found[name]
        lines.append(f"| `{name}` | {row['cpu']:.1f} | {row['wall']:.1f} |")
    lines.append(f"| to the first table | {total['cpu']:.1f} | {total['wall']:.1f} |")
    for name, title in later.items():
        row = found[name]
        lines.append(f"| {title.format(name)} | {row['cpu']:.1f} | {row['wall']:.1f} |")
    return [*lines, ""]


def page(rows: list[dict[str, Any]], install: list[str]) -> list[str]:
    """Return the results as a page."""
    lines = [
        "# The first minute",
        "",
        *install,
        "## The first calls",
        "",
        "CPU seconds of the first call in a process, without the import: with an "
        "empty cache of kernels (cold) and with the cache that this call left (warm), "
        f"with a load of {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores. Written "
        "by `python -m benchmarks.first_minute --write`, or with `--calls` this part "
        "alone.",
        "",
        "| first call | cold s | of it compiling s | functions compiled | "
        "times said | warm s |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        kernels = row["cold"]["kernels"]
        lines.append(
            f"| {row['case']} | {row['cold']['seconds']:.1f} | "
            f"{sum(kernels.values()):.1f} | {len(kernels)} | {row['cold']['said']} | "
            f"{row['warm']['seconds']:.2f} |"
        )
    lines += ["", "## What takes longest to compile for `LDA(20).fit`", ""]
    kernels = rows[0]["cold"]["kernels"]
    for name, took in sorted(kernels.items(), key=lambda item: -item[1])[:10]:
        lines.append(f"- `{name}`: {took:.2f} s")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the results page")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--corpora", type=Path, help="folder with 20news_bydate_raw")
    parser.add_argument(
        "--calls", action="store_true", help="keep the page's part on the installation"
    )
    options = parser.parse_args()
    if options.calls:
        text = (RESULTS / "first_minute.md").read_text(encoding="utf-8")
        begin, end = text.index("## From pip"), text.index("## The first calls")
        install = [*text[begin:end].rstrip().splitlines(), ""]
    else:
        install = install_page(*from_install(options.corpora))
    print("\n".join(install), flush=True)
    rows = []
    for case in options.cases:
        code = CASES[case]
        with tempfile.TemporaryDirectory() as cache:
            rows.append(
                {"case": case, "cold": run(code, cache), "warm": run(code, cache)}
            )
        print(case, f"{rows[-1]['cold']['seconds']:.1f}", flush=True)
    lines = page(rows, install)
    print("\n".join(lines))
    if options.write:
        text = "\n".join(lines) + "\n"
        (RESULTS / "first_minute.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
