# SPDX-License-Identifier: BSD-3-Clause
"""LDA's priors: their checks, and topics under a Dirichlet posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from topicfold.exceptions import DataError


def checked_doc_topic_prior(given: Any, n_components: int) -> NDArray[np.float64]:
    """Return α as one positive number a topic.

    Examples
    --------
    >>> checked_doc_topic_prior(0.5, 2)
    array([0.5, 0.5])
    """
    prior = np.asarray(given, dtype=np.float64)
    if prior.ndim and prior.shape != (n_components,):
        raise DataError(
            f"doc_topic_prior has shape {prior.shape}; give one number or "
            f"n_components={n_components} of them."
        )
    if not np.isfinite(prior).all() or (prior <= 0).any():
        raise DataError("doc_topic_prior must be finite and positive everywhere.")
    return np.broadcast_to(prior, (n_components,)).copy()


def expected_log_weights(
    topics: NDArray[np.floating], totals: NDArray[np.float64]
) -> NDArray[np.floating]:
    """Return ``exp E[log φ] = exp(ψ(λ_kw) − ψ(Σ_w λ_kw))``, of the type of the topics.

    Parameters
    ----------
    topics : ndarray of shape (n_topics, n_terms)
        Posterior means, λ divided by `totals`.
    totals : ndarray of shape (n_topics,)
        Σ_w λ_kw.

    Examples
    --------
    >>> expected_log_weights(np.array([[0.5, 0.5]]), np.array([2.0])).round(3)
    array([[0.368, 0.368]])
    """
    lam = topics.astype(np.float64) * totals[:, None]
    log_weights = psi(np.maximum(lam, 1e-30)) - psi(totals)[:, None]
    return np.exp(log_weights).astype(topics.dtype)
