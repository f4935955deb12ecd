# SPDX-License-Identifier: BSD-3-Clause
"""Features of documents say which topics to expect: Dirichlet-multinomial regression.

``α_dk = c exp(x_dᵀ λ_k)``, after Mimno & McCallum (2008). λ maximises

    Σ_d [ln Γ(α_d·) − ln Γ(α_d· + n_d) + Σ_k ln Γ(α_dk + N_dk) − ln Γ(α_dk)]
        − Σ λ² / 2σ²

by L-BFGS every few passes, c = 1. The expected counts N_dk of CVB0 are smoother than
assignments of tokens are, and a Dirichlet that is fitted to them is too narrow: new
documents become less likely. So c brings the mean of Σ_k α_dk back to that of the
model's own α, unless it is to be learned (benchmarks/results/sides_features.md).
"""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse
from scipy.special import gammaln, polygamma, psi
from sklearn.utils._param_validation import StrOptions

from topicfold.core.parameters import POSITIVE, DeclaredParameters, whole
from topicfold.core.typing import Array
from topicfold.exceptions import DataError
from topicfold.sides.base import Side, SideContext
from topicfold.sides.design import (
    Column,
    check_columns,
    design_names,
    design_units,
    encode,
    learn_columns,
)

Matrix = NDArray[np.float64]
# Passes between two searches for λ, and steps of one.
LEARN_EVERY = 10
SEARCH_STEPS = 5
# Steps of the last search, whose result is kept.
LAST_STEPS = 200
INTERCEPT_VARIANCE = 10.0
# Limits of log α: beyond them ln Γ loses what α says.
LOG_LIMITS = -20.0, 10.0
# Columns up to which errors take account of how columns go together.
MOST_JOINT = 300


def dirichlet_multinomial(
    design: Any, effects: Matrix, counts: Matrix, lengths: Matrix
) -> tuple[float, Matrix]:
    """Return the log-likelihood of counts (D, K) and its gradient by λ (F, K).

    ``α = exp(design @ effects)``; the multinomial coefficients are left out.
    """
    alpha = np.exp(np.clip(design @ effects, *LOG_LIMITS))
    total = alpha.sum(axis=1)
    value = (gammaln(total) - gammaln(total + lengths)).sum()
    value += (gammaln(alpha + counts) - gammaln(alpha)).sum()
    slope = psi(alpha + counts) - psi(alpha)
    slope += (psi(total) - psi(total + lengths))[:, None]
    return float(value), np.asarray(design.T @ (alpha * slope))


def learn_effects(
    design: Any,
    start: Matrix,
    counts: Matrix,
    lengths: Matrix,
    *,
    centre: Matrix,
    precision: Matrix,
    max_iter: int,
) -> Matrix:
    """Return the λ (F, K) of the highest posterior, by L-BFGS from `start`.

    The prior of λ is Gaussian with means `centre` and variances 1 / `precision`.
    """

    def loss(flat: Matrix) -> tuple[float, Matrix]:
        effects = flat.reshape(start.shape)
        value, slope = dirichlet_multinomial(design, effects, counts, lengths)
        away = effects - centre
        value -= 0.5 * float((precision * away**2).sum())
        return -value, -(slope - precision * away).ravel()

    found = optimize.minimize(
        loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": max_iter}
    )
    return np.asarray(found.x).reshape(start.shape)


