# SPDX-License-Identifier: BSD-3-Clause
"""Expected counts where each document has a few topics of its own.

A document's values are a stretch of a vector, one for each topic it may use. So are
the weights of a topic, one for each word of its documents. An entry, a document and one
of its topics, has a list of the places of its words in the topic's stretch,
``places[firsts[e]:]``, and there its shares of the counts are left for the word pass.
Entries are listed topic by topic. Each kernel names the dense one it equals.
"""

from __future__ import annotations

import numpy as np

from topicfold.core.jit import SPACE, kernel, part
from topicfold.engine.kernels import FLOOR, left_out
from topicfold.engine.special import log_scalar, prefetch_row

LINE = 16  # numbers of four bytes in a cache line


@kernel
def find_places(start, stop, by_topic, indptr, words, n_terms, firsts, out):
    """Number the words of topics ``start..stop``, and list them.

    Those in most documents of a topic are first, then by document: so the places of a
    document's words lie close to each other. ``out[1]`` has the words of topic k from
    ``out[0][k]`` on, ``out[2]`` how many there are.
    """
    topic_ptr, topic_documents, topic_entries = by_topic
    starts, out_words, out_sizes, out_places = out
    known = np.empty(n_terms, np.int64)
    rank = np.zeros(n_terms, np.int64)
    for k in range(start, stop):
        size = 0
        at = np.zeros(topic_ptr[k + 1] - topic_ptr[k] + 1, np.int64)
        for j in range(topic_ptr[k], topic_ptr[k + 1]):
            d = topic_documents[j]
            for i in range(indptr[d], indptr[d + 1]):
                w = words[i]
                if rank[w] == 0:
                    known[size] = w
                    size += 1
                at[rank[w]] += 1  # words in more documents than so many
                rank[w] += 1
        for j in range(size):
            w = known[j]
            place = at[rank[w]]
            at[rank[w]] += 1
            rank[w] = place
            out_words[starts[k] + place] = w
        for j in range(topic_ptr[k], topic_ptr[k + 1]):
            d, first = topic_documents[j], firsts[topic_entries[j]]
            for i in range(indptr[d], indptr[d + 1]):
                out_places[first + i - indptr[d]] = rank[words[i]]
        for j in range(size):
            rank[known[j]] = 0
        out_sizes[k] = size


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
def gather(d, n_words, entries, parameters, weights, out_b, out_s):
    """Write the weights of a document's words by topic, and ``s_i = Σ_t a_t b_ti``."""
    offsets, topics, firsts, places, pointer = entries
    for e in range(offsets[d], offsets[d + 1]):
        row = weights[pointer[topics[e]] : pointer[topics[e] + 1]]
        own, b = places[firsts[e] : firsts[e] + n_words], out_b[e - offsets[d]]
        for i in range(n_words):
            b[i] = row[own[i]]
    word_sums(parameters[offsets[d] : offsets[d + 1]], out_b, n_words, out_s)


@part
def prefetch_entries(d, indptr, entries, shares):
    """Ask for the places of a document's words, and for where their shares go."""
    offsets, _, firsts, places, _ = entries
    n_words = indptr[d + 1] - indptr[d]
    for e in range(offsets[d], offsets[d + 1]):
        for i in range(firsts[e], firsts[e] + n_words, LINE):
            prefetch_row(places, i)
            prefetch_row(shares, i)


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


@part
def write_shares(factor, row, ratio, n_words, out):
    """Write ``factor ratio_i row_i``."""
    for i in range(n_words):
        out[i] = factor * (ratio[i] * row[i])


@kernel
def masked_document_rows(
    start, stop, corpus, entries, parameters, weights, floors, max_updates, tol, out
):
    """``kernels.document_rows`` over the topics that each document may use."""
    indptr, _, counts = corpus
    offsets, firsts, (prior, tilt) = entries[0], entries[2], floors
    out_counts, out_shares, out_loglik, out_updates = out
    real = parameters.dtype.type
    least = real(FLOOR)
    n_scratch = widest(start, stop, indptr) + SPACE
    work_b = np.empty((widest(start, stop, offsets), n_scratch), parameters.dtype)
    work_s = np.empty(n_scratch, parameters.dtype)
    ratio = np.empty(n_scratch, parameters.dtype)
    for d in range(start, stop):
        first, last = offsets[d], offsets[d + 1]
        x = counts[indptr[d] : indptr[d + 1]]
        n_words = x.shape[0]
        a, found = parameters[first:last], out_counts[first:last]
        gather(d, n_words, entries, parameters, weights, work_b, work_s)
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
        for t in range(last - first):
            shares = out_shares[firsts[first + t] : firsts[first + t] + n_words]
            write_shares(a[t], work_b[t], ratio, n_words, shares)


