# SPDX-License-Identifier: BSD-3-Clause
"""What engines share whose documents are in blocks, wherever these are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from topicfold.core.typing import Array
from topicfold.engine.protocol import Engine, ExpectedCounts

# Called with the rows' numbers, the documents' lengths, plain rows of each input and
# what is shared; of a module, for other processes must find it.
RowFunction = Callable[..., Any]
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

    def __iadd__(self, other: Any) -> Self:
        return np.add(self, other, out=self)  # type: ignore[call-overload, no-any-return]


def _apply_ufunc(
    rows: slice,
    lengths: Any,
    arrays: list[Array],
    name: str,
    values: tuple[Any, ...],
    places: tuple[bool, ...],
) -> Array:
    documents, others = iter(arrays), iter(values)
    operands = [next(documents if place else others) for place in places]
    result: Array = getattr(np, name)(*operands)
    return result.astype(arrays[0].dtype, copy=False)


class BlocksEngine(Engine):
    """Base of engines that visit documents block by block.

    What is done with topics alone another engine does, which has no documents:
    `_topics`, set by sub-classes.
    """

    _topics: Engine

    @property
    def word_order(self) -> NDArray[np.integer]:
        """Column of X of each row of packed topics."""
        return self._topics.word_order

    def _document_totals(
        self, name: str, documents: Any, prior: tuple[Any, ...]
    ) -> NDArray[np.float64]:
        """Add up what the engines of the blocks return as `name` of their rows."""
        raise NotImplementedError

    def expected_counts(self, parameters: Any, weights: Array) -> ExpectedCounts:
        """One E-step."""
        documents = self.document_pass(parameters, weights)
        words = self.word_pass(parameters, weights, np.empty_like(weights))
        return ExpectedCounts(documents.counts, words, documents.loglik)

    def pack_topics(self, phi: Array) -> Array:
        """Copy (K, V) topics word-major in the common order of words."""
        return self._topics.pack_topics(phi)

    def unpack_topics(self, packed: Array) -> Array:
        """Return (K, V) topics in X's order of words."""
        return self._topics.unpack_topics(packed)

    def pack_prior(self, prior: Array | float) -> Array:
        """Repeat or copy a prior over topics."""
        return self._topics.pack_prior(prior)

    def normalize_topics(self, counts: Array, prior: float, out: Array) -> Array:
        """Topics on the simplex from counts."""
        return self._topics.normalize_topics(counts, prior, out)

    def expected_log_topics(self, counts: Array, prior: float, out: Array) -> Array:
        """exp(ψ(λ) − ψ(Σλ)) for λ = counts + prior."""
        return self._topics.expected_log_topics(counts, prior, out)

    def topic_bound(self, counts: Array, prior: float) -> float:
        """Dirichlet terms of the bound for topics."""
        return self._topics.topic_bound(counts, prior)

    def topic_totals(self, counts: Any) -> NDArray[np.float64]:
        """Column sums in float64."""
        return self._totals("topic_totals", counts)

    def log_totals(self, array: Any, prior: Array | float) -> NDArray[np.float64]:
        """Σ over rows of log(array + prior), by topic."""
        return self._totals("log_totals", array, prior)

    def digamma_totals(self, array: Any, prior: Array | float) -> NDArray[np.float64]:
        """Σ over rows of ψ(array + prior), by topic."""
        return self._totals("digamma_totals", array, prior)

    def _totals(self, name: str, array: Any, *prior: Any) -> NDArray[np.float64]:
        if isinstance(array, PackedBlocks):
            return self._document_totals(name, array, prior)
        return np.asarray(getattr(self._topics, name)(array, *prior))
