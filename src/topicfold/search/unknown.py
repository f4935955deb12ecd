# SPDX-License-Identifier: BSD-3-Clause
"""Words of a query that the model does not know: found in the texts, or named."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from topicfold.corpus.tokens import reader, stemmer
from topicfold.corpus.vectorizing import STOP_WORDS, checked_range, vectorize_known

_MOST_NAMED = 3


class BeyondWords(NamedTuple):
    """Words of a query that no topic has: what to say, and their counts in texts."""

    note: str = ""
    counts: sparse.csr_matrix | None = None


def unknown_words(
    text: str, columns: Mapping[str, int], cutting: Mapping[str, Any]
) -> list[str]:
    """Return the words of a text that the model does not have, stop words aside.

    Examples
    --------
    >>> unknown_words("the steriods of baseball", {"baseball": 0}, {})
    ['steriods']
    """
    stop_words = cutting.get("stop_words", STOP_WORDS)
    cut, read = reader(cutting.get("tokens", "words"), stop_words, None)
    words = dict.fromkeys(word for piece in cut(text) if (word := read(piece)))
    if not words:
        return []
    known: Any = columns
    _, longest = checked_range(cutting.get("ngram_range") or (1, 1))
    if longest > 1 or cutting.get("phrases"):
        known = {word for term in columns for word in term.split(" ")}
    stem = stemmer(cutting.get("stem"))
    missing = [word for word in words if word not in known]
    if missing and stem is not None:
        stems = {stem(word) for word in known}
        missing = [word for word in missing if stem(word) not in stems]
    return missing


def occurrences(
    texts: Sequence[str], words: Sequence[str], cutting: Mapping[str, Any]
) -> tuple[list[str], sparse.csr_matrix]:
    """Return which of the words the texts have, and how often each text has them."""
    options = {k: cutting[k] for k in ("tokens", "stem") if k in cutting}
    # A word and the forms of its stem begin alike: most texts need not be cut.
    starts = [word[: max(3, len(word) - 3)].casefold() for word in words]
    rows = [
        row
        for row, text in enumerate(texts)
        if any(start in folded for folded in (text.casefold(),) for start in starts)
    ]
    counts = sparse.csr_matrix((len(texts), len(words)), dtype=np.float32)
    if rows:
        some, _ = vectorize_known([texts[row] for row in rows], list(words), **options)
        where = (np.ones(len(rows)), (rows, np.arange(len(rows))))
        counts = sparse.csr_matrix(where, (len(texts), len(rows))) @ some
    there = np.flatnonzero(np.asarray(counts.sum(axis=0)).ravel())
    found = sparse.csr_matrix(counts[:, there], dtype=np.float32)
    return [words[place] for place in there.tolist()], found


def close_words(words: Iterable[str], columns: Mapping[str, int]) -> str:
    """Return what may be meant by words that are not known, as a question."""
    near = [m for word in words for m in difflib.get_close_matches(word, columns, n=1)]
    return f"Did you mean {_named(near)}?" if near else ""


def left_out_note(
    unknown: Sequence[str], in_texts: Sequence[str], columns: Mapping[str, int]
) -> str:
    """Return what became of words that the model does not know."""
    parts = []
    if in_texts:
        are = "are" if len(in_texts) > 1 else "is"
        parts.append(f"{_named(in_texts)} {are} in no topic, and found in texts only.")
    if unknown:
        were = "were" if len(unknown) > 1 else "was"
        parts.append(
            f"The model does not know {_named(unknown)}, which {were} ignored."
        )
        parts.append(close_words(unknown[:_MOST_NAMED], columns))
    return " ".join(filter(None, parts))


def _named(words: Sequence[str]) -> str:
    more = ", …" if len(words) > _MOST_NAMED else ""
    return ", ".join(map(repr, words[:_MOST_NAMED])) + more
