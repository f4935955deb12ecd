# SPDX-License-Identifier: BSD-3-Clause
"""Which documents are about the subjects of seed words: self-training from them.

A document with seed words belongs at first to the topic with most of them, each counted
once per document and weighted by its inverse document frequency. Naive Bayes, learned
from these documents, classifies all documents and is learned again from the result, a
few times. The words of the whole corpus are one more class: a document that they
explain better is about none of the seeds. A document that is half explained by them has
the weight √½ in its other classes, because it may well be about them. In the end
log-likelihoods are divided by the root of a document's length, as words are not
independent. The classes are where seeded topics start, and their probabilities P_dk are
evidence ``δ_dk = γ log max(P_dk, ε)`` on documents. Without it, topics without seeds
take documents that seeds are meant for. For these topics the probability is that of the
corpus, at least ½ (benchmarks/results/sides_seeds.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import softmax

from topicfold.core.typing import Array
from topicfold.parts.sides import Side
from topicfold.parts.steps import Context

Matrix = NDArray[np.float64]
# Rounds of self-training, and the pseudo-count of a word.
ROUNDS, SMOOTHING = 10, 0.3
# γ and ε of the evidence, and the least P of topics without seeds.
STRENGTH, LEAST, LEAST_UNSEEDED = 0.6, 0.05, 0.5
# Documents per topic with seeds below which self-training misleads; with more, a trial
# of the model shows it.
FEWEST_DOCUMENTS = 25
# Rows that are processed together.
ROWS = 20_000


class SelfTrained(NamedTuple):
    """The result of naive Bayes from seed words."""

    shares: Matrix  # P (D, n_seeded + 1), the corpus last
    topics: Matrix  # words of each class (n_seeded, V), rows sum to one


def self_trained(
    counts: Any, seeds: Sequence[Sequence[int]], frequencies: NDArray[Any]
) -> SelfTrained | None:
    """Learn naive Bayes from documents with seed words; None if there are too few."""
    size = counts.shape[0]
    idf = np.log(size / np.maximum(frequencies, 1.0))
    marks = sparse.lil_matrix((counts.shape[1], len(seeds)))
    for place, columns in enumerate(seeds):
        marks[list(columns), place] = idf[list(columns)][:, None]
    marks = marks.tocsr()
    if size < FEWEST_DOCUMENTS * len(seeds):
        return None
    n_seeded = len(seeds)
    shares = np.zeros((size, n_seeded + 1))
    for own, rows in _parts(counts):
        weights = np.asarray((rows > 0) @ marks.toarray())
        best = (weights > 0) & (weights >= weights.max(axis=1, keepdims=True))
        shares[own, :-1] = best / np.maximum(best.sum(axis=1, keepdims=True), 1)
    if not shares[:, :-1].any(axis=0).all():
        return None
    corpus = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel() + SMOOTHING
    rest, taught = 1 / (n_seeded + 1), shares[:, :-1]
    for _ in range(ROUNDS):
        words = np.full((n_seeded, counts.shape[1]), SMOOTHING)
        for own, rows in _parts(counts):
            words += np.asarray(rows.T @ taught[own]).T
        words /= words.sum(axis=1, keepdims=True)
        known = (taught.sum(axis=0) + 1) / (size + n_seeded)
        prior = np.log(np.append(known, rest))
        logs = np.log(np.vstack([words, corpus / corpus.sum()])).T
        shares = _rated(counts, logs, prior)
        rest = float(shares[:, -1].mean()) + 1 / size
        totals = shares[:, :-1].sum(axis=1, keepdims=True)
        taught = shares[:, :-1] / np.sqrt(np.maximum(totals, 1e-12))
    return SelfTrained(_rated(counts, logs, prior, by_root=True), words)


def _rated(counts: Any, logs: Matrix, prior: Matrix, by_root: bool = False) -> Matrix:
    """Return the probabilities of classes of documents, (D, C)."""
    found = []
    for _, rows in _parts(counts):
        scores = np.asarray(rows @ logs)
        if by_root:
            sizes = np.asarray(rows.sum(axis=1)).reshape(-1, 1)
            scores /= np.sqrt(np.maximum(sizes, 1.0))
        found.append(softmax(scores + prior, axis=1))
    return np.concatenate(found)


def _parts(counts: Any) -> Any:
    for first in range(0, counts.shape[0], ROWS):
        own = slice(first, first + ROWS)
        yield own, sparse.csr_matrix(counts[own]).astype(np.float64)


class SeedEvidence(Side):
    """Evidence of seed words on documents; :class:`SeededLDA` sets its values."""

    hook = "evidence"
    known_later = False
    _shares: Matrix | None = None

    def check(self, data: Any, context: Context) -> Any:
        """Return the result of self-training, None if there is none."""
        return self._shares

    def free_topics(self, data: Any, context: Context) -> NDArray[np.bool_]:
        """Those without seeds."""
        seeded = 0 if data is None else data.shape[1] - 1
        return np.arange(context.n_topics) >= seeded

    def evidence(self, counts: Array, data: Any, context: Context) -> Array:
        """Return δ; zeros where nothing is known."""
        found = np.zeros((context.n_documents, context.n_topics))
        if data is not None:
            found[:] = np.log(np.maximum(data[:, -1:], LEAST_UNSEEDED))
            found[:, : data.shape[1] - 1] = np.log(np.maximum(data[:, :-1], LEAST))
        return STRENGTH * found

    def finish(self, context: Context) -> None:
        """Forget the training documents."""
        self.__dict__.pop("_shares", None)
