# SPDX-License-Identifier: BSD-3-Clause
"""Inner products with all rows and the best of them, in one pass over memory."""

from __future__ import annotations

import numpy as np

from topicfold._jit import inline, kernel


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
        place = min(n_found, n_best - 1)
        while place > 0 and out_score[place - 1] < score:
            out_score[place] = out_score[place - 1]
            out_row[place] = out_row[place - 1]
            place -= 1
        out_score[place] = score
        out_row[place] = row
        n_found = min(n_found + 1, n_best)
    return n_found


@kernel
def score_rows(start, stop, vectors, query, out_score):
    """Write the inner products of the rows `start` to `stop` with the query."""
    for row in range(start, stop):
        out_score[row] = dot(vectors[row], query)
