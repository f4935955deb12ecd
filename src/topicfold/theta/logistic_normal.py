# SPDX-License-Identifier: BSD-3-Clause
"""Mixtures that are correlated and depend on covariates: the logistic normal.

``θ_d = softmax(η_d, 0)`` with ``η_d ~ N(x_d Γ, Σ)``, as in the correlated and the
structural topic model. A pass moves every document towards the mode of its η given its
expected counts, then

    Γ = (XᵀX + λI)⁻¹ Xᵀη,   Σ = mean of (η − xΓ)(η − xΓ)ᵀ + mean of Laplace covariances

The covariances are those of the documents' posteriors at their modes. They are computed
for a sample of documents, every few passes, with the words of these documents if they
are known: a token whose topic is uncertain is less informative than one whose topic is
known, and expected counts alone do not show this.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core import saved
from topicfold.core.parameters import NOT_NEGATIVE, SHARE, DeclaredParameters
from topicfold.core.threads import even_ranges, n_ranges, run_ranges
from topicfold.core.typing import Array
from topicfold.engine.protocol import to_numpy
from topicfold.evidence.formula import Covariates, learn_covariates
from topicfold.exceptions import DataError
from topicfold.parts.steps import Context, ThetaStep
from topicfold.theta import logistic_normal_kernels as kernels

Matrix = NDArray[np.float64]
# Newton steps of a document per pass, conjugate gradients of each, and the change of η
# that ends them.
LIMITS = 1, 4, 1e-3
# Documents whose Laplace covariances are taken: this many, fewer for many topics.
MOST_SAMPLED, LEAST_SAMPLED, SAMPLED_BY_TOPICS = 1000, 70, 7_000
# They are taken in each of the first passes, then in every so many up to a last one:
# from there on the objective never falls.
FIRST_PASSES, EVERY_PASSES, LAST_PASS = 5, 10, 100
# Variance of η before anything is learned.
START_VARIANCE = 20.0
# Relative change of Σ in a pass, below which it has settled.
SETTLED = 5e-4


@dataclass
class Known:
    """What is known of some documents: rows of the design, and words of a few.

    `words` returns them: most passes need none, and take no rows of them.
    """

    design: Matrix
    words: Callable[[], sparse.csr_matrix] | None = None

    def __getitem__(self, rows: Any) -> Known:
        words = self.words
        taken = None if words is None else lambda: words()[rows]
        return Known(self.design[rows], taken)

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the words of these documents alone to another process."""
        return _with_words, (self.design, None if self.words is None else self.words())


def _with_words(design: Matrix, words: sparse.csr_matrix | None) -> Known:
    return Known(design, None if words is None else lambda: words)


