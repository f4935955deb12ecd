# SPDX-License-Identifier: BSD-3-Clause
"""Expected topic counts of a corpus on a device (docs/math.md §2)."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from topicfold.engine.protocol import DocumentPass, Engine, ExpectedCounts, Link
from topicfold.exceptions import DeviceError
from topicfold.parallel import n_threads

__all__ = ["DocumentPass", "Engine", "ExpectedCounts", "Link", "make_engine"]


def make_engine(
    X: sparse.csr_matrix,
    n_topics: int,
    *,
    dtype: np.dtype | type = np.float32,
    device: str = "cpu",
    n_jobs: int | None = None,
) -> Engine:
    """Build the engine of `device` for a clean CSR matrix.

    Examples
    --------
    >>> engine = make_engine(sparse.csr_matrix([[1.0, 2.0], [0.0, 3.0]]), 2)
    >>> B = engine.pack_topics(np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> theta = engine.pack_documents(np.full((2, 2), 0.5))
    >>> counts = engine.expected_counts(theta, B)
    >>> counts.documents.sum(axis=1).round(4)
    array([3., 3.], dtype=float32)
    """
    if device != "cpu":
        raise DeviceError(f"Unknown device {device!r}. Use device='cpu'.")
    from topicfold.engine.cpu import CpuEngine

    return CpuEngine(X, n_topics, dtype=dtype, threads=n_threads(n_jobs))
