# SPDX-License-Identifier: BSD-3-Clause
"""Generalised linear models with one coefficient per topic and output.

With predictors F = Zη, Z (documents × topics) and η (topics × outputs):

========= ========================= ==================== ===========
kind      log p(y | f)              g = ∂ log p / ∂f     curvature h
========= ========================= ==================== ===========
real      −½ (y − f)²               y − f                1
classes   f_y − log Σ_c exp f_c     [c = y] − p_c        at most ½
counts    y f − exp f               y − exp f            exp f
========= ========================= ==================== ===========

Each is fitted by steps ``η += (Zᵀ h Z + λ)⁻¹ (Zᵀ g − λ (η − η₀))``: for numbers the
solution in one step, for classes Böhning's bound, which never falls, for counts
Newton's step, halved while the penalised likelihood falls.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

Kind = Literal["real", "classes", "counts"]
Matrix = NDArray[np.float64]
# exp of more than this is no rate of a count.
LARGEST_LOG = 30.0
# A step of no coefficient larger than this ends a fit.
SETTLED = 1e-6
MOST_HALVINGS = 20


def means(kind: Kind, predictors: Matrix) -> Matrix:
    """Return the expected targets: numbers, probabilities of classes, or rates."""
    if kind == "classes":
        return np.asarray(softmax(predictors, axis=1))
    if kind == "counts":
        return np.exp(np.minimum(predictors, LARGEST_LOG))
    return predictors


def log_likelihoods(kind: Kind, targets: Matrix, predictors: Matrix) -> Matrix:
    """Return log p of each row, without what does not depend on the predictors."""
    if kind == "classes":
        return np.asarray((targets * log_softmax(predictors, axis=1)).sum(axis=1))
    if kind == "counts":
        rates = means(kind, predictors)
        return np.asarray((targets * predictors - rates).sum(axis=1))
    return np.asarray(-0.5 * ((targets - predictors) ** 2).sum(axis=1))


def curvatures(kind: Kind, predictors: Matrix) -> Matrix:
    """Return a bound of −∂² log p / ∂f² of each row."""
    if kind == "counts":
        return means(kind, predictors)[:, 0]
    return np.full(len(predictors), 0.5 if kind == "classes" else 1.0)


def fit_coefficients(
    kind: Kind,
    rows: Matrix,
    targets: Matrix,
    *,
    ridge: float,
    center: float = 0.0,
    start: Matrix | None = None,
    steps: int = 300,
) -> Matrix:
    """Return the coefficients (topics × outputs) of largest penalised likelihood.

    `rows` are Z, `targets` (documents × outputs) numbers, indicators of classes, or
    counts; `ridge` is λ, above 0, and `center` η₀, where it starts without `start`.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> fit_coefficients("real", rows, np.array([[2.0], [4.0]]), ridge=1.0).ravel()
    array([1., 2.])
    """
    shape = rows.shape[1], targets.shape[1]
    coef = np.full(shape, center) if start is None else start.copy()

    def penalized(coef: Matrix) -> float:
        fits = log_likelihoods(kind, targets, rows @ coef).sum()
        return float(fits - 0.5 * ridge * ((coef - center) ** 2).sum())

    value, hessian = penalized(coef), None
    for _ in range(steps):
        predictors = rows @ coef
        if hessian is None or kind == "counts":
            hessian = _information(rows, curvatures(kind, predictors), ridge)
        gradient = rows.T @ (targets - means(kind, predictors))
        step = np.linalg.solve(hessian, gradient - ridge * (coef - center))
        for _ in range(MOST_HALVINGS):
            new = penalized(coef + step)
            if new >= value:
                break
            step = step / 2
        coef, value = coef + step, new
        if np.abs(step).max(initial=0.0) <= SETTLED:
            break
    return coef


def standard_errors(
    kind: Kind, rows: Matrix, predictors: Matrix, ridge: float
) -> Matrix:
    """Return the standard errors of the coefficients, for noise 1 where it has one.

    Those of a class take the coefficients of the other classes as known.
    """
    if kind == "classes":
        p = means(kind, predictors)
        weights = (p * (1 - p)).T
    else:
        weights = curvatures(kind, predictors)[None]
    inverses = (np.linalg.inv(_information(rows, h, ridge)) for h in weights)
    return np.sqrt(np.stack([np.diag(inverse) for inverse in inverses], axis=1))


def _information(rows: Matrix, weights: Matrix, ridge: float) -> Matrix:
    return (rows.T * weights) @ rows + ridge * np.eye(rows.shape[1])
