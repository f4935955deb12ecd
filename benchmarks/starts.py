# SPDX-License-Identifier: BSD-3-Clause
"""Starts of PLSA and the graph models: NMI with classes, and NPMI, by `init`.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.starts --write

20 topics, at most 1,500 documents of a corpus, two seeds. Titles are those of NIPS
papers by section, subjects the subject lines of 20 Newsgroups without "Re:". Results
go to ``starts.jsonl``, a line per fit; lines that are there are not measured again.
"""

import argparse
import gzip
import json
import os
import re
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.few_labels import RESULTS, load_corpus
from topicfold import LDA, PLSA, DiscriminativePLSA, LaplacianPLSA
from topicfold import LocallyConsistentPLSA as LTM
from topicfold.corpus import vectorize
from topicfold.metrics import clustering_nmi, npmi_coherence

SHORT = (
    *("short_searchsnippets", "short_tweet", "dblp_octis", "cora_linqs"),
    *("titles", "subjects"),
)
LONG = (
    *("20news_bydate_raw", "la1s", "oh0", "wap", "bbc_news_octis"),
    *("reuters21578_dengcai", "tdt2_dengcai", "ohscal"),
)
MODELS = {
    "LDA": LDA,
    "PLSA": PLSA,
    "LapPLSI": LaplacianPLSA,
    "LTM": LTM,
    "DTM": DiscriminativePLSA,
}
STARTS = ("documents", "neighbors", "clusters")
N_DOCUMENTS, N_TOPICS, SEEDS = 1500, 20, (0, 1)


def titles():
    """Return titles of papers, and their sections."""
    folder = Path(os.environ["TOPICFOLD_CORPORA"]) / "nips0_12"
    return [
        (folder / f"{n}.txt").read_text().splitlines() for n in ("titles", "labels")
    ]


def subjects():
    """Return subject lines of messages, and their groups."""
    folder = Path(os.environ["TOPICFOLD_CORPORA"]) / "20news_bydate_raw"
    with gzip.open(folder / "docs.jsonl.gz", "rt") as file:
        heads = [json.loads(line)["text"].partition("\n\n")[0] for line in file]
    found = [re.search(r"^Subject:\s*(?:re:\s*)*(.*)$", h, re.M | re.I) for h in heads]
    lines = [line.group(1) if line else "" for line in found]
    return lines, (folder / "labels.txt").read_text().splitlines()


LINES = {"titles": titles, "subjects": subjects}


def short_lines(name):
    """Return counts and classes of texts of one line."""
    texts, labels = LINES[name]()
    return vectorize(texts)[0], np.unique(labels, return_inverse=True)[1]


@lru_cache(maxsize=1)
def part_of(name):
    """Return counts and classes of a random part of a corpus, without empty rows."""
    X, y = short_lines(name) if name in LINES else load_corpus(name)[:2]
    rows = np.random.default_rng(1).permutation(X.shape[0])
    rows = rows[np.diff(X.indptr)[rows] > 0][:N_DOCUMENTS]
    return X[np.sort(rows)], y[np.sort(rows)]


def measure(corpus, model, init, seed):
    """Return NMI and NPMI of one fit."""
    X, y = part_of(corpus)
    start = {} if model == "LDA" else {"init": init}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = MODELS[model](N_TOPICS, random_state=seed, **start).fit(X)
    return {
        "nmi": float(clustering_nmi(y, fitted.doc_topics_.argmax(axis=1))),
        "npmi": float(np.mean(npmi_coherence(fitted.components_, X, n_words=10))),
    }


def page(rows):
    """Return the tables of everything measured."""
    lines = [
        "# Starts of PLSA and the graph models",
        "",
        f"`python -m benchmarks.starts --write`. {N_TOPICS} topics, at most "
        f"{N_DOCUMENTS:,} documents, {len(SEEDS)} seeds. The last line counts the "
        "corpora on which a start is above `documents`. How η and the strength of "
        "LapPLSI follow the length of short texts was chosen on short_searchsnippets, "
        "short_tweet and dblp_octis, and titles and subjects were looked at on the "
        "way; cora_linqs had no part in it.",
    ]
    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    columns = [(m, i) for m in MODELS if m != "LDA" for i in STARTS]
    for key, title in (("nmi", "NMI with the classes"), ("npmi", "NPMI of ten words")):

        def mean(corpus, model, init, key=key):
            own = [
                row[key]
                for row in rows
                if (row["corpus"], row["model"], row["init"]) == (corpus, model, init)
            ]
            return float(np.mean(own)) if own else np.nan

        heads = " | ".join(f"{m}, {i}" for m, i in columns)
        lines += ["", f"## {title}", "", f"| corpus | LDA | {heads} |"]
        lines += ["|---" * (len(columns) + 2) + "|"]
        table = np.array([[mean(c, m, i) for m, i in columns] for c in corpora])
        lda = [mean(c, "LDA", "clusters") for c in corpora]
        for corpus, first, cells in zip(corpora, lda, table, strict=True):
            told = " | ".join(f"{cell:.3f}" for cell in cells)
            lines.append(f"| {corpus} | {first:.3f} | {told} |")
        means = " | ".join(f"{cell:.3f}" for cell in table.mean(axis=0))
        lines.append(f"| mean | {np.mean(lda):.3f} | {means} |")
        base = table[:, [len(STARTS) * (i // len(STARTS)) for i in range(len(columns))]]
        better = " | ".join(map(str, (table > base).sum(axis=0)))
        lines.append(f"| above documents | | {better} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", nargs="+", default=[*SHORT, *LONG])
    parser.add_argument("--rows", type=Path, default=RESULTS / "starts.jsonl")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    path = options.rows
    lines = path.read_text().splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    keys = ("corpus", "model", "init", "seed")
    done = {tuple(row[key] for key in keys) for row in rows}
    tasks = [
        (corpus, model, init, seed)
        for corpus in options.corpora
        for model in MODELS
        for init in (("clusters",) if model == "LDA" else STARTS)
        for seed in SEEDS
    ]
    for task in tasks:
        if task not in done:
            row = dict(zip(keys, task, strict=True)) | measure(*task)
            with path.open("a") as out:
                out.write(json.dumps(row) + "\n")
            rows.append(row)
            print(*row.values(), flush=True)
    if options.write:
        path.with_suffix(".md").write_text(page(rows))


if __name__ == "__main__":
    main()
