# SPDX-License-Identifier: BSD-3-Clause
"""Are a topic's words its own? Exclusivity and FREX."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from topicfold.exceptions import DataError
from topicfold.metrics._checks import checked_array
from topicfold.metrics.words import check_enough, top_columns


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

    Returns
    -------
    array of shape (n_topics,)

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
    check_enough(n_words, weights.shape[1])
    shares = _shares(weights)
    scores = np.full(len(weights), np.nan)
    for number, topic in enumerate(top_columns(weights, n_words, least=1)):
        if len(topic):
            scores[number] = shares[number, topic].mean()
    return scores


def frex(topics: ArrayLike, *, weight: float = 0.5) -> NDArray[np.float64]:
    """FREX of every word in every topic: frequent in the topic, and exclusive to it.

    The weighted harmonic mean of two ranks among the words of the topic: that of its
    share ``φ_kw / Σ_j φ_jw`` and that of its frequency φ_kw, both as empirical
    distribution functions. Words of no weight in a topic get 0.

    Range: 0 to 1. Direction: higher says more about the topic. The top words by it
    are ``top_words(frex(topics), vocabulary)``.

    Parameters
    ----------
    topics : array of shape (n_topics, n_terms)
        Word distributions of the topics, not negative.
    weight : float, default=0.5
        Of exclusivity, in [0, 1]; the rest is that of frequency.

    Returns
    -------
    array of shape (n_topics, n_terms)

    References
    ----------
    .. [1] J. Bischof, E. Airoldi, "Summarizing topical content with word frequency and
       exclusivity", ICML 2012.

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
