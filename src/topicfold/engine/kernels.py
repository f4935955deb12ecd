# SPDX-License-Identifier: BSD-3-Clause
"""The expected-counts kernels (docs/math.md §2), serial over a range of rows.

Four non-zeros are taken at a time: the weights of the document are then read once
for four words, and the accumulator is loaded and stored once for four. Arrays of
weights are word-major or document-major with contiguous topics.

Each kernel names the function of ``tests/engine_reference.py`` it equals.
"""

from __future__ import annotations

import numpy as np

from topicfold.core.jit import elementwise, inline, kernel, part
from topicfold.engine.special import (
    digamma_scalar,
    element,
    exp_digamma_scalar,
    group_row,
    is_plain,
    log_gamma_scalar,
    log_scalar,
    own_row,
    own_rows,
    prefetch_row,
)

# Below this share a weight is dead: it is set to zero, so that products of two
# weights never become denormal numbers, which are slow.
DEAD = 1e-18
# Probability floor under a word that no topic explains: keeps the ratio finite.
FLOOR = 1e-28


@inline
def ratios_and_gradient(a, weights, rows, counts, out_ratio, out_gradient):
    """Write ``r = x / (b[rows] @ a)`` and ``r @ b[rows]`` of one document."""
    n_topics = a.shape[0]
    n_words = rows.shape[0]
    real = a.dtype.type
    zero = real(0)
    floor = real(FLOOR)
    for k in range(n_topics):
        out_gradient[k] = zero
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
            ak = a[k]
            s0 += ak * b0[k]
            s1 += ak * b1[k]
            s2 += ak * b2[k]
            s3 += ak * b3[k]
        r0 = real(counts[i]) / max(s0, floor)
        r1 = real(counts[i + 1]) / max(s1, floor)
        r2 = real(counts[i + 2]) / max(s2, floor)
        r3 = real(counts[i + 3]) / max(s3, floor)
        out_ratio[i] = r0
        out_ratio[i + 1] = r1
        out_ratio[i + 2] = r2
        out_ratio[i + 3] = r3
        for k in range(n_topics):
            out_gradient[k] += (r0 * b0[k] + r1 * b1[k]) + (r2 * b2[k] + r3 * b3[k])
        i += 4
    while i < n_words:
        b = weights[rows[i]]
        s = zero
        for k in range(n_topics):
            s += a[k] * b[k]
        r = real(counts[i]) / max(s, floor)
        out_ratio[i] = r
        for k in range(n_topics):
            out_gradient[k] += r * b[k]
        i += 1


@inline
def weights_of_row(row, digamma, out_weights):
    """Turn parameters into weights: themselves if `digamma` is None, or exp ψ."""
    if digamma is None:
        for k in range(row.shape[0]):
            out_weights[k] = row[k]
    else:
        for k in range(row.shape[0]):
            out_weights[k] = exp_digamma_scalar(row[k])


@part
def update_row(row, a, gradient, prior, tilt):
    """Set row = a·gradient·tilt + prior (≥ 0), return the change of its shares."""
    n_topics = row.shape[0]
    zero = row.dtype.type(0)
    old_sum = 0.0
    new_sum = 0.0
    if tilt is None:
        for k in range(n_topics):
            gradient[k] = max(a[k] * gradient[k] + prior[k], zero)
    else:
        for k in range(n_topics):
            gradient[k] = max(a[k] * gradient[k] * tilt[k] + prior[k], zero)
    for k in range(n_topics):
        old_sum += row[k]
        new_sum += gradient[k]
    old_scale = row.dtype.type(1.0 / max(old_sum, FLOOR))
    new_scale = row.dtype.type(1.0 / max(new_sum, FLOOR))
    dead = row.dtype.type(DEAD * new_sum)
    change = 0.0
    for k in range(n_topics):
        change += abs(gradient[k] * new_scale - row[k] * old_scale)
    for k in range(n_topics):
        row[k] = gradient[k] if gradient[k] > dead else zero
    return change


@inline
def document_loglik(counts, ratio, row, digamma):
    """Σ x log s with the document's weights normalised."""
    total = 0.0
    length = 0.0
    for i in range(counts.shape[0]):
        x = np.float64(counts[i])
        total += x * log_scalar(x / np.float64(ratio[i]))
        length += x
    norm = 0.0
    for k in range(row.shape[0]):
        norm += row[k]
    if digamma is None:
        return total - length * log_scalar(max(norm, FLOOR))
    return total - length * digamma_scalar(norm)