def effect_errors(
    design: Any, effects: Matrix, counts: Matrix, lengths: Matrix, precision: Matrix
) -> Matrix:
    """Return standard errors of λ (F, K), topic by topic.

    ``H⁻¹ (Σ_d g_d g_dᵀ + Λ) H⁻¹`` with g the gradients of the documents, Λ the prior's
    precision and H the negative second derivatives by one topic's effects, Λ in it:
    right also where counts vary more or less than the Dirichlet-multinomial says. With
    more than `MOST_JOINT` columns, only their
    own second derivatives are taken. That N_dk are not known exactly is not in it.
    """
    alpha = np.exp(np.clip(design @ effects, *LOG_LIMITS))
    total = alpha.sum(axis=1)
    slope = psi(alpha + counts) - psi(alpha)
    slope += (psi(total) - psi(total + lengths))[:, None]
    bend = polygamma(1, alpha + counts) - polygamma(1, alpha)
    bend += (polygamma(1, total) - polygamma(1, total + lengths))[:, None]
    curvature = -(alpha * slope + alpha**2 * bend)
    gradients = (alpha * slope) ** 2
    if design.shape[1] > MOST_JOINT:
        squares = design.multiply(design)
        H = np.maximum(squares.T @ curvature, 0) + precision
        return np.asarray(np.sqrt(squares.T @ gradients + precision) / H)
    errors = np.empty_like(effects)
    for k in range(effects.shape[1]):
        H = _weighted_gram(design, curvature[:, k]) + np.diag(precision[:, k])
        if np.linalg.eigvalsh(H)[0] <= 0:  # λ is not at its best yet
            H = _weighted_gram(design, np.maximum(curvature[:, k], 0))
            H += np.diag(precision[:, k])
        inverse = np.linalg.inv(H)
        middle = _weighted_gram(design, gradients[:, k]) + np.diag(precision[:, k])
        errors[:, k] = np.sqrt(((inverse @ middle) * inverse).sum(axis=1))
    return errors


def _weighted_gram(design: Any, weights: Matrix) -> Matrix:
    return np.asarray((design.T @ sparse.diags_array(weights) @ design).todense())


