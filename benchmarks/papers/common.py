# SPDX-License-Identifier: BSD-3-Clause
"""What the papers' commands share: corpora, claims with their evidence, pages."""

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.papers.experiments import ResultFile
from topicfold.corpus import Corpus, load_folder, vectorize

RESULTS = Path(__file__).parent.parent / "results" / "papers"
# Parameters are chosen on these draws; the tables have those from 0.
TUNING_SEED = 10_000
NEWSGROUPS = "20news_bydate_raw"


def parse(description, draws):
    """Return the options that every command has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--draws", type=int, default=draws)
    parser.add_argument("--jobs", type=int, default=1, help="cells at a time")
    parser.add_argument("--corpus", nargs="+", help="only these corpora")
    parser.add_argument("--part", nargs="+", help="only these parts of the page")
    parser.add_argument("--page", action="store_true", help="only cells done before")
    return parser


def load(name):
    """Return a corpus by the name of its folder."""
    return load_folder(Path(os.environ["TOPICFOLD_CORPORA"]) / name, texts=False)


def load_newsgroups(n_terms):
    """Return the training part of 20 Newsgroups, without headers and quotes."""
    from sklearn.datasets._twenty_newsgroups import (
        strip_newsgroup_footer,
        strip_newsgroup_header,
        strip_newsgroup_quoting,
    )

    corpus = load_folder(Path(os.environ["TOPICFOLD_CORPORA"]) / NEWSGROUPS)
    corpus = corpus.select(np.array(corpus.split) == "train")
    texts = [
        strip_newsgroup_footer(strip_newsgroup_quoting(strip_newsgroup_header(t)))
        for t in corpus.texts
    ]
    X, words = vectorize(texts, stop_words="english", max_features=n_terms)
    keep = np.diff(X.indptr) >= 5
    return Corpus(X, words, labels=corpus.labels, name=NEWSGROUPS).select(keep)


def largest_classes(corpus, n_classes):
    """Return the documents of the largest classes."""
    y, names = corpus.encoded_labels()
    largest = np.argsort(-np.bincount(y[y >= 0]), kind="stable")[:n_classes]
    del names
    return corpus.select(np.isin(y, largest))


def progress(done, total, cell):
    """Say what was done, with the time of day."""
    text = f"{time.strftime('%H:%M:%S')} {done}/{total} {cell['corpus']} "
    text += f"{cell['model']} K={cell['n_components']} seed {cell['seed']}"
    print(text, file=sys.stderr, flush=True)


def paired(results, better, worse, metric, **where):
    """Return mean and standard error of paired differences, and their number."""
    values = [
        {
            row["seed"]: row["value"]
            for row in results.select(model=m, metric=metric, **where)
        }
        for m in (better, worse)
    ]
    seeds = sorted(set(values[0]) & set(values[1]))
    gains = np.array([values[0][s] - values[1][s] for s in seeds])
    if len(gains) < 2:
        return (float(gains.mean()) if len(gains) else np.nan), np.nan, len(gains)
    error = float(gains.std(ddof=1) / np.sqrt(len(gains)))
    return float(gains.mean()), error, len(gains)


def verdict(gain, error, n):
    """Return what paired differences say of a claim: two standard errors decide."""
    if n < 3:
        return "too few draws"
    if gain > 2 * error:
        return "holds"
    return "does not hold" if gain < -2 * error else "not decided"


def claims_table(results, claims, metric, column, values, *, tally=None, **where):
    """Return Markdown lines: each claim "A above B" against the draws.

    A `tally`, dict of lists, is given the verdicts of each claim.
    """
    lines = [
        f"| claim | {column} | difference | s.e. | draws | verdict |",
        "|---|---|---|---|---|---|",
    ]
    verdicts = []
    for better, worse in claims:
        for value in values:
            gain, error, n = paired(
                results, better, worse, metric, **{column: value}, **where
            )
            if n == 0:
                continue
            verdicts.append(verdict(gain, error, n))
            if tally is not None:
                tally.setdefault((better, worse), []).append(verdicts[-1])
            lines.append(
                f"| {better} above {worse} | {value} | {gain:+.3f} | {error:.3f} | {n} "
                f"| {verdicts[-1]} |"
            )
    counts = {text: verdicts.count(text) for text in dict.fromkeys(verdicts)}
    text = ", ".join(f"{number} {what}" for what, number in counts.items())
    return [*lines, "", f"Of {len(verdicts)} comparisons: {text}."]


def summary(tally):
    """Return Markdown lines: how often each claim held, over all tables of a page."""
    outcomes = ("holds", "not decided", "does not hold")
    lines = [
        f"| claim | {' | '.join(outcomes)} |",
        "|---|--:|--:|--:|",
    ]
    for (better, worse), verdicts in tally.items():
        counts = " | ".join(str(verdicts.count(outcome)) for outcome in outcomes)
        lines.append(f"| {better} above {worse} | {counts} |")
    return ["", "## What holds", "", *lines]


def write_page(name, lines):
    """Write the page of a paper."""
    rows = RESULTS / f"{name}.jsonl"
    if rows.exists():
        ResultFile(rows).pack()
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def curves(name, results, metric, x, title, **where):
    """Draw a metric over a column, one line a model; return its Markdown line."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        return "No figure: matplotlib is not installed."
    figure, axes = plt.subplots(figsize=(6, 4))
    rows = results.select(metric=metric, **where)
    for model in dict.fromkeys(r["model"] for r in rows):
        own = [r for r in rows if r["model"] == model]
        places = sorted({r[x] for r in own if r[x] is not None})
        if not places:
            continue
        means = [np.mean([r["value"] for r in own if r[x] == p]) for p in places]
        spread = [np.std([r["value"] for r in own if r[x] == p]) for p in places]
        axes.errorbar(places, means, spread, marker="o", capsize=2, label=model)
    axes.set(xlabel=x, ylabel=metric, title=title)
    axes.legend(fontsize=7)
    figure.tight_layout()
    RESULTS.mkdir(parents=True, exist_ok=True)
    # The same picture is the same file: no date, names of parts that do not change.
    with plt.rc_context({"svg.hashsalt": name}):
        figure.savefig(RESULTS / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
    return f"![{title}]({name}.svg)"


class Page:
    """Runs a protocol, or with ``--page`` only reads what was run before."""

    def __init__(self, name, options):
        self.name, self.options = name, options
        self.file = RESULTS / f"{name}.jsonl"

    def results(self):
        """Return the file of cells."""
        return ResultFile(self.file, frozen=self.options.page)

    def run(self, protocol, corpus, models, **settings):
        """Run the cells that are missing."""
        return protocol(
            corpus,
            models,
            **settings,
            results=self.results(),
            n_jobs=self.options.jobs,
            on_progress=progress,
        )
