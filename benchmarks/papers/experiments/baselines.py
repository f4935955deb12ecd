# SPDX-License-Identifier: BSD-3-Clause
"""What others would do: predictions and clusters without topics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Labels = NDArray[np.int64]


def spread_labels(
    X: Any,
    y: Labels,
    *,
    alpha: float = 0.99,
    n_iter: int = 100,
    graph: Any = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Labels:
    """Predict classes by spreading labels on the document graph (Zhou et al. 2003).

    Parameters
    ----------
    X : csr_matrix
        Counts.
    y : int array
        Classes from 0, -1 for unknown.
    alpha : float, default=0.99
        Share that comes from the neighbours.
    n_iter : int, default=100
        Number of rounds.
    graph : sparse matrix, optional
        Of the documents; default: that of the graph models.
    seed : int, default=0
        Ignored: nothing is drawn.
    n_jobs : int or None, default=None
        Threads for the graph.

    Returns
    -------
    int array
        A class for every document; class 0 where no label reaches.
    """
    from topicfold import NeighborGraph

    if graph is None:
        graph = NeighborGraph().build(X, n_jobs=n_jobs)
    graph = sparse.csr_matrix(graph)
    degree = np.asarray(graph.sum(axis=1)).ravel()
    scale = sparse.diags(1.0 / np.sqrt(np.maximum(degree, 1e-12)))
    spread = scale @ graph @ scale
    start = np.zeros((len(y), int(y.max()) + 1))
    known = np.flatnonzero(y >= 0)
    start[known, y[known]] = 1.0
    scores = start
    for _ in range(n_iter):
        scores = alpha * (spread @ scores) + (1.0 - alpha) * start
    return np.asarray(scores.argmax(axis=1))


def naive_bayes_em(
    X: Any,
    y: Labels,
    *,
    n_iter: int = 15,
    smoothing: float = 0.1,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Labels:
    """Predict classes by naive Bayes with EM on the unlabelled (Nigam et al. 2000).

    Parameters
    ----------
    X : csr_matrix
        Counts.
    y : int array
        Classes from 0, -1 for unknown.
    n_iter : int, default=15
        Rounds of EM.
    smoothing : float, default=0.1
        Added to every word of every class.
    seed, n_jobs : optional
        Ignored: nothing is drawn, one thread.

    Returns
    -------
    int array
        A class for every document.
    """
    known = np.flatnonzero(y >= 0)
    classes = np.unique(y[known])
    fixed = (y[known, None] == classes[None]).astype(float)
    posterior = np.zeros((X.shape[0], len(classes)))
    posterior[known] = fixed
    joint = posterior
    for _ in range(n_iter):
        words = np.asarray((X.T @ posterior).T) + smoothing
        log_words = np.log(words / words.sum(axis=1, keepdims=True))
        log_prior = np.log(posterior.sum(axis=0) / posterior.sum())
        joint = np.asarray(X @ log_words.T) + log_prior
        joint -= joint.max(axis=1, keepdims=True)
        posterior = np.exp(joint)
        posterior /= posterior.sum(axis=1, keepdims=True)
        posterior[known] = fixed
    return np.asarray(classes[joint.argmax(axis=1)])


def kmeans_clusters(
    features: Any, n_clusters: int, seed: int, **options: Any
) -> Labels:
    """Return k-means clusters of any features."""
    from sklearn.cluster import KMeans

    chosen = {"n_init": 3, "random_state": seed, **options}
    return np.asarray(KMeans(n_clusters, **chosen).fit_predict(features))


def kmeans_of_words(X: Any, n_clusters: int, seed: int, **options: Any) -> Labels:
    """Return k-means clusters of plain tf-idf, rows of length 1."""
    from sklearn.feature_extraction.text import TfidfTransformer

    return kmeans_clusters(
        TfidfTransformer().fit_transform(X), n_clusters, seed, **options
    )


def spectral_clusters(X: Any, n_clusters: int, seed: int, **options: Any) -> Labels:
    """Return normalised cuts of the document graph that the graph models have."""
    from sklearn.cluster import SpectralClustering

    from topicfold import NeighborGraph

    graph = NeighborGraph().build(X).astype(np.float64)
    # A little of everything: documents without neighbours must be somewhere.
    graph = sparse.csr_matrix(graph + 1e-6 * sparse.identity(X.shape[0]))
    graph.indices = graph.indices.astype(np.int32)
    graph.indptr = graph.indptr.astype(np.int32)
    chosen = {"assign_labels": "kmeans", "random_state": seed, **options}
    model = SpectralClustering(n_clusters, affinity="precomputed", **chosen)
    return np.asarray(model.fit_predict(graph))
