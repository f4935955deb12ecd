# SPDX-License-Identifier: BSD-3-Clause
"""Clustering by the protocol of LapPLSI: k classes at random, as many topics.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.clustering --draws 50

A document's cluster is its largest topic (k-means: its cluster). AC is the accuracy
under the best assignment of clusters to classes, NMI is normalised by the larger
entropy. Results: ``results/clustering.json`` and ``.md``.
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from topicfold import LDA, PLSA
from topicfold.corpus import load_folder
from topicfold.models.graph_base import GraphOptions, build_graph
from topicfold.models.manifold import (
    DiscriminativePLSA,
    LaplacianPLSA,
    LocallyConsistentPLSA,
)

RESULTS = Path(__file__).parent / "results"
CORPORA = ("tdt2_dengcai", "reuters21578_dengcai")
MOST_CLASSES = 30  # the largest ones, as in the paper
SEED = 200


def scores(clusters, y):
    """Return AC and NMI."""
    table = contingency_matrix(y, clusters)
    rows, columns = linear_sum_assignment(-table)
    nmi = normalized_mutual_info_score(y, clusters, average_method="max")
    return float(table[rows, columns].sum() / len(y)), float(nmi)


def methods(X, k, seed):
    """Return functions that cluster the documents."""
    tfidf = TfidfTransformer().fit_transform(X)
    common = {"n_components": k, "random_state": seed}

    def spectral():
        graph = build_graph(X, None, None, GraphOptions()).astype(np.float64)
        graph = sp.csr_matrix(graph + 1e-6 * sp.identity(X.shape[0]))
        graph.indices = graph.indices.astype(np.int32)
        graph.indptr = graph.indptr.astype(np.int32)
        return SpectralClustering(
            k, affinity="precomputed", random_state=seed, assign_labels="kmeans"
        ).fit_predict(graph)

    topic = {
        model.__name__: lambda model=model: (
            model(**common).fit(X).doc_topics_.argmax(axis=1)
        )
        for model in (
            PLSA,
            LDA,
            LaplacianPLSA,
            LocallyConsistentPLSA,
            DiscriminativePLSA,
        )
    }
    return {
        "k-means (tf-idf)": lambda: KMeans(k, n_init=3, random_state=seed).fit_predict(
            tfidf
        ),
        "NMF (tf-idf)": lambda: (
            NMF(k, random_state=seed, max_iter=300).fit_transform(tfidf).argmax(axis=1)
        ),
        "spectral, same graph": spectral,
        **topic,
    }


def load(name):
    """Return the documents of the largest classes."""
    corpus = load_folder(Path(os.environ["TOPICFOLD_CORPORA"]) / name, texts=False)
    y = np.unique(corpus.labels, return_inverse=True)[1]
    largest = np.argsort(-np.bincount(y), kind="stable")[:MOST_CLASSES]
    return sp.csr_matrix(corpus.counts), y, largest


def one_draw(X, y, classes, k, seed):
    """Return the scores of every method on one draw of classes."""
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(np.isin(y, rng.choice(classes, k, replace=False)))
    part = X[rows]
    part = part[:, np.flatnonzero(np.asarray(part.sum(axis=0)).ravel())]
    found = {}
    for name, cluster in methods(part, k, seed).items():
        began = time.perf_counter()
        found[name] = (*scores(cluster(), y[rows]), time.perf_counter() - began)
    return found


def write(report):
    """Write everything measured so far."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "clustering.json").write_text(json.dumps(report, indent=1))
    lines = [
        "# Clustering, LapPLSI protocol",
        "",
        "Mean over draws of k of the 30 largest classes; as many topics as classes, "
        "one start, library defaults.",
    ]
    for corpus, by_k in report.items():
        names = list(next(iter(next(iter(by_k.values()))))) if by_k else []
        for what, position in (("AC", 0), ("NMI", 1), ("seconds", 2)):
            lines += ["", f"## {corpus}: {what}", ""]
            lines.append("| k | draws | " + " | ".join(names) + " |")
            lines.append("|---" * (len(names) + 2) + "|")
            for k, draws in by_k.items():
                means = [np.mean([d[n][position] for d in draws]) for n in names]
                cells = " | ".join(f"{mean:.3f}" for mean in means)
                lines.append(f"| {k} | {len(draws)} | {cells} |")
    (RESULTS / "clustering.md").write_text("\n".join(lines) + "\n")


def main():
    """Parse options and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", nargs="+", default=list(CORPORA))
    parser.add_argument("-k", nargs="+", type=int, default=list(range(2, 11)))
    parser.add_argument("--draws", type=int, default=50)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    report = {}
    for name in options.corpus:
        X, y, classes = load(name)
        report[name] = {}
        for k in options.k:
            report[name][k] = []
            for draw in range(options.draws):
                report[name][k].append(one_draw(X, y, classes, k, SEED + draw))
                write(report)
            print(name, k, flush=True)


if __name__ == "__main__":
    main()
