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
from topicfold.exceptions import DataError
from topicfold.known import (
    BETWEEN,
    add_sides,
    known_data,
    model_for,
    names_in,
    numbers_in,
    taken_by,
)

_side = functools.partial(flag, rich_help_panel="What else is known")
_column = functools.partial(_side, metavar="COLUMN")
# How a column holds several names, as a text of `topicfold.sides.Authors` does.
_BETWEEN = ";"
# The model whose business a side is, the first one that was asked for.
_MODELS = {
    "label_topics": "labeled",
    "response": "slda",
    "links": "rtm",
    "features": "features",
    "authors": "authors",
    "language": "multimodal",
}
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
        "Column with a feature that says which topics to expect; may be repeated."
    )
    prevalence: list[str] | None = _column(
        "Column with a covariate of how much documents say of topics (structural "
        "topic model); may be repeated."
    )
    content: str | None = _column(
        "Column with groups of documents that word the same topics differently."
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
        named += [*(self.prevalence or ()), *self.languages()]
        return list(dict.fromkeys(name for name in named if name is not None))

    def languages(self) -> dict[str, str | None]:
        """Return the columns of other languages, each with what its stop words are."""
        pairs = (text.partition("=") for text in self.language or ())
        return {column: words or None for column, _, words in pairs}

    def model_name(self) -> str:
        """Return the model for what is known; LDA if it is nothing."""
        asked = {k: v for k, v in vars(self).items() if v not in (None, False, [])}
        if self.label_topics:
            asked["labels"] = True
        name = model_for(asked)
        return "multimodal" if name == "lda" and self.language else name

    def check(self) -> None:
        """Refuse flags that make no sense, before anything is read."""
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
        named |= {"prevalence": self.prevalence, "content": self.content}
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

    def take(self, model: Any, data: Mapping[str, Any]) -> None:
        """Give a model the sides that it does not have by itself."""
        if "sides" not in model.get_params(deep=False):
            if data.keys() <= taken_by(model):
                return
            raise CommandError(
                f"{type(model).__name__} does not learn from {', '.join(self.given())}."
                " Use the model lda."
            )
        add_sides(model, data, kind=self.response_kind)
        from topicfold.sides import OtherCounts

        own = [side.name for side in model._own_sides() if hasattr(side, "name")]
        spoken = [n for n in self.languages() if n in data and n not in own]
        if spoken:
            more = [OtherCounts(name) for name in spoken]
            model.set_params(sides=[*(model.sides or ()), *more])


def count_languages(
    sides: SideOptions, corpus: Any, text: Mapping[str, Any] | None, first: str
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the counts of every language, and how the texts of each were cut.

    The corpus itself is the first; nothing and None if there are no others.
    """
    from topicfold.corpus import Corpus

    wanted = sides.languages()
    if not wanted:
        return {}, None
    extra = _columns_of(corpus, list(wanted))
    found: dict[str, Any] = {first: corpus}
    cutting: dict[str, Any] = {first: text}
    for name, words in wanted.items():
        if name == first:
            raise CommandError(f"--language {name}: that is the column of --text.")
        not_own = ("stem", "keep", "left_out")
        own = {key: value for key, value in (text or {}).items() if key not in not_own}
        try:
            own["stop_words"] = stop_words_of(words or "none", own.get("tokens"))
            found[name] = Corpus.from_texts(extra[name], **with_function(own))
        except (CommandError, DataError) as error:
            text_of = str(error).replace("--stop-words ", "")
            raise CommandError(f"--language {name}: {text_of}") from error
        cutting[name] = own
    return found, cutting


def _languages_of(model: Any) -> dict[str, list[str]]:
    """Return the words of every language of a model but its first."""
    return {
        side.name: list(side.feature_names_in_)
        for side in getattr(model, "sides_", ())
        if hasattr(side, "top_words") and hasattr(side, "feature_names_in_")
    }


def check_languages(sides: SideOptions, saved: Any) -> None:
    """Refuse languages that a saved model does not have."""
    own = _languages_of(saved.model)
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
    own, cutting = _languages_of(saved.model), saved.languages or {}
    return {
        name: count_known(texts[name], own[name], cutting.get(name), options, name)
        for name in sides.languages()
    }


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
