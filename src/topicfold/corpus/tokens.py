# SPDX-License-Identifier: BSD-3-Clause
"""From text to words: the one place where topicfold cuts text.

A word is a run of letters, combining marks and numbers that has at least two letters
and begins with a letter or a number. Text is lower-cased and brought to Unicode form
NFKC first, so that composed and decomposed accents, ligatures and wide letters count as
the same word. Tags and entities of HTML, links and the headers of mails are left out
(`clean`). Pure numbers, single letters and underscores are not words; languages that
write without spaces must be cut into words before (`tokens="spaces"`), or by a function
of your own.

Text is cut in two steps. `runs` is quick and coarse; what a run means (a word, its
stem, a stop word, nothing) is found out once for every different run, not for every
occurrence. That makes stop words, stems and exact rules for all scripts nearly free.
"""

from __future__ import annotations

import difflib
import html
import importlib.util
import logging
import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain, groupby, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.core.lazy import optional
from topicfold.core.parameters import level_of_caller
from topicfold.exceptions import DataError, DataWarning

_logger = logging.getLogger("topicfold")

# How to split: a name, or a function from a text to its words.
Tokens = str | Callable[[str], Iterable[str]]

# Joiners that live inside words of Persian and of the languages of India.
_JOINERS = "\u200c\u200d"
# Where Unicode has its combining marks.
_MARK_RANGES = (range(0x300, 0x20000), range(0xE0100, 0xE01F0))
# Bytes of ASCII text: letters to lower case, what is no letter or digit to spaces.
_ASCII = bytes(
    ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else 32
    for code in range(256)
)
# Tags that texts have, with attributes or without; bounded, so that any text takes
# linear time.
_NAMES = (
    "a|abbr|article|aside|b|big|blockquote|body|br|button|caption|center|cite|code|"
    "dd|del|div|dl|dt|em|figure|figcaption|font|footer|form|h[1-6]|head|header|hr|html|"
    "i|iframe|img|input|ins|label|li|link|main|meta|nav|noscript|object|ol|option|p|"
    "param|pre|q|s|section|select|small|span|strike|strong|sub|sup|table|tbody|td|"
    "textarea|tfoot|th|thead|title|tr|tt|u|ul|video"
)
_TAG = re.compile(
    rf"</?(?:{_NAMES})(?:\s[^<>=]{{1,60}}=[^<>]{{0,2000}})?\s{{0,9}}/?>|"
    r"<!--[^<>]{0,2000}-->|<!doctype[^<>]{0,300}>",
    re.IGNORECASE,
)
# What is left of an entity that lost its &.
_BARE_NAMES = ("quot;", "amp;", "lt;", "gt;", "nbsp;", "apos;", "#")
_BARE_ENTITY = re.compile(r"(?<!\w)(?:quot|amp|lt|gt|nbsp|apos|#\d{1,6});")
_LINK = re.compile(r"(?<!\w)(?:https?://|ftp://|www\.)[^\s<>\"')\]]{1,2000}")
_ADDRESS = re.compile(
    r"<?(?<![\w.+-])[\w.+-]{1,99}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,9}>?"
)
# The lines before the first empty one of a mail or post, and what shows that it is one.
_HEADER = re.compile(
    r"\s{0,9}(?:[A-Za-z][\w.-]{1,40}:[^\n]{0,2000}\n(?:[ \t]+\S[^\n]{0,2000}\n){0,99})"
    r"{2,99}\s{0,9}\n"
)
_MAIL = re.compile(r"^(?:from|to|date|subject|message-id|received):", re.I | re.M)
_SUBJECT = re.compile(r"^subject:(?:\s{0,3}(?:re|fwd?)\s{0,3}:)*(.*)$", re.I | re.M)

# What is left of contractions ("don't") where text is cut at the apostrophe.
_CONTRACTED = (
    *("ain", "aren", "couldn", "didn", "doesn", "don", "hadn", "hasn", "isn", "ll"),
    *("mustn", "shouldn", "ve", "wasn", "weren", "wouldn"),
)

