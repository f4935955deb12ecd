# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""Mixtures that are correlated and depend on covariates: the logistic normal.

``θ_d = softmax(η_d, 0)`` with ``η_d ~ N(x_d Γ, Σ)`` of K − 1 numbers, as in the
correlated and the structural topic model: the last topic is the reference, so that η is
``log θ_k − log θ_K``. A pass moves every document towards the mode of its η given its
expected counts N. With n tokens and the mean μ, the mode maximises

    f(η) = N·η − n log(1 + Σ e^η) − ½ (η − μ)ᵀ Σ⁻¹ (η − μ)

which is concave. Then

    Γ = (XᵀX + λI)⁻¹ Xᵀη,   Σ = mean of (η − xΓ)(η − xΓ)ᵀ + mean of Laplace covariances

The covariances are those of the documents' posteriors at their modes. They are computed
for a sample of documents, every few passes, with the words of these documents if they
are known: the curvature at the mode is then that of the marginal likelihood, which a
token's unknown topic makes smaller:

    H = Σ⁻¹ + n (diag θ − θθᵀ) − Σ_w x_w (diag p_w − p_w p_wᵀ),   p_wk ∝ θ_k φ_kw

Kernels are serial over a range of documents; each names the function of
``tests/logistic_normal_reference.py`` it equals.
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
from topicfold.core.jit import SPACE, kernel, part
from topicfold.core.parameters import NOT_NEGATIVE, SHARE, DeclaredParameters
from topicfold.core.threads import even_ranges, n_ranges, run_ranges
from topicfold.core.typing import Array
from topicfold.engine.protocol import to_numpy
from topicfold.evidence.formula import Covariates, learn_covariates
from topicfold.exceptions import DataError
from topicfold.parts.steps import Context, ThetaStep

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
# Least share of a topic: its logarithm stays finite in float32 too.
LEAST = 1e-30
# Limits of one Newton step: what is left of the gradient, the longest step in one
# direction, halvings while the value falls.
LEFT, LONGEST, HALVINGS = 0.1, 4.0, 20


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
        run_ranges(mode_rows, ranges, threads, *arguments)
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
        found = covariance_sums(*arguments, self._precision(), total)
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
        run_ranges(draw_rows, ranges, threads, *arguments)
        return out

    def bound(self, theta: Array, X: Any, topics: Array, data: Known) -> float:
        """Return R's stm's approximate bound of documents at their modes."""
        X, shares = sparse.csr_matrix(X), theta.astype(np.float64)
        weights = np.ascontiguousarray(topics.T, dtype=np.float64)
        words = X.indptr, X.indices, X.data.astype(np.float64)
        precision, zeros = self._precision(), np.zeros(len(theta))
        total = np.zeros_like(precision)
        value, *_ = covariance_sums(words, zeros, weights, shares, precision, total)
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
        self._covariates().check()
        saved.check(self, {"C": len(self.names()), "F": sizes["K"] - 1})
        if np.linalg.eigvalsh(self.sigma_)[0] <= 0:
            raise ValueError("sigma_ is not a covariance")


def natural(theta: Array) -> Matrix:
    """Return η (D, K − 1) of mixtures: logarithms less that of the last topic."""
    logs = np.log(np.maximum(to_numpy(theta).astype(np.float64), LEAST))
    return np.asarray(logs[:, :-1] - logs[:, -1:])


def _no_words(n_documents: int) -> tuple[Any, ...]:
    empty = sparse.csr_matrix((n_documents, 1))
    return empty.indptr, empty.indices, empty.data


@part
def _shares(eta, out):
    """Write softmax(η, 0) and return ``log(1 + Σ e^η)``."""
    n_free = eta.shape[0]
    most = eta.dtype.type(0)
    for k in range(n_free):
        most = max(most, eta[k])
    for k in range(n_free):
        out[k] = np.exp(eta[k] - most)
    out[n_free] = np.exp(-most)
    total = eta.dtype.type(0)
    for k in range(n_free + 1):
        total += out[k]
    scale = eta.dtype.type(1) / total
    for k in range(n_free + 1):
        out[k] *= scale
    return most + np.log(total)


@part
def _dot(one, other):
    total = one.dtype.type(0)
    for k in range(one.shape[0]):
        total += one[k] * other[k]
    return total


