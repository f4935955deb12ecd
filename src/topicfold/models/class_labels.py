# SPDX-License-Identifier: BSD-3-Clause
"""Labels as a matrix of members: one label per document, several or none."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.labels import check_two_classes, class_numbers
from topicfold.exceptions import DataError


def class_members(
    y: Any, n_documents: int
) -> tuple[NDArray[np.bool_], NDArray[np.generic]]:
    """Return members (D, C) and the classes of labels or an indicator matrix.

    Examples
    --------
    >>> members, classes = class_members(["b", -1, "a"], 3)
    >>> members.astype(int).tolist(), classes.tolist()
    ([[0, 1], [0, 0], [1, 0]], ['a', 'b'])
    """
    classes: NDArray[Any]
    table = y.toarray() if sparse.issparse(y) else np.asarray(y)
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
    """Return members and class numbers of a matrix of 0 and 1 (-1: unknown).

    Examples
    --------
    >>> indicator_members(np.array([[1, 0], [1, 1]]), 2)[0].sum(axis=0).tolist()
    [2, 1]
    """
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
