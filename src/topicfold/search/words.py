# SPDX-License-Identifier: BSD-3-Clause
"""The words of a query: their counts, documents that share them, and passages.

Words that the model does not have are found in the texts, or named.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from topicfold.core.counts import check_counts, smooth_idf
from topicfold.core.tables import Html
from topicfold.core.typing import Doubles
from topicfold.corpus import words_of
from topicfold.corpus.tokens import reader, stemmer, stop_word_list
from topicfold.corpus.vectorizing import STOP_WORDS, checked_range, vectorize_known
from topicfold.exceptions import DataError
from topicfold.report.page import body_start, lead
from topicfold.search.ranking import Hits

LEXICAL = ("bm25", "tfidf")
# Weight of the words where nothing else is asked; see benchmarks/results/search_mix.md.
DEFAULT_MIX = 0.5
# The usual choice: saturation of counts, and how far length is discounted.
K1, B = 1.2, 0.75
_MOST_NAMED = 3


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
        raise DataError(_unknown(words, columns, cutting or {}))
    return sparse.csr_matrix(counts, dtype=np.float32)


def check_counts_row(counts: Any, n_terms: int) -> sparse.csr_matrix:
    """Return a query given as counts as one clean CSR row of float32."""
    if not sparse.issparse(counts):
        counts = np.atleast_2d(np.asarray(counts))
        if counts.dtype.kind not in "biuf":
            raise DataError(
                "the query is neither a text nor a row of counts. Give a string, or a "
                f"row of {n_terms} counts."
            )
    row = check_counts(counts, "the query", dtype=np.float32)
    if row.shape != (1, n_terms):
        raise DataError(
            f"the query is not a text, and as counts it has the shape {row.shape}: "
            f"one row of {n_terms} counts is "
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
    raise DataError(_unknown([word], columns, {}))


def _unknown(
    words: Sequence[str], columns: Mapping[str, int], cutting: Mapping[str, Any]
) -> str:
    """Return why none of the words can be searched for, and what may be meant."""
    left_out = {*stop_word_list(cutting.get("stop_words", STOP_WORDS))}
    unknown = [word for word in dict.fromkeys(words) if word not in left_out]
    if not unknown:
        known = list(dict.fromkeys(words))[:_MOST_NAMED]
        are = "are stop words" if len(known) > 1 else "is a stop word"
        named = _named(known)
        return f"{named} {are}, which the model leaves out. Search for other words."
    advice = "Try other words, such as those of its topics."
    hint = close_words(unknown[:_MOST_NAMED], columns) or advice
    return f"The vocabulary of the model lacks {_named(unknown)}. {hint}"


class LexicalScores:
    """Postings of the documents, weighted for one kind of score.

    BM25 (Robertson & Zaragoza 2009) has ``k1 = 1.2``, ``b = 0.75`` and
    ``idf = ln(1 + (D - df + 1/2) / (df + 1/2))``; tf-idf is the cosine of vectors with
    ``idf = ln((1 + D) / (1 + df)) + 1``.
    """

    def __init__(self, counts: sparse.csr_matrix, kind: str) -> None:
        self.kind = kind
        n_documents, n_terms = counts.shape
        frequency = np.bincount(counts.indices, minlength=n_terms)
        rows = np.repeat(np.arange(n_documents), np.diff(counts.indptr))
        if kind == "bm25":
            self.idf = np.log1p((n_documents - frequency + 0.5) / (frequency + 0.5))
            lengths = np.bincount(rows, counts.data, n_documents)
            mean = max(float(lengths.mean()), np.finfo(float).tiny)
            damping = K1 * (1 - B + B * lengths / mean)
            values = counts.data.astype(np.float64)
            values = values * (K1 + 1) / (values + damping[rows])
        else:
            self.idf = smooth_idf(counts)
            values = counts.data * self.idf[counts.indices]
            values = values / np.sqrt(np.bincount(rows, values**2))[rows]
        self.postings = sparse.csr_matrix(
            (values.astype(np.float32), counts.indices, counts.indptr), counts.shape
        ).tocsc()

    def score(self, query: sparse.csr_matrix) -> Doubles:
        """Return the score of every document for one row of counts."""
        weights = query.data * self.idf[query.indices]
        if self.kind == "tfidf":
            weights = weights / np.sqrt((weights**2).sum())
        return np.asarray(self.postings[:, query.indices] @ weights)


def mixed(latent: Doubles, lexical: Doubles, weight: float) -> Doubles:
    """Return ``(1 - weight)·latent + weight·lexical``, both scaled to [0, 1]."""
    return (1 - weight) * _scaled(latent) + weight * _scaled(lexical)


def _scaled(scores: Doubles) -> Doubles:
    low, high = float(scores.min()), float(scores.max())
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)


_LENGTH = 160
# Endings that a word may have in a text: of a stem, or of a plural.
_ENDING = r"\w{0,3}"


def words_pattern(words: Sequence[str]) -> re.Pattern[str] | None:
    """Return the pattern of words in any case; longer ones may have an ending."""
    parts = [
        re.escape(word) + (_ENDING if len(word) > 3 else "")
        for word in sorted(set(words), key=len, reverse=True)
    ]
    if not parts:
        return None
    return re.compile(rf"(?<!\w)(?:{'|'.join(parts)})(?!\w)", re.IGNORECASE)


def snippet(text: str, words: Sequence[str]) -> str:
    """Return the passage of a text that has most of the words, in one line."""
    line = " ".join(text.split())
    if len(line) <= _LENGTH:
        return line
    pattern = words_pattern(words)
    places = list(pattern.finditer(line)) if pattern is not None else []
    start = 0
    if places:
        inside = [
            {
                m.group().lower()
                for m in places
                if 0 <= m.start() - p.start() < _LENGTH // 2
            }
            for p in places
        ]
        best = max(range(len(places)), key=lambda place: len(inside[place]))
        start = max(0, places[best].start() - _LENGTH // 3)
        start = min(start, max(0, len(line) - _LENGTH))
    if start:
        start = line.find(" ", start) + 1 or start
    part = line[start : start + _LENGTH]
    if start + _LENGTH < len(line):
        part = part[: part.rfind(" ")] if " " in part else part
        part += " …"
    return f"… {part}" if start else part


def marked(text: str, words: Sequence[str]) -> Html:
    """Return a snippet as HTML, with the words marked."""
    pattern = words_pattern(words)
    if pattern is None:
        return Html(escape(text))
    parts, end = [], 0
    for found in pattern.finditer(text):
        parts += [escape(text[end : found.start()]), f"<b>{escape(found.group())}</b>"]
        end = found.end()
    return Html("".join([*parts, escape(text[end:])]))


def with_texts(hits: Hits, texts: Sequence[str], query: str | None = None) -> Hits:
    r"""Return results with titles (first lines, or subjects) and passages of their
    `texts`.
    """
    words = tuple(words_of(query or ""))
    found = [texts[row] for row in hits.rows.tolist()]
    titles = tuple(lead(text) for text in found)
    snippets = tuple(snippet(body(text), words) for text in found)
    return replace(hits, titles=titles, snippets=snippets, words=words)


def body(text: str) -> str:
    """Return a text without its first line or, if it is a message, its header."""
    first, _, rest = text.strip().partition("\n")
    start = body_start(text)
    return (text[start:].strip() if start else rest.strip()) or first


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
    """Return what became of words that are not in the vocabulary."""
    parts = []
    if in_texts:
        are = "are" if len(in_texts) > 1 else "is"
        parts.append(
            f"{_named(in_texts)} {are} in no topic, and only found in the texts."
        )
    if unknown:
        were = "they were" if len(unknown) > 1 else "it was"
        parts.append(
            f"The vocabulary of the model lacks {_named(unknown)}; {were} ignored."
        )
        parts.append(close_words(unknown[:_MOST_NAMED], columns))
    return " ".join(filter(None, parts))


def _named(words: Sequence[str]) -> str:
    more = ", …" if len(words) > _MOST_NAMED else ""
    return ", ".join(map(repr, words[:_MOST_NAMED])) + more
