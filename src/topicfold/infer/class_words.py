# SPDX-License-Identifier: BSD-3-Clause
"""What labels say of words; what words and neighbours say of a document's topics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize

from topicfold.core.counts import normalize_rows
from topicfold.exceptions import DataError
from topicfold.graph import NeighborIndex

Float64 = NDArray[np.float64]

# Documents with the corpus' share of classes that are added to those of a word.
SMOOTHING = 5.0
# A divergence below this is rounding.
NOISE = 1e-13
# Of the regression of mixtures on words: λ beside rows of length 1, steps of conjugate
# gradients, and the share that a topic has at least.
RIDGE = 1.0
RIDGE_STEPS = 15
LEAST_SHARE = 1e-6


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
    divergence = (shares * np.log(ratio)).sum(axis=1)
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


def word_regression(X: Any, theta: Any) -> tuple[Float64, Float64]:
    """Return the ridge regression of mixtures on words, and the mean mixture.

    Minimises ``‖A W − (θ − mean θ)‖² + λ ‖W‖²``, A the rows of X at length 1, by
    conjugate gradients on ``(A Aᵀ + λ) α = θ − mean θ`` for all topics side by side;
    ``W = Aᵀ α``. Time O(nnz·K) per step, memory O((D + V)·K).
    """
    rows = normalize(sparse.csr_matrix(X, dtype=np.float64))
    columns = rows.T.tocsr()
    theta = np.asarray(theta, dtype=np.float64)
    mean = theta.mean(axis=0)
    residual = theta - mean
    alpha, step = np.zeros_like(residual), residual.copy()
    size = (residual**2).sum(axis=0)
    for _ in range(RIDGE_STEPS):
        image = rows @ (columns @ step) + RIDGE * step
        curvature = (step * image).sum(axis=0)
        length = size / np.where(curvature > 0, curvature, 1.0)
        alpha += length * step
        residual -= length * image
        before, size = size, (residual**2).sum(axis=0)
        step = residual + size / np.where(before > 0, before, 1.0) * step
    return np.asarray(columns @ alpha), mean


def regressed_mixtures(X: Any, weights: Any, mean: Any) -> NDArray[np.floating]:
    """Return what `word_regression` says of documents, on the simplex."""
    rows = normalize(sparse.csr_matrix(X, dtype=np.float64))
    found = np.asarray(rows @ weights) + mean
    return normalize_rows(np.maximum(found, LEAST_SHARE))
