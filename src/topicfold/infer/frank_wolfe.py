# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""Frank-Wolfe inference: sparse topic mixtures for documents, topics fixed.

For every document with weights u (made to sum to 1) it climbs the concave

    f(θ) = Σ_w u_w log Σ_k θ_k φ_kw + R Σ_{k in S} sin θ_k

on the simplex: from the best vertex, every iteration moves towards the vertex with
the steepest slope by an exact line search, or wins more by a pairwise step. After l
iterations at most l + 1 topics are non-zero and ``max f - f(θ) ≤ 4 C_f / (l + 3)``,
C_f bounding the curvature of f.

In the compiled part a document is a small dense problem: its words' rows of φᵀ are
gathered once into a block that stays in cache. The block and the gradient have the
dtype of the topics; mixture, word probabilities, line search and objective are float64.
Loops divide by `np.divide`: the operator tests for zero as Python does, which stops
vectorisation.

References
----------
K. Than, T. B. Ho, D. K. Nguyen: An effective framework for supervised dimension
reduction. Neurocomputing (2014), algorithm 1. doi:10.1016/j.neucom.2014.02.017

K. L. Clarkson: Coresets, sparse greedy approximation, and the Frank-Wolfe algorithm.
ACM Transactions on Algorithms 6 (2010). doi:10.1145/1824777.1824783
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topicfold.core.counts import rows_of
from topicfold.core.jit import SPACE, kernel, part
from topicfold.core.threads import balanced_ranges, n_ranges, n_threads, run_ranges

# Rows of θ that one task holds densely before they become CSR.
_MAX_ROWS = 2048


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
    promoted: tuple[Any, Any] | None = None,
    pairwise: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-6,
    device: str = "cpu",
    n_jobs: int | None = None,
    return_info: bool = False,
) -> Any:
    """Return the topic mixtures of documents, and `FrankWolfeInfo` if asked for.

    Rows of `U` (D, V) are non-negative word weights, of which only the proportions
    matter; words that no topic has are ignored, and a document without others gets the
    uniform mixture. `topics_word_major` is φᵀ (V, K), float32 or float64, and θ is a
    csr_array of its type. `promotion` is R; `promoted` has the class of every document,
    -1 for none, and the promoted topics of every class (C, K). The log-likelihood of a
    document counts as one word's, so even R = 1 is strong.

    `pairwise` lets an iteration, where that improves more, move mass to the steepest
    topic from the topic in use that deserves it least, instead of from all: the same
    guarantees, fewer iterations, fewer topics. False is the paper's algorithm. A
    document is done after `max_iter` iterations, or when one improves its objective by
    less than `tol` times it; 0 iterations give the best vertex.

    One iteration costs O(K) for each different word of the document. The result is
    the same, bit for bit, for any number of threads and any batching of documents;
    results of the CPU and of CUDA agree in the objective, not in every bit.
    """
    U, topics = sp.csr_array(U), np.ascontiguousarray(topics_word_major)
    n_documents, n_topics = U.shape[0], topics.shape[1]
    classes, weights = np.full(n_documents, -1), np.zeros((1, n_topics))
    if promoted is not None and promotion > 0:
        classes = np.asarray(promoted[0], np.int64)
        weights = promotion * np.asarray(promoted[1], np.float64)
    options = bool(pairwise), int(max_iter), float(tol)
    if device == "cuda":
        from topicfold.engine.cuda.frank_wolfe import infer_documents as on_device

        found = on_device(U, topics, PROBABILITY_FLOOR, classes, weights, options)
    else:
        threads = n_threads(n_jobs)
        found = _infer_on_threads(U, topics, classes, weights, options, threads)
    indices, data, counts, table = found
    indptr = np.concatenate([[0], np.cumsum(counts)])
    theta = sp.csr_array((data, indices, indptr), shape=(n_documents, n_topics))
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
        rows = rows_of(U, start, stop)
        indices = np.empty(n_rows * n_topics, dtype=np.int32)
        data = np.empty(n_rows * n_topics, dtype=topics.dtype)
        counts, info = np.empty(n_rows, dtype=np.int64), np.empty((n_rows, 4))
        n_written = infer_documents(
            rows.indptr.astype(np.int64), column[rows.indices],
            rows.data.astype(np.float64), table, known, classes[start:stop],
            weights, *options, indices, data, counts, info,
        )  # fmt: skip
        parts[start] = indices[:n_written].copy(), data[:n_written].copy(), counts, info

    ranges = _cut(balanced_ranges(U.indptr, n_ranges(threads)))
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


