# SPDX-License-Identifier: BSD-3-Clause
"""The engine protocol for a corpus in memory that is larger than the device's.

Topics are on the device. Documents are in blocks, which stay on the device as long as
there is room; the lists of the others are arranged once and wait, with their
mixtures, in page-locked memory. A pass sends a block while another is in work and a
third one's results come back. The document pass counts the words of a block in the
same visit, since the word pass that follows asks for just these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.typing import DeviceArray
from topicfold.engine.cuda.plan import Plan
from topicfold.engine.cuda.visits import Blocks, Pair, StreamedDocuments
from topicfold.engine.packed_blocks import BlocksEngine
from topicfold.engine.protocol import DocumentPass, Link


class StreamedEngine(BlocksEngine):
    """Expected counts of a corpus that comes to the device block by block.

    Word counts and sums over documents are added up in float64 in the order of the
    blocks: the same bits in every run.

    Parameters
    ----------
    X : csr_matrix of shape (n_documents, n_terms)
        Non-negative, without explicit zeros or duplicates.
    port : CudaPort
        The device, and the number of topics.
    plan : Plan
        The blocks.
    """

    def __init__(self, X: sparse.csr_matrix, port: Any, plan: Plan) -> None:
        self.n_documents, self.n_terms = X.shape
        self._port = port
        self._topics = port.topics
        self.n_topics: int = self._topics.n_topics
        self.dtype: np.dtype = self._topics.dtype
        self.width: int = self._topics.pack_prior(0.0).shape[0]
        self.document_lengths: NDArray[np.float64] = np.asarray(
            X.sum(axis=1, dtype=np.float64), np.float64
        ).ravel()
        self._blocks = Blocks(X, port, plan, self.width)
        whole = (self.n_terms, self.width)
        self._block_words = port.empty(whole, self.dtype)
        self._words = port.empty(whole, np.float64)
        self._counted = False

    @property
    def n_blocks(self) -> int:
        """Blocks."""
        return len(self._blocks.stays)

    # ---- documents

    def _new_documents(self) -> StreamedDocuments:
        arrays = []
        for number, stays in enumerate(self._blocks.stays):
            rows = self._blocks.rows(number)
            n_rows = rows.stop - rows.start
            if stays:
                arrays.append(self._port.empty((n_rows, self.width), self.dtype))
                continue
            n_bytes = n_rows * self.n_topics * self.dtype.itemsize
            host = self._port.pinned(n_bytes).view(self.dtype)
            arrays.append(host.reshape(n_rows, self.n_topics))
        return StreamedDocuments(self, arrays)

    def pack_documents(self, theta: DeviceArray) -> Any:
        """Copy (D, K) rows block by block; a broadcast vector stays small."""
        documents = self._new_documents()

        def work(number: int, engine: Any, inputs: Any, outputs: Any) -> None:
            outputs[0][...] = self._topics.pack_documents(
                theta[self._blocks.rows(number)]
            )

        self._blocks.visit(work, (None, None), (documents, None))
        return documents

    def unpack_documents(self, packed: Any) -> Any:
        """Return the (D, K) rows as a NumPy array."""
        theta = np.empty((self.n_documents, self.n_topics), self.dtype)
        for number, stays in enumerate(self._blocks.stays):
            rows = packed.blocks[number]
            theta[self._blocks.rows(number)] = (
                self._topics.unpack_documents(rows) if stays else rows
            )
        return theta

    def mixtures(self, packed: Any) -> Any:
        """Return the (D, K) rows as a NumPy array, on the simplex."""
        theta = np.empty((self.n_documents, self.n_topics), self.dtype)

        def work(number: int, engine: Any, inputs: Any, outputs: Any) -> None:
            theta[self._blocks.rows(number)] = self._topics.mixtures(inputs[0])

        self._blocks.visit(work, (packed, None))
        return theta

    def apply(self, ufunc: np.ufunc, inputs: Any, out: Any) -> StreamedDocuments:
        """Apply a ufunc to documents and vectors over topics, block by block."""
        places = [isinstance(value, StreamedDocuments) for value in inputs]
        mine = [v for v, p in zip(inputs, places, strict=True) if p]
        result = self._new_documents() if out is None else out

        def work(number: int, engine: Any, inputs_: Any, outputs: Any) -> None:
            rows = iter(inputs_)
            values = [
                next(rows) if p else v for v, p in zip(inputs, places, strict=True)
            ]
            ufunc(*values, out=outputs[0])

        self._blocks.visit(work, self._pair(mine), (result, None))
        return result

    def map_rows(
        self,
        function: Callable[..., Any],
        inputs: tuple[StreamedDocuments, ...],
        shared: tuple[Any, ...],
    ) -> StreamedDocuments:
        """See ``engine.rows.map_rows``: a block at a time."""
        result = self._new_documents()

        def work(number: int, engine: Any, inputs_: Any, outputs: Any) -> None:
            n_inputs = len(inputs)
            new = self._call_on_rows(number, inputs_[:n_inputs], function, shared)
            outputs[0][:, : self.n_topics] = new
            outputs[0][:, self.n_topics :] = 0

        self._blocks.visit(work, self._pair(inputs), (result, None))
        return result

    def sum_rows(
        self,
        function: Callable[..., Any],
        inputs: tuple[StreamedDocuments, ...],
        shared: tuple[Any, ...],
    ) -> float:
        """See ``engine.rows.sum_rows``: sums of blocks in their order."""
        parts: list[float] = []

        def work(number: int, engine: Any, inputs_: Any, outputs: Any) -> None:
            rows = inputs_[: len(inputs)]
            parts.append(float(self._call_on_rows(number, rows, function, shared)))

        self._blocks.visit(work, self._pair(inputs))
        return float(sum(parts))

    def _call_on_rows(
        self,
        number: int,
        arrays: list[DeviceArray],
        function: Callable[..., Any],
        shared: tuple[Any, ...],
    ) -> Any:
        rows = self._blocks.rows(number)
        plain = [array[:, : self.n_topics] for array in arrays]
        return function(rows, self.document_lengths[rows], plain, *shared)

    @staticmethod
    def _pair(inputs: Sequence[StreamedDocuments]) -> Pair:
        return (inputs[0], inputs[1] if len(inputs) > 1 else None)

    # ---- passes

    def document_pass(
        self,
        parameters: Any,
        weights: DeviceArray,
        *,
        prior: DeviceArray | None = None,
        link: Link = "identity",
        max_updates: int = 0,
        tol: float = 0.0,
        out: Any = None,
    ) -> DocumentPass:
        """See the protocol; `n_updates` has the sum over all documents only."""
        counts: Any = self._new_documents() if out is None else out
        logliks: list[float] = []
        n_updates: list[int] = []
        self._counted = False
        self._words[...] = 0.0

        def work(number: int, engine: Any, inputs: Any, outputs: Any) -> None:
            done = engine.document_pass(
                inputs[0],
                weights,
                prior=prior,
                link=link,
                max_updates=max_updates,
                tol=tol,
                out=outputs[1],
            )
            engine.word_pass(inputs[0], weights, self._block_words)
            self._words += self._block_words
            logliks.append(done.loglik)
            if max_updates:
                n_updates.append(int(done.n_updates.sum(dtype=np.int64)))

        updated = parameters if max_updates else None
        self._blocks.visit(work, (parameters, None), (updated, counts), with_lists=True)
        self._counted = True
        return DocumentPass(counts, float(sum(logliks)), np.array([sum(n_updates)]))

    def word_pass(
        self, parameters: Any, weights: DeviceArray, out: DeviceArray
    ) -> DeviceArray:
        """Return the N_wk that the last document pass counted."""
        if not self._counted:
            raise RuntimeError("a document pass comes before the word pass")
        out[...] = self._words
        return out

    # ---- sums over documents

    def _document_totals(
        self, name: str, documents: Any, prior: tuple[Any, ...]
    ) -> NDArray[np.float64]:
        totals = getattr(self._topics, name)
        sums = np.zeros(self.n_topics)

        def work(number: int, engine: Any, inputs: Any, outputs: Any) -> None:
            np.add(sums, totals(inputs[0], *prior), out=sums)

        self._blocks.visit(work, (documents, None))
        return sums

    def document_bound(self, parameters: Any, prior: DeviceArray) -> float:
        """Dirichlet terms of the bound for documents."""
        parts: list[float] = []

        def work(number: int, engine: Any, inputs: Any, outputs: Any) -> None:
            parts.append(self._port.document_bound(inputs[0], prior))

        self._blocks.visit(work, (parameters, None))
        return float(sum(parts))
