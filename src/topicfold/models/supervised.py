# SPDX-License-Identifier: BSD-3-Clause
"""Supervised LDA: topics that predict a number, a class or a count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import ClassifierTags, RegressorTags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from topicfold.core import saved
from topicfold.core.counts import already_warned, document_frequencies
from topicfold.core.labels import require_labels
from topicfold.core.parameters import warn_caller
from topicfold.core.typing import Array
from topicfold.evidence.response import (
    RIDGE,
    WORD_SHARE,
    Hidden,
    Kind,
    Response,
    ResponseWords,
    choose,
    learn_words,
)
from topicfold.exceptions import DataError
from topicfold.learn import Callback
from topicfold.learn.loop import part_of_more
from topicfold.metrics.words import top_words
from topicfold.models.base import arrives_in_blocks
from topicfold.models.lda import ALPHA_MOST, ALPHA_SUM, LDA, SidedLDA
from topicfold.models.sided import of_side, scored
from topicfold.parts.sides import Side

# Weights that `fit` tries, in mean lengths of a document, the passes and the share of
# the responses that each trial gets (benchmarks/results/sides_response.md).
WEIGHTS = 0.0, 0.1, 0.3, 1.0, 3.0
USUAL_WEIGHT = 0.3
TRIAL_PASSES = 30
TRIAL_SHARE = 0.2
# Passes of LDA that topics start from: they stay as coherent as LDA's.
START_PASSES = 20
# Words in so many documents are in all of them; a topic is theirs if they have most of
# it. Its prior is so many times LDA's: topics that predict would take its words.
IN_ALL, MOST, COMMON_PRIOR = 0.9, 0.5, 3.0
# A trial is repeated with other hidden responses until there are so many, or often.
ENOUGH_HIDDEN, MOST_TRIALS = 200, 5


def _of_classes(model: Any) -> bool:
    if model.kind != "classes":
        raise AttributeError(f"kind={model.kind!r} has no classes")
    return True


class TopicEffect(NamedTuple):
    """The effect of a topic on the response.

    Attributes
    ----------
    topic : int
        The topic.
    label : object
        The class, None for numbers and counts.
    coefficient, std_error : float
        Predicted response of a document that has only this topic, and its standard
        error, which is too small for an interval, because the topics have learned from
        the responses.
    share : float
        Share of the topic in the training words.
    words : tuple of str
        Its most probable words.
    """

    topic: int
    label: Any
    coefficient: float
    std_error: float
    share: float
    words: tuple[str, ...]


class Start(NamedTuple):
    """Start of the topics, from a short fit of LDA.

    Attributes
    ----------
    topics : ndarray of shape (n_topics, n_terms)
    alpha : ndarray of shape (n_topics,)
        Priors of documents.
    background : list of int
        Numbers of the topics of words that all documents use.
    """

    topics: Array
    alpha: NDArray[np.float64]
    background: list[int]


class SupervisedLDA(SidedLDA):
    """LDA whose topics predict a response: a number, a class or a count.

    The response of a document is a generalised linear model of its topics, with one
    coefficient per topic, and pulls the topics of documents with a response
    (:class:`~topicfold.evidence.Response`). The topics also learn from documents
    without a response; responses of new documents are predicted from their words alone.

    Parameters
    ----------
    weight : float or None, default=None
        w, how many words a response counts for. None chooses among 0, 0.1, 0.3, 1 and 3
        times the mean length of a document, by how well fits of 30 passes to the others
        predict a fifth of the responses, or several fifths if there are few. It takes
        0.3 unless another weight is better by two standard errors, and 0, with a
        warning, if none predicts better than the mean response. 0 is LDA followed by a
        regression; 1 is the original model.
    words : bool, default=False
        Whether words are used for prediction, too. Three tenths of a prediction then
        come from the topics and the rest from a linear model on tf-idf. Only for
        numbers and classes, with counts in memory. For numbers, hidden responses choose
        the share of the topics (from five tenths to none) and the penalty of the linear
        model. The topics do not change.

    Attributes
    ----------
    coef_ : ndarray of shape (n_components,), or (n_classes, n_components)
        Predicted response of a document that has only one topic: the number, the log
        rate of the count, or the score of the class. Mixtures sum to one, so there is
        no intercept.
    std_errors_ : ndarray of the shape of `coef_`
        Standard errors that treat the topics as known. Do not use them for intervals or
        tests: the topics have learned from the responses, so the errors are too small.
        Those of a class also treat the other classes' coefficients as known. For valid
        intervals, ask how a covariate changes the shares of topics:
        :func:`topicfold.effects.estimate_effect`.
    classes_ : ndarray of shape (n_classes,)
        The classes, with ``kind="classes"``.
    noise_ : float
        Standard deviation of numbers around their predictions, from documents whose
        responses a fit of 30 passes did not see; ``kind="real"`` only.
    topic_share_ : float
        With ``words=True``, the share of the topics in the variance of the predictions
        for the training documents; the rest is due to words.
    word_share_ : float
        With ``words=True``, the share of the linear model on tf-idf in a prediction.
    weight_ : float
        w in use.
    weight_scores_ : list of (float, float)
        The weights that were tried, each with the share of the held-out responses'
        deviance that was explained (for numbers R²). Empty if `weight` was given, or if
        hardly any response is known; then the weight is the mean length of a document.
    doc_topics_ : ndarray of shape (n_documents, n_components)
        Mixtures of the training documents, pulled by their responses; ``transform(X)``
        returns mixtures without this pull.
    objective_history_ : list of float
        Log-likelihood of the words plus w times that of the responses. It may fall a
        little.

    See Also
    --------
    MedLDA : topics learned together with a maximum-margin classifier.

    References
    ----------
    D. Blei, J. McAuliffe (2007). Supervised topic models. NIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import SupervisedLDA
    >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]])
    >>> stars = [1.0, 1.2, 5.0, np.nan]
    >>> model = SupervisedLDA(2, weight=10, random_state=0).fit(X, stars)
    >>> model.predict([[1, 1, 0, 0], [0, 0, 1, 1]]).round(1)
    array([1.4, 4.5])
    """

    _part = Response
    kind: Kind
    weight: float | None
    ridge: float
    words: bool

    def __init__(
        self,
        n_components: int = 10,
        *,
        kind: Kind = "real",
        weight: float | None = None,
        ridge: float = 0.1,
        words: bool = False,
        doc_topic_prior: Any = None,
        topic_word_prior: float | None = None,
        learn_priors: bool | None = None,
        sides: Sequence[Side] | None = None,
        init: Any = None,
        max_iter: int = 200,
        tol: float | None = None,
        doc_tol: float = 1e-4,
        random_state: Any = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        self._store_parameters(locals())

    def fit(
        self, X: Any, y: Any = None, *, response: Any = None, **side_data: Any
    ) -> Self:
        """Learn topics, and how they predict the response.

        Parameters
        ----------
        y : array-like of shape (n_documents,)
            The response of each document. NaN or None where it is not known, for
            classes also -1 or "", for counts also -1.
        response : as `y`, optional
            The same as `y`, by the keyword of the side.
        """
        if self.words and (self.kind == "counts" or arrives_in_blocks(X)):
            raise DataError(
                "words=True is for numbers and classes with counts in memory. Leave it "
                "out, or choose kind='real'."
            )
        y = response if y is None else y
        advice = "Give a response per document, or use LDA, which needs none."
        require_labels(y, type(self).__name__, advice)
        super().fit(X, None, response=y, **side_data)
        return self

    def _fit_with_sides(self, counts: Any, side_data: Mapping[str, Any]) -> None:
        self.weight_scores_: list[tuple[float, float]] = []
        # Sides may settle the number of topics later than this.
        known = self.init is None and self.weight != 0 and self._asked is not None
        start = lda_start(self, counts, int(self._asked or 0)) if known else None
        self._start = start
        if start is not None:
            self.sides_[0].set_params(background=start.background)
        if self.weight is None:
            options = start, USUAL_WEIGHT
            trial = choose_weight(self, counts, side_data, WEIGHTS, *options)
            self._say_if_useless()
        elif self.kind == "real":  # for the noise alone
            weight = float(self.weight)
            trial = tried(self, counts, side_data, weight, start)
        else:
            trial = None
        super()._fit_with_sides(counts, side_data)
        if trial is not None and self.kind == "real":
            self._side(Response).take_noise(trial)
        if self.words:
            self._learn_words(counts, side_data, getattr(trial, "_hidden", None))

    def _learn_words(
        self, counts: Any, side_data: Mapping[str, Any], hidden: Hidden | None
    ) -> None:
        """Fit the linear model of words, and say how much of a prediction is whose."""
        side = self._side(Response)
        data = side.check(side_data["response"], self._new_context(counts))
        classes = self.kind == "classes"
        penalty, self.word_share_ = RIDGE, WORD_SHARE
        if not classes:
            penalty, self.word_share_ = choose(counts, data.targets, data.known, hidden)
        known = data.known
        found = learn_words(counts[known], data.targets[known], classes, penalty)
        scale = np.array([1.0 if classes else side.scale_])
        self.word_idf_ = found.idf
        self.word_coef_ = found.coef * scale
        self.word_intercept_ = found.intercept * scale + side.mean_
        theta = self._sided_mixtures(counts, self._of_new_documents(side_data))
        parts = [side.predict_means(theta), self._words().means(counts, classes)]
        shares = 1 - self.word_share_, self.word_share_
        topics, words = (
            share * (part - part.mean(axis=0)).ravel()
            for share, part in zip(shares, parts, strict=True)
        )
        total = float(((topics + words) ** 2).sum())
        self.topic_share_ = float(topics @ (topics + words)) / max(total, 1e-300)

    def _words(self) -> ResponseWords:
        return ResponseWords(self.word_idf_, self.word_coef_, self.word_intercept_)

    def _means(self, X: Any, side_data: Mapping[str, Any]) -> NDArray[np.float64]:
        """Return what is expected of documents: numbers, counts, or probabilities."""
        found = self._side(Response).predict_means(self.transform(X, **side_data))
        if not hasattr(self, "word_coef_"):
            return found
        with already_warned():
            counts = self._counts(X, allow_empty=True)
        words = self._words().means(counts, self.kind == "classes")
        return np.asarray((1 - self.word_share_) * found + self.word_share_ * words)

    _saved = saved.forms(
        word_idf_=saved.numbers("V"),
        word_coef_=saved.numbers("OV"),
        word_intercept_=saved.numbers("O"),
        word_share_=saved.number(0, 1),
    )

    def _sizes(self) -> dict[str, int]:
        sizes = super()._sizes()
        if hasattr(self, "word_coef_"):
            sizes["O"] = len(self.classes_) if self.kind == "classes" else 1
        return sizes

    def _start_of(self, counts: Any, joined: Any, groups: Any, init: Any) -> Array:
        """Return where topics start: at those of a short LDA, unless one is given."""
        start, self._start = self._start, None
        if start is None and self.init is None and self.sides_[0].weight != 0:
            start = lda_start(self, counts, self._size)
        init = init if start is None else start.topics
        return super()._start_of(counts, joined, groups, init)

    _start: Start | None = None

    def _default_priors(self) -> tuple[Any, float]:
        alpha, eta = super()._default_priors()
        return alpha if self._start is None else self._start.alpha, eta

    def _say_if_useless(self) -> None:
        """Warn if no weight predicts hidden responses better than their mean does."""
        if not self.weight_scores_ or max(s for _, s in self.weight_scores_) > 0:
            return
        self.sides_[0].set_params(weight=0.0)
        warn_caller(
            f"{type(self).__name__} found no topics that predict hidden responses "
            "better than their mean does. Its topics are those of LDA (weight_ is 0); "
            "do not rely on its predictions."
        )

    coef_ = of_side(Response, "coef_", "Coefficients of the topics.")
    std_errors_ = of_side(Response, "std_errors_", "Standard errors of coefficients.")
    weight_ = of_side(Response, "weight_", "The weight of the responses in use.")
    noise_ = of_side(Response, "noise_", "Standard deviation of numbers.")

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes."""
        return self._side(Response).classes_

    @classes_.setter
    def classes_(self, names: NDArray[Any]) -> None:
        self._side(Response).classes_ = np.asarray(names)

    def predict(self, X: Any, **side_data: Any) -> NDArray[Any]:
        """Return the number, class or expected count of each document."""
        return self._side(Response).chosen(self._means(X, side_data))

    @available_if(_of_classes)
    def predict_proba(self, X: Any, **side_data: Any) -> NDArray[np.float64]:
        """Return the probabilities of the classes, ``kind="classes"`` only.

        Parameters
        ----------
        **side_data
            What else is known of these documents, as in `transform`.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
            Columns in the order of `classes_`.
        """
        return self._means(X, side_data)

    def score(self, X: Any, y: Any = None, **side_data: Any) -> float:
        """Return R² of numbers, the accuracy of classes, or D² of counts.

        D² is the share of the Poisson deviance that is explained.

        Parameters
        ----------
        y : array-like of shape (n_documents,)
            Their responses, also as `response`; unknown ones are left out.
        """
        wanted = scored(y, "response", side_data)
        return self._side(Response).score_of(self._means(X, side_data), wanted)

    def topic_effects(
        self, vocabulary: Sequence[str] | None = None, *, n_words: int = 8
    ) -> list[TopicEffect]:
        """Return the effect of each topic on the response, largest first.

        Parameters
        ----------
        vocabulary : sequence of str or None, default=None
            Words of the columns; default: the feature names seen in `fit`.
        n_words : int, default=8
            Words to show of a topic.

        Returns
        -------
        list of TopicEffect
            For classes, one after the other.
        """
        side = self._side(Response)
        words = top_words(self.components_, self._vocabulary(vocabulary), n_words)
        shares = self.topic_totals_ / self.topic_totals_.sum()
        labels = list(side.classes_) if side.kind == "classes" else [None]
        found = []
        rows = zip(
            labels, *map(np.atleast_2d, (side.coef_, side.std_errors_)), strict=True
        )
        for label, coef, errors in rows:
            for k in np.argsort(-coef, kind="stable").tolist():
                numbers = float(coef[k]), float(errors[k]), float(shares[k])
                found.append(TopicEffect(k, label, *numbers, tuple(words[k])))
        return found

    def word_effects(
        self,
        vocabulary: Sequence[str] | None = None,
        *,
        label: Any = None,
        n_words: int = 10,
    ) -> list[tuple[str, float]]:
        """Return the words that raise the response most and those that lower it most.

        The effect of a word is the mean coefficient of its topics, ``Σ_k p(k|w) η_k``,
        less that of all words. Words are ranked by effect times the square root of
        their frequency: rare words need a large effect.

        Parameters
        ----------
        vocabulary : sequence of str or None, default=None
            Words of the columns; default: the feature names seen in `fit`.
        label : object, optional
            The class to explain, needed for classes.
        n_words : int, default=10
            Words to return of each kind.

        Returns
        -------
        list of (str, float)
            Words and effects: those that raise it, strongest first, then those that
            lower it, strongest last.
        """
        names = self._vocabulary(vocabulary)
        coef = self._row(self.coef_, label)
        joint = self.components_.astype(np.float64) * self.topic_totals_[:, None]
        totals = joint.sum(axis=0)
        mean = float(joint.sum(axis=1) @ coef) / totals.sum()
        effects = coef @ joint / np.maximum(totals, 1e-300) - mean
        return _strongest(names, effects, effects * np.sqrt(totals), n_words)

    def own_word_effects(
        self,
        vocabulary: Sequence[str] | None = None,
        *,
        label: Any = None,
        n_words: int = 10,
    ) -> list[tuple[str, float]]:
        """Return the words with the largest coefficients of their own.

        For a model with ``words=True``: words that raise and that lower the response,
        by the coefficients of their tf-idf weights. They make up seven tenths of a
        prediction.

        Parameters
        ----------
        vocabulary, label, n_words
            As in `word_effects`.
        """
        names = self._vocabulary(vocabulary)
        if not hasattr(self, "word_coef_"):
            raise DataError("single words have coefficients only with words=True.")
        rows = self.word_coef_
        coef = self._row(rows if self.kind == "classes" else rows[0], label)
        return _strongest(names, coef, coef, n_words)

    def _row(self, coef: NDArray[Any], label: Any) -> NDArray[Any]:
        """Return the coefficients of a class, or those of a number."""
        if self._side(Response).kind != "classes":
            return coef
        places = np.flatnonzero(self.classes_ == label)
        if not len(places):
            raise DataError(
                f"label={label!r} is not a class of the model. Choose one of: "
                f"{', '.join(map(repr, self.classes_.tolist()[:10]))}."
            )
        return np.asarray(coef[places[0]])

    def _vocabulary(self, vocabulary: Sequence[str] | None) -> list[str]:
        check_is_fitted(self, "components_")
        return list(self.topic_data(vocabulary).vocabulary)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        # Topics see proportions only: points in the plane have one dimension left.
        if self.kind == "classes":
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(poor_score=True)
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags(poor_score=True)
        return tags


