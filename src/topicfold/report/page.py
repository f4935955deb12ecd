# SPDX-License-Identifier: BSD-3-Clause
r"""The page: template, style and script in one file, its data as short JSON; its texts.

Arrays and texts are deflated, then base64. The script files are ES modules. `bundle`
makes one script of them: imports between them go, and so does ``export``; so no two of
them may have a top-level name in common.

Texts are cut to a length, their words marked with the topic they are of: a marked word
is ``\x01`` topic ``\x02`` word ``\x03``; `clean` has taken these signs out of the text
before. The topic is argmax_k p(k|w,d), p(k|w,d) ∝ θ_dk φ_kw.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from graphlib import TopologicalSorter
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold._version import __version__
from topicfold.topic_data import TopicData

STYLES = ("base.css", "views.css")
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z]+\.js)";\n', re.MULTILINE)
_DECLARED = re.compile(
    r"^(?:export )?(?:async )?(?:function\*?|const|let|class) (\w+)", re.MULTILINE
)
# The page has one licence for all modules, and comments stay in the sources.
LICENCE = "// SPDX-License-Identifier: BSD-3-Clause"
_ONLY_SOURCE = re.compile(r"^export |^ *//.*\n", re.MULTILINE)
_STATIC_WORDS = 10


def render_page(page: dict[str, Any], data: TopicData) -> str:
    """Return the HTML of the page; `data` is for the table that needs no script."""
    from markupsafe import Markup

    style, script = bundle_styles(), bundle()
    words = data.top_terms(_STATIC_WORDS)
    order = sorted(page["topics"], key=lambda topic: -topic["size"])
    return _template().render(
        page=page,
        rows=[(topic, ", ".join(words[topic["id"]])) for topic in order],
        version=__version__,
        # Files of ours, and JSON without any sign of HTML: safe as they are.
        style=Markup(style),
        script=Markup(script),
        data=Markup(script_json(page)),
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


@lru_cache(maxsize=1)
def _template() -> Any:
    """Return the compiled template."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    return environment.from_string(_static("report.html.jinja"))


@lru_cache(maxsize=4)
def bundle(name: str = "main.js") -> str:
    """Return a module and all that it needs as one script, if they fit together."""
    imports: dict[str, list[str]] = {}
    waiting = [name]
    while waiting:
        module = waiting.pop()
        if module not in imports:
            imports[module] = _IMPORT.findall(_static(module))
            waiting += imports[module]
    parts: list[str] = []
    owners: dict[str, str] = {}
    # A module comes after those that it imports.
    for module in TopologicalSorter(imports).static_order():
        source = _static(module)
        for declared in _DECLARED.findall(source):
            if owners.setdefault(declared, module) != module:
                raise ValueError(f"{declared} is in {owners[declared]} and in {module}")
        body = _ONLY_SOURCE.sub("", _IMPORT.sub("", source))
        parts.append(f"// {module}\n{body.strip()}\n")
    script = f'"use strict";\n{LICENCE}\n' + "\n".join(parts)
    if "</script" in script.lower() or "<!--" in script:
        raise ValueError("the script contains its own closing tag")
    return script


@lru_cache(maxsize=1)
def bundle_styles() -> str:
    """Return the style sheets as one."""
    return "\n".join(_static(name).strip() for name in STYLES)


def _static(name: str) -> str:
    place = files("topicfold.report") / "static" / name
    return place.read_text(encoding="utf-8")


