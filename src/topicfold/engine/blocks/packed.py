# SPDX-License-Identifier: BSD-3-Clause
"""What engines share whose documents are in blocks, wherever these are."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from topicfold.core.typing import Array
from topicfold.engine.protocol import Engine

Shared = tuple[Any, ...]


class PackedBlocks:
    """Packed documents of an engine that works block by block.

    Arithmetic with vectors over topics (``+=``, ``np.add``) is done block by block:
    learning algorithms need not know where documents are. At most two operands may be
    documents.
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
        documents = tuple(v for v in inputs if isinstance(v, PackedBlocks))
        used = slice(0, self.engine.n_topics)
        values = tuple(v[used] if np.ndim(v) else v for v in others)
        places = tuple(isinstance(v, PackedBlocks) for v in inputs)
        shared = (ufunc.__name__, values, places)
        return self.engine.map_rows(_apply_ufunc, documents, shared, out)

    def __add__(self, other: Any) -> Self:
        return np.add(self, other)  # type: ignore[call-overload, no-any-return]

    def __mul__(self, other: Any) -> Self:
        return np.multiply(self, other)  # type: ignore[call-overload, no-any-return]

    def __iadd__(self, other: Any) -> Self:
        return np.add(self, other, out=self)  # type: ignore[call-overload, no-any-return]


def _apply_ufunc(
    rows: slice,
    lengths: Any,
    arrays: list[Array],
    data: Any,
    name: str,
    values: tuple[Any, ...],
    places: tuple[bool, ...],
) -> Array:
    documents, others = iter(arrays), iter(values)
    operands = [next(documents if place else others) for place in places]
    result: Array = getattr(np, name)(*operands)
    return result.astype(arrays[0].dtype, copy=False)


def _of_topics(name: str) -> Any:
    """Return the attribute `name` that the engine of the topics has."""
    return property(lambda engine: getattr(engine._topics, name))


class BlockwiseEngine(Engine):
    """Base of engines that visit documents block by block.

    What is done with topics alone another engine does, which has no documents:
    `_topics`, set by sub-classes.
    """

    in_one_place = False
    _topics: Engine

    def _sum_blocks(self, name: str, documents: Any, prior: tuple[Any, ...]) -> Any:
        """Add up what method `name` of the blocks' engines returns for their rows."""
        raise NotImplementedError

    word_order = _of_topics("word_order")
    pack_topics = _of_topics("pack_topics")
    unpack_topics = _of_topics("unpack_topics")
    pack_prior = _of_topics("pack_prior")
    normalize_topics = _of_topics("normalize_topics")
    expected_log_topics = _of_topics("expected_log_topics")

    def document_bound(self, parameters: Any, prior: Array) -> float:
        """Dirichlet terms of the bound for documents."""
        return float(self._sum_blocks("document_bound", parameters, (prior,)))

    def _column_sums(
        self, array: Any, kind: str, prior: Array | float
    ) -> NDArray[np.float64]:
        """See the protocol: of all documents, or of topics."""
        if isinstance(array, PackedBlocks):
            return np.asarray(self._sum_blocks("_column_sums", array, (kind, prior)))
        return self._topics._column_sums(array, kind, prior)
