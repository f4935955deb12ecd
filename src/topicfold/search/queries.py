# SPDX-License-Identifier: BSD-3-Clause
"""From what a user asks to counts of the model's words."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from topicfold.core.counts import check_counts
from topicfold.corpus import words_of
from topicfold.corpus.vectorizing import saved_options, vectorize_known
from topicfold.exceptions import DataError

_MOST_NAMED = 3
_CUTTING = ("stop_words", "ngram_range", "stem", "tokens", "phrases")


def cutting_options(text: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return those options of `vectorize` that say how a text is cut into words."""
    given = dict(text or {})
    own = {"tokens": given.pop("tokens")} if callable(given.get("tokens")) else {}
    known = saved_options(given) | own
    options = {name: known[name] for name in _CUTTING if known.get(name) is not None}
    if isinstance(options.get("tokens"), str) and ":" in options["tokens"]:
        # A file must not decide which function is called.
        raise DataError(
            f"the model's texts were cut by the function {options['tokens']}. Give it "
            "as text={'tokens': function}."
        )
    return options


def count_text(
    text: str, columns: Mapping[str, int], cutting: Mapping[str, Any] | None = None
) -> sparse.csr_matrix:
    """Return the counts of the known words of a text, as one row.

    It is cut into words as :func:`topicfold.corpus.vectorize` does; `columns` has the
    column of every known word, in their order.
    """
    if not text.strip():
        raise DataError("the query is empty. Give at least one word.")
    words = words_of(text)
    if cutting and set(cutting) - {"stop_words"}:
        words = words or [text.strip()]
        counts, _ = vectorize_known([text], list(columns), **cutting)
    elif words:
        # Without a pass over the vocabulary, which `vectorize_known` needs.
        found = [columns[word] for word in words if word in columns]
        ones = np.ones(len(found))
        counts = sparse.csr_matrix((ones, found, [0, len(found)]), (1, len(columns)))
        counts.sum_duplicates()
    else:
        raise DataError(
            f"the query {text!r} has no words: a word has at least two letters."
        )
    if not counts.nnz:
        raise DataError(_unknown(words, columns))
    return sparse.csr_matrix(counts, dtype=np.float32)


def check_counts_row(counts: Any, n_terms: int) -> sparse.csr_matrix:
    """Return a query given as counts as one clean CSR row of float32."""
    if not sparse.issparse(counts):
        counts = np.atleast_2d(np.asarray(counts))
        if counts.dtype.kind not in "biuf":
            raise DataError(
                "the query is neither a text nor counts of words. Give a string, or a "
                f"row of {n_terms} counts."
            )
    row = check_counts(counts, "the query", dtype=np.float32)
    if row.shape != (1, n_terms):
        raise DataError(
            f"the query has shape {row.shape}, but one row of {n_terms} counts is "
            "needed. Give coordinates in the latent space as vector=."
        )
    if row.nnz == 0:
        raise DataError("the query is empty: all its counts are zero.")
    return row


def find_word(word: str, columns: Mapping[str, int]) -> int:
    """Return the column of a word, with a hint if it is not known."""
    for spelling in (word, *words_of(word)[:1]):
        if spelling in columns:
            return columns[spelling]
    raise DataError(f"the word {word!r} is not known.{_hint([word], columns)}")


def _unknown(words: Sequence[str], columns: Mapping[str, int]) -> str:
    different = list(dict.fromkeys(words))
    named = ", ".join(repr(word) for word in different[:_MOST_NAMED])
    more = ", …" if len(different) > _MOST_NAMED else ""
    return (
        f"the model knows none of the words of the query ({named}{more})."
        f"{_hint(different[:_MOST_NAMED], columns)}"
    )


def _hint(words: Sequence[str], columns: Mapping[str, int]) -> str:
    near = [m for word in words for m in difflib.get_close_matches(word, columns, n=1)]
    if not near:
        return " Use words of the model's vocabulary."
    return f" Did you mean {', '.join(repr(word) for word in near)}?"
