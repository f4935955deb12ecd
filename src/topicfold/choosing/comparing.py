# SPDX-License-Identifier: BSD-3-Clause
"""Which model for my corpus? Sensible ones, in the time there is, in one table."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.choosing.comparison import METRICS, Comparison, ModelScore
from topicfold.choosing.inputs import check_counts_of, check_sizes, check_task
from topicfold.choosing.methods import (
    Method,
    capped,
    check_methods,
    find_method,
    powered,
)
from topicfold.choosing.recommending import recommend
from topicfold.choosing.results import ResultFile, cell_key, data_fingerprint
from topicfold.choosing.runner import Cell, quiet, run_cells
from topicfold.choosing.scoring import COSTS, linear_svm
from topicfold.exceptions import DataError

logger = logging.getLogger(__name__)

UNLABELLED_MODELS = ("PLSA", "LDA", "FSTM", "OTM", "LTM")
LABELLED_MODELS = ("tf-idf", "LSI", "LDA", "FSTM", "LTM", "FSTM^c", "LDA^c", "MedLDA")
# A fit on so many documents tells how long one on all takes; on so few it compiles.
_PILOT = 300
_TO_COMPILE = 30
# The SVM that judges features learns from at most so many documents.
_MOST_FOR_SVM = 4000
Progress = Callable[[str, int, int, float], None]


def compare(
    corpus: Any,
    models: Iterable[str] | None = None,
    *,
    n_components: int | None = None,
    time_budget: float = 300.0,
    test_size: float = 0.2,
    seed: int = 0,
    n_jobs: int | None = None,
    results: Any = None,
    on_progress: Progress | None = None,
) -> Comparison:
    """Fit sensible models on a corpus and say which to take.

    Some documents are held out for the scores. Every model is first fitted on a few
    documents; one that would not end in the time left is left out, which is said.

    Parameters
    ----------
    corpus : Corpus or (X, y) or X
        The documents. With labels (at least two classes) accuracy decides; without,
        the mean rank in perplexity, coherence, diversity and stability.
    models : iterable of str, optional
        Names from `topicfold.choosing.METHODS`; default: some quick and good ones.
    n_components : int, optional
        Number of topics; default: between 10 and 100, by the number of documents.
    time_budget : float, default=300.0
        Seconds.
    test_size : float, default=0.2
        Share of test documents.
    seed : int, default=0
        Of the split and the starts.
    n_jobs : int or None, default=None
        Threads of a model.
    results : str or path, optional
        File in which each model's scores are kept as they come.
    on_progress : callable, optional
        Called with (model, models done, models in all, seconds of the model).

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import compare
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(np.kron(np.eye(2) * 2 + 0.1, np.ones((30, 8))))
    >>> found = compare(X, ["PLSA", "LDA"], n_components=2)
    >>> [score.model for score in found.scores]
    ['PLSA', 'LDA']
    """
    began = time.monotonic()
    if not time_budget > 0:
        raise DataError(f"time_budget={time_budget} must be above 0 seconds.")
    name, X, y = _read(corpus)
    groups = np.zeros(X.shape[0], dtype=np.int64) if y is None else y
    train = _training_part(y, groups, test_size, seed)
    if models is None:
        models = UNLABELLED_MODELS if y is None else LABELLED_MODELS
    methods = check_methods(models, ("topics", "features"), {})
    _check_labels(methods, y)
    k = _default_topics(X.shape[0]) if n_components is None else n_components
    k = check_sizes(k, "n_components")[0]
    shared = {"protocol": "compare", "corpus": name, "seed": int(seed)}
    data = (X, y, train)
    fingerprint = data_fingerprint(X, *(() if y is None else (y,)), train)
    store = results if isinstance(results, ResultFile) else ResultFile(results)
    scores, left_out = [], []
    for number, method in enumerate(methods, 1):
        cell: Cell = {
            **shared,
            "data": fingerprint,
            "model": method.name,
            "n_components": k if method.sized else None,
            "n_jobs": n_jobs,
        }
        started = time.monotonic()
        left = time_budget - (started - began)
        known = store.get(cell_key(cell)) is not None
        expected = _expected_seconds(data, cell) if left > 0 and not known else np.inf
        if expected > left and not known:
            need = "" if expected == np.inf else f" (about {expected:.0f} s)"
            left_out.append(f"{method.name}: no time left for it{need}")
            continue
        found = run_cells([cell], measure, data, results=store)
        if found.failures:
            left_out.append(found.failures[0])
            continue
        scores.append(_collect(found.rows))
        if on_progress is not None:
            on_progress(method.name, number, len(methods), time.monotonic() - started)
    if not scores:
        raise DataError(
            f"no model could be compared: {'; '.join(left_out)}. Give more time, fewer "
            "topics or other models."
        )
    labelled = None if y is None else int((~train & (y >= 0)).sum())
    sentence = recommend(scores, labelled)
    return Comparison(tuple(scores), sentence, tuple(left_out), int((~train).sum()))


def measure(data: Any, cell: Cell) -> list[dict[str, Any]]:
    """Fit one model twice, and score it in every way there is."""
    X, y, train = data
    method = find_method(cell["model"])
    model, seconds = _fit(method, X[train], _known(y, train), cell, cell["seed"])
    scores: dict[str, float] = {}
    if method.kind == "topics":
        from topicfold.metrics import npmi_coherence, topic_diversity, topic_stability

        topics = model.components_
        words = min(10, topics.shape[1])
        if words > 1:
            coherence = npmi_coherence(topics, X[train], n_words=words)
            if np.isfinite(coherence).any():
                scores["coherence"] = float(np.nanmean(coherence))
        scores["diversity"] = topic_diversity(topics, min(25, topics.shape[1]))
        if hasattr(model, "perplexity"):
            scores["perplexity"] = float(model.perplexity(X[~train]))
        if y is None:
            again, _ = _fit(method, X[train], None, cell, cell["seed"] + 1)
            scores["stability"] = topic_stability([topics, again.components_])
    if y is not None:
        scores["accuracy"] = _accuracy(method, model, X, y, train)
    return [
        {"metric": name, "value": value, "seconds": seconds}
        for name, value in scores.items()
    ] or [{"metric": "none", "value": np.nan, "seconds": seconds}]


def _fit(
    method: Method, X: Any, y: NDArray[np.int64] | None, cell: Cell, seed: int
) -> tuple[Any, float]:
    options = {"unknown_label": -1} if method.predicts else {}
    n_components = capped(cell["n_components"], X, method)
    model = method.make(n_components, seed, n_jobs=cell["n_jobs"], **options)
    began = time.perf_counter()
    model = model.fit(X, y) if method.labels == "yes" else model.fit(X)
    return model, time.perf_counter() - began


def _accuracy(
    method: Method, model: Any, X: Any, y: NDArray[np.int64], train: NDArray[np.bool_]
) -> float:
    learn, test = train & (y >= 0), ~train & (y >= 0)
    if method.predicts:
        return float(np.mean(model.predict(X[test]) == y[test]))
    seen, new = (powered(method, model.transform(X[r]), 0.5) for r in (learn, test))
    few = np.random.default_rng(0).permutation(seen.shape[0])[:_MOST_FOR_SVM]
    classifier = linear_svm("cv", y[learn][few], COSTS[method.kind])
    classifier.fit(seen[few], y[learn][few])
    return float(np.mean(classifier.predict(new) == y[test]))


def _known(
    y: NDArray[np.int64] | None, train: NDArray[np.bool_]
) -> NDArray[np.int64] | None:
    return None if y is None else y[train]


def _read(corpus: Any) -> tuple[str, Any, NDArray[np.int64] | None]:
    """Return counts, and classes from 0 with -1 for unknown, or None without labels."""
    name, X = check_counts_of(corpus)
    if X.shape[0] < 10:
        raise DataError(f"{X.shape[0]} documents are too few to compare models on.")
    if not hasattr(corpus, "labels") and not isinstance(corpus, tuple):
        return name, X, None
    try:
        task = check_task(corpus, unlabelled="keep")
    except DataError as error:
        logger.info("compared without labels: %s", error)
        return name, X, None
    return name, X, task.y


def _check_labels(methods: list[Method], y: Any) -> None:
    need = [method.name for method in methods if method.labels == "yes"]
    if need and y is None:
        raise DataError(
            f"{', '.join(need)} learns from labels, and the corpus has none (at least "
            "two classes are needed). Leave it out."
        )


def _training_part(
    y: NDArray[np.int64] | None, groups: NDArray[np.int64], test_size: float, seed: int
) -> NDArray[np.bool_]:
    """Return the training documents: of each class its share, the unknown one too."""
    from topicfold.choosing.supervised import draw_split

    if not 0 < test_size < 1:
        raise DataError(f"test_size={test_size} must be between 0 and 1.")
    train = draw_split(groups, "classes", test_size, seed)
    if y is not None and (
        len(np.unique(y[train & (y >= 0)])) < 2 or not (~train & (y >= 0)).any()
    ):
        raise DataError(
            "too few documents have labels to hold some out. Give more, or leave the "
            "labels out."
        )
    return train


def _default_topics(n_documents: int) -> int:
    return int(np.clip(round(np.sqrt(n_documents / 2)), 10, 100))


def _expected_seconds(data: Any, cell: Cell) -> float:
    """Return how long a cell will take, from fits on a few documents.

    They are also where kernels are compiled, which is no part of a model's seconds.
    """
    X, y, train = data
    rows = np.flatnonzero(train)
    judged = len(rows) > 2 * _PILOT
    n_few = min(_PILOT if judged else _TO_COMPILE, len(rows))
    few = np.sort(np.random.default_rng(0).choice(rows, n_few, replace=False))
    labels = None if y is None else y[few]
    if labels is not None and len(np.unique(labels[labels >= 0])) < 2:
        return 0.0
    method = find_method(cell["model"])
    small = {**cell, "n_components": max(1, min(cell["n_components"] or 2, n_few // 3))}
    if not method.sized:
        small["n_components"] = None
    try:
        with quiet():
            for _ in range(2 if judged else 1):
                _, seconds = _fit(method, X[few], labels, small, 0)
    except Exception:
        logger.debug("%s failed on a few documents", method.name, exc_info=True)
        return 0.0  # the fit on all of them will say what is wrong
    if not judged:
        return 0.0
    work = X[rows].nnz / max(1, X[few].nnz)
    fits = 2 if y is None and method.kind == "topics" else 1
    return float(seconds * work * fits)


def _collect(rows: list[dict[str, Any]]) -> ModelScore:
    values = {row["metric"]: row["value"] for row in rows}
    memory = rows[0]["peak_memory_mb"]
    return ModelScore(
        model=rows[0]["model"],
        n_components=rows[0]["n_components"],
        seconds=rows[0]["seconds"],
        memory_mb=float("nan") if memory is None else memory,
        **{name: float(values.get(name, np.nan)) for name in METRICS},
    )
