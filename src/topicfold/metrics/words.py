# SPDX-License-Identifier: BSD-3-Clause
"""Topics as lists of words: top words, diversity, exclusivity, FREX, coherence.

The top words of a topic are its words of positive weight by descending weight, ties by
column. Words of no weight are never listed, so a sparse topic can have fewer than asked
for.

Coherence (NPMI, UMass and C_V): do the top words belong together? Words are counted
together in whole documents, or in windows that slide over the text. Windows with the
same words are counted at once, so that the cost depends on how often the words asked
for occur, not on the length of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.stats import rankdata

from topicfold.core.counts import best_places, check_counts, simplex_problems
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
    """Exclusivity of every topic: how much its top words belong to it alone.

    The mean over the top words w of topic k of ``φ_kw / Σ_j φ_jw``. A topic without
    words of positive weight gets NaN.

    Range: above 0 to 1, 1 / n_topics where all topics are the same. Direction: higher
    is better; read it together with coherence, because topics of rare words are
    exclusive.

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


def word_scores(topics: ArrayLike) -> NDArray[np.float64]:
    """Score of every word in every topic, ``φ_kw (log φ_kw − mean_j log φ_jw)``.

    The "score" of R's stm and lda: frequent in the topic, and more so than elsewhere.
    Direction: higher is more typical of the topic; 0 is as frequent as in the others.
    The top words by it are ``top_words(word_scores(topics), vocabulary)``.

    Parameters
    ----------
    topics : array of shape (n_topics, n_terms)
        Word distributions of the topics, not negative.

    Examples
    --------
    >>> word_scores([[0.8, 0.2], [0.2, 0.8]]).round(2).tolist()
    [[0.55, -0.14], [-0.14, 0.55]]
    """
    weights = _checked_weights(topics)
    logs = np.log(np.maximum(weights, 1e-12))
    return np.asarray(weights * (logs - logs.mean(axis=0)))


def contrasting_words(
    first: ArrayLike, second: ArrayLike, vocabulary: Sequence[str], n_words: int = 10
) -> tuple[list[str], list[str]]:
    """List the words by which two topics differ most, those of each first.

    For two topics, or for one topic in the words of two groups ("perspectives" of R's
    stm), by the difference of the words' shares.

    Parameters
    ----------
    first, second : array of shape (n_terms,)
        Shares of the words.
    vocabulary : sequence of str
        The words, one per column.
    n_words : int, default=10
        Length of the lists; shorter where fewer words have a larger share.

    Examples
    --------
    >>> contrasting_words([0.6, 0.3, 0.1], [0.1, 0.3, 0.6], ["tax", "the", "war"])
    (['tax'], ['war'])
    """
    one, other = checked_rows(np.array([first, second]), "topics")
    rows = np.maximum([one - other, other - one], 0.0)
    own, theirs = top_words(rows, vocabulary, n_words)
    return own, theirs


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
    best = [best_places(row, n_words) for row in weights]
    return [places[row[places] > 0] for row, places in zip(weights, best, strict=True)]


