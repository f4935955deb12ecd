# SPDX-License-Identifier: BSD-3-Clause
"""Time a query of a large index.

    python -m benchmarks.search --documents 1000000 --components 100 --threads 2

Synthetic vectors; every query is timed alone, and afterwards its result is compared
with a sort of all scores. The rival is NumPy's product (BLAS) with a partial sort.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np

from topicfold import LSI
from topicfold.search import TopicIndex

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    arguments = _arguments()
    k = arguments.components
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((arguments.documents, k), dtype=np.float32)
    # The model only has to have the size: documents come as vectors.
    model = LSI(k, weighting="counts").fit(np.eye(2 * k) + rng.random((2 * k, 2 * k)))
    index = TopicIndex(model, measure="cosine", n_jobs=arguments.threads)
    index.add(vectors=vectors)
    rows = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    del vectors
    queries = rng.standard_normal((arguments.queries, k))
    index.query(vector=queries[0])
    ours, peer, found = [], [], []
    for query in queries:
        start = time.perf_counter()
        hits = index.query(vector=query, n=10)
        ours.append(time.perf_counter() - start)
        unit = (query / np.linalg.norm(query)).astype(np.float32)
        start = time.perf_counter()
        scores = rows @ unit
        best = np.argpartition(scores, -10)[-10:]
        best = best[np.argsort(-scores[best], kind="stable")]
        peer.append(time.perf_counter() - start)
        found.append(hits.rows.tolist())
    exact = all(
        _sorted(index.documents.vectors, query) == rows
        for query, rows in zip(queries, found, strict=True)
    )
    report: dict[str, Any] = {
        "documents": arguments.documents,
        "components": k,
        "threads": arguments.threads,
        "machine": f"{platform.machine()}, {os.cpu_count()} CPU",
        "milliseconds": {
            "topicfold": [1e3 * t for t in ours],
            "NumPy product and argpartition": [1e3 * t for t in peer],
        },
        "exact": exact,
    }
    text = _markdown(report)
    print(text)
    if arguments.write:
        (RESULTS / "search.json").write_text(json.dumps(report, indent=2) + "\n")
        (RESULTS / "search.md").write_text(text + "\n")


def _sorted(vectors: np.ndarray, query: np.ndarray) -> list[int]:
    """Return the best ten by a sort of all scores in float64."""
    unit = query / np.linalg.norm(query)
    parts = [vectors[i : i + 50_000] @ unit for i in range(0, len(vectors), 50_000)]
    return np.argsort(-np.concatenate(parts), kind="stable")[:10].tolist()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--components", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--write", action="store_true", help="write benchmarks/results")
    return parser.parse_args()


def _markdown(report: dict[str, Any]) -> str:
    lines = [
        f"{report['documents']:,} documents, K = {report['components']}, "
        f"{report['threads']} threads, {report['machine']}; one query at a time; the "
        f"same ten as a sort of all scores: {'yes' if report['exact'] else 'NO'}.",
        "",
        "| search | median, ms | nine of ten below, ms | worst, ms |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, times in report["milliseconds"].items():
        lines.append(
            f"| {name} | {np.median(times):.1f} | {np.quantile(times, 0.9):.1f} | "
            f"{np.max(times):.1f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
