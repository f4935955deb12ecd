# SPDX-License-Identifier: BSD-3-Clause
"""What does a pass cost with 1,000 labels, 5 of them per document?

LabeledLDA against LDA with 1,000 topics, in CPU time per pass of a fit. Counts are
drawn from 1,000 planted topics and a background over Zipf's law; labels are drawn
evenly, which is the worst for caches.

    python -m benchmarks.sides_labels --write
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from topicfold import LDA, LabeledLDA
from topicfold.learn import Callback

RESULTS = Path(__file__).parent / "results" / "sides_labels.md"
LABELS, PER_DOCUMENT, TERMS = 1000, 5, 10_000


def draw(n_documents: int, length: int):
    """Return counts (D, V) and a list of labels for each document."""
    rng = np.random.default_rng(0)
    words = 1.0 / np.arange(1, TERMS + 1)
    words /= words.sum()
    own = [rng.choice(TERMS, 50, p=words) for _ in range(LABELS)]
    labels, rows, columns = [], [], []
    for d in range(n_documents):
        chosen = rng.choice(LABELS, PER_DOCUMENT, replace=False)
        labels.append(sorted(chosen.tolist()))
        common = rng.choice(TERMS, length // 2, p=words)
        topical = [rng.choice(own[c], length // (2 * PER_DOCUMENT)) for c in chosen]
        tokens = np.concatenate([common, *topical])
        rows.append(np.full(len(tokens), d))
        columns.append(tokens)
    rows, columns = np.concatenate(rows), np.concatenate(columns)
    ones = np.ones(len(rows), np.float32)
    X = sparse.csr_matrix((ones, (rows, columns)), shape=(n_documents, TERMS))
    X.sum_duplicates()
    return X, labels


class Clock(Callback):
    """Notes the CPU time after every pass."""

    def __init__(self) -> None:
        self.times = []

    def on_iteration(self, state) -> None:
        """Note it."""
        self.times.append(time.process_time())


def seconds_per_pass(model, X, **data) -> float:
    """CPU seconds of a pass, the median of some; the first compiles."""
    clock = Clock()
    model.set_params(max_iter=6, tol=0, random_state=0, init="random")
    model.set_params(callbacks=[clock]).fit(X, **data)
    return float(np.median(np.diff(clock.times)))


def heading(n_documents: int) -> list[str]:
    """Return the lines above the rows."""
    return [
        "# Labels as topics: what a pass costs",
        "",
        f"`python -m benchmarks.sides_labels`, {n_documents} documents, {LABELS} "
        f"labels, {PER_DOCUMENT} per document, {TERMS:,} words, one thread, seconds of "
        "CPU per pass of a fit. LDA has as many topics as there are labels.",
        "",
        "| labels drawn | tokens | background | LDA | LabeledLDA | LDA ÷ LabeledLDA |",
        "| --- | --- | --- | --- | --- | --- |",
    ]


def main() -> None:
    """Measure, print, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=8000)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    lines = heading(args.documents)
    for length in (150, 600):
        X, labels = draw(args.documents, length)
        plain = seconds_per_pass(LDA(LABELS), X)
        for background in (0, 1):
            own = seconds_per_pass(LabeledLDA(background), X, labels=labels)
            lines.append(
                f"| evenly | {length} | {background} | {plain:.3f} | {own:.3f} | "
                f"{plain / own:.1f} |"
            )
            print(lines[-1], flush=True)
    if args.write:
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
