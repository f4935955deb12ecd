# SPDX-License-Identifier: BSD-3-Clause
"""What `Topics` needs for a fit: a model made of a name, labels and times as texts."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from sklearn.base import clone

from topicfold.choosing.size import suggest_size
from topicfold.core.parameters import few_topics
from topicfold.exceptions import DataError
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
    if not isinstance(model, str) and not hasattr(model, "get_params"):
        raise DataError(
            f"model is {model!r}. Give the name of a model, such as 'lda', or an "
            "estimator, such as LDA(max_iter=50)."
        )
    if isinstance(model, str):
        made, supervised, sized = _named(model)
        if n_topics is None and sized:
            found = suggest_size(X, random_state=0, n_jobs=usual.get("n_jobs"))
            n_topics, reason = found.n_topics, found.reason
            _logger.info("%d topics: %s", n_topics, found.reason)
    else:
        made = clone(model)
        own = [entry for entry in models() if isinstance(made, entry.load())]
        supervised = any(entry.labels == "must" for entry in own)
    _set(made, "n_components", n_topics)
    size = _get(made, "n_components")
    if size is not None and size > n_documents:
        raise DataError(
            f"{size:,} topics are more than the {n_documents:,} documents. Give fewer, "
            f"such as Topics({few_topics(n_documents)})."
        )
    for name, value in usual.items():
        if _get(made, name) is None:
            _set(made, name, value)
    return made, supervised, reason


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
        raise DataError(f"there are {len(values)} labels for {n_documents} documents.")
    numbers = all(isinstance(value, int | np.integer) for value in values)
    unknown = (None, "", -1) if numbers else (None, "")
    return [
        "" if value in unknown or value != value else str(value) for value in values
    ]


def time_texts(times: Any, n_documents: int) -> list[str]:
    """Return times as texts, "" where unknown."""
    texts = ["" if value is None else str(value).strip() for value in times]
    if len(texts) != n_documents:
        raise DataError(f"there are {len(texts)} times for {n_documents} documents.")
    return ["" if text.lower() in ("nat", "nan") else text for text in texts]
