# SPDX-License-Identifier: BSD-3-Clause
"""Would another seed find the same topics? A table over restarts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from topicfold.core.parameters import whole_number
from topicfold.core.tables import Table
from topicfold.exceptions import DataError
from topicfold.metrics import match_topics
from topicfold.persistence.model_folder import ModelFolder
from topicfold.session.growing import learns
from topicfold.topic_data import TopicData

# Topics that share less of their probability are not the same.
FOUND = 0.5


def stability_table(saved: ModelFolder, data: TopicData, n_restarts: int) -> Table:
    """Return how much of every topic other seeds find again, largest topic first.

    The model is fitted again with other seeds, and the topics of each fit are matched
    one to one with those of the model by the probability that they share.
    """
    whole_number(n_restarts, "n_restarts")
    runs = [
        _fitted_again(saved, seed).components_ for seed in _seeds(saved, n_restarts)
    ]
    shared = np.zeros((n_restarts, data.n_topics))
    for row, topics in zip(shared, runs, strict=True):
        match = match_topics(data.topics, topics)
        row[match.first] = match.overlap
    sizes = data.topic_sizes()
    return Table(
        {
            "topic": data.numbers[k],
            "name": data.name(k),
            "share": float(sizes[k]),
            "stability": float(shared[:, k].mean()),
            "least": float(shared[:, k].min()),
            "found": f"{int((shared[:, k] >= FOUND).sum())} of {n_restarts}",
        }
        for k in np.argsort(-sizes, kind="stable").tolist()
    )


def _seeds(saved: ModelFolder, n_restarts: int) -> list[int]:
    """Return seeds that are not that of the model."""
    parameters = saved.model.get_params(deep=False)
    if (
        saved.counts is None
        or not learns(saved.model)
        or "random_state" not in parameters
    ):
        raise DataError(
            f"this {type(saved.model).__name__} cannot be fitted again from its counts "
            "with another seed: it has no counts or no seed, or it learned from more "
            "than words."
        )
    own = parameters["random_state"]
    first = own + 1 if isinstance(own, int) else 1
    return list(range(first, first + n_restarts))


def _fitted_again(saved: ModelFolder, seed: int) -> Any:
    model = clone(saved.model).set_params(random_state=seed)
    return model.fit(saved.counts)
