# SPDX-License-Identifier: BSD-3-Clause
"""Topics as lists of words: top words, diversity, exclusivity, FREX.

The top words of a topic are its words of positive weight by descending weight, ties by
column. Words of no weight are never listed, so a sparse topic can have fewer than asked
for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from topicfold.core.counts import simplex_problems
from topicfold.core.parameters import whole_number
from topicfold.exceptions import DataError


def top_words(
    topics: ArrayLike, vocabulary: Sequence[str], n_words: int = 10
) -> list[list[str]]:
    """List the words of highest weight of every topic, ties as in the vocabulary.

    Parameters
    ----------
    topics : array of shape (n_topics, n_terms)
        Weights of the words; any scale.
    vocabulary : sequence of str
        The words, one per column.
    n_words : int, default=10
        Length of the lists; shorter where a topic has fewer words of positive weight.

    Examples
    --------
    >>> top_words([[0.2, 0.5, 0.2, 0.1], [0, 0, 0, 1]], ["a", "b", "c", "d"], 3)
    [['b', 'a', 'c'], ['d']]
    """
    weights = checked_array(topics, "topics")
    check_vocabulary(vocabulary, weights.shape[1])
    whole_number(n_words, "n_words")
    columns = top_columns(weights, min(n_words, weights.shape[1]))
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
    columns = np.concatenate(top_columns(weights, n_words))
    if not len(columns):
        raise DataError("topics has no positive weight, so there are no top words.")
    return len(np.unique(columns)) / len(columns)


def topic_exclusivity(topics: ArrayLike, *, n_words: int = 10) -> NDArray[np.float64]:
    """Share of its top words' weight that each topic has for itself.

    The mean over the top words w of topic k of ``φ_kw / Σ_j φ_jw``. A topic without
    words of positive weight gets NaN.

    Range: above 0 to 1, 1 / n_topics where all topics are the same. Direction: higher
    is better; read it beside coherence, since topics of rare words are exclusive.

    Parameters
    ----------
    topics : array of shape (n_topics, n_terms)
        Word distributions of the topics, not negative.
    n_words : int, default=10
        Top words of each topic, at most the number of terms.

    References
    ----------
    .. [1] J. Bischof, E. Airoldi, "Summarizing topical content with word frequency and
       exclusivity", ICML 2012.

    Examples
    --------
    >>> topic_exclusivity([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]], n_words=2).tolist()
    [0.75, 0.75]
    """
    weights = _checked_weights(topics)
    shares = _shares(weights)
    scores = np.full(len(weights), np.nan)
    for number, topic in enumerate(top_columns(weights, n_words)):
        if len(topic):
            scores[number] = shares[number, topic].mean()
    return scores


def frex(topics: ArrayLike, *, weight: float = 0.5) -> NDArray[np.float64]:
    """FREX of every word in every topic: frequent in the topic, and exclusive to it.

    By the authors of exclusivity (see `topic_exclusivity`): the weighted harmonic mean
    of two ranks among the words of the topic: that of its share ``φ_kw / Σ_j φ_jw`` and
    that of its frequency φ_kw, both as empirical distribution functions. Words of no
    weight in a topic get 0.

    Range: 0 to 1. Direction: higher says more about the topic. The top words by it
    are ``top_words(frex(topics), vocabulary)``.

    Parameters
    ----------
    topics : array of shape (n_topics, n_terms)
        Word distributions of the topics, not negative.
    weight : float, default=0.5
        Of exclusivity, in [0, 1]; the rest is that of frequency.

    Examples
    --------
    >>> frex([[0.6, 0.4, 0.0], [0.6, 0.0, 0.4]]).round(2).tolist()
    [[0.8, 0.8, 0.0], [0.8, 0.0, 0.8]]
    """
    weights = _checked_weights(topics)
    if not 0 <= weight <= 1:
        raise DataError(f"weight={weight} must be between 0 and 1.")
    shares = _shares(weights)
    scores = np.zeros(weights.shape)
    for topic, (frequency, share) in enumerate(zip(weights, shares, strict=True)):
        own = rankdata(share, method="max") / len(share)
        often = rankdata(frequency, method="max") / len(frequency)
        mean = 1 / (weight / own + (1 - weight) / often)
        scores[topic] = np.where(frequency > 0, mean, 0.0)
    return scores


def top_columns(
    weights: NDArray[np.floating], n_words: int, *, least: int = 1
) -> list[NDArray[np.int64]]:
    """Return the columns of the top words of every topic, best first."""
    whole_number(n_words, "n_words", least)
    n_terms = weights.shape[1]
    if n_words > n_terms:
        raise DataError(
            f"n_words={n_words} is more than the {n_terms} terms of topics. Give "
            f"n_words={n_terms} or less."
        )
    found = []
    for row in weights:
        # All words above the n-th weight and all that tie with it, then in order.
        bound = np.partition(row, -n_words)[-n_words]
        candidates = np.flatnonzero((row >= bound) & (row > 0))
        order = np.argsort(-row[candidates], kind="stable")
        found.append(candidates[order[:n_words]].astype(np.int64))
    return found


def _checked_weights(topics: ArrayLike) -> NDArray[np.float64]:
    weights = checked_array(topics, "topics").astype(np.float64)
    if weights.min() < 0:
        row, column = np.argwhere(weights < 0)[0]
        raise DataError(
            f"topics has negative weights (first at row {row}, column {column}). "
            "Exclusivity is of distributions of words."
        )
    return weights


def _shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    total = weights.sum(axis=0)
    return weights / np.where(total > 0, total, 1.0)


def checked_array(values: ArrayLike, name: str) -> NDArray[np.floating]:
    """Return a finite 2-d float array with at least one row and column."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.ndim != 2 or 0 in array.shape:
        raise DataError(
            f"{name} has shape {array.shape} and type {array.dtype}. Give a "
            "two-dimensional array of numbers with at least one row and column."
        )
    if array.dtype.kind != "f":
        array = array.astype(np.float64)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        raise DataError(
            f"{name} has entries that are not finite: {len(bad)} (first at row "
            f"{bad[0][0]}, column {bad[0][1]})."
        )
    return array


def checked_rows(values: ArrayLike, name: str) -> NDArray[np.floating]:
    """Return a 2-d float array whose rows are probability distributions."""
    array = checked_array(values, name)
    for problem in simplex_problems(name, array):
        raise DataError(f"{problem}.")
    return array


def check_vocabulary(vocabulary: Sequence[str], n_terms: int) -> None:
    """Refuse a vocabulary of another length than the topics."""
    if len(vocabulary) != n_terms:
        raise DataError(
            f"vocabulary has {len(vocabulary)} words for {n_terms} columns of topics."
        )