# Where Unicode has the letters of Chinese and Japanese, Thai, Lao, Burmese and Khmer.
_UNSPACED = {
    "Chinese or Japanese": ((0x3040, 0x30FF), (0x3400, 0x9FFF), (0x20000, 0x3134F)),
    "Thai or Lao": ((0x0E00, 0x0EFF),),
    "Burmese or Khmer": ((0x1000, 0x109F), (0x1780, 0x17FF)),
}
_CUTTERS = {
    "Chinese or Japanese": "jieba.lcut for Chinese, or fugashi for Japanese",
    "Thai or Lao": "pythainlp.word_tokenize",
    "Burmese or Khmer": "pyidaungsu.tokenize or khmernltk.word_tokenize",
}
# Stop words of the language of the texts where it is certain, else English ones.
AUTO = "auto"
ENGLISH = ("english", "en")
# Words that texts of a language are full of, and that are not English stop words.
_FUNCTION_WORDS = {
    "german": "der die das und ist nicht ein eine mit von zu auf",
    "french": "le la les des et est une dans pour que par sur",
    "spanish": "el los las que en una por para se del como su",
    "italian": "il di che la non una del sono della le si dei",
    "portuguese": "que não para uma um com os da na em se ou",
    "dutch": "het een van niet dat met voor op zijn te wordt als",
    "russian": "не на что по из для от как это или если при",
    "swedish": "och att är för inte till på ett från eller av det",
    "polish": "nie się na jest że jak lub dla przez od po są",
}
# So many of them must be among so many of the most frequent words. English corpora have
# at most one there, related languages such as Catalan up to six.
_LEAST_FUNCTION_WORDS = 7
_MOST_FREQUENT = 50
# Words that texts in English are full of, and those of the other languages are not.
_ENGLISH_WORDS = "the of and to is that for with was it are this"
# So many texts are looked at, and the beginning of each. The language is certain if so
# many of the texts that show a language, and such a share of all, show this one.
LOOKED_AT_TEXTS = 500
_BEGINNING = 2000
_CERTAIN = 0.9
_SHOWN = 0.3
_LEAST_SHOWN = 5
# How many words are looked at, and the mean length above which they are phrases.
_LOOKED_AT = 2000
_LONGEST_WORD = 4.5


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
    return [word for run in runs(clean(text)) if (word := word_in(run)) is not None]


def clean(text: str) -> str:
    """Return a text without the tags and entities of HTML, scripts, links and headers.

    Entities become what they stand for, also those that were escaped twice or have
    lost their ``&``. What only looks like a tag (``a <b``) stays. Of the header of a
    mail or post its subject stays; addresses of mail are left out like links.

    Examples
    --------
    >>> clean("Tom &amp;amp; Jerry<br/> quot;on ice&quot; <a href='x'>here</a>")
    'Tom & Jerry   on ice"  here '
    >>> clean("if a <b and c> d")
    'if a <b and c> d'
    """
    header = _HEADER.match(text)
    if header and len(_MAIL.findall(header[0])) > 1:
        subject = _SUBJECT.search(header[0])
        text = (subject[1] if subject else "") + "\n" + text[header.end() :]
    if "&" in text or ";" in text:
        if "&" in text:
            text = html.unescape(html.unescape(text))
        if ";" in text and any(name in text for name in _BARE_NAMES):
            text = _BARE_ENTITY.sub(" ", text)
    if "<" in text:
        for name in ("script", "style"):
            text = _without_element(text, name)
        text = _TAG.sub(" ", text)
    if "://" in text or "www." in text:
        text = _LINK.sub(" ", text)
    if "@" in text:
        # An address ends with its line, and the pattern is slow.
        lines = text.split("\n")
        text = "\n".join(_ADDRESS.sub(" ", x) if "@" in x else x for x in lines)
    return text


def _without_element(text: str, name: str) -> str:
    """Leave out elements with their content; time linear in the text."""
    lower = text.lower() if text.isascii() else text
    parts, place = [], 0
    while (start := lower.find(f"<{name}", place)) >= 0:
        end = lower.find(f"</{name}>", start)
        if end < 0:
            break
        parts.append(text[place:start])
        place = end + len(name) + 3
    return " ".join([*parts, text[place:]]) if parts else text


def clean_runs(text: str) -> list[str]:
    """Clean a text, then cut it."""
    return runs(clean(text))


