# SPDX-License-Identifier: BSD-3-Clause
"""Approximate neighbours through pynndescent, with their measured recall."""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.threads import n_threads
from topicfold.exceptions import DataError, MissingDependencyError
from topicfold.graph.neighbors import NeighborIndex

RECALL_SAMPLE = 200  # documents whose exact neighbours are searched for the recall
_METRICS = {"cosine": "cosine", "intersection": "manhattan"}
_logger = logging.getLogger("topicfold")


def approximate_neighbors(
    index: NeighborIndex,
    n_neighbors: int,
    *,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
    """Return neighbours of the index documents found by nearest-neighbour descent.

    Candidates come from pynndescent (``topicfold[ann]``) on the tf-idf rows (for
    intersection by Manhattan distance, which orders L1-normalised rows alike); their
    similarities are then computed exactly.

    Parameters
    ----------
    index : NeighborIndex
        The documents; similarity ``"cosine"`` or ``"intersection"``.
    n_neighbors : int
        Neighbours a document.
    random_state : int, default=0
        Seed of the descent and of the sample for the recall. The same seed gives the
        same graph only for the same number of threads.
    n_jobs : int or None, default=None
        Threads, as in scikit-learn.

    Returns
    -------
    documents, similarities : ndarray of shape (n_documents, n_neighbors)
        As `NeighborIndex.query`.
    recall : float
        Share of the exact neighbours of 200 sampled documents that were found; it is
        logged too.
    """
    metric = _METRICS.get(str(index.similarity))
    if metric is None:
        raise DataError(
            "approximate=True needs similarity='cosine' or 'intersection', got "
            f"{index.similarity!r}. Use approximate=False for exact neighbours."
        )
    try:
        from pynndescent import NNDescent
    except ImportError as error:
        raise MissingDependencyError(
            "approximate=True requires pynndescent. Install it with pip install "
            "'topicfold[ann]', or use approximate=False for exact neighbours."
        ) from error
    threads = n_threads(n_jobs)
    rows = index.weighting_.queries(index.counts_)
    filled = np.flatnonzero(np.diff(rows.indptr))
    n_best = min(n_neighbors, index.n_documents - 1)
    n_candidates = min(max(2 * n_best, 30), len(filled))
    candidates = np.full((index.n_documents, max(n_candidates, 1)), -1, np.int64)
    if n_candidates > 1:
        descent = NNDescent(
            # pynndescent 0.5 knows no sparse arrays.
            sparse.csr_matrix(rows[filled], dtype=np.float32),
            metric=metric,
            n_neighbors=n_candidates,
            random_state=random_state,
            n_jobs=threads,
        )
        near = descent.neighbor_graph[0]
        candidates[filled] = np.where(near >= 0, filled[near], -1)
    candidates[candidates == np.arange(index.n_documents)[:, None]] = -1
    found, scores = index.lists_.score(rows, candidates, n_best, threads)
    recall = _recall(index, found, random_state, n_jobs)
    _logger.warning(
        "approximate neighbours: recall %.3f of the exact ones on a sample of %d "
        "documents",
        recall,
        min(RECALL_SAMPLE, index.n_documents),
    )
    return found, index.weighting_.similarities(rows, scores), recall


def _recall(
    index: NeighborIndex,
    found: NDArray[np.int64],
    random_state: int,
    n_jobs: int | None,
) -> float:
    n_documents, n_best = found.shape
    rng = np.random.default_rng(random_state)
    size = min(RECALL_SAMPLE, n_documents)
    sample = np.sort(rng.choice(n_documents, size, replace=False))
    exact, _ = index.query(index.counts_[sample], n_best + 1, n_jobs=n_jobs)
    n_exact = n_found = 0
    for document, row in zip(sample, exact, strict=True):
        true = row[(row >= 0) & (row != document)][:n_best]
        n_exact += len(true)
        n_found += len(np.intersect1d(true, found[document]))
    return n_found / n_exact if n_exact else 1.0
