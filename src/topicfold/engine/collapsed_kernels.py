# SPDX-License-Identifier: BSD-3-Clause
"""The passes of the collapsed link: every token sees counts without its own share.

At a non-zero with count x, ``p_k = a_k b_k / s`` is what a token gives to topic k.
The token is assigned by

    q_k ∝ max(a_k − c p_k, α_k) · max(b_k − c p_k scale_k, floor_k),   c = min(x, 1)

and N_dk and N_wk are sums of ``x q_k``. The word pass computes q again from two numbers
per non-zero: ``own = c / s`` and ``ratio = x / Σ_k max(…) max(…)``.

Each kernel names the function of ``engine.reference`` it equals.
"""

from __future__ import annotations

import numpy as np

from topicfold.core.jit import elementwise, kernel, part
from topicfold.engine.kernels import FLOOR
from topicfold.engine.prefetch import prefetch_row
from topicfold.engine.special import log_scalar


@elementwise
def left_out(a, b, own, prior, scale, floor):
    """Product of the two weights of a topic without the token's own share."""
    share = own * a * b
    return max(a - share, prior) * max(b - share * scale, floor)


@part
def add_words(
    a, weights, rows, counts, prior, scale, floor, out_own, out_ratio, out_counts
):
    """Write own, ratio and the expected counts of one document, four words at a time.

    Equivalent to ``reference.left_out`` on one row.
    """
    n_topics = a.shape[0]
    n_words = rows.shape[0]
    real = a.dtype.type
    zero = real(0)
    one = real(1)
    least = real(FLOOR)
    for k in range(n_topics):
        out_counts[k] = zero
    i = 0
    while i + 4 <= n_words:
        for ahead in range(i + 4, min(i + 8, n_words)):
            prefetch_row(weights, rows[ahead])
        b0 = weights[rows[i]]
        b1 = weights[rows[i + 1]]
        b2 = weights[rows[i + 2]]
        b3 = weights[rows[i + 3]]
        s0 = zero
        s1 = zero
        s2 = zero
        s3 = zero
        for k in range(n_topics):
            s0 += a[k] * b0[k]
            s1 += a[k] * b1[k]
            s2 += a[k] * b2[k]
            s3 += a[k] * b3[k]
        x0 = real(counts[i])
        x1 = real(counts[i + 1])
        x2 = real(counts[i + 2])
        x3 = real(counts[i + 3])
        o0 = min(x0, one) / max(s0, least)
        o1 = min(x1, one) / max(s1, least)
        o2 = min(x2, one) / max(s2, least)
        o3 = min(x3, one) / max(s3, least)
        s0 = zero
        s1 = zero
        s2 = zero
        s3 = zero
        for k in range(n_topics):
            s0 += left_out(a[k], b0[k], o0, prior[k], scale[k], floor[k])
            s1 += left_out(a[k], b1[k], o1, prior[k], scale[k], floor[k])
            s2 += left_out(a[k], b2[k], o2, prior[k], scale[k], floor[k])
            s3 += left_out(a[k], b3[k], o3, prior[k], scale[k], floor[k])
        r0 = x0 / max(s0, least)
        r1 = x1 / max(s1, least)
        r2 = x2 / max(s2, least)
        r3 = x3 / max(s3, least)
        out_own[i] = o0
        out_own[i + 1] = o1
        out_own[i + 2] = o2
        out_own[i + 3] = o3
        out_ratio[i] = r0
        out_ratio[i + 1] = r1
        out_ratio[i + 2] = r2
        out_ratio[i + 3] = r3
        for k in range(n_topics):
            q0 = left_out(a[k], b0[k], o0, prior[k], scale[k], floor[k])
            q1 = left_out(a[k], b1[k], o1, prior[k], scale[k], floor[k])
            q2 = left_out(a[k], b2[k], o2, prior[k], scale[k], floor[k])
            q3 = left_out(a[k], b3[k], o3, prior[k], scale[k], floor[k])
            out_counts[k] += (r0 * q0 + r1 * q1) + (r2 * q2 + r3 * q3)
        i += 4
    while i < n_words:
        b = weights[rows[i]]
        s = zero
        for k in range(n_topics):
            s += a[k] * b[k]
        x = real(counts[i])
        own = min(x, one) / max(s, least)
        s = zero
        for k in range(n_topics):
            s += left_out(a[k], b[k], own, prior[k], scale[k], floor[k])
        ratio = x / max(s, least)
        out_own[i] = own
        out_ratio[i] = ratio
        for k in range(n_topics):
            out_counts[k] += ratio * left_out(
                a[k], b[k], own, prior[k], scale[k], floor[k]
            )
        i += 1


