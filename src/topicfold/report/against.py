# SPDX-License-Identifier: BSD-3-Clause
"""Two models compared: which topics are the same, and which documents moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from topicfold.exceptions import DataError
from topicfold.report.page import clean, pack_array
from topicfold.topic_data import NAME_RELEVANCE, TopicData

_N_WORDS = 12
_MOST_MOVES = 100


@dataclass(frozen=True)
class Matching:
    """Topics of two models, matched.

    The likeness of two topics is the mean of the Bhattacharyya coefficients of their
    words, p(w|k), and of their documents, p(d|k), as far as the models share them. A
    pair of the best assignment stays a pair if one of the two is the most similar topic
    of the other; topics that are only left over have no counterpart.
    """

    data: TopicData
    other: TopicData
    likeness: NDArray[np.float64]  # of every two topics
    pairs: dict[int, int]
    # The documents that both models have, by their places in each.
    here: NDArray[np.int64]
    there: NDArray[np.int64]

    def moves(self) -> list[tuple[int, int, int]]:
        """Return (topic, other topic, documents) of pairs of main topics, most first.

        Only documents whose two main topics are not counterparts have moved.
        """
        if not len(self.here):
            return []
        table = np.zeros(self.likeness.shape, dtype=np.int64)
        main = self.data.main_topics()[self.here], self.other.main_topics()[self.there]
        np.add.at(table, main, 1)
        for pair in self.pairs.items():
            table[pair] = 0
        found = np.argwhere(table).tolist()
        rows = [(one, two, int(table[one, two])) for one, two in found]
        return sorted(rows, key=lambda row: (-row[2], *row[:2]))

    def nearest(self, topic: int | None, other: int | None) -> list[float]:
        """Return the most similar topic of the other model, and how similar it is."""
        row = self.likeness[:, other] if topic is None else self.likeness[topic]
        return [int(row.argmax()), round(float(row.max()), 4)]

    def records(self, n_words: int = _N_WORDS) -> list[dict[str, Any]]:
        """Return a row per topic, most similar first, those without counterpart last.

        Examples
        --------
        >>> one = TopicData(topics=[[0.7, 0.3], [0, 1]], vocabulary=["cat", "tax"])
        >>> two = TopicData(topics=[[0.2, 0.8]], vocabulary=["tax", "cat"])
        >>> [(row["topic"], row["other"]) for row in match_models(one, two).records()]
        [(0, 0), (1, None)]
        """
        ours = self.data.top_terms(n_words, NAME_RELEVANCE)
        theirs = self.other.top_terms(n_words, NAME_RELEVANCE)
        alone = {*range(self.other.n_topics)} - {*self.pairs.values()}
        pairs: list[tuple[int | None, int | None]] = []
        pairs += sorted(self.pairs.items(), key=lambda pair: -self.likeness[pair])
        pairs += [(k, None) for k in range(self.data.n_topics) if k not in self.pairs]
        pairs += [(None, k) for k in sorted(alone)]
        rows = []
        for one, two in pairs:
            left = () if one is None else ours[one]
            right = () if two is None else theirs[two]
            both = one is not None and two is not None
            rows.append(
                {
                    "topic": one,
                    "other": two,
                    "likeness": float(self.likeness[one, two]) if both else None,
                    "shared": " ".join(word for word in left if word in right),
                    "here": " ".join(word for word in left if word not in right),
                    "there": " ".join(word for word in right if word not in left),
                }
            )
        return rows


def match_models(data: TopicData, other: TopicData) -> Matching:
    """Match the topics of two models that share words or documents.

    Examples
    --------
    >>> one = TopicData(topics=[[0.7, 0.3], [0, 1]], vocabulary=["cat", "tax"])
    >>> two = TopicData(topics=[[0.9, 0.1], [0.2, 0.8]], vocabulary=["tax", "cat"])
    >>> match_models(one, two).pairs
    {0: 1, 1: 0}
    """
    if not isinstance(other, TopicData):
        raise DataError(
            f"a model is compared with TopicData, not with {type(other).__name__}. "
            "Give model.topic_data(words)."
        )
    place = {word: column for column, word in enumerate(other.vocabulary)}
    words = [column for column, word in enumerate(data.vocabulary) if word in place]
    theirs = [place[data.vocabulary[column]] for column in words]
    here, there = _common_documents(data, other)
    found = []
    if words:
        found.append(_overlap(data.topics[:, words], other.topics[:, theirs]))
    if len(here):
        found.append(_overlap(_of_topics(data)[:, here], _of_topics(other)[:, there]))
    if not found:
        raise DataError(
            "the two models have no words and no documents in common, so their topics "
            "cannot be matched. Give two models of the same or similar documents."
        )
    likeness = np.mean(found, axis=0)
    first, second = likeness.argmax(axis=1), likeness.argmax(axis=0)
    pairs = {
        one: two
        for one, two in zip(
            *(side.tolist() for side in linear_sum_assignment(-likeness)), strict=True
        )
        if first[one] == two or second[two] == one
    }
    return Matching(data, other, likeness, pairs, here, there)


def _overlap(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.float64]:
    """Return Σ √(p q) of every row of one and every row of the other."""
    product = np.sqrt(one) @ np.sqrt(other).T
    return np.clip(product.astype(np.float64), 0.0, 1.0)


def _of_topics(data: TopicData) -> NDArray[np.float64]:
    """Return p(d|k), the share of every document in the words of a topic."""
    tokens = np.asarray(data.doc_topics).T * data.document_weights()
    return np.asarray(tokens / np.maximum(tokens.sum(axis=1, keepdims=True), 1e-300))


def _common_documents(
    data: TopicData, other: TopicData
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the documents that both have: of the same id and text."""
    pairs: list[tuple[int, int]] = []
    if data.doc_topics is None or other.doc_topics is None:
        pass
    elif data.doc_ids is not None and other.doc_ids is not None:
        place = {name: row for row, name in enumerate(other.doc_ids)}
        named = enumerate(data.doc_ids)
        pairs = [(row, place[name]) for row, name in named if name in place]
    elif data.n_documents == other.n_documents:
        pairs = [(row, row) for row in range(data.n_documents)]
    if data.texts is not None and other.texts is not None:
        pairs = [(a, b) for a, b in pairs if data.texts[a] == other.texts[b]]
    here, there = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return here, there


def model_title(data: TopicData) -> str:
    """Return what a model is, and its number of topics."""
    plural = "s" if data.n_topics != 1 else ""
    return f"{data.settings.get('model', 'Topic model')}, {data.n_topics} topic{plural}"


def against_content(
    data: TopicData, other: TopicData, rows: NDArray[np.int64]
) -> dict[str, Any]:
    """Return the comparison for the page; `rows` are the documents that it shows."""
    match = match_models(data, other)
    sizes = other.topic_sizes()
    moves = match.moves()
    content: dict[str, Any] = {
        "name": clean(model_title(other)),
        "topics": [
            {"name": clean(other.name(k)), "size": round(float(sizes[k]), 5)}
            for k in range(other.n_topics)
        ],
        "rows": [
            row
            | {name: clean(row[name]) for name in ("shared", "here", "there")}
            | {"near": match.nearest(row["topic"], row["other"])}
            for row in match.records()
        ],
        "documents": len(match.here),
        "moved": sum(number for *_, number in moves),
        "moves": moves[:_MOST_MOVES],
    }
    if len(match.here):
        # Their number of topics stands for a document that they do not have.
        main = np.full(data.n_documents, other.n_topics)
        main[match.here] = other.main_topics()[match.there]
        content["main"] = pack_array(main[rows])
    return content