def _checked_weights(topics: ArrayLike) -> NDArray[np.float64]:
    weights = checked_array(topics, "topics").astype(np.float64)
    if weights.min() < 0:
        row, column = np.argwhere(weights < 0)[0]
        raise DataError(
            f"topics has negative weights (first at row {row}, column {column}). "
            "Exclusivity is only defined for distributions over words."
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


# Keeps the logarithm of pairs that never occur together finite (Röder et al.).
_EPSILON = 1e-12
# Entries of the runs × words matrix that are multiplied at once.
_BLOCK = 1 << 20


def npmi_coherence(
    topics: ArrayLike, X: Any, *, n_words: int = 10
) -> NDArray[np.float64]:
    """Coherence of every topic: mean NPMI of the pairs of its top words.

    ``NPMI(v, w) = log(p(v, w) / (p(v) p(w))) / -log p(v, w)``, where p is the share of
    the documents of X that have the word, or both words (boolean, whole documents, no
    window, no smoothing).

    Where the formula has no value: a pair that never occurs together has -1, the limit;
    so has a pair with a word that never occurs. (gensim adds 1e-12 to ``p(v, w)``
    instead, so such a pair has a higher value there.) A pair of words that are in every
    document has 0. A topic with fewer than two words of positive weight gets NaN.

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
    return _document_scores(topics, X, n_words, _mean_npmi)


def umass_coherence(
    topics: ArrayLike, X: Any, *, n_words: int = 10, pseudocount: float = 1.0
) -> NDArray[np.float64]:
    """Coherence of every topic: mean log conditional probability of its top words.

    ``log((D(v, w) + pseudocount) / D(w))`` over the pairs where w is the more probable
    word of the topic; D counts the documents of X that have the word, or both.

    The paper adds the pairs up; here it is their mean, so that topics with fewer words
    can be compared. A pair with a word that never occurs gets the worst value; a topic
    with fewer than two words of positive weight gets NaN.

    Range: ``log(pseudocount / n_documents)`` to ``log(1 + pseudocount)``. Direction:
    higher is better. Only scores on the same X can be compared.

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
    if not (np.isfinite(pseudocount) and pseudocount > 0):
        raise DataError(f"pseudocount={pseudocount} must be a number above 0.")

    def mean_umass(together: NDArray[np.float64], n_documents: int) -> float:
        likelier, other = np.triu_indices(len(together), k=1)
        frequency = np.diag(together)
        seen = (frequency[likelier] > 0) & (frequency[other] > 0)
        pairs = np.full(len(seen), np.log(pseudocount / n_documents))
        joint = together[likelier, other][seen]
        pairs[seen] = np.log((joint + pseudocount) / frequency[likelier][seen])
        return float(pairs.mean())

    return _document_scores(topics, X, n_words, mean_umass)


def cv_coherence(
    topics: ArrayLike,
    documents: Iterable[str | Sequence[str]],
    vocabulary: Sequence[str],
    *,
    n_words: int = 10,
    window: int = 110,
) -> NDArray[np.float64]:
    """Coherence C_V of every topic: do its top words occur with the same words?

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
        The words, one per column.
    n_words : int, default=10
        Top words of each topic, at least 2, at most the number of terms.
    window : int, default=110
        Number of tokens in a window.

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
    check_vocabulary(vocabulary, weights.shape[1])
    columns = top_columns(weights, n_words, least=2)
    used = np.unique(np.concatenate(columns))
    words = [vocabulary[column] for column in used.tolist()]
    together, n_windows = window_cooccurrence(documents, words, window)
    if n_windows == 0:
        raise DataError(
            "documents has no tokens. Give the texts of the corpus, with words."
        )
    scores = np.full(len(columns), np.nan)
    for number, topic in enumerate(columns):
        if len(topic) > 1:
            place = np.searchsorted(used, topic)
            block = together[place][:, place].toarray() / n_windows
            scores[number] = _mean_cosine(_smoothed_npmi(block))
    return scores


def window_cooccurrence(
    documents: Iterable[str | Sequence[str]], words: Sequence[str], window: int
) -> tuple[Any, int]:
    """Count the sliding windows that have two words (diagonal: one), and all windows.

    A document of n tokens has ``max(n - window, 0) + 1`` windows, one at each place; a
    shorter one is a window by itself, an empty one has none. Time and memory are
    O(occurrences of `words`), but for the product of the words in one window.
    """
    whole_number(window, "window")
    code = {word: number for number, word in enumerate(words)}
    if len(code) != len(words):
        raise DataError("words has repetitions. Give each word once.")
    total = sparse.csr_array((len(words), len(words)), dtype=np.int64)
    n_units = size = 0
    pending: list[tuple[Any, ...]] = []
    for number, document in enumerate(documents):
        tokens = _tokens(document, number)
        if not tokens:
            continue
        n_windows = max(len(tokens) - int(window), 0) + 1
        n_units += n_windows
        runs = _runs(tokens, code, int(window), n_windows)
        if runs is None:
            continue
        pending.append(runs)
        size += len(runs[0])
        if size > _BLOCK:
            total = total + _product(pending, len(words))
            pending, size = [], 0
    return total + _product(pending, len(words)), n_units


def _tokens(document: str | Sequence[str], number: int) -> Sequence[str]:
    if isinstance(document, str):
        from topicfold.corpus import words_of

        return list(words_of(document))
    if not isinstance(document, Sequence | np.ndarray):
        raise DataError(
            f"document {number} is a {type(document).__name__}. Give text, or its "
            "tokens as a list."
        )
    return document


def _runs(
    tokens: Sequence[str], code: dict[str, int], window: int, n_windows: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
    """Return runs of windows with the same words: run and word of pairs, lengths."""
    found = [(place, code[t]) for place, t in enumerate(tokens) if t in code]
    if not found:
        return None
    places, words = np.array(found, dtype=np.int64).T
    first = np.maximum(places - window + 1, 0)
    # One behind the last window that has the place.
    behind = np.minimum(places, n_windows - 1) + 1
    cuts = np.unique(np.concatenate([first, behind]))
    start, stop = np.searchsorted(cuts, first), np.searchsorted(cuts, behind)
    repeats = stop - start
    offsets = np.arange(repeats.sum()) - np.repeat(
        np.cumsum(repeats) - repeats, repeats
    )
    run = np.repeat(start, repeats) + offsets
    return run, np.repeat(words, repeats), np.append(np.diff(cuts), 0)


def _product(pending: list[tuple[Any, ...]], n_words: int) -> Any:
    if not pending:
        return sparse.csr_array((n_words, n_words), dtype=np.int64)
    lengths = [runs[2] for runs in pending]
    starts = np.cumsum([0, *(len(length) for length in lengths)])
    rows = np.concatenate(
        [runs[0] + start for runs, start in zip(pending, starts[:-1], strict=True)]
    )
    columns = np.concatenate([runs[1] for runs in pending])
    shape = (int(starts[-1]), n_words)
    has_word = sparse.csr_array(
        (np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=shape
    )
    has_word.data[:] = 1
    weights = sparse.diags_array(np.concatenate(lengths), dtype=np.int64)
    return sparse.csr_array(has_word.T @ (weights @ has_word))


def _document_scores(
    topics: ArrayLike,
    X: Any,
    n_words: int,
    score: Callable[[NDArray[np.float64], int], float],
) -> NDArray[np.float64]:
    """Score every topic by the number of documents that have two of its top words.

    `score` is given their matrix (diagonal: one word) and the number of all documents.
    A topic without a pair gets NaN.
    """
    weights = checked_array(topics, "topics")
    reference = check_counts(X, "X")
    if reference.shape[1] != weights.shape[1] or reference.shape[0] == 0:
        raise DataError(
            f"X has shape {reference.shape} for topics of {weights.shape[1]} terms. "
            "Give at least one document, on the vocabulary of the topics."
        )
    columns = top_columns(weights, n_words, least=2)
    used = np.unique(np.concatenate(columns))
    has_word = reference.tocsc()[:, used].astype(np.int64)
    has_word.data[:] = 1
    scores = np.full(len(columns), np.nan)
    for number, topic in enumerate(columns):
        if len(topic) > 1:
            block = has_word[:, np.searchsorted(used, topic)]
            together = (block.T @ block).toarray().astype(np.float64)
            scores[number] = score(together, reference.shape[0])
    return scores


def _mean_npmi(together: NDArray[np.float64], n_documents: int) -> float:
    """Mean over pairs; `together` has document frequencies on its diagonal."""
    first, second = np.triu_indices(len(together), k=1)
    frequency = np.diag(together)
    joint = together[first, second]
    scores = np.full(len(joint), -1.0)
    scores[joint == n_documents] = 0.0
    mixed = (joint > 0) & (joint < n_documents)
    p = joint[mixed] / n_documents
    apart = frequency[first[mixed]] * frequency[second[mixed]] / n_documents**2
    scores[mixed] = np.log(p / apart) / -np.log(p)
    # Rounding must not leave the range.
    return float(np.clip(scores, -1.0, 1.0).mean())


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
