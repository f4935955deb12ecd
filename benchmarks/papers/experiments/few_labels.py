# SPDX-License-Identifier: BSD-3-Clause
"""Few labels: how good are features with 1, 3, 5 or 10 labelled documents per class?

The protocol of DTM and OTM. Transductive: a model sees the words of every document, and
the labels of the drawn ones only; the rest is for the score.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.experiments.cells import Cell, Row
from benchmarks.papers.experiments.inputs import (
    Task,
    check_task,
    class_counts,
    usable_classes,
)
from benchmarks.papers.experiments.methods import (
    check_methods,
    classification_scores,
    find_method,
    fit_all,
    method_cells,
    split_options,
)
from benchmarks.papers.experiments.results import Progress, Results, run_cells
from topicfold.choosing.evaluation import (
    check_sizes,
    data_fingerprint,
    linear_svm,
    powered,
)
from topicfold.exceptions import DataError
from topicfold.graph import NeighborGraph

DEFAULT_MODELS = ("tf-idf", "PCA", "NMF", "PLSA", "LDA", "LapPLSI", "LTM", "DTM", "OTM")


def few_labels(
    corpus: Any,
    models: Iterable[str] = DEFAULT_MODELS,
    *,
    n_components: Any = 100,
    labels: Any = (1, 3, 5, 10),
    n_draws: int = 20,
    documents_per_class: int | None = None,
    label_edges: bool = False,
    small_classes: str = "error",
    candidates: Any = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
    results: Any = None,
    n_jobs: int | None = None,
    model_jobs: int | None = None,
    on_progress: Progress | None = None,
) -> Results:
    """Accuracy with few labels, over draws of the labelled documents.

    A linear SVM is trained on the features of the labelled documents and scored on all
    the others. Draws, starts and the choice of documents depend on `seed` and the
    number of the draw only: all models see the same ones.

    Parameters
    ----------
    corpus : Corpus or (X, y)
        Documents with labels; those without one are seen, and not scored.
    models : iterable of str
        Names from `available_methods`: topics, features or predictions.
    n_components : int or list of int, default=100
        Numbers of topics.
    labels : int or list of int, default=(1, 3, 5, 10)
        Labelled documents per class.
    n_draws : int, default=20
        Number of draws.
    documents_per_class : int or None, default=None
        For each draw take this many documents of each class (DTM: 100), the rest is
        not seen at all; None: all documents.
    label_edges : bool, default=False
        Whether graph models get the known labels as edges, as in DTM.
    small_classes : {"error", "drop", "fewer"}, default="error"
        What to do with classes that have not one document more than labels are asked.
    candidates : bool array, optional
        Documents that may be labelled, for instance the training part; those that may
        not are for the score. Default: all may be.
    options : mapping of str to mapping, optional
        Parameters of a model by its name; ``svm_c`` (default 1, ``"cv"``: by
        cross-validation) and ``power`` (of θ, default 0.5) are those of the classifier
        on top.
    seed : int, default=0
        Other seeds are other draws.
    results, n_jobs, on_progress :
        See `run_cells`.
    model_jobs : int or None, default=None
        Threads of one model.

    Returns
    -------
    Results
        Metrics ``accuracy`` and ``macro_f1``; `labels` per class in the column labels.

    References
    ----------
    .. [1] S. Huh, S. Fienberg, "Discriminative topic modeling based on manifold
       learning", KDD 2010.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.poisson(np.where(y[:, None] == np.arange(8) % 2, 2.0, 0.2))
    >>> found = few_labels((X, y), ["PLSA"], n_components=2, labels=3, n_draws=2)
    >>> found.mean("accuracy") > 0.9
    True
    """
    task = check_task(corpus, unlabelled="keep")
    chosen = dict(options or {})
    methods = check_methods(models, ("topics", "features", "predict"), chosen)
    sizes = check_sizes(labels, "labels")
    classes, allowed = _participants(
        task, sizes, documents_per_class, small_classes, candidates
    )
    settings = {
        "labels": sizes,
        "documents_per_class": documents_per_class,
        "label_edges": label_edges,
        "small_classes": small_classes,
    }
    shared = {
        "protocol": "few_labels",
        "corpus": task.name,
        "data": task.fingerprint,
        "allowed": None if candidates is None else data_fingerprint(allowed),
        "model_jobs": model_jobs,
    }
    topics = check_sizes(n_components, "n_components")
    cells: list[Cell] = []
    for draw in range(int(seed), int(seed) + check_sizes(n_draws, "n_draws")[0]):
        cells += method_cells(methods, topics, chosen, settings, seed=draw, **shared)
    return run_cells(
        cells,
        measure,
        (task, classes, allowed),
        results=results,
        n_jobs=n_jobs,
        on_progress=on_progress,
    )


def measure(
    data: tuple[Task, NDArray[np.int64], NDArray[np.bool_]], cell: Cell
) -> list[Row]:
    """Run one model on one draw, for every number of labels."""
    task, classes, allowed = data
    settings = cell["settings"]
    rows = _draw_documents(task, classes, settings["documents_per_class"], cell["seed"])
    X, y, may = task.X[rows], task.y[rows], allowed[rows]
    method = find_method(cell["model"])
    own, top = split_options(cell["options"])
    found: list[Row] = []
    features, seconds = None, 0.0
    for size in settings["labels"]:
        known = draw_labels(y, classes, may, size, cell["seed"])
        visible = np.full(len(y), -1)
        visible[known] = y[known]
        test = np.isin(y, classes)
        test[known] = False
        if not may.all():
            test &= ~may
        needs = method.labels == "must" or (
            method.labels == "may" and settings["label_edges"]
        )
        if method.kind == "predict":
            began = time.perf_counter()
            predicted = method.load()(
                X, visible, seed=cell["seed"], n_jobs=cell["model_jobs"], **own
            )
            seconds = time.perf_counter() - began
        else:
            if features is None or needs:
                began = time.perf_counter()
                extra = {}
                if needs and method.labels == "may":
                    extra["graph"] = NeighborGraph(label_edges=True)
                _, features = fit_all(
                    method,
                    X,
                    visible if needs else None,
                    cell["n_components"],
                    cell["seed"],
                    n_jobs=cell["model_jobs"],
                    options={**own, **extra},
                )
                seconds = time.perf_counter() - began
            seen = powered(method, features, top["power"])
            svm = linear_svm(top["svm_c"], y[known])
            predicted = svm.fit(seen[known], y[known]).predict(seen)
        found += [
            {"labels": size, "seconds": seconds, "metric": name, "value": value}
            for name, value in classification_scores(y[test], predicted[test]).items()
        ]
    return found


def draw_labels(
    y: NDArray[np.int64],
    classes: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    size: int,
    seed: int,
) -> NDArray[np.int64]:
    """Return the rows of the labelled documents: `size` per class, at most half."""
    rng = np.random.default_rng([seed, size])
    rows = []
    for c in classes.tolist():
        members = np.flatnonzero((y == c) & allowed)
        count = min(size, max(1, len(members) // 2)) if len(members) <= size else size
        rows.append(rng.choice(members, count, replace=False))
    return np.sort(np.concatenate(rows))


def _participants(
    task: Task,
    sizes: list[int],
    documents_per_class: int | None,
    small_classes: str,
    candidates: Any,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the classes that take part, and the documents that may be labelled."""
    allowed = np.ones(len(task.y), dtype=bool)
    if candidates is not None:
        allowed = np.asarray(candidates, dtype=bool)
        if allowed.shape != task.y.shape:
            raise DataError(
                f"candidates has shape {allowed.shape} for {len(task.y)} documents."
            )
    needed = max(sizes) + (1 if allowed.all() else 0)
    if documents_per_class is not None:
        if documents_per_class < needed:
            raise DataError(
                f"documents_per_class={documents_per_class} leaves nothing to score "
                f"with {max(sizes)} labels per class. Give more, or fewer labels."
            )
        needed = documents_per_class
        counts = class_counts(task)
    else:
        counts = np.bincount(
            task.y[allowed & (task.y >= 0)], minlength=len(task.classes)
        )
    what = f"{max(sizes)} labels per class need"
    if documents_per_class is not None:
        what = "documents_per_class asks"
    return usable_classes(task, counts, needed, small_classes, what), allowed


def _draw_documents(
    task: Task, classes: NDArray[np.int64], per_class: int | None, seed: int
) -> NDArray[np.int64]:
    if per_class is None:
        return np.arange(len(task.y))
    rng = np.random.default_rng([seed, 0, 1])
    rows = []
    for c in classes.tolist():
        members = np.flatnonzero(task.y == c)
        rows.append(rng.choice(members, min(per_class, len(members)), replace=False))
    return np.sort(np.concatenate(rows))
