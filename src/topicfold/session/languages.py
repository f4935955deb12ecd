# SPDX-License-Identifier: BSD-3-Clause
"""Texts of the same documents in several languages: their counts, now and later."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from topicfold.corpus.record import Corpus
from topicfold.corpus.vectorizing import cutting_options, vectorize_known
from topicfold.exceptions import DataError

_logger = logging.getLogger("topicfold")
# Options of the first language that another does not take over.
_NOT_SHARED = ("stem", "keep", "left_out", "stop_words")


def languages_named(given: Any) -> dict[str, Any]:
    """Return the columns of other languages, each with its stop words or None.

    A column by its name, several as a list, or a mapping to stop words.
    """
    if given is None:
        return {}
    if isinstance(given, str):
        given = [given]
    wanted = dict(given) if isinstance(given, Mapping) else dict.fromkeys(given)
    for name in ("X", "y"):
        if name in wanted:
            raise DataError(
                f"the language {name!r} has the name of the counts or the labels. Give "
                "its column another name."
            )
    return wanted


def count_languages(
    first: str,
    corpus: Any,
    wanted: Mapping[str, Any],
    extra: Mapping[str, Sequence[str]] | None,
    text: Mapping[str, Any] | None,
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the counts of every language, and how the texts of each were split.

    `first` names the language of `corpus`, whose texts were split with the options
    `text`. `wanted` (see `languages_named`) has the other languages; their texts are
    columns of `extra` and are split with the same options, but their own stop words.
    Returns an empty mapping and None if there are no others.
    """
    if not wanted:
        return {}, None
    found: dict[str, Any] = {first: corpus}
    cutting: dict[str, Any] = {first: text}
    shared = {k: v for k, v in (text or {}).items() if k not in _NOT_SHARED}
    for name, stop_words in wanted.items():
        if name == first:
            raise DataError(f"language {name}: that is the column of the text.")
        if name not in (extra or {}):
            raise DataError(
                f"the documents have no column {name!r}, because they are counts. Give "
                "a table with a column of texts."
            )
        own = {**shared, "stop_words": stop_words}
        try:
            found[name] = Corpus.from_texts((extra or {})[name], **own)
        except DataError as error:
            raise DataError(f"language {name}: {error}") from error
        cutting[name] = own
    return found, cutting


def languages_of(model: Any) -> dict[str, list[str]]:
    """Return the words of every language of a model but its first."""
    return {
        side.name: list(side.feature_names_in_)
        for side in getattr(model, "sides_", ())
        if hasattr(side, "top_words") and hasattr(side, "feature_names_in_")
    }


def check_language(saved: Any, name: str) -> None:
    """Refuse a language that a model does not have besides its first."""
    own = languages_of(saved.model)
    if name not in own:
        first = next(iter(saved.languages or ()), None)
        hint = f" {first!r} is its first: name it with text='...'." if first else ""
        raise DataError(
            f"the model has no language {name!r} besides its first; it has "
            f"{', '.join(own) or 'none'}.{hint}"
        )


def known_languages(
    saved: Any,
    wanted: Iterable[str],
    extra: Mapping[str, Sequence[str]] | None,
    count: Callable[..., Any] | None = None,
) -> dict[str, Any]:
    """Return the counts of new texts in the words of a model's other languages.

    ``count(texts, words, cutting, language=name)`` counts them; by default unknown
    words are logged.
    """
    own, cutting = languages_of(saved.model), saved.languages or {}
    found = {}
    for name in wanted:
        check_language(saved, name)
        given = (extra or {})[name], own[name], cutting.get(name)
        found[name] = (count or count_known)(*given, language=name)
    return found


def count_known(
    texts: Sequence[str],
    words: Sequence[str],
    cutting: Mapping[str, Any] | None,
    *,
    language: str = "",
    note: Callable[[str], Any] = _logger.info,
    unknown: str = "and are ignored",
) -> Any:
    """Return how often texts have a model's words; note how many others they have."""
    options = cutting_options(cutting or {})
    counts, counter = vectorize_known(texts, words, **options)
    if counter.n_unknown:
        where = f" of {language}" if language else ""
        note(
            f"{counter.n_unknown:,} of {counter.n_words:,} words{where} "
            f"({counter.n_different_unknown:,} different) are not in the model's "
            f"vocabulary {unknown}"
        )
    return counts
