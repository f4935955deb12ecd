# SPDX-License-Identifier: BSD-3-Clause
"""The best of many scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Scores of which only the largest enters the first selection.
_GROUP = 64


def best_places(scores: NDArray[Any], n: int) -> NDArray[np.intp]:
    """Return the places of the `n` best scores, best first; ties in their order."""
    n = min(n, len(scores))
    if n <= 0:
        return np.empty(0, np.intp)
    candidates = np.flatnonzero(scores >= nth_largest(scores, n))
    return candidates[np.argsort(-scores[candidates], kind="stable")[:n]]


def nth_largest(scores: NDArray[Any], n: int) -> float:
    """Return the n-th largest score; the largest of groups rule out most others."""
    width = len(scores) // _GROUP
    if width >= n:
        peaks = scores[: width * _GROUP].reshape(_GROUP, width).max(axis=0)
        scores = scores[scores >= np.partition(peaks, width - n)[width - n]]
    return float(np.partition(scores, len(scores) - n)[len(scores) - n])
