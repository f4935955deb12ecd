# SPDX-License-Identifier: BSD-3-Clause
"""From the options of the command line to an estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from topicfold.cli.messages import CommandError
from topicfold.registry import find_model

# Options with a default on the command line; a model without them does not get them.
_COMMON = {"random_state": 0, "n_jobs": -1, "device": "cpu"}
_FLAGS = {
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "n_components": "--topics",
    "n_neighbors": "--neighbors",
}


def make_model(name: str, options: Mapping[str, Any]) -> Any:
    """Return an unfitted model, its parameters checked.

    An option is a parameter of the estimator; None means its default. One that the
    model does not have is an error, unless it has the command line's own default.
    """
    entry = find_model(name)
    cls = entry.load_base() or entry.load()
    accepted = cls._get_param_names()
    chosen = {key: value for key, value in options.items() if value is not None}
    beside = _neighbor_options(chosen) if "graph" in accepted else {}
    unknown = [
        _FLAGS.get(key, f"--{key.replace('_', '-')}")
        for key, value in chosen.items()
        if key not in accepted and _COMMON.get(key) != value
    ]
    if unknown:
        raise CommandError(
            f"The model {entry.name} has no option {', '.join(unknown)}."
        )
    kept = {key: value for key, value in chosen.items() if key in accepted}
    model = cls(**{**entry.options, **kept})
    for key, value in beside.items():
        setattr(model, key, value)
    # Before a long read of the corpus, not after it.
    model._validate_params()
    return entry.load()(model) if entry.base else model


def _neighbor_options(chosen: dict[str, Any]) -> dict[str, Any]:
    """Make one object of the options of neighbours; return those beside a graph."""
    from topicfold.graph import NeighborGraph

    names = {"n_neighbors": "n_neighbors", "similarity": "metric"}
    found = {key: chosen.pop(key) for key in names if key in chosen}
    if "graph" in chosen:  # there they count for the label edges of large classes
        return found
    if found:
        options = {names[key]: value for key, value in found.items()}
        chosen["graph"] = NeighborGraph(**options)
    return {}
