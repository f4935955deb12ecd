# SPDX-License-Identifier: BSD-3-Clause
"""Topics that are merged and split between two passes, and what follows them.

Two topics become one, and the halves of a third take both places (`learn.rearranging`).
Shares of topics are added and divided; what is said of a topic, as a coefficient is,
stays with it, and both halves have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from topicfold.core.typing import Array

Rows = TypeVar("Rows", bound=Array)


class Move(NamedTuple):
    """Topics `into` and `spare` become one; `parted` keeps `share` of itself."""

    into: int
    spare: int
    parted: int
    share: float


def moved_shares(rows: Rows, moves: Sequence[Move]) -> Rows:
    """Return rows of shares or counts, whose last axis is the topics, after moves."""
    rows = rows.copy()
    for a, b, c, share in moves:
        rows[..., a] += rows[..., b]
        rows[..., b] = (1 - share) * rows[..., c]
        rows[..., c] *= share
    return rows


def moved_values(rows: Rows, moves: Sequence[Move]) -> Rows:
    """Return what is said of topics, the last axis, after moves."""
    rows = rows.copy()
    for _, b, c, _ in moves:
        rows[..., b] = rows[..., c]
    return rows
