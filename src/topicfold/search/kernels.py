# SPDX-License-Identifier: BSD-3-Clause
"""Inner products with all rows and the best of them, in one pass over memory."""

from __future__ import annotations

import numpy as np

from topicfold.core.jit import inline, kernel
from topicfold.search._vector_codes import dot_of_codes


@inline
def dot(row, query):
    """Return the inner product of a float32 row and a float64 query, in float64."""
    total = 0.0
    for k in range(query.shape[0]):
        total += np.float64(row[k]) * query[k]
    return total


@kernel
def best_rows(start, stop, vectors, query, skip, out_score, out_row):
    """Write the best of the rows `start` to `stop`, best first; return their number.

    Equal scores come in the order of the rows. `skip` is a row to leave out, or -1.
    Equivalent to a stable sort of ``vectors[start:stop] @ query``.
    """
    n_best = out_score.shape[0]
    n_found = 0
    for row in range(start, stop):
        score = dot(vectors[row], query)
        if row == skip or (n_found == n_best and score <= out_score[n_best - 1]):
            continue
        n_found = insert(score, row, n_found, out_score, out_row)
    return n_found


@kernel
def best_rows_by_codes(
    start,
    stop,
    codes,
    scales,
    errors,
    query_code,
    step,
    length,
    query_error,
    vectors,
    query,
    skip,
    out_score,
    out_row,
):
    """Do what `best_rows` does, reading only the rows whose bound is high enough."""
    n_best = out_score.shape[0]
    n_found = 0
    for row in range(start, stop):
        if n_found == n_best:
            scale = np.float64(scales[row])
            near = scale * (step * dot_of_codes(codes, row, query_code) + query_error)
            if near + length * errors[row] <= out_score[n_best - 1]:
                continue
        if row == skip:
            continue
        score = dot(vectors[row], query)
        if n_found == n_best and score <= out_score[n_best - 1]:
            continue
        n_found = insert(score, row, n_found, out_score, out_row)
    return n_found


@inline
def insert(score, row, n_found, out_score, out_row):
    """Put a score into the sorted list, after equal ones; return the list's length."""
    n_best = out_score.shape[0]
    place = min(n_found, n_best - 1)
    while place > 0 and out_score[place - 1] < score:
        out_score[place] = out_score[place - 1]
        out_row[place] = out_row[place - 1]
        place -= 1
    out_score[place] = score
    out_row[place] = row
    return min(n_found + 1, n_best)


@kernel
def encode_rows(vectors, out_codes, out_scales, out_errors):
    """Write rows in whole numbers of one byte; see `topicfold.search.coarse`.

    A row that cannot be encoded, because a number is not finite, gets the code 0 and an
    infinite error. Errors are rounded up, by more than scores in float64 are rounded.
    """
    n_columns = vectors.shape[1]
    for row in range(vectors.shape[0]):
        largest = np.float32(0.0)
        for k in range(n_columns):
            largest = max(largest, abs(vectors[row, k]))
        scale = np.float64(np.float32(largest / np.float32(127.0)))
        encodable = scale > 0.0 and largest < np.inf
        squares = 0.0
        total = 0.0
        out_codes[row] = 0
        for k in range(n_columns):
            value = np.float64(vectors[row, k])
            code = 0.0
            if encodable:
                code = min(max(np.rint(value / scale), -127.0), 127.0)
            out_codes[row, k] = np.int8(code)
            rest = value - code * scale
            squares += rest * rest
            total += value * value
        out_scales[row] = scale if encodable else 0.0
        # NaN from a row that is not finite must become infinite, too.
        error = (np.sqrt(squares) + 1e-9 * np.sqrt(total)) * (1.0 + 1e-6)
        out_errors[row] = error if error < np.inf else np.inf


@kernel
def score_rows(start, stop, vectors, query, out_score):
    """Write the inner products of the rows `start` to `stop` with the query."""
    for row in range(start, stop):
        out_score[row] = dot(vectors[row], query)
