# SPDX-License-Identifier: BSD-3-Clause
"""Names for topics from the documents' own phrases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.parameters import whole_number
from topicfold.exceptions import DataError

if TYPE_CHECKING:
    from topicfold.topic_data import TopicData


def topic_labels(
    data: TopicData,
    texts: Sequence[str | Sequence[str]] | None = None,
    *,
    n_labels: int = 3,
    min_count: int = 5,
    max_candidates: int = 2000,
    n_words: int = 100,
    discrimination: float = 0.7,
) -> list[list[str]]:
    """Name every topic by phrases of the documents.

    Candidates are pairs of neighbouring words of the vocabulary that occur together
    more often than by chance (t-test). A phrase l suits a topic by the expected mutual
    information ``Σ_w p(w|k) PMI(w, l)`` over the documents, less `discrimination` times
    its mean suitability for the other topics.

    Parameters
    ----------
    data : TopicData
        The topics; a record with the names is ``dataclasses.replace(data,
        topic_names=[labels[0] for labels in topic_labels(data)])``.
    texts : sequence of str or of tokens, optional
        The documents; default: those of `data`.
    n_labels : int, default=3
        Phrases per topic, best first; fewer where there are not that many.
    min_count : int, default=5
        Minimum number of documents that have a phrase.
    max_candidates : int, default=2000
        Number of phrases to consider, those of the highest t-value.
    n_words : int, default=100
        Top words of a topic in the expectation.
    discrimination : float, default=0.7
        0: phrases may suit all topics; larger: they must set a topic apart.

    Returns
    -------
    list of list of str
        For every topic; the topic's own first words where no phrase is frequent enough.

    References
    ----------
    .. [1] Q. Mei, X. Shen, C. Zhai, "Automatic labeling of multinomial topic models",
       KDD 2007.

    Examples
    --------
    >>> from topicfold import TopicData
    >>> texts = ["deep sea fish", "deep sea ship", "red fox den", "red fox cub"]
    >>> data = TopicData(topics=[[.4, .4, .2, 0, 0, 0], [0, 0, 0, .4, .4, .2]],
    ...     vocabulary=["deep", "sea", "fish", "red", "fox", "den"])
    >>> topic_labels(data, texts, n_labels=1, min_count=2)
    [['deep sea'], ['red fox']]
    """
    from topicfold.corpus import words_of

    documents = data.texts if texts is None else texts
    if documents is None:
        raise DataError(
            "topic_labels needs the documents, and data has no texts. Give texts."
        )
    if isinstance(documents, str) or not len(documents):
        raise DataError("texts must be a list with at least one document.")
    whole_number(n_labels, "n_labels")
    whole_number(min_count, "min_count")
    if discrimination < 0:
        raise DataError(f"discrimination={discrimination} must be 0 or more.")
    code = {word: column for column, word in enumerate(data.vocabulary)}
    tokens = (words_of(d) if isinstance(d, str) else d for d in documents)
    rows = [[code.get(token, -1) for token in words] for words in tokens]
    phrases = _candidates(rows, min_count, max_candidates)
    if not phrases:
        return [list(words[:n_labels]) for words in data.top_terms(n_labels)]
    scores = _suitability(data, rows, phrases, n_words)
    others = scores.sum(axis=0, keepdims=True) - scores
    scores = scores - discrimination * others / max(1, data.n_topics - 1)
    words = [f"{data.vocabulary[a]} {data.vocabulary[b]}" for a, b in phrases]
    # Equal but for rounding is equal on every machine.
    order = np.argsort(-np.round(scores, 10), axis=1, kind="stable")[:, :n_labels]
    return [[words[i] for i in row] for row in order.tolist()]


def _candidates(
    rows: list[list[int]], min_count: int, most: int
) -> list[tuple[int, int]]:
    """Return the pairs of words of highest t-value, best first."""
    pairs: Counter[tuple[int, int]] = Counter()
    documents: Counter[tuple[int, int]] = Counter()
    words: Counter[int] = Counter()
    total = 0
    for row in rows:
        total += len(row)
        words.update(row)
        found = [(a, b) for a, b in pairwise(row) if a >= 0 and b >= 0 and a != b]
        pairs.update(found)
        documents.update(set(found))
    scored = []
    for pair, n_documents in documents.items():
        if n_documents < min_count:
            continue
        count = pairs[pair]
        expected = words[pair[0]] * words[pair[1]] / total
        t = (count - expected) / np.sqrt(count)
        if t > 0:
            scored.append((-t, pair))
    return [pair for _, pair in sorted(scored)[:most]]


def _suitability(
    data: TopicData, rows: list[list[int]], phrases: list[tuple[int, int]], n_words: int
) -> NDArray[np.float64]:
    """Return Σ_w p(w|k) PMI(w, l) over top words of topics: topics × phrases."""
    n_documents = len(rows)
    number = {phrase: column for column, phrase in enumerate(phrases)}
    has_phrase = _indicator(
        ({number[pair] for pair in pairwise(row) if pair in number} for row in rows),
        (n_documents, len(phrases)),
    )
    top = data.top_term_ids(n_words)
    used = np.unique(top)
    place = {word: column for column, word in enumerate(used.tolist())}
    has_word = _indicator(
        ({place[word] for word in row if word in place} for row in rows),
        (n_documents, len(used)),
    )
    joint = sparse.coo_array(has_word.T @ has_phrase)
    p_word = np.asarray(has_word.sum(axis=0)).ravel() / n_documents
    p_phrase = np.asarray(has_phrase.sum(axis=0)).ravel() / n_documents
    apart = p_word[joint.row] * p_phrase[joint.col]
    pmi = np.log(joint.data / n_documents / apart)
    pmi = sparse.csr_array((pmi, (joint.row, joint.col)), shape=joint.shape)
    weights = np.zeros((data.n_topics, len(used)))
    for topic, best in enumerate(top):
        weights[topic, np.searchsorted(used, best)] = data.topics[topic, best]
    scores: NDArray[np.float64] = weights @ pmi
    return scores


def _indicator(rows: Iterable[set[int]], shape: tuple[int, int]) -> Any:
    """Return the matrix with 1 in the given columns of each row."""
    found = [sorted(row) for row in rows]
    ends = np.cumsum([0, *map(len, found)])
    columns = np.array([column for row in found for column in row], dtype=np.int64)
    return sparse.csr_array((np.ones(len(columns)), columns, ends), shape=shape)
