# SPDX-License-Identifier: BSD-3-Clause
"""Clustering by the protocol of LapPLSI: k classes at random, as many topics.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.clustering --draws 50

A document's cluster is its largest topic (k-means: its cluster). AC is the accuracy
under the best assignment of clusters to classes, NMI is normalised by the larger
entropy. Results: ``results/clustering.jsonl``, in which a run goes on where it was
interrupted, and ``clustering.md``. The protocol is `topicfold.protocols.clustering`.
"""

import argparse
import os
from pathlib import Path

import numpy as np

from topicfold.corpus import load_folder
from topicfold.protocols import clustering

RESULTS = Path(__file__).parent / "results"
CORPORA = ("tdt2_dengcai", "reuters21578_dengcai")
SEED = 200


def table(found, metric):
    """Return Markdown: a row for each number of classes, a column a model."""
    models = found.unique("model")
    lines = ["| k | draws | " + " | ".join(models) + " |"]
    lines.append("|---" * (len(models) + 2) + "|")
    for k in found.unique("n_components"):
        rows = found.select(
            n_components=k, metric="ac" if metric == "seconds" else metric
        )
        field = "seconds" if metric == "seconds" else "value"
        values = [[r[field] for r in rows if r["model"] == m] for m in models]
        cells = [f"{np.mean(v):.3f}" if v else "" for v in values]
        draws = len({r["seed"] for r in rows})
        lines.append(f"| {k} | {draws} | {' | '.join(cells)} |")
    return lines


def main():
    """Parse options and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", nargs="+", default=list(CORPORA))
    parser.add_argument("-k", nargs="+", type=int, default=list(range(2, 11)))
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    lines = [
        "# Clustering, LapPLSI protocol",
        "",
        "Mean over draws of k of the 30 largest classes; as many topics as classes, "
        "one start, library defaults.",
    ]
    for name in options.corpus:
        found = clustering(
            load_folder(Path(os.environ["TOPICFOLD_CORPORA"]) / name, texts=False),
            n_clusters=options.k,
            n_draws=options.draws,
            seed=SEED,
            results=RESULTS / "clustering.jsonl",
            n_jobs=options.jobs,
            on_progress=lambda done, total, cell: print(
                done, total, cell["corpus"], cell["model"], flush=True
            ),
        )
        for metric in ("ac", "nmi", "seconds"):
            title = metric if metric == "seconds" else metric.upper()
            lines += ["", f"## {name}: {title}", "", *table(found, metric)]
        (RESULTS / "clustering.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
