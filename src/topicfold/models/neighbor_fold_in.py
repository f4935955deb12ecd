# SPDX-License-Identifier: BSD-3-Clause
"""New documents beside the training documents that are nearest to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.simplex import normalize_rows
from topicfold.core.typing import Array
from topicfold.engine import has_room, make_engine, order_of_topics
from topicfold.engine.arrays import array_module
from topicfold.engine.protocol import Engine
from topicfold.graph import NeighborIndex

if TYPE_CHECKING:
    from topicfold.models.graph_base import GraphOptions

Shares = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def neighbor_fold_in(
    X: sparse.csr_matrix,
    topics: Array,
    *,
    index: NeighborIndex,
    training_theta: Array,
    options: GraphOptions,
    neighbor_shares: Shares,
    max_iter: int,
    tol: float,
    device: str,
    n_jobs: int | None,
) -> Array:
    """Fold documents in, each drawn to its nearest training documents.

    Iterates ``θ_d = (1 − g_d) N_d / n_d + g_d m_d`` with m_d the mean of the
    neighbours' θ, held fixed, and g_d the neighbours' share: the model's own θ-step
    for one row. Each document stops by itself.
    """
    place = {"dtype": X.dtype, "device": device}
    parts = []
    for rows in _parts_with_room(X, len(topics), place):
        engine = make_engine(
            rows,
            len(topics),
            n_jobs=n_jobs,
            word_order=order_of_topics(topics),
            **place,
        )
        means, degrees = _neighbor_means(rows, index, training_theta, options)
        shares = neighbor_shares(engine.document_lengths, degrees)
        shares = np.where((engine.document_lengths <= 0) & (degrees > 0), 1.0, shares)
        # From the uniform mixture where there is no neighbour, as in plain fold-in.
        near = degrees[:, None] > 0
        start = np.where(near, 0.5 * means + 0.5 / len(topics), 1 / len(topics))
        anchors = means * shares[:, None]
        own = (1.0 - shares) / np.maximum(engine.document_lengths, 1e-30)
        parts.append(_drawn_fold_in(engine, topics, start, anchors, own, max_iter, tol))
        del engine  # before there is room for the next
    return np.concatenate(parts)


def _parts_with_room(
    X: sparse.csr_matrix, n_topics: int, options: dict[str, Any]
) -> Iterator[sparse.csr_matrix]:
    """Yield as many rows at a time as the device has room for; one in any case."""
    middle = X.shape[0] // 2
    if middle == 0 or has_room(X, n_topics, **options):
        yield X
        return
    yield from _parts_with_room(X[:middle], n_topics, options)
    yield from _parts_with_room(X[middle:], n_topics, options)


def _drawn_fold_in(
    engine: Engine,
    topics: Array,
    start: Array,
    anchors: Array,
    own: Array,
    max_iter: int,
    tol: float,
) -> Array:
    """Iterate ``θ = own · N + anchor`` from `start`; each row stops by itself."""
    packed = engine.pack_topics(topics)
    theta, anchors = engine.pack_documents(start), engine.pack_documents(anchors)
    xp = array_module(anchors)
    own = xp.asarray(own.astype(engine.dtype))
    active = xp.ones(len(start), dtype=bool)
    for _ in range(max_iter):
        counts = engine.document_pass(theta, packed).counts
        updated = counts[active] * own[active, None] + anchors[active]
        change = xp.abs(updated - theta[active]).sum(axis=1)
        theta[active] = updated
        active[xp.flatnonzero(active)[change <= tol]] = False
        if not active.any():
            break
    return normalize_rows(engine.unpack_documents(theta))


def _neighbor_means(
    X: sparse.csr_matrix,
    index: NeighborIndex,
    training_theta: Array,
    options: GraphOptions,
) -> tuple[Array, NDArray[np.float64]]:
    near, similar = index.query(
        compared_counts(X, options.sublinear_tf),
        options.n_neighbors,
        n_jobs=options.n_jobs,
    )
    found = near >= 0
    weights = np.where(found, similar, 0.0)
    if options.edge_weights == "binary":
        weights = found.astype(np.float64)
    indptr = np.r_[0, np.cumsum(found.sum(axis=1))]
    pairs = sparse.csr_matrix(
        (weights[found], near[found], indptr), shape=(len(near), len(training_theta))
    )
    degrees = np.asarray(pairs.sum(axis=1)).ravel()
    means = np.asarray(pairs @ training_theta.astype(np.float64))
    return means / np.maximum(degrees, 1e-300)[:, None], degrees


def compared_counts(X: sparse.csr_matrix, sublinear_tf: bool) -> sparse.csr_matrix:
    """Return what neighbours are searched by."""
    return X.log1p() if sublinear_tf else X
