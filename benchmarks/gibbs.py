# SPDX-License-Identifier: BSD-3-Clause
"""Gibbs sampling: GibbsLDA and tomotopy, tokens per second and held-out perplexity.

    python -m benchmarks.gibbs --corpora DIR -k 100 --sweeps 60
    python -m benchmarks.gibbs --corpora DIR -k 500 --sweeps 12

One process, one after the other. tomotopy makes `--sweeps` sweeps; GibbsLDA makes as
many (its last state alone, as tomotopy gives it, and the mean of its samples, of the
last quarter), then as many as fit into tomotopy's seconds. Only sweeps are timed, and
the first is left out of the medians; perplexity is computed as in `benchmarks/peers`.
Results of other K stay in `benchmarks/results/gibbs.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks.peers.adapters import tomotopy_lda
from benchmarks.peers.adapters.base import normalise_rows
from benchmarks.peers.corpora import hold_out, load_corpus
from benchmarks.peers.evaluate import Evaluator
from benchmarks.peers.report import describe_machine
from topicfold import GibbsLDA
from topicfold.learn import Callback

RESULTS = Path(__file__).parent / "results"


class Laps(Callback):
    """Seconds of every sweep, and perplexity after some; evaluation is not timed."""

    def __init__(self, judge, at):
        self.judge, self.at = judge, set(at)
        self.seconds, self.curve = [], []
        self.resumed = time.perf_counter()

    def lap(self, topics):
        self.seconds.append(time.perf_counter() - self.resumed)
        if len(self.seconds) in self.at:
            value = self.judge.perplexity(normalise_rows(topics()))
            self.curve.append((len(self.seconds), sum(self.seconds), value))
        self.resumed = time.perf_counter()
        return False

    def on_start(self, state):
        self.resumed = time.perf_counter()

    def on_iteration(self, state):
        return self.lap(state.topics)

    def row(self, name, n_tokens):
        rate = n_tokens / statistics.median(self.seconds[1:] or self.seconds)
        return {
            "name": name,
            "sweeps": len(self.seconds),
            "seconds": sum(self.seconds),
            "tokens_a_second": rate,
            "tokens_a_second_late": n_tokens / statistics.median(self.seconds[-10:]),
            "perplexity": self.curve[-1][2],
            "curve": self.curve,
        }


def checkpoints(n_sweeps):
    return {max(1, n_sweeps // 4), max(1, n_sweeps // 2), n_sweeps}


def run_tomotopy(split, judge, options):
    peer = tomotopy_lda.TomotopyLDA()
    data = peer.prepare(split.train, options.k, options.seed)
    laps = Laps(judge, checkpoints(options.sweeps))
    laps.resumed = time.perf_counter()
    peer.run(
        data,
        n_topics=options.k,
        threads=options.threads,
        seed=options.seed,
        max_passes=options.sweeps,
        on_pass=laps.lap,
    )
    return laps.row(f"tomotopy {peer.version()}", float(split.train.sum()))


def run_ours(name, split, judge, options, n_sweeps, burn_in):
    laps = Laps(judge, checkpoints(n_sweeps))
    GibbsLDA(
        options.k,
        max_iter=n_sweeps,
        burn_in=burn_in,
        random_state=options.seed,
        n_jobs=options.threads,
        callbacks=[laps],
    ).fit(split.train)
    return laps.row(name, float(split.train.sum()))


def measure(options):
    split = hold_out(load_corpus(options.corpora, options.corpus), options.seed)
    parts = [(m.indptr, m.indices, m.data) for m in (split.fold, split.score)]
    words = np.asarray(split.train.sum(axis=0, dtype=np.float64)).ravel()
    judge = Evaluator(*parts, words)
    # Compile before anything is timed.
    GibbsLDA(3, max_iter=6, n_jobs=options.threads).fit(split.train[:50])
    judge.perplexity(np.full((2, len(words)), 1.0 / len(words)))
    n = options.sweeps
    rows = [run_tomotopy(split, judge, options)]
    print({key: value for key, value in rows[0].items() if key != "curve"}, flush=True)
    rows.append(
        run_ours("GibbsLDA, same sweeps, last state", split, judge, options, n, n - 1)
    )
    rows.append(run_ours("GibbsLDA, same sweeps, mean", split, judge, options, n, None))
    ours = rows[2]["seconds"] / n
    n_same = max(2, int(rows[0]["seconds"] / ours))
    rows.append(
        run_ours("GibbsLDA, same seconds, mean", split, judge, options, n_same, None)
    )
    return {
        "k": options.k,
        "corpus": options.corpus,
        "documents": split.train.shape[0],
        "tokens": int(split.train.sum()),
        "threads": options.threads,
        "seed": options.seed,
        "unigram_perplexity": judge.unigram_perplexity(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe_machine(),
        "rows": rows,
    }


def as_markdown(results):
    lines = ["# Collapsed Gibbs sampling", "", __doc__.strip().split("\n\n")[-1]]
    for part in results.values():
        about = part["machine"]
        lines += [
            "",
            f"## {part['corpus']}, K = {part['k']}, {part['threads']} threads",
            "",
            f"{part['documents']} documents, {part['tokens']} tokens; unigram "
            f"perplexity {part['unigram_perplexity']:.0f}; {about['cpu']}, "
            f"{about['cores']} cores; {part['date']}; seed {part['seed']}.",
            "",
            "| | sweeps | s | M tokens/s, median | last sweeps | perplexity |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for row in part["rows"]:
            lines.append(
                f"| {row['name']} | {row['sweeps']} | {row['seconds']:.1f} | "
                f"{row['tokens_a_second'] / 1e6:.1f} | "
                f"{row['tokens_a_second_late'] / 1e6:.1f} | {row['perplexity']:.1f} |"
            )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = os.environ.get("TOPICFOLD_CORPORA", "../shared/corpora")
    parser.add_argument("--corpora", type=Path, default=Path(default))
    parser.add_argument("--corpus", default="20news_rennie_61188")
    parser.add_argument("-k", type=int, default=100)
    parser.add_argument("--sweeps", type=int, default=60)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    stored = RESULTS / "gibbs.json"
    results = json.loads(stored.read_text()) if stored.is_file() else {}
    part = measure(options)
    results[f"{options.corpus} {options.k}"] = part
    for row in part["rows"]:
        print({key: value for key, value in row.items() if key != "curve"})
    stored.write_text(json.dumps(results, indent=1) + "\n")
    (RESULTS / "gibbs.md").write_text(as_markdown(results))


if __name__ == "__main__":
    main()
