# SPDX-License-Identifier: BSD-3-Clause
"""Frank-Wolfe inference: sparse topic mixtures for documents, topics fixed.

For every document with weights u (made to sum to 1) it climbs the concave

    f(θ) = Σ_w u_w log Σ_k θ_k φ_kw + R Σ_{k in S} sin θ_k

on the simplex: from the best vertex, every iteration moves towards the vertex with
the steepest slope by an exact line search, or wins more by a pairwise step. After l
iterations at most l + 1 topics are non-zero and ``max f - f(θ) ≤ 4 C_f / (l + 3)``,
C_f bounding the curvature of f.

References
----------
K. Than, T. B. Ho, D. K. Nguyen: An effective framework for supervised dimension
reduction. Neurocomputing (2014), algorithm 1. doi:10.1016/j.neucom.2014.02.017

K. L. Clarkson: Coresets, sparse greedy approximation, and the Frank-Wolfe algorithm.
ACM Transactions on Algorithms 6 (2010). doi:10.1145/1824777.1824783
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from topicfold.core.counts import bad_values, check_structure
from topicfold.core.threads import (
    RANGES_PER_THREAD,
    balanced_ranges,
    n_threads,
    run_ranges,
)
from topicfold.exceptions import DataError, DeviceError
from topicfold.infer.frank_wolfe_kernels import PROBABILITY_FLOOR, infer_documents

# Rows of θ that one task holds densely before they become CSR.
_MAX_ROWS = 2048

Promoted: TypeAlias = tuple[ArrayLike, ArrayLike]


class FrankWolfeInfo(NamedTuple):
    """How the inference of each document went.

    `n_iter` are the iterations that raised the objective, `start` and `objective` its
    values at the best vertex and at the returned mixture, `gap` the Frank-Wolfe gap
    ``max_k g_k - θ·g`` at the last gradient, which is that of the returned mixture or
    of the one before: no mixture is better than `objective` by more. `empty` documents
    have no known word: uniform mixture, all the others 0.
    """

    n_iter: NDArray[np.int64]
    start: NDArray[np.float64]
    objective: NDArray[np.float64]
    gap: NDArray[np.float64]
    empty: NDArray[np.bool_]


def frank_wolfe(
    U: Any,
    topics_word_major: NDArray[np.floating],
    *,
    promotion: float = 0.0,
    promoted: Promoted | None = None,
    pairwise: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-6,
    device: str = "cpu",
    n_jobs: int | None = None,
    return_info: bool = False,
) -> Any:
    """Infer the topic mixture of every document by Frank-Wolfe.

    One iteration costs O(K) for each different word of the document. The result is
    the same, bit for bit, for any number of threads and any batching of documents;
    results of the CPU and of CUDA agree in the objective, not in every bit.

    Parameters
    ----------
    U : sparse matrix or array of shape (D, V)
        Non-negative word weights, one row per document; only their proportions matter.
        Words that no topic has are ignored.
    topics_word_major : ndarray of shape (V, K), float32 or float64
        φᵀ, non-negative, K contiguous. θ has its dtype.
    promotion : float, default=0
        R, the weight of promoted topics. The log-likelihood of a document counts as
        one word's, so even 1 is strong.
    promoted : tuple of (int array of shape (D,), bool array of shape (C, K)), optional
        Class of every document, -1 for none, and the promoted topics of every class.
    pairwise : bool, default=True
        Whether an iteration may, where that improves more, move mass to the steepest
        topic from the topic in use that deserves it least, instead of from all: the
        same guarantees, fewer iterations, fewer topics. False is the paper's algorithm.
    max_iter, tol :
        A document is done after `max_iter` iterations, or when one improves its
        objective by less than `tol` times it. 0 iterations give the best vertex. With
        a large `promotion` the objective is mostly promotion.

    Returns
    -------
    csr_array of shape (D, K), or that and FrankWolfeInfo if `return_info`
        Rows sum to 1; the row of a document without known words is uniform.
    """
    topics = _check_topics(topics_word_major)
    U = _check_documents(U, topics.shape[0])
    for name, value in (("promotion", promotion), ("max_iter", max_iter), ("tol", tol)):
        if not 0 <= value < np.inf:
            raise DataError(
                f"The '{name}' parameter of frank_wolfe must be in the range "
                f"[0, inf). Got {value!r} instead."
            )
    classes = _check_promoted(promotion, promoted, U.shape[0], topics.shape[1])
    if device == "cuda":
        from topicfold.engine.cuda.frank_wolfe import infer_documents as infer_on_device

        indices, data, counts, table = infer_on_device(
            U, topics, PROBABILITY_FLOOR, *classes,
            pairwise=bool(pairwise), max_iter=int(max_iter), tol=float(tol),
        )  # fmt: skip
    elif device == "cpu":
        options = bool(pairwise), int(max_iter), float(tol)
        indices, data, counts, table = _infer_on_threads(
            U, topics, *classes, options, n_threads(n_jobs)
        )
    else:
        raise DeviceError(f"Unknown device {device!r}. Use device='cpu' or 'cuda'.")
    indptr = np.concatenate([[0], np.cumsum(counts)])
    theta = sp.csr_array((data, indices, indptr), shape=(U.shape[0], topics.shape[1]))
    if not return_info:
        return theta
    n_iter, start, objective, gap = table.T.copy()
    empty = n_iter < 0
    n_iter = np.where(empty, 0, n_iter).astype(np.int64)
    return theta, FrankWolfeInfo(n_iter, start, objective, gap, empty)


def _infer_on_threads(
    U: sp.csr_array,
    topics: NDArray[np.floating],
    classes: NDArray[np.int64],
    weights: NDArray[np.float64],
    options: tuple[bool, int, float],
    threads: int,
) -> tuple[NDArray[Any], ...]:
    table, known, column = _word_table(topics, U.indices, threads)
    parts: dict[int, tuple[NDArray[Any], ...]] = {}

    def infer_range(start: int, stop: int) -> None:
        n_rows, n_topics = stop - start, topics.shape[1]
        indptr = U.indptr[start : stop + 1].astype(np.int64)
        span = slice(int(indptr[0]), int(indptr[-1]))
        indices = np.empty(n_rows * n_topics, dtype=np.int32)
        data = np.empty(n_rows * n_topics, dtype=topics.dtype)
        counts, info = np.empty(n_rows, dtype=np.int64), np.empty((n_rows, 4))
        n_written = infer_documents(
            indptr - indptr[0], column[U.indices[span]],
            U.data[span].astype(np.float64), table, known, classes[start:stop],
            weights, *options, indices, data, counts, info,
        )  # fmt: skip
        parts[start] = indices[:n_written].copy(), data[:n_written].copy(), counts, info

    ranges = _cut(balanced_ranges(U.indptr, RANGES_PER_THREAD * threads))
    run_ranges(infer_range, ranges, threads)
    return tuple(
        np.concatenate(part)
        for part in zip(*(parts[start] for start, _ in ranges), strict=True)
    )


def _cut(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Cut ranges into those of at most `_MAX_ROWS` rows."""
    return [
        (row, min(row + _MAX_ROWS, stop))
        for start, stop in ranges
        for row in range(start, stop, _MAX_ROWS)
    ]