def sampled_every(n_documents: int, n_topics: int) -> int:
    """Return the distance between documents whose covariances are taken."""
    most = min(max(SAMPLED_BY_TOPICS // n_topics, LEAST_SAMPLED), MOST_SAMPLED)
    return max(1, n_documents // most)


class LogisticNormalTheta(DeclaredParameters, ThetaStep):
    """``θ = softmax(η)``, ``η ~ N(xΓ, Σ)``: correlated topics, and covariates.

    Adds ``Σ_d log N(η_d; x_dΓ, Σ)``, with the Laplace covariances in it, to the
    objective, up to a constant. The last topic is the reference: its η is 0.

    Data
    ----
    prevalence : data frame, mapping of columns, array or None
        Covariates, one row per document: numbers are scaled, categories have a column
        each, a missing value has no effect. None: all documents have the same mean. In
        `transform`, documents without covariates have the mean of all.

    Parameters
    ----------
    ridge : float, default=1.0
        λ: how strongly effects of covariates are shrunk towards zero, in documents.
    shrinkage : float, default=0.0
        Share of the diagonal in Σ: 0 is Σ as it comes, 1 topics without correlation.
    formula : str or None, default=None
        What of the covariates counts, such as ``"~ party * s(day)"``: s(x) is a
        spline, C(x) takes numbers as categories, a * b is with their products. None:
        every column, numbers as lines.

    Attributes
    ----------
    gamma_ : ndarray of shape (n_columns, n_topics - 1)
        Γ, the intercept first.
    sigma_ : ndarray of shape (n_topics - 1, n_topics - 1)
        Σ.
    laplace_ : ndarray of shape (n_topics - 1, n_topics - 1)
        Mean Laplace covariance of the documents.
    information_ : float
        What a token says of η, as a share of one whose topic is known.

    Examples
    --------
    >>> from topicfold import PLSA
    >>> from topicfold.theta import LogisticNormalTheta
    >>> X = [[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]] * 3
    >>> model = PLSA(2, theta_step=LogisticNormalTheta(), random_state=0)
    >>> table = {"side": ["left", "left", "right", "right"] * 3}
    >>> model = model.fit(X, prevalence=table)
    >>> model.theta_step_.gamma_.shape
    (3, 1)
    """

    data = "prevalence"
    required = False
    normalized = True
    ridge: Annotated[float, NOT_NEGATIVE]
    shrinkage: Annotated[float, SHARE]
    formula: Annotated[str | None, str]

    def __init__(
        self, ridge: float = 1.0, *, shrinkage: float = 0.0, formula: str | None = None
    ) -> None:
        self._store_parameters(locals())

    # ---- data

    def check(self, data: Any, context: Context) -> Known:
        """Return the design: a column of ones, then those of the covariates."""
        n_documents = len(context.lengths)
        if isinstance(data, str):
            raise DataError(
                f"prevalence is the text {data!r}. Give a table of covariates; a "
                "formula is that of the model, StructuralLDA(formula='~ party')."
            )
        if hasattr(self, "columns_"):
            return Known(self._encoded(data, n_documents))
        covariates, design = Covariates([], []), np.ones((n_documents, 1))
        if data is not None:
            covariates, design = learn_covariates(data, n_documents, self.formula)
        elif self.formula is not None:
            raise DataError(
                f"the formula {self.formula!r} needs a table with its columns. Give it "
                "as prevalence=."
            )
        self.columns_, self.terms_ = covariates
        if n_documents < design.shape[1]:
            raise DataError(
                f"prevalence has {design.shape[1]} columns with the intercept, but "
                f"there are {n_documents} documents. Give fewer covariates."
            )
        self.design_mean_ = design.mean(axis=0)
        return Known(design)

    def _encoded(self, data: Any, n_documents: int) -> Matrix:
        if data is None or not self.columns_:
            if data is not None:
                raise DataError(
                    "prevalence was given, but the fit had no covariates. Leave it out."
                )
            return np.tile(self.design_mean_, (n_documents, 1))
        return self._covariates().design(data, n_documents)

    def moved(self) -> float:
        """Return infinity while Σ still changes: the objective may settle before."""
        return np.inf if self.change_ > SETTLED else 0.0

    def names(self) -> list[str]:
        """Return the names of the rows of `gamma_`, the intercept's first."""
        return self._covariates().names()

    def _covariates(self) -> Covariates:
        return Covariates(self.columns_, self.terms_)

    # ---- one pass

    def prepare(self, context: Context) -> Any:
        """Start at a wide Σ; return the number of threads."""
        n_topics = context.topics.shape[1]
        n_columns = 1 if context.data is None else context.data.design.shape[1]
        if not hasattr(self, "sigma_"):
            self.start(n_columns, n_topics)
        self.n_documents_ = float(context.corpus.n_documents)
        return getattr(context.corpus, "threads", 1)

    def start(self, n_columns: int, n_topics: int) -> None:
        """Set the state before anything is learned."""
        self.gamma_ = np.zeros((n_columns, n_topics - 1))
        self.sigma_ = START_VARIANCE * np.eye(n_topics - 1)
        self.laplace_ = self.sigma_.copy()
        self.information_, self.entropy_, self.change_ = 1.0, 0.0, 1.0
        self.passes_, self.n_documents_ = 0.0, 1.0

    def update(self, counts: Array, theta: Array, context: Context) -> Array:
        """Return mixtures nearer to the modes."""
        out: Array = np.empty(theta.shape, theta.dtype)
        counts, theta = to_numpy(counts), to_numpy(theta)
        threads = context.state or 1
        arguments = (
            *(counts, theta, self._design(context), self.gamma_.astype(out.dtype)),
            *(self._precision().astype(out.dtype), LIMITS, out),
        )
        ranges = even_ranges(len(out), n_ranges(threads))
        run_ranges(kernels.mode_rows, ranges, threads, *arguments)
        return context.xp.asarray(out)  # type: ignore[no-any-return]

    def gather(self, counts: Array, theta: Array, context: Context) -> tuple[Any, ...]:
        """Return moments of the design and of η, and Laplace covariances of some."""
        eta, design = natural(theta), self._design(context)
        moments = design.T @ design, design.T @ eta, eta.T @ eta
        return *moments, *self._covariances(counts, theta, context)

    def _covariances(
        self, counts: Array, theta: Array, context: Context
    ) -> tuple[Any, ...]:
        """Return the sum of the sampled documents' covariances, their number, and the
        traces that tell what a token says.
        """
        total, size = np.zeros_like(self.sigma_), counts.shape[1]
        if not self.takes_covariances(int(self.passes_)):
            return total, 0.0, 0.0, 0.0, 0.0
        # A state from elsewhere may name any number.
        every = sampled_every(int(min(self.n_documents_, 2.0**31 - 1)), size)
        rows = context.rows
        first = (rows.start or 0) if isinstance(rows, slice) else int(rows[0])
        sampled = slice(-first % every, None, every)
        shares = to_numpy(theta[sampled]).astype(np.float64)
        plain = to_numpy(counts[sampled]).sum(axis=1, dtype=np.float64)
        topics, words = np.zeros((1, size)), None
        if context.data is not None and context.data.words is not None:
            words, plain = context.data.words()[sampled], np.zeros(len(shares))
            topics = to_numpy(context.topics).astype(np.float64)
            places = np.argsort(context.word_order)
            words = words.indptr, places[words.indices], words.data
        words = words or _no_words(len(shares))
        arguments = words, plain, np.ascontiguousarray(topics), shares
        found = kernels.covariance_sums(*arguments, self._precision(), total)
        return total + np.tril(total, -1).T, float(len(shares)), *found

    def learn(self, sums: tuple[Any, ...], context: Context) -> None:
        """Learn Γ and Σ, and in some passes the covariances of documents."""
        xx, xe, ee, covariances, n_sampled, entropy, known, full = sums
        if n_sampled > 0:
            self.laplace_ = covariances / n_sampled
            # Mean ½ log|ν| less what the likelihood loses where η is in doubt,
            # ½ tr(A ν) with A its curvature; A + Σ⁻¹ is the inverse of ν.
            doubt = len(self.sigma_) - np.sum(self._precision() * self.laplace_)
            self.entropy_ = float(entropy / n_sampled - 0.5 * doubt)
            self.information_ = float(known / full) if full > 0 else 1.0
        self.passes_ += 1.0
        if self.ridge:
            self.gamma_ = np.linalg.solve(xx + self._penalty(), xe)
        else:  # covariates may say the same: the smallest coefficients
            self.gamma_ = np.linalg.pinv(xx, rcond=1e-12, hermitian=True) @ xe
        # With the penalty: (η − xΓ)ᵀ(η − xΓ) + λ ΓᵀΓ.
        scatter = ee - self.gamma_.T @ xe
        sigma = (scatter + scatter.T) / (2 * self.n_documents_) + self.laplace_
        diagonal = np.diag(np.diag(sigma))
        old, self.sigma_ = self.sigma_, sigma + self.shrinkage * (diagonal - sigma)
        moved, size = float(np.linalg.norm(self.sigma_ - old)), np.linalg.norm(old)
        # Of the last few passes: those that take covariances move more.
        self.change_ = max(moved / max(float(size), 1e-300), 0.8 * self.change_)

    def value(self, theta: Array, context: Context) -> float:
        """Return ``log N(η; xΓ, Σ)`` of these rows, with their covariances."""
        precision = self._precision()
        rest = natural(theta) - self._design(context) @ self.gamma_
        squares = float(np.vdot(rest @ precision, rest))
        effects = self.gamma_.T @ self._penalty() @ self.gamma_ / self.n_documents_
        each = np.linalg.slogdet(self.sigma_)[1]
        each += np.sum(precision * (self.laplace_ + effects))
        return -0.5 * squares - len(rest) * (0.5 * float(each) - self.entropy_)

    @staticmethod
    def takes_covariances(passed: int) -> bool:
        """Tell whether the pass after so many takes the documents' covariances."""
        early = passed < FIRST_PASSES or passed % EVERY_PASSES == 0
        return early and passed <= LAST_PASS

    def stiffness(self) -> NDArray[np.float64]:
        """Return the strength of the prior for each η, in tokens of the topic.

        The reference, whose η is 0, has the mean strength of the others.
        """
        held = np.diag(self._precision())
        return np.append(held, held.mean() if len(held) else 1.0)

    def _penalty(self) -> Matrix:
        penalty = np.full(len(self.gamma_), self.ridge)
        penalty[0] = 0.0  # the intercept
        return np.diag(penalty)

    def _precision(self) -> Matrix:
        return np.asarray(np.linalg.inv(self.sigma_), dtype=np.float64)

    def _design(self, context: Context) -> Matrix:
        if context.data is None:
            return np.ones((len(context.lengths), 1))
        design: Matrix = context.data.design
        return design

    # ---- results

    def draws(
        self,
        theta: Array,
        n_draws: int,
        rng: np.random.RandomState,
        *,
        lengths: Matrix,
        words: Any = None,
        topics: Any = None,
        threads: int = 1,
    ) -> NDArray[np.float32]:
        """Return draws (n_draws, D, K) of mixtures from the documents' posteriors.

        Gaussian at the mode of η, with the curvature that `words` have under `topics`
        (K, V). Without words, every token has the same information, `information_`.
        """
        plain = np.zeros(len(theta))
        counts, weights = _no_words(len(theta)), np.zeros((1, theta.shape[1]))
        if words is None:
            plain = self.information_ * np.asarray(lengths, dtype=np.float64)
        else:
            X = sparse.csr_matrix(words)
            counts = X.indptr, X.indices, X.data.astype(np.float64)
            weights = np.ascontiguousarray(np.asarray(topics, dtype=np.float64).T)
        normal = rng.standard_normal((n_draws, len(theta), theta.shape[1] - 1))
        out = np.empty((n_draws, *theta.shape), np.float32)
        arguments = counts, plain, weights, theta, self._precision(), normal, out
        ranges = even_ranges(len(theta), n_ranges(threads))
        run_ranges(kernels.draw_rows, ranges, threads, *arguments)
        return out

    def bound(self, theta: Array, X: Any, topics: Array, data: Known) -> float:
        """Return R's stm's approximate bound of documents at their modes."""
        X, shares = sparse.csr_matrix(X), theta.astype(np.float64)
        weights = np.ascontiguousarray(topics.T, dtype=np.float64)
        words = X.indptr, X.indices, X.data.astype(np.float64)
        precision, zeros = self._precision(), np.zeros(len(theta))
        total = np.zeros_like(precision)
        value, *_ = kernels.covariance_sums(
            words, zeros, weights, shares, precision, total
        )
        for d, (lo, hi) in enumerate(itertools.pairwise(X.indptr.tolist())):
            chances = weights[X.indices[lo:hi]] @ shares[d]
            value += float(X.data[lo:hi] @ np.log(np.maximum(chances, 1e-300)))
        rest = natural(theta) - data.design @ self.gamma_
        squares = np.vdot(rest @ precision, rest)
        log_size = len(rest) * np.linalg.slogdet(self.sigma_)[1]
        return float(value - 0.5 * (squares + log_size))

    def correlations(self) -> Matrix:
        """Return the correlations (K, K) of topics, of ``log θ`` less its mean.

        Those of documents with the same covariates.
        """
        size = len(self.sigma_) + 1
        centred = np.eye(size)[:, :-1] - 1.0 / size
        covariance = centred @ self.sigma_ @ centred.T
        scale = 1.0 / np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        return np.asarray(covariance * scale[:, None] * scale)

    _saved = saved.forms(
        gamma_=saved.numbers("CF"),
        design_mean_=saved.numbers("C"),
        sigma_=saved.numbers("FF"),
        laplace_=saved.numbers("FF"),
        information_=saved.maybe(saved.number(0)),
        change_=saved.maybe(saved.number(0)),
        passes_=saved.maybe(saved.number(0)),
        n_documents_=saved.maybe(saved.number(0)),
        entropy_=saved.maybe(saved.number()),
    )

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        """Refuse a loaded step that is not that of a model of these sizes."""
        self._covariates().check()
        saved.check(self, {"C": len(self.names()), "F": sizes["K"] - 1})
        if np.linalg.eigvalsh(self.sigma_)[0] <= 0:
            raise ValueError("sigma_ is not a covariance")


def natural(theta: Array) -> Matrix:
    """Return η (D, K − 1) of mixtures: logarithms less that of the last topic."""
    logs = np.log(np.maximum(to_numpy(theta).astype(np.float64), kernels.LEAST))
    return np.asarray(logs[:, :-1] - logs[:, -1:])


def _no_words(n_documents: int) -> tuple[Any, ...]:
    empty = sparse.csr_matrix((n_documents, 1))
    return empty.indptr, empty.indices, empty.data
