# SPDX-License-Identifier: BSD-3-Clause
"""Labels as a matrix of members: one label a document, several or none."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from topicfold.core.labels import encode_labels
from topicfold.exceptions import DataError
from topicfold.infer.two_phase import indicator_members


def encode_classes(
    y: Any, n_documents: int
) -> tuple[NDArray[np.bool_], NDArray[np.generic]]:
    """Return members (D, C) and the classes of labels or an indicator matrix.

    Examples
    --------
    >>> members, classes = encode_classes(["b", -1, "a"], 3)
    >>> members.astype(int).tolist(), classes.tolist()
    ([[0, 1], [0, 0], [1, 0]], ['a', 'b'])
    """
    table = y.toarray() if sparse.issparse(y) else np.asarray(y)
    if table.ndim == 2 and table.shape[1] > 1:
        members, classes = indicator_members(table, n_documents)
    else:
        members, classes = _encode_labels(y, table, n_documents)
    used = members.any(axis=0).sum()
    if used < 2:
        known = int(members.any(axis=1).sum())
        raise DataError(
            f"y has {used} classes in {known} labelled of {n_documents} documents; "
            "TwoPhase parts at least two. The label -1 means unknown: count classes "
            "from 0, or use FSTM, PLSA or LDA, which need no labels."
        )
    return members, classes


def class_numbers(
    y: Any, n_documents: int, unknown_label: Any, purpose: str
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the class number of each document (-1: unknown) and the classes.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        One label a document.
    n_documents : int
        Number of documents.
    unknown_label : object
        The label of documents whose class is not known; None if there are none.
    purpose : str
        What needs two classes, for the error.

    Examples
    --------
    >>> class_numbers(["b", "?", "a"], 3, "?", "a classifier")[0]
    array([ 1, -1,  0])
    """
    labels = column_or_1d(y, warn=True)
    if len(labels) != n_documents:
        raise DataError(
            f"y has {len(labels)} labels for {n_documents} documents (inconsistent "
            "numbers of samples). Give one label per document."
        )
    known = np.ones(n_documents, dtype=bool)
    if unknown_label is not None:
        known = np.array([label != unknown_label for label in labels.tolist()])
    if labels.dtype.kind == "f" and np.isnan(labels[known]).any():
        first = int(np.argmax(np.isnan(labels)))
        raise DataError(
            f"Input y contains NaN (first: document {first}). Give these documents a "
            "label of their own, such as -1, and name it: unknown_label=-1."
        )
    check_classification_targets(labels[known])
    codes = np.full(n_documents, -1, dtype=np.int64)
    classes, codes[known] = np.unique(labels[known], return_inverse=True)
    if len(classes) < 2:
        noun = "class" if len(classes) == 1 else "classes"
        raise DataError(
            f"y has {len(classes)} {noun} in {known.sum()} labelled documents; "
            f"{purpose} needs at least two. LDA needs no labels."
        )
    return codes, classes


def _encode_labels(
    y: Any, table: NDArray[Any], n_documents: int
) -> tuple[NDArray[np.bool_], NDArray[np.generic]]:
    if table.ndim == 2:
        y = column_or_1d(table, warn=True)
    if table.dtype.kind == "f" and np.isfinite(table).all():
        if type_of_target(table.ravel()) == "continuous":
            raise DataError(
                "Unknown label type: y is continuous. Give a label per document, "
                "whole numbers or names."
            )
        y = np.asarray(y).astype(np.int64)
    codes = encode_labels(y, n_documents)
    if codes is None:
        return np.zeros((n_documents, 0), dtype=bool), np.arange(0)
    first = np.unique(codes, return_index=True)[1][-(codes.max() + 1) :]
    names = np.asarray(y, dtype=object).ravel()[first].tolist()
    if len({isinstance(name, str) for name in names}) > 1:
        names = [str(name) for name in names]
    members = codes[:, None] == np.arange(codes.max() + 1)
    return members, np.asarray(names)
