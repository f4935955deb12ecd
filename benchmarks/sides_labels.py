# SPDX-License-Identifier: BSD-3-Clause
"""Labels as topics: what a pass costs, and how well labels are predicted.

Cost: LabeledLDA with 1,000 labels, 5 of them per document, against LDA with 1,000
topics, in CPU time per pass of a fit. Counts are drawn from 1,000 planted topics and a
background over Zipf's law; labels are drawn evenly, which is the worst for caches.

    python -m benchmarks.sides_labels --write

Accuracy: LabeledLDA against naive Bayes with all labels and with a tenth of them, with
and without the documents that have no label.

    python -m benchmarks.sides_labels --accuracy --corpora DIR --write
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.naive_bayes import MultinomialNB

from topicfold import LDA, LabeledLDA
from topicfold.learn import Callback

RESULTS = Path(__file__).parent / "results" / "sides_labels.md"
ACCURACY = RESULTS.with_name("sides_labels_accuracy.md")
# The weights of unlabelled documents and how they are chosen: on the first four.
CORPORA = (
    *("la1s", "wap", "oh0", "k1b"),
    *("la2s", "oh5", "oh10", "oh15", "bbc_news_octis", "20news_bydate_raw"),
    "short_searchsnippets",
)
SPLITS, MOST_DOCUMENTS, FEW = 5, 3000, 0.1
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


def load(folder: Path, seed: int):
    """Return counts and labels of some documents, in random order."""
    X = sparse.csr_matrix(sparse.load_npz(folder / "counts.npz")).astype(np.float32)
    y = np.array((folder / "labels.txt").read_text("utf-8").splitlines())
    filled = np.flatnonzero(X.getnnz(axis=1))
    some = np.random.default_rng(seed).permutation(filled)[:MOST_DOCUMENTS]
    return X[some], y[some]


def accuracies(folder: Path, seed: int) -> dict[str, float]:
    """Return accuracies on a fifth of the documents."""
    X, y = load(folder, seed)
    cut = int(0.8 * len(y))
    test = X[cut:], y[cut:]

    def ours(labels, **options):
        model = LabeledLDA(random_state=seed, n_jobs=1, **options)
        model.fit(X[:cut], labels=labels)
        found["weight"] = model.unlabeled_weight_
        return float((model.predict(test[0]) == test[1]).mean())

    def bayes(rows):
        return float(MultinomialNB().fit(X[rows], y[rows]).score(*test))

    found: dict[str, float] = {}
    known = np.random.default_rng(seed).permutation(cut) < FEW * cut
    few = np.where(known, y[:cut], None).astype(object)
    found["all"], found["all, Bayes"] = ours(y[:cut]), bayes(np.arange(cut))
    found["few, labelled alone"] = ours(few, unlabeled_weight=0)
    found["few"] = ours(few)
    found["few, Bayes"] = bayes(np.flatnonzero(known))
    return found


def accuracy_pages(corpora: Path) -> Iterator[list[str]]:
    """Yield the page of accuracies, after each split."""
    lines = [
        "# Labels as topics: how well they are predicted",
        "",
        "`python -m benchmarks.sides_labels --accuracy --corpora DIR --write`. "
        "Accuracy "
        f"on a fifth of at most {MOST_DOCUMENTS:,} documents, in percent, with all "
        "labels of the others and with a tenth of them; naive Bayes is scikit-learn's "
        "MultinomialNB with its defaults, which sees labelled documents alone. Cost: "
        "what documents without labels take from LabeledLDA, in points (a gain is "
        "negative). The weights of these documents, and the rule that chooses one, "
        f"were found on {', '.join(CORPORA[:4])}; what predicts labels beside their "
        "shares on other splits of these four, oh15 and short_searchsnippets.",
        "",
        "| corpus | split | LabeledLDA, all labels | naive Bayes, all labels | a "
        "tenth, labelled documents alone | a tenth, all documents | cost | weight | "
        "naive Bayes, a tenth |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    rows: dict[tuple[str, int], str] = {}
    for seed in range(SPLITS):
        for name in CORPORA:
            r = accuracies(corpora / name, seed)
            cost = 100 * (r["few, labelled alone"] - r["few"])
            rows[name, seed] = (
                f"| {name} | {seed} | {100 * r['all']:.1f} | "
                f"{100 * r['all, Bayes']:.1f} | {100 * r['few, labelled alone']:.1f} | "
                f"{100 * r['few']:.1f} | {cost:+.1f} | {r['weight']:g} | "
                f"{100 * r['few, Bayes']:.1f} |"
            )
            print(rows[name, seed], flush=True)
        found = sorted(rows, key=lambda row: (CORPORA.index(row[0]), row[1]))
        yield [*lines, *(rows[row] for row in found)]


def main() -> None:
    """Measure, print, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=8000)
    parser.add_argument("--accuracy", action="store_true")
    parser.add_argument("--corpora", type=Path)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    if args.accuracy:
        for page in accuracy_pages(args.corpora):
            if args.write:
                ACCURACY.write_text("\n".join(page) + "\n", encoding="utf-8")
        return
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
