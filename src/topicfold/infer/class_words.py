# SPDX-License-Identifier: BSD-3-Clause
"""What labels say of words, and what neighbours say of a document's topics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.exceptions import DataError
from topicfold.graph import NeighborIndex

Float64 = NDArray[np.float64]

# Documents with the corpus' share of classes that are added to those of a word.
SMOOTHING = 5.0
# A divergence below this is rounding.
NOISE = 1e-13


def class_word_weights(X: Any, members: NDArray[np.bool_]) -> Float64:
    """Return how much a word tells of the class, ``√KL(p(c|w) ‖ p(c))``.

    ``p(c|w)`` is the share of class c among the labelled documents that have w,
    with five documents of the corpus' shares ``p(c)`` added, so that a rare word
    tells little. A word that no labelled document has weighs 0. Scaled so that
    ``Σ log(1 + X_dw) weight_w`` is the number of tokens.
    """
    has_word = sparse.csr_array(X, dtype=np.float64).sign()
    labels = sparse.csr_array(members.astype(np.float64))
    counts = np.asarray((has_word.T @ labels).todense())
    prior = members.sum(axis=0) / max(int(members.sum()), 1)
    totals = counts.sum(axis=1, keepdims=True)
    shares = (counts + SMOOTHING * prior) / (totals + SMOOTHING)
    ratio = np.where(shares > 0, shares, 1.0) / np.where(prior > 0, prior, 1.0)
    divergence = (shares * np.log(np.where(shares > 0, ratio, 1.0))).sum(axis=1)
    # What rounding leaves of nothing must not be scaled up.
    told = (totals.ravel() > 0) & (divergence > NOISE)
    weights: Float64 = np.sqrt(np.where(told, divergence, 0.0))
    spread = float(np.log1p(X.data) @ weights[X.indices])
    if not spread > 0:
        raise DataError(
            "no word tells of the class: every class has each word in the same share "
            "of its documents. Check the labels, or use word_weights=None."
        )
    return weights * (X.data.sum(dtype=np.float64) / spread)


def weighted_words(X: sparse.csr_matrix, weights: Float64) -> sparse.csr_matrix:
    """Return ``log(1 + X_dw) weight_w``, of the type of X."""
    data = (np.log1p(X.data) * weights[X.indices]).astype(X.dtype)
    weighted = sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape, copy=True)
    weighted.eliminate_zeros()
    return weighted


def neighbor_mixtures(
    index: NeighborIndex,
    theta: sparse.csr_array,
    X: Any = None,
    *,
    n_neighbors: int,
    n_jobs: int | None = None,
) -> tuple[Float64, NDArray[np.bool_]]:
    """Return the mean mixture of each document's nearest index documents.

    Neighbours count by their similarity; with X None the documents are those of the
    index, each without itself. Also returns which documents have a neighbour: the means
    of others are zero.
    """
    if X is None:
        near, similar = index.query_among(None, n_neighbors, n_jobs=n_jobs)
    else:
        near, similar = index.query(X, n_neighbors, n_jobs=n_jobs)
    known = near >= 0
    indptr = np.r_[0, np.cumsum(known.sum(axis=1))]
    pairs = sparse.csr_array(
        (similar[known], near[known], indptr), shape=(len(near), index.n_documents)
    )
    totals = np.asarray(pairs.sum(axis=1)).ravel()
    means = (pairs @ sparse.csr_array(theta, dtype=np.float64)).toarray()
    means /= np.where(totals > 0, totals, 1.0)[:, None]
    return means, totals > 0
