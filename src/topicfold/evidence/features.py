# SPDX-License-Identifier: BSD-3-Clause
"""Features of documents say which topics to expect: a regression of their mixtures.

The prior of a document is ``α_d = s m_d``, and its mean is linear in the features,

    m_d = (1 − ε) P(b + x_dᵀ B) + ε m̄,

P being the projection to the simplex and m̄ the mean of the corpus. B is the ridge
regression of the shares N_dk / n_d on the features, weighted by ``n_d / (n_d + s)``:
what the prior does to a share is left out of it, so effects are not drawn to zero. The
penalty counts in documents, so that a level of one document keeps an effect, drawn to
none by half with a penalty of 1. Penalty and s are those of documents that the
regression has not seen.

Mimno and McCallum's ``α_dk = exp(x_dᵀ λ_k)``, fitted to the likelihood of expected
counts, is not what happens here: expected counts are spread more evenly than counts
are, and such a prior made new documents less likely (benchmarks/results/
sides_features.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.linear_model import Ridge

from topicfold.core.counts import simplex_problems
from topicfold.core.parameters import POSITIVE, DeclaredParameters, whole
from topicfold.core.typing import Array
from topicfold.evidence.design import (
    Column,
    check_columns,
    design_names,
    design_units,
    encode,
    learn_columns,
)
from topicfold.exceptions import DataError
from topicfold.parts.moves import Move, moved_shares
from topicfold.parts.sides import Side
from topicfold.parts.steps import Context

Matrix = NDArray[np.float64]
# Passes between two regressions.
LEARN_EVERY = 10
# Penalties to choose from, in documents, and the documents on which they are judged.
PENALTIES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
HIDDEN = 5
# Columns up to which the equations of the regression are solved as they are.
MOST_SOLVED = 500
# ε, the share of the corpus's mean in what is expected of a document.
COMMON = 0.05
# Limits of s.
STRENGTHS = (0.1, 1e4)


def regression(design: Any, shares: Matrix, weights: Matrix, penalty: float) -> Matrix:
    """Return b and B (F, K) of a ridge regression; the first column is of ones.

    b has no penalty. The coefficients of a category's levels sum to zero, if each
    document has one.
    """
    columns = sparse.csr_matrix(design[:, 1:])
    if columns.shape[1] > MOST_SOLVED:
        ridge = Ridge(alpha=penalty, solver="sparse_cg", tol=1e-6)
        found = ridge.fit(columns, shares, sample_weight=weights)
        return np.vstack([found.intercept_, found.coef_.T])
    # All topics at once, by the equations of the centred columns.
    total = weights.sum()
    weighted = columns.multiply(weights[:, None]).tocsr()
    mean, usual = weighted.sum(axis=0).A1 / total, weights @ shares / total
    square = (columns.T @ weighted).toarray() - total * np.outer(mean, mean)
    square[np.diag_indices_from(square)] += penalty
    both = weighted.T @ shares - total * np.outer(mean, usual)
    effects = linalg.solve(square, both, assume_a="pos")
    return np.vstack([usual - mean @ effects, effects])


def expected_shares(design: Any, effects: Matrix, mean: Matrix) -> Matrix:
    """Return m (D, K), rows on the simplex; see the module."""
    line = np.maximum(design @ effects, 0.0)
    total = line.sum(axis=1, keepdims=True)
    line = np.divide(line, total, out=np.tile(mean, (len(line), 1)), where=total > 0)
    return np.asarray((1 - COMMON) * line + COMMON * mean)


def strength(shares: Matrix, expected: Matrix, lengths: Matrix) -> float:
    """Return s by the variance of shares around what is expected.

    ``E (N_dk / n_d − m_dk)² = m_dk (1 − m_dk) (1 / n_d + (1 − 1 / n_d) / (s + 1))``.
    """
    spread = 1.0 - (expected**2).sum(axis=1)
    away = ((shares - expected) ** 2).sum() - (spread / lengths).sum()
    most = (spread * (1.0 - 1.0 / lengths)).sum()
    total = most / max(away, 1e-9) - 1.0
    return float(np.clip(total, *STRENGTHS))


class Features(DeclaredParameters, Side):
    """Features of documents, which change their prior: its mean is linear in them.

    See the module for the equations. Numbers are scaled to variance one (two values: to
    0 and 1), categories have a column each; names in a list share the weight of their
    document, ``1 / √n`` each. A missing value (None, NaN, an empty string) moves no
    topic, nor does a category that the fit did not know.

    Data
    ----
    features : data frame, mapping of columns, list of mappings, array or sparse matrix
        One row per document; a list has one mapping for each. Without any, all
        documents share one prior, whose shape is learned.

    Parameters
    ----------
    penalty : float or None, default=None
        Draws effects towards none: a level of `penalty` documents has half of the
        effect that these show. None chooses it by documents that the regression has
        not seen.
    n_knots : int or None, default=None
        Knots of a cubic spline for each number with more values than that; None lets
        shares change with a number in a straight line.
    min_documents : int, default=1
        Categories of fewer documents have no effect of their own.
    concentration : float or None, default=None
        s = Σ_k α_dk, how strong the prior is, in tokens. None learns it from how far
        the shares of unseen documents are from what is expected of them.

    Attributes
    ----------
    effects_ : ndarray of shape (n_columns, n_topics)
        Changes of expected shares with the columns as the fit scales them; the first
        row is the intercept.
    feature_names_ : list of str
        Names of the columns.
    penalty_, concentration_ : float
        What was chosen.
    prior_ : ndarray of shape (n_topics,)
        Prior of documents of which no feature is known: the mean over the training
        documents.

    References
    ----------
    D. Mimno, A. McCallum (2008). Topic models conditioned on arbitrary features with
    Dirichlet-multinomial regression. UAI. (Their mean is not linear.)
    """

    data = "features"
    hook = "prior"
    _per_topic = ("effects_", "mean_", "prior_")
    _numbers = ("penalty_", "concentration_")
    required = False
    needs_all_documents = True
    penalty: Annotated[float | None, POSITIVE]
    n_knots: Annotated[int | None, whole(3)]
    min_documents: Annotated[int, whole(1)]
    concentration: Annotated[float | None, POSITIVE]

    effects_: Matrix
    mean_: Matrix
    prior_: Matrix
    penalty_: float
    concentration_: float
    _now: tuple[Matrix, Matrix] | None = None

    def __init__(
        self,
        penalty: float | None = None,
        n_knots: int | None = None,
        min_documents: int = 1,
        concentration: float | None = None,
    ) -> None:
        self._store_parameters(locals())

    def check(self, data: Any, context: Context) -> sparse.csr_matrix:
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

    def carried(self, data: Any, context: Context) -> dict[str, tuple[int, ...]]:
        """What the last regression found."""
        size = context.n_topics
        shapes: dict[str, tuple[int, ...]] = {"effects_": (data.shape[1], size)}
        return {**shapes, "mean_": (size,), "penalty_": (), "concentration_": ()}

    def free_topics(self, data: Any, context: Context) -> NDArray[np.bool_]:
        """All of them."""
        return np.ones(context.n_topics, dtype=bool)

    def follow(self, moves: Sequence[Move], data: Any) -> None:
        """Expected shares are added and divided."""
        if hasattr(self, "effects_"):
            self.effects_ = moved_shares(self.effects_, moves)
            self.mean_ = moved_shares(self.mean_, moves)

    def gather(self, counts: Array, data: Any, context: Context) -> tuple[Any, ...]:
        """Regress the shares, every few passes."""
        if context.iteration and context.iteration % LEARN_EVERY == 0:
            self._begin(data, context)
            self._regress(counts, data, choose=context.iteration == LEARN_EVERY)
        return ()

    def finish(self, counts: Array, data: Any, context: Context) -> None:
        """Regress the shares of the end."""
        self._begin(data, context)
        self._regress(counts, data, choose=True)
        self.prior_ = self._alpha(data).mean(axis=0)
        self._now = None

    def prior(self, data: Any, context: Context) -> Matrix:
        """Return α (D, K)."""
        if data is None:
            return self.prior_[None]
        self._begin(data, context)
        if not context.fitting:
            return self._alpha(data)
        # It stays the same until the effects are others.
        if self._now is None or self._now[0] is not self.effects_:
            self._now = self.effects_, self._alpha(data)
        return self._now[1]

    def _alpha(self, design: Any) -> Matrix:
        return self.concentration_ * self.expected(design)

    def _begin(self, design: Any, context: Context) -> None:
        """Start from the model's own α."""
        if hasattr(self, "effects_"):
            return
        if not (context.alpha > 0).all():
            raise DataError(
                "Features change the prior of documents, and this model has none. "
                "Use LDA."
            )
        total = float(context.alpha.sum())
        self.mean_ = context.alpha / total
        self.effects_ = np.zeros((design.shape[1], context.n_topics))
        self.effects_[0] = self.mean_
        self.penalty_ = 1.0 if self.penalty is None else float(self.penalty)
        wanted = self.concentration
        self.concentration_ = total if wanted is None else float(wanted)

    def _regress(self, counts: Array, design: Any, choose: bool) -> None:
        """Learn what is expected of documents; `choose` the penalty and s first."""
        shares = np.array(counts, dtype=np.float64)  # counts at first
        known = shares.sum(axis=1) > 1.0
        if known.sum() < HIDDEN:
            return
        if not known.all():
            shares, design = shares[known], design[known]
        lengths = shares.sum(axis=1)
        shares /= lengths[:, None]
        weights = lengths / (lengths + self.concentration_)
        weights /= weights.mean()  # else a strong prior would be a strong penalty
        self.mean_ = weights @ shares / weights.sum()
        if design.shape[1] == 1:
            self.effects_ = self.mean_[None].copy()
            self._strengthen(shares, self.expected(design), lengths)
            return
        if choose:
            self._choose(shares, design, lengths, weights)
        self.effects_ = regression(design, shares, weights, self.penalty_)

    def _choose(
        self, shares: Matrix, design: Any, lengths: Matrix, weights: Matrix
    ) -> None:
        """Choose the penalty by hidden documents, s by how far these are away."""
        number = np.random.default_rng(0).permutation(len(shares)) % HIDDEN
        hidden, seen = number == 0, number != 0
        best = np.inf
        given = self.penalty is not None
        for penalty in (self.penalty_,) if given else PENALTIES:
            effects = regression(design[seen], shares[seen], weights[seen], penalty)
            found = expected_shares(design[hidden], effects, self.mean_)
            loss = -float(
                weights[hidden] @ (shares[hidden] * np.log(found)).sum(axis=1)
            )
            if loss < best:
                best, self.penalty_, expected = loss, penalty, found
        self._strengthen(shares[hidden], expected, lengths[hidden])

    def _strengthen(self, shares: Matrix, expected: Matrix, lengths: Matrix) -> None:
        if self.concentration is None:
            self.concentration_ = strength(shares, expected, lengths)

    def effects(self) -> tuple[list[str], Matrix]:
        """Return names and effects without the intercept, in the user's units."""
        units = design_units(self.columns_)[1:, None]
        return self.feature_names_[1:], self.effects_[1:] / units

    def expected(self, design: Any) -> Matrix:
        """Return the expected mixtures, given the features alone: α_d / α_d·."""
        return expected_shares(design, self.effects_, self.mean_)

    def _check_fitted(self, n_topics: int, n_terms: int) -> None:
        super()._check_fitted(n_topics, n_terms)
        check_columns(self.columns_)
        names = design_names(self.columns_)
        shape = len(names), n_topics
        if self.feature_names_ != names or self.effects_.shape != shape:
            raise ValueError("effects_ has another shape than its columns")
        if self.mean_.shape != shape[1:] or self.prior_.shape != shape[1:]:
            raise ValueError("mean_ or prior_ has another shape than effects_")
        if not min(self.prior_.min(), self.penalty_, self.concentration_) > 0:
            raise ValueError("prior_, penalty_ or concentration_ is not above 0")
        for problem in simplex_problems("mean_", self.mean_[None]):
            raise ValueError(problem)
