# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of the collapsed Gibbs sampler: document step, word step, what is read off.

The document step draws new topics for the tokens of a range of documents, from

    ``P(z_i = k | rest) ∝ (N_dk + α_k)(N_wk + η)/(N_k + Vη)``

without the token itself, with the counts N_wk and N_k of the last word step. The word
step brings these up to date, each word by its one owner. Equivalent to
`gibbs_reference.conditional` of the tests, which computes all K terms; here a token of

- a frequent word costs the topics of its document: ``N_dk (N_wk + η)/…`` over those,
  and one number for all ``α_k (N_wk + η)/…``, whose topic is looked for when chosen;
- a rare word costs the topics of the word: ``(N_dk + α_k) N_wk/…`` over those, and
  one number for all ``(N_dk + α_k) η/…``.

Names: `counts` N_dk of the document at hand, `active` its topics, `place` where a
topic is in `active`, `scale` ``1/(N_k + Vη)``, `part` ``N_dk scale_k`` in the order of
`active`, `prior` ``α_k scale_k``.
"""

from __future__ import annotations

import math

import numpy as np
from numba import uint32

from topicfold.core.jit import inline, kernel, lean_kernel
from topicfold.engine.special import prefetch_row
from topicfold.gibbs.fixed_topics import document_mass, draw_topic, stream_key, uniform

# A word's row is prefetched this many tokens ahead. Sweeps over a document that starts
# from given topics.
START_SWEEPS = 3
AHEAD = 3


def document_scratch(n_topics: int) -> tuple[np.ndarray, ...]:
    """Return counts, place, active, part and work for `sample_documents`."""
    return (
        np.zeros(n_topics, dtype=np.int32),
        np.zeros(n_topics, dtype=np.int32),
        np.empty(n_topics, dtype=np.uint32),
        np.empty(n_topics, dtype=np.float32),
        np.empty(n_topics, dtype=np.float64),
    )


@lean_kernel
def sample_documents(
    first, last, corpus, rows, prior_mass, lists, topic_weights, eta,
    seed, sweep, table, alpha, scratch, out_loglik,
):  # fmt: skip
    """Draw topics for the documents [first, last) of a block; keep the old ones.

    `corpus` is (doc_ptr, words, topics, old, first token of the block); `old` is of the
    block alone. Also writes Σ_k log Γ(N_dk + α_k) − log Γ(α_k) of each document.
    """
    doc_ptr, words, topics, old, block_begin = corpus
    scale, prior, prior_cum = topic_weights
    list_ptr, list_len, list_topics, list_counts = lists
    n_frequent = rows.shape[0]
    counts, place, active, part, work = scratch
    for d in range(first, last):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        n_active = 0
        for i in range(begin, end):
            n_active = add_token(
                uint32(topics[i]), scale, n_active, counts, place, active, part
            )
        key = stream_key(seed, sweep, d)
        counter = 0
        for i in range(begin, end):
            w = words[i]
            z = uint32(topics[i])
            if i + AHEAD < end and words[i + AHEAD] < n_frequent:
                prefetch_row(rows, words[i + AHEAD])
            n_active = remove_token(z, scale, n_active, counts, place, active, part)
            if w < n_frequent:
                k, counter = draw_frequent(
                    z, rows, w, prior_mass[w], scale, prior, eta,
                    n_active, active, part, key, counter,
                )  # fmt: skip
            else:
                start = list_ptr[w - n_frequent]
                length = list_len[w - n_frequent]
                k, counter = draw_rare(
                    z, start, length, list_topics, list_counts, scale, prior,
                    prior_cum, eta, n_active, counts, active, part, key, counter, work,
                )  # fmt: skip
            n_active = add_token(k, scale, n_active, counts, place, active, part)
            old[i - block_begin] = z
            topics[i] = k
        out_loglik[d] = clear_document(n_active, counts, active, table, alpha)


@inline
def add_token(k, scale, n_active, counts, place, active, part):
    """Count a token of topic k; return the number of active topics."""
    if counts[k] == 0:
        place[k] = n_active
        active[n_active] = k
        n_active += 1
    counts[k] += 1
    part[place[k]] = counts[k] * scale[k]
    return n_active


@inline
def remove_token(z, scale, n_active, counts, place, active, part):
    """Forget a token of topic z; return the number of active topics."""
    j = place[z]
    counts[z] -= 1
    if counts[z] == 0:
        n_active -= 1
        moved = active[n_active]
        active[j] = moved
        part[j] = part[n_active]
        place[moved] = j
    else:
        part[j] = counts[z] * scale[z]
    return n_active


@inline
def clear_document(n_active, counts, active, table, alpha):
    """Set the counts back to zero; return the document's part of log P(z)."""
    width = table.shape[1]
    loglik = 0.0
    for j in range(n_active):
        k = active[j]
        n = counts[k]
        if n < width:
            loglik += table[k, n]
        else:
            loglik += math.lgamma(n + alpha[k]) - math.lgamma(alpha[k])
    for j in range(n_active):
        counts[active[j]] = 0
    return loglik


