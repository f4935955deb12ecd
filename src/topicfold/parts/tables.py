# SPDX-License-Identifier: BSD-3-Clause
"""What sides have learned, as tables for the record of a model and for its report.

A side is known by what it learned: mixtures of entities, effects of features, the
coefficients of a response, seed words, topics in other words. A side of another kind
has no table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from topicfold.core.counts import best_places
from topicfold.core.side_table import SideTable

_WORDS = 10  # of a topic in a time or group


def side_tables(sides: Iterable[Any], vocabulary: Sequence[str]) -> list[SideTable]:
    """Return the tables of fitted sides."""
    return [table for side in sides for table in _tables(side, vocabulary)]


def wording_tables(
    named: Iterable[tuple[str, Any]], common: Any, vocabulary: Sequence[str], what: str
) -> Iterable[SideTable]:
    """Yield the words of topics that some times or groups use more than all do.

    `named` are names with topics (K, V), zero for words that they do not have; `common`
    are the topics of all. Words are ranked by what they add to the divergence of the
    two.
    """
    known = np.maximum(common, 1e-12)
    for name, topics in named:
        more = topics * np.log(np.maximum(topics, 1e-12) / known)
        best = [best_places(row, _WORDS) for row in more]
        terms = [
            tuple(vocabulary[w] for w in places if row[w] > 0)
            for row, places in zip(more, best, strict=True)
        ]
        yield SideTable(name=name, kind="terms", terms=tuple(terms), note=what)


def _tables(side: Any, vocabulary: Sequence[str]) -> Iterable[SideTable]:
    name = str(getattr(side, "keyword", None) or type(side).__name__.lower())
    if hasattr(side, "entity_topics_"):
        yield SideTable(
            name=name,
            kind="shares",
            rows=side.names_,
            values=side.entity_topics_,
            sizes=getattr(side, "sizes_", None),
            pairs=getattr(side, "members_", None),
        )
    elif hasattr(side, "effects_") and hasattr(side, "feature_names_"):
        rows, values = side.effects()  # in the user's units
        yield SideTable(
            name=name,
            kind="effects",
            rows=rows,
            values=values,
            note="Change of the expected share of a topic: per unit of a number, or "
            "for a level compared with the mean of all levels.",
        )
    elif hasattr(side, "coef_"):
        yield _coefficients(side, name)
    elif hasattr(side, "seed_words_"):
        found = [side.seed_words_.get(name, ()) for name in side.topic_names_]
        words = [tuple(vocabulary[word] for word in own) for own in found]
        yield SideTable(name="seed words", kind="terms", terms=tuple(words))
    elif hasattr(side, "top_words"):
        yield SideTable(name=name, kind="terms", terms=side.top_words())
    if hasattr(side, "pairs_"):
        yield SideTable(name=name, kind="links", pairs=side.pairs_)


# What coefficients of topics mean, by the kind of the response.
_MEANINGS = {
    "real": "Predicted response of a document with only this topic; the line is the "
    "mean response.",
    "counts": "Logarithm of the count predicted for a document that has only this "
    "topic; the line is the logarithm of the mean count.",
    "classes": "Score of a class for a document that has only this topic: a score "
    "higher by 1 makes the class 2.7 times as likely.",
    None: "How much a shared topic raises the chance of a link between two documents "
    "(log odds).",
}


def _coefficients(side: Any, name: str) -> SideTable:
    """Return the table of effects of topics on a response or on links.

    Without intervals: the topics have seen the response, so standard errors would make
    intervals that are too narrow.
    """
    values = np.atleast_2d(side.coef_)
    classes = getattr(side, "classes_", None)
    rows = tuple(map(str, () if classes is None else classes))
    kind = getattr(side, "kind", None)
    column = getattr(side, "name_", "")
    name = f"{name} ({column})" if column else name
    return SideTable(
        name=name,
        kind="effects",
        rows=rows if len(rows) == len(values) else (name,),
        values=values,
        note=_MEANINGS.get(kind, ""),
        middle=float(side.mean_) if kind in ("real", "counts") else 0.0,
    )
