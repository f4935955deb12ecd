# SPDX-License-Identifier: BSD-3-Clause
"""What experiments are on: counts and labels, checked before hours are spent."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.choosing.results import data_fingerprint
from topicfold.corpus import Corpus
from topicfold.exceptions import DataError
from topicfold.metrics._checks import checked_counts

logger = logging.getLogger(__name__)

UNLABELLED = ("error", "drop", "keep")
SMALL_CLASSES = ("error", "drop", "fewer")


class Task(NamedTuple):
    """A corpus with one class a document.

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


def check_counts_of(corpus: Any) -> tuple[str, sparse.csr_matrix]:
    """Return the name and counts of a corpus or of a pair (counts, labels)."""
    if isinstance(corpus, Corpus):
        return corpus.name, sparse.csr_matrix(corpus.counts)
    X = corpus[0] if isinstance(corpus, tuple) and len(corpus) == 2 else corpus
    if isinstance(X, str | bytes) or hasattr(X, "__fspath__"):
        raise DataError(
            f"the corpus is a {type(X).__name__}. Read it first, for instance with "
            "topicfold.corpus.load_folder."
        )
    return "", sparse.csr_matrix(checked_counts(X, "X"))


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
    name, X = check_counts_of(corpus)
    y, classes = _encoded(corpus, X.shape[0])
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


def check_sizes(values: Any, name: str, least: int = 1) -> list[int]:
    """Return a list of integers, from one or several."""
    numbers = np.atleast_1d(np.asarray(values))
    if numbers.ndim != 1 or not len(numbers) or numbers.dtype.kind not in "iu":
        raise DataError(f"{name}={values!r} must be an integer or a list of integers.")
    if numbers.min() < least:
        raise DataError(f"{name}={values!r} must be {least} or more.")
    return [int(number) for number in numbers]


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


def _encoded(corpus: Any, n_documents: int) -> tuple[NDArray[np.int64], list[str]]:
    if isinstance(corpus, Corpus):
        return corpus.encoded_labels()
    labels = corpus[1] if isinstance(corpus, tuple) else None
    if labels is None:
        return np.full(n_documents, -1), []
    values = np.asarray(labels, dtype=object).ravel().tolist()
    if len(values) != n_documents:
        raise DataError(f"there are {len(values)} labels for {n_documents} documents.")
    names = [
        "" if v is None or v == -1 or v == "" or v != v else str(v) for v in values
    ]
    classes = sorted(set(names) - {""})
    code = {name: number for number, name in enumerate(classes)}
    y = np.array([code.get(name, -1) for name in names], dtype=np.int64)
    return y, classes
