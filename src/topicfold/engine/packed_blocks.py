# SPDX-License-Identifier: BSD-3-Clause
"""Packed documents that are in blocks, wherever an engine has these."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


class PackedBlocks:
    """Packed documents of an engine that works block by block.

    Arithmetic with vectors over topics (``+=``, ``np.add``) goes to ``engine.apply``,
    sums of rows to ``engine.row_sums``: learning algorithms need not know where
    documents are. At most two operands may be documents.
    """

    def __init__(self, engine: Any, blocks: list[Any]) -> None:
        self.engine = engine
        self.blocks = blocks
        self.dtype = engine.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Documents, and topics with padding."""
        return self.engine.n_documents, self.engine.width

    def __len__(self) -> int:
        return int(self.engine.n_documents)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> Any:
        out = options.pop("out", (None,))[0]
        others = [v for v in inputs if not isinstance(v, PackedBlocks)]
        too_many = len(inputs) - len(others) > 2 or any(np.ndim(v) > 1 for v in others)
        if method != "__call__" or options or too_many:
            return NotImplemented
        return self.engine.apply(ufunc, inputs, out)

    def __add__(self, other: Any) -> Self:
        return np.add(self, other)  # type: ignore[call-overload, no-any-return]

    def __iadd__(self, other: Any) -> Self:
        return np.add(self, other, out=self)  # type: ignore[call-overload, no-any-return]

    def sum(self, axis: int, dtype: Any = np.float64) -> NDArray[np.float64]:
        """Return the sums of the rows (axis 1)."""
        if axis not in (1, -1):
            raise NotImplementedError("use engine.topic_totals for sums over documents")
        sums: NDArray[np.float64] = self.engine.row_sums(self)
        return sums.astype(dtype, copy=False)
