# SPDX-License-Identifier: BSD-3-Clause
"""Whether the topics leave something unexplained: the dispersion of residuals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, stats

from topicfold.exceptions import DataError
from topicfold.metrics.words import checked_array

# Cells whose expected count is smaller say nothing of a residual.
LEAST_EXPECTED = 0.01
_CELLS = 4_000_000  # at a time


class Residuals(NamedTuple):
    """How far counts are from what topics expect.

    Attributes
    ----------
    dispersion : float
        Mean squared residual, 1 if the topics explain all but chance.
    p : float
        Of a dispersion so large by chance.
    degrees_of_freedom : float
        Cells less parameters.
    """

    dispersion: float
    p: float
    degrees_of_freedom: float


def residual_dispersion(
    X: ArrayLike | sparse.spmatrix, doc_topics: ArrayLike, topics: ArrayLike
) -> Residuals:
    """Dispersion of the counts around what mixtures and topics expect.

    With ``q_dw = Σ_k θ_dk φ_kw`` the squares ``(x_dw − n_d q_dw)² / (n_d q_dw (1 −
    q_dw))`` of a multinomial have the mean 1. More says that a document repeats words
    or has subjects that no topic has; R's stm calls it `checkResiduals`. Natural texts
    repeat words and are always above 1: compare it between numbers of topics.

    Range: above 0. Direction: nearer to 1 is better.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_documents, n_terms)
        Counts.
    doc_topics : array of shape (n_documents, n_topics)
        Mixtures, of a fit to these documents.
    topics : array of shape (n_topics, n_terms)
        Word distributions of the topics.

    References
    ----------
    .. [1] M. Taddy, "On estimation and selection for topic models", AISTATS 2012.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> theta, phi = rng.dirichlet([1, 1], 200), rng.dirichlet(np.ones(30), 2)
    >>> X = [rng.multinomial(100, row @ phi) for row in theta]
    >>> round(residual_dispersion(X, theta, phi).dispersion, 1)
    1.0
    """
    counts = sparse.csr_matrix(X, dtype=np.float64)
    theta = checked_array(doc_topics, "doc_topics").astype(np.float64)
    phi = checked_array(topics, "topics").astype(np.float64)
    shape = len(theta), phi.shape[1]
    if counts.shape != shape or theta.shape[1] != len(phi):
        raise DataError(
            f"X has the shape {counts.shape}, doc_topics {theta.shape} and topics "
            f"{phi.shape}. Give those of one fit."
        )
    squares, cells = 0.0, 0
    step = max(1, _CELLS // phi.shape[1])
    for first in range(0, len(theta), step):
        rows = slice(first, first + step)
        seen = counts[rows].toarray()
        shares = np.clip(theta[rows] @ phi, 1e-300, 1 - 1e-12)
        expected = seen.sum(axis=1, keepdims=True) * shares
        looked_at = expected > LEAST_EXPECTED
        rest = (seen - expected) ** 2 / (expected * (1 - shares) + 1e-300)
        squares += float(rest[looked_at].sum())
        cells += int(looked_at.sum())
    parameters = len(theta) * (len(phi) - 1) + len(phi) * (phi.shape[1] - 1)
    free = float(cells - parameters)
    if free <= 0:
        raise DataError(
            f"there are {cells:,} cells and {parameters:,} parameters, so that nothing "
            "is left to test. Give more documents, or fewer topics."
        )
    return Residuals(squares / free, float(stats.chi2.sf(squares, free)), free)
