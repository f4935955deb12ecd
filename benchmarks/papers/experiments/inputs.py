# SPDX-License-Identifier: BSD-3-Clause
"""What experiments are on: counts and labels, checked before hours are spent."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.choosing.evaluation import data_fingerprint, read_counts, read_labels
from topicfold.exceptions import DataError

logger = logging.getLogger(__name__)

UNLABELLED = ("error", "drop", "keep")
SMALL_CLASSES = ("error", "drop", "fewer")


class Task(NamedTuple):
    """A corpus with one class per document.

    Attributes
    ----------
    name : str
        Name of the corpus.
    X : csr_matrix
        Counts.
    y : int array
        Class of each document, -1 if unknown.
    classes : list of str
        Names of the classes.
    fingerprint : str
        Of X and y.
    """

    name: str
    X: sparse.csr_matrix
    y: NDArray[np.int64]
    classes: list[str]
    fingerprint: str


def check_task(corpus: Any, *, unlabelled: str = "error", least: int = 2) -> Task:
    """Return counts and classes of a corpus, or of a pair (counts, labels).

    Parameters
    ----------
    corpus : Corpus or (X, y)
        Labels are numbers or names; -1, "" and None mean unknown.
    unlabelled : {"error", "drop", "keep"}, default="error"
        What to do with documents without a label.
    least : int, default=2
        Least number of classes.
    """
    if unlabelled not in UNLABELLED:
        raise DataError(f"unlabelled={unlabelled!r} must be one of {UNLABELLED}.")
    name, X = read_counts(corpus)
    y, classes = read_labels(corpus, X.shape[0])
    n_unknown = int((y < 0).sum())
    if n_unknown == len(y):
        raise DataError(
            f"corpus {name!r} has no labels, which this protocol needs. Give a corpus "
            "with labels, or a pair (counts, labels)."
        )
    if n_unknown and unlabelled == "error":
        raise DataError(
            f"{n_unknown} of {len(y)} documents of corpus {name!r} have no label "
            f"(first: row {int(np.argmax(y < 0))}). Give unlabelled='drop' to leave "
            "them out."
        )
    if n_unknown and unlabelled == "drop":
        logger.warning("%d documents without a label are left out", n_unknown)
        X, y = X[y >= 0], y[y >= 0]
    if len(classes) < least:
        raise DataError(
            f"all labels of corpus {name!r} are {classes[0]!r}; at least {least} "
            "classes are needed."
        )
    return Task(name, X, y, classes, data_fingerprint(X, y))


def class_counts(task: Task) -> NDArray[np.int64]:
    """Return the number of documents of each class."""
    return np.bincount(task.y[task.y >= 0], minlength=len(task.classes))


def usable_classes(
    task: Task, counts: NDArray[np.int64], needed: int, policy: str, what: str
) -> NDArray[np.int64]:
    """Return the classes that take part, by what is done with those too small."""
    if policy not in SMALL_CLASSES:
        raise DataError(f"small_classes={policy!r} must be one of {SMALL_CLASSES}.")
    enough = counts >= (2 if policy == "fewer" else needed)
    small = [
        f"{task.classes[c]} ({counts[c]})" for c in np.flatnonzero(~enough).tolist()
    ]
    if small and policy == "error":
        more = ", …" if len(small) > 5 else ""
        raise DataError(
            f"{len(small)} of {len(counts)} classes have fewer than the {needed} "
            f"documents that {what}: {', '.join(small[:5])}{more}. Ask for fewer, or "
            "give small_classes='drop' to leave such classes out, or 'fewer' to take "
            "up to half of theirs."
        )
    if small:
        logger.warning("classes that are too small are left out: %s", ", ".join(small))
    usable = np.flatnonzero(enough)
    if len(usable) < 2:
        raise DataError(
            f"{len(usable)} classes are large enough for {what}; at least 2 are "
            "needed. Ask for fewer labels."
        )
    return usable
