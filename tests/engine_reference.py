# SPDX-License-Identifier: BSD-3-Clause
"""The plain NumPy engine: the equations as they stand, dense, for tests.

Every other engine is held to this one. It forms D × V arrays: small corpora only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln, psi

from topicfold.core.typing import Array
from topicfold.engine.protocol import (
    DocumentPass,
    Engine,
    Link,
    OwnShare,
    PassOptions,
)


class ReferenceEngine(Engine):
    """Expected counts by dense linear algebra; same protocol as every engine."""

    def __init__(
        self, X: sparse.csr_matrix, n_topics: int, *, dtype: np.dtype | type = float
    ) -> None:
        self.X = X.toarray().astype(dtype)
        self.n_documents, self.n_terms = X.shape
        self.n_topics = n_topics
        self.dtype = np.dtype(dtype)
        self.document_lengths = self.X.sum(axis=1, dtype=np.float64)
        self._ratio = np.zeros_like(self.X)
        self._document_weights = np.zeros((self.n_documents, n_topics), self.dtype)
        self._assigned: Array | None = None

    @property
    def word_order(self) -> NDArray[np.integer]:
        """As in X."""
        return np.arange(self.n_terms)

    def pack_documents(self, theta: Array) -> Array:
        """Copy as it is."""
        return np.array(theta, dtype=self.dtype)

    def unpack_documents(self, packed: Array) -> Array:
        """Copy as it is."""
        return packed.copy()

    def pack_topics(self, phi: Array) -> Array:
        """Copy, transposed."""
        return np.ascontiguousarray(phi.T, dtype=self.dtype)

    def unpack_topics(self, packed: Array) -> Array:
        """Transpose back."""
        return np.ascontiguousarray(packed.T)

    def pack_prior(self, prior: Array | float) -> Array:
        """Repeat a scalar over topics."""
        return np.broadcast_to(np.asarray(prior, self.dtype), (self.n_topics,)).copy()

    def _document_pass(
        self, parameters: Array, weights: Array, asked: PassOptions, out: Array | None
    ) -> DocumentPass:
        """See the protocol; rows stop one by one as they converge."""
        self._assigned = None
        prior, link, max_updates, tol, own, documents = asked
        if documents is None:
            prior = self.pack_prior(0.0 if prior is None else prior)
            documents = OwnShare(None, prior)
        if documents.scale is None:
            documents = OwnShare(np.ones(self.n_topics), documents.floor)
        n_updates = np.zeros(self.n_documents, np.int64)
        active = np.ones(self.n_documents, bool)
        for _ in range(max_updates):
            _, counts = self._evaluate(_weights(parameters, link), weights)
            new = np.maximum(counts * documents.scale + documents.floor, 0)
            change = np.abs(_shares(new) - _shares(parameters)).sum(axis=1)
            parameters[active] = new[active]
            n_updates[active] += 1
            active &= change > tol
        A = _weights(parameters, link)
        s, counts = self._evaluate(A, weights)
        totals = parameters.sum(axis=1)
        totals[totals == 0] = 1.0  # a document without words
        log_norm = psi(totals) if link == "digamma" else np.log(totals)
        used = self.X > 0
        loglik = (self.X[used] * np.log(s[used])).sum()
        loglik -= (self.document_lengths * log_norm)[self.document_lengths > 0].sum()
        self._document_weights = A
        if link == "collapsed" and own is not None:
            shares = left_out(A, weights, self.X, documents, own)
            self._assigned = self.X[:, :, None] * shares
            counts = self._assigned.sum(axis=1)
        return DocumentPass(counts, float(loglik), n_updates)

    def _evaluate(self, A: Array, B: Array) -> tuple[Array, Array]:
        s = A @ B.T
        self._ratio = np.divide(self.X, s, out=np.zeros_like(s), where=self.X > 0)
        return s, A * (self._ratio @ B)

    def word_pass(self, parameters: Array, weights: Array, out: Array) -> Array:
        """N_wk of the last document pass."""
        if self._assigned is not None:
            out[...] = self._assigned.sum(axis=0)
        else:
            out[...] = weights * (self._ratio.T @ self._document_weights)
        return out

    def topic_totals(self, counts: Array) -> NDArray[np.float64]:
        """Column sums."""
        return counts.sum(axis=0, dtype=np.float64)

    def normalize_topics(self, counts: Array, prior: float, out: Array) -> Array:
        """Columns on the simplex."""
        positive = np.maximum(counts + prior, 0)
        out[...] = positive / positive.sum(axis=0)
        return out

    def expected_log_topics(self, counts: Array, prior: float, out: Array) -> Array:
        """Exponential of the expected log topics under a Dirichlet posterior."""
        lam = counts + prior
        out[...] = np.exp(psi(lam) - psi(lam.sum(axis=0)))
        return out

    def log_totals(self, array: Array, prior: Array | float) -> NDArray[np.float64]:
        """Σ over rows of log."""
        return np.log(np.maximum(array + prior, 1e-18)).sum(axis=0)

    def digamma_totals(self, array: Array, prior: Array | float) -> NDArray[np.float64]:
        """Σ over rows of ψ."""
        return psi(array + prior).sum(axis=0)

    def document_bound(self, parameters: Array, prior: Array) -> float:
        """Dirichlet terms of the bound for documents."""
        return _dirichlet_bound(parameters, np.asarray(prior, float))

    def topic_bound(self, counts: Array, prior: float) -> float:
        """Dirichlet terms of the bound for topics."""
        return _dirichlet_bound(counts.T + prior, np.full(self.n_terms, prior))


def left_out(
    A: Array, B: Array, X: Array, documents: OwnShare, words: OwnShare
) -> Array:
    """Shares q (D, V, K) of every token, its own share left out of the counts."""
    p = A[:, None, :] * B[None, :, :]
    p /= p.sum(axis=2, keepdims=True)
    p *= np.minimum(X, 1)[:, :, None]
    e, f = (np.broadcast_to(rows, A.shape)[:, None, :] for rows in documents[:2])
    scale, floor = words[:2]
    if words.groups is not None:
        scale, floor = scale[words.groups], floor[words.groups]
    q = np.maximum(A[:, None, :] - p * e, f)
    q *= np.maximum(B[None, :, :] - p * scale, floor)
    return np.asarray(q / q.sum(axis=2, keepdims=True))


def _dirichlet_bound(gamma: Array, alpha: Array) -> float:
    expected_log = psi(gamma) - psi(gamma.sum(axis=1, keepdims=True))
    value = ((alpha - gamma) * expected_log + gammaln(gamma) - gammaln(alpha)).sum()
    value += (gammaln(alpha.sum()) - gammaln(gamma.sum(axis=1))).sum()
    return float(value)


def _weights(parameters: Array, link: Link) -> Array:
    return np.exp(psi(parameters)) if link == "digamma" else parameters.copy()


def _shares(rows: Array) -> Array:
    return rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-300)
