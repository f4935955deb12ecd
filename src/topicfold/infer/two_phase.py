# SPDX-License-Identifier: BSD-3-Clause
"""Labels and topics: the second phase of the two-phase framework (docs/math.md §7).

Classes are columns of a boolean matrix ``members`` (documents, classes): a document
may have one label, several or none. Also what labels say of words, and what words and
neighbours say of a document's topics.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import psi
from sklearn.preprocessing import normalize

from topicfold.core.counts import normalize_rows, row_sums
from topicfold.core.threads import blocks_of, n_threads
from topicfold.core.typing import Array, Doubles
from topicfold.engine import make_engine
from topicfold.exceptions import DataError
from topicfold.graph.neighbors import (
    NeighborIndex,
    approximate_neighbors,
    neighbor_matrix,
)
from topicfold.infer.frank_wolfe import frank_wolfe

Members = NDArray[np.bool_]

# Documents whose smoothed words are in memory at a time.
_BLOCK = 4096
# Classes of fewer documents are always searched exactly: it is quicker.
APPROXIMATE_FROM = 4096


def class_topic_weights(theta: Array, members: Members) -> NDArray[np.float64]:
    """Return ``T_ck = Σ_{d in c} θ_dk``, every class summing to 1."""
    weights = sparse.csr_array(members.T.astype(np.float64)) @ theta
    return normalize_rows(np.asarray(weights)).astype(np.float64, copy=False)


def discriminative_topics(weights: Array, threshold: float) -> NDArray[np.bool_]:
    """Return which topics (C, K) set each class apart.

    Topic k does so for class c if ``T_ck ≥ threshold · min_c' T_c'k`` and
    ``T_ck ≥ median_c' T_c'k``, and never if ``T_ck = 0``: with sparse mixtures the
    minimum and the median are often 0.
    """
    lowest = weights.min(axis=0)
    middle = np.median(weights, axis=0)
    chosen: NDArray[np.bool_] = (
        (weights > 0) & (weights >= threshold * lowest) & (weights >= middle)
    )
    return chosen


def class_neighbors(
    X: Any,
    members: Members,
    n_neighbors: int,
    *,
    approximate: bool = False,
    n_jobs: int | None = None,
) -> NDArray[np.int64]:
    """Return the documents nearest to each one, among those that share a label.

    Near is a small ``KL(x̂_d ‖ x̂_d')``, where a word has at least probability 1e-4
    under d'. A document without a label has its neighbours among all documents. The
    document itself is not in its list.

    With `approximate`, classes (or the whole corpus) of at least 4096 documents are
    searched among three times as many candidates, near by the cosine of tf-idf, that
    are found by their rare words. Returns (D, n_neighbors), at most (D, D), nearest
    first, then -1 where there are no more.
    """
    n_neighbors = min(n_neighbors, X.shape[0])
    index = NeighborIndex(X, similarity="kl")
    found = np.full((X.shape[0], n_neighbors), -1, dtype=np.int64)
    values = np.full((X.shape[0], n_neighbors), -np.inf)
    free = np.flatnonzero(~members.any(axis=1))
    if len(free):
        if approximate and X.shape[0] >= APPROXIMATE_FROM:
            everyone = np.arange(X.shape[0])
            near, similar = _candidates(index, everyone, n_neighbors, n_jobs)
            near, similar = near[free], similar[free]
        else:
            near, similar = index.query(
                index.counts_[free], min(n_neighbors + 1, X.shape[0]), n_jobs=n_jobs
            )
        _merge(found, values, free, near, similar)
    for column in members.T:
        documents = np.flatnonzero(column)
        if len(documents) < 2:
            continue
        if approximate and len(documents) >= APPROXIMATE_FROM:
            near, similar = _candidates(index, documents, n_neighbors, n_jobs)
        else:
            near, similar = index.query_among(documents, n_neighbors, n_jobs=n_jobs)
        _merge(found, values, documents, near, similar)
    return found


def _candidates(
    index: NeighborIndex,
    documents: NDArray[np.int64],
    n_neighbors: int,
    n_jobs: int | None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return neighbours among `documents` by KL, of candidates near by cosine."""
    counts = index.counts_[documents]
    candidates, _, _ = approximate_neighbors(
        NeighborIndex(counts), 3 * n_neighbors, n_jobs=n_jobs
    )
    own = NeighborIndex(counts, similarity="kl")
    rows = own.weighting_.queries(own.counts_)
    near, scores = own.lists_.score(rows, candidates, n_neighbors, n_threads(n_jobs))
    similar = own.weighting_.similarities(rows, scores)
    return np.where(near >= 0, documents[near], -1), similar


def _merge(
    found: NDArray[np.int64],
    values: NDArray[np.float64],
    rows: NDArray[np.int64],
    near: NDArray[np.int64],
    similar: NDArray[np.float64],
) -> None:
    """Keep the best different documents of the lists so far and of new ones."""
    similar = np.where((near < 0) | (near == rows[:, None]), -np.inf, similar)
    seen = (near[:, :, None] == found[rows][:, None, :]).any(axis=2)
    similar = np.where(seen, -np.inf, similar)
    both = np.hstack([found[rows], near])
    scores = np.hstack([values[rows], similar])
    order = np.argsort(-scores, axis=1, kind="stable")[:, : found.shape[1]]
    values[rows] = np.take_along_axis(scores, order, axis=1)
    best = np.take_along_axis(both, order, axis=1)
    found[rows] = np.where(np.isneginf(values[rows]), -1, best)


def smoothed_documents(
    X: Any, neighbors: NDArray[np.int64], own_weight: float, start: int, stop: int
) -> sparse.csr_array:
    """Return ``u_d = λ x̂_d + (1 − λ) mean_{d' in N_d} x̂_d'``, x̂_d where there are no
    d'.
    """
    lists = np.column_stack([np.arange(start, stop), neighbors[start:stop]])
    counts = (lists >= 0).sum(axis=1) - 1
    own = np.where(counts > 0, own_weight, 1.0)
    shares = np.tile((1.0 - own) / np.maximum(counts, 1), (lists.shape[1], 1)).T
    shares[:, 0] = own
    mixing = neighbor_matrix(lists, shares, X.shape[0])
    mixing.sort_indices()
    totals = row_sums(X)
    scale = sparse.diags_array(1.0 / np.where(totals > 0, totals, 1.0))
    mixed = sparse.csr_array(mixing @ scale @ sparse.csr_array(X, dtype=np.float64))
    mixed.eliminate_zeros()
    return mixed


def discriminative_mixtures(
    X: Any,
    word_major: Array,
    neighbors: NDArray[np.int64],
    members: Members,
    topics_of_class: NDArray[np.bool_],
    *,
    own_weight: float,
    promotion: float,
    device: str = "cpu",
    n_jobs: int | None = None,
) -> tuple[sparse.csr_array, float]:
    """Return the mixtures θ* of the second phase and the mean of their objectives.

    Maximises ``Σ_w u_dw log Σ_k θ_k φ_kw + R Σ_{k in S} sin θ_k`` by Frank-Wolfe, S
    the topics that set one of the document's classes apart; without a label none.
    The smoothed documents are made block by block: memory is that of X and θ*. λ is
    `own_weight`, R `promotion`; `neighbors` (D, n) has -1 for none, `word_major` is φᵀ.
    """
    label_sets, set_of_document = np.unique(members, axis=0, return_inverse=True)
    promoted = (label_sets.astype(np.int64) @ topics_of_class.astype(np.int64)) > 0
    set_of_document = set_of_document.astype(np.int64).ravel()
    parts, total = [], 0.0
    for start, stop in blocks_of(X.shape[0], _BLOCK):
        theta, info = frank_wolfe(
            smoothed_documents(X, neighbors, own_weight, start, stop),
            word_major,
            promotion=promotion,
            promoted=(set_of_document[start:stop], promoted),
            device=device,
            n_jobs=n_jobs,
            return_info=True,
        )
        parts.append(theta)
        total += float(info.objective.sum())
    return sparse.csr_array(sparse.vstack(parts, format="csr")), total / X.shape[0]


def digamma_weights(theta: sparse.csr_array) -> sparse.csr_array:
    """Return ``exp ψ(θ_dk)``, the largest of every row 1, and 0 where θ is 0.

    LDA's responsibilities with θ in place of the posterior (docs/math.md §7); the
    small number added there to θ is taken to its limit, ``exp ψ(0) = 0``.
    """
    logs = psi(theta.data.astype(np.float64))
    lengths = np.diff(theta.indptr)
    top = np.repeat(np.maximum.reduceat(logs, theta.indptr[:-1]), lengths)
    data = np.exp(logs - top)
    return sparse.csr_array((data, theta.indices, theta.indptr), shape=theta.shape)


def expected_topic_counts(
    X: Any,
    mixtures: Array,
    topics: Array,
    *,
    device: str = "cpu",
    n_jobs: int | None = None,
) -> Array:
    """Return ``N_kw`` (K, V) of one E-step from fixed mixtures (docs/math.md §2)."""
    engine = make_engine(X, len(topics), dtype=X.dtype, device=device, n_jobs=n_jobs)
    counts = engine.expected_counts(
        engine.pack_documents(mixtures), engine.pack_topics(topics)
    )
    return engine.unpack_topics(counts.words)


# Documents with the corpus' share of classes that are added to those of a word.
SMOOTHING = 5.0
# A divergence below this is rounding.
NOISE = 1e-13
# Of the regression of mixtures on words: λ beside rows of length 1, steps of conjugate
# gradients, and the share that a topic has at least.
RIDGE = 1.0
RIDGE_STEPS = 15
LEAST_SHARE = 1e-6


def class_word_weights(X: Any, members: NDArray[np.bool_]) -> Doubles:
    """Return how much a word tells of the class, ``√KL(p(c|w) ‖ p(c))``.

    ``p(c|w)`` is the share of class c among the labelled documents that have w,
    with five documents of the corpus' shares ``p(c)`` added, so that a rare
    word says little about the class. A word that no labelled document has weighs 0.
    Scaled so that ``Σ log(1 + X_dw) weight_w`` is the number of tokens.
    """
    has_word = sparse.csr_array(X, dtype=np.float64).sign()
    labels = sparse.csr_array(members.astype(np.float64))
    counts = np.asarray((has_word.T @ labels).todense())
    prior = members.sum(axis=0) / max(int(members.sum()), 1)
    totals = counts.sum(axis=1, keepdims=True)
    shares = (counts + SMOOTHING * prior) / (totals + SMOOTHING)
    ratio = np.where(shares > 0, shares, 1.0) / np.where(prior > 0, prior, 1.0)
    divergence = (shares * np.log(ratio)).sum(axis=1)
    # Rounding errors of a zero must not be scaled up.
    told = (totals.ravel() > 0) & (divergence > NOISE)
    weights: Doubles = np.sqrt(np.where(told, divergence, 0.0))
    spread = float(np.log1p(X.data) @ weights[X.indices])
    if not spread > 0:
        raise DataError(
            "no word separates the classes: every word is equally common in all of "
            "them. Check the labels, or use TwoPhase(word_weights=None), which does "
            "not weight words by class."
        )
    return weights * (X.data.sum(dtype=np.float64) / spread)


def weighted_words(X: sparse.csr_matrix, weights: Doubles) -> sparse.csr_matrix:
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
) -> tuple[Doubles, NDArray[np.bool_]]:
    """Return the mean mixture of each document's nearest index documents.

    Neighbours count by their similarity; with X None the documents are those of the
    index, each without itself. Also returns which documents have a neighbour: the means
    of others are zero.
    """
    if X is None:
        near, similar = index.query_among(None, n_neighbors, n_jobs=n_jobs)
    else:
        near, similar = index.query(X, n_neighbors, n_jobs=n_jobs)
    pairs = sparse.csr_array(neighbor_matrix(near, similar, index.n_documents))
    totals = np.asarray(pairs.sum(axis=1)).ravel()
    means = (pairs @ sparse.csr_array(theta, dtype=np.float64)).toarray()
    means /= np.where(totals > 0, totals, 1.0)[:, None]
    return means, totals > 0


def word_regression(X: Any, theta: Any) -> tuple[Doubles, Doubles]:
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