def _word_table(
    topics: NDArray[np.floating], indices: NDArray[np.integer], threads: int
) -> tuple[NDArray[np.floating], NDArray[np.bool_], NDArray[np.int32]]:
    """Return φᵀ beside log φᵀ for the words in use, which are known, and their rows."""
    n_words, n_topics = topics.shape
    used = np.zeros(n_words, dtype=bool)
    used[indices] = True
    words = np.flatnonzero(used)
    row_of_word = np.zeros(n_words, dtype=np.int32)
    row_of_word[words] = np.arange(len(words), dtype=np.int32)
    table = np.empty((len(words), 2 * n_topics), dtype=topics.dtype)
    known = np.empty(len(words), dtype=bool)

    def fill(start: int, stop: int) -> None:
        rows = topics[words[start:stop]]
        known[start:stop] = (rows > 0).any(axis=1)
        floored = table[start:stop, :n_topics]
        np.maximum(rows, topics.dtype.type(PROBABILITY_FLOOR), out=floored)
        np.log(floored, out=table[start:stop, n_topics:])

    run_ranges(fill, _cut([(0, len(words))]), threads)
    return table, known, row_of_word


def _check_topics(topics: NDArray[np.floating]) -> NDArray[np.floating]:
    topics = np.asarray(topics)
    if topics.ndim != 2 or 0 in topics.shape:
        raise DataError(
            f"topics_word_major has shape {topics.shape}. Pass φᵀ, a row for each "
            "word and a column for each topic, at least one of each."
        )
    if topics.dtype not in (np.float32, np.float64):
        raise DataError(
            f"topics_word_major has dtype {topics.dtype}. Pass float32 or float64."
        )
    low, high = topics.min(), topics.max()
    if not (low >= 0 and np.isfinite(high)):
        bad = ~(np.isfinite(topics) & (topics >= 0))
        word, topic = np.argwhere(bad)[0]
        raise DataError(
            f"topics_word_major has {bad.sum()} entries that are negative or not "
            f"finite (first at word {word}, topic {topic}). Pass probabilities."
        )
    return np.ascontiguousarray(topics)