PROBABILITY_FLOOR = 1e-10
"""A topic gives at least this probability to a word that any topic has.

It keeps logarithms finite at vertices where ``φ_kw = 0``. Words that no topic has are
left out instead.
"""
# The line search ends when Newton moves less than this share of the step: the error
# left is about its square, and the objective loses only the square of that.
_STEP_RTOL = 1e-4
_MAX_NEWTON = 60
# Up to this |s| ten terms of the series of artanh(s) are right to 13 digits.
_SERIES_LIMIT = 0.25


@kernel
def infer_documents(
    indptr, indices, data, table, known, class_of_doc, class_weights, pairwise,
    max_iter, tol, out_indices, out_data, out_counts, out_info,
):  # fmt: skip
    """Infer θ of a range of documents; as `frank_wolfe_reference` of the tests does.

    `indptr` (n + 1,), `indices` and `data` (nnz,) are CSR rows; `table` (V, 2 K) is
    φᵀ with the floor and beside it its logarithm; `known` (V,) marks words that some
    topic has; `class_of_doc` (n,) is a row of `class_weights` (C, K), or -1. Writes
    the non-zeros of θ one after another to `out_indices` and `out_data`, n K long,
    their number to `out_counts` (n,), and to `out_info` (n, 4): iterations, objective
    at the start and at the end, gap; iterations are -1 for a document without words.
    Returns the number of all non-zeros.
    """
    n_topics = class_weights.shape[1]
    longest = 0
    for row in range(len(indptr) - 1):
        longest = max(longest, indptr[row + 1] - indptr[row])
    block = np.empty((longest, n_topics), table.dtype)
    scores = np.empty(n_topics, table.dtype)
    words = np.empty(longest, np.int64)
    lists = np.empty(n_topics + 1, np.int64)
    ways = np.empty((2, n_topics + 1))
    work = np.empty((4, longest + SPACE))
    theta = np.empty(n_topics)
    no_weights = np.zeros(n_topics)
    n_written = 0
    for row in range(len(indptr) - 1):
        start, stop = indptr[row], indptr[row + 1]
        n_words = select_words(
            indices[start:stop], data[start:stop], known, words, work[0]
        )
        if n_words > 0:
            promoting = class_of_doc[row] >= 0
            weights = class_weights[class_of_doc[row]] if promoting else no_weights
            gather_document(words[:n_words], work[0], table, block, scores)
            top = best_vertex(scores, weights)
            climb(
                top, block[:n_words], scores, work, lists, ways, weights,
                promoting, pairwise, max_iter, tol, theta, out_info[row],
            )  # fmt: skip
        else:
            theta[:] = 1.0
            out_info[row] = 0.0
            out_info[row, 0] = -1.0
        out_counts[row] = write_row(
            theta, out_indices[n_written:], out_data[n_written:]
        )
        n_written += out_counts[row]
    return n_written


@part
def write_row(theta, out_indices, out_data):
    """Write the non-zeros of θ with sum 1; return how many there are."""
    total = theta.sum()
    count = 0
    for k in range(len(theta)):
        share = out_data.dtype.type(theta[k] / total)
        if share > 0.0:
            out_indices[count] = k
            out_data[count] = share
            count += 1
    return count


@part
def select_words(indices, data, known, out_words, out_weights):
    """Write known words and their weights with sum 1; return how many there are."""
    n_words, total = 0, 0.0
    for j in range(len(indices)):
        if data[j] > 0.0 and known[indices[j]]:
            out_words[n_words] = indices[j]
            out_weights[n_words] = data[j]
            total += data[j]
            n_words += 1
    for j in range(n_words):
        out_weights[j] /= total
    return n_words


@part
def gather_document(words, weights, table, out_block, out_scores):
    """Copy the words' rows of φᵀ; write the log-likelihood at every vertex."""
    n_topics = len(out_scores)
    out_scores[:] = 0.0
    for j in range(len(words)):
        weight = table.dtype.type(weights[j])
        row, copy = table[words[j]], out_block[j]
        for k in range(n_topics):
            copy[k] = row[k]
        logs = row[n_topics:]
        for k in range(n_topics):
            out_scores[k] += weight * logs[k]


@part
def best_vertex(scores, weights):
    """Return the vertex with the largest objective, the first of equals."""
    top, best = 0, -np.inf
    lift = math.sin(1.0)
    for k in range(len(scores)):
        value = scores[k] + weights[k] * lift
        if value > best:
            top, best = k, value
    return top


