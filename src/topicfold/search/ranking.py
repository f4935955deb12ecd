# SPDX-License-Identifier: BSD-3-Clause
"""The best rows for a query: exact, in one pass, the same for any number of threads."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from topicfold.core.threads import run_ranges
from topicfold.search.coarse import CoarseRows
from topicfold.search.kernels import best_rows, best_rows_by_codes, score_rows

# Up to so many results a sorted list beside the scan is quickest.
SHORT_LIST = 256
_RANGES_PER_THREAD = 4


def find_best(
    vectors: NDArray[np.float32],
    query: NDArray[np.float64],
    n: int,
    *,
    skip: int = -1,
    threads: int = 1,
    coarse: CoarseRows | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the `n` rows with the largest inner product, and the products.

    Parameters
    ----------
    vectors : ndarray of shape (n_rows, k)
        C-contiguous.
    query : ndarray of shape (k,)
        Products are added up in float64.
    n : int
        Most rows to return.
    skip : int, default=-1
        A row to leave out.
    threads : int, default=1
        Threads; no effect on the result.
    coarse : CoarseRows, optional
        The same rows in whole numbers; no effect on the result but that it is quicker.

    Returns
    -------
    rows, scores : ndarray
        Best first; equal scores in the order of the rows.

    Examples
    --------
    >>> vectors = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32)
    >>> find_best(vectors, np.array([2.0, 1.0]), 2)
    (array([2, 0]), array([3., 2.]))
    """
    if n > SHORT_LIST:
        scores = all_scores(vectors, query, threads=threads)
        rows = best_of_scores(scores, n, skip=skip)
        return rows, scores[rows]
    ranges = _ranges(len(vectors), threads)
    starts = {start: place for place, (start, _) in enumerate(ranges)}
    scores = np.empty((len(ranges), n))
    rows = np.empty((len(ranges), n), np.int64)
    found = np.zeros(len(ranges), np.int64)

    codes = None if coarse is None else coarse.encode_query(query)

    def task(start: int, stop: int) -> None:
        place = starts[start]
        exact = vectors, query, skip, scores[place], rows[place]
        if coarse is None or codes is None:
            found[place] = best_rows(start, stop, *exact)
        else:
            arrays = coarse.codes, coarse.scales, coarse.errors
            found[place] = best_rows_by_codes(start, stop, *arrays, *codes, *exact)

    run_ranges(task, ranges, threads)
    filled = np.arange(n) < found[:, None]
    some_rows, some_scores = rows[filled], scores[filled]
    order = np.lexsort((some_rows, -some_scores))[:n]
    return some_rows[order], some_scores[order]


def all_scores(
    vectors: NDArray[np.float32], query: NDArray[np.float64], *, threads: int = 1
) -> NDArray[np.float64]:
    """Return the inner product of every row with the query, in float64."""
    scores = np.empty(len(vectors))

    def task(start: int, stop: int) -> None:
        score_rows(start, stop, vectors, query, scores)

    run_ranges(task, _ranges(len(vectors), threads), threads)
    return scores


def best_of_scores(
    scores: NDArray[np.float64], n: int, *, skip: int = -1
) -> NDArray[np.int64]:
    """Return the places of the `n` best scores; equal ones in their order.

    Examples
    --------
    >>> best_of_scores(np.array([0.5, 0.9, 0.9, 0.1]), 2)
    array([1, 2])
    """
    if skip >= 0:
        scores = scores.copy()
        scores[skip] = -np.inf
    n = min(n, len(scores) - (skip >= 0))
    if n <= 0:
        return np.empty(0, np.int64)
    threshold = np.partition(scores, len(scores) - n)[len(scores) - n]
    candidates = np.flatnonzero(scores >= threshold)
    if skip >= 0:
        candidates = candidates[candidates != skip]
    order = np.argsort(-scores[candidates], kind="stable")[:n]
    return candidates[order].astype(np.int64)


def _ranges(n_rows: int, threads: int) -> list[tuple[int, int]]:
    n_ranges = 1 if threads == 1 else threads * _RANGES_PER_THREAD
    cuts = sorted({n_rows * place // n_ranges for place in range(n_ranges + 1)})
    return list(pairwise(cuts))
