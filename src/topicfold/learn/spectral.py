# SPDX-License-Identifier: BSD-3-Clause
"""Topics from anchor words: a start that no random number and no local optimum moves.

Words that occur in one topic only are its anchors. The rows of the table of words that
occur together lie in the convex hull of the anchors' rows, which are its corners: each
corner is found as the row farthest from the span of those before it, and every other
row as a mixture of the corners (Arora et al. 2013, "A practical algorithm for topic
modeling with provable guarantees"). Above `MOST_WORDS` words the table has as many
random projections as columns instead, and is never made.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.exceptions import DataError

MOST_WORDS = 3000
# An anchor is in at least so many documents, or in this share of them: words of few
# documents lie far out by chance.
LEAST_DOCUMENTS, LEAST_SHARE = 5, 0.002
STEPS = 300


def spectral_topics(
    X: sparse.csr_matrix, n_topics: int, rng: np.random.RandomState
) -> NDArray[np.float64]:
    """Return topics (K, V), rows on the simplex."""
    rows, shares = _together(sparse.csr_matrix(X, dtype=np.float64), rng)
    anchors = _anchors(rows, _may_be_anchors(X, n_topics), n_topics)
    corners = rows[anchors]
    mixtures = _mixtures(corners @ corners.T, rows @ corners.T)
    topics = (mixtures * shares[:, None]).T
    return np.asarray(topics / topics.sum(axis=1, keepdims=True))


def _together(
    X: sparse.csr_matrix, rng: np.random.RandomState
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ``p(w' | w)`` of pairs of tokens in a document, and ``p(w)``.

    A token is no pair with itself; documents weigh the same whatever their length.
    """
    lengths = np.asarray(X.sum(axis=1)).ravel()
    pairs = lengths * (lengths - 1.0)
    weight = np.divide(1.0, pairs, out=np.zeros_like(pairs), where=pairs > 0)
    weighted = sparse.diags(weight) @ X
    own = np.asarray(weighted.sum(axis=0)).ravel()
    totals = np.asarray(weighted.T @ lengths).ravel() - own
    if X.shape[1] <= MOST_WORDS:
        together = np.asarray((X.T @ weighted).todense())
        together[np.diag_indices_from(together)] -= own
    else:
        signs = rng.normal(size=(X.shape[1], MOST_WORDS // 3))
        together = X.T @ (weighted @ signs) - own[:, None] * signs
    scale = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)
    shares = np.maximum(totals, 0.0)
    return together * scale[:, None], shares / shares.sum()


def _may_be_anchors(X: sparse.csr_matrix, n_topics: int) -> NDArray[np.bool_]:
    """Tell which words are in documents enough; more of them if these are too few."""
    documents = np.bincount(X.indices, minlength=X.shape[1])
    least = max(LEAST_DOCUMENTS, LEAST_SHARE * X.shape[0])
    while least >= 1 and (documents >= least).sum() < 2 * n_topics:
        least /= 2
    found = documents >= max(least, 1)
    if found.sum() < n_topics:
        raise DataError(
            f"init='spectral' needs a word of its own for each of {n_topics} topics, "
            f"but X has {int(found.sum())} words. Use fewer topics or another init."
        )
    return np.asarray(found)


def _anchors(
    rows: NDArray[np.float64], allowed: NDArray[np.bool_], n_topics: int
) -> NDArray[np.intp]:
    """Return the words at the corners: each farthest from the span of the others."""
    left = rows.copy()
    found: list[int] = []
    for _ in range(n_topics):
        distance = np.where(allowed, np.einsum("ij,ij->i", left, left), -1.0)
        distance[found] = -1.0
        found.append(int(distance.argmax()))
        direction = left[found[-1]]
        direction = direction / max(float(np.linalg.norm(direction)), 1e-300)
        left -= np.outer(left @ direction, direction)
    return np.array(found)


def _mixtures(
    products: NDArray[np.float64], targets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return rows c on the simplex that minimise ``c G cᵀ − 2 t c``.

    By exponentiated gradients, accelerated by each row's own step: a step that does not
    lower a row's value is not made, and halves its step.
    """
    shape = targets.shape
    mixtures = np.full(shape, 1.0 / shape[1])
    step = np.full((shape[0], 1), 1.0 / max(float(np.abs(products).max()), 1e-300))
    image = mixtures @ products
    value = (mixtures * (image - 2 * targets)).sum(axis=1, keepdims=True)
    for _ in range(STEPS):
        gradient = image - targets
        gradient -= gradient.min(axis=1, keepdims=True)
        tried = mixtures * np.exp(-np.minimum(step * gradient, 50.0))
        tried /= tried.sum(axis=1, keepdims=True)
        new_image = tried @ products
        new = (tried * (new_image - 2 * targets)).sum(axis=1, keepdims=True)
        better = new <= value
        mixtures = np.where(better, tried, mixtures)
        image = np.where(better, new_image, image)
        value = np.where(better, new, value)
        step = np.where(better, 1.5 * step, 0.5 * step)
    return mixtures