def runs(text: str) -> list[str]:
    """Cut text where no word can go on; every run has one word or none."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.lower()).lower()
    if text.isascii():
        return text.encode("ascii").translate(_ASCII).decode("ascii").split()
    if _JOINERS[0] in text or _JOINERS[1] in text:
        # A joiner belongs to a word or ends it: only the full rule knows.
        return _word_pattern().findall(text)
    return _run_pattern().findall(text.replace("_", " "))


def word_in(run: str) -> str | None:
    """Return the word of a run, or None."""
    if run.isascii():
        # A word needs two letters; most runs begin with two.
        if run[:2].isalpha() and len(run) > 1:
            return run
        return run if sum(map(str.isalpha, run)) > 1 else None
    found = _word_pattern().search(run)
    return None if found is None else found.group()


@lru_cache(maxsize=1)
def _marks() -> str:
    marks = ""
    for is_mark, group in groupby(
        chain(*_MARK_RANGES), key=lambda code: unicodedata.category(chr(code))[0] == "M"
    ):
        if is_mark:
            codes = list(group)
            marks += f"\\U{codes[0]:08x}-\\U{codes[-1]:08x}"
    return marks


@lru_cache(maxsize=1)
def _run_pattern() -> re.Pattern[str]:
    return re.compile(rf"[\w{_marks()}]+")


@lru_cache(maxsize=1)
def _word_pattern() -> re.Pattern[str]:
    r"""Return the regular expression of a word; linear time on any input.

    Python's ``\w`` knows no combining marks, hence a class of them. It is tried only
    where letters end, which keeps the pattern as fast as a plain one.
    """
    marks = _marks()
    letter, alnum = r"[^\W\d_]", r"[^\W_]"
    return re.compile(
        rf"(?<!\d)\d*{letter}(?:{letter}|[\d{marks}{_JOINERS}]+{letter})"
        rf"(?:{alnum}+|[{marks}]+|[{_JOINERS}](?={alnum}))*"
    )


def reader(
    tokens: Tokens, stop_words: Any, stem: str | None
) -> tuple[Callable[[str], Any], Callable[[str], str | None]]:
    """Return the function that cuts a text, and the one that reads a piece."""
    cut, read = _cutter(tokens)
    words = stop_word_list(stop_words)
    if isinstance(tokens, str):
        left_out = _left_out(tokens, tuple(words))
    else:
        left_out = frozenset(read(piece) for word in words for piece in cut(word))
    stem_of = stemmer(stem)
    if not left_out and stem_of is None:
        return cut, read

    def read_fully(run: str) -> str | None:
        word = read(run)
        if word is None or word in left_out:
            return None
        return word if stem_of is None else stem_of(word) or None

    return cut, read_fully


@lru_cache(maxsize=16)
def _left_out(tokens: str, stop_words: tuple[str, ...]) -> frozenset[str | None]:
    """Return stop words as they are read in texts."""
    cut, read = _cutter(tokens)
    return frozenset(read(piece) for word in stop_words for piece in cut(word))


def _cutter(tokens: Tokens) -> tuple[Callable[[str], Any], Callable[[str], str | None]]:
    if tokens == "words":
        return clean_runs, word_in
    if tokens == "spaces":
        return str.split, _itself
    if callable(tokens):
        return _checked(tokens), _itself
    raise DataError(
        f"tokens={tokens!r} is not known. Give one of words, spaces, or a function "
        "that takes a text and returns a list of words."
    )


def stop_word_list(stop_words: Any) -> list[str]:
    """Return the stop words of a language, of several ("english,german"), or those
    given.
    """
    if stop_words is None:
        return []
    if isinstance(stop_words, str):
        names = stop_words.split(",")
        return list(
            dict.fromkeys(word for name in names for word in _of_language(name))
        )
    try:
        words = list(stop_words)
    except TypeError as error:
        raise DataError(
            f"stop_words is of type {type(stop_words).__name__}. Give a list of words."
        ) from error
    if not all(isinstance(word, str) for word in words):
        raise DataError("stop_words holds something that is not a string. Give words.")
    return words


def _of_language(name: str) -> list[str]:
    """Return the stop words of a language, English ones as scikit-learn has them.

    With them go the pieces of contractions, such as "don" and "ve".
    """
    language = name.strip().lower()
    if language in (AUTO, *ENGLISH):
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return [*ENGLISH_STOP_WORDS, *_CONTRACTED]
    package = optional(
        "stop_words",
        f"stop_words={name!r}: languages other than English need the package "
        "stop-words",
        "stop-words (or 'topicfold[languages]')",
        "or give a list of words",
    )
    languages = package.LANGUAGE_MAPPING
    language = languages.get(language, language)
    known = sorted(languages.values())
    if language not in known:
        near = difflib.get_close_matches(language, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise DataError(
            f"stop_words={name!r} is not a language with stop words.{hint} Give one of "
            f"{', '.join(known)}, a list of words or None."
        )
    return list(package.get_stop_words(language))


def stemmer(language: str | None) -> Callable[[str], str] | None:
    """Return the function from a word to its stem, of Snowball's stemmers."""
    if language is None:
        return None
    snowballstemmer = optional(
        "snowballstemmer", "stem needs snowballstemmer", "snowballstemmer"
    )
    known = sorted(snowballstemmer.algorithms())
    if language not in known:
        raise DataError(
            f"stem={language!r} is not a language that can be stemmed. Give one of "
            f"{', '.join(known)}."
        )
    stem: Callable[[str], str] = snowballstemmer.stemmer(language).stemWord
    return stem


