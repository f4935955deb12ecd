# SPDX-License-Identifier: BSD-3-Clause
"""Agreement of clusters with classes, of two runs, and of a map with the mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.manifold import trustworthiness
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from topicfold.exceptions import DataError
from topicfold.metrics.words import checked_array, checked_rows


def clustering_accuracy(labels: ArrayLike, clusters: ArrayLike) -> float:
    """AC: share of documents in the right cluster, under the best naming of clusters.

    Each cluster is assigned to at most one class, so that as many documents as possible
    are correct (Hungarian algorithm). If there are more clusters than classes,
    documents in clusters without a class count as wrong.

    Range: above 0 to 1. Direction: higher is better. A single cluster reaches the share
    of the largest class.

    Parameters
    ----------
    labels : array of shape (n_documents,)
        The classes: numbers or strings.
    clusters : array of shape (n_documents,)
        The clusters, for instance the largest topic of each document.

    References
    ----------
    .. [1] D. Cai, Q. Mei, J. Han, C. Zhai, "Modeling hidden topics on document
       manifold", CIKM 2008.

    Examples
    --------
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    table = contingency_matrix(*_codes(labels, clusters))
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].sum() / table.sum())


def clustering_nmi(labels: ArrayLike, clusters: ArrayLike) -> float:
    """Mutual information of classes and clusters, over the larger entropy.

    If both partitions have only one part, the value is 1; if one of them has, it is 0.

    Range: 0 (independent) to 1 (the same). Direction: higher is better.

    Parameters
    ----------
    labels : array of shape (n_documents,)
        The classes: numbers or strings.
    clusters : array of shape (n_documents,)
        The clusters.

    Examples
    --------
    >>> clustering_nmi(["a", "a", "b", "b"], [1, 1, 0, 0])
    1.0
    """
    classes, groups = _codes(labels, clusters)
    value = normalized_mutual_info_score(classes, groups, average_method="max")
    return min(max(float(value), 0.0), 1.0)


class TopicMatch(NamedTuple):
    """Matched topics of two runs, and the probability that each pair shares."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    overlap: NDArray[np.float64]


def match_topics(first: ArrayLike, second: ArrayLike) -> TopicMatch:
    """Match the topics of two runs, each with at most one of the other.

    The similarity of two topics is the probability they share, ``Σ_w min(φ_kw, φ'_jw)``
    (one minus the total variation distance); the matching with the largest sum is used.

    Parameters
    ----------
    first, second : arrays of shape (n_topics, n_terms)
        Word distributions on the same vocabulary; the numbers of topics may differ.

    Returns
    -------
    TopicMatch
        `first`, `second` and `overlap` of as many pairs as the smaller run has topics,
        by the number of the first run's topic.

    Examples
    --------
    >>> match = match_topics([[0.9, 0.1], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]])
    >>> match.second.tolist(), match.overlap.round(2).tolist()
    ([1, 0], [0.9, 1.0])
    """
    a, b = checked_rows(first, "first"), checked_rows(second, "second")
    if a.shape[1] != b.shape[1]:
        raise DataError(
            f"the runs have {a.shape[1]} and {b.shape[1]} terms. Fit them on the same "
            "vocabulary."
        )
    # A row at a time: K × K × V would not fit.
    overlap = np.stack([np.minimum(row, b).sum(axis=1, dtype=np.float64) for row in a])
    rows, columns = linear_sum_assignment(-overlap)
    shared = np.clip(overlap[rows, columns], 0.0, 1.0)
    return TopicMatch(rows.astype(np.int64), columns.astype(np.int64), shared)


def topic_stability(runs: Sequence[ArrayLike]) -> float:
    """Mean probability that matched topics share, over all pairs of runs.

    Topics are matched by `match_topics`; a topic without a partner counts as 0.

    Range: 0 (no word in common) to 1 (the same topics, in any order). Direction: higher
    is better. More topics are less stable, and so are topics of few words.

    Parameters
    ----------
    runs : sequence of arrays of shape (n_topics, n_terms)
        At least two: word distributions from fits with other seeds or samples.

    References
    ----------
    .. [1] D. Greene, D. O'Callaghan, P. Cunningham, "How many topics? Stability
       analysis for topic models", ECML PKDD 2014 (there on ranks of top words).

    Examples
    --------
    >>> run = [[0.9, 0.1, 0.0], [0.0, 0.2, 0.8]]
    >>> round(topic_stability([run, run[::-1], [[0.8, 0.2, 0.0], run[1]]]), 4)
    0.9667
    """
    if len(runs) < 2:
        raise DataError(
            f"stability compares fits, and there is only {len(runs)}. Give the topics "
            "of at least two fits."
        )
    scores = []
    for i, first in enumerate(runs):
        for second in runs[i + 1 :]:
            n_topics = max(len(np.asarray(first)), len(np.asarray(second)))
            scores.append(match_topics(first, second).overlap.sum() / n_topics)
    return float(np.mean(scores))


def map_trustworthiness(
    theta: ArrayLike,
    coordinates: ArrayLike,
    *,
    n_neighbors: int = 5,
    metric: str = "hellinger",
) -> float:
    """Trustworthiness of a 2-d map: are neighbours on it really neighbours?

    ``1 - 2 / (n m (2n - 3m - 1)) Σ_i Σ_{j near i on the map} max(0, r(i, j) - m)``,
    where r(i, j) is j's rank among the neighbours of i in the space of mixtures and
    m the number of neighbours.

    Range: 0 to 1; a random map has about 0.5. Direction: higher is better.

    Parameters
    ----------
    theta : array of shape (n_documents, n_topics)
        Mixtures, or any features.
    coordinates : array of shape (n_documents, 2)
        Places on the map; more dimensions work too.
    n_neighbors : int, default=5
        Neighbours of a document, less than half the number of documents.
    metric : str, default="hellinger"
        Distance of mixtures: ``"hellinger"`` or one of scikit-learn's.

    Notes
    -----
    By scikit-learn, in memory and time O(n_documents²): give some rows of large maps.

    References
    ----------
    .. [1] J. Venna, S. Kaski, "Neighborhood preservation in nonlinear projection
       methods", ICANN 2001.

    Examples
    --------
    >>> line = np.arange(12.0)[:, None]
    >>> map_trustworthiness(line, line, n_neighbors=2, metric="euclidean")
    1.0
    """
    high, low = checked_array(theta, "theta"), checked_array(coordinates, "coordinates")
    n = len(high)
    if len(low) != n:
        raise DataError(f"theta has {n} documents, coordinates has {len(low)}.")
    if not 1 <= n_neighbors < n / 2:
        raise DataError(
            f"n_neighbors={n_neighbors} must be at least 1 and less than half of the "
            f"{n} documents."
        )
    if metric == "hellinger":
        if high.min() < 0:
            raise DataError(
                "theta has negative entries, which have no Hellinger distance. Give "
                "metric='euclidean' or 'cosine'."
            )
        high, metric = np.sqrt(high), "euclidean"
    return float(trustworthiness(high, low, n_neighbors=n_neighbors, metric=metric))


def _codes(labels: Any, clusters: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return classes and clusters as numbers from 0."""
    classes, groups = np.asarray(labels), np.asarray(clusters)
    if classes.ndim != 1 or classes.shape != groups.shape or not len(classes):
        raise DataError(
            f"labels has shape {classes.shape} and clusters {groups.shape}. Give one "
            "label and one cluster per document, and at least one document."
        )
    row, column = (np.unique(x, return_inverse=True)[1] for x in (classes, groups))
    return row, column
