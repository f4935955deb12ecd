# SPDX-License-Identifier: BSD-3-Clause
"""Supervised: features learned on training documents, scored on others (SDR).

One class, several classes or a number per document.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.papers.experiments.cells import Cell, Row
from benchmarks.papers.experiments.inputs import check_task
from benchmarks.papers.experiments.methods import (
    Method,
    check_methods,
    classification_scores,
    find_method,
    make_method,
    method_cells,
    split_options,
)
from benchmarks.papers.experiments.results import Progress, Results, run_cells
from topicfold.choosing.evaluation import (
    COSTS,
    capped,
    check_sizes,
    data_fingerprint,
    draw_split,
    linear_svm,
    powered,
    read_counts,
)
from topicfold.exceptions import DataError

DEFAULT_MODELS = ("tf-idf", "PLSA", "LDA", "FSTM", "DTM", "PLSA^c", "LDA^c", "FSTM^c")
TARGETS = ("classes", "multilabel", "regression")


def supervised(
    corpus: Any,
    models: Iterable[str] = DEFAULT_MODELS,
    *,
    target: str = "classes",
    n_components: Any = 120,
    n_splits: int = 5,
    test_size: float = 0.2,
    train: Any = None,
    unlabelled: str = "error",
    options: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
    results: Any = None,
    n_jobs: int | None = None,
    model_jobs: int | None = None,
    on_progress: Progress | None = None,
) -> Results:
    """Scores on test documents of models that learned from training documents.

    Topics are learned on the training part (with its labels, where a model uses
    them), the test part is inferred, and a linear SVM (for numbers: ridge regression)
    is trained on the first and scored on the second. MedLDA predicts
    by itself. Predictions from few labels (label spreading, naive Bayes EM) see the
    words of the test documents.

    Parameters
    ----------
    corpus : Corpus or (X, y)
        Documents. For ``target="multilabel"`` y is a matrix of 0 and 1, or each label
        of the corpus is a list separated by commas; for ``"regression"`` numbers.
    models : iterable of str
        Names from `available_methods`.
    target : {"classes", "multilabel", "regression"}, default="classes"
        What y is.
    n_components : int or list of int, default=120
        Numbers of topics.
    n_splits : int, default=5
        Random splits, in proportion to the classes.
    test_size : float, default=0.2
        Share of the test documents.
    train : bool array, optional
        Training documents of one given split, instead of random ones.
    unlabelled : {"error", "drop"}, default="error"
        What to do with documents without a label (for numbers: NaN).
    options, seed, results, n_jobs, model_jobs, on_progress :
        As in `few_labels`.

    Returns
    -------
    Results
        Metrics ``accuracy`` and ``macro_f1``; for several labels ``micro_f1``,
        ``macro_f1`` and ``exact_match``; for numbers ``r2`` and ``rmse``. The column
        seconds is the time to learn the space, as in the paper.

    References
    ----------
    .. [1] K. Than, T. B. Ho, D. K. Nguyen, "An effective framework for supervised
       dimension reduction", Neurocomputing 2014.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.poisson(np.where(y[:, None] == np.arange(8) % 2, 2.0, 0.2))
    >>> found = supervised((X, y), ["PLSA^c"], n_components=2, n_splits=1)
    >>> found.mean("accuracy")
    1.0
    """
    if target not in TARGETS:
        raise DataError(f"target={target!r} must be one of {TARGETS}.")
    if unlabelled not in ("error", "drop"):
        raise DataError(f"unlabelled={unlabelled!r} must be 'error' or 'drop'.")
    chosen = dict(options or {})
    methods = check_methods(models, ("topics", "features", "predict"), chosen)
    _check_target(methods, target)
    name, X, y = _read_target(corpus, target, unlabelled)
    parts = _splits(y, target, train, n_splits, test_size, seed)
    shared = {
        "protocol": "supervised",
        "corpus": name,
        "data": data_fingerprint(X, y),
        "model_jobs": model_jobs,
    }
    topics = check_sizes(n_components, "n_components")
    cells: list[Cell] = []
    for number, part in enumerate(parts):
        own = {"split": data_fingerprint(part), "part": number}
        own["seed"] = int(seed) + number
        settings = {"target": target}
        cells += method_cells(methods, topics, chosen, settings, **shared, **own)
    return run_cells(
        cells,
        measure,
        (X, y, parts),
        results=results,
        n_jobs=n_jobs,
        on_progress=on_progress,
    )


def measure(
    data: tuple[Any, NDArray[Any], list[NDArray[np.bool_]]], cell: Cell
) -> list[Row]:
    """Run one model on one split."""
    X, y, parts = data
    train = parts[cell["part"]]
    target = cell["settings"]["target"]
    method = find_method(cell["model"])
    own, top = split_options(cell["options"])
    began = time.perf_counter()
    if method.kind == "predict":
        visible = np.where(train, y, -1)
        predicted = method.load()(
            X, visible, seed=cell["seed"], n_jobs=cell["model_jobs"], **own
        )[~train]
        seconds = time.perf_counter() - began
        return _rows(target, y[~train], predicted, seconds)
    n_components = capped(cell["n_components"], X[train], method)
    model = make_method(
        method, n_components, cell["seed"], n_jobs=cell["model_jobs"], **own
    )
    known = (y[train],) if method.labels == "must" else ()
    if method.labels == "may" or method.classifies:
        # Fitted mixtures are smoothed over the graph, or know the class: the test
        # documents' are not, so both parts are inferred alike.
        model.fit(X[train], *known)
        seconds = time.perf_counter() - began
        if method.classifies and target == "classes":
            return _rows(target, y[~train], model.predict(X[~train]), seconds)
        seen = model.transform(X[train])
    else:
        seen = model.fit_transform(X[train], *known)
        seconds = time.perf_counter() - began
    seen, new = (
        powered(method, features, top["power"])
        for features in (seen, model.transform(X[~train]))
    )
    costs = COSTS["topics" if method.kind == "topics" else "features"]
    cost = top["svm_c"]
    if cost == "cv" and target == "classes" and hasattr(model, "cross_fit_transform"):
        cost = _honest_cost(model, X[train], y[train], costs, top["power"])
    predictor = _predictor(target, cost, y[train], costs).fit(seen, y[train])
    return _rows(target, y[~train], predictor.predict(new), seconds)


def _honest_cost(
    model: Any, X: Any, y: NDArray[Any], costs: tuple[float, ...], power: float
) -> float:
    """Choose C on mixtures that do not know their labels, as those of new documents."""
    features = model.cross_fit_transform(X, y) ** power
    found = linear_svm("cv", y, costs).fit(features, y)
    return float(getattr(found, "best_params_", {"C": 1.0})["C"])


def _predictor(
    target: str, c: float | str, y: NDArray[Any], costs: tuple[float, ...]
) -> Any:
    if target == "classes":
        return linear_svm(c, y, costs)
    if target == "multilabel":
        from sklearn.multiclass import OneVsRestClassifier

        if c == "cv":
            raise DataError("svm_c='cv' needs one class per document. Give a number.")
        return OneVsRestClassifier(linear_svm(c, y))
    from sklearn.linear_model import RidgeCV

    # Chosen inside the training part.
    return RidgeCV(alphas=np.logspace(-4, 3, 15))


def _rows(
    target: str, truth: NDArray[Any], predicted: NDArray[Any], seconds: float
) -> list[Row]:
    if target == "classes":
        scores = classification_scores(truth, predicted)
    elif target == "multilabel":
        from sklearn.metrics import f1_score

        scores = {
            f"{average}_f1": float(
                f1_score(truth, predicted, average=average, zero_division=0)
            )
            for average in ("micro", "macro")
        }
        scores["exact_match"] = float((truth == predicted).all(axis=1).mean())
    else:
        error = float(np.mean((truth - predicted) ** 2))
        spread = float(np.var(truth))
        # A test part without spread: right or wrong, nothing between.
        r2 = 1.0 - error / spread if spread > 0 else float(error == 0)
        scores = {"r2": r2, "rmse": float(np.sqrt(error))}
    return [
        {"metric": name, "value": value, "seconds": seconds}
        for name, value in scores.items()
    ]


def _check_target(methods: list[Method], target: str) -> None:
    if target == "classes":
        return
    wrong = [
        method.shown
        for method in methods
        if method.kind == "predict"
        or method.classifies
        or (target == "regression" and method.labels == "must")
    ]
    if wrong:
        raise DataError(
            f"{', '.join(wrong)} learns from one class per document and cannot be used "
            f"with target={target!r}. Leave it out."
        )


def _read_target(
    corpus: Any, target: str, unlabelled: str
) -> tuple[str, sparse.csr_matrix, NDArray[Any]]:
    if target == "classes":
        task = check_task(corpus, unlabelled=unlabelled)
        return task.name, task.X, task.y
    name, X = read_counts(corpus)
    y: NDArray[Any]
    if target == "multilabel":
        y = _indicators(corpus, X.shape[0])
        missing = y.sum(axis=1) == 0
    else:
        y = _numbers(corpus, X.shape[0])
        missing = ~np.isfinite(y)
    if missing.any() and unlabelled == "error":
        raise DataError(
            f"{int(missing.sum())} of {len(y)} documents have no label (first: row "
            f"{int(np.argmax(missing))}). Give unlabelled='drop' to leave them out."
        )
    if missing.all():
        raise DataError("no document has a label.")
    return name, X[~missing], y[~missing]


def _indicators(corpus: Any, n_documents: int) -> NDArray[np.int64]:
    """Return the matrix of labels: documents × classes, 0 and 1."""
    labels = corpus[1] if isinstance(corpus, tuple) else getattr(corpus, "labels", None)
    if labels is None:
        raise DataError("the corpus has no labels. Give (counts, matrix of 0 and 1).")
    if isinstance(labels, list) and labels and isinstance(labels[0], str):
        sets = [{part.strip() for part in x.split(",")} - {""} for x in labels]
        names = sorted(set().union(*sets))
        matrix = np.array([[name in part for name in names] for part in sets])
    else:
        matrix = np.asarray(labels.toarray() if sparse.issparse(labels) else labels)
    if (
        matrix.ndim != 2
        or len(matrix) != n_documents
        or not np.isin(matrix, (0, 1)).all()
    ):
        raise DataError(
            f"the labels have shape {matrix.shape} for {n_documents} documents. Give a "
            "matrix of 0 and 1, documents × classes."
        )
    if matrix.shape[1] < 2:
        raise DataError("there is one label only; at least 2 are needed.")
    return matrix.astype(np.int64)


def _numbers(corpus: Any, n_documents: int) -> NDArray[np.float64]:
    labels = corpus[1] if isinstance(corpus, tuple) else getattr(corpus, "labels", None)
    try:
        y = np.array(
            [np.nan if v is None or v == "" else float(v) for v in labels or ()]
            if isinstance(labels, list | type(None))
            else labels,
            dtype=np.float64,
        )
    except (TypeError, ValueError) as error:
        raise DataError(f"the responses are no numbers: {error}.") from error
    if y.shape != (n_documents,):
        raise DataError(
            f"the responses have shape {y.shape} for {n_documents} documents. Give one "
            "number per document."
        )
    return y


def _splits(
    y: NDArray[Any],
    target: str,
    train: Any,
    n_splits: int,
    test_size: float,
    seed: int,
) -> list[NDArray[np.bool_]]:
    """Return masks of training documents."""
    if train is not None:
        mask = np.asarray(train, dtype=bool)
        if mask.shape != y.shape[:1] or mask.all() or not mask.any():
            raise DataError(
                f"train has shape {mask.shape} with {int(mask.sum())} documents of "
                f"{len(y)}. Give one truth value per document, with some of both."
            )
        masks = [mask]
    else:
        n_splits = check_sizes(n_splits, "n_splits")[0]
        groups = y if target == "classes" else np.zeros(len(y), dtype=np.int64)
        masks = [draw_split(groups, test_size, seed + i) for i in range(n_splits)]
    if target == "classes":
        for mask in masks:
            if len(np.unique(y[mask])) < 2:
                raise DataError(
                    "the training part has one class only. Give more documents, or a "
                    "smaller test_size."
                )
    return masks
