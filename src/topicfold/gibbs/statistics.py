# SPDX-License-Identifier: BSD-3-Clause
"""Kernels that read the state of the sampler: likelihood, sums of samples, pairs."""

from __future__ import annotations

import math

import numpy as np
from numba import uint32

from topicfold.core.jit import kernel
from topicfold.gibbs.random import stream_key, uniform


@kernel
def random_topics(first, last, doc_ptr, n_topics, seed, out_topics):
    """Give the tokens of documents [first, last) topics at random."""
    for d in range(first, last):
        key = stream_key(seed, 0, d)
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            out_topics[i] = int(uniform(key, i - doc_ptr[d]) * n_topics)


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
def document_pairs(doc_ptr, topics, n_topics, out_topics, out_counts):
    """Write the pairs (topic, N_dk > 0) of all documents; return their number."""
    counts = np.zeros(n_topics, dtype=np.int64)
    n_pairs = 0
    for d in range(len(doc_ptr) - 1):
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            counts[uint32(topics[i])] += 1
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            k = uint32(topics[i])
            if counts[k] > 0:
                out_topics[n_pairs] = k
                out_counts[n_pairs] = counts[k]
                counts[k] = 0
                n_pairs += 1
    return n_pairs
