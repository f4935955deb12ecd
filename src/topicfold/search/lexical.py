# SPDX-License-Identifier: BSD-3-Clause
"""Scores by shared words: BM25 and tf-idf over the indexed documents."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from topicfold.core.typing import Doubles

LEXICAL = ("bm25", "tfidf")
# Weight of the words where nothing else is asked; see benchmarks/results/search_mix.md.
DEFAULT_MIX = 0.5
# The usual choice: saturation of counts, and how far length is discounted.
K1, B = 1.2, 0.75


class LexicalScores:
    """Postings of the documents, weighted for one kind of score.

    BM25 (Robertson & Zaragoza 2009) has ``k1 = 1.2``, ``b = 0.75`` and
    ``idf = ln(1 + (D - df + 1/2) / (df + 1/2))``; tf-idf is the cosine of vectors with
    ``idf = ln((1 + D) / (1 + df)) + 1``.
    """

    def __init__(self, counts: sparse.csr_matrix, kind: str) -> None:
        self.kind = kind
        n_documents, n_terms = counts.shape
        frequency = np.bincount(counts.indices, minlength=n_terms)
        rows = np.repeat(np.arange(n_documents), np.diff(counts.indptr))
        if kind == "bm25":
            self.idf = np.log1p((n_documents - frequency + 0.5) / (frequency + 0.5))
            lengths = np.bincount(rows, counts.data, n_documents)
            mean = max(float(lengths.mean()), np.finfo(float).tiny)
            damping = K1 * (1 - B + B * lengths / mean)
            values = counts.data.astype(np.float64)
            values = values * (K1 + 1) / (values + damping[rows])
        else:
            self.idf = np.log((1 + n_documents) / (1 + frequency)) + 1
            values = counts.data * self.idf[counts.indices]
            values = values / np.sqrt(np.bincount(rows, values**2))[rows]
        self.postings = sparse.csr_matrix(
            (values.astype(np.float32), counts.indices, counts.indptr), counts.shape
        ).tocsc()

    def score(self, query: sparse.csr_matrix) -> Doubles:
        """Return the score of every document for one row of counts."""
        weights = query.data * self.idf[query.indices]
        if self.kind == "tfidf":
            weights = weights / np.sqrt((weights**2).sum())
        return np.asarray(self.postings[:, query.indices] @ weights)


def mixed(latent: Doubles, lexical: Doubles, weight: float) -> Doubles:
    """Return ``(1 - weight)·latent + weight·lexical``, both scaled to [0, 1]."""
    return (1 - weight) * _scaled(latent) + weight * _scaled(lexical)


def _scaled(scores: Doubles) -> Doubles:
    low, high = float(scores.min()), float(scores.max())
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)
