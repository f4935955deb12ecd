# SPDX-License-Identifier: BSD-3-Clause
"""Expected counts where each document has a few topics of its own.

A document's values are a stretch of a vector, one for each topic it may use. Topic
weights are topic-major: the words of a document, listed by frequency, lie close to each
other in the row of a topic. Each kernel names the dense one it equals.
"""

from __future__ import annotations

import numpy as np

from topicfold.core.jit import SPACE, kernel, part
from topicfold.engine.kernels import FLOOR, left_out
from topicfold.engine.prefetch import prefetch_row
from topicfold.engine.special import log_scalar

LINE = 16  # numbers of four bytes in a cache line


@part
def gather(a, weights, topics, words, out_b, out_s):
    """Write ``b = weights[topics][:, words]`` and ``s_i = Σ_t a_t b_ti``."""
    for i in range(words.shape[0]):
        out_s[i] = a.dtype.type(0)
    for t in range(topics.shape[0]):
        row, weight = weights[topics[t]], a[t]
        for i in range(words.shape[0]):
            b = row[words[i]]
            out_b[t, i] = b
            out_s[i] += weight * b


@part
def word_sums(a, b, n_words, out_s):
    """Write ``s_i = Σ_t a_t b_ti``."""
    for i in range(n_words):
        out_s[i] = a.dtype.type(0)
    for t in range(a.shape[0]):
        weight = a[t]
        for i in range(n_words):
            out_s[i] += weight * b[t, i]


@part
def log_likelihood(a, counts, s):
    """Σ x log s with the document's weights normalised."""
    total = 0.0
    length = 0.0
    for i in range(counts.shape[0]):
        x = np.float64(counts[i])
        total += x * log_scalar(max(np.float64(s[i]), FLOOR))
        length += x
    norm = 0.0
    for t in range(a.shape[0]):
        norm += a[t]
    return total - length * log_scalar(max(norm, FLOOR))


@part
def weighted_sum(row, ratio, n_words):
    """``Σ_i ratio_i row_i``."""
    total = row.dtype.type(0)
    for i in range(n_words):
        total += ratio[i] * row[i]
    return total


@part
def update_entries(a, tilt, prior, counts):
    """Set ``a = counts ∘ tilt + prior``, return the change of its shares."""
    old_sum = 0.0
    new_sum = 0.0
    for t in range(a.shape[0]):
        counts[t] = max(counts[t] * tilt[t] + prior[t], a.dtype.type(0))
    for t in range(a.shape[0]):
        old_sum += a[t]
        new_sum += counts[t]
    old_scale = 1.0 / max(old_sum, FLOOR)
    new_scale = 1.0 / max(new_sum, FLOOR)
    change = 0.0
    for t in range(a.shape[0]):
        change += abs(counts[t] * new_scale - a[t] * old_scale)
    for t in range(a.shape[0]):
        a[t] = counts[t]
    return change


@part
def widest(start, stop, pointers):
    """Largest difference of two pointers that follow each other."""
    most = 0
    for d in range(start, stop):
        most = max(most, pointers[d + 1] - pointers[d])
    return most


@kernel
def masked_document_rows(
    start,
    stop,
    indptr,
    indices,
    counts,
    offsets,
    topics,
    parameters,
    weights,
    prior,
    tilt,
    max_updates,
    tol,
    out_counts,
    out_ratio,
    out_loglik,
    out_updates,
):
    """``kernels.document_rows`` over the topics that each document may use."""
    real = parameters.dtype.type
    least = real(FLOOR)
    n_scratch = widest(start, stop, indptr) + SPACE
    work_b = np.empty((widest(start, stop, offsets), n_scratch), parameters.dtype)
    work_s = np.empty(n_scratch, parameters.dtype)
    for d in range(start, stop):
        lo, hi = indptr[d], indptr[d + 1]
        first, last = offsets[d], offsets[d + 1]
        n_words = hi - lo
        a = parameters[first:last]
        found = out_counts[first:last]
        ratio = out_ratio[lo:hi]
        x = counts[lo:hi]
        gather(a, weights, topics[first:last], indices[lo:hi], work_b, work_s)
        out_updates[d] = 0
        change = tol + 1.0
        while True:
            for i in range(n_words):
                ratio[i] = real(x[i]) / max(work_s[i], least)
            for t in range(last - first):
                found[t] = a[t] * weighted_sum(work_b[t], ratio, n_words)
            if out_updates[d] == max_updates or change <= tol:
                break
            change = update_entries(a, tilt[first:last], prior[first:last], found)
            out_updates[d] += 1
            word_sums(a, work_b, n_words, work_s)
        out_loglik[d] = log_likelihood(a, x, work_s)


