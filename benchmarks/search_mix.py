# SPDX-License-Identifier: BSD-3-Clause
"""How much of a search should be by shared words? The default of `mix`.

A query is three words of a document, drawn as its tokens are (stop words are out
already). Two questions: where does that document itself stand (reciprocal rank), and
how many of the first ten others have its class (precision)?

    python -m benchmarks.search_mix --corpora DIR --write
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from topicfold import LDA
from topicfold.corpus import load_docs, load_folder
from topicfold.search import TopicIndex

RESULTS = Path(__file__).parent / "results"
CHOSEN_ON = ("built-in", "bbc_news_octis", "short_searchsnippets")
CONFIRMED_ON = ("reuters21578_dengcai", "k1b", "20news_bydate_raw")
MIXES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


def measure(name: str, folder: Path, n_queries: int = 200) -> dict[str, list[float]]:
    """Return reciprocal rank and precision for every mix."""
    corpus = (
        load_docs() if name == "built-in" else load_folder(folder / name, texts=False)
    )
    rng = np.random.default_rng(0)
    frequency = np.asarray((corpus.counts > 0).mean(axis=0)).ravel()
    known = np.array([label != "" for label in corpus.labels])
    rows = rng.permutation(np.flatnonzero(known & (corpus.counts.getnnz(axis=1) >= 5)))[
        :4000
    ]
    counts = corpus.counts[rows][:, frequency <= 0.5]
    labels = np.array(corpus.labels)[rows]
    model = LDA(50, random_state=0, n_jobs=2).fit(counts)
    index = TopicIndex(model, lexical="bm25", n_jobs=2)
    index.add(counts, vectors=model.doc_topics_)
    found: dict[str, list[float]] = {"rank": [], "precision": []}
    queries = []
    for row in range(n_queries):
        words = counts[row]
        if words.nnz < 3:
            continue
        drawn = rng.choice(
            words.indices, 3, replace=False, p=words.data / words.data.sum()
        )
        query = np.zeros(counts.shape[1])
        query[drawn] = 1
        queries.append((row, query))
    for mix in MIXES:
        ranks, hits = [], []
        for row, query in queries:
            best = index.query(query, n=101, mix=mix).rows.tolist()
            ranks.append(1 / (1 + best.index(row)) if row in best else 0.0)
            others = [other for other in best if other != row][:10]
            hits.append(np.mean(labels[others] == labels[row]))
        found["rank"].append(float(np.mean(ranks)))
        found["precision"].append(float(np.mean(hits)))
    return found


def table(results: dict[str, dict[str, list[float]]]) -> str:
    """Return the page of the results."""
    lines = [
        "# How much of a search by shared words",
        "",
        "Three words of a document as the query; LDA with 50 topics and BM25, up to "
        f"4,000 documents per corpus. {', '.join(CHOSEN_ON)} were used to choose the "
        "default (0.5), the others to confirm it.",
    ]
    titles = {
        "rank": "reciprocal rank of the document itself",
        "precision": "share of the first ten others that have its class",
    }
    for kind, title in titles.items():
        lines += ["", f"## {title[0].upper()}{title[1:]}", ""]
        lines.append("| corpus | " + " | ".join(f"mix {m:g}" for m in MIXES) + " |")
        lines.append("|---" * (len(MIXES) + 1) + "|")
        for name, found in results.items():
            cells = " | ".join(f"{value:.3f}" for value in found[kind])
            lines.append(f"| {name} | {cells} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    results = {
        name: measure(name, chosen.corpora) for name in (*CHOSEN_ON, *CONFIRMED_ON)
    }
    print(table(results))
    if chosen.write:
        (RESULTS / "search_mix.json").write_text(json.dumps(results, indent=1) + "\n")
        (RESULTS / "search_mix.md").write_text(table(results))
