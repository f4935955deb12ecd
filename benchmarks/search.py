# SPDX-License-Identifier: BSD-3-Clause
"""Time a query of a large index.

    python -m benchmarks.search --documents 1000000 --components 100 --threads 2

Synthetic mixtures; every query is timed alone, and its result is compared with a
sort of all scores. The rival is NumPy's product (BLAS) with a partial sort.
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
    ours, peer, exact = [], [], True
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
        full = index.documents.vectors @ (query / np.linalg.norm(query))
        order = np.argsort(-full, kind="stable")[:10]
        exact = exact and order.tolist() == hits.rows.tolist()
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
        "| search | median, ms | worst, ms |",
        "| --- | ---: | ---: |",
    ]
    for name, times in report["milliseconds"].items():
        lines.append(f"| {name} | {np.median(times):.1f} | {np.max(times):.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
