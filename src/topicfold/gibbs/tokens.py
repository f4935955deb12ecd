# SPDX-License-Identifier: BSD-3-Clause
"""Documents as tokens: what a sampler walks over, in the order it likes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.counts import token_words
from topicfold.core.threads import balanced_ranges
from topicfold.exceptions import DataError

# Words with fewer tokens have a list of their topics, others a row over all topics.
FEWEST_FOR_A_ROW = 32
# Tokens that a sampler can keep: about 100 GB of words and topics.
MAX_TOKENS = 10**10


def check_whole(X: Any, who: str, instead: str) -> None:
    """Refuse too many tokens and entries that are not whole; `instead` takes other
    weights.
    """
    n_tokens = float(X.data.sum(dtype=np.float64))
    if n_tokens > MAX_TOKENS:
        raise DataError(
            f"The counts have {n_tokens:.3g} tokens; {who} keeps a topic for each, at "
            f"most {MAX_TOKENS:.0e}. Divide the counts, or {instead}."
        )
    wrong = X.data != np.floor(X.data)
    n_wrong = int(wrong.sum())
    if n_wrong:
        where = int(np.argmax(wrong))
        row = int(np.searchsorted(X.indptr, where, side="right")) - 1
        entries = "entry that is" if n_wrong == 1 else "entries that are"
        raise DataError(
            f"The counts have {n_wrong} {entries} not a whole number (first at row "
            f"{row}, column {int(X.indices[where])}: {X.data[where]:.6g}). {who} gives "
            "every token a topic, so it needs counts; for weights such as tf-idf "
            f"{instead}."
        )


class Block(NamedTuple):
    """Documents that are sampled with the same word counts, and their tokens by word.

    The tokens of ``words[i]`` are ``order[ptr[i]:ptr[i + 1]]``; words are ascending.
    """

    first: int
    last: int
    words: NDArray[np.uint32]
    ptr: NDArray[np.int64]
    order: NDArray[np.integer]


class Tokens:
    """The tokens of a corpus of whole counts, document by document.

    Words are numbered anew from the most to the least frequent, so that those with a
    row of counts (the first `n_frequent`) come first and the busiest rows lie together;
    `terms` has their columns of X, `word_counts` the number of their tokens.
    """

    def __init__(self, X: sparse.csr_matrix, fewest: int = FEWEST_FOR_A_ROW) -> None:
        totals = np.bincount(X.indices, weights=X.data, minlength=X.shape[1])
        self.terms = np.argsort(-totals, kind="stable")
        self.word_counts = totals[self.terms].astype(np.int64)
        self.n_frequent = int(np.sum(self.word_counts >= fewest))
        kind: Any = np.uint16 if X.shape[1] <= 1 << 16 else np.uint32
        number = np.empty(X.shape[1], dtype=kind)
        number[self.terms] = np.arange(X.shape[1], dtype=kind)
        self.doc_ptr, self.words = token_words(X, number[X.indices])
        self.document_lengths = np.diff(self.doc_ptr)
        self.n_documents, self.n_terms = X.shape
        self.n_tokens = len(self.words)

    def blocks(self, n_blocks: int) -> list[Block]:
        """Cut the documents into at most `n_blocks` blocks of about equal length."""
        return [
            self._block(first, last)
            for first, last in balanced_ranges(self.doc_ptr, n_blocks)
        ]

    def _block(self, first: int, last: int) -> Block:
        begin, end = self.doc_ptr[first], self.doc_ptr[last]
        # SciPy's transposition is a counting sort.
        words = self.words[begin:end].astype(np.int64)
        n = len(words)
        index: Any = np.int32 if self.n_tokens < 2**31 else np.int64
        by_token = sparse.csr_matrix(
            (np.arange(n), words, np.arange(n + 1)), shape=(n, self.n_terms)
        )
        by_word = by_token.tocsc()
        used = np.flatnonzero(np.diff(by_word.indptr))
        return Block(
            first,
            last,
            used.astype(np.uint32),
            np.concatenate((by_word.indptr[used], [n])).astype(np.int64),
            (by_word.data + begin).astype(index),
        )
