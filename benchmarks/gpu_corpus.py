# SPDX-License-Identifier: BSD-3-Clause
"""Synthetic corpora drawn on the GPU: Zipfian words, lengths that vary."""

from __future__ import annotations

from typing import Any, NamedTuple

import cupy
import numpy as np

# Documents, terms and tokens per document; distinct words are fewer than tokens.
CORPORA = {
    "pubmed": (8_200_000, 141_043, 60.8),
    "285M": (4_870_000, 141_043, 60.8),
    "20news": (18_846, 61_188, 150.0),
}


# Growth: documents of the same kind, more and more of them.
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)


def growing(n_documents: str) -> tuple[int, int, float]:
    return int(n_documents), 141_043, 60.8


class DeviceCsr(NamedTuple):
    """A CSR matrix on the device, as the engine reads it."""

    indptr: Any
    indices: Any
    data: Any
    shape: tuple[int, int]


def draw_corpus(name: str, seed: int = 0) -> DeviceCsr:
    """Draw documents in parts, so that only one part's tokens are in memory."""
    n_documents, n_terms, mean = CORPORA[name] if name in CORPORA else growing(name)
    random = cupy.random.default_rng(seed)
    weights = 1.0 / (cupy.arange(n_terms, dtype=cupy.float64) + 10.0) ** 1.05
    cumulated = cupy.cumsum(weights) / weights.sum()
    scatter = cupy.asarray(np.random.default_rng(seed).permutation(n_terms))
    lengths_all, indices, data = [], [], []
    for first in range(0, n_documents, 500_000):
        size = min(500_000, n_documents - first)
        lengths = random.poisson(random.gamma(4.0, size=size) * mean / 4.0) + 1
        ends = cupy.cumsum(lengths)
        n_tokens = int(ends[-1])
        document = cupy.searchsorted(ends, cupy.arange(n_tokens), side="right")
        word = cupy.searchsorted(cumulated, random.random(n_tokens), side="right")
        word = scatter[cupy.minimum(word, n_terms - 1)]
        keys = cupy.sort(document * n_terms + word)
        del document, word
        where = cupy.flatnonzero(keys[1:] != keys[:-1]) + 1
        where = cupy.concatenate([cupy.zeros(1, where.dtype), where])
        stop = cupy.full(1, n_tokens, where.dtype)
        keys = keys[where]
        counts = cupy.diff(cupy.concatenate([where, stop]))
        data.append(counts.astype(cupy.float32))
        indices.append((keys % n_terms).astype(cupy.int32))
        lengths_all.append(cupy.bincount(keys // n_terms, minlength=size))
    indptr = cupy.zeros(n_documents + 1, cupy.int64)
    cupy.cumsum(cupy.concatenate(lengths_all), out=indptr[1:])
    corpus = DeviceCsr(
        indptr,
        cupy.concatenate(indices),
        cupy.concatenate(data),
        (n_documents, n_terms),
    )
    del lengths_all, indices, data
    cupy.get_default_memory_pool().free_all_blocks()
    return corpus
