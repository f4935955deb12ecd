# SPDX-License-Identifier: BSD-3-Clause
"""CPU time of passes, compared with that of another version of the library.

Both versions fit the same corpus, each time in a new process of one thread, one after
the other, again and again. Of the first pass, the second and so on, the shortest time
counts, and these are added: so a busy machine does little harm. Starts are given, and
no fit has converged::

    git worktree add ../before e5922eb
    python -m benchmarks.passes --before ../before/src

It fails where a pass takes longer than 1 / 0.97 times what it took before.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

MODELS = ("PLSA", "CVB0", "LapPLSI", "FeatureLDA", "SupervisedLDA")
SIZES = (20, 100)
LEAST = 0.97
PASSES = 20


class Clock:
    """Callback: CPU time at the start and after each pass."""

    def on_start(self, state):
        self.times = [time.process_time()]

    def on_iteration(self, state):
        self.times.append(time.process_time())

    def on_end(self, state):
        pass


def make_model(name, n_topics, options):
    import topicfold

    if name == "CVB0":
        return topicfold.LDA(n_topics, learn_priors=False, **options)
    if name == "LapPLSI":
        return topicfold.LaplacianPLSA(n_topics, **options)
    return getattr(topicfold, name)(n_topics, **options)


def measure(name: str, n_topics: int) -> list[float]:
    """Return the CPU seconds of passes in this process, the shortest of three fits."""
    from benchmarks.memory import N_TERMS, make_corpus

    X = make_corpus(3000)
    rng = np.random.default_rng(0)
    start = rng.dirichlet(np.ones(N_TERMS), n_topics).astype(np.float32)
    known = {
        "FeatureLDA": {"features": rng.normal(size=(3000, 3))},
        "SupervisedLDA": {"y": rng.normal(size=3000)},
    }.get(name, {})
    found = []
    for _ in range(4):  # the first compiles
        clock = Clock()
        options = {"init": start, "max_iter": PASSES, "tol": 0.0, "n_jobs": 1}
        model = make_model(name, n_topics, {**options, "callbacks": [clock]})
        model.fit(X, **known)
        found.append(np.diff(clock.times))
    return np.min(found[1:], axis=0).tolist()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--child", nargs=2, metavar=("MODEL", "TOPICS"))
    args = parser.parse_args()
    if args.child:
        warnings.simplefilter("ignore")
        print(json.dumps(measure(args.child[0], int(args.child[1]))))
        return 0
    now = Path(__file__).parents[1] / "src"
    print("| model | K | before (ms) | now (ms) | ratio |\n|---|---|---|---|---|")
    slow = False
    for name in args.models:
        for n_topics in SIZES:
            best = {args.before: np.inf, now: np.inf}
            for source in [args.before, now] * args.rounds:
                times = _child(source, name, n_topics)
                best[source] = np.minimum(best[source], times)
            before, after = (1000 * np.mean(best[place]) for place in best)
            slow |= before / after < LEAST
            print(
                f"| {name} | {n_topics} | {before:.2f} | {after:.2f} "
                f"| {before / after:.2f} |",
                flush=True,
            )
    return int(slow)


def _child(source: Path, name: str, n_topics: int) -> list[float]:
    """Return what a process with these sources measures."""
    command = [sys.executable, "-m", "benchmarks.passes", "--child", name]
    here = Path(__file__).parents[1]
    path = os.pathsep.join([str(source.resolve()), str(here)])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, str(n_topics)],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    seconds: list[float] = json.loads(done.stdout.splitlines()[-1])
    return seconds


if __name__ == "__main__":
    sys.exit(main())
