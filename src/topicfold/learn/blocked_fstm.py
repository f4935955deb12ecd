# SPDX-License-Identifier: BSD-3-Clause
"""Fully sparse topics from a corpus in blocks: the same steps, block by block.

The mixtures of a block are inferred and counted in one visit and not kept: the next
iteration infers them anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from topicfold.core.threads import n_threads
from topicfold.core.typing import Array
from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.engine.blocks.executor import as_it_is, executor_of, map_rows
from topicfold.infer.frank_wolfe import frank_wolfe
from topicfold.learn.fstm import (
    FstmLearning,
    InferenceOptions,
    topic_counts,
    topics_from_counts,
)


class BlockedFstm(FstmLearning):
    """`FstmLearning` over blocks.

    Parameters
    ----------
    X : BlockCorpus
        Counts.
    phi : ndarray of shape (K, V)
        Start of the topics.
    options : InferenceOptions
        How mixtures are inferred.
    """

    def __init__(self, X: BlockCorpus, phi: Array, options: InferenceOptions) -> None:
        self.X = X
        self.options = options
        self.word_major = np.ascontiguousarray(phi.T, dtype=X.dtype)
        self._counts: Array | None = None

    def _updated_topics(self) -> Array:
        if self._counts is None:
            raise RuntimeError("call start() before iterate()")
        return topics_from_counts(self._counts, self.word_major)

    def _infer(self) -> float:
        counts, objective = expected_counts(self.X, self.word_major, self.options)
        self._counts = counts
        return objective

    def doc_topics(self) -> Array:
        """Mixtures (D, K), dense, memory-mapped."""
        return dense_mixtures(self.X, self.word_major, self.options)


def learning_of(X: Any, phi: Array, options: InferenceOptions) -> FstmLearning:
    """Return the learning for a CSR matrix or a corpus in blocks."""
    kind = BlockedFstm if isinstance(X, BlockCorpus) else FstmLearning
    return kind(X, phi, options)


def expected_counts(
    X: Any, word_major: Array, options: InferenceOptions
) -> tuple[Array, float]:
    """Return ``Σ_d X_dw θ_dk`` (V, K) and ``ℒ`` for the mixtures under these topics.

    Examples
    --------
    >>> from scipy import sparse
    >>> X, topics = sparse.csr_matrix([[3.0, 1.0]]), np.array([[1.0], [1.0]]) / 2
    >>> expected_counts(X, topics, InferenceOptions())[0]
    array([[3.],
           [1.]])
    """
    if isinstance(X, BlockCorpus):
        blocks = executor_of(X, n_threads(options.n_jobs)).prepare(as_it_is)
        one_thread = options._replace(n_jobs=1)
        counts, objective = blocks.reduce(
            expected_counts, shared=(word_major, one_thread)
        )
        return counts, float(objective)
    theta, info = frank_wolfe(X, word_major, **options._asdict(), return_info=True)
    lengths = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
    return topic_counts(X, theta), float(lengths @ info.objective)


def dense_mixtures(X: Any, word_major: Array, options: InferenceOptions) -> Array:
    """Return the mixtures (D, K) under fixed topics.

    Examples
    --------
    >>> from scipy import sparse
    >>> topics = np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> dense_mixtures(sparse.csr_matrix([[2.0, 0.0]]), topics, InferenceOptions())
    array([[1., 0.]])
    """
    if isinstance(X, BlockCorpus):
        shared = (word_major, options._replace(n_jobs=1))
        threads = n_threads(options.n_jobs)
        rows: Array = map_rows(
            X, dense_mixtures, word_major.shape[1], shared, threads=threads
        )
        return rows
    theta: Array = frank_wolfe(X, word_major, **options._asdict()).toarray()
    return theta
