# SPDX-License-Identifier: BSD-3-Clause
"""Terms of the page: candidates for every λ of the slider, and topics of a term."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.topic_data import TopicData

N_SHOWN = 30
# The stops of the slider: for each of them the list is exact.
LAMBDAS = tuple(step / 10 for step in range(11))
_TOPICS_OF_A_TERM = 5


@dataclass(frozen=True)
class TermIndex:
    """The terms that the page knows.

    Attributes
    ----------
    columns : ndarray of int
        Their columns in the vocabulary, the most frequent first.
    frequencies : ndarray
        p(w) of each.
    candidates : list of ndarray of int
        For every topic the places, in `columns`, of all terms that are among its best
        `N_SHOWN` for one of `LAMBDAS`, in the order of the vocabulary.
    topics, shares : ndarray of shape (n, m)
        The topics with the largest p(k|w), and that probability.
    """

    columns: NDArray[np.int64]
    frequencies: NDArray[np.float64]
    candidates: list[NDArray[np.int64]]
    topics: NDArray[np.int64]
    shares: NDArray[np.float64]


def index_terms(data: TopicData, max_terms: int) -> TermIndex:
    """Choose the terms of the page and rank them.

    The `max_terms` most frequent are always known, and those that a topic lists.

    Examples
    --------
    >>> data = TopicData(topics=[[0.7, 0.3], [0.0, 1.0]], vocabulary=["cat", "tax"])
    >>> index = index_terms(data, 10)
    >>> index.columns.tolist()
    [1, 0]
    >>> [places.tolist() for places in index.candidates]
    [[1, 0], [0]]
    """
    frequencies = data.term_frequencies()
    listed = [
        np.unique(_best_columns(row, np.log(np.maximum(frequencies, 1e-300))))
        for row in data.topics
    ]
    order = np.argsort(-frequencies, kind="stable")
    known = np.zeros(data.n_terms, dtype=bool)
    known[order[:max_terms]] = True
    known[np.concatenate(listed)] = True
    columns = order[known[order]]
    place = np.empty(data.n_terms, dtype=np.int64)
    place[columns] = np.arange(len(columns))
    topics, shares = _topics_of_terms(data, columns)
    return TermIndex(
        columns=columns,
        frequencies=frequencies[columns],
        candidates=[place[found] for found in listed],
        topics=topics,
        shares=shares,
    )


def _best_columns(
    row: NDArray[Any], background: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the columns of the best terms of a topic for every λ, with repetition."""
    possible = np.flatnonzero(row > 0)
    log_row = np.log(row[possible].astype(np.float64))
    n_best = min(N_SHOWN, len(possible))
    found = []
    for value in LAMBDAS:
        score = np.round(log_row - (1 - value) * background[possible], 10)
        threshold = np.partition(score, len(score) - n_best)[len(score) - n_best]
        # Ties are decided by column, as in TopicData.top_terms.
        above = np.flatnonzero(score > threshold)
        ties = np.flatnonzero(score == threshold)[: n_best - len(above)]
        found += [above, ties]
    return possible[np.concatenate(found)]


def _topics_of_terms(
    data: TopicData, columns: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the topics of every term by falling p(k|w) ∝ p(k) p(w|k)."""
    n_best = min(_TOPICS_OF_A_TERM, data.n_topics)
    topics = np.empty((len(columns), n_best), dtype=np.int64)
    shares = np.empty((len(columns), n_best))
    sizes = data.topic_sizes()[:, None]
    block = max(1, 4_000_000 // data.n_topics)
    for first in range(0, len(columns), block):
        rows = slice(first, first + block)
        joint = (data.topics[:, columns[rows]] * sizes).T
        total = np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        best = np.argsort(-joint, axis=1, kind="stable")[:, :n_best]
        topics[rows] = best
        shares[rows] = np.take_along_axis(joint, best, axis=1) / total
    return topics, shares
