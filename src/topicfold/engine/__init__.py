# SPDX-License-Identifier: BSD-3-Clause
"""Expected topic counts of a corpus on a device (docs/math.md §2)."""

from __future__ import annotations

from topicfold.engine.protocol import (
    DocumentPass,
    Engine,
    ExpectedCounts,
    Link,
    has_room,
    make_engine,
    order_of_topics,
)

__all__ = [
    "DocumentPass",
    "Engine",
    "ExpectedCounts",
    "Link",
    "has_room",
    "make_engine",
    "order_of_topics",
]
