# SPDX-License-Identifier: BSD-3-Clause
"""How far a document graph can be trusted: do neighbours have the same words, classes?

Without labels, by the words: ``u = 1 − chance / agreement``, where the agreement is the
mean cosine across edges and chance that of documents joined at random with the same
degrees; rows are the idf weights of a document's words. A graph of random edges has 0,
one of nearest neighbours 0.5 to nearly 1. Twice the corpus, or each document twice as
long, is trusted as much.

With n labels, by the classes: each labelled document is classified without its own
label, once by spreading the other labels along the graph and once by the nearest class
centroid of its words; a and b are the shares found beyond chance. The trust is
``(n a + m u) / (n b + m)`` with m = 5: what the graph tells of classes, measured by
what words tell. A graph that is better than the words has 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from topicfold.graph.neighbors import check_counts

LEAST_TRUST = 0.05
PRIOR_LABELS = 5  # m
MAX_LABELS = 200  # labelled documents that are looked at
MAX_DOCUMENTS = 20_000  # whose edges are looked at
SPREAD, ROUNDS = 0.9, 15  # α of label spreading, and how often
BLOCK = 2**22  # numbers that are spread at once


def graph_trust(X: Any, graph: Any, codes: NDArray[np.int64] | None = None) -> float:
    """Return how far a symmetric graph can be trusted, 0.05 to 1; `codes` -1 are
    unknown.
    """
    rows = _weighted_words(check_counts(X, "X"))
    graph = sp.csr_array(graph)
    trust = _word_trust(graph, rows)
    known = np.flatnonzero(codes >= 0) if codes is not None else np.arange(0)
    if codes is not None and len(np.unique(codes[known])) > 1:
        if len(known) > MAX_LABELS:
            chosen = np.random.default_rng(0).choice(known, MAX_LABELS, replace=False)
            known = np.sort(chosen)
        classes, own = np.unique(codes[known], return_inverse=True)
        members = np.eye(len(classes))[own]
        by_graph = _lift(_spread_scores(graph, known, members), members)
        by_words = _lift(_centroid_scores(rows[known], members), members)
        n = len(known)
        trust = (n * by_graph + PRIOR_LABELS * trust) / (n * by_words + PRIOR_LABELS)
    return float(np.clip(trust, LEAST_TRUST, 1.0))


def _weighted_words(counts: sp.csr_array) -> sp.csr_array:
    """Return unit rows of the idf weights ``log(D / df) + 1`` of documents' words."""
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    idf = np.log(counts.shape[0] / np.maximum(frequency, 1)) + 1.0
    entries = idf[counts.indices], counts.indices, counts.indptr
    return normalize(sp.csr_array(entries, shape=counts.shape))


def _word_trust(graph: sp.csr_array, rows: sp.csr_array) -> float:
    """Return one less the chance share of the cosine across edges."""
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    total = degrees.sum()
    if total <= 0:
        return 0.0
    some = np.arange(len(degrees))
    if len(some) > MAX_DOCUMENTS:
        some = np.random.default_rng(0).choice(len(some), MAX_DOCUMENTS, replace=False)
    products = (graph[some] @ rows).multiply(rows[some]).sum()
    agreement = products / max(degrees[some].sum(), 1e-300)
    pooled = np.asarray(rows.T @ degrees).ravel()
    chance = float(pooled @ pooled) / total**2
    return float(1.0 - chance / agreement) if agreement > 0 else 0.0


def _spread_scores(
    graph: sp.csr_array, known: NDArray[np.intp], members: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how much of each class's other labels reach each labelled document."""
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    scale = sp.diags_array(1.0 / np.sqrt(np.maximum(degrees, 1e-300)))
    step = SPREAD * (scale @ graph @ scale)
    between = np.empty((len(known), len(known)))
    width = max(BLOCK // graph.shape[0], 1)
    for first in range(0, len(known), width):
        block = known[first : first + width]
        start = np.zeros((graph.shape[0], len(block)))
        start[block, np.arange(len(block))] = 1.0
        reached = start
        for _ in range(ROUNDS):
            reached = step @ reached
            reached += start
        between[:, first : first + width] = reached[known]
    np.fill_diagonal(between, 0.0)
    scores: NDArray[np.float64] = between @ members
    return scores / np.maximum(members.sum(axis=0) - members, 1.0)


def _centroid_scores(
    rows: sp.csr_array, members: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return cosines of documents with the class centroids of the others."""
    products = (rows @ rows.T).toarray()
    own = np.diag(products)[:, None]
    sums = products @ members  # x_i · s_c
    norms = np.einsum("ic,ic->c", members, sums)[None, :]  # ‖s_c‖²
    norms = norms - members * (2 * sums - own)  # without document i in its class
    scores: NDArray[np.float64] = (sums - members * own) / np.sqrt(
        np.maximum(norms, 1e-12)
    )
    return scores


def _lift(scores: NDArray[np.float64], members: NDArray[np.float64]) -> float:
    """Return the share of documents whose class has the best score, beyond chance."""
    chance = float((members.mean(axis=0) ** 2).sum())
    found = members[np.arange(len(scores)), scores.argmax(axis=1)]
    right = float((found * (scores.max(axis=1) > 0)).mean())
    return max(right - chance, 0.0) / (1.0 - chance)
