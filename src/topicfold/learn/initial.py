# SPDX-License-Identifier: BSD-3-Clause
"""Where EM starts: topics from random numbers, documents or an SVD."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.utils.extmath import randomized_svd

from topicfold.core.counts import rows_of
from topicfold.core.threads import even_ranges, n_threads, run_ranges
from topicfold.core.typing import Array
from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.exceptions import DataError

DOCUMENTS_PER_TOPIC = 10
BACKGROUND_SHARE = 0.5
SVD_DOCUMENTS = 50_000
NEIGHBORS_PER_TOPIC = 20
NEIGHBOR_DOCUMENTS = 20_000


def initial_topics(
    X: sparse.csr_matrix,
    n_topics: int,
    init: Any,
    rng: np.random.RandomState,
    n_jobs: int | None = None,
) -> Array:
    """Return (K, V) topics of the type of X, rows on the simplex.

    Entries are positive except where a given array has zeros. Made topic by topic:
    the result is the only array of its size. `init` is

    - ``"random"``: the corpus' word frequencies times random factors;
    - ``"documents"``: half a few random documents, half the corpus;
    - ``"neighbors"``: half a document and those most like it, half the corpus; the
      documents are chosen far from each other, among `NEIGHBOR_DOCUMENTS` random ones;
    - ``"svd"``: positive parts of singular vectors, filled with a little of the corpus
      (after NNDSVD, Boutsidis & Gallopoulos 2008); of a corpus in blocks, those of
      at most `SVD_DOCUMENTS` random documents;
    - an array (K, V): used as it is after normalising.
    """
    unigram = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() + 1.0 / X.shape[1]
    unigram /= unigram.sum()
    if not isinstance(init, str):
        return _given(init, n_topics, X.shape[1], unigram).astype(X.dtype, copy=False)
    starts: dict[str, Callable[..., Callable[[int], Array]]] = {
        "random": _random,
        "documents": _documents,
        "neighbors": partial(_neighbors, threads=n_threads(n_jobs)),
        "svd": _svd,
    }
    if init == "svd" and isinstance(X, BlockCorpus):
        X = _sampled(X, SVD_DOCUMENTS, rng)
    topic = starts[init](X, n_topics, unigram, rng)
    topics = np.empty((n_topics, X.shape[1]), X.dtype)
    for k in range(n_topics):
        weights = topic(k)
        topics[k] = weights / weights.sum()
    return topics


def _sampled(X: Any, most: int, rng: np.random.RandomState) -> sparse.csr_matrix:
    """Return all documents, or `most` random ones, in memory."""
    n_documents = X.shape[0]
    whole = n_documents <= most
    return X[:] if whole else X[np.sort(rng.choice(n_documents, most, False))]


def _given(init: Any, n_topics: int, n_terms: int, unigram: Array) -> Array:
    topics = np.asarray(init, dtype=np.float64)
    if topics.shape != (n_topics, n_terms):
        raise DataError(
            f"init has shape {topics.shape}, but n_components={n_topics} topics over "
            f"{n_terms} terms need ({n_topics}, {n_terms})."
        )
    if not np.isfinite(topics).all() or (topics < 0).any():
        raise DataError("init must be finite and non-negative; check your array.")
    totals = topics.sum(axis=1, keepdims=True)
    return np.where(totals > 0, topics / np.where(totals > 0, totals, 1), unigram)


def _random(
    X: sparse.csr_matrix, n_topics: int, unigram: Array, rng: np.random.RandomState
) -> Callable[[int], Array]:
    return lambda k: unigram * rng.gamma(1.0, size=X.shape[1])


def _documents(
    X: sparse.csr_matrix, n_topics: int, unigram: Array, rng: np.random.RandomState
) -> Callable[[int], Array]:
    used = np.flatnonzero(np.diff(X.indptr))

    def topic(k: int) -> Array:
        rows = rng.choice(used, size=min(DOCUMENTS_PER_TOPIC, len(used)))
        return _half_of(X[rows], unigram)

    return topic


def _half_of(documents: sparse.csr_matrix, unigram: Array) -> Array:
    """Return the words of some documents, half of them the corpus'."""
    counts = np.asarray(documents.sum(axis=0, dtype=np.float64)).ravel()
    own = (1 - BACKGROUND_SHARE) * counts / counts.sum()
    return own + BACKGROUND_SHARE * unigram


