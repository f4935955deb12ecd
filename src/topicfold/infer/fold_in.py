# SPDX-License-Identifier: BSD-3-Clause
"""Fold-in: topic mixtures of documents with the topics fixed (docs/math.md §2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from topicfold.core.simplex import OuterSum, normalize_rows
from topicfold.core.threads import n_threads
from topicfold.core.typing import Array
from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.engine import Link, make_engine, order_of_topics
from topicfold.engine.block_executor import map_rows


def fold_in(
    X: sparse.csr_matrix,
    topics: Array,
    *,
    prior: Array | float = 0.0,
    link: Link = "identity",
    max_iter: int = 200,
    tol: float = 1e-4,
    dtype: np.dtype | type = np.float32,
    device: str = "cpu",
    n_jobs: int | None = None,
) -> Array:
    """Return θ (D, K) by EM from the uniform mixture, document by document.

    Each document stops by itself when its mixture changes by at most `tol` (L1), so
    its row depends neither on the batch it came in nor on the number of threads.
    A document without words gets the uniform mixture.

    Parameters
    ----------
    X : csr_matrix of shape (n_documents, n_terms)
        Counts.
    topics : ndarray of shape (n_topics, n_terms)
        Topic weights: φ, or ``exp E[log φ]`` with the digamma link.
    prior : float or ndarray of shape (n_topics,), default=0
        Pseudo-counts added to each document's expected counts.
    link : {"identity", "digamma"}, default="identity"
        How parameters become weights.
    max_iter : int, default=200
        Most updates of a document.
    tol : float, default=1e-4
        Change of a mixture that ends its updates.
    dtype : dtype, default=float32
        Type of the computation and the result.
    device, n_jobs :
        See :func:`topicfold.engine.make_engine`.

    Examples
    --------
    >>> topics = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    >>> fold_in(sparse.csr_matrix([[3.0, 3.0, 0.0]]), topics).round(2)
    array([[1., 0.]], dtype=float32)
    """
    n_topics = len(topics)
    if isinstance(X, BlockCorpus):
        rest = (topics, prior, link, max_iter, tol, dtype, device)
        return map_rows(X, _fold_in, n_topics, rest, threads=n_threads(n_jobs))
    engine = make_engine(
        X,
        n_topics,
        dtype=dtype,
        device=device,
        n_jobs=n_jobs,
        word_order=order_of_topics(topics),
    )
    start: Any = np.broadcast_to(1.0, (X.shape[0], n_topics))
    if link == "digamma":
        # As many pseudo-counts as the posterior will have.
        start = OuterSum(engine.document_lengths / n_topics, np.asarray(prior))
    parameters = engine.pack_documents(start)
    engine.document_pass(
        parameters,
        engine.pack_topics(topics),
        prior=engine.pack_prior(prior),
        link=link,
        max_updates=max_iter,
        tol=tol,
    )
    theta = normalize_rows(engine.unpack_documents(parameters))
    theta[engine.document_lengths == 0] = 1.0 / n_topics
    return theta


def _fold_in(
    X: sparse.csr_matrix,
    topics: Array,
    prior: Array | float,
    link: Link,
    max_iter: int,
    tol: float,
    dtype: Any,
    device: str,
) -> Array:
    """Fold in one block on one thread."""
    return fold_in(
        X,
        topics,
        prior=prior,
        link=link,
        max_iter=max_iter,
        tol=tol,
        dtype=dtype,
        device=device,
    )
