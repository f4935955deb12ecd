# SPDX-License-Identifier: BSD-3-Clause
"""A number, class or count, known for some documents and predicted for others.

The response is a generalised linear model of a document's mean topic assignment
z̄_d = N_d / n_d (Blei & McAuliffe 2007), with one coefficient η_k per topic: rows of z̄
sum to one, so the coefficients hold the intercept as well. The objective gains
``w Σ_d log p(y_d | ηᵀz̄_d)``. Its derivative by a document's counts is the evidence
``δ_dk = Σ_c u_dc η_ck`` with ``u_d = (w / n_d) g_d``.

With a large w this would overshoot, because u depends on the z̄ that it changes. So u
moves by the step that a bound on the curvature allows,

    u ← u + (w g / n − u) / (1 + (w / n) h v),   v = Σ_c Var(η_c)

which is Newton's step for tokens that have the mixture of their document; the variance
is taken half way between that and even shares, so that a document that is all in one
topic does not jump to another. At convergence, u = w g / n. The objective is not
monotone: that of CVB0 is not, and evidence and topics are updated in turn. Words that
all documents use would also be pulled into the predictive topics, because their tokens
count in z̄ like others. So z̄ may leave out `background` topics b: the others sum to
one, n is the number of their tokens, and ``δ_db = Σ_c u_dc ηᵀ_c z̄_d``: a token more or
less in b does not matter to the response.

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

Topics explain a response, but a few topics cannot distinguish all its words. A ridge
regression (numbers) or logistic regression (classes) of tf-idf weights,
``log(1 + x_dw) idf_w`` with rows of length one, uses every word (`ResponseWords`). Both
predictions together are as good as that from words, or better
(benchmarks/results/sides_response.md). For numbers, hidden responses decide how much of
a prediction comes from the words and how large their coefficients may be: years need
larger ones than ratings.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import StrOptions

from topicfold.core import saved
from topicfold.core.counts import smooth_idf
from topicfold.core.labels import check_two_classes, class_numbers, share_right
from topicfold.core.parameters import (
    NOT_NEGATIVE,
    POSITIVE,
    SHARE_BELOW_ONE,
    DeclaredParameters,
)
from topicfold.core.typing import Array
from topicfold.engine.protocol import add_statistics, ranges_of
from topicfold.evidence.words import word_weights
from topicfold.exceptions import DataError
from topicfold.parts.sides import SMALLEST_SCALE, Side
from topicfold.parts.steps import Context

Kind = Literal["real", "classes", "counts"]
Matrix = NDArray[np.float64]
Sums = tuple[Any, ...]
# exp of a larger number is not a plausible rate of a count.
LARGEST_LOG = 30.0
# A step of no coefficient larger than this ends a fit.
SETTLED = 1e-6
MOST_HALVINGS = 20
# Penalties of the two regressions on words.
RIDGE = 1.0
INVERSE_PENALTY = 30.0
# Share of the words in a prediction.
WORD_SHARE = 0.7
# Penalties and shares that are tried for numbers, and the fewest hidden responses.
PENALTIES, SHARES, FEWEST_HIDDEN = (0.03, 0.1, 0.3, 1.0, 3.0), (0.5, 0.7, 0.9, 1.0), 50
# Steps of the coefficients per pass over the corpus, after the first.
STEPS = 5
# Ridge of the coefficients while the topics are learned.
LEARNING_RIDGE = 1.0
# Documents that the coefficients which predict are learned from at a time.
SETTLED_AT_ONCE = 8192
Known = NDArray[np.bool_]


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


class ResponseWords(NamedTuple):
    """A fitted linear model of words.

    Attributes
    ----------
    idf : ndarray of shape (n_terms,)
        Weights of the words.
    coef : ndarray of shape (n_outputs, n_terms)
        Coefficients.
    intercept : ndarray of shape (n_outputs,)
        Intercepts.
    """

    idf: Matrix
    coef: Matrix
    intercept: Matrix

    def means(self, X: sparse.csr_matrix, classes: bool) -> Matrix:
        """Return expected numbers (D, 1), or probabilities of classes (D, C)."""
        scores = word_weights(X, self.idf) @ self.coef.T + self.intercept
        return np.asarray(softmax(scores, axis=1) if classes else scores)


class Hidden(NamedTuple):
    """Numbers that topics have not learned from, and what they expect there.

    Attributes
    ----------
    rows : ndarray of int of shape (n_hidden,)
        The documents.
    means : ndarray of shape (n_hidden,)
        What topics expect, in the units of `targets` of `choose`.
    """

    rows: NDArray[np.int64]
    means: Matrix


def choose(
    X: sparse.csr_matrix,
    targets: Matrix,
    known: NDArray[np.bool_],
    hidden: Hidden | None,
) -> tuple[float, float]:
    """Return the penalty and the share of the words that predict hidden numbers best.

    `targets` are numbers (D, 1) of all documents, of which some are known.
    """
    if hidden is None or len(hidden.rows) < FEWEST_HIDDEN:
        return RIDGE, WORD_SHARE
    learned = known.copy()
    learned[hidden.rows] = False
    truth = targets[hidden.rows, 0]
    losses = {}
    for penalty in PENALTIES:
        model = learn_words(X[learned], targets[learned], False, penalty)
        words = model.means(X[hidden.rows], False)[:, 0]
        for share in SHARES:
            both = share * words + (1 - share) * hidden.means
            losses[penalty, share] = float(((truth - both) ** 2).mean())
    return min(losses, key=lambda pair: losses[pair])


def learn_words(
    X: sparse.csr_matrix, targets: Matrix, classes: bool, penalty: float = RIDGE
) -> ResponseWords:
    """Fit numbers (D, 1), or indicators of classes (D, C)."""
    idf = smooth_idf(X)
    rows = word_weights(X, idf)
    if not classes:
        ridge = Ridge(penalty, solver="sparse_cg").fit(rows, targets[:, 0])
        return ResponseWords(idf, ridge.coef_[None], np.array([ridge.intercept_]))
    found = LogisticRegression(C=INVERSE_PENALTY, max_iter=300)
    found.fit(rows, targets.argmax(axis=1))
    coef, intercept = np.zeros((targets.shape[1], X.shape[1])), np.zeros(len(targets.T))
    if len(found.classes_) == 2:  # one row, of the second
        coef[found.classes_[1]], intercept[found.classes_[1]] = (
            found.coef_[0],
            found.intercept_[0],
        )
    else:
        coef[found.classes_], intercept[found.classes_] = found.coef_, found.intercept_
    return ResponseWords(idf, coef, intercept)


@dataclass
class ResponseData:
    """Checked responses of some documents."""

    targets: Matrix  # (D, outputs): numbers at scale one, indicators, or counts; else 0
    known: Known  # documents whose responses are learned from
    held_out: Known  # documents whose responses are kept for `held_out_score_`
    carried: Matrix  # u (D, outputs), carried from pass to pass

    def __getitem__(self, rows: Any) -> ResponseData:
        return ResponseData(*(getattr(self, f.name)[rows] for f in fields(self)))


def _per_class(values: Any, sizes: Mapping[str, int]) -> str:
    """Say what is wrong with numbers of topics, by class if there are some: a form."""
    return saved.numbers("CK" if sizes["C"] else "K")(values, sizes)


class Response(DeclaredParameters, Side):
    """Supervised topics: mixtures that predict a number, a class or a count.

    Data
    ----
    response : sequence of length n_documents
        A response per document. NaN or None where it is not known, for classes also -1
        or "", for counts also -1. The topics still learn from such documents.

    Parameters
    ----------
    kind : {"real", "classes", "counts"}, default="real"
        What a response is: any number (linear regression), a class (softmax), or a
        whole number from 0 (Poisson regression).
    weight : float or None, default=None
        w, how many words a response is worth. None is the mean number of words of a
        document; 0 is LDA; 1 is the original model, in which the response hardly
        changes the topics. Numbers are scaled to variance one first.
    ridge : float, default=0.1
        Penalty on the squared coefficients that predict, around their mean.
    held_out : float, default=0.0
        Share of the known responses that are hidden from the fit, for
        `held_out_score_`.
    background : sequence of int, default=()
        Topics that responses do not influence while topics are learned: those of words
        that all documents use.

    Attributes
    ----------
    coef_ : ndarray of shape (n_topics,), or (n_classes, n_topics)
        Response of a document with one topic only: the number, the log rate of the
        count, or the score of the class.
    std_errors_ : ndarray of the shape of `coef_`
        Standard errors, which take the topics as known; those of a class take the
        other classes' coefficients as known, too.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    name_ : str
        Name of the responses if they had one, as the column of a data frame has.
    noise_ : float
        Standard deviation of numbers around their predictions: from the held-out
        responses if there are any, otherwise from those that the topics have learned
        from, which gives too small a value.
    weight_ : float
        w in use.
    held_out_score_ : float
        Share of the held-out responses' deviance that is explained from words alone
        (for numbers R²).
    held_out_losses_ : ndarray
        Remaining deviance of each.

    References
    ----------
    D. Blei, J. McAuliffe (2007). Supervised topic models. NIPS.

    Examples
    --------
    >>> from topicfold import LDA
    >>> from topicfold.evidence import Response
    >>> X = [[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]]
    >>> model = LDA(2, sides=[Response()], random_state=0)
    >>> model = model.fit(X, response=[1.0, 1.2, 5.0, None])
    >>> model.sides_[0].predict(model.transform(X)).round().tolist()
    [1.0, 1.0, 5.0, 5.0]
    """

    data = "response"
    hook = "evidence"
    _saved = saved.forms(
        coef_=_per_class,
        std_errors_=_per_class,
        weight_=saved.number(),
        mean_=saved.number(),
        scale_=saved.number(saved.SMALLEST),
        name_=saved.maybe(saved.text),
    )
    known_later = False
    kind: Annotated[Kind, StrOptions(set(get_args(Kind)))]
    weight: Annotated[float | None, NOT_NEGATIVE]
    ridge: Annotated[float, POSITIVE]
    held_out: Annotated[float, SHARE_BELOW_ONE]
    background: Sequence[int]

    # What is expected of the held-out numbers, right after a fit; not saved.
    _hidden: Hidden | None = None

    # ---- data

    def __init__(
        self,
        kind: Kind = "real",
        *,
        weight: float | None = None,
        ridge: float = 0.1,
        held_out: float = 0.0,
        background: Sequence[int] = (),
    ) -> None:
        self._store_parameters(locals())

    def check(self, data: Any, context: Context) -> ResponseData:
        """Return the responses; a fit learns their scale, classes and weight."""
        if self.kind == "classes":
            targets, known = self._class_targets(data, context)
        else:
            targets, known = self._number_targets(data, context)
        held_out = np.zeros_like(known)
        if context.fitting:
            if not _are_topics(self.background, context.n_topics):
                raise DataError(
                    f"background has {self.background!r}; give the numbers of some "
                    f"topics, from 0 to {context.n_topics - 1}, but not all of them."
                )
            mean_length = float(context.lengths.mean())
            self.weight_ = mean_length if self.weight is None else float(self.weight)
            held_out = self._drawn(targets, known, context)
            self.name_ = str(getattr(data, "name", None) or "")
        return ResponseData(
            targets, known & ~held_out, held_out, np.zeros_like(targets)
        )

    def _class_targets(self, data: Any, context: Context) -> tuple[Matrix, Known]:
        codes, classes = class_numbers(data, context.n_documents)
        if context.fitting:
            check_two_classes(
                codes,
                len(classes),
                "a response of kind 'classes' (numbers are of kind 'real')",
            )
            self.classes_: NDArray[Any] = classes
            self.mean_, self.scale_ = 0.0, 1.0
        known = self.classes_.tolist()
        strange = [name for name in classes.tolist() if name not in known]
        if strange:
            raise DataError(
                f"response has the class {strange[0]!r}, which the fit did not have. "
                "Give None where the class is not known."
            )
        place = np.array([known.index(name) for name in classes.tolist()] + [-1])
        codes = place[codes]
        return 1.0 * (codes[:, None] == np.arange(len(known))), codes >= 0

    def _number_targets(self, data: Any, context: Context) -> tuple[Matrix, Known]:
        values = _numbers(data, context.n_documents)
        known = ~np.isnan(values)
        if self.kind == "counts":
            known &= values != -1
            wrong = known & ((values < 0) | (values != np.floor(values)))
            if wrong.any():
                first = int(np.argmax(wrong))
                raise DataError(
                    f"response has {values[first]:g} in document {first}, which is not "
                    "a count. Give whole numbers from 0, or choose kind='real'."
                )
        if context.fitting:
            _check_varied(values[known], len(values))
            real = self.kind == "real"
            with np.errstate(over="ignore", invalid="ignore"):
                mean, spread = float(values[known].mean()), float(values[known].std())
            self.mean_ = mean if real else float(np.log(mean))
            self.scale_ = spread if real else 1.0
            if not SMALLEST_SCALE < self.scale_ < 1 / SMALLEST_SCALE:
                raise DataError(
                    f"the responses have the standard deviation {self.scale_:.3g}, too "
                    "small or too large to compute with. Rescale them."
                )
        if self.kind == "real":
            values = (values - self.mean_) / self.scale_
        return np.where(known, values, 0.0)[:, None], known

    def _drawn(self, targets: Matrix, known: Known, context: Context) -> Known:
        """Return which responses are held out; one of each class never is."""
        free = known.copy()
        if self.kind == "classes":
            free[targets.argmax(axis=0)] = False
        n_held_out = round(self.held_out * int(known.sum()))
        held_out = np.zeros_like(known)
        if n_held_out:
            held_out[context.rng.permutation(np.flatnonzero(free))[:n_held_out]] = True
        return held_out

    # ---- learning

    def carried(
        self, data: ResponseData, context: Context
    ) -> dict[str, tuple[int, ...]]:
        """Coefficients, and u."""
        outputs = len(data.targets.T)
        shape = (outputs,) if self.kind == "classes" else ()
        return {"coef_": (*shape, context.n_topics), "carried": data.targets.shape}

    def gather(
        self, counts: Array, data: ResponseData, context: Context
    ) -> tuple[Any, ...]:
        """Return the sums over known responses for a step of the coefficients."""
        known, coef = data.known, self._at
        # For numbers, one step reaches the optimum from any start.
        if coef is None and (context.iteration <= 1 or self.kind == "real"):
            coef = np.full((context.n_topics, data.targets.shape[1]), self._center)
        rows = self._assignments(counts, context)[known]
        coef = self._coef if coef is None else coef
        return sums_at(self.kind, rows, data.targets[known], coef, self._bent)

    def learn(self, sums: tuple[Any, ...], context: Context) -> None:
        """Move the coefficients to the documents' new assignments."""
        first = context.iteration <= 1
        again, given = context.sums, [sums]
        coef = np.full(sums[1].shape, self._center)
        if not first and self.kind != "real":
            coef = self._coef

        def sums_of(coef: Matrix, bent: bool) -> Any:
            if given:
                return given.pop()
            self._at, self._bent = coef, bent
            return again() if again else ()

        options: dict[str, Any] = {"ridge": LEARNING_RIDGE, "center": self._center}
        options["steps"] = 10 * STEPS if first else STEPS
        options["sure"] = again is None or self.kind == "real"
        self._store(climb(self.kind, sums_of, coef, **options))
        self._at, self._bent = None, True

    # Where `gather` is to be, None at the coefficients as they are; and whether it is
    # to return the curvature, too.
    _at: Matrix | None = None
    _bent: bool = True

    def evidence(self, counts: Array, data: ResponseData, context: Context) -> Array:
        """Return δ, after a step of u."""
        coef = self._coef
        assignments = self._assignments(counts, context)
        predictors = assignments @ coef
        mixed = (assignments + 1.0 / context.n_topics) / 2
        spread = (mixed @ coef**2 - (mixed @ coef) ** 2).sum(axis=1)
        rate = self.weight_ / np.maximum(self._foreground(counts, context), 1.0)
        step = 1.0 / (1.0 + rate * curvatures(self.kind, predictors) * spread)
        residuals = data.targets - means(self.kind, predictors)
        data.carried += step[:, None] * (rate[:, None] * residuals - data.carried)
        data.carried[~data.known] = 0.0
        found = np.asarray(data.carried @ coef.T)
        if len(self.background):
            mean = (data.carried * predictors).sum(axis=1)
            found[:, list(self.background)] = mean[:, None]
        return found

    def value(self, counts: Array, data: ResponseData, context: Context) -> float:
        """Return ``w Σ log p(y_d)``, up to a constant."""
        if not hasattr(self, "coef_"):
            return 0.0
        predictors = self._assignments(counts, context)[data.known] @ self._coef
        fits = log_likelihoods(self.kind, data.targets[data.known], predictors)
        return float(self.weight_ * fits.sum())

    def _foreground(self, counts: Array, context: Context) -> Matrix:
        """Return how many tokens of documents are not in the background."""
        lengths = np.asarray(context.lengths, dtype=np.float64)
        if not len(self.background):
            return lengths
        return lengths - counts[:, list(self.background)].sum(axis=1)

    def _assignments(self, counts: Array, context: Context) -> Matrix:
        """Return z̄ of the topics that are not in the background."""
        found = assignments_of(counts, context)
        if len(self.background):
            found[:, list(self.background)] = 0.0
            found /= np.maximum(found.sum(axis=1, keepdims=True), 1e-30)
        return found

    def fit_prediction(
        self, theta: Array, doc_topics: Array, data: ResponseData, context: Context
    ) -> None:
        """Fit the coefficients that predict, on mixtures made of words alone.

        The mixtures of the fit depend on the responses; those of new documents cannot.
        """

        def summed(function: Any, *options: Any) -> Any:
            """Return the sums over known documents, some at a time."""
            parts = []
            for rows in ranges_of(len(theta), SETTLED_AT_ONCE):
                known = data.known[rows]
                own = np.asarray(theta[rows][known], dtype=np.float64)
                targets = data.targets[rows][known]
                parts.append(function(self.kind, own, targets, *options))
            return functools.reduce(add_statistics, parts)

        targets = data.targets[data.known]
        start = np.full((theta.shape[1], targets.shape[1]), self._center)
        options: dict[str, Any] = {"ridge": self.ridge, "center": self._center}
        sums = functools.partial(summed, sums_at)
        options["sure"] = self.kind == "real"
        coef = climb(self.kind, sums, start, **options)
        self._store(coef)
        information, left = summed(class_information, coef)
        errors = standard_errors(information, self.ridge)
        if self.kind == "real":
            free = max(len(targets) - theta.shape[1], 1)
            self.noise_ = float(np.sqrt(left / free)) * self.scale_
            errors *= self.noise_
        self.std_errors_ = errors.T if self.kind == "classes" else errors[:, 0]
        if data.held_out.any():
            base, held_out = targets.mean(axis=0), data.targets[data.held_out]
            hidden = np.asarray(theta[data.held_out], dtype=np.float64)
            self._score_held_out(hidden, held_out, base)
            self.take_noise(self)
            if self.kind == "real":
                rows = np.flatnonzero(data.held_out)
                self._hidden = Hidden(rows, (hidden @ self._coef)[:, 0])

    def take_noise(self, other: Response) -> None:
        """Take the noise from the responses that a side has not learned from."""
        if self.kind == "real" and hasattr(other, "held_out_losses_"):
            noise = float(np.sqrt(2 * other.held_out_losses_.mean()) * other.scale_)
            self.std_errors_ = self.std_errors_ * (noise / max(self.noise_, 1e-300))
            self.noise_ = noise

    def _score_held_out(self, theta: Matrix, targets: Matrix, base: Matrix) -> None:
        """Compare the held-out responses' deviance with that of the mean response."""
        if self.kind != "real":
            base = np.log(np.maximum(base, 1e-12))
        plain = np.tile(base, (len(targets), 1))
        best = _saturated(self.kind, targets)
        left = best - log_likelihoods(self.kind, targets, theta @ self._coef)
        all_ = best - log_likelihoods(self.kind, targets, plain)
        total = max(float(all_.mean()), 1e-300)
        self.held_out_losses_ = left
        self.held_out_score_ = 1.0 - float(left.mean()) / total

    @property
    def _center(self) -> float:
        """Coefficient of a topic of which nothing is known."""
        return self.mean_ if self.kind == "counts" else 0.0

    @property
    def _coef(self) -> Matrix:
        """η (topics × outputs), for numbers at scale one."""
        if self.kind == "classes":
            return np.ascontiguousarray(self.coef_.T)
        if self.kind == "real":
            return np.asarray((self.coef_ - self.mean_) / self.scale_)[:, None]
        return np.asarray(self.coef_)[:, None]

    def _store(self, coef: Matrix) -> None:
        if self.kind == "classes":
            # In the order that a saved array has: products of another order may differ
            # in their last bits.
            self.coef_ = np.ascontiguousarray(coef.T)
        elif self.kind == "real":
            self.coef_ = self.mean_ + self.scale_ * coef[:, 0]
        else:
            self.coef_ = coef[:, 0]

    # ---- predicting

    def predict(self, theta: Array) -> NDArray[Any]:
        """Return the numbers, classes or expected counts of documents' mixtures."""
        return self.chosen(self.predict_means(theta))

    def chosen(self, found: Matrix) -> NDArray[Any]:
        """Return the numbers, counts or most likely classes of `predict_means`."""
        if self.kind == "classes":
            labels: NDArray[Any] = self.classes_[found.argmax(axis=1)]
            return labels
        return found[:, 0]

    def predict_means(self, theta: Array) -> Matrix:
        """Return expected numbers or counts (D, 1), or probabilities of classes."""
        rows = np.asarray(theta, dtype=np.float64)
        coef = self.coef_.T if self.kind == "classes" else self.coef_[:, None]
        return means(self.kind, rows @ coef)

    def score(self, theta: Array, response: Any) -> float:
        """Return R², the accuracy, or the share of the deviance explained."""
        return self.score_of(self.predict_means(theta), response)

    def score_of(self, found: Matrix, response: Any) -> float:
        """Return the score of the results of `predict_means`."""
        if self.kind == "classes":
            return share_right(response, self.classes_[found.argmax(axis=1)])
        size = len(found)
        context = Context(size, 0, 0, np.zeros(size), fitting=False)
        data = self.check(response, context)
        known, targets = data.known, data.targets[data.known]
        if not known.any():
            raise DataError("no document has a known response, so there is no score.")
        found = found[known]
        if self.kind == "real":
            found = (found - self.mean_) / self.scale_
            left, mean = found, np.full_like(found, targets.mean())
        else:
            left = np.log(np.maximum(found, 1e-300))
            mean = np.full_like(found, np.log(max(targets.mean(), 1e-300)))
        best = _saturated(self.kind, targets).sum()
        total = best - log_likelihoods(self.kind, targets, mean).sum()
        rest = best - log_likelihoods(self.kind, targets, left).sum()
        return float(1.0 - rest / total) if total > 0 else float(rest <= 0)

    def _sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        return {**sizes, "C": len(self.classes_) if self.kind == "classes" else 0}

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        super()._check_fitted(sizes)
        if self.kind == "classes" and not self.classes_.ndim == 1 < len(self.classes_):
            raise ValueError(f"classes_ has shape {self.classes_.shape}")
        if not _are_topics(self.background, sizes["K"]):
            raise ValueError("background of a response is not a list of topics")