@inline
def draw_frequent(
    z, rows, w, mass, scale, prior, eta, n_active, active, part, key, counter
):  # fmt: skip
    """Draw the topic of a token (now z) of a word with a row of counts.

    The row counts the token itself: a draw of z is kept with the probability by
    which its weight shrinks without the token, else all is drawn again.
    """
    smooth = np.float32(eta)
    total = document_mass(part, active, n_active, rows, w, smooth)
    while True:
        u = np.float32(uniform(key, counter) * (total + mass))
        counter += 1
        k = draw_topic(u, total, rows, w, smooth, prior, part, active, n_active)
        if k != z:
            break
        with_it = (rows[w, z] + eta) * (1.0 - scale[z])
        without_it = rows[w, z] - 1.0 + eta
        counter += 1
        if uniform(key, counter - 1) * with_it < without_it:
            break
    return k, counter


@inline
def draw_rare(
    z, start, length, list_topics, list_counts, scale, prior,
    prior_cum, eta, n_active, counts, active, part, key, counter, work,
):  # fmt: skip
    """Draw the topic of a token (now z) of a word with a list of topics."""
    total = 0.0
    for j in range(length):
        t = uint32(list_topics[start + j])
        weight = float(counts[t]) * scale[t] + prior[t]
        if t == z:
            # Without the token N_wk and N_k are one less; what η gains goes here too.
            own = weight / (1.0 - scale[z])
            total += (list_counts[start + j] - 1) * own + eta * (own - weight)
        else:
            total += list_counts[start + j] * weight
        work[j] = total
    smooth = 0.0
    for j in range(n_active):
        smooth += part[j]
    u = uniform(key, counter) * (total + eta * (smooth + prior_cum[-1]))
    counter += 1
    if u < total:
        j = 0
        while work[j] <= u:
            j += 1
        k = uint32(list_topics[start + j])
    else:
        u = (u - total) / eta
        if u < smooth:
            j = 0
            u -= part[0]
            while u >= 0 and j < n_active - 1:
                j += 1
                u -= part[j]
            k = active[j]
        else:
            k = uint32(first_above(prior_cum, u - smooth))
    return k, counter


