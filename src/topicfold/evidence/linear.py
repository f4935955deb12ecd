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

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

Kind = Literal["real", "classes", "counts"]
Matrix = NDArray[np.float64]
Sums = tuple[Any, ...]
# exp of a larger number is not a plausible rate of a count.
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


def sums_at(
    kind: Kind, rows: Matrix, targets: Matrix, coef: Matrix, bent: bool
) -> Sums:
    """Return the sums over rows that a step from `coef` needs.

    The log-likelihood, its derivatives, and Zᵀ h Z if it is asked for.
    """
    predictors = rows @ coef
    value = log_likelihoods(kind, targets, predictors).sum()
    gradient = rows.T @ (targets - means(kind, predictors))
    if not bent:
        return value, gradient
    return value, gradient, _information(rows, curvatures(kind, predictors))


def climb(
    kind: Kind,
    sums: Callable[[Matrix, bool], Sums],
    coef: Matrix,
    *,
    ridge: float,
    center: float,
    steps: int = 300,
    sure: bool = False,
) -> Matrix:
    """Return the coefficients (topics × outputs) of largest penalised likelihood.

    By steps from `coef`, with `sums_at` over all rows at each of them; `ridge` is λ,
    above 0, and `center` η₀. If it is `sure`, as for numbers, one step is taken.

    Examples
    --------
    >>> rows, targets = np.eye(2), np.array([[2.0], [4.0]])
    >>> sums = lambda coef, bent: sums_at("real", rows, targets, coef, bent)
    >>> start = np.zeros((2, 1))
    >>> climb("real", sums, start, ridge=1.0, center=0.0, sure=True).ravel()
    array([1., 2.])
    """

    def penalized(found: Sums, coef: Matrix) -> float:
        return float(found[0] - 0.5 * ridge * ((coef - center) ** 2).sum())

    found = sums(coef, True)
    value, bend = penalized(found, coef), found[2] + ridge * np.eye(len(coef))
    for _ in range(steps):
        step = np.linalg.solve(bend, found[1] - ridge * (coef - center))
        if sure:
            return np.asarray(coef + step)
        for _ in range(MOST_HALVINGS):
            found = sums(coef + step, kind == "counts")
            new = penalized(found, coef + step)
            if new >= value:
                break
            step = step / 2
        coef, value = coef + step, new
        if np.abs(step).max(initial=0.0) <= SETTLED:
            break
        if kind == "counts":
            bend = found[2] + ridge * np.eye(len(coef))
    return coef


def class_information(
    kind: Kind, rows: Matrix, targets: Matrix, coef: Matrix
) -> tuple[Any, ...]:
    """Return Zᵀ h Z of each output, and the squared residuals, for their errors."""
    predictors = rows @ coef
    left = float(((targets - predictors) ** 2).sum())
    if kind != "classes":
        return _information(rows, curvatures(kind, predictors))[None], left
    p = means(kind, predictors)
    return np.stack([_information(rows, h) for h in (p * (1 - p)).T]), left


def standard_errors(information: Matrix, ridge: float) -> Matrix:
    """Return the standard errors of the coefficients, for noise 1 where it has one.

    Those of a class take the coefficients of the other classes as known.
    """
    inverses = np.linalg.inv(information + ridge * np.eye(information.shape[-1]))
    return np.sqrt(np.stack([np.diag(inverse) for inverse in inverses], axis=1))


def _information(rows: Matrix, weights: Matrix) -> Matrix:
    return np.asarray((rows.T * weights) @ rows)
