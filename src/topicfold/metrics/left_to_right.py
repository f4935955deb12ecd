# SPDX-License-Identifier: BSD-3-Clause
"""Held-out log-likelihood of whole documents, for LDA."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topicfold.exceptions import DataError
from topicfold.metrics._checks import checked_counts, checked_rows


def left_to_right_log_likelihood(
    X: Any,
    topics: ArrayLike,
    doc_topic_prior: float | ArrayLike,
    *,
    n_particles: int = 20,
    n_sweeps: int = 1,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Log-likelihood of documents under LDA's topics, by left-to-right sampling.

    ``log P(w_d | φ, α) = Σ_n log P(w_n | w_<n, φ, α)`` (natural logarithm), each term
    the mean over particles of ``Σ_k P(w_n, z_n = k | z_<n)``, the topics z_<n of the
    tokens before n drawn anew by Gibbs sampling for every n. Unlike document
    completion it scores whole documents and is a likelihood: sums over all documents
    of a length give one, but for the noise of sampling, which shrinks with
    `n_particles`, and a small bias, which shrinks with `n_sweeps`. The order of a
    document's tokens does not matter for the likelihood; it is drawn at random.

    Range: minus infinity (a word that no topic has) to 0; 0 for an empty document.
    Direction: higher is better. Perplexity is ``exp(-sum / tokens)``.

    Time grows with the square of a document's length, times `n_particles`. A
    document's random numbers are keyed by `random_state` and its own words and
    counts: its value does not depend on other documents or on the number of threads.

    Parameters
    ----------
    X : sparse matrix of shape (n_documents, n_terms)
        Whole counts.
    topics : array of shape (n_topics, n_terms)
        Word distributions of the topics; rows sum to 1.
    doc_topic_prior : float or array of shape (n_topics,)
        α.
    n_particles : int, default=20
        Independent walks over each document.
    n_sweeps : int, default=1
        How often the tokens before a token are drawn anew.
    random_state : int, default=0
        Seed.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all. The result is the same for any number.

    Returns
    -------
    ndarray of shape (n_documents,)

    References
    ----------
    .. [1] H. Wallach, I. Murray, R. Salakhutdinov, D. Mimno, "Evaluation methods for
       topic models", ICML 2009.

    Examples
    --------
    >>> topics = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]
    >>> left_to_right_log_likelihood([[2, 0, 0]], topics, 0.5, n_particles=500).round(1)
    array([-2.4])
    """
    from topicfold.gibbs.fixed_topics import left_to_right
    from topicfold.gibbs.tokens import check_whole

    phi = checked_rows(topics, "topics")
    counts = checked_counts(X, "X")
    if counts.shape[1] != phi.shape[1]:
        raise DataError(
            f"X {counts.shape} and topics {phi.shape} do not fit: they are (documents, "
            "terms) and (topics, terms)."
        )
    check_whole(counts, "left_to_right_log_likelihood", "use completion_perplexity")
    alpha = np.asarray(doc_topic_prior, dtype=np.float64)
    if alpha.ndim and alpha.shape != (len(phi),):
        raise DataError(
            f"doc_topic_prior has shape {alpha.shape} for {len(phi)} topics; give one "
            "number or one a topic."
        )
    if not np.isfinite(alpha).all() or (alpha <= 0).any():
        raise DataError("doc_topic_prior must be finite and positive everywhere.")
    for name, value in (("n_particles", n_particles), ("n_sweeps", n_sweeps)):
        if not isinstance(value, Integral) or value < 1:
            raise DataError(f"{name}={value!r} must be a whole number of at least 1.")
    return left_to_right(
        counts,
        phi,
        np.broadcast_to(alpha, (len(phi),)).copy(),
        n_particles=int(n_particles),
        n_sweeps=int(n_sweeps),
        seed=random_state,
        n_jobs=n_jobs,
    )
