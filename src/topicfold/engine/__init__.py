# SPDX-License-Identifier: BSD-3-Clause
"""Expected topic counts of a corpus on a device (docs/math.md §2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.engine.protocol import DocumentPass, Engine, ExpectedCounts, Link
from topicfold.exceptions import DeviceError

__all__ = [
    "DocumentPass",
    "Engine",
    "ExpectedCounts",
    "Link",
    "has_room",
    "make_engine",
    "order_of_topics",
]


def make_engine(
    X: sparse.csr_matrix,
    n_topics: int,
    *,
    dtype: np.dtype | type = np.float32,
    device: str = "cpu",
    n_jobs: int | None = None,
    word_order: NDArray[np.integer] | None = None,
) -> Engine:
    """Build the engine of `device` for a clean CSR matrix.

    Sums over a document's words are taken in `word_order` (default: by document
    frequency in X); give one for results that do not depend on the other documents.

    Examples
    --------
    >>> engine = make_engine(sparse.csr_matrix([[1.0, 2.0], [0.0, 3.0]]), 2)
    >>> B = engine.pack_topics(np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> theta = engine.pack_documents(np.full((2, 2), 0.5))
    >>> counts = engine.expected_counts(theta, B)
    >>> counts.documents.sum(axis=1).round(4)
    array([3., 3.], dtype=float32)
    """
    from topicfold.core.threads import n_threads

    if device not in ("cpu", "cuda"):
        raise DeviceError(f"Unknown device {device!r}. Use device='cpu' or 'cuda'.")
    if device == "cuda":
        from topicfold.engine.cuda.place import make_cuda_engine

        return make_cuda_engine(
            X,
            n_topics,
            dtype=dtype,
            threads=n_threads(n_jobs),
            word_order=word_order,
        )
    if isinstance(X, BlockCorpus):
        from topicfold.engine.blocks.engine import BlockedEngine

        return BlockedEngine(X, n_topics, dtype=dtype, threads=n_threads(n_jobs))
    from topicfold.engine.cpu import CpuEngine

    return CpuEngine(
        X, n_topics, dtype=dtype, threads=n_threads(n_jobs), word_order=word_order
    )


def has_room(
    X: sparse.csr_matrix,
    n_topics: int,
    *,
    dtype: np.dtype | type = np.float32,
    device: str = "cpu",
) -> bool:
    """Whether `make_engine` would hold all documents in one place on the device.

    Examples
    --------
    >>> has_room(sparse.csr_matrix([[1.0, 2.0], [0.0, 3.0]]), 2)
    True
    """
    if device == "cpu":
        return True
    from topicfold.engine.cuda.place import fits_now

    return fits_now(X, n_topics, np.dtype(dtype))


def order_of_topics(topics: NDArray[np.floating]) -> NDArray[np.intp]:
    """Return an order of words that depends on the topics alone, common ones first.

    For inference: sums over a document's words then do not depend on the documents
    that come with it.
    """
    return np.argsort(-topics.sum(axis=0), kind="stable")
