# SPDX-License-Identifier: BSD-3-Clause
"""Features of documents that predict their topics: a regression of their mixtures.

The prior of a document is ``α_d = s m_d``, and its mean is linear in the features,

    m_d = (1 − ε) P(b + x_dᵀ B) + ε m̄,

P being the projection to the simplex and m̄ the mean of the corpus. B is the ridge
regression of the shares N_dk / n_d on the features, weighted by ``n_d / (n_d + s)``:
the influence of the prior on a share is removed first, so effects are not shrunk to
zero by it. The penalty is in units of documents: with a penalty of 1, a level of one
document keeps half of its effect. Penalty and s are chosen on documents that the
regression has not seen.

All of it is made of sums over documents, a fifth of which is hidden: of ``x xᵀ`` and
``x N_dᵀ / n_d``, with many columns of products ``x (xᵀ V)`` for conjugate gradients,
and of how far shares are from what each penalty lets expect.

Mimno and McCallum's ``α_dk = exp(x_dᵀ λ_k)``, fitted to the likelihood of expected
counts, is not used here: expected counts are spread more evenly than counts, and such a
prior made new documents less likely (benchmarks/results/ sides_features.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, cg

from topicfold.core import saved
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
from topicfold.parts.sides import Side
from topicfold.parts.steps import Context, Move, moved_shares

Matrix = NDArray[np.float64]
# Passes between two regressions.
LEARN_EVERY = 10
# Penalties to choose from, in documents, and of how many documents one is hidden.
PENALTIES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
HIDDEN = 5
# Columns up to which the equations of the regression are solved as they are.
MOST_SOLVED = 500
# Conjugate gradients end at this relative residual, or after so many steps.
TOLERANCE, MOST_STEPS = 1e-6, 1000
# ε, the share of the corpus's mean in what is expected of a document.
COMMON = 0.05
# Of the corpus, for any topic: a prior is positive.
LEAST_SHARE = 1e-9
# Limits of s.
STRENGTHS = (0.1, 1e4)


def moments(design: Any, shares: Matrix, weights: Matrix) -> tuple[Matrix, Matrix]:
    """Return ``Σ w x xᵀ``, of many columns its first row alone, and ``Σ w x sᵀ``."""
    weighted = design.multiply(weights[:, None]).tocsr()
    first = slice(None if design.shape[1] - 1 <= MOST_SOLVED else 1)
    gram = (design[:, first].T @ weighted).toarray()
    return gram, np.asarray(weighted.T @ shares)


def regression(
    gram: Matrix,
    cross: Matrix,
    penalty: float,
    product: Callable[[Matrix], Matrix],
    start: Matrix,
) -> Matrix:
    """Return b and B (F, K) of a ridge regression; the first column is of ones.

    b has no penalty. The coefficients of a category's levels sum to zero, if each
    document has one. Where `gram` is its first row alone, the equations of the centred
    columns are solved by conjugate gradients from `start`: ``product(V)`` returns
    ``Σ w x xᵀ V``.
    """
    total = gram[0, 0]
    mean, usual = gram[0, 1:] / total, cross[0] / total
    both = cross[1:] - total * np.outer(mean, usual)
    if len(gram) > 1:
        square = gram[1:, 1:] - total * np.outer(mean, mean)
        square[np.diag_indices_from(square)] += penalty
        effects = linalg.solve(square, both, assume_a="pos")
        return np.vstack([usual - mean @ effects, effects])

    def times(values: Matrix) -> Matrix:
        own = values.reshape(both.shape)
        centred = np.vstack([-(mean @ own), own])
        found = product(centred)
        return (found[1:] - np.outer(mean, found[0]) + penalty * own).ravel()

    equations = LinearOperator((both.size, both.size), times, dtype=np.float64)
    options: dict[str, Any] = {"rtol": TOLERANCE, "maxiter": MOST_STEPS}
    effects, _ = cg(equations, both.ravel(), start[1:].ravel(), **options)
    effects = effects.reshape(both.shape)
    return np.vstack([usual - mean @ effects, effects])


def expected_shares(design: Any, effects: Matrix, mean: Matrix) -> Matrix:
    """Return m (D, K), rows on the simplex; see the module."""
    line = np.maximum(design @ effects, 0.0)
    total = line.sum(axis=1, keepdims=True)
    line = np.divide(line, total, out=np.tile(mean, (len(line), 1)), where=total > 0)
    return np.asarray((1 - COMMON) * line + COMMON * mean)


def distances(
    shares: Matrix, expected: Matrix, lengths: Matrix, weights: Matrix
) -> Matrix:
    """Return the log loss of what is expected of documents, and sums for `strength`."""
    spread = 1.0 - (expected**2).sum(axis=1)
    loss = -(weights @ (shares * np.log(expected)).sum(axis=1))
    away = ((shares - expected) ** 2).sum() - (spread / lengths).sum()
    return np.array([loss, away, (spread * (1.0 - 1.0 / lengths)).sum()])


def strength(away: float, most: float) -> float:
    """Return s by the variance of shares around what is expected.

    ``E (N_dk / n_d − m_dk)² = m_dk (1 − m_dk) (1 / n_d + (1 − 1 / n_d) / (s + 1))``.
    """
    return float(np.clip(most / max(away, 1e-9) - 1.0, *STRENGTHS))


# What `Features.gather` is to return next: "moments" of documents that are seen and of
# those hidden; the "product" of the columns with a matrix; "distances" of shares from
# what each of several effects lets expect; or the sum of what is "expected". Of hidden
# documents, of others, or of all (None); and what is multiplied or compared.
Asked = tuple[str, bool | None, Any]
MOMENTS: Asked = ("moments", None, None)


@dataclass
class FeatureRows:
    """Features of some documents."""

    design: sparse.csr_matrix  # (D, F), a column of ones first
    hidden: NDArray[np.bool_]  # documents that the choice of the penalty is made on

    def __getitem__(self, rows: Any) -> FeatureRows:
        return FeatureRows(self.design[rows], self.hidden[rows])


class Features(DeclaredParameters, Side):
    """Features of documents, which change their prior: its mean is linear in them.

    See the module for the equations. Numbers are scaled to variance one (two values: to
    0 and 1), categories have a column each; names in a list share the weight of their
    document, ``1 / √n`` each. A missing value (None, NaN, an empty string) has no
    effect, and neither has a category that the fit did not have.

    Data
    ----
    features : data frame, mapping of columns, list of mappings, array or sparse matrix
        One row per document; a list has one mapping for each. Without features, all
        documents share one prior, whose shape is learned.

    Parameters
    ----------
    penalty : float or None, default=None
        Shrinks effects towards zero: a level with `penalty` documents keeps half of its
        effect. None chooses the penalty on documents that the regression has not seen.
    n_knots : int or None, default=None
        Knots of a cubic spline for each number with more values than that; None lets
        shares change with a number in a straight line.
    min_documents : int, default=1
        Categories with fewer documents have no effect.
    concentration : float or None, default=None
        s = Σ_k α_dk, how strong the prior is, in tokens. None learns it from how far
        the shares of unseen documents are from their expectation.

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
    _saved = saved.forms(
        effects_=saved.numbers("FK"),
        mean_=saved.numbers("K"),
        prior_=saved.numbers("K", saved.SMALLEST),
        penalty_=saved.number(saved.SMALLEST),
        concentration_=saved.number(saved.SMALLEST),
    )
    required = False
    learns_last = True
    in_batches = False
    penalty: Annotated[float | None, POSITIVE]
    n_knots: Annotated[int | None, whole(3)]
    min_documents: Annotated[int, whole(1)]
    concentration: Annotated[float | None, POSITIVE]

    effects_: Matrix
    mean_: Matrix
    prior_: Matrix
    penalty_: float
    concentration_: float
    _asked: Asked = MOMENTS

    def __init__(
        self,
        penalty: float | None = None,
        n_knots: int | None = None,
        min_documents: int = 1,
        concentration: float | None = None,
    ) -> None:
        self._store_parameters(locals())

    def check(self, data: Any, context: Context) -> FeatureRows:
        """Return the design, a column of ones first; without data, that alone."""
        size = context.n_documents
        hidden = np.random.default_rng(0).permutation(size) % HIDDEN == 0
        if data is None:
            self.columns_: list[Column] = []
            self.feature_names_ = ["intercept"]
            return FeatureRows(sparse.csr_matrix(np.ones((size, 1))), hidden)
        if not context.fitting:
            return FeatureRows(encode(data, size, self.columns_), hidden)
        self.columns_, design = learn_columns(
            data, size, n_knots=self.n_knots, min_documents=self.min_documents
        )
        self.feature_names_ = design_names(self.columns_)
        return FeatureRows(design, hidden)

    def free_topics(self, data: Any, context: Context) -> NDArray[np.bool_]:
        """All of them."""
        return np.ones(context.n_topics, dtype=bool)

    def follow(self, moves: Sequence[Move], data: Any) -> None:
        """Expected shares are added and divided."""
        self.effects_ = moved_shares(self.effects_, moves)
        self.mean_ = moved_shares(self.mean_, moves)

    def prepare(self, data: FeatureRows, context: Context) -> None:
        """Start from the model's own α."""
        if not (context.alpha > 0).all():
            raise DataError(
                "Features change the prior of documents, but this model has no such "
                "prior. Use LDA."
            )
        total = float(context.alpha.sum())
        self.mean_ = context.alpha / total
        self.effects_ = np.zeros((data.design.shape[1], context.n_topics))
        self.effects_[0] = self.mean_
        self.penalty_ = 1.0 if self.penalty is None else float(self.penalty)
        wanted = self.concentration
        self.concentration_ = total if wanted is None else float(wanted)

    def carried(
        self, data: FeatureRows, context: Context
    ) -> dict[str, tuple[int, ...]]:
        """What the last regression found."""
        size = context.n_topics
        effects = data.design.shape[1], size
        shapes: dict[str, tuple[int, ...]] = {"effects_": effects, "mean_": (size,)}
        return {**shapes, "penalty_": (), "concentration_": ()}

    def prior(self, data: FeatureRows | None, context: Context) -> Matrix:
        """Return α (D, K)."""
        if data is None:
            return self.prior_[None]
        return self.concentration_ * self.expected(data)

    def expected(self, data: FeatureRows) -> Matrix:
        """Return the expected mixtures, given the features alone: α_d / α_d·."""
        return expected_shares(data.design, self.effects_, self.mean_)

    # ---- learning

    def gather(
        self, counts: Array, data: FeatureRows, context: Context
    ) -> tuple[Any, ...]:
        """Return the sums for the regression; nothing between two regressions."""
        due = context.iteration > 0 and context.iteration % LEARN_EVERY == 0
        if not (due or context.last):
            return ()
        kind, hidden, given = self._asked
        if kind == "expected":
            return (self.expected(data).sum(axis=0),)
        lengths: Any = counts.sum(axis=1, dtype=np.float64)
        used = lengths > 1.0  # one token has no shares
        if hidden is not None:
            used &= data.hidden == hidden
        lengths, design = lengths[used], data.design[used]
        weights = lengths / (lengths + self.concentration_)
        if kind == "product":
            return (np.asarray(design.T @ (weights[:, None] * (design @ given))),)
        shares = counts[used] / lengths[:, None]
        if kind == "distances":
            expected = (expected_shares(design, own, self.mean_) for own in given)
            found = [distances(shares, rows, lengths, weights) for rows in expected]
            return (np.stack(found),)
        parts = [
            moments(design[own], shares[own], weights[own])
            for own in (~data.hidden[used], data.hidden[used])
        ]
        return len(shares), *(np.stack(pair) for pair in zip(*parts, strict=True))

    def learn(self, sums: tuple[Any, ...], context: Context) -> None:
        """Learn what is expected of documents; first and last, also penalty and s."""
        if not sums or context.sums is None:
            return
        again = context.sums

        def ask(kind: str, hidden: bool | None, given: Any) -> Any:
            self._asked = kind, hidden, given
            try:
                return again()[0]
            finally:
                self._asked = MOMENTS

        if sums[0] >= HIDDEN:
            choose = context.last or context.iteration == LEARN_EVERY
            self._regress(sums, ask, choose=choose)
        if context.last:
            total = ask("expected", None, None)
            self.prior_ = self.concentration_ * total / context.n_documents

    def _regress(self, sums: tuple[Any, ...], ask: Any, choose: bool) -> None:
        """Regress the shares; `choose` the penalty by hidden documents, and s, too."""
        number, gram, cross = sums
        total = gram[:, 0, 0].sum()
        self.mean_ = cross[:, 0].sum(axis=0) / total
        if self.mean_.min() < LEAST_SHARE:  # a topic may lose its last token
            self.mean_ = np.maximum(self.mean_, LEAST_SHARE)
            self.mean_ /= self.mean_.sum()
        scale = number / total  # else a strong prior would be a strong penalty
        gram, cross = scale * gram, scale * cross

        def solution(hidden: bool | None, penalty: float, start: Matrix) -> Matrix:
            own = slice(0, 2 if hidden is None else 1)
            return regression(
                *(gram[own].sum(axis=0), cross[own].sum(axis=0), penalty),
                lambda values: scale * ask("product", hidden, values),
                start,
            )

        found = None
        if gram.shape[-1] == 1:
            self.effects_ = self.mean_[None].copy()
            (found,) = ask("distances", None, [self.effects_])
        else:
            if choose and gram[:, 0, 0].all():
                given, start = self.penalty is not None, self.effects_
                penalties = (self.penalty_,) if given else PENALTIES
                effects: list[Matrix] = []
                for penalty in penalties[::-1]:  # the first is the soonest done
                    start = solution(False, penalty, start)
                    effects.insert(0, start)
                values = ask("distances", True, effects)
                best = int(values[:, 0].argmin())
                found, self.penalty_ = values[best], penalties[best]
            self.effects_ = solution(None, self.penalty_, self.effects_)
        if found is not None and self.concentration is None:
            self.concentration_ = strength(*found[1:])

    def effects(self) -> tuple[list[str], Matrix]:
        """Return names and effects without the intercept, in the user's units."""
        units = design_units(self.columns_)[1:, None]
        return self.feature_names_[1:], self.effects_[1:] / units

    def _sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        check_columns(self.columns_)
        return {**sizes, "F": len(design_names(self.columns_))}

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        super()._check_fitted(sizes)
        if self.feature_names_ != design_names(self.columns_):
            raise ValueError("feature_names_ are not those of its columns")
        for problem in simplex_problems("mean_", self.mean_[None]):
            raise ValueError(problem)
