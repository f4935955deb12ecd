# SPDX-License-Identifier: BSD-3-Clause
"""Labels of documents as numbers of classes: the one place that knows "unknown"."""

from __future__ import annotations

import warnings
from itertools import compress
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target

from topicfold.core.parameters import level_of_caller
from topicfold.exceptions import DataError, DataWarning

# What str() makes of gaps. "NA" and "none" are classes as often.
_WRITTEN_GAPS = ("nan", "NaN", "None", "<NA>", "NaT")
# So many labels, and a share of them that differ, are no classes where most documents
# have one. Of few labelled documents each may be of another class.
_SEVERAL, _NEARLY_ALL = 20, 0.9


def encode_labels(y: Any, n_documents: int) -> NDArray[np.int64] | None:
    """Return classes from 0 with -1 for unknown; None without any known label."""
    if y is None:
        return None
    codes, classes = class_numbers(y, n_documents)
    return codes if len(classes) else None


def require_labels(y: Any, name: str, advice: str) -> None:
    """Refuse a fit without labels."""
    if y is None:
        raise DataError(
            f"{name} requires y to be passed, but the target y is None. {advice}"
        )


def class_numbers(
    y: Any, n_documents: int, unknown_label: Any = None, name: str = "y"
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the class number of each document, -1 where unknown, and the classes.

    None, NaN and what is masked are unknown, and so is `unknown_label`; if that is
    None, -1 and "" are, with a warning where -1 looks like a class.
    """
    table = np.asarray(without_mask(y), dtype=object)
    if table.ndim == 0:
        raise DataError(
            f"{name} is a {type(y).__name__}, not a list of labels: it should be a 1d "
            "array. Give one label per document, -1 where it is unknown."
        )
    if table.ndim > 2 or (table.ndim == 2 and table.shape[1] != 1):
        raise DataError(
            f"{name} has the shape {table.shape}, but it should be a 1d array. Give "
            "one label per document, -1 where it is unknown."
        )
    labels = (table if table.ndim == 1 else column_or_1d(table, warn=True)).tolist()
    if len(labels) != n_documents:
        raise DataError(
            f"{name} has {len(labels)} labels for {n_documents} documents "
            "(inconsistent numbers of samples). Give one label per document, -1 where "
            "it is unknown."
        )
    unknown = (-1, "") if unknown_label is None else (unknown_label,)
    known = [not is_unknown(label, unknown) for label in labels]
    codes = np.full(n_documents, -1, dtype=np.int64)
    values: list[Any] = list(compress(labels, known))
    several = list | tuple | set | dict | np.ndarray
    if any(isinstance(value, several) for value in values):
        raise DataError(
            f"{name} has several labels in a document, but one per document is needed. "
            "LabeledLDA takes several."
        )
    if len({isinstance(value, str) for value in values}) > 1:
        values = [str(value) for value in values]
    if not values:
        return codes, np.arange(0)
    found = np.asarray(values)
    wrong = found.dtype.kind not in "biufU"
    if wrong or (found.dtype.kind == "f" and np.isinf(found).any()):
        first = values[0] if wrong else np.inf
        raise DataError(
            f"{name} has the label {first!r} ({type(first).__name__}). Give whole "
            "numbers or names; str(label) makes a name of anything."
        )
    if found.dtype.kind == "f" and type_of_target(found) == "continuous":
        raise DataError(
            f"Unknown label type: {name} is continuous. Give a label per document, "
            "whole numbers or names."
        )
    classes, codes[known] = np.unique(found, return_inverse=True)
    if unknown_label is None:
        warn_of_a_lost_class(labels, values, name)
    if unknown_label is None and classes.dtype.kind == "U":
        _warn_of_a_written_gap(classes, np.bincount(codes[known]), name)
    return codes, classes


def share_right(
    y: Any, found: NDArray[Any], unknown_label: Any = None, sample_weight: Any = None
) -> float:
    """Return the accuracy on the documents whose label is known."""
    from sklearn.metrics import accuracy_score

    codes, classes = class_numbers(y, len(found), unknown_label)
    known = codes >= 0
    if not known.any():
        raise DataError("y has no known label, so there is no score.")
    weight = None if sample_weight is None else np.asarray(sample_weight)[known]
    right = classes[codes[known]]
    return float(accuracy_score(right, found[known], sample_weight=weight))


def _is_minus_one(label: Any) -> bool:
    return isinstance(label, Real) and label == -1


def warn_of_a_lost_class(labels: list[Any], known: list[Any], name: str) -> None:
    """Say that -1 looks like a class: it is as common as one, or not alone below 0."""
    if not known or not all(isinstance(label, Real) for label in known):
        return
    n_minus = sum(_is_minus_one(label) for label in labels)
    classes, counts = np.unique(np.asarray(known), return_counts=True)
    as_common = 0.75 * counts.min() <= n_minus <= counts.max()
    if n_minus < 2 or len(classes) < 2 or not (as_common or classes[0] < 0):
        return
    warnings.warn(
        f"The label -1 means unknown, but it looks like a class of {name}: {n_minus:,} "
        f"documents have it, and {counts.min():,} to {counts.max():,} each of the "
        "other labels. They are taken as unlabelled. If -1 is a class, use names or "
        "count from 0; if they are unlabelled, write None instead of -1.",
        DataWarning,
        stacklevel=level_of_caller(),
    )


def _warn_of_a_written_gap(
    classes: NDArray[Any], counts: NDArray[np.int64], name: str
) -> None:
    """Say that a class has the name that gaps get when they become texts."""
    gaps = np.isin(classes, _WRITTEN_GAPS)
    if not all(label.lstrip("-").isdecimal() for label in classes):
        gaps |= classes == "-1"
    if not gaps.any():
        return
    at = int(np.argmax(gaps))
    have = "document has" if counts[at] == 1 else "documents have"
    warnings.warn(
        f"{counts[at]:,} {have} the text {str(classes[at])!r} in {name}. It counts as "
        'a class. If it stands for an unknown label, write None or "" instead.',
        DataWarning,
        stacklevel=level_of_caller(),
    )


def without_mask(y: Any) -> Any:
    """Return labels with None in the place of those that are masked."""
    if not np.ma.isMaskedArray(y):
        return y
    table = np.array(y, dtype=object)
    table[np.ma.getmaskarray(y)] = None
    return table


def is_unknown(label: Any, unknown: tuple[Any, ...]) -> bool:
    """Whether a label is None, NaN, pandas.NA or one of `unknown`."""
    if label is None:
        return True
    try:
        return bool(label != label) or any(label == other for other in unknown)
    except TypeError:  # pandas.NA compares to nothing
        return True


def check_two_classes(
    codes: NDArray[np.int64], n_classes: int, purpose: str, unknown_label: Any = None
) -> None:
    """Refuse fewer than two classes among those that some document has, and classes
    of which nearly each has one document: names, dates or numbers.
    """
    n_labelled = int((codes >= 0).sum())
    differ = n_labelled >= _SEVERAL and n_classes > _NEARLY_ALL * n_labelled
    if differ and 2 * n_labelled >= len(codes):
        raise DataError(
            f"{purpose} learns from classes that several documents have, but "
            f"{n_labelled:,} documents have {n_classes:,} different labels. Are they "
            "names, dates or numbers? Give classes."
        )
    if n_classes >= 2:
        return
    means = "-1" if unknown_label is None else repr(unknown_label)
    raise DataError(
        f"y has {n_classes} {'class' if n_classes == 1 else 'classes'} in "
        f"{n_labelled} labelled of {len(codes)} documents; {purpose} "
        f"needs at least two. The label {means} means unknown: count classes from 0, "
        "or use LDA, PLSA or FSTM, which need no labels."
    )


def class_members(
    y: Any, n_documents: int
) -> tuple[NDArray[np.bool_], NDArray[np.generic]]:
    """Return members (D, C) and the classes of labels or an indicator matrix."""
    classes: NDArray[Any]
    try:
        table = y.toarray() if sparse.issparse(y) else np.asarray(y)
    except ValueError:  # lists of labels, of several lengths
        table = np.asarray(y, dtype=object)
    if table.ndim == 2 and table.shape[1] > 1:
        members, classes = indicator_members(table, n_documents)
    else:
        codes, classes = class_numbers(y, n_documents)
        members = codes[:, None] == np.arange(len(classes))
    labelled = np.where(members.any(axis=1), 0, -1)
    check_two_classes(labelled, int(members.any(axis=0).sum()), "TwoPhase")
    return members, classes


def indicator_members(
    table: NDArray[Any], n_documents: int
) -> tuple[NDArray[np.bool_], NDArray[np.generic]]:
    """Return members and class numbers of a matrix of 0 and 1 (-1: unknown)."""
    if len(table) != n_documents:
        raise DataError(
            f"y has {len(table)} rows for {n_documents} documents. Give a row of 0 "
            "and 1 per document."
        )
    wrong = ~np.isin(table, (-1, 0, 1))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise DataError(
            f"y has {wrong.sum()} entries that are not 0 or 1 (first at row {row}, "
            f"column {column}). Several labels per document are a matrix of 0 and 1: "
            "sklearn.preprocessing.MultiLabelBinarizer makes one."
        )
    return table == 1, np.arange(table.shape[1])