@part
def _times(precision, vector, out):
    """Write ``Σ⁻¹ v``: four rows at a time, so that v is read once for them."""
    n_free = vector.shape[0]
    real = vector.dtype.type
    i = 0
    while i + 4 <= n_free:
        one, two = precision[i], precision[i + 1]
        three, four = precision[i + 2], precision[i + 3]
        a, b, c, d = real(0), real(0), real(0), real(0)
        for j in range(n_free):
            a += one[j] * vector[j]
            b += two[j] * vector[j]
            c += three[j] * vector[j]
            d += four[j] * vector[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, d
        i += 4
    for rest in range(i, n_free):
        out[rest] = _dot(precision[rest], vector)


@part
def _direction(gradient, theta, n, precision, n_gradients, scratch):
    """Write the Newton direction x to scratch[0], and ``Σ⁻¹ x`` to scratch[1].

    Solves ``(Σ⁻¹ + n diag θ − n θθᵀ) x = gradient`` by preconditioned conjugate
    gradients; any number of steps goes upwards.
    """
    real = gradient.dtype.type
    x, weighted, rest, scaled = scratch[0], scratch[1], scratch[2], scratch[3]
    along, image, scale = scratch[4], scratch[5], scratch[6]
    n_free = gradient.shape[0]
    for k in range(n_free):
        x[k] = real(0)
        weighted[k] = real(0)
        rest[k] = gradient[k]
        scale[k] = real(1) / (precision[k, k] + n * theta[k])
        scaled[k] = rest[k] * scale[k]
        along[k] = scaled[k]
    product = _dot(rest, scaled)
    enough = real(LEFT * LEFT) * product
    for _ in range(min(n_gradients, n_free)):
        if not product > enough:
            break
        _times(precision, along, image)
        common = real(0)
        for k in range(n_free):
            common += theta[k] * along[k]
        bend = real(0)
        for k in range(n_free):
            bend += along[k] * (image[k] + n * theta[k] * (along[k] - common))
        step = product / bend
        for k in range(n_free):
            x[k] += step * along[k]
            weighted[k] += step * image[k]
            rest[k] -= step * (image[k] + n * theta[k] * (along[k] - common))
            scaled[k] = rest[k] * scale[k]
        old, product = product, _dot(rest, scaled)
        again = product / old
        for k in range(n_free):
            along[k] = scaled[k] + again * along[k]


@kernel
def mode_rows(start, stop, counts, theta, design, gamma, precision, limits, out):
    """Write mixtures at the modes of documents, some Newton steps from `theta`.

    The means are ``μ = design @ gamma``; `limits` are the most Newton steps, the most
    conjugate gradients of each, and the change of η that ends them. A document's value
    never falls. Arithmetic is that of `precision`. Equals ``modes``.
    """
    n_steps, n_gradients, tol = limits
    real = precision.dtype.type
    n_topics = counts.shape[1]
    n_free = n_topics - 1
    shares = np.empty(n_topics, precision.dtype)
    rows = np.empty((7, n_free + SPACE), precision.dtype)
    own = np.empty((8, n_free + SPACE), precision.dtype)
    scratch = rows[:, :n_free]
    eta = own[0, :n_free]
    difference = own[1, :n_free]
    weighted = own[2, :n_free]
    gradient = own[3, :n_free]
    tried = own[4, :n_free]
    expected = own[5, :n_free]
    mean = own[6, :n_free]
    bent = own[7, :n_free]
    least = real(LEAST)
    for d in range(start, stop):
        n = real(0)
        for k in range(n_topics):
            n += counts[d, k]
        last = np.log(max(real(theta[d, n_free]), least))
        for k in range(n_free):
            mean[k] = real(0)
        for j in range(gamma.shape[0]):
            x = real(design[d, j])
            for k in range(n_free):
                mean[k] += x * gamma[j, k]
        for k in range(n_free):
            expected[k] = counts[d, k]
            eta[k] = np.log(max(real(theta[d, k]), least)) - last
            difference[k] = eta[k] - mean[k]
        _times(precision, difference, weighted)
        value = _dot(expected, eta) - real(0.5) * _dot(difference, weighted)
        value -= n * _shares(eta, shares)
        moved = True
        for _ in range(n_steps):
            for k in range(n_free):
                gradient[k] = expected[k] - n * shares[k] - weighted[k]
            _direction(gradient, shares, n, precision, n_gradients, scratch)
            direction, turned = scratch[0], scratch[1]
            longest = real(1e-30)
            for k in range(n_free):
                longest = max(longest, abs(direction[k]))
            step = min(real(1), real(LONGEST) / longest)
            moved = False
            for _ in range(HALVINGS):
                for k in range(n_free):
                    tried[k] = eta[k] + step * direction[k]
                    difference[k] = tried[k] - mean[k]
                    bent[k] = weighted[k] + step * turned[k]
                new = _dot(expected, tried) - real(0.5) * _dot(difference, bent)
                new -= n * _shares(tried, shares)
                if new >= value:
                    moved = True
                    break
                step *= real(0.5)
            if not moved:
                break
            value = new
            for k in range(n_free):
                eta[k] = tried[k]
                weighted[k] = bent[k]
            if step * longest <= tol:
                break
        if not moved:  # the last that was tried is not where it is
            _shares(eta, shares)
        for k in range(n_topics):
            out[d, k] = max(shares[k], least)


@part
def _curvature(words, counts, topics, theta, plain, precision, p, out):
    """Write H of one document, its lower half, at mixtures `theta`.

    `plain` are the tokens whose topics count as known; those of `words` do not.
    """
    n_topics = theta.shape[0]
    n_free = n_topics - 1
    n = plain
    for i in range(words.shape[0]):
        n += counts[i]
    for i in range(n_free):
        for j in range(i + 1):
            out[i, j] = precision[i, j] - n * theta[i] * theta[j]
        out[i, i] += n * theta[i]
    for w in range(words.shape[0]):
        word = topics[words[w]]
        total = 0.0
        for k in range(n_topics):
            total += theta[k] * word[k]
        scale = 1.0 / max(total, 1e-300)
        for k in range(n_free):
            p[k] = theta[k] * word[k] * scale
        for i in range(n_free):
            own = counts[w] * p[i]
            for j in range(i + 1):
                out[i, j] += own * p[j]
            out[i, i] -= own


@part
def _factor(matrix):
    """Turn the lower half of a matrix into its Cholesky factor, if it has one."""
    size = matrix.shape[0]
    for i in range(size):
        row = matrix[i]
        for j in range(i):
            other = matrix[j]
            total = 0.0
            for k in range(j):
                total += row[k] * other[k]
            row[j] = (row[j] - total) / other[j]
        total = 0.0
        for k in range(i):
            total += row[k] * row[k]
        left = row[i] - total
        if not left > 0.0:
            return False
        row[i] = np.sqrt(left)
    return True


@part
def _factored(words, counts, topics, theta, plain, precision, p, out):
    """Write the Cholesky factor of H; of that with known topics where it has none.

    Away from a mode H need not be positive; with the topics of tokens known it is.
    """
    _curvature(words, counts, topics, theta, plain, precision, p, out)
    if _factor(out):
        return
    for i in range(words.shape[0]):
        plain += counts[i]
    _curvature(words[:0], counts, topics, theta, plain, precision, p, out)
    _factor(out)


@part
def _invert(factor, out):
    """Write the inverse of a lower triangular factor, transposed: rows are columns."""
    size = factor.shape[0]
    for i in range(size):
        row = factor[i]
        for j in range(i):
            own = out[j]
            total = 0.0
            for k in range(j, i):
                total += row[k] * own[k]
            own[i] = -total / row[i]
        out[i, i] = 1.0 / row[i]


@kernel
def covariance_sums(X, plain, topics, theta, precision, out):
    """Add the Laplace covariances of documents to the lower half of `out`.

    X is (indptr, indices, counts) of words, `plain` tokens of each document whose
    topics count as known, `topics` (V, K). Returns ``Σ −½ log|H|``, and the traces of
    ``H − Σ⁻¹`` and of ``n (diag θ − θθᵀ)``. Equals ``covariances``.
    """
    indptr, indices, data = X
    n_topics = theta.shape[1]
    n_free = n_topics - 1
    shares = np.empty(n_topics)
    p = np.empty(n_topics)
    factor = np.empty((n_free, n_free))
    inverse = np.zeros((n_free, n_free))
    value = 0.0
    known = 0.0
    full = 0.0
    for d in range(theta.shape[0]):
        words = indices[indptr[d] : indptr[d + 1]]
        counts = data[indptr[d] : indptr[d + 1]]
        for k in range(n_topics):
            shares[k] = theta[d, k]
        n = plain[d]
        for i in range(words.shape[0]):
            n += counts[i]
        _factored(words, counts, topics, shares, plain[d], precision, p, factor)
        for i in range(n_free):
            own = 0.0
            for k in range(i + 1):
                own += factor[i, k] * factor[i, k]
            known += own - precision[i, i]
            full += n * shares[i] * (1.0 - shares[i])
            value -= np.log(factor[i, i])
        _invert(factor, inverse)
        for i in range(n_free):
            one = inverse[i]
            for j in range(i + 1):
                other = inverse[j]
                total = 0.0
                for k in range(i, n_free):
                    total += one[k] * other[k]
                out[i, j] += total
    return value, known, full


@kernel
def draw_rows(start, stop, X, plain, topics, theta, precision, normal, out):
    """Write draws (draws, documents, K) of mixtures from the Laplace posteriors.

    `normal` (draws, documents, K − 1) are standard normal. Equals ``draws``.
    """
    indptr, indices, data = X
    n_topics = theta.shape[1]
    n_free = n_topics - 1
    shares = np.empty(n_topics)
    p = np.empty(n_topics)
    factor = np.empty((n_free, n_free))
    eta = np.empty(n_free)
    moved = np.empty(n_free)
    for d in range(start, stop):
        words = indices[indptr[d] : indptr[d + 1]]
        counts = data[indptr[d] : indptr[d + 1]]
        for k in range(n_topics):
            shares[k] = max(np.float64(theta[d, k]), LEAST)
        for k in range(n_free):
            eta[k] = np.log(shares[k]) - np.log(shares[n_free])
        _factored(words, counts, topics, shares, plain[d], precision, p, factor)
        for i in range(normal.shape[0]):
            # Lᵀ x = z from the last row up: x has the covariance H⁻¹ = L⁻ᵀ L⁻¹.
            for k in range(n_free):
                moved[k] = normal[i, d, k]
            for k in range(n_free - 1, -1, -1):
                own = moved[k] / factor[k, k]
                moved[k] = own
                for j in range(k):
                    moved[j] -= factor[k, j] * own
            for k in range(n_free):
                moved[k] += eta[k]
            _shares(moved, shares)
            for k in range(n_topics):
                out[i, d, k] = shares[k]