def _check_documents(U: Any, n_words: int) -> sp.csr_array:
    if sp.issparse(U):
        check_structure(U, "U")
    elif np.ndim(U) != 2:
        raise DataError(f"U has {np.ndim(U)} dimensions. Pass one row per document.")
    U = sp.csr_array(U)
    if U.shape[1] != n_words:
        raise DataError(
            f"U has {U.shape[1]} columns but the topics have {n_words} words. Pass "
            "both over the same vocabulary; topics are word-major (V, K)."
        )
    if U.shape[0] == 0:
        raise DataError("U has no documents (0 rows). Pass at least one.")
    found = bad_values(U)
    if found:
        raise DataError(f"U has {found}. Weights are counts or the like.")
    return U


def _check_promoted(
    promotion: float, promoted: Promoted | None, n_documents: int, n_topics: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the row of every document in the weights of classes, and the weights."""
    nobody = np.full(n_documents, -1, dtype=np.int64)
    if promoted is None:
        if promotion > 0:
            raise DataError(
                f"promotion is {promotion} but no topics are promoted. Pass "
                "promoted=(class_of_document, topics_of_class)."
            )
        return nobody, np.zeros((1, n_topics))
    classes, chosen = np.asarray(promoted[0]), np.asarray(promoted[1])
    if classes.shape != (n_documents,) or classes.dtype.kind not in "iu":
        raise DataError(
            f"promoted[0] has shape {classes.shape} and dtype {classes.dtype}. Pass "
            f"one whole number for each of the {n_documents} documents."
        )
    if chosen.ndim != 2 or chosen.shape[1] != n_topics or chosen.dtype != np.bool_:
        raise DataError(
            f"promoted[1] has shape {chosen.shape} and dtype {chosen.dtype}. Pass a "
            f"boolean matrix (classes, {n_topics} topics)."
        )
    if classes.min() < -1 or classes.max() >= len(chosen):
        raise DataError(
            f"promoted[0] has classes from {classes.min()} to {classes.max()}. They "
            f"are rows of promoted[1], 0 to {len(chosen) - 1}, or -1 for none."
        )
    if promotion == 0:
        return nobody, np.zeros((1, n_topics))
    return classes.astype(np.int64), promotion * chosen.astype(np.float64)