class Features(DeclaredParameters, Side):
    """What is known of documents moves their prior: ``α_dk ∝ exp(x_dᵀ λ_k)``.

    Dirichlet-multinomial regression; see the module for its likelihood. Numbers are
    scaled to variance one (two values: to 0 and 1), categories have a column each, an
    entry that is a list of names counts for each of them. A missing value (None, NaN,
    an empty string) moves no topic, nor does a category that the fit did not know.

    Data
    ----
    features : data frame, mapping of columns, list of mappings, array or sparse matrix
        One row per document; a list has one mapping for each. Without any, all
        documents share one prior, whose shape is learned.

    Parameters
    ----------
    variance : float, default=0.5
        σ², the variance of the Gaussian prior of the effects λ: smaller, weaker
        effects.
    n_knots : int or None, default=None
        Knots of a cubic spline for each number with more values than that; None lets
        log α change with a number in a straight line.
    min_documents : int, default=1
        Categories of fewer documents have no effect of their own; the prior of the
        effects draws that of a single document towards none.
    concentration : float, "learned" or None, default=None
        Mean of Σ_k α_dk. None is that of the model's own α; ``"learned"`` leaves it to
        the likelihood of the counts, as the paper does. That makes new documents less
        likely: expected counts are smoother than real ones.

    Attributes
    ----------
    effects_ : ndarray of shape (n_columns, n_topics)
        λ, the intercept first.
    errors_ : ndarray of shape (n_columns, n_topics)
        Standard errors of λ.
    feature_names_ : list of str
        Names of the columns.
    prior_ : ndarray of shape (n_topics,)
        Prior of documents of which no feature is known: the mean over the training
        documents.

    References
    ----------
    D. Mimno, A. McCallum (2008). Topic models conditioned on arbitrary features with
    Dirichlet-multinomial regression. UAI.
    """

    data = "features"
    hook = "prior"
    _per_topic = ("effects_", "errors_", "prior_")
    _numbers = ("scale_",)
    required = False
    variance: Annotated[float, POSITIVE] = field(default=0.5, kw_only=False)
    n_knots: Annotated[int | None, whole(3)] = field(default=None, kw_only=False)
    min_documents: Annotated[int, whole(1)] = field(default=1, kw_only=False)
    concentration: Annotated[float | str | None, POSITIVE, StrOptions({"learned"})] = (
        field(default=None, kw_only=False)
    )

    def check(self, data: Any, context: SideContext) -> sparse.csr_matrix:
        """Return the design, a column of ones first; without data, that alone."""
        if data is None:
            self.columns_: list[Column] = []
            self.feature_names_ = ["intercept"]
            return sparse.csr_matrix(np.ones((context.n_documents, 1)))
        if not context.fitting:
            return encode(data, context.n_documents, self.columns_)
        self.columns_, design = learn_columns(
            data,
            context.n_documents,
            n_knots=self.n_knots,
            min_documents=self.min_documents,
        )
        self.feature_names_ = design_names(self.columns_)
        return design

    effects_: Matrix = field(init=False)
    errors_: Matrix = field(init=False)
    prior_: Matrix = field(init=False)
    _now: tuple[Matrix, Matrix] | None = None

    def carried(self, data: Any, context: SideContext) -> dict[str, tuple[int, ...]]:
        """Effects and their scale."""
        return {"effects_": (data.shape[1], context.n_topics), "scale_": ()}

    def learn(self, counts: Array, data: Any, context: SideContext) -> None:
        """Search for λ, every few passes."""
        if context.iteration and context.iteration % LEARN_EVERY == 0:
            exact = np.asarray(counts, dtype=np.float64)
            self._begin(context)
            self.effects_ = self._searched(exact, data, context, SEARCH_STEPS)
            self._scale(data, context)

    def _searched(
        self, counts: Matrix, data: Any, context: SideContext, steps: int
    ) -> Matrix:
        """Return λ after some more steps of the search for it."""
        return learn_effects(
            data,
            self.effects_,
            counts,
            counts.sum(axis=1),
            centre=self._centre(context),
            precision=self._precision(),
            max_iter=steps,
        )

    def finish(self, counts: Array, data: Any, context: SideContext) -> None:
        """Find the standard errors, once the fit is done."""
        exact = np.asarray(counts, dtype=np.float64)
        self._begin(context)
        self.effects_ = self._searched(exact, data, context, LAST_STEPS)
        self._scale(data, context)
        self.errors_ = effect_errors(
            data, self.effects_, exact, exact.sum(axis=1), self._precision()
        )
        self.prior_ = self._alpha(data).mean(axis=0)
        self._now = None

    def prior(self, data: Any, context: SideContext) -> Matrix:
        """Return α (D, K)."""
        if data is None:
            return self.prior_[None]
        self._begin(context)
        if not context.fitting:
            return self._alpha(data)
        # It stays the same until λ is another.
        if self._now is None or self._now[0] is not self.effects_:
            self._now = self.effects_, self._alpha(data)
        return self._now[1]

    def _alpha(self, design: Any) -> Matrix:
        logs = np.clip(design @ self.effects_, *LOG_LIMITS)
        return np.asarray(np.exp(logs) * self.scale_)

    def _begin(self, context: SideContext) -> None:
        """Start from the model's own α."""
        if not hasattr(self, "effects_"):
            if not (context.alpha > 0).all():
                raise DataError(
                    "Features move the prior of documents, and this model has none. "
                    "Use LDA."
                )
            self.effects_ = self._centre(context)
            self.scale_ = 1.0

    def _centre(self, context: SideContext) -> Matrix:
        centre = np.zeros((len(self.feature_names_), context.n_topics))
        centre[0] = np.log(context.alpha)
        return centre

    def _precision(self) -> Matrix:
        precision = np.full_like(self.effects_, 1.0 / self.variance)
        precision[0] = 1.0 / INTERCEPT_VARIANCE
        return precision

    def _scale(self, design: Any, context: SideContext) -> None:
        """Bring the mean of Σ_k α_dk to where it should be."""
        if self.concentration == "learned":
            return
        wanted = self.concentration
        target = float(context.alpha.sum() if wanted is None else wanted)
        logs = np.clip(design @ self.effects_, *LOG_LIMITS)
        self.scale_ = target / float(np.exp(logs).sum(axis=1).mean())

    def effects(self) -> tuple[list[str], Matrix, Matrix]:
        """Return names, λ and its errors without the intercept, in the user's units."""
        units = design_units(self.columns_)[1:, None]
        sizes, errors = self.effects_[1:] / units, self.errors_[1:] / units
        return self.feature_names_[1:], sizes, errors

    def expected(self, design: Any) -> Matrix:
        """Return the mixtures that features alone lead to expect, α_d / α_d·."""
        logs = np.clip(design @ self.effects_, *LOG_LIMITS)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def _check_fitted(self, n_topics: int, n_terms: int) -> None:
        super()._check_fitted(n_topics, n_terms)
        check_columns(self.columns_)
        names = design_names(self.columns_)
        shape = len(names), n_topics
        if self.feature_names_ != names or self.effects_.shape != shape:
            raise ValueError("effects_ has another shape than its columns")
        if self.errors_.shape != shape or self.prior_.shape != shape[1:]:
            raise ValueError("errors_ or prior_ has another shape than effects_")
        if not ((self.prior_ > 0).all() and self.scale_ > 0):
            raise ValueError("prior_ or scale_ is not above 0")
