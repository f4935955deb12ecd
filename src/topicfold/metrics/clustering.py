# SPDX-License-Identifier: BSD-3-Clause
"""Clusters against classes: accuracy under the best naming, mutual information."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from topicfold.exceptions import DataError


def clustering_accuracy(labels: ArrayLike, clusters: ArrayLike) -> float:
    """AC: share of documents in the right cluster, under the best naming of clusters.

    Each cluster is given at most one class, so that the most documents are right
    (Hungarian). More clusters than classes leave some unnamed: their documents count
    as wrong.

    Range: above 0 to 1. Direction: higher is better. The share of the largest class is
    reached by one single cluster.

    Parameters
    ----------
    labels : array of shape (n_documents,)
        The classes: numbers or strings.
    clusters : array of shape (n_documents,)
        The clusters, for instance the largest topic of each document.

    Returns
    -------
    float

    References
    ----------
    .. [1] D. Cai, Q. Mei, J. Han, C. Zhai, "Modeling hidden topics on document
       manifold", CIKM 2008.

    Examples
    --------
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    table = _contingency(labels, clusters)
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].sum() / table.sum())


def clustering_nmi(labels: ArrayLike, clusters: ArrayLike) -> float:
    """Mutual information of classes and clusters, over the larger entropy.

    Two partitions that are both of one part are the same: 1. Where only one of them
    is, it says nothing of the other: 0.

    Range: 0 (independent) to 1 (the same). Direction: higher is better.

    Parameters
    ----------
    labels : array of shape (n_documents,)
        The classes: numbers or strings.
    clusters : array of shape (n_documents,)
        The clusters.

    Returns
    -------
    float

    References
    ----------
    .. [1] D. Cai, Q. Mei, J. Han, C. Zhai, "Modeling hidden topics on document
       manifold", CIKM 2008.

    Examples
    --------
    >>> clustering_nmi(["a", "a", "b", "b"], [1, 1, 0, 0])
    1.0
    """
    table = _contingency(labels, clusters).astype(np.float64)
    joint = table / table.sum()
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    larger = max(_entropy(rows), _entropy(columns))
    if larger == 0:
        return 1.0
    filled = joint > 0
    ratio = joint[filled] / np.outer(rows, columns)[filled]
    information = float(joint[filled] @ np.log(ratio))
    return min(max(information / larger, 0.0), 1.0)


def _entropy(p: NDArray[np.float64]) -> float:
    p = p[p > 0]
    return max(float(-(p @ np.log(p))), 0.0)


def _contingency(labels: Any, clusters: Any) -> NDArray[np.int64]:
    classes, groups = np.asarray(labels), np.asarray(clusters)
    if classes.ndim != 1 or classes.shape != groups.shape or not len(classes):
        raise DataError(
            f"labels has shape {classes.shape} and clusters {groups.shape}. Give one "
            "label and one cluster a document, and at least one document."
        )
    row = np.unique(classes, return_inverse=True)[1]
    column = np.unique(groups, return_inverse=True)[1]
    table = np.zeros((row.max() + 1, column.max() + 1), dtype=np.int64)
    np.add.at(table, (row, column), 1)
    return table
