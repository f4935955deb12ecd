# SPDX-License-Identifier: BSD-3-Clause
"""What else is known of documents: flags of ``fit`` and ``transform``."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from topicfold.cli.flags import Flags, flag
from topicfold.cli.inputs import count_known, stop_words_of, with_function
from topicfold.cli.messages import CommandError
from topicfold.known import (
    BETWEEN,
    columns_in,
    is_formula,
    known_data,
    model_for,
    names_in,
    numbers_in,
)

_side = functools.partial(flag, rich_help_panel="What else is known")
_column = functools.partial(_side, metavar="COLUMN")
_KINDS = ("real", "classes", "counts")


class SideOptions(Flags):
    """Flags that name columns and files with more than words; none by default."""

    authors: str | None = _column(
        f"Column with the authors, separated by {BETWEEN!r} if several."
    )
    response: str | None = _column(
        "Column that the topics should predict: numbers or classes."
    )
    response_kind: str | None = _side(
        "What the response is: real, classes or counts.",
        metavar="KIND",
        show_default="real if all are numbers, else classes",
    )
    features: list[str] | None = _column(
        "Column with a feature that predicts topics; may be repeated."
    )
    prevalence: list[str] | None = _column(
        "Column with a covariate of topic shares (structural topic model), which may "
        "be repeated, or a formula: '~ party * s(day)'."
    )
    content: str | None = _column(
        "Column with groups that use different words for the same topics."
    )
    label_topics: bool = _side(
        "One topic per label, and one that all documents share if it helps.", False
    )
    links: Path | None = _side(
        "File of links: two document numbers per line, from 0.", metavar="FILE"
    )
    language: list[str] | None = _column(
        "Column with the text in another language, or with tags, which has words of "
        "its own; may be repeated. COLUMN=german leaves out the stop words of a "
        "language."
    )

    def columns(self) -> list[str]:
        """Return the columns to read beside the text, each once."""
        named = [self.authors, self.response, self.content, *(self.features or ())]
        named += [*columns_in({"prevalence": self._prevalence()}), *self.languages()]
        return list(dict.fromkeys(name for name in named if name is not None))

    def _prevalence(self) -> str | list[str]:
        """Return the formula, or the columns."""
        given = self.prevalence or []
        if not any(is_formula(text) for text in given):
            return given
        if len(given) > 1:
            raise CommandError(
                "--prevalence has a formula and other columns. Put all in one formula."
            )
        return given[0]

    def languages(self) -> dict[str, str | None]:
        """Return the columns of other languages, each with what its stop words are."""
        pairs = (text.partition("=") for text in self.language or ())
        return {column: words or None for column, _, words in pairs}

    def model_name(self) -> str:
        """Return the model for what is known; LDA if it is nothing."""
        asked = {k: v for k, v in vars(self).items() if v not in (None, False, [])}
        if self.label_topics:
            asked["labels"] = True
        return model_for(asked)

    def check(self) -> None:
        """Refuse flags that are invalid, before anything is read."""
        if self.response_kind is not None and self.response is None:
            raise CommandError("--response-kind needs --response, the column.")
        if self.response_kind not in (None, *_KINDS):
            raise CommandError(
                f"--response-kind is {self.response_kind!r}. Give one of "
                f"{', '.join(_KINDS)}."
            )
        wrong = {"X", "y"} & self.languages().keys()
        if wrong:
            raise CommandError(
                f"--language {min(wrong)}: X and y are the names of the counts and the "
                "labels. Give the column another name."
            )

    def data(self, corpus: Any) -> dict[str, Any]:
        """Return what `fit` and `transform` take, by keyword; without languages."""
        extra = _columns_of(corpus, self.columns())
        named: dict[str, Any] = {"authors": self.authors, "features": self.features}
        named |= {"prevalence": self._prevalence() or None, "content": self.content}
        named["response"] = self.response
        found = known_data({k: v for k, v in named.items() if v is not None}, extra)
        if self.response is not None and self.response_kind is not None:
            self._check_response(found, extra[self.response])
        if self.links is not None:
            from topicfold.cli.handed_in import read_links

            found["links"] = read_links(self.links, "--links")
        if self.label_topics:
            if corpus.labels is None:
                raise CommandError(
                    "--label-topics needs labels. Name their column with --label."
                )
            found["labels"] = [names_in(label) or None for label in corpus.labels]
        return found

    def _check_response(self, found: dict[str, Any], texts: list[str]) -> None:
        """Make the response what its kind says, or refuse it."""
        numbers = isinstance(found["response"][0], float)
        if self.response_kind == "classes" and numbers:
            found["response"][:] = [text or None for text in texts]
        elif self.response_kind != "classes" and not numbers:
            raise CommandError(
                f"--response-kind is {self.response_kind}, but the column "
                f"{self.response!r} has {_first_text(texts)!r}, which is not a number."
            )


def count_languages(
    sides: SideOptions, corpus: Any, text: Mapping[str, Any] | None, first: str
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the counts of every language, and how the texts of each were split."""
    from topicfold.session import languages

    tokens = (text or {}).get("tokens")
    wanted = {}
    for name, words in sides.languages().items():
        try:
            wanted[name] = stop_words_of(words or "none", tokens)
        except CommandError as error:
            text_of = str(error).replace("--stop-words ", "")
            raise CommandError(f"--language {name}: {text_of}") from error
    extra = getattr(corpus, "extra", None)
    cut = with_function(dict(text or {}))
    found, cutting = languages.count_languages(first, corpus, wanted, extra, cut)
    for name in cutting or ():  # a model keeps the name of a function, not itself
        if tokens is not None and (cutting or {})[name] is not None:
            (cutting or {})[name]["tokens"] = tokens
    return found, cutting


def check_languages(sides: SideOptions, saved: Any) -> None:
    """Refuse languages that a saved model does not have."""
    from topicfold.session.languages import languages_of

    own = languages_of(saved.model)
    for name, words in sides.languages().items():
        if name not in own:
            first = next(iter(saved.languages or ()), None)
            hint = f" {first!r} is its first: name it with --text." if first else ""
            raise CommandError(
                f"the model has no language {name!r} besides its first; it has "
                f"{', '.join(own) or 'none'}.{hint}"
            )
        if words is not None:
            raise CommandError(
                f"--language {name}={words}: the stop words are those of the fit. "
                "Give the column alone."
            )


def known_languages(
    sides: SideOptions, texts: Mapping[str, list[str]], saved: Any, options: Any
) -> dict[str, Any]:
    """Return the counts of new texts in the words of a saved model's languages."""
    from topicfold.session import languages

    count = functools.partial(count_known, options=options)
    return languages.known_languages(saved, sides.languages(), texts, count)


def _first_text(values: Sequence[str]) -> str:
    return next(value for value in values if numbers_in([value]) is None)


def _columns_of(corpus: Any, names: Sequence[str]) -> Mapping[str, list[str]]:
    extra: Mapping[str, list[str]] = getattr(corpus, "extra", None) or {}
    missing = [name for name in names if name not in extra]
    if missing:
        raise CommandError(
            f"the documents have no column {missing[0]!r}: counts have no columns. "
            "Give a table with a column of texts."
        )
    return extra