@part
def climb(
    top, block, scores, work, lists, ways, weights, promoting, pairwise, max_iter,
    tol, out_theta, out_info,
):  # fmt: skip
    """Climb from vertex `top` until the improvement is below `tol`; `lists` are topics
    in use.
    """
    n_words = len(block)
    # A slice of a row is known to be contiguous, a row of a slice is not.
    u, x, rate = work[0][:n_words], work[1][:n_words], work[2][:n_words]
    value, gap = 0.0, 0.0
    for w in range(len(u)):
        x[w] = block[w, top]
    for w in range(len(u)):
        value += u[w] * math.log(x[w])
    if promoting:
        value += weights[top] * math.sin(1.0)
    out_theta[:] = 0.0
    out_theta[top] = 1.0
    lists[0], n_active = top, 1
    out_info[1] = value
    iteration = 0
    while True:
        for w in range(len(u)):
            rate[w] = np.divide(u[w], x[w])
        likelihood_gradient(block, rate, scores)
        top, gap = best_direction(scores, weights, promoting, out_theta)
        # No step can gain more than the gap.
        if iteration >= max_iter or not gap > tol * abs(value):
            break
        bad = -1
        if pairwise and n_active > 1:
            bad = worst_topic(scores, weights, out_theta, lists[:n_active], top)
        if out_theta[top] == 0.0:
            lists[n_active] = top
            n_active += 1
        gain, n_active = best_move(
            top, bad, block, work, lists, n_active, ways, weights, promoting, out_theta
        )
        if not gain > 0.0:
            break
        value += gain
        iteration += 1
        if gain < tol * abs(value):
            break
    out_info[0], out_info[2], out_info[3] = iteration, value, max(gap, 0.0)


@part
def best_move(
    top, bad, block, work, lists, n_active, ways, weights, promoting, out_theta
):
    """Move x and θ to `top`, from all or from `bad`; return the gain and the topics in
    use.
    """
    n_words = len(block)
    u, x, delta = work[0][:n_words], work[1][:n_words], work[2][:n_words]
    way = ways[0]
    active = lists[:n_active]
    for w in range(len(u)):
        delta[w] = block[w, top] - x[w]
    for j in range(n_active):
        way[j] = (1.0 if active[j] == top else 0.0) - out_theta[active[j]]
    step, gain = try_direction(
        u, x, delta, 1.0, weights, promoting, out_theta, active, way
    )
    if bad >= 0:
        other_delta, other_way, cap = work[3][:n_words], ways[1], out_theta[bad]
        for w in range(len(u)):
            other_delta[w] = block[w, top] - block[w, bad]
        for j in range(n_active):
            other_way[j] = 1.0 if active[j] == top else 0.0
            other_way[j] -= 1.0 if active[j] == bad else 0.0
        other_step, other_gain = try_direction(
            u, x, other_delta, cap, weights, promoting, out_theta, active, other_way
        )
        if other_gain > gain:
            step, gain, delta, way = other_step, other_gain, other_delta, other_way
    if gain > 0.0:
        for w in range(len(u)):
            moved = x[w] + step * delta[w]
            x[w] = moved if moved > PROBABILITY_FLOOR else PROBABILITY_FLOOR
    else:
        step = 0.0
    left = 0
    for j in range(n_active):
        k = active[j]
        out_theta[k] += step * way[j]
        if out_theta[k] > 0.0:
            active[left] = k
            left += 1
        else:
            out_theta[k] = 0.0
    return gain, left


@part
def likelihood_gradient(block, rate, out_gradient):
    """Write ``g_k = Σ_w (u_w / x_w) φ_kw``, four words at a time."""
    n_words, n_topics = block.shape
    kind = block.dtype.type
    out_gradient[:] = 0.0
    whole = n_words - n_words % 4
    for w in range(0, whole, 4):
        r0, r1 = kind(rate[w]), kind(rate[w + 1])
        r2, r3 = kind(rate[w + 2]), kind(rate[w + 3])
        b0, b1, b2, b3 = block[w], block[w + 1], block[w + 2], block[w + 3]
        for k in range(n_topics):
            out_gradient[k] += (r0 * b0[k] + r1 * b1[k]) + (r2 * b2[k] + r3 * b3[k])
    for w in range(whole, n_words):
        r0, b0 = kind(rate[w]), block[w]
        for k in range(n_topics):
            out_gradient[k] += r0 * b0[k]


@part
def best_direction(gradient, weights, promoting, theta):
    """Return the topic with the steepest slope and the gap ``max g - θ·g``."""
    top, best = 0, -np.inf
    if not promoting:
        for k in range(len(gradient)):
            if gradient[k] > best:
                top, best = k, gradient[k]
        return top, best - 1.0  # Σ_k θ_k g_k = Σ_w u_w = 1
    level = 1.0
    for k in range(len(gradient)):
        slope = weights[k]  # cos 0 = 1
        if theta[k] > 0.0:
            slope = weights[k] * math.cos(theta[k])
            level += theta[k] * slope
        slope += gradient[k]
        if slope > best:
            top, best = k, slope
    return top, best - level


