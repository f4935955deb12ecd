# SPDX-License-Identifier: BSD-3-Clause
"""How long does a model take, and how much memory (SDR figure 7, table 3)?"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from benchmarks.papers.experiments.cells import Cell, Row
from benchmarks.papers.experiments.inputs import check_task
from benchmarks.papers.experiments.methods import (
    check_methods,
    find_method,
    fit_all,
    method_cells,
    split_options,
)
from benchmarks.papers.experiments.results import Progress, Results, run_cells
from topicfold.choosing.evaluation import check_sizes, data_fingerprint, read_counts
from topicfold.exceptions import DataError

DEFAULT_MODELS = ("PLSA", "LDA", "FSTM", "PLSA^c", "LDA^c", "FSTM^c")


def runtime(
    corpus: Any,
    models: Iterable[str] = DEFAULT_MODELS,
    *,
    n_components: Any = (20, 40, 60, 80, 100, 120),
    n_repeats: int = 1,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
    results: Any = None,
    model_jobs: int | None = None,
    on_progress: Progress | None = None,
) -> Results:
    """Seconds and memory to learn the space, one model at a time.

    Each is fitted once before on a few documents, so that nothing is compiled inside
    the clock.

    Parameters
    ----------
    corpus : Corpus or (X, y)
        The documents; labels are needed by supervised models only.
    models : iterable of str
        Names from `available_methods`: topics or features.
    n_components : int or list of int, default=(20, 40, 60, 80, 100, 120)
        Numbers of topics.
    n_repeats : int, default=1
        Fits of each, with other seeds.
    options, seed, results, model_jobs, on_progress :
        As in `few_labels`.

    Returns
    -------
    Results
        Metric ``seconds``; the memory is in its own column.

    Examples
    --------
    >>> X = np.random.default_rng(0).poisson(1.0, (30, 12))
    >>> found = runtime((X, None), ["PLSA"], n_components=[2, 3])
    >>> found.mean("seconds", n_components=3) > 0
    True
    """
    chosen = dict(options or {})
    methods = check_methods(models, ("topics", "features"), chosen)
    name, X = read_counts(corpus)
    y = None
    if any(method.labels == "must" for method in methods):
        task = check_task(corpus, unlabelled="error")
        y = task.y
    shared = {
        "protocol": "runtime",
        "corpus": name,
        "data": data_fingerprint(X),
        "model_jobs": model_jobs,
    }
    topics = check_sizes(n_components, "n_components")
    cells: list[Cell] = []
    for repeat in range(int(seed), int(seed) + check_sizes(n_repeats, "n_repeats")[0]):
        cells += method_cells(methods, topics, chosen, {}, seed=repeat, **shared)
    if X.shape[0] < 2:
        raise DataError("a corpus of one document has nothing to measure.")
    return run_cells(cells, measure, (X, y), results=results, on_progress=on_progress)


def measure(data: tuple[Any, Any], cell: Cell) -> list[Row]:
    """Fit once on few documents, then on all with the clock."""
    X, y = data
    method = find_method(cell["model"])
    own, _ = split_options(cell["options"])
    seconds = 0.0
    for rows in (warm_rows(y, X.shape[0]), np.arange(X.shape[0])):
        began = time.perf_counter()
        fit_all(
            method,
            X[rows],
            None if y is None or method.labels != "must" else y[rows],
            cell["n_components"] if len(rows) == X.shape[0] else 2,
            cell["seed"],
            n_jobs=cell["model_jobs"],
            options=own,
            only_fit=True,
        )
        seconds = time.perf_counter() - began
    return [{"metric": "seconds", "value": seconds, "seconds": seconds}]


def warm_rows(y: Any, n_documents: int) -> Any:
    """Return a few documents, of two classes where there are labels."""
    if y is None:
        return np.arange(min(20, n_documents))
    first = [np.flatnonzero(y == c)[:10] for c in np.unique(y[y >= 0])[:2]]
    return np.sort(np.concatenate(first))
