# SPDX-License-Identifier: BSD-3-Clause
"""Frank-Wolfe inference in plain NumPy, from the equations: slow, to test against."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import brentq

from topicfold.core.typing import Doubles
from topicfold.infer.frank_wolfe import PROBABILITY_FLOOR


def objective(theta: Doubles, u: Doubles, block: Doubles, weights: Doubles) -> float:
    """Return ``f(θ) = Σ_w u_w log Σ_k θ_k φ_kw + Σ_k c_k sin θ_k``.

    `u` (n,) are the weights of the document's words, with sum 1, `block` (n, K) their
    rows of φᵀ, and `weights` (K,) c: the promotion of promoted topics, 0 for others.
    """
    return float(u @ np.log(block @ theta) + weights @ np.sin(theta))


def gradient(theta: Doubles, u: Doubles, block: Doubles, weights: Doubles) -> Doubles:
    """Return the gradient of `objective`."""
    return (u / (block @ theta)) @ block + weights * np.cos(theta)


def frank_wolfe_document(
    u: Doubles,
    block: Doubles,
    weights: Doubles,
    *,
    pairwise: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-6,
) -> tuple[Doubles, Doubles]:
    """Return the mixture of one document and its objective, start first."""
    vertices = np.eye(block.shape[1])
    values = [objective(vertex, u, block, weights) for vertex in vertices]
    theta = vertices[int(np.argmax(values))]
    path = [max(values)]
    for _ in range(max_iter):
        slopes = gradient(theta, u, block, weights)
        top = int(np.argmax(slopes))
        if slopes[top] - theta @ slopes <= tol * abs(path[-1]):
            break
        ends = [vertices[top]]
        others = (theta > 0) & (np.arange(len(theta)) != top)
        if pairwise and others.any():
            bad = int(np.argmin(np.where(others, slopes, np.inf)))
            ends.append(theta + theta[bad] * (vertices[top] - vertices[bad]))
        tries = [_line_search(theta, end, u, block, weights) for end in ends]
        gains = [objective(new, u, block, weights) - path[-1] for new in tries]
        best = int(np.argmax(gains))
        if gains[best] <= 0:
            break
        theta = tries[best]
        path.append(path[-1] + gains[best])
        if gains[best] < tol * abs(path[-1]):
            break
    return theta, np.array(path)


def document_problem(
    U: Any, topics_word_major: NDArray[np.floating], row: int
) -> tuple[Doubles, Doubles]:
    """Return weights and block of one document for `frank_wolfe_document`."""
    topics = np.asarray(topics_word_major, dtype=np.float64)
    counts = sp.csr_array(U)[[row]].toarray()[0].astype(np.float64)
    words = (counts > 0) & (topics > 0).any(axis=1)
    u = counts[words]
    return u / max(u.sum(), np.finfo(float).tiny), np.maximum(
        topics[words], PROBABILITY_FLOOR
    )


def frank_wolfe(
    U: Any,
    topics_word_major: NDArray[np.floating],
    *,
    promotion: float = 0.0,
    promoted: tuple[NDArray[np.integer], NDArray[np.bool_]] | None = None,
    pairwise: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-6,
) -> Doubles:
    """Return θ, dense: what `topicfold.infer.frank_wolfe.frank_wolfe` computes."""
    n_topics = topics_word_major.shape[1]
    theta = np.full((U.shape[0], n_topics), 1.0 / n_topics)
    for row in range(U.shape[0]):
        u, block = document_problem(U, topics_word_major, row)
        if len(u) == 0:
            continue
        weights = np.zeros(n_topics)
        if promoted is not None and promoted[0][row] >= 0:
            weights = promotion * promoted[1][promoted[0][row]].astype(np.float64)
        theta[row], _ = frank_wolfe_document(
            u, block, weights, pairwise=pairwise, max_iter=max_iter, tol=tol
        )
    return theta


def _line_search(
    theta: Doubles, end: Doubles, u: Doubles, block: Doubles, weights: Doubles
) -> Doubles:
    """Return the best point between `theta` and `end`."""

    def slope(step: float) -> float:
        point = theta + step * (end - theta)
        return float((end - theta) @ gradient(point, u, block, weights))

    if slope(1.0) >= 0.0:
        return end
    if slope(0.0) <= 0.0:
        return theta
    step = brentq(slope, 0.0, 1.0, xtol=1e-14, rtol=1e-14)
    return theta + step * (end - theta)
