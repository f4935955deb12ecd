# SPDX-License-Identifier: BSD-3-Clause
"""How well a classifier does on labelled documents that it has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from topicfold.exceptions import DataError

HELD_OUT = 0.2


def held_out_accuracy(
    classifier: Any, X: Any, y: Any, *, unknown_label: Any = None
) -> tuple[float, int]:
    """Fit on four fifths of the labelled documents, score on the rest.

    Parameters
    ----------
    classifier : classifier
        Not changed; a copy is fitted.
    X : sparse matrix of shape (n_documents, n_terms)
        Counts.
    y : array-like of shape (n_documents,)
        Labels. A class with one document is never held out.
    unknown_label : object, default=None
        Label of documents whose class is not known: they are fitted, not scored.

    Returns
    -------
    accuracy : float
        Share of the held-out documents whose class was found: 0 to 1.
    n_documents : int
        Number of documents held out.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> held_out_accuracy(LinearSVC(), np.eye(2)[[0, 1] * 10], [0, 1] * 10)
    (1.0, 4)
    """
    labels = np.asarray(y)
    known = np.arange(len(labels))
    if unknown_label is not None:
        known = np.flatnonzero(labels != unknown_label)
    classes, sizes = np.unique(labels[known], return_counts=True)
    usual = known[np.isin(labels[known], classes[sizes > 1])]
    n_test = max(int(HELD_OUT * len(usual)), len(classes))
    if n_test >= len(usual) - len(classes):
        raise DataError(
            f"{len(known)} labelled documents are too few to hold any out. Label "
            "more, or train with --no-check."
        )
    _, test = train_test_split(
        usual, test_size=n_test, stratify=labels[usual], random_state=0
    )
    training = np.setdiff1d(np.arange(len(labels)), test)
    fitted = clone(classifier).fit(X[training], labels[training])
    return float((fitted.predict(X[test]) == labels[test]).mean()), len(test)