@kernel
def collapsed_document_rows(
    start,
    stop,
    indptr,
    indices,
    counts,
    parameters,
    weights,
    prior,
    scale,
    floor,
    out_counts,
    out_own,
    out_ratio,
    out_loglik,
):
    """Document pass over rows ``start..stop``. See ``reference.document_pass``."""
    for d in range(start, stop):
        lo = indptr[d]
        hi = indptr[d + 1]
        row = parameters[d]
        add_words(
            row,
            weights,
            indices[lo:hi],
            counts[lo:hi],
            prior,
            scale,
            floor,
            out_own[lo:hi],
            out_ratio[lo:hi],
            out_counts[d],
        )
        total = 0.0
        length = 0.0
        for i in range(lo, hi):
            x = np.float64(counts[i])
            total += x * log_scalar(min(x, 1.0) / np.float64(out_own[i]))
            length += x
        norm = 0.0
        for k in range(row.shape[0]):
            norm += row[k]
        out_loglik[d] = total - length * log_scalar(max(norm, FLOOR))


@part
def add_collapsed_documents(
    begin,
    end,
    tile_document,
    cursor,
    own,
    ratio,
    tile_weights,
    b,
    prior,
    scale,
    floor,
    total,
):
    """Add a word's tokens in the documents of one tile, four documents at a time."""
    n_topics = total.shape[0]
    q = begin
    while q + 4 <= end:
        d0 = tile_document[q]
        d1 = tile_document[q + 1]
        d2 = tile_document[q + 2]
        d3 = tile_document[q + 3]
        a0 = tile_weights[d0]
        a1 = tile_weights[d1]
        a2 = tile_weights[d2]
        a3 = tile_weights[d3]
        o0 = own[cursor[d0]]
        o1 = own[cursor[d1]]
        o2 = own[cursor[d2]]
        o3 = own[cursor[d3]]
        r0 = ratio[cursor[d0]]
        r1 = ratio[cursor[d1]]
        r2 = ratio[cursor[d2]]
        r3 = ratio[cursor[d3]]
        cursor[d0] += 1
        cursor[d1] += 1
        cursor[d2] += 1
        cursor[d3] += 1
        for k in range(n_topics):
            q0 = left_out(a0[k], b[k], o0, prior[k], scale[k], floor[k])
            q1 = left_out(a1[k], b[k], o1, prior[k], scale[k], floor[k])
            q2 = left_out(a2[k], b[k], o2, prior[k], scale[k], floor[k])
            q3 = left_out(a3[k], b[k], o3, prior[k], scale[k], floor[k])
            total[k] += (r0 * q0 + r1 * q1) + (r2 * q2 + r3 * q3)
        q += 4
    while q < end:
        d0 = tile_document[q]
        a = tile_weights[d0]
        o = own[cursor[d0]]
        r = ratio[cursor[d0]]
        cursor[d0] += 1
        for k in range(n_topics):
            total[k] += r * left_out(a[k], b[k], o, prior[k], scale[k], floor[k])
        q += 1


@kernel
def collapsed_word_rows(
    start,
    stop,
    tile_size,
    tile_groups,
    group_word,
    group_ptr,
    tile_document,
    first_position,
    own,
    ratio,
    document_weights,
    weights,
    prior,
    scale,
    floor,
    out_counts,
):
    """Word pass for words ``start..stop``; see ``kernels.word_rows`` for the tiles."""
    n_topics = weights.shape[1]
    n_documents = first_position.shape[0]
    zero = weights.dtype.type(0)
    cursor = np.empty(tile_size, np.int64)
    for w in range(start, stop):
        for k in range(n_topics):
            out_counts[w, k] = zero
    for tile in range(tile_groups.shape[0] - 1):
        first = tile_groups[tile]
        last = tile_groups[tile + 1]
        offset = tile * tile_size
        for d in range(offset, min(offset + tile_size, n_documents)):
            cursor[d - offset] = first_position[d]
        g = first + np.searchsorted(group_word[first:last], start)
        while g < last and group_word[g] < stop:
            word = group_word[g]
            add_collapsed_documents(
                group_ptr[g],
                group_ptr[g + 1],
                tile_document,
                cursor,
                own,
                ratio,
                document_weights[offset : offset + tile_size],
                weights[word],
                prior,
                scale,
                floor,
                out_counts[word],
            )
            g += 1
