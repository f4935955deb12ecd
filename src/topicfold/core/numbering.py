# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of topics while a person edits them.

Arrays have a row per topic without gaps. A person's numbers stay through any chain of
edits: a merge or a drop leaves a gap, a split takes new numbers. Both follow from the
log of the edits, so the log is all that is kept. ``{"action": "renumber"}`` closes the
gaps: the numbers are those of the rows again.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any


def topic_numbers(edits: Iterable[Mapping[str, Any]], n_topics: int) -> list[int]:
    """Return the number of every row, in ascending order.

    A log that cannot have led to `n_topics` topics says nothing: numbers are rows then.

    Examples
    --------
    >>> topic_numbers([{"action": "merge", "topics": [1, 3]}], 4)
    [0, 1, 2, 4]
    >>> topic_numbers([{"action": "split", "topic": 1, "n_topics": 2}], 4)
    [0, 1, 2, 3]
    """
    rows = list(range(n_topics))
    try:
        changes = [_change(edit) for edit in _since_renumbering(edits)]
        first = n_topics + sum(len(gone) - more for gone, more in changes)
        if first < 1 or any(more < 0 for _, more in changes):  # a damaged file
            return rows
        numbers, following = list(range(first)), first
        for gone, more in changes:
            for number in gone:
                numbers.remove(number)
            numbers += range(following, following + more)
            following += more
    except (KeyError, TypeError, ValueError):
        return rows
    return numbers if len(numbers) == n_topics else rows


def fitted_size(edits: Iterable[Mapping[str, Any]], n_topics: int) -> int:
    """Return how many topics there were before the first edit of a log."""
    try:
        changes = [_change(edit) for edit in edits]
    except (KeyError, TypeError, ValueError):  # a damaged file
        return n_topics
    return max(1, n_topics + sum(len(gone) - more for gone, more in changes))


def renumbered(model: Any) -> Any:
    """Return the model with the numbers of its topics those of the rows.

    The same model, if they are already.
    """
    edits = getattr(model, "edits_", None)
    if not edits or not hasattr(model, "components_"):
        return model
    n_topics = len(model.components_)
    if topic_numbers(edits, n_topics) == list(range(n_topics)) and not _left_gaps(
        edits
    ):
        return model
    changed = copy.copy(model)
    changed.edits_ = [*edits, {"action": "renumber"}]
    return changed


def _since_renumbering(edits: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    kept: list[Mapping[str, Any]] = []
    for edit in edits:
        kept = [] if edit["action"] == "renumber" else [*kept, edit]
    return kept


def _change(edit: Mapping[str, Any]) -> tuple[list[int], int]:
    """Return the numbers that an edit removes, and how many it adds."""
    if edit["action"] == "merge":
        return sorted({*edit["topics"]})[1:], 0
    if edit["action"] == "drop":
        return sorted({*edit["topics"]}), 0
    if edit["action"] == "split":
        return [], edit.get("n_topics", 2) - 1
    if edit["action"] == "grow":  # new topics, of documents that were added
        return [], edit["n_topics"]
    return [], 0


def _left_gaps(edits: Iterable[Mapping[str, Any]]) -> bool:
    """Whether numbers that are gone would be passed over by the next split."""
    try:
        return any(_change(edit)[0] for edit in _since_renumbering(edits))
    except (KeyError, TypeError, ValueError):  # a damaged file
        return False