@inline
def first_above(cumulated, u):
    """Return the first place whose cumulated sum is above u (at most the last)."""
    low = 0
    high = len(cumulated) - 1
    while low < high:
        middle = (low + high) >> 1
        if cumulated[middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@lean_kernel
def prior_masses(first, last, rows, prior, eta, out_mass):
    """Σ_k α_k (N_wk + η)/(N_k + Vη) of the words [first, last)."""
    smooth = np.float32(eta)
    for w in range(first, last):
        total = np.float32(0)
        for k in range(len(prior)):
            total += prior[k] * (rows[w, k] + smooth)
        out_mass[w] = total


@lean_kernel
def recount_words(first, last, block, corpus, counted, rows, lists, out_change):
    """Move the counts of words [first, last) of a block from old to new topics.

    The first time, when they are not `counted` yet, there are no old ones. Adds what
    the totals N_k change by to `out_change`.
    """
    words, ptr, order = block
    list_ptr, list_len, list_topics, list_counts = lists
    _, _, topics, old, block_begin = corpus
    n_frequent = rows.shape[0]
    for r in range(first, last):
        w = words[r]
        rare = w - n_frequent
        for p in range(ptr[r], ptr[r + 1]):
            after = uint32(topics[order[p]])
            if counted:
                before = uint32(old[order[p] - block_begin])
                if before == after:
                    continue
                out_change[before] -= 1
                if w < n_frequent:
                    rows[w, before] -= 1
                else:
                    change_list(
                        list_ptr, list_len, list_topics, list_counts, rare, before, -1
                    )
            out_change[after] += 1
            if w < n_frequent:
                rows[w, after] += 1
            else:
                change_list(
                    list_ptr, list_len, list_topics, list_counts, rare, after, 1
                )


@inline
def change_list(ptr, length, list_topics, list_counts, r, k, change):
    """Add `change` to the count of topic k in the r-th list; drop it at zero."""
    begin = ptr[r]
    end = begin + length[r]
    j = begin
    while j < end and list_topics[j] != k:
        j += 1
    if j == end:
        list_topics[j] = k
        list_counts[j] = 0
        length[r] += 1
        end += 1
    list_counts[j] += change
    if list_counts[j] == 0:
        list_topics[j] = list_topics[end - 1]
        list_counts[j] = list_counts[end - 1]
        length[r] -= 1


@inline
def drawn(u, first, last, work):
    """Return the place at u of the masses ``work[: last - first]``, from `first` on."""
    total = 0.0
    for j in range(last - first):
        total += work[j]
    left = u * total - work[0]
    j = first
    while left >= 0.0 and j < last - 1:
        j += 1
        left -= work[j - first]
    return j


@kernel
def draw_topics(first, last, doc_ptr, words, phi, own, seed, out_topics):
    """Give the tokens of documents [first, last) topics by ``(N_dk + α_dk) φ_kw``.

    `own` has where the topics of each document start and end in a list of topics, the
    list, and their α. Row ``words[i]`` of `phi` is of token i; without rows, topics are
    random, as they are where all masses are zero. A first sweep counts the tokens
    before, others all tokens of the document but the one that is drawn.
    """
    starts, ends, own_topics, alpha = own
    counts = np.zeros(phi.shape[1])
    work = np.empty(phi.shape[1])
    for d in range(first, last):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        a, b = starts[d], ends[d]
        key = stream_key(seed, 0, d)
        if len(phi) == 0:
            for i in range(begin, end):
                out_topics[i] = own_topics[a + int(uniform(key, i - begin) * (b - a))]
            continue
        for sweep in range(START_SWEEPS):
            for i in range(begin, end):
                if sweep > 0:
                    counts[uint32(out_topics[i])] -= 1.0
                row = phi[words[i]]
                none = True
                for j in range(a, b):
                    k = own_topics[j]
                    work[j - a] = (counts[k] + alpha[j]) * row[k]
                    none = none and work[j - a] == 0.0
                u = uniform(key, sweep * (end - begin) + i - begin)
                place = a + int(u * (b - a)) if none else drawn(u, a, b, work)
                k = own_topics[place]
                out_topics[i] = k
                counts[k] += 1.0
        for j in range(a, b):
            counts[own_topics[j]] = 0.0


@kernel
def word_loglik(first, last, rows, lists, table, eta, out_loglik):
    """Σ_k log Γ(N_wk + η) − log Γ(η) of the words [first, last)."""
    ptr, length, _, list_counts = lists
    n_frequent, width = rows.shape
    for w in range(first, last):
        total = 0.0
        if w < n_frequent:
            for k in range(width):
                n = int(rows[w, k])
                if n < len(table):
                    total += table[n]
                else:
                    total += math.lgamma(n + eta) - math.lgamma(eta)
        else:
            start = ptr[w - n_frequent]
            for j in range(start, start + length[w - n_frequent]):
                total += table[list_counts[j]]
        out_loglik[w] = total


@kernel
def add_word_counts(first, last, rows, lists, out_sums):
    """Add N_wk of the words [first, last) to their sums."""
    ptr, length, list_topics, list_counts = lists
    n_frequent, width = rows.shape
    for w in range(first, last):
        if w < n_frequent:
            for k in range(width):
                out_sums[w, k] += rows[w, k]
        else:
            start = ptr[w - n_frequent]
            for j in range(start, start + length[w - n_frequent]):
                out_sums[w, uint32(list_topics[j])] += list_counts[j]


@kernel
def add_document_counts(first, last, doc_ptr, topics, out_sums):
    """Add N_dk of the documents [first, last) to their sums."""
    for d in range(first, last):
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            out_sums[d, uint32(topics[i])] += 1


@kernel
def document_codes(doc_ptr, topics, n_topics, out_codes):
    """Write N_dk K + k of every N_dk > 0, document by document; return their number."""
    counts = np.zeros(n_topics, dtype=np.int64)
    n_codes = 0
    for d in range(len(doc_ptr) - 1):
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            counts[uint32(topics[i])] += 1
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            k = uint32(topics[i])
            if counts[k] > 0:
                out_codes[n_codes] = counts[k] * n_topics + k
                counts[k] = 0
                n_codes += 1
    return n_codes
