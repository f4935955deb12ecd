# SPDX-License-Identifier: BSD-3-Clause
"""Approximate neighbours against exact ones and pynndescent: CPU seconds and recall.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.approximate_graph --write

One thread; the kernels of both are compiled before, on other documents. pynndescent
gets tf-idf rows for nothing and is asked for 30 candidates of 10 neighbours, of which
the nearest by the exact cosine count. The recall is that of all documents. A corpus is
measured once and kept in ``results/approximate_graph.json``. Needs pynndescent.
"""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from pynndescent import NNDescent

from topicfold.corpus import load_folder
from topicfold.graph import NeighborIndex
from topicfold.graph.neighbors import approximate_neighbors

RESULTS = Path(__file__).parent / "results"
CORPORA = (
    *("20news_bydate_raw", "reuters21578_dengcai", "ohscal"),
    *("dblp_octis", "short_searchsnippets", "short_tweet"),
)
N_NEIGHBORS, N_CANDIDATES = 10, 30


def measure(counts):
    """Return CPU seconds and recall of every way."""
    rows = {}
    index = NeighborIndex(counts)
    tfidf = index.weighting_.queries(index.counts_)
    tfidf = sp.csr_matrix(tfidf[np.diff(tfidf.indptr) > 0], dtype=np.float32)

    def descent():
        options = {"n_neighbors": N_CANDIDATES, "random_state": 0, "n_jobs": 1}
        near = NNDescent(tfidf, metric="cosine", **options).neighbor_graph[0]
        filled = np.flatnonzero(np.diff(index.counts_.indptr))
        found = np.full((counts.shape[0], N_CANDIDATES), -1)
        found[filled] = np.where(near >= 0, filled[near], -1)
        found[found == np.arange(len(found))[:, None]] = -1
        queries = index.weighting_.queries(index.counts_)
        return index.lists_.score(queries, found, N_NEIGHBORS, 1)[0]

    ways = {
        "exact": lambda: NeighborIndex(counts).query_among(None, N_NEIGHBORS)[0],
        "approximate": lambda: approximate_neighbors(
            NeighborIndex(counts), N_NEIGHBORS
        )[0],
        "pynndescent": descent,
    }
    exact = None
    for name, way in ways.items():
        began = time.process_time()
        found = way()
        used = time.process_time() - began
        exact = found if exact is None else exact
        rows[name] = {"cpu_seconds": used, "recall": recall(exact, found)}
    return rows


def recall(exact, found):
    """Return the share of exact neighbours that were found."""
    shared = (exact[:, :, None] == found[:, None, :]).any(axis=2) & (exact >= 0)
    return float(shared.sum() / max((exact >= 0).sum(), 1))


def page(measured):
    """Return the Markdown."""
    lines = [
        "# Approximate neighbours",
        "",
        "Ten neighbours by the cosine of tf-idf, one thread: CPU seconds and the share "
        "of exact neighbours that were found. The search by rare words checks itself "
        "on 200 documents, which is in its time; the time that pynndescent needs for "
        "its tf-idf rows is not counted. pynndescent finds more on most corpora, but "
        "takes longer than the exact search, which finds all. Written by `python -m "
        "benchmarks.approximate_graph`.",
        "",
        "| corpus | documents | words | exact, s | by rare words, s | recall "
        "| pynndescent, s | recall |",
        "|---" * 8 + "|",
    ]
    for name, row in measured.items():
        cells = [name, f"{row['documents']:,}", f"{row['words']:.0f}"]
        cells.append(f"{row['exact']['cpu_seconds']:.2f}")
        for way in ("approximate", "pynndescent"):
            cells += [f"{row[way]['cpu_seconds']:.2f}", f"{row[way]['recall']:.3f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main():
    """Parse options and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", nargs="+", default=CORPORA)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    path = RESULTS / "approximate_graph.json"
    measured = json.loads(path.read_text()) if path.exists() else {}
    measure(sp.random_array((3000, 500), density=0.05, format="csr", rng=0))  # compiles
    for name in options.corpora:
        if name in measured:
            continue
        counts = load_folder(Path(os.environ["TOPICFOLD_CORPORA"]) / name).counts
        counts = sp.csr_array(counts).astype(np.float64).log1p()
        about = {"documents": counts.shape[0], "words": counts.nnz / counts.shape[0]}
        measured[name] = {**about, **measure(counts)}
        print(name, measured[name], flush=True)
        if options.write:
            path.write_text(json.dumps(measured, indent=1) + "\n")
            (RESULTS / "approximate_graph.md").write_text(page(measured))


if __name__ == "__main__":
    main()