@part
def token_shares(a, b, own, prior, tilt, k, words, parts, groups, out_q):
    """Write the weights of topic k for a document's words, own shares left out."""
    scale, floor = parts
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
    start, stop, corpus, entries, parameters, weights, floors, parts, groups, out
):
    """``kernels.collapsed_document_rows`` over the topics each document may use."""
    indptr, indices, counts = corpus
    offsets, topics, firsts = entries[:3]
    prior, tilt = floors
    out_counts, out_shares, out_loglik = out
    real = parameters.dtype.type
    least, one = real(FLOOR), real(1)
    n_scratch = widest(start, stop, indptr) + SPACE
    work_b = np.empty((widest(start, stop, offsets), n_scratch), parameters.dtype)
    work_q = np.empty_like(work_b)
    work_s = np.empty(n_scratch, parameters.dtype)
    own, ratio = np.empty_like(work_s), np.empty_like(work_s)
    for d in range(start, stop):
        first, last = offsets[d], offsets[d + 1]
        words = indices[indptr[d] : indptr[d + 1]]
        x = counts[indptr[d] : indptr[d + 1]]
        n_words = x.shape[0]
        gather(d, n_words, entries, parameters, weights, work_b, work_s)
        prefetch_entries(min(d + 1, stop - 1), indptr, entries, out_shares)
        out_loglik[d] = log_likelihood(parameters[first:last], x, work_s)
        for i in range(n_words):
            own[i] = min(real(x[i]), one) / max(work_s[i], least)
            work_s[i] = real(0)
        for e in range(first, last):
            q = work_q[e - first]
            token_shares(
                parameters[e], work_b[e - first], own, prior[e], tilt[e], topics[e],
                words, parts, groups, q,
            )  # fmt: skip
            for i in range(n_words):
                work_s[i] += q[i]
        for i in range(n_words):
            ratio[i] = real(x[i]) / max(work_s[i], least)
        for e in range(first, last):
            q = work_q[e - first]
            out_counts[e] = weighted_sum(q, ratio, n_words)
            shares = out_shares[firsts[e] : firsts[e] + n_words]
            write_shares(one, q, ratio, n_words, shares)


@kernel
def masked_word_rows(start, stop, listed, places, shares, pointer, out_counts):
    """Add up the shares of topics ``start..stop``, those of k from ``listed[k]`` on."""
    for k in range(start, stop):
        total = out_counts[pointer[k] : pointer[k + 1]]
        own, found = (
            places[listed[k] : listed[k + 1]],
            shares[listed[k] : listed[k + 1]],
        )
        total[:] = shares.dtype.type(0)
        for i in range(own.shape[0]):
            total[own[i]] += found[i]


@kernel
def topic_sums(start, stop, pointer, array, prior, out_sums):
    """Write the sum of ``max(row + prior, 0)`` of each topic's row, in float64."""
    for k in range(start, stop):
        row = array[pointer[k] : pointer[k + 1]]
        total = 0.0
        for w in range(row.shape[0]):
            total += max(np.float64(row[w]) + prior, 0.0)
        out_sums[k] = total


@kernel
def scale_topics(start, stop, pointer, array, prior, scale, out):
    """Write ``max(row + prior, 0) * scale[k]`` of each topic's row."""
    real = array.dtype.type
    for k in range(start, stop):
        row, found = (
            array[pointer[k] : pointer[k + 1]],
            out[pointer[k] : pointer[k + 1]],
        )
        factor = real(scale[k])
        for w in range(row.shape[0]):
            found[w] = max(row[w] + real(prior), real(0)) * factor
