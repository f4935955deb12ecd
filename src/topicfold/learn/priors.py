# SPDX-License-Identifier: BSD-3-Clause
"""Learning LDA's priors: asymmetric α, symmetric η."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln, polygamma, psi

from topicfold.core.counts import SMALLEST_PRIOR
from topicfold.core.typing import Doubles
from topicfold.engine.protocol import Engine


def alpha_from_documents(engine: Engine, counts: Any, alpha: Doubles) -> Doubles:
    """Return α by how many documents have a topic, half of it even; its sum stays.

    A topic of which a document has an expected count below one counts as that part of
    a document. The sum is not learned, nor is η, and the best α of a
    Dirichlet-multinomial is not taken: expected counts are spread more evenly than
    counts of tokens, which Gibbs sampling has, and both would follow the spread.
    """
    documents = engine.documents_of_topics(counts)
    shares = documents / documents.sum()
    return np.asarray(alpha.sum() * (shares + 1.0 / len(alpha)) / 2)


def dirichlet_from_mean_log(mean_log: Doubles, start: Doubles) -> Doubles:
    """Maximum likelihood Dirichlet with given mean of log θ, by Newton's method.

    Minka (2000): the Hessian is a diagonal plus a constant, so a step costs O(K). A
    step that leaves the domain or lowers the likelihood is halved.
    """
    alpha = start.astype(np.float64).copy()
    if len(alpha) == 1:
        return alpha  # the share of an only topic is 1 under any prior

    def likelihood(alpha: Doubles) -> float:
        sizes = gammaln(alpha.sum()) - gammaln(alpha).sum()
        return float(sizes + (alpha - 1.0) @ mean_log)

    for _ in range(100):
        total = alpha.sum()
        gradient = psi(total) - psi(alpha) + mean_log
        diagonal = -polygamma(1, alpha)
        constant = polygamma(1, total)
        offset = (gradient / diagonal).sum() / (1.0 / constant + (1.0 / diagonal).sum())
        step = (gradient - offset) / diagonal
        size = 1.0
        least = likelihood(alpha)
        least -= 1e-12 * abs(least)  # rounding is no fall
        while size > 1e-6:
            moved = alpha - size * step
            if (moved > SMALLEST_PRIOR / 10).all() and likelihood(moved) >= least:
                break
            size *= 0.5
        alpha = np.maximum(alpha - size * step, SMALLEST_PRIOR)
        if np.abs(size * step).max() <= 1e-8 * alpha.max():
            break
    return alpha


def symmetric_from_mean_log(mean_log: float, size: int, start: float) -> float:
    """Maximum likelihood η of a symmetric Dirichlet over `size` words."""
    log_eta = np.log(float(start))
    for _ in range(100):
        eta = np.exp(log_eta)
        gradient = psi(size * eta) - psi(eta) + mean_log
        curvature = size * polygamma(1, size * eta) - polygamma(1, eta)
        # Newton on log η, where the likelihood is concave enough to behave.
        slope = gradient * eta
        bend = curvature * eta**2 + slope
        step = -slope / bend if bend < 0 else np.sign(slope)
        log_eta += float(np.clip(step, -1.0, 1.0))
        if abs(step) < 1e-10:
            break
    return float(max(np.exp(log_eta), SMALLEST_PRIOR))
