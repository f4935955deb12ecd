# SPDX-License-Identifier: BSD-3-Clause
"""Can a map in the plane be trusted?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state

from topicfold.exceptions import DataError
from topicfold.metrics._checks import checked_array

# Distances held at once: 32 MB of float64.
_BLOCK = 1 << 22


def map_trustworthiness(
    theta: ArrayLike,
    coordinates: ArrayLike,
    *,
    n_neighbors: int = 5,
    metric: str = "hellinger",
    n_documents: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> float:
    """Trustworthiness of a 2-d map: are neighbours on it neighbours in truth?

    ``1 - 2 / (n m (2n - 3m - 1)) Σ_i Σ_{j near i on the map} max(0, r(i, j) - m)``,
    where r(i, j) is j's rank among the neighbours of i in the space of mixtures and
    m the number of neighbours. Ties in the ranks go by row.

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
    n_documents : int, optional
        Documents whose neighbours are looked at, drawn at random; default: all.
    random_state : int, RandomState or None, default=None
        Seed of that draw.

    Returns
    -------
    float

    Notes
    -----
    Memory is O(n_documents), time O(n_documents²): draw some for large maps.

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
    anchors = np.arange(n)
    if n_documents is not None and n_documents < n:
        if n_documents < 1:
            raise DataError(f"n_documents={n_documents} must be 1 or more.")
        anchors = check_random_state(random_state).permutation(n)[:n_documents]
    penalty = 0
    step = max(1, _BLOCK // n)
    for start in range(0, len(anchors), step):
        rows = anchors[start : start + step]
        penalty += _penalty(high, low, rows, n_neighbors, metric)
    worst = len(anchors) * n_neighbors * (2 * n - 3 * n_neighbors - 1) / 2
    return 1.0 - penalty / worst


def _penalty(
    high: NDArray[np.floating],
    low: NDArray[np.floating],
    rows: NDArray[np.int64],
    n_neighbors: int,
    metric: str,
) -> int:
    """Sum of how far map neighbours of some rows are from being neighbours."""
    own = np.arange(len(rows)), rows
    near = pairwise_distances(low[rows], low)
    near[own] = np.inf
    chosen = np.argsort(near, axis=1, kind="stable")[:, :n_neighbors]
    far = pairwise_distances(high[rows], high, metric=metric)
    far[own] = -np.inf
    order = np.argsort(far, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(order.shape[1])[None, :], axis=1)
    excess = np.take_along_axis(rank, chosen, axis=1) - n_neighbors
    return int(np.maximum(excess, 0).sum())
