# SPDX-License-Identifier: BSD-3-Clause
"""The linear classifier on top of the features, and its scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# C to choose from: features of length 1 need a smaller one than √θ.
COSTS = {"topics": (1.0, 8.0, 64.0), "features": (0.25, 1.0, 4.0)}
# C is chosen on at most so many of the training documents, in three folds.
MOST_CROSS_VALIDATED = 4000
N_FOLDS = 3


def linear_svm(
    c: float | str, y: NDArray[Any], costs: tuple[float, ...] = COSTS["topics"]
) -> Any:
    """Return a linear SVM; ``c="cv"`` chooses C of `costs` by cross-validation.

    With fewer than three documents of a class there is nothing to choose on: C is 1.

    Examples
    --------
    >>> linear_svm(10.0, np.array([0, 1])).C
    10.0
    >>> linear_svm("cv", np.array([0, 1] * 3)).param_grid
    {'C': (1.0, 8.0, 64.0)}
    """
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import LinearSVC

    if c != "cv":
        return LinearSVC(C=c, random_state=0)
    svm = LinearSVC(random_state=0)
    if np.unique(y, return_counts=True)[1].min() < N_FOLDS:
        return svm
    return GridSearchCV(svm, {"C": costs}, cv=_folds(y))


def _folds(y: NDArray[Any]) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return stratified folds of at most `MOST_CROSS_VALIDATED` documents."""
    from sklearn.model_selection import StratifiedKFold

    # Of every class its share, and enough for the folds.
    share = min(1.0, MOST_CROSS_VALIDATED / len(y))
    rng = np.random.default_rng(0)
    parts = []
    for members in (np.flatnonzero(y == c) for c in np.unique(y)):
        count = max(N_FOLDS, round(share * len(members)))
        parts.append(rng.permutation(members)[:count])
    rows = np.sort(np.concatenate(parts))
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    return [(rows[a], rows[b]) for a, b in folds.split(rows, y[rows])]


def classification_scores(
    truth: NDArray[Any], predicted: NDArray[Any]
) -> dict[str, float]:
    """Return accuracy and macro F1."""
    from sklearn.metrics import f1_score

    return {
        "accuracy": float(np.mean(truth == predicted)),
        "macro_f1": float(f1_score(truth, predicted, average="macro", zero_division=0)),
    }
