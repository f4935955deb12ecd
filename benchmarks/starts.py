# SPDX-License-Identifier: BSD-3-Clause
"""Starts of PLSA and the graph models: NMI with classes, and NPMI, by `init`.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.starts --write

20 topics, at most 1,500 documents of a corpus, two seeds. Results go to
``starts.jsonl``, a line per fit; lines that are there are not measured again.
"""

import argparse
import json
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.few_labels import RESULTS, load_corpus
from topicfold import LDA, PLSA, DiscriminativePLSA, LaplacianPLSA
from topicfold import LocallyConsistentPLSA as LTM
from topicfold.metrics import clustering_nmi, npmi_coherence

SHORT = ("short_searchsnippets", "short_tweet", "dblp_octis", "cora_linqs")
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


@lru_cache(maxsize=1)
def part_of(name):
    """Return counts and classes of a random part of a corpus, without empty rows."""
    X, y, _ = load_corpus(name)
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
        "corpora on which a start is above `documents`.",
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
