# SPDX-License-Identifier: BSD-3-Clause
"""Does it pay to skip the topics that have died in a document?

A document pass that visits only the topics alive in each document (θ above a floor),
against the engine's dense one, after 0, 10, 50 and 200 EM iterations of PLSA.

    python -m benchmarks.dead_topics --corpora DIR
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from benchmarks.peers.corpora import load_corpus
from topicfold.core.jit import kernel
from topicfold.engine import make_engine
from topicfold.engine.kernels import FLOOR, document_rows
from topicfold.learn.initial import initial_topics
from topicfold.learn.learner import Learner
from topicfold.phi import PhiStep
from topicfold.theta import ThetaStep

RESULTS = Path(__file__).parent / "results"


@kernel
def alive_rows(indptr, indices, counts, theta, weights, floor, out_counts, ratio):
    """The document pass over the topics with θ above `floor` only."""
    n_topics = theta.shape[1]
    alive = np.empty(n_topics, np.int64)
    a = np.empty(n_topics, theta.dtype)
    gradient = np.empty(n_topics, theta.dtype)
    tiny = theta.dtype.type(FLOOR)
    for d in range(theta.shape[0]):
        n_alive = 0
        for k in range(n_topics):
            out_counts[d, k] = 0
            if theta[d, k] > floor:
                alive[n_alive] = k
                a[n_alive] = theta[d, k]
                gradient[n_alive] = 0
                n_alive += 1
        for p in range(indptr[d], indptr[d + 1]):
            b = weights[indices[p]]
            s = theta.dtype.type(0)
            for i in range(n_alive):
                s += a[i] * b[alive[i]]
            r = theta.dtype.type(counts[p]) / max(s, tiny)
            ratio[p] = r
            for i in range(n_alive):
                gradient[i] += r * b[alive[i]]
        for i in range(n_alive):
            out_counts[d, alive[i]] = a[i] * gradient[i]


def cpu_seconds(function, repeats: int = 5) -> float:
    """Fastest of a few runs, in seconds of this thread."""
    function()
    times = []
    for _ in range(repeats):
        start = time.thread_time()
        function()
        times.append(time.thread_time() - start)
    return min(times)


def measure(X, n_topics: int, floor: float) -> list[dict]:
    """Return one row for each number of iterations."""
    engine = make_engine(X, n_topics, n_jobs=1)
    phi = initial_topics(X, n_topics, "random", np.random.RandomState(0))
    model = Learner(engine, phi, ThetaStep(), PhiStep())
    model.start()
    layout, rows, done = engine._layout, [], 0
    counts, loglik = np.empty_like(model.documents), np.empty(X.shape[0])
    updates, prior = np.empty(X.shape[0], np.int32), engine.pack_prior(0.0)
    ratio = np.empty(X.nnz, np.float32)
    for iterations in (0, 10, 50, 200):
        while done < iterations:
            model.iterate()
            done += 1
        # Rows that sum to one, so that the floor is a share.
        theta = model.documents / model.documents.sum(axis=1, keepdims=True)
        topics = model.weights
        dense = cpu_seconds(
            lambda theta=theta, topics=topics: document_rows(
                0, X.shape[0], (layout.indptr, layout.indices, layout.counts), theta,
                topics, prior, None, (0, 0.0), None, (counts, ratio, loglik, updates),
            )
        )  # fmt: skip
        skipping = cpu_seconds(
            lambda theta=theta, topics=topics: alive_rows(
                layout.indptr, layout.indices, layout.counts, theta, topics, floor,
                counts, ratio,
            )
        )  # fmt: skip
        blocks = theta[:, : n_topics // 8 * 8].reshape(len(theta), -1, 8)
        rows.append(
            {
                "topics": n_topics,
                "iterations": iterations,
                "alive": float((theta[:, :n_topics] > floor).mean()),
                "registers_alive": float((blocks > floor).any(axis=2).mean()),
                "dense_seconds": dense,
                "skipping_seconds": skipping,
            }
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--corpus", default="20news_rennie_61188")
    parser.add_argument("-k", "--topics", type=int, nargs="+", default=[20, 100, 500])
    parser.add_argument("--floor", type=float, default=1e-6)
    options = parser.parse_args()
    X = load_corpus(options.corpora, options.corpus).astype(np.float32)
    rows = [row for k in options.topics for row in measure(X, k, options.floor)]
    (RESULTS / "dead_topics.json").write_text(json.dumps(rows, indent=1) + "\n")
    lines = [
        "# Skipping the topics that died in a document",
        "",
        f"{options.corpus}, PLSA, θ ≤ {options.floor:g} counts as dead, one thread, "
        "seconds of CPU per document pass. A register is eight topics.",
        "",
        "| K | iterations | topics alive | registers alive | dense s | skipping s | "
        "dense ÷ skipping |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {r['topics']} | {r['iterations']} | {r['alive']:.1%} | "
        f"{r['registers_alive']:.1%} | {r['dense_seconds']:.3f} | "
        f"{r['skipping_seconds']:.3f} | "
        f"{r['dense_seconds'] / r['skipping_seconds']:.2f} |"
        for r in rows
    ]
    (RESULTS / "dead_topics.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