@kernel
def document_rows(
    start, stop, corpus, parameters, weights, prior, tilt, limits, out_weights, outputs
):
    """Document pass over rows ``start..stop``. See ``reference.document_pass``.

    `corpus` is (indptr, indices, counts). Each row of `parameters` is first updated at
    most `max_updates` times (fewer when its shares change by at most `tol`), the
    `limits`; then counts, ratios and log-likelihood are written for the final weights.
    `prior` is a vector or has rows, as has `tilt` if it is not None. `out_weights` is
    None unless the link is digamma: numba compiles the two links apart, each without
    the arithmetic of the other.
    """
    indptr, indices, counts = corpus
    max_updates, tol = limits
    out_counts, ratio, out_loglik, out_updates = outputs
    n_topics = parameters.shape[1]
    dtype = parameters.dtype
    work_a = np.empty(n_topics, dtype)
    work_gradient = np.empty(n_topics, dtype)
    for d in range(start, stop):
        lo = indptr[d]
        hi = indptr[d + 1]
        rows = indices[lo:hi]
        x = counts[lo:hi]
        r = ratio[lo:hi]
        row = parameters[d]
        own_prior = own_row(prior, d)
        own_tilt = own_row(tilt, d)
        n_updates = 0
        change = np.inf
        while True:
            weights_of_row(row, out_weights, work_a)
            ratios_and_gradient(work_a, weights, rows, x, r, work_gradient)
            if n_updates == max_updates or change <= tol:
                break
            change = update_row(row, work_a, work_gradient, own_prior, own_tilt)
            n_updates += 1
        out_updates[d] = n_updates
        for k in range(n_topics):
            count = work_a[k] * work_gradient[k]
            out_counts[d, k] = count if count > DEAD else 0.0
        if out_weights is not None:
            for k in range(n_topics):
                out_weights[d, k] = work_a[k]
        out_loglik[d] = document_loglik(x, r, row, out_weights)


@part
def first_at_least(sorted_words, lo, hi, word):
    """Return the first place of ``lo..hi`` whose word is `word` or a later one."""
    while lo < hi:
        middle = (lo + hi) // 2
        if sorted_words[middle] < word:
            lo = middle + 1
        else:
            hi = middle
    return lo


@part
def add_documents(begin, end, tile_document, cursor, ratio, tile_weights, total):
    """Add the weights of a word's documents in one tile, each times its ratio, in
    fours.
    """
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
        r0 = ratio[cursor[d0]]
        r1 = ratio[cursor[d1]]
        r2 = ratio[cursor[d2]]
        r3 = ratio[cursor[d3]]
        cursor[d0] += 1
        cursor[d1] += 1
        cursor[d2] += 1
        cursor[d3] += 1
        for k in range(n_topics):
            total[k] += (r0 * a0[k] + r1 * a1[k]) + (r2 * a2[k] + r3 * a3[k])
        q += 4
    while q < end:
        d0 = tile_document[q]
        a = tile_weights[d0]
        r = ratio[cursor[d0]]
        cursor[d0] += 1
        for k in range(n_topics):
            total[k] += r * a[k]
        q += 1


@kernel
def find_first_positions(indptr, indices, word, out_position):
    """Write where `word` or the next one stands in each document's sorted words."""
    for d in range(out_position.shape[0]):
        out_position[d] = first_at_least(indices, indptr[d], indptr[d + 1], word)


@kernel
def list_tile_by_word(start, stop, indptr, indices, work_cursor, out_document):
    """Counting sort of the non-zeros of documents ``start..stop`` by word.

    Within a word the documents keep their order. `work_cursor` (terms + 1) ends as
    the end of each word's list.
    """
    n_terms = work_cursor.shape[0] - 1
    for w in range(n_terms + 1):
        work_cursor[w] = 0
    for p in range(indptr[start], indptr[stop]):
        work_cursor[indices[p] + 1] += 1
    work_cursor[0] = indptr[start]
    for w in range(n_terms):
        work_cursor[w + 1] += work_cursor[w]
    for d in range(start, stop):
        for p in range(indptr[d], indptr[d + 1]):
            q = work_cursor[indices[p]]
            work_cursor[indices[p]] = q + 1
            out_document[q] = d - start


@kernel
def column_sums(block, start, stop, array, prior, out_sums):
    """``out_sums[block] = array[start:stop].sum(axis=0)`` in float64."""
    total = out_sums[block]
    for k in range(array.shape[1]):
        total[k] = 0.0
    for w in range(start, stop):
        for k in range(array.shape[1]):
            total[k] += array[w, k]


