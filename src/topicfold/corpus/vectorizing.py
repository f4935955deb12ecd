# SPDX-License-Identifier: BSD-3-Clause
"""From texts to counts, in memory; `topicfold.corpus.disk_corpus` does it on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from topicfold.corpus.counting import (
    Bounds,
    Columns,
    Tally,
    WordCounter,
    check_bounds,
    choose_terms,
    text_blocks,
)
from topicfold.corpus.tokens import Tokens, words_of
from topicfold.exceptions import DataError

__all__ = ["saved_options", "vectorize", "vectorize_known", "words_of"]

_OPTIONS = {
    "min_df": (int, float),
    "max_df": (int, float),
    "max_features": (int,),
    "stop_words": (str, list),
    "ngram_range": (list, tuple),
    "stem": (str,),
    "tokens": (str,),
}


def vectorize(
    texts: Iterable[str],
    *,
    min_df: int | float = 2,
    max_df: int | float = 0.5,
    max_features: int | None = None,
    stop_words: str | Iterable[str] | None = None,
    ngram_range: Sequence[int] = (1, 1),
    stem: str | None = None,
    tokens: Tokens = "words",
    vocabulary: Sequence[str] | None = None,
    dtype: DTypeLike = np.int32,
) -> tuple[Any, list[str]]:
    """Count the words of texts.

    The options mean what they mean in scikit-learn's ``CountVectorizer``; the words
    are those of `words_of`. Texts are read once and not kept.

    Parameters
    ----------
    texts : iterable of str
        One string per document; an empty one gives an empty row.
    min_df, max_df : int or float, default=2 and 0.5
        Keep words that occur in at least and at most so many documents; a float is a
        share of the documents.
    max_features : int, optional
        Keep only so many words, the most frequent.
    stop_words : {"english"} or iterable of str, optional
        Words to leave out. They are cut and lower-cased like the texts.
    ngram_range : (int, int), default=(1, 1)
        Shortest and longest run of words that makes a term. Stop words are taken out
        before, and stand in no run.
    stem : str, optional
        Count stems instead of words: a language of Snowball, such as "english" or
        "german". Needs ``pip install snowballstemmer``.
    tokens : {"words", "spaces"} or callable, default="words"
        How to cut: "words" as `words_of`; "spaces" takes what stands between white
        space as it is; a function takes a text and returns its words.
    vocabulary : sequence of str, optional
        Count exactly these words, in this order (for new documents of a fitted
        model). `min_df`, `max_df` and `max_features` do not apply then, as in
        scikit-learn.
    dtype : dtype, default=int32
        Type of the counts.

    Returns
    -------
    counts : CSR matrix of shape (n_documents, n_terms)
        The counts, indices sorted.
    vocabulary : list of str
        The words, one per column, sorted by code point.

    Examples
    --------
    >>> counts, words = vectorize(["Red fox, red 7", "a blue fox"], min_df=1, max_df=2)
    >>> words
    ['blue', 'fox', 'red']
    >>> counts.toarray()
    array([[0, 1, 2],
           [1, 1, 0]], dtype=int32)
    """
    cutting: dict[str, Any] = {
        "stop_words": stop_words,
        "ngram_range": ngram_range,
        "stem": stem,
        "tokens": tokens,
    }
    if vocabulary is not None:
        counts, _ = vectorize_known(texts, vocabulary, dtype=dtype, **cutting)
        return counts, list(vocabulary)
    bounds = Bounds(min_df, max_df, max_features)
    check_bounds(bounds)
    counter, tally = WordCounter(**cutting), Tally()
    blocks = []
    for part in text_blocks(texts):
        blocks.append(counter.count(part))
        tally.add(blocks[-1])
    if not blocks:
        raise DataError("texts is empty. Give at least one document.")
    chosen, terms = choose_terms(counter.words, tally, bounds)
    columns = Columns(chosen, len(counter.words))
    nnz = int(tally.frequencies[chosen].sum())
    return _joined(blocks, columns, tally.n_documents, nnz, dtype), terms


def vectorize_known(
    texts: Iterable[str],
    vocabulary: Sequence[str],
    *,
    dtype: DTypeLike = np.int32,
    **cutting: Any,
) -> tuple[Any, WordCounter]:
    """Count the words of a vocabulary, and what is not in it."""
    counter = WordCounter(vocabulary=vocabulary, **cutting)
    blocks = [counter.count(part).astype(dtype) for part in text_blocks(texts)]
    if not blocks:
        raise DataError("texts is empty. Give at least one document.")
    return sparse.csr_matrix(sparse.vstack(blocks, format="csr")), counter


def saved_options(text: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the options of `vectorize` that were saved with a model, checked."""
    options = dict(text or {})
    for name, value in options.items():
        if name not in _OPTIONS:
            raise DataError(
                f"the model was saved with the option {name!r} of text, which this "
                "version does not know. Install the newest topicfold."
            )
        if value is not None and not isinstance(value, _OPTIONS[name]):
            raise DataError(
                f"the model is damaged: its option {name!r} of text is {value!r}."
            )
    return options


def _joined(
    blocks: list[Any], columns: Columns, n_rows: int, nnz: int, dtype: DTypeLike
) -> Any:
    """Return one matrix of all blocks, which are given up one by one."""
    index = np.int32 if nnz < 2**31 else np.int64
    data, indices = np.empty(nnz, dtype), np.empty(nnz, index)
    indptr = np.zeros(n_rows + 1, index)
    row = place = 0
    blocks.reverse()
    while blocks:
        block = columns.of(blocks.pop(), dtype)
        data[place : place + block.nnz] = block.data
        indices[place : place + block.nnz] = block.indices
        indptr[row + 1 : row + 1 + block.shape[0]] = block.indptr[1:] + place
        row, place = row + block.shape[0], place + block.nnz
    counts = sparse.csr_matrix((data, indices, indptr), (n_rows, columns.n_terms))
    counts.has_canonical_format = True
    return counts