def _hash(source: str) -> str:
    """Return what a content security policy names an inline element by."""
    digest = hashlib.sha256(source.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


# Between the strings of a list; it cannot occur in them, see `clean`.
SEPARATOR = "\x1e"
_TYPES = ("uint8", "uint16", "uint32", "float32", "float64")
# Controls that text has no use for; U+0001 to U+0003 mark words, see `texts`.
# Lone surrogates, from undecodable file names, are not characters: a browser refuses
# to put them into a link. Overrides and isolates of the direction of writing can make a
# text look like another one, and can reach beyond it.
_DIRECTIONS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROLS: dict[int, str] = dict.fromkeys(
    [*range(32), *range(0xD800, 0xE000), *_DIRECTIONS], "\N{REPLACEMENT CHARACTER}"
)
_CONTROLS |= {ord("\t"): "\t", ord("\n"): "\n", ord("\r"): "\n"}


def clean(text: str) -> str:
    """Return text without controls, of direction too, and lone surrogates."""
    return text if text.isprintable() else text.translate(_CONTROLS)


def pack_array(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array as JSON; the page reads it as a typed array.

    Whole numbers from 0 on are in the smallest type that holds them, those that none
    holds in float64.
    """
    if array.dtype.kind in "iu":
        smallest = np.min_scalar_type(array.max(initial=0))
        fits = array.min(initial=0) == 0 and smallest.name in _TYPES
        array = array.astype(smallest if fits else np.float64)
    name = array.dtype.name
    if name not in _TYPES:
        raise TypeError(f"the page cannot read arrays of {name}")
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return {"type": name, "data": _deflate(little.tobytes())}


def pack_strings(strings: Iterable[str]) -> dict[str, Any]:
    """Return strings as JSON; control characters in them are replaced."""
    return pack_clean_strings(clean(text) for text in strings)


def pack_clean_strings(strings: Iterable[str]) -> dict[str, Any]:
    """Return strings as JSON that have no `SEPARATOR`."""
    joined = SEPARATOR.join(strings)
    # A lone surrogate is no character: it becomes a question mark.
    return {"type": "strings", "data": _deflate(joined.encode("utf-8", "replace"))}


def script_json(value: Any) -> str:
    r"""Return JSON that may stand inside a ``<script>`` of any page.

    Only ASCII, and no ``<``, ``>`` or ``&``: nothing in it can end the element, begin
    a comment or be a line end of JavaScript.
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _deflate(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 6)).decode("ascii")


LEAD_LENGTH = 90
# With very many documents titles alone would be megabytes.
SHORT_LEAD = 45
_LONGEST_HEADER = 4000
_BEGIN, _MIDDLE, _END = "\x01", "\x02", "\x03"
# Whatever is no space and no punctuation: marks and joiners stay inside words.
_WORD = re.compile(
    r"([^\s!-/:-@\[-`{-~\u00a1-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf"
    r"\u2000-\u200b\u2010-\u206f\u2190-\u23ff\u2500-\u27bf\u3000-\u303f\uff01-\uff0f]+)"
)
_SUBJECT = re.compile(r"^subject:[ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_HEADER = re.compile(r"[A-Za-z-]+:[ \t\r\n]")
_BLANKS = re.compile(r"[ \t\xa0]+")
_LINES = re.compile(r" ?\n ?(?:\n ?)+")


def shorten(text: str, length: int) -> str:
    r"""Return the beginning of a text, ended at a word, with blanks made single.

    A text that is too long begins after its header, if it is a message.
    """
    start = body_start(text) if len(text) > length else 0
    # Blanks that go away must not cost text; twice is enough for any but tables.
    room = 2 * length + 200
    part = ("… " if start else "") + _single_blanks(text[start : start + room])
    if len(text) <= start + room and len(part) <= length:
        return part
    part = part[:length]
    space = max(part.rfind(" "), part.rfind("\n"))
    return (part[:space] if space > length // 2 else part).rstrip() + " …"


def body_start(text: str) -> int:
    """Return where the body of a message begins, 0 if the text is none."""
    place = 0
    for line in text[:_LONGEST_HEADER].splitlines(keepends=True):
        if not line.strip():
            return place + len(line) if place else 0
        # A header goes on in lines that begin with a blank.
        if not (_HEADER.match(line) or (place and line[0] in " \t")):
            return 0
        place += len(line)
    return 0


def _single_blanks(text: str) -> str:
    return _LINES.sub("\n\n", _BLANKS.sub(" ", clean(text))).strip()


def lead(text: str, length: int = LEAD_LENGTH) -> str:
    r"""Return a title for a text: its subject if it is a message, or its first line."""
    start = text[:2000].lstrip()
    if _HEADER.match(start):
        found = _SUBJECT.search(start)
        if found:
            start = found.group(1)
    # Four times the length leaves room for blanks that go away.
    line = start.partition("\n")[0][: 4 * length]
    line = _BLANKS.sub(" ", clean(line)).strip()
    return line if len(line) <= length else shorten(line, length)


class WordMarker:
    r"""Marks the words of documents with their topics.

    `term_of` turns a word in lower case into the term it counts as, such as its stem.
    """

    def __init__(
        self, data: TopicData, term_of: Callable[[str], str] | None = None
    ) -> None:
        self._data = data
        self._known = _Columns(data.vocabulary, term_of)
        # Terms of several words are looked for only where there are any.
        blanks = max(_as_words(term).count(" ") for term in data.vocabulary)
        self._longest = min(blanks + 1, 4)

    def mark(self, texts: Sequence[str], rows: Sequence[int]) -> list[str]:
        """Return the texts (see `shorten`) of these documents with marked words."""
        # What is between words, a word, what is between, a word, …
        pieces = [_WORD.split(text) for text in texts]
        find = self._find_words if self._longest == 1 else self._find_phrases
        found = [find(parts) for parts in pieces]
        sizes = [len(terms) for _, terms in found]
        terms = np.array([t for _, terms in found for t in terms], dtype=np.int64)
        documents = np.repeat(np.asarray(rows, dtype=np.int64), sizes)
        topics = self._topics(terms, documents).tolist()
        ends = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        for parts, (places, _), (start, stop) in zip(
            pieces, found, pairwise(ends), strict=True
        ):
            for place, topic in zip(places, topics[start:stop], strict=True):
                parts[place] = f"{_BEGIN}{topic}{_MIDDLE}{parts[place]}{_END}"
        return ["".join(parts) for parts in pieces]

    def _find_words(self, parts: list[str]) -> tuple[list[int], list[int]]:
        """Return the places of the known terms among the parts, and their columns."""
        known = self._known
        found = [
            (2 * place + 1, term)
            for place, term in enumerate([known[word] for word in parts[1::2]])
            if term >= 0
        ]
        return [place for place, _ in found], [term for _, term in found]

    def _find_phrases(self, parts: list[str]) -> tuple[list[int], list[int]]:
        """Return the same where terms may have several words; the longest wins.

        The words of a phrase, and what is between them, become one part.
        """
        known = self._known
        words = [known.normal(word) for word in parts[1::2]]
        places, terms = [], []
        first = 0
        while first < len(words):
            sizes = range(min(self._longest, len(words) - first), 0, -1)
            phrases = ((size, " ".join(words[first : first + size])) for size in sizes)
            size, term = next(
                ((size, known[text]) for size, text in phrases if known[text] >= 0),
                (1, known[parts[2 * first + 1]]),
            )
            if term >= 0:
                start, stop = 2 * first + 1, 2 * (first + size)
                parts[start] = "".join(parts[start:stop])
                parts[start + 1 : stop] = [""] * (stop - start - 1)
                places.append(start)
                terms.append(term)
            first += size
        return places, terms

    def _topics(
        self, terms: NDArray[np.int64], documents: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return argmax_k θ_dk φ_kw for pairs of term and document."""
        topics = np.zeros(len(terms), dtype=np.int64)
        mixtures = self._data.doc_topics
        used, place = np.unique(terms, return_inverse=True)
        by_term = np.ascontiguousarray(self._data.topics[:, used].T)
        block = max(1, 8_000_000 // self._data.n_topics)
        for first in range(0, len(terms), block):
            rows = slice(first, first + block)
            joint = by_term[place[rows]]
            if mixtures is not None:
                joint = joint * mixtures[documents[rows]]
            topics[rows] = joint.argmax(axis=1)
        return topics


def _as_words(term: str) -> str:
    """Return a term as it stands in a text: phrases may be joined by underscores."""
    return term.replace("_", " ").strip()


class _Columns(dict[str, int]):
    """The column of every word, -1 if it has none; each is found out once."""

    def __init__(
        self, vocabulary: Sequence[str], term_of: Callable[[str], str] | None
    ) -> None:
        super().__init__()
        self._terms = {_as_words(term): w for w, term in enumerate(vocabulary)}
        self._terms |= {term: w for w, term in enumerate(vocabulary)}
        self._term_of = term_of

    def __missing__(self, word: str) -> int:
        column = self._terms.get(self.normal(word), self._terms.get(word, -1))
        self[word] = column
        return column

    def normal(self, word: str) -> str:
        """Return the term that a word would be, if it is in the vocabulary."""
        lower = word.lower()
        if not lower.isascii():
            lower = unicodedata.normalize("NFKC", lower)
        return lower if self._term_of is None else self._term_of(lower)