@kernel
def log_sums(block, start, stop, array, prior, out_sums):
    """``out_sums[block] = log(array[start:stop] + prior).sum(axis=0)``.

    Entries count as at least `DEAD`; the logarithm of a product of sixteen is taken.
    """
    n_columns = array.shape[1]
    total = out_sums[block]
    product = np.ones(n_columns)
    for k in range(n_columns):
        total[k] = 0.0
    for w in range(start, stop):
        for k in range(n_columns):
            product[k] *= max(np.float64(array[w, k]) + prior[k], DEAD)
        if (w - start) % 16 == 15 or w == stop - 1:
            for k in range(n_columns):
                total[k] += log_scalar(product[k])
                product[k] = 1.0


@kernel
def digamma_sums(block, start, stop, array, prior, out_sums):
    """``out_sums[block] = psi(array[start:stop] + prior).sum(axis=0)``."""
    total = out_sums[block]
    for k in range(array.shape[1]):
        total[k] = 0.0
    for w in range(start, stop):
        for k in range(array.shape[1]):
            total[k] += digamma_scalar(np.float64(array[w, k]) + prior[k])


@kernel
def topic_bound_sums(block, start, stop, array, prior, out_sums):
    """Column sums of ``ln Γ(λ) + (prior − λ) ψ(λ)`` for λ = array + prior."""
    total = out_sums[block]
    for k in range(array.shape[1]):
        total[k] = 0.0
    for w in range(start, stop):
        for k in range(array.shape[1]):
            count = np.float64(array[w, k])
            lam = count + prior[k]
            total[k] += log_gamma_scalar(lam) - count * digamma_scalar(lam)


@kernel
def dirichlet_bound_rows(start, stop, parameters, prior, n_topics, out_bound):
    """``Σ_k ln Γ(γ_k) + (α_k − γ_k)(ψ(γ_k) − ψ(Σγ)) − ln Γ(Σγ)`` for each row."""
    for d in range(start, stop):
        total = 0.0
        inner = 0.0
        excess = 0.0
        for k in range(n_topics):
            gamma = np.float64(parameters[d, k])
            total += gamma
            excess += prior[k] - gamma
            inner += log_gamma_scalar(gamma) + (prior[k] - gamma) * digamma_scalar(
                gamma
            )
        out_bound[d] = inner - excess * digamma_scalar(total) - log_gamma_scalar(total)


@kernel
def scale_rows(start, stop, rows, prior, scale, n_topics):
    """``rows = max(rows + prior, 0) * scale``; dead entries and padding become zero.

    In place: of two arrays that may be one, LLVM would vectorise nothing.
    """
    for w in range(start, stop):
        for k in range(n_topics):
            value = (np.float64(rows[w, k]) + prior) * scale[k]
            rows[w, k] = value if value > DEAD else 0.0
        for k in range(n_topics, rows.shape[1]):
            rows[w, k] = 0.0


@kernel
def exp_digamma_rows(start, stop, array, prior, scale, n_topics, out):
    """``out = exp ψ(array + prior) * scale``; dead entries and padding become zero."""
    for w in range(start, stop):
        for k in range(n_topics):
            value = exp_digamma_scalar(np.float64(array[w, k]) + prior) * scale[k]
            out[w, k] = value if value > DEAD else 0.0
        for k in range(n_topics, out.shape[1]):
            out[w, k] = 0.0


# The collapsed link: every token sees counts without its own share. At a non-zero with
# count x, p_k = a_k b_k / s is what a token gives to topic k. It is assigned by
#     q_k ∝ max(a_k − c p_k e_k, α_k) · max(b_k − c p_k scale_k, floor_k), c = min(x, 1)
# and N_dk and N_wk are sums of x q_k; e is the document's tilt, 1 where it has none.
# The word pass computes q again from two numbers per non-zero: own = c / s and
# ratio = x / Σ_k max(…) max(…).


@elementwise
def left_out(a, b, own, prior, tilt, scale, floor):
    """Product of the two weights of a topic without the token's own share."""
    share = own * a * b
    if tilt is None:
        return max(a - share, prior) * max(b - share * scale, floor)
    return max(a - share * tilt, prior) * max(b - share * scale, floor)