@part
def worst_topic(gradient, weights, theta, active, top):
    """Return the topic in use, other than `top`, with the least slope."""
    bad, least = -1, np.inf
    for j in range(len(active)):
        k = active[j]
        slope = gradient[k] + weights[k] * math.cos(theta[k])
        if k != top and (slope < least or (slope == least and k < bad)):
            bad, least = k, slope
    return bad


@part
def try_direction(u, x, delta, cap, weights, promoting, theta, active, way):
    """Return the best step up to `cap` and what it wins."""
    step = line_search(u, x, delta, cap, weights, promoting, theta, active, way)
    gain = likelihood_gain(u, x, delta, step)
    if promoting:
        gain += term_gain(step, weights, theta, active, way)
    return step, gain


@part
def line_search(u, x, delta, cap, weights, promoting, theta, active, way):
    """Return the best step in [0, cap] along `delta`.

    With slope s(t), which falls, the root is sought of ``t (cap - t) s(t)``: words
    that only one end of the way explains put poles near both ends of s, which this
    takes away. Newton steps that leave the bracket are replaced by bisection.
    """
    low, high, step = 0.0, cap, 0.0
    for _ in range(_MAX_NEWTON):
        slope, bend = derivatives(
            step, u, x, delta, weights, promoting, theta, active, way
        )
        if slope > 0.0:
            low = step
        elif step > 0.0:
            high = step
        else:
            return 0.0
        if step == cap:
            return cap
        descent = bend
        if step > 0.0:
            room = step * (cap - step)
            descent += np.divide((cap - 2.0 * step) * slope, room)
        new = step - np.divide(slope, descent) if descent < 0.0 else cap
        if not low < new < high:
            new = 0.5 * (low + high)
        done = abs(new - step) <= _STEP_RTOL * new
        step = new
        if done:
            break
    # The root may lie behind the end, where the search cannot see it.
    if cap - step < 0.01 * cap:
        slope, _ = derivatives(cap, u, x, delta, weights, promoting, theta, active, way)
        if slope >= 0.0:
            return cap
    return step


@part
def derivatives(step, u, x, delta, weights, promoting, theta, active, way):
    """Return slope and curvature of the objective at `step`."""
    slope, bend = 0.0, 0.0
    for w in range(len(u)):
        q = np.divide(delta[w], x[w] + step * delta[w])
        slope += u[w] * q
        bend -= u[w] * q * q
    if promoting:
        for j in range(len(active)):
            k = active[j]
            if way[j] != 0.0 and weights[k] != 0.0:
                share = theta[k] + step * way[j]
                slope += weights[k] * way[j] * math.cos(share)
                bend += weights[k] * way[j] * way[j] * -math.sin(share)
    return slope, bend


@part
def term_gain(step, weights, theta, active, way):
    """Return what the separable term wins by `step`."""
    gain = 0.0
    for j in range(len(active)):
        k = active[j]
        if way[j] != 0.0 and weights[k] != 0.0:
            share = theta[k] + step * way[j]
            gain += weights[k] * (math.sin(share) - math.sin(theta[k]))
    return gain


@part
def likelihood_gain(u, x, delta, step):
    """Return what the log-likelihood wins by `step`, without cancellation.

    ``log(1 + z) = 2 artanh(s)``, s = z / (2 + z), by its series where s is small:
    this vectorises, and late steps have no other words. ``|s| > limit`` is asked by
    products alone, which round the same in both loops.
    """
    gain, n_far = 0.0, 0.0
    up = step * (0.5 / _SERIES_LIMIT - 0.5)
    down = step * (-0.5 / _SERIES_LIMIT - 0.5)
    for w in range(len(u)):
        way = step * delta[w]
        s = np.divide(way, 2.0 * x[w] + way)
        q = s * s
        series = 1 / 13 + q * (1 / 15 + q * (1 / 17 + q * (1 / 19)))
        series = 1 / 7 + q * (1 / 9 + q * (1 / 11 + q * series))
        series = 1.0 + q * (1 / 3 + q * (1 / 5 + q * series))
        # Products, not conditions: those stop vectorisation.
        far = 1.0 * ((delta[w] * up > x[w]) | (delta[w] * down > x[w]))
        gain += u[w] * (2.0 * s * series) * (1.0 - far)
        n_far += far
    w = 0
    while n_far > 0.0:
        while not (delta[w] * up > x[w] or delta[w] * down > x[w]):
            w += 1
        gain += u[w] * math.log(np.divide(x[w] + step * delta[w], x[w]))
        n_far -= 1.0
        w += 1
    return gain
