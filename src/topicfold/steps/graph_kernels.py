# SPDX-License-Identifier: BSD-3-Clause
# mypy: ignore-errors
"""Kernels over the edges of the document graph, serial over a range of documents.

Arrays of mixtures are document-major with contiguous topics. Sums over documents
leave one float64 per document, so that they do not depend on the ranges.
"""

from __future__ import annotations

import numpy as np

from topicfold.core.jit import kernel
from topicfold.engine.special import log_scalar

# Probability below which two topics' shares count as equally absent.
FLOOR = 1e-10


@kernel
def normalize_rows(start, stop, counts, n_topics, out):
    """Write rows on the simplex; a row of zeros becomes uniform.

    Equivalent to ``counts / counts.sum(axis=1)``. `out` may be `counts`.
    """
    for i in range(start, stop):
        total = 0.0
        for k in range(n_topics):
            total += counts[i, k]
        if total > 0.0:
            scale = 1.0 / total
            for k in range(n_topics):
                out[i, k] = counts[i, k] * scale
        else:
            for k in range(n_topics):
                out[i, k] = 1.0 / n_topics
        for k in range(n_topics, counts.shape[1]):
            out[i, k] = 0.0


@kernel
def neighbor_sums(start, stop, indptr, indices, weights, theta, out):
    """Write ``W @ theta``."""
    n_topics = theta.shape[1]
    for i in range(start, stop):
        row = out[i]
        for k in range(n_topics):
            row[k] = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            w = weights[e]
            other = theta[indices[e]]
            for k in range(n_topics):
                row[k] += w * other[k]


@kernel
def smooth_rows(start, stop, indptr, indices, weights, degrees, theta, steps, out):
    """Write ``(1 - s_i) θ_i + s_i Σ_j W_ij θ_j / D_ii``; isolated rows are copied.

    Equivalent to LapPLSI eq. 11 with a step for each document. `out` must not be
    `theta`.
    """
    n_topics = theta.shape[1]
    for i in range(start, stop):
        row = out[i]
        own = theta[i]
        if degrees[i] <= 0.0:
            for k in range(n_topics):
                row[k] = own[k]
            continue
        keep = theta.dtype.type(1.0 - steps[i])
        scale = theta.dtype.type(steps[i] / degrees[i])
        for k in range(n_topics):
            row[k] = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            w = weights[e]
            other = theta[indices[e]]
            for k in range(n_topics):
                row[k] += w * other[k]
        for k in range(n_topics):
            row[k] = keep * own[k] + scale * row[k]


@kernel
def squared_differences(start, stop, indptr, indices, weights, first, second, out):
    """Write ``Σ_{j>i} W_ij (a_i - a_j)·(b_i - b_j)`` of each document i.

    With ``first is second`` these are weighted squared distances.
    """
    n_topics = first.shape[1]
    for i in range(start, stop):
        total = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if j <= i:
                continue
            part = first.dtype.type(0)
            for k in range(n_topics):
                part += (first[i, k] - first[j, k]) * (second[i, k] - second[j, k])
            total += weights[e] * np.float64(part)
        out[i] = total


@kernel
def log_rows(start, stop, theta, n_topics, out):
    """Write ``log max(theta, floor)``, zero in the padding."""
    for i in range(start, stop):
        for k in range(n_topics):
            out[i, k] = log_scalar(max(np.float64(theta[i, k]), FLOOR))
        for k in range(n_topics, theta.shape[1]):
            out[i, k] = 0.0


@kernel
def expected_loglik(start, stop, counts, theta, n_topics, out):
    """Write ``Σ_k N_ik log θ_ik`` of each document (0 log 0 = 0)."""
    for i in range(start, stop):
        total = 0.0
        for k in range(n_topics):
            if counts[i, k] > 0.0:
                share = max(np.float64(theta[i, k]), 1e-35)
                total += counts[i, k] * log_scalar(share)
        out[i] = total


@kernel
def apply_system(start, stop, indptr, indices, weights, diagonal, p, out, out_dot):
    """Write ``q_i = diagonal_i p_i - Σ_j weights_ij p_j`` and ``p_i·q_i``."""
    n_topics = p.shape[1]
    for i in range(start, stop):
        row = out[i]
        own = p[i]
        d = p.dtype.type(diagonal[i])
        for k in range(n_topics):
            row[k] = d * own[k]
        for e in range(indptr[i], indptr[i + 1]):
            w = weights[e]
            other = p[indices[e]]
            for k in range(n_topics):
                row[k] -= w * other[k]
        total = p.dtype.type(0)
        for k in range(n_topics):
            total += own[k] * row[k]
        out_dot[i] = total


@kernel
def advance(start, stop, step, diagonal, p, q, x, r, out_dot):
    """Do ``x += step p``, ``r -= step q``; write ``r_i·r_i / diagonal_i``."""
    a = p.dtype.type(step)
    for i in range(start, stop):
        total = p.dtype.type(0)
        for k in range(p.shape[1]):
            x[i, k] += a * p[i, k]
            r[i, k] -= a * q[i, k]
        for k in range(p.shape[1]):
            total += r[i, k] * r[i, k]
        out_dot[i] = np.float64(total) / diagonal[i]


@kernel
def redirect(start, stop, beta, diagonal, r, p):
    """Do ``p = r / diagonal + beta p``."""
    b = p.dtype.type(beta)
    for i in range(start, stop):
        scale = p.dtype.type(1.0 / diagonal[i])
        for k in range(p.shape[1]):
            p[i, k] = scale * r[i, k] + b * p[i, k]