@part
def add_words(a, weights, rows, counts, prior, tilt, shares, most, outputs):
    """Write own, ratio and the expected counts of one document, four words at a time.

    Equivalent to ``reference.left_out`` on one row; c is at most `most`, 1 or 0, and
    `shares` are scale, floor and groups of the words.
    """
    scale, floor, groups = shares
    out_own, out_ratio, out_counts = outputs
    n_topics = a.shape[0]
    n_words = rows.shape[0]
    real = a.dtype.type
    zero = real(0)
    one = real(most)
    least = real(FLOOR)
    for k in range(n_topics):
        out_counts[k] = zero
    i = 0
    while is_plain(prior, tilt, groups) and i + 4 <= n_words:
        for ahead in range(i + 4, min(i + 8, n_words)):
            prefetch_row(weights, rows[ahead])
        b0 = weights[rows[i]]
        b1 = weights[rows[i + 1]]
        b2 = weights[rows[i + 2]]
        b3 = weights[rows[i + 3]]
        # These serve all four.
        c = group_row(scale, groups, rows[i])
        f = group_row(floor, groups, rows[i])
        s0 = zero
        s1 = zero
        s2 = zero
        s3 = zero
        for k in range(n_topics):
            ak = a[k]
            s0 += ak * b0[k]
            s1 += ak * b1[k]
            s2 += ak * b2[k]
            s3 += ak * b3[k]
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
            ak = a[k]
            pk = prior[k]
            tk = element(tilt, k)
            ck = c[k]
            fk = f[k]
            s0 += left_out(ak, b0[k], o0, pk, tk, ck, fk)
            s1 += left_out(ak, b1[k], o1, pk, tk, ck, fk)
            s2 += left_out(ak, b2[k], o2, pk, tk, ck, fk)
            s3 += left_out(ak, b3[k], o3, pk, tk, ck, fk)
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
            ak = a[k]
            pk = prior[k]
            tk = element(tilt, k)
            ck = c[k]
            fk = f[k]
            q0 = left_out(ak, b0[k], o0, pk, tk, ck, fk)
            q1 = left_out(ak, b1[k], o1, pk, tk, ck, fk)
            q2 = left_out(ak, b2[k], o2, pk, tk, ck, fk)
            q3 = left_out(ak, b3[k], o3, pk, tk, ck, fk)
            out_counts[k] += (r0 * q0 + r1 * q1) + (r2 * q2 + r3 * q3)
        i += 4
    while i < n_words:
        b = weights[rows[i]]
        c = group_row(scale, groups, rows[i])
        f = group_row(floor, groups, rows[i])
        s = zero
        for k in range(n_topics):
            s += a[k] * b[k]
        x = real(counts[i])
        own = min(x, one) / max(s, least)
        s = zero
        for k in range(n_topics):
            s += left_out(a[k], b[k], own, prior[k], element(tilt, k), c[k], f[k])
        ratio = x / max(s, least)
        out_own[i] = own
        out_ratio[i] = ratio
        for k in range(n_topics):
            out_counts[k] += ratio * left_out(
                a[k], b[k], own, prior[k], element(tilt, k), c[k], f[k]
            )
        i += 1


@kernel
def collapsed_document_rows(
    start, stop, corpus, parameters, weights, prior, tilt, shares, most, outputs
):
    """As `document_rows` for the collapsed link; with 0 for `most` all is kept."""
    indptr, indices, counts = corpus
    out_counts, out_own, out_ratio, out_loglik = outputs
    limit = 1.0 if most > 0 else np.inf
    seen = out_own if most > 0 else out_ratio
    for d in range(start, stop):
        lo = indptr[d]
        hi = indptr[d + 1]
        row = parameters[d]
        add_words(
            row,
            weights,
            indices[lo:hi],
            counts[lo:hi],
            own_row(prior, d),
            own_row(tilt, d),
            shares,
            most,
            (out_own[lo:hi], out_ratio[lo:hi], out_counts[d]),
        )
        total = 0.0
        length = 0.0
        for i in range(lo, hi):
            x = np.float64(counts[i])
            total += x * log_scalar(min(x, limit) / np.float64(seen[i]))
            length += x
        norm = 0.0
        for k in range(row.shape[0]):
            norm += row[k]
        out_loglik[d] = total - length * log_scalar(max(norm, FLOOR))


