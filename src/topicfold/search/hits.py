# SPDX-License-Identifier: BSD-3-Clause
"""What a query returns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Hits:
    """What a query found, best first.

    Iterating gives pairs of name and score.

    Attributes
    ----------
    rows : ndarray of int64
        Rows of the documents in the index, or columns of the terms.
    scores : ndarray of float64
        Similarities; larger is better.
    names : tuple of str
        Names of the documents, or the terms.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return zip(self.names, self.scores.tolist(), strict=True)