def _are_topics(numbers: Any, n_topics: int) -> bool:
    """Tell whether these are numbers of topics, and not of all of them."""
    if not isinstance(numbers, list | tuple | np.ndarray) or np.ndim(numbers) != 1:
        return False
    whole = all(isinstance(k, int | np.integer) for k in numbers)
    return whole and {*numbers} < {*range(n_topics)}


def assignments_of(counts: Array, context: Context) -> Matrix:
    """Return z̄, even where a document has no words."""
    lengths = np.asarray(context.lengths, dtype=np.float64)[:, None]
    shares = counts / np.maximum(lengths, 1e-30)
    return np.where(lengths > 0, shares, 1.0 / counts.shape[1]).astype(np.float64)


def _numbers(data: Any, n_documents: int) -> Matrix:
    """Return responses as floats, NaN where there is none."""
    try:
        given: Any = np.ma.asarray(data)
        if given.dtype.kind in "cMm":  # parts and units would be dropped
            raise TypeError(f"they are {given.dtype}")  # noqa: TRY301
        values = given.astype(np.float64).filled(np.nan)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"response has values that are not numbers ({error}). Give numbers, or "
            "choose kind='classes'."
        ) from error
    if values.ndim == 2 and values.shape[1] == 1:
        values = column_or_1d(values, warn=True)
    if values.shape != (n_documents,):
        raise DataError(
            f"response has shape {values.shape} for {n_documents} documents "
            "(inconsistent numbers of samples). Give one number per document, NaN "
            "where it is not known."
        )
    if np.isinf(values).any():
        first = int(np.argmax(np.isinf(values)))
        raise DataError(
            f"response is infinite in document {first} (NaN means unknown). Give "
            "finite numbers."
        )
    return values


def _check_varied(values: Matrix, n_documents: int) -> None:
    """Refuse responses that are the same for all documents."""
    if not len(values):
        raise DataError(
            f"response is NaN, None or -1 in all {n_documents} documents, so there is "
            "nothing to learn from. Give the responses of some documents, or use LDA."
        )
    if (values == values[0]).all():
        raise DataError(
            f"response is {values[0]:g} in all documents that have one "
            f"(n_samples={len(values)}): there is nothing to predict. Give responses "
            "that differ, or use LDA."
        )


def _saturated(kind: Kind, targets: Matrix) -> Matrix:
    """Return the largest log-likelihood of each row that any prediction can have."""
    if kind != "counts":
        return np.zeros(len(targets))
    logs = np.log(np.where(targets > 0, targets, 1.0))
    return np.asarray((targets * logs - targets).sum(axis=1))