def _neighbors(
    X: sparse.csr_matrix,
    n_topics: int,
    unigram: Array,
    rng: np.random.RandomState,
    threads: int,
) -> Callable[[int], Array]:
    """Seeds by D² sampling on the cosine of tf-idf, each with its nearest documents.

    A document is drawn with a probability in proportion to its squared distance from
    the nearest seed so far (k-means++, Arthur & Vassilvitskii 2007).
    """
    X = _sampled(X, NEIGHBOR_DOCUMENTS, rng)
    X = X[np.flatnonzero(np.diff(X.indptr))]
    n_documents = X.shape[0]
    damped = X.astype(np.float64)
    damped.data = 1.0 + np.log(np.maximum(damped.data, 1.0))
    rows = TfidfTransformer().fit_transform(damped)
    ranges = even_ranges(n_documents, threads)
    pieces = {start: rows_of(rows, start, stop) for start, stop in ranges}
    distance = np.ones(n_documents)  # half the squared one
    # Where seeds are few, a bad one matters: the best of several is taken.
    n_tries = max(1, min(8, 20 // n_topics))
    # Not more than a topic's share of the documents.
    n_neighbors = min(NEIGHBORS_PER_TOPIC, max(1, n_documents // n_topics))

    def likeness_to(seed: int) -> Array:
        vector, likeness = rows[[seed]].toarray()[0], np.empty(n_documents)

        def multiply(start: int, stop: int) -> None:
            likeness[start:stop] = pieces[start] @ vector

        run_ranges(multiply, ranges, threads)
        return likeness

    def topic(k: int) -> Array:
        total = distance.sum()
        # As many seeds as there are different documents: begin again.
        chances = distance / total if total > 0 else None
        drawn = rng.choice(n_documents, size=n_tries, p=chances)
        tries = [likeness_to(seed) for seed in drawn]
        left = [np.minimum(distance, np.maximum(1.0 - near, 0.0)) for near in tries]
        best = int(np.argmin([part.sum() for part in left]))
        seed, likeness = drawn[best], tries[best]
        distance[:] = left[best]
        distance[seed] = 0.0
        least = np.partition(likeness, -n_neighbors)[-n_neighbors]
        nearest = np.flatnonzero(likeness >= least)
        nearest = nearest[np.argsort(-likeness[nearest], kind="stable")][:n_neighbors]
        return _half_of(X[nearest[likeness[nearest] > 0]], unigram)

    return topic


def _svd(
    X: sparse.csr_matrix, n_topics: int, unigram: Array, rng: np.random.RandomState
) -> Callable[[int], Array]:
    """Squared positive part of a singular vector of √X, plus noise."""
    rank = min(n_topics, *X.shape)
    left, _, right = randomized_svd(X.sqrt(), rank, random_state=rng)

    def topic(k: int) -> Array:
        # Topics beyond the matrix's rank repeat its vectors with the other sign.
        u, v = left[:, k % rank], right[k % rank]
        strength = [
            np.linalg.norm(np.maximum(s * u, 0)) * np.linalg.norm(np.maximum(s * v, 0))
            for s in (1, -1)
        ]
        sign = 1 if strength[0] >= strength[1] else -1
        part = np.maximum((sign if k < rank else -sign) * v, 0) ** 2
        share = part / part.sum() if part.sum() > 0 else unigram
        return 0.8 * share + 0.2 * unigram * rng.gamma(1.0, size=len(v))

    return topic
