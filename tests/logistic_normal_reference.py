# SPDX-License-Identifier: BSD-3-Clause
"""The logistic normal in plain NumPy, document by document, from the equations."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp


def natural(theta):
    """η of mixtures, the last topic being the reference."""
    return np.log(theta[:, :-1]) - np.log(theta[:, -1:])


def value(eta, counts, mean, precision):
    """f(η) of one document."""
    total = counts.sum() * logsumexp(np.append(eta, 0.0))
    rest = eta - mean
    return counts[:-1] @ eta - total - 0.5 * rest @ precision @ rest


def modes(counts, means, precision):
    """Mixtures at the modes of documents."""
    found = []
    for row, mean in zip(counts, means, strict=True):

        def loss(eta, row=row, mean=mean):
            theta = np.exp(np.append(eta, 0.0) - logsumexp(np.append(eta, 0.0)))
            slope = row[:-1] - row.sum() * theta[:-1] - precision @ (eta - mean)
            return -value(eta, row, mean, precision), -slope

        best = minimize(loss, mean, jac=True, method="BFGS", options={"gtol": 1e-8}).x
        full = np.append(best, 0.0)
        found.append(np.exp(full - logsumexp(full)))
    return np.array(found)


def curvature(words, topics, theta, precision):
    """H of one document of counts `words` (V,) under `topics` (K, V)."""
    n, free = words.sum(), slice(0, len(theta) - 1)
    p = theta[:, None] * topics
    p /= p.sum(axis=0)
    known = n * (np.diag(theta) - np.outer(theta, theta))
    unknown = np.diag(p @ words) - (p * words) @ p.T
    return precision + (known - unknown)[free, free]


def covariances(X, topics, theta, precision):
    """Σ_d H⁻¹ and Σ_d −½ log|H|."""
    found = [curvature(x, topics, t, precision) for x, t in zip(X, theta, strict=True)]
    values = [-0.5 * np.linalg.slogdet(H)[1] for H in found]
    return sum(np.linalg.inv(H) for H in found), sum(values)


def bound(X, topics, theta, means, sigma):
    """The approximate bound of R's stm."""
    precision = np.linalg.inv(sigma)
    _, total = covariances(X, topics, theta, precision)
    for x, t, eta, mean in zip(X, theta, natural(theta), means, strict=True):
        rest = eta - mean
        total += x @ np.log(t @ topics) - 0.5 * rest @ precision @ rest
        total -= 0.5 * np.linalg.slogdet(sigma)[1]
    return total
