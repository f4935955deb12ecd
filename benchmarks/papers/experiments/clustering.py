# SPDX-License-Identifier: BSD-3-Clause
"""Clustering: k classes at random, as many topics (LapPLSI)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.experiments.baselines import kmeans_clusters
from benchmarks.papers.experiments.cells import Cell, Row
from benchmarks.papers.experiments.inputs import Task, check_task, class_counts
from benchmarks.papers.experiments.methods import (
    check_methods,
    find_method,
    fit_all,
    method_cells,
    split_options,
)
from benchmarks.papers.experiments.results import Progress, Results, run_cells
from topicfold.choosing.evaluation import check_sizes
from topicfold.exceptions import DataError
from topicfold.metrics import clustering_accuracy, clustering_nmi

DEFAULT_MODELS = ("k-means", "NMF", "spectral", "PLSA", "LDA", "LapPLSI", "LTM", "DTM")


def clustering(
    corpus: Any,
    models: Iterable[str] = DEFAULT_MODELS,
    *,
    n_clusters: Any = tuple(range(2, 11)),
    n_draws: int = 50,
    n_classes: int | None = 30,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
    results: Any = None,
    n_jobs: int | None = None,
    model_jobs: int | None = None,
    on_progress: Progress | None = None,
) -> Results:
    """AC and NMI of clusters against classes, over draws of k classes.

    A document's cluster is its largest topic; NMF's its largest factor; features of
    another kind are clustered by k-means. There are as many topics as classes, and no
    label is seen.

    Parameters
    ----------
    corpus : Corpus or (X, y)
        Documents with labels; those without are left out.
    models : iterable of str
        Names from `available_methods`: topics, features or clusters.
    n_clusters : int or list of int, default=2 to 10
        Numbers of classes to draw.
    n_draws : int, default=50
        Draws for each number.
    n_classes : int or None, default=30
        Draw among this many largest classes; None: among all.
    options, seed, results, n_jobs, model_jobs, on_progress :
        As in `few_labels`.

    Returns
    -------
    Results
        Metrics ``ac`` and ``nmi``; the column n_components has the number of classes.

    References
    ----------
    .. [1] D. Cai, Q. Mei, J. Han, C. Zhai, "Modeling hidden topics on document
       manifold", CIKM 2008.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.poisson(np.where(y[:, None] == np.arange(8) % 2, 2.0, 0.2))
    >>> clustering((X, y), ["PLSA"], n_clusters=2, n_draws=1).mean("ac")
    1.0
    """
    task = check_task(corpus, unlabelled="drop")
    chosen = dict(options or {})
    methods = check_methods(models, ("topics", "features", "cluster"), chosen)
    supervised = [method.shown for method in methods if method.labels == "must"]
    if supervised:
        raise DataError(
            f"{', '.join(supervised)} learns from labels, which clustering must not "
            "see. Leave it out."
        )
    sizes = check_sizes(n_clusters, "n_clusters")
    if min(sizes) < 2:
        raise DataError(f"n_clusters={n_clusters!r} must be 2 or more.")
    order = np.argsort(-class_counts(task), kind="stable")
    classes = np.sort(order[:n_classes])
    if max(sizes) > len(classes):
        raise DataError(
            f"n_clusters={max(sizes)} is more than the {len(classes)} classes there "
            "are. Give fewer."
        )
    shared = {
        "protocol": "clustering",
        "corpus": task.name,
        "data": task.fingerprint,
        "model_jobs": model_jobs,
    }
    settings = {"n_classes": n_classes}
    cells: list[Cell] = []
    for k in sizes:
        for draw in range(int(seed), int(seed) + check_sizes(n_draws, "n_draws")[0]):
            own = method_cells(methods, [k], chosen, settings, seed=draw, **shared)
            # Clusterings have no dimensions, but they are told the number of classes.
            cells += [{**cell, "n_components": k} for cell in own]
    return run_cells(
        cells,
        measure,
        (task, classes),
        results=results,
        n_jobs=n_jobs,
        on_progress=on_progress,
    )


def measure(data: tuple[Task, NDArray[np.int64]], cell: Cell) -> list[Row]:
    """Cluster the documents of one draw of classes."""
    task, classes = data
    k, seed = cell["n_components"], cell["seed"]
    drawn = np.random.default_rng(seed).choice(classes, k, replace=False)
    rows = np.flatnonzero(np.isin(task.y, drawn))
    X, y = task.X[rows], task.y[rows]
    X = X[:, np.flatnonzero(np.asarray(X.sum(axis=0)).ravel())]
    method = find_method(cell["model"])
    own, _ = split_options(cell["options"])
    began = time.perf_counter()
    if method.kind == "cluster":
        clusters = method.load()(X, k, seed, **own)
    else:
        _, features = fit_all(
            method, X, None, k, seed, n_jobs=cell["model_jobs"], options=own
        )
        if method.kind == "topics" or method.shown == "NMF":
            clusters = np.asarray(features).argmax(axis=1)
        else:
            clusters = kmeans_clusters(features, k, seed)
    seconds = time.perf_counter() - began
    return [
        {"metric": "ac", "value": clustering_accuracy(y, clusters), "seconds": seconds},
        {"metric": "nmi", "value": clustering_nmi(y, clusters), "seconds": seconds},
    ]
