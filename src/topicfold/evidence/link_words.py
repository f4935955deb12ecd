# SPDX-License-Identifier: BSD-3-Clause
"""Words and known links, in addition to topics, in the prediction of links.

Topics tell what a document is about, words tell which of the documents about it are
meant, and links which of these are linked to at all. The log odds of a link from d to e
are ``s + a t_de + b u_d·u_e + c u_d·ū_e + f log(1 + n_e) + g Σ_j u_d·u_j`` with t the
log odds by topics (``evidence.links``), u rows of tf-idf, ū_e their mean over the n_e
documents that e is linked to, and j those of the twenty documents with words most like
d's that are linked to e: a logistic regression of the links against pairs drawn at
random, in which a link is left out of ū and n. Telling links from random pairs is
easier than finding the best among candidates, and leans more on topics; so words count
three times as much, and the line is fitted again (chosen on the corpora of
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
Numbers = NDArray[np.int64]
WORDS_COUNT = 3.0
# Documents whose links a document with much the same words may have.
ALIKE = 20
# Documents from which the regression looks at pairs, so that a large corpus is not
# searched for every document's likes.
MOST_ENDS = 10_000
# Candidates by topics, words and links each, for each suggestion asked for, and the
# fewest.
PER_SUGGESTION, FEWEST_CANDIDATES = 5, 100


def graph_of(side: Links) -> sparse.csr_matrix:
    """Return the links of a fit as a symmetric matrix of ones."""
    size = len(side.link_topics_)
    first, second = side.pairs_.T
    ends = np.r_[first, second], np.r_[second, first]
    return sparse.csr_matrix((np.ones(len(ends[0])), ends), shape=(size, size))


def around(words: sparse.csr_matrix, graph: sparse.csr_matrix) -> sparse.csr_array:
    """Return the mean row of each document's neighbours; zeros without any."""
    degrees = np.maximum(np.asarray(graph.sum(axis=1)).ravel(), 1.0)
    return sparse.csr_array(sparse.diags_array(1.0 / degrees) @ graph @ words)


