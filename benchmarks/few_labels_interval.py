# SPDX-License-Identifier: BSD-3-Clause
"""How often the interval of `TopicClassifier.accuracy_` holds the true accuracy.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.few_labels_interval --write

Every corpus is cut to 1,500 documents of its classes with at least 40. Labels are drawn
in two ways: as many of each class ("balanced"), or documents at random, so that large
classes have more ("proportional"). The truth is the share of the documents without a
label whose class was found. What is measured is one line per fit in
``results/few_labels_interval.jsonl`` and is not measured again.
"""

import argparse
import json
import os
import time
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.few_labels import RESULTS, load_corpus, visible_labels
from topicfold import TopicClassifier

N_DOCUMENTS, LEAST_DOCUMENTS, LEAST_TERMS = 1500, 40, 5
SIZES, HOWS = (5, 10, 20), ("balanced", "proportional")


@lru_cache(maxsize=1)
def part_of(name):
    """Return counts and classes of a random part of a corpus, large classes only."""
    X, y, _ = load_corpus(name)
    rng = np.random.default_rng(1)
    rows = rng.permutation(X.shape[0])
    rows = np.sort(rows[np.diff(X.indptr)[rows] >= LEAST_TERMS][:N_DOCUMENTS])
    large = np.flatnonzero(np.bincount(y[rows]) >= LEAST_DOCUMENTS)
    rows = rows[np.isin(y[rows], large)]
    return X[rows], np.searchsorted(large, y[rows])


def draw(y, how, size, seed):
    """Return rows to label: `size` of each class, or as many in all, of two classes."""
    rng = np.random.default_rng(seed)
    while how == "proportional":
        rows = rng.choice(len(y), size * (y.max() + 1), replace=False)
        if len(np.unique(y[rows])) > 1:
            return rows
    classes = [np.flatnonzero(y == c) for c in range(y.max() + 1)]
    return np.concatenate([rng.choice(rows, size, replace=False) for rows in classes])


def measure(corpus, how, size, seed, keep=None):
    """Return the row of one fit; `keep` is a folder for what was found."""
    X, y = part_of(corpus)
    known = draw(y, how, size, 100 + seed)
    given = visible_labels(y, known)
    model = TopicClassifier(random_state=seed)
    began = time.process_time()
    rows, found = model.fit_cross_predict(X, given)
    seconds = time.process_time() - began
    test = (given < 0) & np.isin(y, model.classes_)
    told = model.accuracy_
    if keep is not None:
        np.savez(
            Path(keep) / f"{corpus}.{how}.{size}.{seed}.npz",
            y=y,
            given=given,
            rows=rows,
            found=found,
            transduction=model.transduction_,
            probabilities=model._probabilities(model._training[2]),
            classes=model.classes_,
        )
    return {
        "accuracy": float((model.transduction_ == y)[test].mean()),
        "estimate": told.share,
        "low": told.low,
        "high": told.high,
        "choice": model.choice_,
        "seconds": round(seconds, 1),
    }


PAGE = """# The interval of `accuracy_`

`python -m benchmarks.few_labels_interval --first {first} --draws {draws} --write`:
{fits} fits of `TopicClassifier()`, 5, 10 and 20 labels per class, each corpus cut to
1,500 documents of its classes with at least 40. Balanced: as many labels of every
class; proportional: as many in all, drawn from all documents. The nominal coverage is
95 %.

That labels which chose a recipe have half the weight was decided on another draw (0).

| labels | held | too low | too high | mean width | mean of accuracy_ less the truth |
|---|---|---|---|---|---|
{summary}

Too low: the truth is above the interval. By corpus:

| corpus | truth | accuracy_ | balanced, held | proportional, held |
|---|---|---|---|---|
{by_corpus}
"""


def page(rows):
    """Return the page of everything measured."""

    def held(own):
        return sum(row["low"] <= row["accuracy"] <= row["high"] for row in own)

    def mean(values):
        return float(np.mean(list(values)))

    summary = []
    for name in (*HOWS, *SIZES, "all"):
        own = [row for row in rows if name in (row["how"], row["size"], "all")]
        low = mean(row["accuracy"] > row["high"] for row in own)
        high = mean(row["accuracy"] < row["low"] for row in own)
        width = mean(row["high"] - row["low"] for row in own)
        bias = mean(row["estimate"] - row["accuracy"] for row in own)
        what = f"{name} per class" if isinstance(name, int) else name
        summary.append(
            f"| {what} | {held(own) / len(own):.1%} of {len(own)} | {low:.1%} | "
            f"{high:.1%} | {width:.3f} | {bias:+.3f} |"
        )
    lines = []
    for corpus in sorted({row["corpus"] for row in rows}):
        own = [row for row in rows if row["corpus"] == corpus]
        cells = []
        for how in HOWS:
            of_how = [row for row in own if row["how"] == how]
            cells.append(f"{held(of_how)} of {len(of_how)}")
        truth, told = (mean(r[key] for r in own) for key in ("accuracy", "estimate"))
        lines.append(f"| {corpus} | {truth:.3f} | {told:.3f} | {' | '.join(cells)} |")
    return PAGE.format(
        first=min(row["draw"] for row in rows),
        draws=len({row["draw"] for row in rows}),
        fits=len(rows),
        summary="\n".join(summary),
        by_corpus="\n".join(lines),
    )


def corpora():
    """Return the names of the corpora with two or more classes that are large."""
    names = []
    for path in sorted(Path(os.environ["TOPICFOLD_CORPORA"]).iterdir()):
        if (path / "labels.txt").exists() and (path / "counts.npz").exists():
            labels = (path / "labels.txt").read_text().splitlines()
            counts = np.unique(labels, return_counts=True)[1]
            shown = counts * min(1, N_DOCUMENTS / len(labels))
            if (shown >= LEAST_DOCUMENTS).sum() >= 2:
                names.append(path.name)
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", nargs="+", default=None)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="seed of the first draw")
    path = RESULTS / "few_labels_interval.jsonl"
    parser.add_argument("--rows", type=Path, default=path)
    parser.add_argument("--keep", type=Path, default=None)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    path = options.rows
    lines = path.read_text().splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    keys = ("corpus", "how", "size", "draw")
    done = {tuple(row[key] for key in keys) for row in rows}
    for seed in range(options.first, options.first + options.draws):
        for corpus in options.corpora or corpora():
            for how in HOWS:
                for size in SIZES:
                    key = corpus, how, size, seed
                    if key in done:
                        continue
                    found = measure(*key, keep=options.keep)
                    row = {**dict(zip(keys, key, strict=True)), **found}
                    with path.open("a") as out:
                        out.write(json.dumps(row) + "\n")
                    rows.append(row)
                    print(*row.values(), flush=True)
    if options.write:
        path.with_suffix(".md").write_text(page(rows))


if __name__ == "__main__":
    main()
