# SPDX-License-Identifier: BSD-3-Clause
"""From texts to counts: the one place where topicfold cuts text into words.

A word is a run of letters, combining marks and numbers that has at least two letters
and begins with a letter or a number. Text is lower-cased and brought to Unicode form
NFKC first, so that composed and decomposed accents, ligatures and wide letters count as
the same word. Pure numbers, single letters and underscores are no words; languages that
write without spaces must be cut into words before.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, groupby
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from topicfold.exceptions import DataError

# Joiners that live inside words of Persian and of the languages of India.
_JOINERS = "\u200c\u200d"
# Where Unicode has its combining marks.
_MARK_RANGES = (range(0x300, 0x20000), range(0xE0100, 0xE01F0))


def vectorize(
    texts: Iterable[str],
    *,
    min_df: int | float = 2,
    max_df: int | float = 0.5,
    max_features: int | None = None,
    stop_words: str | Iterable[str] | None = None,
    ngram_range: tuple[int, int] = (1, 1),
    vocabulary: Sequence[str] | None = None,
    dtype: DTypeLike = np.int32,
) -> tuple[Any, list[str]]:
    """Count the words of texts.

    A thin layer over scikit-learn's ``CountVectorizer`` with the words of `words_of`.

    Parameters
    ----------
    texts : iterable of str
        One string a document; an empty one gives an empty row.
    min_df, max_df : int or float, default=2 and 0.5
        Keep words that occur in at least and at most so many documents; a float is a
        share of the documents.
    max_features : int, optional
        Keep only so many words, the most frequent.
    stop_words : {"english"} or iterable of str, optional
        Words to leave out. They are cut and lower-cased like the texts.
    ngram_range : (int, int), default=(1, 1)
        Shortest and longest run of words that makes a term.
    vocabulary : sequence of str, optional
        Count exactly these words, in this order (for new documents of a fitted
        model). `min_df`, `max_df`, `max_features` and `stop_words` do not apply, as
        in scikit-learn.
    dtype : dtype, default=int32
        Type of the counts.

    Returns
    -------
    counts : CSR matrix of shape (n_documents, n_terms)
        The counts, indices sorted.
    vocabulary : list of str
        The words, one a column, sorted by code point.

    Examples
    --------
    >>> counts, words = vectorize(["Red fox, red 7", "a blue fox"], min_df=1, max_df=2)
    >>> words
    ['blue', 'fox', 'red']
    >>> counts.toarray()
    array([[0, 1, 2],
           [1, 1, 0]], dtype=int32)
    """
    documents = _checked_texts(texts)
    counter = CountVectorizer(
        preprocessor=_normalise,
        token_pattern=_word_pattern(),
        lowercase=False,
        stop_words=_checked_stop_words(stop_words),
        ngram_range=ngram_range,
        min_df=min_df,
        max_df=max_df,
        max_features=max_features,
        vocabulary=None if vocabulary is None else list(vocabulary),
        dtype=dtype,
    )
    try:
        counts = counter.fit_transform(documents).tocsr()
    except ValueError as error:
        raise DataError(
            f"the {len(documents)} texts leave no words to count: {error} Lower "
            f"min_df (now {min_df}), raise max_df (now {max_df}) or shorten stop_words."
        ) from error
    counts.sort_indices()
    return counts, counter.get_feature_names_out().tolist()


def words_of(text: str) -> list[str]:
    """Cut one text into words, in the way `vectorize` does.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    list of str
        The words in their order.

    Examples
    --------
    >>> words_of("The n_samples of log2, at 3.14 or 2d: Übung हिन्दी")
    ['the', 'samples', 'of', 'log2', 'at', 'or', 'übung', 'हिन्दी']
    """
    return re.findall(_word_pattern(), _normalise(text))


def _normalise(text: str) -> str:
    lower = text.lower()
    return lower if lower.isascii() else unicodedata.normalize("NFKC", lower)


@lru_cache(maxsize=1)
def _word_pattern() -> str:
    r"""Return the regular expression of a word; linear time on any input.

    Python's ``\w`` knows no combining marks, hence a class of them. It is tried only
    where letters end, which keeps the pattern as fast as a plain one.
    """
    marks = ""
    for is_mark, group in groupby(
        chain(*_MARK_RANGES), key=lambda code: unicodedata.category(chr(code))[0] == "M"
    ):
        if is_mark:
            codes = list(group)
            marks += f"\\U{codes[0]:08x}-\\U{codes[-1]:08x}"
    letter, alnum = r"[^\W\d_]", r"[^\W_]"
    return (
        rf"(?<!\d)\d*{letter}(?:{letter}|[\d{marks}{_JOINERS}]+{letter})"
        rf"(?:{alnum}+|[{marks}]+|[{_JOINERS}](?={alnum}))*"
    )


def _checked_texts(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise DataError("texts is one string. Give a list of strings, one a document.")
    documents = list(texts)
    for row, text in enumerate(documents):
        if not isinstance(text, str):
            raise DataError(
                f"texts[{row}] is of type {type(text).__name__}, not str. Give a "
                'string for every document, "" for an empty one.'
            )
    if not documents:
        raise DataError("texts is empty. Give at least one document.")
    return documents


def _checked_stop_words(stop_words: str | Iterable[str] | None) -> list[str] | None:
    if stop_words is None:
        return None
    if isinstance(stop_words, str):
        if stop_words != "english":
            raise DataError(
                f'stop_words={stop_words!r} is not known. Give "english", a list of '
                "words or None."
            )
        stop_words = ENGLISH_STOP_WORDS
    return sorted({part for word in stop_words for part in words_of(word)})
