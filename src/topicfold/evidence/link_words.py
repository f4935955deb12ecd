# SPDX-License-Identifier: BSD-3-Clause
"""Words, in addition to topics, in the prediction of links.

Topics tell what a document is about, and words tell which of the documents about it are
meant. The log odds of a link are ``s + a t_de + b u_d·u_e + c u_d·ū_e`` with t the log
odds by topics (``evidence.links``), u rows of tf-idf and ū_e their mean over the
documents that e is linked to: a logistic regression of the links against pairs drawn at
random, in which a link is left out of ū. Distinguishing links from random pairs is
easier than finding the best among candidates and relies more on topics. So words get
three times the weight, and the line is fitted again (chosen on the corpora of
benchmarks/results/sides_links.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from topicfold.core.typing import Array
from topicfold.evidence.links import PAIRS_PER_LINK, Links

Matrix = NDArray[np.float64]
WORDS_COUNT = 3.0
# Candidates by topics and by words, for each suggestion asked for, and the fewest.
PER_SUGGESTION, FEWEST_CANDIDATES = 5, 100


def graph_of(side: Links) -> sparse.csr_array:
    """Return the links of a fit as a symmetric matrix of ones."""
    size = len(side.link_topics_)
    first, second = side.pairs_.T
    ends = np.r_[first, second], np.r_[second, first]
    return sparse.csr_array((np.ones(len(ends[0])), ends), shape=(size, size))


def around(words: sparse.csr_matrix, graph: sparse.csr_array) -> sparse.csr_array:
    """Return the mean row of each document's neighbours; zeros without any."""
    degrees = np.maximum(np.asarray(graph.sum(axis=1)).ravel(), 1.0)
    return sparse.csr_array(sparse.diags_array(1.0 / degrees) @ graph @ words)


def learn_words(
    side: Links, words: sparse.csr_matrix, theta: Array, doc_topics: Array, rng: Any
) -> NDArray[np.float64]:
    """Return s, a, b and c.

    `theta` are mixtures of the training documents' words, `doc_topics` those of the
    fit.
    """
    graph = graph_of(side)
    first, second = graph.nonzero()
    size = len(side.link_topics_)
    drawn = rng.randint(size, size=(PAIRS_PER_LINK * len(first), 2))
    sums, degrees = sparse.csr_array(graph @ words), np.diff(graph.indptr)
    mixed = (
        np.asarray(theta, np.float64) + doc_topics
    ) / 2  # as `Links.fit_prediction` does
    topic_sums = graph @ mixed

    def features(one: Any, other: Any, linked: bool) -> Matrix:
        own = _products(words, words, one, other)
        total = _products(words, sums, one, other)
        norms = _products(words, words, one, one)
        left = degrees[other] - float(linked)
        near = (total - norms * linked) / np.maximum(left, 1.0)
        around = (topic_sums[other] - mixed[one] * linked) / np.maximum(left, 1.0)[
            :, None
        ]
        ends = (mixed[other] + np.maximum(around, 0.0)) / 2
        ends = np.where(left[:, None] > 0, ends, mixed[other])
        topics = _topic_odds(side, theta[one], ends)
        return np.stack([topics, own, np.where(left > 0, near, 0.0)], axis=1)

    rows = np.vstack(
        [features(first, second, True), features(drawn[:, 0], drawn[:, 1], False)]
    )
    linked = np.arange(len(rows)) < len(first)
    # Links are there in both directions.
    masses = np.where(linked, 0.5, 1.0)
    found = LogisticRegression(C=1e3, max_iter=500).fit(rows, linked, masses).coef_[0]
    found = np.maximum(found, 0.0) * [1.0, WORDS_COUNT, WORDS_COUNT]
    line = LogisticRegression(C=1e3).fit((rows @ found)[:, None], linked, masses)
    pairs = max(size * (size - 1) / 2, 1.0)
    start = float(line.intercept_[0]) + float(np.log(max(len(drawn), 1) / pairs))
    return np.append(start, max(float(line.coef_[0, 0]), 0.0) * found)


def _topic_odds(side: Links, one: Array, other: Array) -> Matrix:
    products = np.asarray(one, np.float64) * np.asarray(other, np.float64)
    return np.asarray(np.sqrt(products) @ side.coef_ + side.intercept_)


def _products(one: Any, other: Any, rows: Any, columns: Any) -> Matrix:
    found = sparse.csr_array(one)[rows].multiply(sparse.csr_array(other)[columns])
    return np.asarray(found.sum(axis=1), dtype=np.float64).ravel()


def suggest(
    side: Links,
    coef: NDArray[np.float64],
    ends: sparse.csr_array,
    query: sparse.csr_matrix,
    theta: Array,
    n: int,
    *,
    exclude_self: bool,
    threads: int,
) -> tuple[NDArray[np.int64], Matrix]:
    """Return the likeliest documents of the fit and their log odds, best first.

    Candidates are the best by topics and the best by words; `ends` are words of the
    training documents, each with its neighbours' (b u + c ū).
    """
    from topicfold.graph.inverted_lists import InvertedLists

    size = len(side.link_topics_) - exclude_self
    n_best = min(max(PER_SUGGESTION * n, FEWEST_CANDIDATES), size)
    options: dict[str, Any] = {"exclude_self": exclude_self, "threads": threads}
    by_topics, _ = side.suggest(theta, n_best, **options)
    lists = InvertedLists(ends.astype(np.float64), take_min=False)
    rows = sparse.csr_array(query.astype(np.float64))
    by_words, _ = lists.search(rows, n_best, exclude_self, threads)
    documents = np.full((len(theta), min(n, size)), -1, dtype=np.int64)
    odds = np.full(documents.shape, -np.inf)
    for row in range(len(theta)):
        found = np.union1d(by_topics[row], by_words[row])
        found = found[found >= 0]
        one = np.full(len(found), row)
        scores = log_odds(side, coef, ends, rows, theta, one, found)
        best = np.argsort(-scores, kind="stable")[: documents.shape[1]]
        documents[row, : len(best)] = found[best]
        odds[row, : len(best)] = scores[best]
    return documents, odds


def log_odds(
    side: Links,
    coef: NDArray[np.float64],
    ends: sparse.csr_array,
    query: Any,
    theta: Array,
    rows: Any,
    documents: Any,
) -> Matrix:
    """Return log odds of links between rows of a query and documents of the fit."""
    topics = _topic_odds(side, theta[rows], side.link_topics_[documents])
    return coef[0] + coef[1] * topics + _products(query, ends, rows, documents)
