# SPDX-License-Identifier: BSD-3-Clause
"""Scores by shared words: BM25 and tf-idf over the indexed documents."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from topicfold.core.typing import Doubles

LEXICAL = ("bm25", "tfidf")
# The usual choice: saturation of counts, and how far length is discounted.
K1, B = 1.2, 0.75


class LexicalScores:
    """Postings of the documents, weighted for one kind of score.

    Parameters
    ----------
    counts : CSR matrix of shape (n_documents, n_terms)
        Word counts.
    kind : {"bm25", "tfidf"}
        BM25 (Robertson & Zaragoza 2009) with ``k1 = 1.2``, ``b = 0.75`` and
        ``idf = ln(1 + (D - df + 1/2) / (df + 1/2))``; or the cosine of tf-idf vectors
        with ``idf = ln((1 + D) / (1 + df)) + 1``.

    Examples
    --------
    >>> scores = LexicalScores(sparse.csr_matrix([[1.0, 0], [1, 1], [0, 2]]), "tfidf")
    >>> scores.score(sparse.csr_matrix([[1.0, 0.0]])).round(3)
    array([1.   , 0.707, 0.   ])
    """

    def __init__(self, counts: sparse.csr_matrix, kind: str) -> None:
        self.kind = kind
        n_documents = counts.shape[0]
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        if kind == "bm25":
            self.idf = np.log1p((n_documents - frequency + 0.5) / (frequency + 0.5))
            values = self._saturated(counts)
        else:
            self.idf = np.log((1 + n_documents) / (1 + frequency)) + 1
            values = counts.data * self.idf[counts.indices]
            lengths = np.sqrt(_row_sums(counts, values**2))
            values = values / np.repeat(lengths, np.diff(counts.indptr))
        weighted = sparse.csr_matrix(
            (values.astype(np.float32), counts.indices, counts.indptr),
            shape=counts.shape,
        )
        self.postings = weighted.tocsc()

    def score(self, query: sparse.csr_matrix) -> Doubles:
        """Return the score of every document for one row of counts."""
        scores = np.zeros(self.postings.shape[0])
        weights = query.data * self.idf[query.indices]
        if self.kind == "tfidf":
            weights = weights / np.sqrt((weights**2).sum())
        postings = self.postings
        for term, weight in zip(query.indices, weights, strict=True):
            part = slice(postings.indptr[term], postings.indptr[term + 1])
            scores[postings.indices[part]] += weight * postings.data[part]
        return scores

    def _saturated(self, counts: sparse.csr_matrix) -> Doubles:
        lengths = _row_sums(counts, counts.data)
        mean = max(float(lengths.mean()), np.finfo(float).tiny)
        damping = K1 * (1 - B + B * lengths / mean)
        damping = np.repeat(damping, np.diff(counts.indptr))
        values = counts.data.astype(np.float64)
        return np.asarray(values * (K1 + 1) / (values + damping))


def mixed(latent: Doubles, lexical: Doubles, weight: float) -> Doubles:
    """Return ``(1 - weight)·latent + weight·lexical``, both scaled to [0, 1].

    Examples
    --------
    >>> mixed(np.array([-1.0, 1.0]), np.array([8.0, 0.0]), 0.25)
    array([0.25, 0.75])
    """
    return (1 - weight) * _scaled(latent) + weight * _scaled(lexical)


def _scaled(scores: Doubles) -> Doubles:
    low, high = float(scores.min()), float(scores.max())
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)


def _row_sums(counts: sparse.csr_matrix, values: Doubles) -> Doubles:
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    return np.asarray(np.bincount(rows, values, counts.shape[0]), np.float64)
