# SPDX-License-Identifier: BSD-3-Clause
"""What a list of results shows of a text: the passage with the words of the query."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape

from topicfold.core.tables import Html
from topicfold.corpus import words_of
from topicfold.search.ranking import Hits

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


def snippet(text: str, words: Sequence[str], length: int = _LENGTH) -> str:
    """Return the passage of a text that has most of the words, in one line."""
    line = " ".join(text.split())
    if len(line) <= length:
        return line
    pattern = words_pattern(words)
    places = list(pattern.finditer(line)) if pattern is not None else []
    start = 0
    if places:
        inside = [
            {
                m.group().lower()
                for m in places
                if 0 <= m.start() - p.start() < length // 2
            }
            for p in places
        ]
        best = max(range(len(places)), key=lambda place: len(inside[place]))
        start = max(0, places[best].start() - length // 3)
        start = min(start, max(0, len(line) - length))
    if start:
        start = line.find(" ", start) + 1 or start
    part = line[start : start + length]
    if start + length < len(line):
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
    titles = tuple(title(text) for text in found)
    snippets = tuple(snippet(body(text), words) for text in found)
    return replace(hits, titles=titles, snippets=snippets, words=words)


def body(text: str) -> str:
    """Return a text without its first line or, if it is a message, its header."""
    from topicfold.report.texts import body_start

    first, _, rest = text.strip().partition("\n")
    start = body_start(text)
    return (text[start:].strip() if start else rest.strip()) or first


def title(text: str) -> str:
    """Return the title of a text, as the report has it: its first line or subject."""
    from topicfold.report.texts import lead

    return lead(text)
