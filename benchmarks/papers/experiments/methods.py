# SPDX-License-Identifier: BSD-3-Clause
"""The models and baselines of the experiments, by the names that papers give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.choosing.evaluation import candidates, capped, make_candidate
from topicfold.exceptions import DataError
from topicfold.registry import ModelEntry as Method
from topicfold.registry import find_model

# Options of the classifier on top, not of the model.
CLASSIFIER_OPTIONS = {"svm_c": 1.0, "power": 0.5}
# Options of graph models by the names that stored cells have: they are part of a key.
NEIGHBOR_OPTIONS = {
    "n_neighbors": "graph__n_neighbors",
    "similarity": "graph__metric",
    "edge_weights": "graph__edge_weights",
    "sublinear_tf": "graph__sublinear_tf",
}
_HERE = "benchmarks.papers.experiments.baselines"
_PREDICT = {"kind": "predict", "labels": "must", "sized": False}
_CLUSTER = {"kind": "cluster", "sized": False}
_BASELINES = (
    Method(
        "label spreading",
        f"{_HERE}:spread_labels",
        "labels spread on the graph of documents",
        aliases=("label_spreading",),
        **_PREDICT,
    ),
    Method(
        "naive bayes em",
        f"{_HERE}:naive_bayes_em",
        "naive Bayes that learns from unlabelled documents too",
        "naive Bayes EM",
        aliases=("naive bayes", "nb-em"),
        **_PREDICT,
    ),
    Method(
        "k-means",
        f"{_HERE}:kmeans_of_words",
        "k-means of tf-idf",
        aliases=("kmeans",),
        **_CLUSTER,
    ),
    Method(
        "spectral",
        f"{_HERE}:spectral_clusters",
        "normalised cuts of the graph of documents",
        aliases=("spectral clustering",),
        **_CLUSTER,
    ),
)


def methods() -> tuple[Method, ...]:
    """Return all methods: what `compare` has, and predictions and clusters."""
    return (*candidates(), *_BASELINES)


def find_method(name: str | Method) -> Method:
    """Return the method of a name, in any case.

    Examples
    --------
    >>> find_method("kmeans").shown
    'k-means'
    """
    return name if isinstance(name, Method) else find_model(name, methods())


def available_methods(*kinds: str) -> list[str]:
    """Return the names of the methods.

    Parameters
    ----------
    *kinds : str
        Only these kinds; default: all.

    Examples
    --------
    >>> available_methods("cluster")
    ['k-means', 'spectral']
    """
    return [m.shown for m in methods() if not kinds or m.kind in kinds]


def check_methods(
    names: Any, kinds: tuple[str, ...], options: Mapping[str, Mapping[str, Any]]
) -> list[Method]:
    """Return the methods asked for, all loaded; refuse those of another kind."""
    if isinstance(names, str | Method):
        names = [names]
    found = [find_method(name) for name in names]
    if not found:
        raise DataError("no models were given. Give at least one name.")
    for method in found:
        method.load()
        if method.kind not in kinds:
            raise DataError(
                f"{method.shown} does not fit this protocol: it gives {method.kind}. "
                f"Here are: {', '.join(available_methods(*kinds))}."
            )
    wrong = [name for name in options if find_method(name) not in found]
    if wrong:
        raise DataError(
            f"options are given for {', '.join(wrong)}, which is not among the models."
        )
    return found


def split_options(
    options: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split options into those of the model and those of the classifier."""
    own = {k: v for k, v in options.items() if k not in CLASSIFIER_OPTIONS}
    top = {k: options.get(k, v) for k, v in CLASSIFIER_OPTIONS.items()}
    return own, top


def options_of(
    method: Method, options: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a copy of the options of a method, under whatever name they are given."""
    for name, own in options.items():
        if find_method(name) == method:
            return dict(own)
    return {}


def method_cells(
    methods: list[Method],
    sizes: list[int],
    options: Mapping[str, Mapping[str, Any]],
    settings: Mapping[str, Any],
    **shared: Any,
) -> list[dict[str, Any]]:
    """Return a cell for each method, and for each number of its dimensions.

    Parameters
    ----------
    methods : list of Method
        What to run.
    sizes : list of int
        Numbers of dimensions, for the methods that have any.
    options : mapping of str to mapping
        Options of methods by name.
    settings : mapping
        What else decides the result; the options are put beside it.
    **shared : object
        Columns that all cells have.
    """
    cells = []
    for method in methods:
        own = options_of(method, options)
        for k in sizes if method.sized else [None]:
            cells.append(
                {
                    **shared,
                    "model": method.shown,
                    "n_components": k,
                    "settings": {**settings, **own},
                    "options": own,
                }
            )
    return cells


def make_method(
    method: Method, n_components: int | None, seed: int, **options: Any
) -> Any:
    """Return an unfitted estimator; options have the names that stored cells have."""
    if method.graph:
        options = {NEIGHBOR_OPTIONS.get(k, k): v for k, v in options.items()}
    own = {} if method.base else dict(getattr(method, "options", {}))
    return make_candidate(method, n_components, seed, **{**own, **options})


def fit_all(
    method: Method,
    X: Any,
    y: NDArray[Any] | None,
    n_components: int | None,
    seed: int,
    *,
    n_jobs: int | None,
    options: Mapping[str, Any],
    only_fit: bool = False,
) -> tuple[Any, Any]:
    """Fit on all documents; return the model and the features of those documents.

    Mixtures as they were fitted; for models that learn from labels, as they are
    inferred without, or the labelled documents would not be like the others.
    """
    model = make_method(
        method, capped(n_components, X, method), seed, n_jobs=n_jobs, **options
    )
    if method.kind == "features" and not only_fit:
        return model, model.fit_transform(X)
    model = model.fit(X, y) if method.labels else model.fit(X)
    if only_fit:
        return model, None
    return model, model.transform(X) if method.labels == "must" else model.doc_topics_


def classification_scores(
    truth: NDArray[Any], predicted: NDArray[Any]
) -> dict[str, float]:
    """Return accuracy and macro F1."""
    from sklearn.metrics import f1_score

    return {
        "accuracy": float(np.mean(truth == predicted)),
        "macro_f1": float(f1_score(truth, predicted, average="macro", zero_division=0)),
    }