@part
def token_shares(a, b, own, prior, tilt, k, words, scale, floor, groups, out_q):
    """Write the weights of topic k for a document's words, their own shares left out.

    `scale` and `floor` have one row, or those of the words' `groups`.
    """
    if groups is None:
        c, f = scale[0, k], floor[0, k]
        for i in range(words.shape[0]):
            out_q[i] = left_out(a, b[i], own[i], prior, tilt, c, f)
    else:
        for i in range(words.shape[0]):
            g = groups[words[i]]
            out_q[i] = left_out(a, b[i], own[i], prior, tilt, scale[g, k], floor[g, k])


@kernel
def masked_collapsed_document_rows(
    start,
    stop,
    indptr,
    indices,
    counts,
    offsets,
    topics,
    parameters,
    weights,
    prior,
    tilt,
    scale,
    floor,
    groups,
    out_counts,
    out_own,
    out_ratio,
    out_loglik,
):
    """``kernels.collapsed_document_rows`` over the topics each document may use."""
    real = parameters.dtype.type
    least, one = real(FLOOR), real(1)
    n_scratch = widest(start, stop, indptr) + SPACE
    work_b = np.empty((widest(start, stop, offsets), n_scratch), parameters.dtype)
    work_q = np.empty_like(work_b)
    work_s = np.empty(n_scratch, parameters.dtype)
    for d in range(start, stop):
        lo, hi = indptr[d], indptr[d + 1]
        first, last = offsets[d], offsets[d + 1]
        n_words = hi - lo
        words = indices[lo:hi]
        x = counts[lo:hi]
        own, ratio = out_own[lo:hi], out_ratio[lo:hi]
        a = parameters[first:last]
        gather(a, weights, topics[first:last], words, work_b, work_s)
        out_loglik[d] = log_likelihood(a, x, work_s)
        for i in range(n_words):
            own[i] = min(real(x[i]), one) / max(work_s[i], least)
            work_s[i] = real(0)
        for e in range(first, last):
            q = work_q[e - first]
            token_shares(
                parameters[e], work_b[e - first], own, prior[e], tilt[e], topics[e],
                words, scale, floor, groups, q,
            )  # fmt: skip
            for i in range(n_words):
                work_s[i] += q[i]
        for i in range(n_words):
            ratio[i] = real(x[i]) / max(work_s[i], least)
        for e in range(first, last):
            out_counts[e] = weighted_sum(work_q[e - first], ratio, n_words)


@part
def prefetch_words(d, indptr, indices, ratio, own):
    """Ask for the words of a document and their numbers, line by line."""
    for i in range(indptr[d], indptr[d + 1], LINE):
        prefetch_row(indices, i)
        prefetch_row(ratio, i)
        if own is not None:
            prefetch_row(own, i)


@kernel
def masked_word_rows(
    start,
    stop,
    topic_ptr,
    topic_documents,
    topic_entries,
    indptr,
    indices,
    parameters,
    weights,
    prior,
    tilt,
    scale,
    floor,
    groups,
    own,
    ratio,
    out_counts,
):
    """Word pass for topics ``start..stop``: ``kernels.collapsed_word_rows``, or
    ``kernels.word_rows`` where `own` is None.

    Each topic walks along the documents that may use it, in their order.
    """
    n_scratch = widest(0, indptr.shape[0] - 1, indptr) + SPACE
    work_b = np.empty(n_scratch, parameters.dtype)
    work_q = np.empty(n_scratch, parameters.dtype)
    last = topic_documents.shape[0] - 1
    for k in range(start, stop):
        row = weights[k]
        total = out_counts[k]
        for w in range(total.shape[0]):
            total[w] = parameters.dtype.type(0)
        for j in range(topic_ptr[k], topic_ptr[k + 1]):
            soon = topic_documents[min(j + 2, last)]
            prefetch_words(soon, indptr, indices, ratio, own)
            d, e = topic_documents[j], topic_entries[j]
            lo, hi = indptr[d], indptr[d + 1]
            words = indices[lo:hi]
            if own is None:
                for i in range(hi - lo):
                    total[words[i]] += ratio[lo + i] * parameters[e]
            else:
                for i in range(hi - lo):
                    work_b[i] = row[words[i]]
                token_shares(
                    parameters[e], work_b, own[lo:hi], prior[e], tilt[e], k, words,
                    scale, floor, groups, work_q,
                )  # fmt: skip
                for i in range(hi - lo):
                    total[words[i]] += ratio[lo + i] * work_q[i]
        if own is None:
            for w in range(total.shape[0]):
                total[w] *= row[w]


@kernel
def topic_sums(start, stop, array, prior, out_sums):
    """``out_sums[k] = max(array[k] + prior, 0).sum()`` in float64."""
    for k in range(start, stop):
        total = 0.0
        for w in range(array.shape[1]):
            total += max(np.float64(array[k, w]) + prior, 0.0)
        out_sums[k] = total


@kernel
def scale_topics(start, stop, array, prior, scale, out):
    """``out[k] = max(array[k] + prior, 0) * scale[k]``."""
    real = array.dtype.type
    for k in range(start, stop):
        factor = real(scale[k])
        for w in range(array.shape[1]):
            out[k, w] = max(array[k, w] + real(prior), real(0)) * factor
