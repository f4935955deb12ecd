# SPDX-License-Identifier: BSD-3-Clause
"""What a model learned besides topics, for the page: authors, effects, words, links."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.core.side_table import SideTable
from topicfold.report.packing import clean, pack_array, pack_strings
from topicfold.topic_data import TopicData

# Numbers of one table that a page can hold and show.
MAX_CELLS = 500_000


def side_content(
    data: TopicData, rows: NDArray[np.int64], notes: list[str]
) -> list[dict[str, Any]]:
    """Return the tables as JSON; links only between the documents that are shown."""
    return [_content(side, data, rows, notes) for side in data.sides]


def _content(
    side: SideTable, data: TopicData, rows: NDArray[np.int64], notes: list[str]
) -> dict[str, Any]:
    content: dict[str, Any] = {"name": clean(side.name), "kind": side.kind}
    if side.kind == "terms":
        content["terms"] = [[clean(term) for term in words] for words in side.terms]
    elif side.pairs is not None:
        content |= _links(side.pairs, rows, data.n_documents)
    elif side.values is not None:
        n_rows = max(1, MAX_CELLS // data.n_topics)
        if len(side.rows) > n_rows:
            notes.append(
                f"Only the first {n_rows:,} of the {len(side.rows):,} {side.name} are "
                "shown."
            )
        content["rows"] = pack_strings(side.rows[:n_rows])
        content["values"] = pack_array(side.values[:n_rows])
        if side.errors is not None:
            content["errors"] = pack_array(side.errors[:n_rows])
        if side.sizes is not None:
            content["sizes"] = pack_array(side.sizes[:n_rows])
        content |= {"note": clean(side.note), "middle": side.middle}
    return content


def _links(
    pairs: NDArray[np.int64], rows: NDArray[np.int64], n_documents: int
) -> dict[str, Any]:
    """Return the documents that each shown one is linked with, both ways."""
    place = np.full(n_documents, -1)
    place[rows] = np.arange(len(rows))
    both = place[np.concatenate([pairs, pairs[:, ::-1]])]
    both = np.unique(both[(both >= 0).all(axis=1)], axis=0)
    both = both[both[:, 0] != both[:, 1]]
    counts = np.bincount(both[:, 0], minlength=len(rows))
    return {"counts": pack_array(counts), "others": pack_array(both[:, 1])}
