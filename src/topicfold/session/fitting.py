# SPDX-License-Identifier: BSD-3-Clause
"""From documents and what is known of them to a fitted model.

`Topics` and the command line both fit through `fit_documents`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from topicfold.choosing.size import suggest_size
from topicfold.core.parameters import few_topics
from topicfold.exceptions import DataError
from topicfold.graph.encoding import check_takes_embeddings
from topicfold.known import add_counts, add_sides, with_times
from topicfold.models.multimodal import MultimodalLDA
from topicfold.registry import find_model, make_model, models

_logger = logging.getLogger("topicfold")


def prepare_model(
    model: Any, n_topics: int | None, X: Any, **usual: Any
) -> tuple[Any, bool, str]:
    """Return an unfitted model, `usual` set where it says nothing; whether it needs
    labels; and why it has so many topics, if nobody said how many.

    Without a number of topics, `suggest_size` looks at the counts X.
    """
    reason = ""
    n_documents = X.shape[0]
    whole = isinstance(n_topics, int | np.integer) and not isinstance(n_topics, bool)
    if n_topics is not None and not (whole and n_topics >= 1):
        raise DataError(
            f"n_topics is {n_topics!r}. Give a whole number of topics, such as 20."
        )
    if isinstance(model, type):
        raise DataError(f"model is a class. Give an object of it: {model.__name__}().")
    if not isinstance(model, str) and not hasattr(model, "get_params"):
        raise DataError(
            f"model is {model!r}. Give the name of a model, such as 'lda', or an "
            "estimator, such as LDA(max_iter=50)."
        )
    if isinstance(model, str):
        made, supervised, sized = _named(model)
        if n_topics is None and sized:
            n_topics, reason = choose_size(made, X, n_jobs=usual.get("n_jobs"))
            _logger.info("%d topics: %s", n_topics, reason)
    else:
        made = clone(model)
        own = [entry for entry in models() if isinstance(made, entry.load())]
        supervised = any(entry.labels == "must" for entry in own)
    _set(made, "n_components", n_topics)
    size = _get(made, "n_components")
    most = getattr(made, "_open_size", False)  # no number, but a limit
    if size is not None and size > n_documents and not most:
        raise DataError(
            f"{size:,} topics are more than the {n_documents:,} documents. Give fewer, "
            f"such as Topics({few_topics(n_documents)})."
        )
    for name, value in usual.items():
        if _get(made, name) is None:
            _set(made, name, value)
    return made, supervised, reason


def choose_size(
    model: Any, X: Any, *, n_jobs: int | None, least: int = 0
) -> tuple[int, str]:
    """Give a model as many topics as the counts X have; return how many, and why."""
    found = suggest_size(X, random_state=0, n_jobs=n_jobs)
    size = max(found.n_topics, least)
    _set(model, "n_components", size)
    return size, found.reason if size == found.n_topics else "one per seeded topic"


class NoClassesError(DataError):
    """A model learns from classes, and documents of two are not there."""


def _fit(model: Any, X: Any, y: Any, data: Mapping[str, Any]) -> Any:
    return model.fit(*([X] if y is None else [X, y]), **data)


def fit_documents(
    model: Any,
    X: Any,
    *,
    words: Sequence[str],
    labels: Sequence[str] | None = None,
    times: Sequence[str] | None = None,
    known: Mapping[str, Any] | None = None,
    languages: Mapping[str, Any] | None = None,
    embeddings: Any = None,
    response_kind: str | None = None,
    from_classes: bool = False,
    run: Callable[[Any, Any, Any, Mapping[str, Any]], Any] = _fit,
) -> Any:
    """Fit a model to counts and to what is known of the documents.

    Parameters
    ----------
    model : estimator
        Fitted in place.
    X : CSR matrix
        Counts.
    words : sequence of str
        The columns of X.
    labels, times : sequence of str or None
        Class and time of each document, "" where unknown.
    known : mapping or None
        What the model's `fit` takes beside counts, by keyword.
    languages : mapping or None
        Counts of every language by its name; X is the first.
    embeddings : array-like or None
        Vectors of the documents.
    response_kind : str or None
        What a response is; None looks at it.
    from_classes : bool
        Whether the model learns from the labels.
    run : callable
        Called as ``run(model, X, y, data)`` for the fit itself.

    Returns
    -------
    object
        What `run` returned.
    """
    if "vocabulary" in model.get_params(deep=False) and len(words):
        _set(model, "vocabulary", list(words))
    data = with_times(model, dict(known or {}), times)
    if data:
        add_sides(model, data, kind=response_kind)
    if languages and isinstance(model, MultimodalLDA):
        X = dict(languages)
    elif languages:
        others = dict(list(languages.items())[1:])
        add_counts(model, others)
        data |= others
    if embeddings is not None:
        check_takes_embeddings(model)
        data["embeddings"] = embeddings
    given = not data.keys().isdisjoint(("labels", "response"))
    y = _classes(model, labels) if from_classes and not given else None
    if y is not None and "graph" in model.get_params(deep=False):
        _join_classes(model, X, y)
    return run(model, X, y, data)


def _classes(model: Any, labels: Sequence[str] | None) -> Any:
    names = [label.strip() or None for label in labels or ()]
    n_classes = len({*names} - {None})
    if n_classes < 2:
        found = "no classes" if n_classes == 0 else "one class"
        raise NoClassesError(
            f"{type(model).__name__} learns from labels, and these documents have "
            f"{found}. Give labels of two or more classes as fit(texts, labels), or "
            "name their column with label=."
        )
    return np.array(names, dtype=object)


def _join_classes(model: Any, X: Any, y: Any) -> None:
    """Let labels change the graph of a graph model, its own or the user's."""
    from topicfold.graph import NeighborGraph

    if model.graph is None or isinstance(model.graph, NeighborGraph):
        model.set_params(graph__label_edges=True)
    else:
        model.graph = NeighborGraph(label_edges=True).build(X, y, given=model.graph)


def _named(name: str) -> tuple[Any, bool, bool]:
    entry = find_model(name)
    if not entry.has_topics:
        raise DataError(
            f"{entry.shown} has no topics to show. Use topicfold.{entry.class_name} "
            "itself, or another model."
        )
    return make_model(name, {}), entry.labels == "must", entry.sized


def _get(model: Any, name: str) -> Any:
    """Return a parameter of a model, or of the base that it refines."""
    parameters = model.get_params(deep=True)
    return parameters.get(name, parameters.get(f"base__{name}"))


def _set(model: Any, name: str, value: Any) -> None:
    parameters = model.get_params(deep=True)
    for key in (name, f"base__{name}"):
        if key in parameters and value is not None:
            model.set_params(**{key: value})
            return


def label_texts(y: Any, n_documents: int) -> list[str]:
    """Return labels as strings, "" where unknown."""
    values = np.asarray(y, dtype=object).ravel().tolist()
    if len(values) != n_documents:
        raise DataError(
            f"there are {len(values)} labels for {n_documents} documents. Give one per "
            "document, None where it is unknown."
        )
    numbers = all(isinstance(value, int | np.integer) for value in values)
    unknown = (None, "", -1) if numbers else (None, "")
    return [
        "" if value in unknown or value != value else str(value) for value in values
    ]


def time_texts(times: Any, n_documents: int) -> list[str]:
    """Return times as texts, "" where unknown."""
    texts = ["" if value is None else str(value).strip() for value in times]
    if len(texts) != n_documents:
        raise DataError(
            f"there are {len(texts)} times for {n_documents} documents. Give one per "
            "document, None where it is unknown."
        )
    return ["" if text.lower() in ("nat", "nan") else text for text in texts]