@part
def add_collapsed_documents(
    begin, end, tile_document, cursor, numbers, tile_weights, b, sides, total
):
    """Add a word's tokens in the documents of one tile, four documents at a time."""
    own, ratio = numbers
    prior, tilt, scale, floor = sides
    n_topics = total.shape[0]
    q = begin
    while is_plain(prior, tilt, None) and q + 4 <= end:
        d0 = tile_document[q]
        d1 = tile_document[q + 1]
        d2 = tile_document[q + 2]
        d3 = tile_document[q + 3]
        a0 = tile_weights[d0]
        a1 = tile_weights[d1]
        a2 = tile_weights[d2]
        a3 = tile_weights[d3]
        # These serve all four.
        p = own_row(prior, d0)
        t = own_row(tilt, d0)
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
            bk = b[k]
            pk = p[k]
            tk = element(t, k)
            ck = scale[k]
            fk = floor[k]
            q0 = left_out(a0[k], bk, o0, pk, tk, ck, fk)
            q1 = left_out(a1[k], bk, o1, pk, tk, ck, fk)
            q2 = left_out(a2[k], bk, o2, pk, tk, ck, fk)
            q3 = left_out(a3[k], bk, o3, pk, tk, ck, fk)
            total[k] += (r0 * q0 + r1 * q1) + (r2 * q2 + r3 * q3)
        q += 4
    while q < end:
        d0 = tile_document[q]
        a = tile_weights[d0]
        p = own_row(prior, d0)
        t = own_row(tilt, d0)
        o = own[cursor[d0]]
        r = ratio[cursor[d0]]
        cursor[d0] += 1
        for k in range(n_topics):
            total[k] += r * left_out(
                a[k], b[k], o, p[k], element(t, k), scale[k], floor[k]
            )
        q += 1


@kernel
def word_rows(
    start,
    stop,
    lists,
    first_position,
    own,
    ratio,
    document_weights,
    weights,
    sides,
    out,
):
    """Word pass for words ``start..stop``; `own` is None unless the link is collapsed.

    The non-zeros are ordered by tile of documents, then by word: the documents'
    weights of a tile stay in cache while its words are visited. Documents list their
    words in ascending order, so a cursor in each of them, which begins at
    `first_position`, leads to its ratios. `sides` are prior, tilt, scale, floor and
    groups of the collapsed link.
    """
    tile_size, tile_groups, group_word, group_ptr, tile_document = lists
    n_topics = weights.shape[1]
    n_documents = first_position.shape[0]
    zero = weights.dtype.type(0)
    cursor = np.empty(tile_size, np.int64)
    for w in range(start, stop):
        for k in range(n_topics):
            out[w, k] = zero
    for tile in range(tile_groups.shape[0] - 1):
        first = tile_groups[tile]
        last = tile_groups[tile + 1]
        offset = tile * tile_size
        end = offset + tile_size
        for d in range(offset, min(end, n_documents)):
            cursor[d - offset] = first_position[d]
        g = first_at_least(group_word, first, last, start)
        while g < last and group_word[g] < stop:
            word = group_word[g]
            if own is None:
                tile_weights = document_weights[offset:end]
                begin, behind = group_ptr[g], group_ptr[g + 1]
                add_documents(
                    begin, behind, tile_document, cursor, ratio, tile_weights, out[word]
                )
            else:
                prior, tilt, scale, floor, groups = sides
                add_collapsed_documents(
                    group_ptr[g],
                    group_ptr[g + 1],
                    tile_document,
                    cursor,
                    (own, ratio),
                    document_weights[offset:end],
                    weights[word],
                    (
                        own_rows(prior, offset, end),
                        own_rows(tilt, offset, end),
                        group_row(scale, groups, word),
                        group_row(floor, groups, word),
                    ),
                    out[word],
                )
            g += 1
    if own is None:
        for w in range(start, stop):
            for k in range(n_topics):
                out[w, k] *= weights[w, k]


# Smallest fraction of an entry that extrapolation leaves.
LEAST_PART = 0.1


@kernel
def extrapolate_rows(start, stop, now, used, reach, rows):
    """Write ``now + beta (now - rows)``, at least a part of `now` and the floor.

    `reach` is a `Reach`; only the `used` columns are of topics. Rows of zeros stay:
    words that no document has. In place: of two arrays that may be one, LLVM would
    vectorise nothing.
    """
    beta, floor, keeps_totals = reach
    real = now.dtype.type
    step = real(beta)
    least = real(LEAST_PART)
    for d in range(start, stop):
        a = now[d]
        b = rows[d]
        total = 0.0
        for k in range(used):
            total += a[k]
        bottom = real(floor * total if keeps_totals else floor)
        if total == 0.0:
            bottom = real(0)
        scale = real(1)
        if keeps_totals and beta > 0.0:
            reached = 0.0
            for k in range(used):
                most = max(least * a[k], bottom)
                reached += max(a[k] + step * (a[k] - b[k]), most)
            if reached > 0.0:
                scale = real(total / reached)
        for k in range(used):
            most = max(least * a[k], bottom)
            b[k] = scale * max(a[k] + step * (a[k] - b[k]), most)
        for k in range(used, b.shape[0]):
            b[k] = real(0)