def _itself(piece: str) -> str | None:
    return piece or None


def _checked(tokens: Callable[[str], Iterable[str]]) -> Callable[[str], list[str]]:
    def cut(text: str) -> list[str]:
        pieces = tokens(text)
        known = isinstance(pieces, Iterable) and not isinstance(pieces, str)
        words = list(pieces) if known else None
        if words is None or not all(isinstance(word, str) for word in words):
            raise DataError(
                "the function given as tokens must return a list of strings; it "
                f"returned {type(pieces).__name__} for {text[:40]!r}."
            )
        return words

    return cut


def warn_unspaced(words: Iterable[str]) -> None:
    """Warn if words look like sentences of a script that has no spaces."""
    lengths: dict[str, list[int]] = {name: [] for name in _UNSPACED}
    looked_at = 0
    for word in islice(words, _LOOKED_AT):
        looked_at += 1
        if not word.isascii():
            code = ord(word[0])
            for name, ranges in _UNSPACED.items():
                if any(low <= code <= high for low, high in ranges):
                    lengths[name].append(len(word))
    for name, found in lengths.items():
        if 2 * len(found) > looked_at and sum(found) > _LONGEST_WORD * len(found):
            warnings.warn(
                f"The texts are in {name}, which is written without spaces between "
                "words, so most terms are whole phrases (mean length "
                f"{sum(found) / len(found):.0f} letters). Split the texts into words "
                f"with a function given as tokens, such as {_CUTTERS[name]}; or put "
                "spaces between the words and set tokens='spaces'.",
                DataWarning,
                stacklevel=level_of_caller(),
            )


def language_of(texts: Sequence[str]) -> str:
    """Return the language of texts: English, unless nearly all show one other.

    Examples
    --------
    >>> language_of(["the red fox and the end of it", "this is for the fish"])
    'english'
    """
    known = {name: set(words.split()) for name, words in _FUNCTION_WORDS.items()}
    known["english"] = set(_ENGLISH_WORDS.split())
    votes: Counter[str] = Counter()
    full = 0
    for text in texts:
        words = set(runs(clean(text[:_BEGINNING])))
        full += any(map(word_in, words))
        hits = sorted(
            ((len(words & own), name) for name, own in known.items()), reverse=True
        )
        # At least two of its words, and more of them than of any other language.
        if hits[0][0] >= max(2, hits[1][0] + 1):
            votes[hits[0][1]] += 1
    if not votes:
        return "english"
    language, number = votes.most_common(1)[0]
    enough = number >= max(_LEAST_SHOWN, _SHOWN * full)
    return language if enough and number >= _CERTAIN * votes.total() else "english"


def stop_words_for(texts: Sequence[str]) -> tuple[str, bool]:
    """Return whose stop words suit texts, and whether something was said of it.

    Those of another language are taken where they are installed.
    """
    language = language_of(texts)
    if language == "english":
        return language, False
    if importlib.util.find_spec("stop_words") is None:
        _logger.warning(
            "These texts are in %s, and its stop words are not installed: run pip "
            "install 'topicfold[languages]', or give a list of words as stop_words",
            language.capitalize(),
        )
        return "english", True
    _logger.warning(
        "These texts are in %s: its stop words are left out (stop_words='english' "
        "for others)",
        language.capitalize(),
    )
    return language, True


def advise_language(words: Sequence[str], frequencies: NDArray[np.int64]) -> None:
    """Say which stop words would suit, if the frequent words are of another language.

    `frequencies` has the number of texts that have a word.
    """
    order = np.argsort(-frequencies, kind="stable")[:_MOST_FREQUENT]
    frequent = [words[number] for number in order]
    for language, common in _FUNCTION_WORDS.items():
        found = [word for word in frequent if word in common.split()]
        if len(found) >= _LEAST_FUNCTION_WORDS:
            _logger.warning(
                "Some of these texts look %s (%s …): stop_words='english,%s' leaves "
                "out the common words of both languages",
                language.capitalize(),
                ", ".join(found[:3]),
                language,
            )
            return
