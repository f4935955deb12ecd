# SPDX-License-Identifier: BSD-3-Clause
"""Time the exact nearest-neighbour graph of a corpus against its rivals.

    python -m benchmarks.graph --corpora /path/to/corpora --threads 2

Ours starts from raw counts and ends with the symmetric graph; the rivals get tf-idf
rows for nothing and end with the neighbour lists. All run in one process, turn by turn,
and the best of the repeats counts; on a busy machine CPU seconds say more. Then whole
fits of the graph models, graph included, against PLSA, all with their defaults.
Results: ``results/graph.json`` and ``graph.md``. Needs ``pip install sparse_dot_topn``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.neighbors import NearestNeighbors
from sparse_dot_topn import sp_matmul_topn

from topicfold import (
    PLSA,
    DiscriminativePLSA,
    LaplacianPLSA,
    LocallyConsistentPLSA,
)
from topicfold.graph import NeighborIndex, document_graph

RESULTS = Path(__file__).parent / "results"
N_TOPICS = 100


def main() -> None:
    arguments = _arguments()
    path = Path(arguments.corpora) / arguments.corpus / "counts.npz"
    counts = sp.csr_matrix(sp.load_npz(path))
    rows = sp.csr_matrix(TfidfTransformer().fit_transform(counts))
    k, threads = arguments.neighbors, arguments.threads
    runs = _runs(counts, rows, k, threads, arguments.all)
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    cpu: dict[str, list[float]] = {name: [] for name in runs}
    results: dict[str, Any] = {}
    for name in runs:
        if name.startswith("topicfold"):
            document_graph(  # compile
                counts[:200], k, similarity=name.partition(" ")[2], n_jobs=threads
            )
    for _ in range(arguments.repeats):
        for name, run in runs.items():
            start, cpu_start = time.perf_counter(), time.process_time()
            results[name] = run()
            seconds[name].append(time.perf_counter() - start)
            cpu[name].append(time.process_time() - cpu_start)
    _, ours = NeighborIndex(counts).query_among(None, k, n_jobs=threads)
    report = {
        "corpus": arguments.corpus,
        "shape": counts.shape,
        "nnz": int(counts.nnz),
        "n_neighbors": k,
        "threads": threads,
        "machine": f"{platform.machine()}, {os.cpu_count()} CPU",
        "seconds": seconds,
        "cpu_seconds": cpu,
        "load_average": os.getloadavg(),
        "largest_difference_of_similarities": {
            name: float(np.abs(ours - _peer_values(name, results[name], k)).max())
            for name in runs
            if not name.startswith("topicfold")
        },
    }
    report["fits"] = _fits(counts, threads)
    (RESULTS / "graph.json").write_text(json.dumps(report, indent=2) + "\n")
    page = f"# The document graph\n\n{_table(report)}\n\n{_fit_table(report)}\n"
    (RESULTS / "graph.md").write_text(page)
    print(page)


def _fits(counts: sp.csr_matrix, threads: int) -> list[dict[str, Any]]:
    rows = []
    for model in (PLSA, LaplacianPLSA, LocallyConsistentPLSA, DiscriminativePLSA):
        make = model(N_TOPICS, random_state=0, n_jobs=threads)
        make.set_params(max_iter=2).fit(counts[:500])  # compile
        make = model(N_TOPICS, random_state=0, n_jobs=threads)
        start, cpu_start = time.perf_counter(), time.process_time()
        make.fit(counts)
        rows.append(
            {
                "model": model.__name__,
                "seconds": time.perf_counter() - start,
                "cpu_seconds": time.process_time() - cpu_start,
                "iterations": int(make.n_iter_),
            }
        )
    return rows


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpora", default=os.environ.get("TOPICFOLD_CORPORA", "."))
    parser.add_argument("--corpus", default="20news_bydate_raw")
    parser.add_argument("--neighbors", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--all", action="store_true", help="our other similarities too")
    return parser.parse_args()


def _runs(
    counts: sp.csr_matrix, rows: sp.csr_matrix, k: int, threads: int, everything: bool
) -> dict[str, Callable[[], Any]]:
    def ours(similarity: str) -> Callable[[], Any]:
        return lambda: document_graph(counts, k, similarity=similarity, n_jobs=threads)

    def topn() -> Any:
        return sp_matmul_topn(
            rows, rows.T.tocsr(), top_n=k + 1, n_threads=threads, sort=True
        )

    def brute() -> Any:
        search = NearestNeighbors(
            n_neighbors=k, metric="cosine", algorithm="brute", n_jobs=threads
        )
        return search.fit(rows).kneighbors()

    names = ("cosine", "intersection", "kl") if everything else ("cosine",)
    return {
        **{f"topicfold {name}": ours(name) for name in names},
        "sparse-dot-topn": topn,
        "scikit-learn brute force": brute,
    }


def _peer_values(name: str, result: Any, k: int) -> np.ndarray:
    """Return the k largest similarities of each document, itself left out."""
    if name.startswith("scikit-learn"):
        return 1.0 - result[0]
    values = np.zeros((result.shape[0], k))
    for row in range(result.shape[0]):
        part = slice(result.indptr[row], result.indptr[row + 1])
        others = np.sort(result.data[part][result.indices[part] != row])[::-1][:k]
        values[row, : len(others)] = others
    return values


def _table(report: dict[str, Any]) -> str:
    best = {name: min(times) for name, times in report["seconds"].items()}
    cpu = {name: min(times) for name, times in report["cpu_seconds"].items()}
    ours = best["topicfold cosine"]
    lines = [
        f"{report['corpus']}: {report['shape'][0]} documents, {report['nnz']} "
        f"non-zeros, {report['n_neighbors']} neighbours, {report['threads']} threads, "
        f"{report['machine']}",
        "",
        "| graph | best, s | all, s | times ours | best CPU, s | times ours |",
        "| --- | ---: | --- | ---: | ---: | ---: |",
    ]
    for name, times in report["seconds"].items():
        every = " ".join(f"{t:.2f}" for t in times)
        cells = [name, f"{best[name]:.2f}", every, f"{best[name] / ours:.1f}"]
        cells += [f"{cpu[name]:.2f}", f"{cpu[name] / cpu['topicfold cosine']:.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    worst = max(report["largest_difference_of_similarities"].values())
    return "\n".join([*lines, "", f"largest difference of similarities: {worst:.1e}"])


def _fit_table(report: dict[str, Any]) -> str:
    lines = [
        f"Whole fits with their defaults, K = {N_TOPICS}, {report['threads']} threads, "
        "the graph included.",
        "",
        "| model | s | times PLSA | CPU s | times PLSA | iterations |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    plsa = report["fits"][0]
    for row in report["fits"]:
        cells = [row["model"]]
        for name in ("seconds", "cpu_seconds"):
            cells += [f"{row[name]:.2f}", f"{row[name] / plsa[name]:.2f}"]
        lines.append(f"| {' | '.join(cells)} | {row['iterations']} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
