# SPDX-License-Identifier: BSD-3-Clause
"""Places of documents by short walks along the graph of their embeddings.

Two documents of one subject need not have near vectors: documents between them may
lead from one to the other. A walk from document to near document tells. Edges are as in
UMAP (McInnes et al. 2018): a document's nearest has weight 1, and the others fall off
so that all weights sum to ``log2(n_neighbors)``, in dense and in sparse regions alike;
``W = w + wᵀ − w∘wᵀ``. With ``D^(-1/2) W D^(-1/2) = U Λ Uᵀ`` of the largest eigenvalues,

    walk_d = U_d Λ^t / √D_d        (diffusion maps, Coifman & Lafon 2006)

and the place of a document is the direction of its walk, beside its vector at half the
weight: places are compared by the cosine. The walk of a new document is the mean of
those of its nearest training documents, by the same weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from topicfold.core.threads import one_blas_thread
from topicfold.core.typing import Doubles
from topicfold.graph.embedding import EmbeddingIndex, Rows
from topicfold.graph.neighbors import neighbor_matrix

# Chosen by benchmarks/results/embeddings.md, which says on what.
NEIGHBORS = 15
DIMENSIONS = 20
STEPS = 10  # t
VECTOR_WEIGHT = 0.5
HALVINGS = 40  # to find how fast weights fall off
DENSE = 100  # documents up to which all eigenvectors are computed
TOLERANCE, MOST_RESTARTS = 1e-3, 60
# Of the mean length of a walk; shorter ones are of documents that no edge reaches.
LEAST_LENGTH = 1e-6


def edge_weights(
    near: NDArray[np.int64], similar: Doubles, n_documents: int
) -> sp.csr_matrix:
    """Return weights (n_queries, n_documents) of the nearest documents.

    `near` and `similar`, nearest first, are what `EmbeddingIndex.query` returns.
    """
    found = near >= 0
    # Distances beyond the nearest; infinite where there is no neighbour.
    beyond = np.where(found, similar[:, :1] - similar, np.inf)
    wanted = np.log2(np.maximum(found.sum(axis=1), 2))
    low, high = np.zeros(len(near)), np.full(len(near), 4.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = np.exp(-beyond / middle[:, None]).sum(axis=1) > wanted
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return neighbor_matrix(near, np.exp(-beyond / high[:, None]), n_documents)


def walks_of(index: EmbeddingIndex, *, n_jobs: int | None = None) -> Rows:
    """Return the walks (D, at most `DIMENSIONS`) of the documents of an index.

    Rows of zeros are those of documents without neighbours.
    """
    return walks_along(*index.query(None, NEIGHBORS, n_jobs=n_jobs))


def walks_along(near: NDArray[np.int64], similar: Doubles) -> Rows:
    """Return the walks of documents by their nearest ones; see `walks_of`."""
    directed = edge_weights(near, similar, len(near))
    other = directed.T.tocsr()
    graph = sp.csr_matrix(directed + other - directed.multiply(other))
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    scale = 1.0 / np.sqrt(np.where(degrees > 0, degrees, np.inf))
    scaled = sp.csr_matrix(sp.diags_array(scale) @ graph @ sp.diags_array(scale))
    values, vectors = _largest_eigenvectors(scaled)
    walks = vectors * np.maximum(values, 0.0) ** STEPS * scale[:, None]
    lengths = np.linalg.norm(walks, axis=1)
    walks[lengths <= LEAST_LENGTH * max(lengths.mean(), 1e-300)] = 0.0
    return np.asarray(walks / max(lengths.max(initial=0.0), 1e-300), dtype=np.float32)


def places_of(walks: Rows, vectors: Rows) -> Rows:
    """Return unit rows: the directions of walks, beside unit rows of vectors."""
    lengths = np.linalg.norm(walks, axis=1, keepdims=True)
    joined = np.hstack([walks / np.where(lengths > 0, lengths, 1), vectors])
    joined[:, walks.shape[1] :] *= VECTOR_WEIGHT
    lengths = np.linalg.norm(joined, axis=1, keepdims=True)
    joined /= np.where(lengths > 0, lengths, 1)
    return joined


def places_of_new(
    index: EmbeddingIndex, walks: Rows, vectors: Rows, *, n_jobs: int | None = None
) -> Rows:
    """Return the places of new documents, by their nearest ones in the index."""
    near, similar = index.query(vectors, NEIGHBORS, n_jobs=n_jobs)
    return places_between(near, similar, walks, vectors)


def places_between(
    near: NDArray[np.int64], similar: Doubles, walks: Rows, vectors: Rows
) -> Rows:
    """Return places of new documents; see `edge_weights` for `near` and `similar`."""
    weights = edge_weights(near, similar, len(walks))
    return places_of(np.asarray(weights @ walks, dtype=np.float32), vectors)


def _largest_eigenvectors(matrix: Any) -> tuple[Doubles, Doubles]:
    """Return the largest eigenvalues of a symmetric matrix, and their vectors."""
    size = matrix.shape[0]
    n_wanted = min(DIMENSIONS, size)
    if not matrix.nnz:  # no document is near another
        return np.zeros(n_wanted), np.zeros((size, n_wanted))
    if size <= DENSE:
        values, vectors = np.linalg.eigh(matrix.toarray())
        return values[-n_wanted:], vectors[:, -n_wanted:]
    start = np.random.default_rng(0).standard_normal(size)
    options = {"which": "LA", "tol": TOLERANCE, "maxiter": MOST_RESTARTS}
    try:
        with one_blas_thread():  # the same numbers for any number of threads
            values, vectors = eigsh(matrix, n_wanted, v0=start, **options)
    except ArpackNoConvergence as error:  # those found are the largest ones
        values, vectors = error.eigenvalues, error.eigenvectors
    return values, vectors.reshape(size, -1)