def _strongest(
    names: list[str], effects: NDArray[Any], ranks: NDArray[Any], n_words: int
) -> list[tuple[str, float]]:
    """Return words of the highest and of the lowest ranks with their effects."""
    order = np.argsort(-ranks, kind="stable")
    n_words = min(n_words, len(order) // 2)
    chosen = [*order[:n_words], *order[len(order) - n_words :]]
    return [(names[w], float(effects[w])) for w in chosen]


def choose_weight(
    model: Any,
    counts: Any,
    side_data: Mapping[str, Any],
    shares: Sequence[float],
    start: Start | None = None,
    usual: float | None = None,
) -> Side | None:
    """Give the model's own side the usual weight unless another is clearly better.

    Without a `usual` one it is the smallest that predicts well enough.

    `shares` are the weights in mean lengths of a document; each trial holds out a part
    and leaves its losses, unless next to nothing is known. Returns the side of the
    chosen trial.
    """
    length = _mean_length(model, counts, side_data)
    found = {}
    for weight in (share * length for share in shares):
        side = tried(model, counts, side_data, weight, start)
        if hasattr(side, "held_out_losses_"):
            found[weight] = side
            model.weight_scores_.append((weight, side.held_out_score_))
    if not found:
        model.sides_[0].set_params(weight=None)
        return None
    losses = {w: side.held_out_losses_ for w, side in found.items()}
    if usual is None:
        best = smallest_good(losses)
    else:
        best = usual_unless_worse(losses, usual * length)
    model.sides_[0].set_params(weight=best)
    return found[best]


def lda_start(model: Any, counts: Any, n_topics: int) -> Start:
    """Return the topics in which a short fit of LDA with a model's options ends."""
    options = _quiet_options(model) | {"n_components": n_topics, "sides": None}
    with part_of_more(), already_warned():
        fitted = LDA(**options | {"max_iter": START_PASSES}).fit(counts)
    used = document_frequencies(counts) >= IN_ALL * counts.shape[0]
    common = fitted.components_[:, used].sum(axis=1) > MOST
    background = np.flatnonzero(common).tolist() if (~common).sum() > 1 else []
    alpha = np.full(n_topics, min(ALPHA_SUM / n_topics, ALPHA_MOST))
    alpha[background] = COMMON_PRIOR * fitted.doc_topic_prior_[background]
    return Start(fitted.components_, alpha, background)


def _quiet_options(model: Any) -> dict[str, Any]:
    """Return the parameters of LDA that a model has, for a silent fit."""
    quiet = {"tol": 0.0, "callbacks": None, "verbose": False}
    return model._shared_with(LDA) | quiet


def tried(
    model: Any,
    counts: Any,
    side_data: Mapping[str, Any],
    weight: float,
    start: Start | None = None,
) -> Any:
    """Return the model's own side after short fits for which a part of it was hidden.

    Its losses and score are those of all fits.
    """
    seed = check_random_state(model.random_state).randint(2**31 - 1 - MOST_TRIALS)
    # As many passes whatever `max_iter`, so that Resume may go on with another.
    options = _quiet_options(model) | {"max_iter": TRIAL_PASSES}
    own, *others = model._all_sides()
    options["init"] = model.init
    if start is not None:
        options["init"] = start.topics
        own.set_params(background=start.background)
        if model.doc_topic_prior is None:
            options["doc_topic_prior"] = start.alpha
    found: list[Any] = []
    while len(found) < MOST_TRIALS:
        side = clone(own).set_params(weight=weight, held_out=TRIAL_SHARE)
        options |= {"sides": [side, *others], "random_state": seed + len(found)}
        with part_of_more():
            found.append(LDA(**options).fit(counts, **side_data).sides_[0])
        if not hasattr(found[0], "held_out_losses_"):
            return found[0]
        if sum(len(side.held_out_losses_) for side in found) >= ENOUGH_HIDDEN:
            break
    found[0].held_out_losses_ = np.concatenate([s.held_out_losses_ for s in found])
    found[0].held_out_score_ = float(np.mean([s.held_out_score_ for s in found]))
    return found[0]


def _mean_length(model: Any, counts: Any, side_data: Mapping[str, Any]) -> float:
    """Return the mean number of tokens of a document, other counts included."""
    total = float(counts.sum())
    context = model._side_context(counts, n_topics=0)
    for side in map(clone, model._all_sides()):
        given = side_data.get(side.keyword)
        if side.hook == "counts" and given is not None:
            own = side.counts(side.check(given, context), context)
            total += float(own.sum())
    return total / counts.shape[0]


def usual_unless_worse(
    losses: dict[float, NDArray[np.float64]], usual: float, errors: float = 2.0
) -> float:
    """Return the usual weight, or the best if that is better by some standard errors.

    With a few hundred documents, losses cannot distinguish weights that matter to
    topics.
    """
    best = min(losses, key=lambda weight: (losses[weight].mean(), weight))
    worse = losses[usual] - losses[best]
    clear = worse.mean() > errors * worse.std() / np.sqrt(max(len(worse), 1))
    return best if clear else usual


def smallest_good(losses: dict[float, NDArray[np.float64]]) -> float:
    """Return the least weight that is within a standard error of the best."""
    best = min(losses, key=lambda weight: (losses[weight].mean(), weight))
    for weight in sorted(losses):
        worse = losses[weight] - losses[best]
        if worse.mean() <= worse.std() / np.sqrt(max(len(worse), 1)):
            return weight
    return best
