# SPDX-License-Identifier: BSD-3-Clause
"""What else is known of documents: flags of ``fit`` and ``transform``."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from topicfold.cli.messages import CommandError

_side = functools.partial(typer.Option, rich_help_panel="What else is known")
_column = functools.partial(_side, metavar="COLUMN")
# How a column holds several names.
_BETWEEN = ";"


@dataclass(kw_only=True)
class SideOptions:
    """Flags that name columns and files with more than words; none by default."""

    authors: Annotated[
        str | None,
        _column(help=f"Column with the authors, several with {_BETWEEN!r} between."),
    ] = None
    response: Annotated[
        str | None,
        _column(help="Column with what topics are to predict: numbers, else classes."),
    ] = None
    features: Annotated[
        list[str] | None,
        _column(help="Column that says which topics to expect; give it several times."),
    ] = None
    label_topics: Annotated[
        bool, _side("--label-topics", help="A topic for each label, and one for all.")
    ] = False
    links: Annotated[
        Path | None,
        _side(metavar="FILE", help="Links of documents: two numbers per line, from 0."),
    ] = None

    def given(self) -> list[str]:
        """Return the flags that were given."""
        names = [item.name for item in fields(self) if getattr(self, item.name)]
        return ["--" + name.replace("_", "-") for name in names]

    def columns(self) -> list[str]:
        """Return the columns to read beside the text, each once."""
        named = [self.authors, self.response, *(self.features or ())]
        return list(dict.fromkeys(name for name in named if name is not None))

    def data(self, corpus: Any) -> dict[str, Any]:
        """Return what `fit` and `transform` take, by keyword."""
        extra = _columns_of(corpus, self.columns())
        found: dict[str, Any] = {}
        if self.authors is not None:
            found["authors"] = [_names(value) for value in extra[self.authors]]
        if self.response is not None:
            texts = extra[self.response]
            found["response"] = _numbers(texts) or [text or None for text in texts]
        if self.features:
            found["features"] = {
                name: _numbers(extra[name]) or extra[name] for name in self.features
            }
        if self.links is not None:
            from topicfold.cli.inputs import read_links

            found["links"] = read_links(self.links, "--links")
        if self.label_topics:
            if corpus.labels is None:
                raise CommandError(
                    "--label-topics needs labels. Name their column with --label."
                )
            found["labels"] = [_names(label) or None for label in corpus.labels]
        return found

    def take(self, model: Any, data: Mapping[str, Any]) -> None:
        """Give a model the sides that it does not have by itself."""
        if "sides" not in model.get_params(deep=False):
            raise CommandError(
                f"{type(model).__name__} does not learn from {', '.join(self.given())}."
                " Use the model lda."
            )
        if "response" in data and "kind" in model.get_params(deep=False):
            model.set_params(kind=_response_kind(data["response"]))
        own = {type(side) for side in model._own_sides()}
        added = [side for side in _sides(data) if type(side) not in own]
        model.set_params(sides=added or None)


def _sides(data: Mapping[str, Any]) -> Iterator[Any]:
    """Yield a side for each kind of data."""
    from topicfold import sides

    if "authors" in data:
        yield sides.Authors()
    if "response" in data:
        yield sides.Response(_response_kind(data["response"]))
    if "features" in data:
        yield sides.Features()
    if "labels" in data:
        yield sides.Labels()
    if "links" in data:
        yield sides.Links()


def _response_kind(values: Sequence[Any]) -> Any:
    return "real" if isinstance(values[0], float) else "classes"


def _columns_of(corpus: Any, names: Sequence[str]) -> Mapping[str, list[str]]:
    extra: Mapping[str, list[str]] = getattr(corpus, "extra", None) or {}
    missing = [name for name in names if name not in extra]
    if missing:
        raise CommandError(
            f"the documents have no column {missing[0]!r}: counts have no columns. "
            "Give a table with a column of texts."
        )
    return extra


def _names(value: str) -> list[str]:
    return [name.strip() for name in value.split(_BETWEEN) if name.strip()]


def _numbers(values: Sequence[str]) -> list[float] | None:
    """Return a column as numbers, NaN where it is empty; None if it holds others."""
    try:
        return [float(value) if value.strip() else float("nan") for value in values]
    except ValueError:
        return None
