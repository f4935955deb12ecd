# SPDX-License-Identifier: BSD-3-Clause
"""Metrics of topics as word lists: top words, diversity, NPMI coherence.

The top words of a topic are its words of positive weight by falling weight, ties by
column. Words of no weight are never listed, so a sparse topic can have fewer than asked
for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topicfold.exceptions import DataError
from topicfold.metrics._checks import checked_array, checked_counts
from topicfold.metrics.cooccurrence import pair_counts, word_indicator


def top_words(
    topics: ArrayLike, vocabulary: Sequence[str], n_words: int = 10
) -> list[list[str]]:
    """List the words of highest weight of every topic.

    Parameters
    ----------
    topics : array of shape (n_topics, n_terms)
        Weights of the words; any scale.
    vocabulary : sequence of str
        The words, one a column.
    n_words : int, default=10
        Length of the lists; shorter where a topic has fewer words of positive weight.

    Returns
    -------
    list of list of str
        By falling weight, ties in the order of the vocabulary.

    Examples
    --------
    >>> top_words([[0.2, 0.5, 0.2, 0.1], [0, 0, 0, 1]], ["a", "b", "c", "d"], 3)
    [['b', 'a', 'c'], ['d']]
    """
    weights = checked_array(topics, "topics")
    if len(vocabulary) != weights.shape[1]:
        raise DataError(
            f"vocabulary has {len(vocabulary)} words for {weights.shape[1]} columns of "
            "topics."
        )
    columns = top_columns(weights, n_words, least=1)
    return [[vocabulary[column] for column in topic] for topic in columns]


def topic_diversity(topics: ArrayLike, n_words: int = 25) -> float:
    """Share of different words among the top words of all topics.

    Range: 1 / n_topics (all topics list the same words) to 1 (no word is listed
    twice). Direction: higher is better; low values mean redundant topics.

    Parameters
    ----------
    topics : array of shape (n_topics, n_terms)
        Weights of the words; any scale.
    n_words : int, default=25
        Top words of each topic, at most the number of terms.

    Returns
    -------
    float

    References
    ----------
    .. [1] A. Dieng, F. Ruiz, D. Blei, "Topic modeling in embedding spaces", TACL 8,
       2020.

    Examples
    --------
    >>> topic_diversity([[0.5, 0.3, 0.2], [0.5, 0.2, 0.3]], n_words=2)
    0.75
    """
    weights = checked_array(topics, "topics")
    check_enough(n_words, weights.shape[1])
    columns = np.concatenate(top_columns(weights, n_words, least=1))
    if not len(columns):
        raise DataError("topics has no positive weight, so there are no top words.")
    return len(np.unique(columns)) / len(columns)


def npmi_coherence(
    topics: ArrayLike, X: Any, *, n_words: int = 10
) -> NDArray[np.float64]:
    """Coherence of every topic: mean NPMI of the pairs of its top words.

    ``NPMI(v, w) = log(p(v, w) / (p(v) p(w))) / -log p(v, w)``, where p is the share of
    the documents of X that have the word, or both words (boolean, whole documents, no
    window, no smoothing).

    The conventions where the formula has no value: a pair that never occurs together
    has -1, the limit; so has a pair with a word that never occurs. A pair of words that
    are in every document has 0: they say nothing about each other. A topic with fewer
    than two words of positive weight has no pairs and gets NaN.

    Range: -1 (never together) over 0 (independent) to 1 (only together). Direction:
    higher is better.

    Parameters
    ----------
    topics : array of shape (n_topics, n_terms)
        Weights of the words; any scale.
    X : sparse matrix of shape (n_documents, n_terms)
        The reference corpus, in general the training documents.
    n_words : int, default=10
        Top words of each topic, at least 2, at most the number of terms.

    Returns
    -------
    array of shape (n_topics,)

    References
    ----------
    .. [1] G. Bouma, "Normalized (pointwise) mutual information in collocation
       extraction", GSCL 2009.
    .. [2] J. H. Lau, D. Newman, T. Baldwin, "Machine reading tea leaves", EACL 2014.

    Examples
    --------
    >>> X = [[1, 2, 0], [3, 1, 0], [0, 0, 1], [0, 0, 1]]
    >>> npmi_coherence([[0.6, 0.3, 0.1], [0.5, 0.1, 0.4]], X, n_words=2).tolist()
    [1.0, -1.0]
    """
    weights = checked_array(topics, "topics")
    check_enough(n_words, weights.shape[1])
    reference = checked_counts(X, "X")
    if reference.shape[1] != weights.shape[1] or reference.shape[0] == 0:
        raise DataError(
            f"X has shape {reference.shape} for topics of {weights.shape[1]} terms. "
            "Give at least one document, on the vocabulary of the topics."
        )
    columns = top_columns(weights, n_words, least=2)
    used = np.unique(np.concatenate(columns))
    has_word = word_indicator(reference, used)
    scores = np.full(len(columns), np.nan)
    for number, topic in enumerate(columns):
        if len(topic) < 2:
            continue
        together = pair_counts(has_word, np.searchsorted(used, topic))
        scores[number] = _mean_npmi(together, reference.shape[0])
    return scores


def _mean_npmi(together: NDArray[np.float64], n_documents: int) -> float:
    """Mean over pairs; `together` has document frequencies on its diagonal."""
    first, second = np.triu_indices(len(together), k=1)
    frequency = np.diag(together).astype(np.float64)
    joint = together[first, second].astype(np.float64)
    scores = np.full(len(joint), -1.0)
    scores[joint == n_documents] = 0.0
    mixed = (joint > 0) & (joint < n_documents)
    p = joint[mixed] / n_documents
    apart = frequency[first[mixed]] * frequency[second[mixed]] / n_documents**2
    scores[mixed] = np.log(p / apart) / -np.log(p)
    # Rounding must not leave the range.
    return float(np.clip(scores, -1.0, 1.0).mean())


def top_columns(
    weights: NDArray[np.floating], n_words: int, *, least: int
) -> list[NDArray[np.int64]]:
    """Return the columns of the top words of every topic, best first."""
    if not isinstance(n_words, int | np.integer) or n_words < least:
        raise DataError(f"n_words={n_words!r} must be an integer, {least} or more.")
    n_words = int(min(n_words, weights.shape[1]))
    found = []
    for row in weights:
        # All words above the n-th weight and all that tie with it, then in order.
        bound = np.partition(row, -n_words)[-n_words]
        candidates = np.flatnonzero((row >= bound) & (row > 0))
        order = np.argsort(-row[candidates], kind="stable")
        found.append(candidates[order[:n_words]].astype(np.int64))
    return found


def check_enough(n_words: int, n_terms: int) -> None:
    """Refuse more top words than there are terms."""
    if n_words > n_terms:
        raise DataError(
            f"n_words={n_words} is more than the {n_terms} terms of topics. Give "
            f"n_words={n_terms} or less."
        )