class LinkRule:
    """What topics, words and known links say of a link: s, a, b, c, f and g.

    `words` are those of the training documents. Without `coef` it is learned from
    `theta`, the mixtures of the training documents' words, and `doc_topics`, those of
    the fit.
    """

    def __init__(
        self,
        side: Links,
        words: sparse.csr_matrix,
        coef: NDArray[np.float64] | None = None,
        *,
        threads: int = 1,
    ) -> None:
        self.side, self.words, self.threads = side, words, threads
        self.graph = graph_of(side)
        self.degrees = np.diff(self.graph.indptr)
        if coef is not None:
            self.coef = coef
            own, near = coef[2:4]
            self.ends = own * words + near * around(words, self.graph)

    def learn(self, theta: Array, doc_topics: Array, rng: Any) -> NDArray[np.float64]:
        """Return the six numbers, learned from the links of the fit."""
        words, graph, degrees = self.words, self.graph, self.degrees
        first, second = graph.nonzero()
        size = len(degrees)
        drawn = rng.randint(size, size=(PAIRS_PER_LINK * len(first), 2))
        pairs = max(size * (size - 1) / 2, 1.0)
        share = max(len(drawn), 1) / pairs
        asked = np.arange(size)
        if size > MOST_ENDS:
            asked = np.sort(rng.permutation(size)[:MOST_ENDS])
            here = np.isin(first, asked)
            first, second = first[here], second[here]
            drawn = drawn[np.isin(drawn[:, 0], asked)]
        likes = self.likes(words[asked], asked)
        place = np.zeros(size, dtype=np.int64)
        place[asked] = np.arange(len(asked))
        sums = sparse.csr_array(graph @ words)
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
            topics = _topic_odds(self.side, theta[one], ends)
            near = np.where(left > 0, near, 0.0)
            votes = self.votes(likes, place[one], other)
            return np.stack([topics, own, near, np.log1p(left), votes], axis=1)

        rows = np.vstack(
            [features(first, second, True), features(drawn[:, 0], drawn[:, 1], False)]
        )
        linked = np.arange(len(rows)) < len(first)
        # Links are there in both directions.
        masses = np.where(linked, 0.5, 1.0)
        regression = LogisticRegression(C=1e3, max_iter=500)
        found = np.maximum(regression.fit(rows, linked, masses).coef_[0], 0.0)
        found *= [1.0, WORDS_COUNT, WORDS_COUNT, 1.0, 1.0]
        line = LogisticRegression(C=1e3).fit((rows @ found)[:, None], linked, masses)
        start = float(line.intercept_[0]) + float(np.log(share))
        return np.append(start, max(float(line.coef_[0, 0]), 0.0) * found)

    def likes(self, query: Any, own: Numbers | None = None) -> tuple[Numbers, Matrix]:
        """Return the documents with words most like a query's (-1: none), and cosines.

        `own` are the numbers of the rows if they are documents of the fit: none is
        like itself.
        """
        from topicfold.graph.inverted_lists import InvertedLists

        lists = InvertedLists(_doubles(self.words), take_min=False)
        n_best = min(ALIKE + (own is not None), self.words.shape[0])
        found, cosines = lists.search(_doubles(query), n_best, False, self.threads)
        if own is not None:
            cosines = np.where(found == own[:, None], 0.0, cosines)
        order = np.argsort(-cosines, axis=1, kind="stable")[:, :ALIKE]
        found = np.take_along_axis(found, order, axis=1)
        cosines = np.take_along_axis(cosines, order, axis=1)
        return np.where(cosines > 0, found, -1), cosines

    def votes(self, likes: tuple[Numbers, Matrix], rows: Any, documents: Any) -> Matrix:
        """Return the sum of cosines of a row's likes that are linked to a document."""
        found, cosines = (part[rows] for part in likes)
        if not found.size:
            return np.zeros(len(found))
        others = np.repeat(np.asarray(documents), found.shape[1])
        linked = np.asarray(self.graph[np.maximum(found, 0).ravel(), others])
        return np.asarray((linked.reshape(found.shape) * cosines).sum(axis=1))

    def log_odds(
        self,
        query: Any,
        theta: Array,
        likes: tuple[Numbers, Matrix],
        rows: Any,
        documents: Any,
    ) -> Matrix:
        """Return log odds of links between rows of a query and documents of the fit."""
        start, by_topics, _, _, by_degree, by_votes = self.coef
        topics = _topic_odds(self.side, theta[rows], self.side.link_topics_[documents])
        odds = start + by_topics * topics + _products(query, self.ends, rows, documents)
        odds += by_degree * np.log1p(self.degrees[documents])
        return np.asarray(odds + by_votes * self.votes(likes, rows, documents))

    def suggest(
        self, query: sparse.csr_matrix, theta: Array, n: int, *, exclude_self: bool
    ) -> tuple[Numbers, Matrix]:
        """Return the likeliest documents of the fit and their log odds, best first.

        Candidates are the best by topics, by words, by the links of likes, and those
        with most links.
        """
        from topicfold.graph.inverted_lists import InvertedLists

        size = self.words.shape[0] - exclude_self
        n_best = min(max(PER_SUGGESTION * n, FEWEST_CANDIDATES), size)
        options: dict[str, Any] = {
            "exclude_self": exclude_self,
            "threads": self.threads,
        }
        by_topics, _ = self.side.suggest(theta, n_best, **options)
        lists = InvertedLists(_doubles(self.ends), take_min=False)
        rows = _doubles(query)
        by_words, _ = lists.search(rows, n_best, exclude_self, self.threads)
        likes = self.likes(rows, np.arange(len(theta)) if exclude_self else None)
        popular = np.argsort(-self.degrees, kind="stable")[:n_best]
        documents = np.full((len(theta), min(n, size)), -1, dtype=np.int64)
        odds = np.full(documents.shape, -np.inf)
        for row in range(len(theta)):
            by_links = self._linked_to(likes[0][row], likes[1][row], n_best)
            parts = by_topics[row], by_words[row], by_links, popular
            found = np.unique(np.concatenate(parts))
            found = found[(found >= 0) & ~((found == row) & exclude_self)]
            one = np.full(len(found), row)
            scores = self.log_odds(rows, theta, likes, one, found)
            best = np.argsort(-scores, kind="stable")[: documents.shape[1]]
            documents[row, : len(best)] = found[best]
            odds[row, : len(best)] = scores[best]
        return documents, odds

    def _linked_to(self, likes: Numbers, cosines: Matrix, n_best: int) -> Numbers:
        """Return the documents with the most votes of some documents."""
        row = sparse.csr_matrix(
            (cosines, (np.zeros(len(likes), int), np.maximum(likes, 0))),
            shape=(1, len(self.degrees)),
        )
        votes = sparse.csr_matrix(row @ self.graph)
        best = np.argsort(-votes.data, kind="stable")[:n_best]
        return votes.indices[best].astype(np.int64)


def _topic_odds(side: Links, one: Array, other: Array) -> Matrix:
    products = np.asarray(one, np.float64) * np.asarray(other, np.float64)
    return np.asarray(np.sqrt(products) @ side.coef_ + side.intercept_)


def _products(one: Any, other: Any, rows: Any, columns: Any) -> Matrix:
    found = sparse.csr_array(one)[rows].multiply(sparse.csr_array(other)[columns])
    return np.asarray(found.sum(axis=1), dtype=np.float64).ravel()


def _doubles(rows: Any) -> sparse.csr_array:
    return sparse.csr_array(rows).astype(np.float64)
