# SPDX-License-Identifier: BSD-3-Clause
"""Learning of fully sparse topics: Frank-Wolfe inference, then ``φ ∝ Σ_d X_dw θ_dk``.

See docs/math.md §6. From a corpus in blocks the steps are the same, block by block: the
mixtures of a block are inferred and counted in one visit and not kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from topicfold.core.counts import row_sums
from topicfold.core.jit import kernel
from topicfold.core.threads import n_threads
from topicfold.core.typing import Array
from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.engine.blocks.executor import map_rows, prepare_blocks
from topicfold.engine.protocol import corpus_fingerprint
from topicfold.infer.frank_wolfe import frank_wolfe


class InferenceOptions(NamedTuple):
    """How the mixture of a document is inferred: arguments of `frank_wolfe`."""

    pairwise: bool = True
    max_iter: int = 1000
    tol: float = 1e-6
    n_jobs: int | None = None
    device: str = "cpu"


class FstmLearning:
    """Alternate the mixtures of all documents and the topics, for the EM driver.

    The objective is ``ℒ = Σ_d Σ_w X_dw log Σ_k θ_dk φ_kw``. Inference maximises it
    over θ; the topics maximise its bound ``Σ_dwk X_dw θ_dk log φ_kw`` over φ. So a
    step of both may lower ℒ a little, unlike one of EM. `phi` (K, V) is the start.
    Of a corpus in blocks the counts of topics are kept, in place of mixtures.
    """

    theta: Any = None
    counts: Array | None = None

    def __init__(self, X: Any, phi: Array, options: InferenceOptions) -> None:
        self.X = X
        self.options = options
        self.word_major = np.ascontiguousarray(phi.T, dtype=X.dtype)

    def start(self) -> float:
        """Infer the mixtures under the first topics."""
        under = self.X, self.word_major, self.options
        if isinstance(self.X, BlockCorpus):
            self.counts, objective = expected_counts(*under)
        else:
            self.theta, objective = _inferred(*under)
        return objective

    def iterate(self) -> float:
        """Update the topics, then the mixtures; return ℒ."""
        if self.theta is None and self.counts is None:
            raise RuntimeError("call start() before iterate()")
        counts = self.counts
        if counts is None:
            counts = topic_counts(self.X, self.theta)
        self.word_major = topics_from_counts(counts, self.word_major)
        return self.start()

    def fingerprint(self) -> dict[str, float]:
        """Tell this corpus from others."""
        tokens = self.X.sum(dtype=np.float64)
        return corpus_fingerprint(self.X.shape, self.word_major.shape[1], tokens)

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs to go on from here."""
        return {"topics": self.word_major}

    def restore(self, state: dict[str, Any]) -> float:
        """Go on from a `state`; returns the objective there."""
        self.word_major = state["topics"]
        return self.start()

    def topics(self) -> Array:
        """Topics (K, V)."""
        return np.ascontiguousarray(self.word_major.T)

    def doc_topics(self) -> Array:
        """Mixtures (D, K), dense; of a corpus in blocks, memory-mapped."""
        if self.theta is None:
            return dense_mixtures(self.X, self.word_major, self.options)
        theta: Array = self.theta.toarray()
        return theta


def _inferred(
    X: Any, word_major: Array, options: InferenceOptions
) -> tuple[Any, float]:
    """Return the mixtures under these topics, sparse, and ``ℒ``."""
    theta, info = frank_wolfe(X, word_major, **options._asdict(), return_info=True)
    lengths = row_sums(X)
    return theta, float(lengths @ info.objective)


def expected_counts(
    X: Any, word_major: Array, options: InferenceOptions
) -> tuple[Array, float]:
    """Return ``Σ_d X_dw θ_dk`` (V, K) and ``ℒ`` for the mixtures under these topics."""
    if isinstance(X, BlockCorpus):
        blocks = prepare_blocks(X, n_threads(options.n_jobs))
        shared = (word_major, options._replace(n_jobs=1))
        counts, objective = blocks.reduce(expected_counts, shared=shared)
        return counts, float(objective)
    theta, objective = _inferred(X, word_major, options)
    return topic_counts(X, theta), objective


def dense_mixtures(X: Any, word_major: Array, options: InferenceOptions) -> Array:
    """Return the mixtures (D, K) under fixed topics."""
    if isinstance(X, BlockCorpus):
        shared = (word_major, options._replace(n_jobs=1))
        n_topics, threads = word_major.shape[1], n_threads(options.n_jobs)
        rows: Array = map_rows(X, dense_mixtures, n_topics, shared, threads=threads)
        return rows
    theta: Array = frank_wolfe(X, word_major, **options._asdict()).toarray()
    return theta


def topic_counts(X: Any, theta: Any) -> Array:
    """Return ``Σ_d X_dw θ_dk`` word-major (V, K), of the type of X.

    Time is one addition for each word of a document and each of its topics.
    """
    X, theta = sparse.csr_array(X), sparse.csr_array(theta)
    # Sums over many documents are computed in float64.
    sums = np.zeros((X.shape[1], theta.shape[1]))
    add_topic_counts(
        X.indptr, X.indices, X.data, theta.indptr, theta.indices, theta.data, sums
    )
    return sums.astype(X.dtype, copy=False)


@kernel
def add_topic_counts(indptr, indices, data, theta_ptr, topics, shares, out_sums):  # type: ignore[no-untyped-def]
    """Add ``X_dw θ_dk`` to `out_sums` (V, K), document after document."""
    for d in range(len(indptr) - 1):
        for i in range(indptr[d], indptr[d + 1]):
            count, row = np.float64(data[i]), out_sums[indices[i]]
            for j in range(theta_ptr[d], theta_ptr[d + 1]):
                row[topics[j]] += count * np.float64(shares[j])


def updated_topics(X: Any, theta: Any, word_major: Array) -> Array:
    """Return topics ``φ_kw ∝ Σ_d X_dw θ_dk`` word-major (V, K), columns of sum 1.

    A topic that no document uses stays as it is in `word_major`.

    Examples
    --------
    >>> theta = sparse.csr_array([[1.0, 0.0], [1.0, 0.0]])
    >>> old = np.array([[0.5, 0.3], [0.5, 0.7]])
    >>> updated_topics(sparse.csr_matrix([[3.0, 0.0], [0.0, 1.0]]), theta, old)
    array([[0.75, 0.3 ],
           [0.25, 0.7 ]])
    """
    return topics_from_counts(topic_counts(X, theta), word_major)


def topics_from_counts(counts: Array, word_major: Array) -> Array:
    """Divide counts (V, K) by their column sums, in place.

    A topic without counts stays as it is in `word_major`.
    """
    totals = counts.sum(axis=0, dtype=np.float64)
    unused = totals <= 0
    counts /= np.where(unused, 1.0, totals).astype(counts.dtype)
    counts[:, unused] = word_major[:, unused]
    return counts
