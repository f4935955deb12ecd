# SPDX-License-Identifier: BSD-3-Clause
"""How often words occur together: in documents, and in windows that slide over text.

Both count only the words asked for. Windows with the same words are counted at once, so
that the cost depends on how often those words occur, not on the length of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from topicfold.exceptions import DataError
from topicfold.metrics._checks import checked_counts

# Entries of the runs × words matrix that are multiplied at once.
_BLOCK = 1 << 20


class Cooccurrence(NamedTuple):
    """Counts of words and pairs of words.

    Attributes
    ----------
    together : sparse int64 matrix of shape (n_words, n_words)
        Windows that have both words; the diagonal has those that have the word.
    n_units : int
        Number of windows.
    """

    together: Any
    n_units: int

    def block(self, words: ArrayLike) -> NDArray[np.float64]:
        """Return the dense square of some words."""
        place = np.asarray(words)
        return self.together[place][:, place].toarray().astype(np.float64)


def word_indicator(X: Any, columns: ArrayLike) -> Any:
    """Return which documents have which of some words: CSC of int64, ones.

    Parameters
    ----------
    X : sparse matrix of shape (n_documents, n_terms)
        Counts; only whether they are positive matters.
    columns : array of int
        The words.

    Examples
    --------
    >>> word_indicator([[1, 2, 0], [3, 0, 0]], [1, 0]).toarray().tolist()
    [[1, 1], [0, 1]]
    """
    has_word = checked_counts(X, "X").tocsc()[:, np.asarray(columns)].astype(np.int64)
    has_word.data[:] = 1
    return has_word


def pair_counts(has_word: Any, columns: ArrayLike) -> NDArray[np.float64]:
    """Count the documents that have a word (diagonal), and those that have two.

    Parameters
    ----------
    has_word : CSC matrix
        From `word_indicator`.
    columns : array of int
        Some columns of it: the result is dense.

    Examples
    --------
    >>> pair_counts(word_indicator([[1, 2, 0], [3, 0, 0]], [0, 1]), [0, 1]).tolist()
    [[2.0, 1.0], [1.0, 1.0]]
    """
    block = has_word[:, np.asarray(columns)]
    counts: NDArray[np.float64] = (block.T @ block).toarray().astype(np.float64)
    return counts


def window_cooccurrence(
    documents: Iterable[str | Sequence[str]],
    words: Sequence[str],
    *,
    window: int = 110,
) -> Cooccurrence:
    """Count the sliding windows that have a word, and those that have two.

    A document of n tokens has ``max(n - window, 0) + 1`` windows, one at each place; a
    shorter one is a window by itself, an empty one has none.

    Parameters
    ----------
    documents : iterable of str or sequence of str
        Tokens in their order, or text, which `topicfold.corpus.words_of` cuts.
    words : sequence of str
        The words to count, without repetition.
    window : int, default=110
        Number of tokens in a window.

    Returns
    -------
    Cooccurrence
        Over `words`, in that order.

    Notes
    -----
    Time and memory are O(occurrences of `words`), but for the product of the words in
    one window.

    Examples
    --------
    >>> texts = [["a", "b", "x", "a"], ["b"]]
    >>> counts = window_cooccurrence(texts, ["a", "b"], window=2)
    >>> counts.together.toarray().tolist(), counts.n_units
    ([[2, 1], [1, 3]], 4)
    """
    if not isinstance(window, int | np.integer) or window < 1:
        raise DataError(f"window={window!r} must be an integer, 1 or more.")
    code = {word: number for number, word in enumerate(words)}
    if len(code) != len(words):
        raise DataError("words has repetitions. Give each word once.")
    total = sparse.csr_array((len(words), len(words)), dtype=np.int64)
    n_units, size = 0, 0
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
    return Cooccurrence(total + _product(pending, len(words)), n_units)


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
    """Return runs of windows that have the same words.

    Returns
    -------
    run, word : arrays of the same length
        Which word is in which run; pairs may repeat.
    length : array
        Number of windows of each run.
    """
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
    has_word.sum_duplicates()
    has_word.data[:] = 1
    weights = sparse.dia_array(
        (np.concatenate(lengths)[None, :], [0]), shape=(shape[0], shape[0])
    )
    return sparse.csr_array(has_word.T @ (weights @ has_word))
