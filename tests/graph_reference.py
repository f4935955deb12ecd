# SPDX-License-Identifier: BSD-3-Clause
"""Similarities and neighbours in plain NumPy, dense: slow, short, to test against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topicfold.core.typing import Doubles
from topicfold.graph.neighbors import KL_FLOOR


def scores(queries: Doubles, documents: Doubles, similarity: str) -> Doubles:
    """Return what neighbours are ordered by, a row per query.

    The similarity itself, except for ``kl``: ``sum p log(max(q, floor) / floor)``.
    """
    if similarity == "kl":
        p, q = _normalized(queries, 1), _normalized(documents, 1)
        result = p @ np.log(np.maximum(q, KL_FLOOR) / KL_FLOOR).T
    else:
        frequency = (documents > 0).sum(axis=0)
        idf = np.log((1 + len(documents)) / (1 + frequency)) + 1.0
        norm = 2 if similarity == "cosine" else 1
        p, q = _normalized(queries * idf, norm), _normalized(documents * idf, norm)
        if similarity == "cosine":
            result = p @ q.T
        else:
            result = np.minimum(p[:, None, :], q[None, :, :]).sum(axis=2)
    return np.asarray(np.rint(result * 2.0**32) / 2.0**32)


def similarities(queries: Doubles, documents: Doubles, similarity: str) -> Doubles:
    """Return similarities, 0 for documents that share nothing."""
    score = scores(queries, documents, similarity)
    if similarity != "kl":
        return score
    p, q = _normalized(queries, 1), np.maximum(_normalized(documents, 1), KL_FLOOR)
    ratio = np.where(p[:, None] > 0, p[:, None], 1.0) / q[None]
    divergence = (p[:, None] * np.log(np.where(p[:, None] > 0, ratio, 1.0))).sum(axis=2)
    return np.where(score > 0, np.exp(-np.maximum(divergence, 0.0)), 0.0)


def top_neighbors(score: Doubles, n_best: int, exclude_self: bool) -> NDArray[np.int64]:
    """Return each row's columns by falling score, then rising number; -1: none."""
    score = score.copy()
    if exclude_self:
        np.fill_diagonal(score, 0.0)
    order = np.argsort(-score, axis=1, kind="stable")[:, :n_best]
    return np.where(np.take_along_axis(score, order, axis=1) > 0, order, -1)


def _normalized(rows: Doubles, norm: int) -> Doubles:
    size = np.linalg.norm(rows, ord=norm, axis=1, keepdims=True)
    return np.divide(rows, size, out=np.zeros_like(rows), where=size > 0)
