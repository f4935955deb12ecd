# SPDX-License-Identifier: BSD-3-Clause
"""Coherence of topics: do their top words belong together? UMass and C_V.

NPMI on whole documents is in `topicfold.metrics.words`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topicfold.exceptions import DataError
from topicfold.metrics._checks import checked_array, checked_counts
from topicfold.metrics.cooccurrence import (
    pair_counts,
    window_cooccurrence,
    word_indicator,
)
from topicfold.metrics.words import check_enough, top_columns

# Keeps the logarithm of pairs that never occur together finite (Röder et al.).
_EPSILON = 1e-12


def umass_coherence(
    topics: ArrayLike, X: Any, *, n_words: int = 10, pseudocount: float = 1.0
) -> NDArray[np.float64]:
    """Coherence of every topic: mean log conditional probability of its top words.

    ``log((D(v, w) + pseudocount) / D(w))`` over the pairs where w is the more probable
    word of the topic; D counts the documents of X that have the word, or both.

    The paper adds the pairs up; here it is their mean, so that topics with fewer words
    compare. A pair with a word that never occurs gets the worst there is,
    ``log(pseudocount / n_documents)``; a topic with fewer than two words of positive
    weight has no pairs and gets NaN.

    Range: ``log(pseudocount / n_documents)`` to ``log(1 + pseudocount)``. Direction:
    higher is better. Only scores on the same X compare.

    Parameters
    ----------
    topics : array of shape (n_topics, n_terms)
        Weights of the words; any scale.
    X : sparse matrix of shape (n_documents, n_terms)
        The reference corpus; the paper's choice is the training documents.
    n_words : int, default=10
        Top words of each topic, at least 2, at most the number of terms.
    pseudocount : float, default=1.0
        Above 0. ``1e-12 * n_documents`` gives gensim's ``u_mass``.

    Returns
    -------
    array of shape (n_topics,)

    References
    ----------
    .. [1] D. Mimno, H. Wallach, E. Talley, M. Leenders, A. McCallum, "Optimizing
       semantic coherence in topic models", EMNLP 2011.

    Examples
    --------
    >>> X = [[1, 2, 0], [3, 1, 0], [1, 0, 0], [0, 0, 1]]
    >>> umass_coherence([[0.6, 0.3, 0.1]], X, n_words=2).tolist()
    [0.0]
    """
    weights = checked_array(topics, "topics")
    check_enough(n_words, weights.shape[1])
    if not (np.isfinite(pseudocount) and pseudocount > 0):
        raise DataError(f"pseudocount={pseudocount} must be a number above 0.")
    reference = _reference(X, weights.shape[1])
    columns = top_columns(weights, n_words, least=2)
    used = np.unique(np.concatenate(columns))
    has_word = word_indicator(reference, used)
    worst = np.log(pseudocount / reference.shape[0])
    scores = np.full(len(columns), np.nan)
    for number, topic in enumerate(columns):
        if len(topic) < 2:
            continue
        together = pair_counts(has_word, np.searchsorted(used, topic))
        likelier, other = np.triu_indices(len(topic), k=1)
        frequency = np.diag(together)
        seen = (frequency[likelier] > 0) & (frequency[other] > 0)
        pairs = np.full(len(seen), worst)
        joint = together[likelier, other][seen]
        pairs[seen] = np.log((joint + pseudocount) / frequency[likelier][seen])
        scores[number] = pairs.mean()
    return scores


def cv_coherence(
    topics: ArrayLike,
    documents: Iterable[str | Sequence[str]],
    vocabulary: Sequence[str],
    *,
    n_words: int = 10,
    window: int = 110,
) -> NDArray[np.float64]:
    """Coherence C_V of every topic: do its top words have the same company?

    Each top word has a vector, its NPMI with every top word of the topic (itself
    included) in windows that slide over the documents. The score is the mean cosine of
    a word's vector with the sum of all of them.

    Where the formula has no value: the NPMI of a word that never occurs, or of two
    that are in every window, is 0; the cosine of a vector of zeros is 0; a topic with
    fewer than two words of positive weight gets NaN.

    Range: -1 to 1, in practice 0.2 to 0.8. Direction: higher is better.

    Parameters
    ----------
    topics : array of shape (n_topics, n_terms)
        Weights of the words; any scale.
    documents : iterable of str or sequence of str
        The reference corpus as tokens in their order, or as text.
    vocabulary : sequence of str
        The words, one a column.
    n_words : int, default=10
        Top words of each topic, at least 2, at most the number of terms.
    window : int, default=110
        Number of tokens in a window.

    Returns
    -------
    array of shape (n_topics,)

    Notes
    -----
    Agrees with gensim's ``c_v`` where no top word is twice in a window and every
    document has a top word: gensim forgets a repeated word when its first occurrence
    leaves the window, and leaves out the windows of other documents.

    References
    ----------
    .. [1] M. Röder, A. Both, A. Hinneburg, "Exploring the space of topic coherence
       measures", WSDM 2015.

    Examples
    --------
    >>> texts = [["sea", "fish"], ["sea", "fish"], ["fox"], ["wolf"]]
    >>> words = ["sea", "fish", "fox", "wolf"]
    >>> topics = [[0.5, 0.5, 0, 0], [0.5, 0, 0.5, 0]]
    >>> cv_coherence(topics, texts, words, n_words=2).round(3).tolist()
    [1.0, 0.039]
    """
    weights = checked_array(topics, "topics")
    check_enough(n_words, weights.shape[1])
    if len(vocabulary) != weights.shape[1]:
        raise DataError(
            f"vocabulary has {len(vocabulary)} words for {weights.shape[1]} columns of "
            "topics."
        )
    columns = top_columns(weights, n_words, least=2)
    used = np.unique(np.concatenate(columns))
    words = [vocabulary[column] for column in used.tolist()]
    counts = window_cooccurrence(documents, words, window=window)
    if counts.n_units == 0:
        raise DataError("documents has no tokens. Give the texts of the corpus.")
    scores = np.full(len(columns), np.nan)
    for number, topic in enumerate(columns):
        if len(topic) > 1:
            block = counts.block(np.searchsorted(used, topic))
            scores[number] = _mean_cosine(_smoothed_npmi(block / counts.n_units))
    return scores


def _smoothed_npmi(joint: NDArray[np.float64]) -> NDArray[np.float64]:
    """NPMI of all pairs; 0 for words that never occur, and for those always there."""
    p = np.diag(joint)
    apart = np.outer(p, p)
    seen = (apart > 0) & (joint < 1)
    npmi = np.zeros_like(joint)
    smooth = joint[seen] + _EPSILON
    npmi[seen] = np.log(smooth / apart[seen]) / -np.log(smooth)
    return npmi


def _mean_cosine(vectors: NDArray[np.float64]) -> float:
    whole = vectors.sum(axis=0)
    norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(whole)
    cosines = np.zeros(len(vectors))
    np.divide(vectors @ whole, norms, out=cosines, where=norms > 0)
    return float(np.clip(cosines, -1.0, 1.0).mean())


def _reference(X: Any, n_terms: int) -> Any:
    reference = checked_counts(X, "X")
    if reference.shape[1] != n_terms or reference.shape[0] == 0:
        raise DataError(
            f"X has shape {reference.shape} for topics of {n_terms} terms. Give at "
            "least one document, on the vocabulary of the topics."
        )
    return reference
