# SPDX-License-Identifier: BSD-3-Clause
"""How much do a model's parameters matter, and which to take?"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.papers.experiments.methods import (
    CLASSIFIER_OPTIONS,
    NEIGHBOR_OPTIONS,
    find_method,
)
from benchmarks.papers.experiments.results import Results
from topicfold.exceptions import DataError


def sensitivity(
    protocol: Callable[..., Results],
    corpus: Any,
    model: str,
    parameter: str,
    values: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Results:
    """Run an experiment for several values of one parameter of a model.

    DTM figure 3 (neighbours, step), SDR figure 8 (neighbours, λ, R) and LapPLSI figures
    3 and 4 (λ, neighbours) are of this kind.

    Parameters
    ----------
    protocol : callable
        `few_labels`, `supervised` or `clustering`.
    corpus : Corpus or (X, y)
        The documents.
    model : str
        Name of the model.
    parameter : str
        Name of its parameter, or ``svm_c`` or ``power``.
    values : sequence
        Its values.
    options : mapping, optional
        Other parameters of the model, held fixed.
    **settings
        Further arguments of the protocol.

    Returns
    -------
    Results
        Rows with two more columns, ``parameter`` and ``parameter_value``.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.papers.experiments import few_labels
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.poisson(np.where(y[:, None] == np.arange(8) % 2, 2.0, 0.2))
    >>> found = sensitivity(few_labels, (X, y), "DTM", "n_neighbors", [2, 5],
    ...     n_components=2, labels=3, n_draws=1)
    >>> found.unique("parameter_value")
    [2, 5]
    """
    method = find_method(model)
    _check_parameter(method, parameter)
    rows, failures = [], []
    for value in values:
        own = {**(options or {}), parameter: value}
        found = protocol(
            corpus, [method.shown], options={method.shown: own}, **settings
        )
        extra = {"parameter": parameter, "parameter_value": value}
        rows += [{**row, **extra} for row in found.rows]
        failures += found.failures
    return Results(rows, failures)


def choose_options(
    protocol: Callable[..., Results],
    corpus: Any,
    model: str,
    grid: Mapping[str, Sequence[Any]],
    *,
    metric: str = "accuracy",
    **settings: Any,
) -> dict[str, Any]:
    """Return the options of a grid with the best mean score.

    For honest tables: call it with a `seed` whose draws the table does not have.

    Parameters
    ----------
    protocol : callable
        `few_labels`, `supervised` or `clustering`.
    corpus : Corpus or (X, y)
        The documents.
    model : str
        Name of the model.
    grid : mapping of str to sequence
        Values of each option; all combinations are tried, of equals the first is taken.
    metric : str, default="accuracy"
        What to be best in; higher is better.
    **settings
        Further arguments of the protocol.
    """
    name = find_method(model).shown
    best: dict[str, Any] = {}
    best_score = -float("inf")
    for values in itertools.product(*grid.values()):
        own = dict(zip(grid, values, strict=True))
        score = protocol(corpus, [name], options={name: own}, **settings).mean(metric)
        if score > best_score:
            best, best_score = own, score
    return best


def _check_parameter(method: Any, parameter: str) -> None:
    if parameter in CLASSIFIER_OPTIONS:
        return
    accepted: list[str] = []
    for loaded in (method.load(), method.load_base()):
        accepted += getattr(loaded, "_get_param_names", list)()
    if method.graph:
        accepted += NEIGHBOR_OPTIONS
    if accepted and parameter not in accepted:
        raise DataError(
            f"{method.shown} has no parameter {parameter!r}. It has: "
            f"{', '.join(sorted({*accepted, *CLASSIFIER_OPTIONS}))}."
        )
