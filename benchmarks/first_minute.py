# SPDX-License-Identifier: BSD-3-Clause
"""The first minute: what the first call of each kind costs with an empty cache.

Every case runs in a process of its own with an empty ``NUMBA_CACHE_DIR``, then again
with the cache that it left. Seconds of CPU beside the import, so that a busy machine
changes little; what kernels were compiled is listed with the seconds of each.

    python -m benchmarks.first_minute --write
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

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
compiling = sum("compiling" in line for line in said)
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


def page(rows: list[dict[str, Any]]) -> list[str]:
    """Return the results as a page."""
    lines = [
        "# The first minute",
        "",
        "Seconds of CPU of the first call in a process, beside the import: with an "
        "empty cache of kernels (cold) and with the cache that this left (warm). "
        "Written by `python -m benchmarks.first_minute --write`.",
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
    options = parser.parse_args()
    rows = []
    for case in options.cases:
        code = CASES[case]
        with tempfile.TemporaryDirectory() as cache:
            rows.append(
                {"case": case, "cold": run(code, cache), "warm": run(code, cache)}
            )
        print(case, f"{rows[-1]['cold']['seconds']:.1f}", flush=True)
    lines = page(rows)
    print("\n".join(lines))
    if options.write:
        (RESULTS / "first_minute.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
