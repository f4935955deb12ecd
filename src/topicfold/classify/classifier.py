# SPDX-License-Identifier: BSD-3-Clause
"""A classifier on topics that shows which topics and words led to a class."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC
from sklearn.utils._param_validation import Options
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from topicfold.classify.explaining import (
    Explanation,
    TopicReason,
    WordReason,
    explained,
)
from topicfold.classify.few_labels import (
    LITTLE_TRUST,
    PLAIN,
    RECIPES,
    CrossFit,
    Recipe,
    Roots,
    Rows,
    Views,
    WordRule,
    best_temperature,
    choose_recipe,
    decisions,
    default_topics,
    most_telling,
    probabilities,
    rated,
    smoothed,
    teach,
    weighted_share,
    wilson_interval,
)
from topicfold.classify.linear_rule import LinearRule
from topicfold.core import saved
from topicfold.core.counts import already_warned
from topicfold.core.labels import (
    check_two_classes,
    class_numbers,
    require_labels,
    share_right,
)
from topicfold.core.parameters import SHARE_BELOW_ONE, DeclaredParameters, whole
from topicfold.core.threads import one_blas_thread
from topicfold.core.typing import Array
from topicfold.exceptions import DataError, DataWarning
from topicfold.graph.build import NeighborGraph, graph_trust
from topicfold.graph.embedding import check_embeddings
from topicfold.models.base import (
    TopicModel,
    attribute_of,
    check_documents,
    save_fitted,
)
from topicfold.models.lda import LDA
from topicfold.models.lsi import LSI
from topicfold.models.manifold import GraphPLSA
from topicfold.models.side_by_side import SideBySide
from topicfold.models.two_phase import TwoPhase, split_documents
from topicfold.topic_data import TopicData

__all__ = ["Accuracy", "Explanation", "TopicReason", "WordReason"]

# Enough documents to calibrate with, where each part takes another fit of the topics.
ENOUGH = 200
LATENT_DIRECTIONS = 100
# Labels that chose a recipe too tell half as much of its accuracy: with this, intervals
# hold the truth as often as they say (benchmarks/results/few_labels_interval.md).
CHOICE = 2.0


@dataclass(frozen=True)
class Accuracy:
    """The share of documents that were classified correctly without their labels.

    Attributes
    ----------
    share : float
        The share; classes are weighted by `class_shares`.
    low, high : float
        Its 95 % interval, by Wilson, for the effective number of weighted documents;
        for half as many if the same labels chose a recipe.
    n_documents : int
        How many were classified.
    """

    share: float
    low: float
    high: float
    n_documents: int


def _has_decision_function(self: Any) -> bool:
    classifier = getattr(self, "classifier_", self.classifier)
    return classifier is None or hasattr(classifier, "decision_function")


def _two_scales(values: Any, sizes: Mapping[str, int]) -> str:
    """Say whether a value is not the scales of topics and directions: a form."""
    fits = isinstance(values, list) and len(values) == 2
    return "" if fits and all(0 <= v < 1e6 for v in values) else "is not two scales"


class TopicClassifier(DeclaredParameters, ClassifierMixin, BaseEstimator):
    """Classify documents by their topics, and explain why.

    Fits a topic model (with the labels, if it uses them) and a linear rule on the
    square roots of the mixtures, whose distances are those of distributions
    (Hellinger). The topics also learn from documents without a label. With few labels
    the topics are those of three starts of a graph model. Latent directions of the
    words (LSA) are added with a weight that the labels choose, the rule learns once
    more from its most certain documents, and naive Bayes on the words learns from all
    of them.

    Parameters
    ----------
    model : TopicModel or None, default=None
        The topics. None is `default_topics`: with few labels `SideBySide` of a graph
        model, which learns from all documents alike (of `LDA`, if neighbours have few
        words in common and the labels prefer it), with many labels the two-phase
        framework.
    classifier : classifier or None, default=None
        Any classifier with `fit` and `predict`; `explain` needs a linear one. None is
        logistic regression for `SideBySide` topics, otherwise ``LinearSVC()``.
    unknown_label : object, default=None
        The label of documents whose class is not known. None: -1 and ""; None and
        NaN mean unknown in any case.
    abstain : float, default=0.0
        Minimum probability of a class for `predict` to name it; below it the document's
        class is unknown (`unknown_label`, or "" or -1).
    cv : int, default=5
        Parts into which the labelled documents are split, to choose features, to
        calibrate probabilities and to measure the accuracy; 0 does none of this.
    class_shares : mapping, "labels" or None, default=None
        How frequent the classes are, for `accuracy_`: a share per class, "labels" for
        their shares among the labels, or None for those found among all training
        documents. Labels are often drawn evenly from classes of unequal size.
    random_state : int, default=0
        Seed of the topics, if `model` is None.
    n_jobs : int or None, default=None
        Threads, if `model` is None; None is 1, -1 all. No effect on results.

    Attributes
    ----------
    model_, classifier_ :
        What was fitted.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    transduction_ : ndarray of shape (n_documents,)
        The class of every training document: its label, or the predicted class.
    accuracy_ : Accuracy or None
        Measured on labelled documents without their labels, with classes weighted by
        `class_shares`; None if there are too few.
    choice_ : str
        The features and how the rule was trained, in words.
    temperature_ : float
        Divisor that makes decision values log-probabilities.
    lsi_ : LSI or None
        Latent directions, used in addition to the topics.
    neighbor_shares_ : ndarray of shape (n_documents, n_classes) or None
        Class probabilities of the training documents; they make up half of the
        prediction for new documents near them.
    word_weights_ : ndarray of shape (n_classes, n_terms) or None
        Weights of words for each class, by naive Bayes on all documents.
    word_intercepts_ : ndarray of shape (n_classes,) or None
        Intercepts of the classes, by naive Bayes.

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import FSTM, TopicClassifier, TwoPhase
    >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]])
    >>> model = TopicClassifier(TwoPhase(FSTM(2, random_state=0)), cv=0)
    >>> _ = model.fit(X, ["sea", "sea", "sky", "sky"])
    >>> model.predict([[1, 1, 0, 0]])
    array(['sea'], dtype='<U3')
    >>> [reason.word for reason in model.explain([0, 0, 1, 3]).words]
    ['w3', 'w2']
    """

    _unsaved_parameters = ("classifier",)
    model_: Any
    classifier_: Any
    classes_: NDArray[Any]
    lsi_: Any = None
    neighbor_shares_: Array | None = None
    word_weights_: Array | None = None
    word_intercepts_: Array | None = None
    temperature_: float = 1.0
    n_checked_: int = 0
    n_embeddings_: int = 0
    _training: tuple[Array | Rows, NDArray[np.int64], Array]
    model: Any
    classifier: Any
    unknown_label: Any
    abstain: Annotated[float, SHARE_BELOW_ONE]
    cv: Annotated[int, Options(Integral, {0}), whole(2)]
    class_shares: Any
    random_state: int
    n_jobs: Annotated[int | None, Integral]

    def __init__(
        self,
        model: Any = None,
        classifier: Any = None,
        *,
        unknown_label: Any = None,
        abstain: float = 0.0,
        cv: int = 5,
        class_shares: Any = None,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self._store_parameters(locals())

    def fit(self, X: Any, y: Any, *, embeddings: Any = None) -> Self:
        """Fit the topic model, then the classifier.

        There is no `sample_weight`: a document's weight would mean one thing to the
        topics (its length) and another to the classifier (its loss).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Counts or other non-negative weights.
        y : array-like of shape (n_documents,)
            One label per document.
        embeddings : array-like of shape (n_documents, n_dimensions) or None
            Vectors of the documents, as additional features of the classifier.
        """
        self._fit(X, y, embeddings, self.cv, ENOUGH)
        return self

    def fit_cross_predict(
        self, X: Any, y: Any, *, embeddings: Any = None, cv: int = 5, enough: int = 1000
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Fit, and predict labelled documents by classifiers without their labels.

        These predictions show how well new documents will be classified. The training
        documents' own mixtures do not, if the topics have learned from the labels.

        Parameters
        ----------
        cv : int, default=5
            Parts into which the labelled documents are split, at least 2. Topics that
            use labels are fitted once more for each.
        enough : int, default=1000
            Stop after the part with which this many documents are predicted.

        Returns
        -------
        rows : ndarray of int
            The labelled documents that were predicted.
        labels : ndarray
            Their predicted classes.
        """
        found = self._fit(X, y, embeddings, cv, enough)
        if found is None:
            n_labelled = int((self._training[1] >= 0).sum())
            raise DataError(
                f"{n_labelled} labelled documents are too few for cross-validation: in "
                "a part of them only one class is left. Label more."
            )
        return found.rows, self.classes_[found.values.argmax(axis=1)]

    def _fit(
        self, X: Any, y: Any, embeddings: Any, cv: int, enough: int
    ) -> CrossFit | None:
        """Fit everything; return what was found about labels that were not seen."""
        X, codes = self._read(X, y)
        given = self._embedded(embeddings, X.shape[0], reset=True)
        features: Any
        with already_warned(DataWarning):  # inner models see numbers of classes
            if self._few:
                with one_blas_thread():  # as fast, and others do not wait busily
                    features, values, found = self._fit_few(X, codes, given, cv)
            else:
                features, found = self._fit_many(X, codes, given, cv, enough)
                values = self._values(self.classifier_, features)
        self.temperature_, self.n_checked_ = 1.0, 0
        if found is not None:
            self._store_accuracy(found, codes, values)
            if _has_decision_function(self):
                self.temperature_ = best_temperature(found.values, found.codes)
        known = codes >= 0
        self.transduction_ = self._named(features, values)
        self.transduction_[known] = self.classes_[codes[known]]
        self._training = features, codes, values
        return found

    def _store_accuracy(
        self, found: CrossFit, codes: NDArray[np.int64], values: Array
    ) -> None:
        """Keep the share of hidden labels found, by classes as frequent as they are."""
        own = np.where(codes >= 0, codes, values.argmax(axis=1))
        shares = np.bincount(own, minlength=len(self.classes_)).astype(np.float64)
        if isinstance(self.class_shares, str):
            own = codes[codes >= 0]
            shares = np.bincount(own, minlength=len(shares)).astype(np.float64)
        elif self.class_shares is not None:
            told = {_plain(name): s for name, s in self.class_shares.items()}
            given = [told[name] for name in self.classes_.tolist()]
            shares = np.asarray(given, dtype=np.float64)
        self.n_checked_ = len(found.rows)
        self.share_right_, self.n_effective_ = weighted_share(
            found.right, found.codes, shares
        )
        if self._few:
            self.n_effective_ /= CHOICE

    @property
    def _few(self) -> bool:
        """Whether the labels choose the features and teach the rule."""
        return self.classifier is None and isinstance(self.model_, SideBySide)

    def _fit_few(
        self, X: sparse.csr_matrix, codes: NDArray[np.int64], given: Any, cv: int
    ) -> tuple[Rows, Array, CrossFit | None]:
        """Fit topics and directions of all documents; let the labels choose.

        The tables of all documents are float32; directions come first, as finding them
        takes much memory for a while.
        """
        size = min(LATENT_DIRECTIONS, min(X.shape) - 1)
        if size > 0:
            lsi = LSI(size, weighting="tfidf", tol=1e-2, random_state=0)
            with warnings.catch_warnings():  # nobody asked for so many dimensions
                warnings.simplefilter("ignore", np.exceptions.RankWarning)
                self.lsi_ = lsi.set_params(n_jobs=self._threads()).fit(_unit_logs(X))
        directions, graph = self._directions(X, given), None
        if directions is not None:
            directions = directions.astype(np.float32)
        by_vectors = given is not None and self.model_.model._may_join_by_embeddings
        if by_vectors and self.model is None:
            self.model_.model.set_params(graph=NeighborGraph(of="both"))
        fitted = self.model_.fit(X, codes, embeddings=given if by_vectors else None)
        starts = fitted.models_
        roots, first = Roots([start.doc_topics_ for start in starts]), starts[0]
        if isinstance(first, GraphPLSA):
            graph = normalize(first.graph_, norm="l1")
        words = None if self.lsi_ is None else self._words(X)
        views = Views(roots, directions, words, graph)
        recipes = RECIPES if directions is not None else RECIPES[:1]
        recipe, found = recipes[0], None
        plain = self._plain_topics(X) if cv and len(recipes) > 1 else None
        if plain is not None:
            recipes = (*RECIPES[:-1], PLAIN)
            alone = plain.fit(X).models_
            views = views._replace(plain=Roots([start.doc_topics_ for start in alone]))
        if cv:
            parts = split_documents(codes, cv)
            recipe, found = choose_recipe(recipes, views, codes, parts)
        self._set_recipe(recipe)
        if recipe.plain:
            self.model_ = plain
        features, views = recipe.of(views)
        rule = teach(features, codes, views.graph)
        n_classes = len(self.classes_)
        values, shares, by_words = rated(rule, features, codes, n_classes, views)
        if views.graph is not None and self.model_.sees_neighbors:
            self.neighbor_shares_ = shares
        if by_words is not None:
            self.word_weights_, self.word_intercepts_ = by_words
        rule.classes_ = self.classes_[rule.classes_]
        self.classifier_ = rule
        return features, values, found

    def _plain_topics(self, X: sparse.csr_matrix) -> SideBySide | None:
        """Return topics of the words alone where neighbours agree little in theirs."""
        first = self.model_.models_[0]
        if self.model is not None or graph_trust(X, first.graph_) >= LITTLE_TRUST:
            return None
        names = ("n_components", "random_state", "n_jobs")
        return SideBySide(LDA(**{name: getattr(first, name) for name in names}))

    def _fit_many(
        self,
        X: sparse.csr_matrix,
        codes: NDArray[np.int64],
        given: Any,
        cv: int,
        enough: int,
    ) -> tuple[Array, CrossFit | None]:
        """Fit the topics that were asked for, and a classifier on their mixtures."""
        self._set_recipe(Recipe("topics", 1.0, 0.0 if given is None else 1.0, False))
        theta, hidden_parts = self._fit_topics(X, codes, cv)
        features = self._recipe.features(np.sqrt(theta), given)
        self.classifier_ = self._rule(features, codes)
        rows, values = [], []
        for hidden, seen, new in hidden_parts:
            left, right = codes[~hidden], np.flatnonzero(hidden)
            if len(np.unique(left[left >= 0])) < 2:
                continue
            beside = (None, None) if given is None else (given[~hidden], given[hidden])
            rule = self._rule(self._recipe.features(np.sqrt(seen), beside[0]), left)
            found = self._values(rule, self._recipe.features(np.sqrt(new), beside[1]))
            told = np.isin(codes[right], left)
            rows.append(right[told])
            values.append(found[told])
            if sum(map(len, rows)) >= enough:
                break
        if not sum(map(len, rows)):
            return features, None
        checked = np.concatenate(rows)
        return features, CrossFit(checked, codes[checked], np.concatenate(values))

    def _fit_topics(
        self, X: sparse.csr_matrix, codes: NDArray[np.int64], cv: int
    ) -> tuple[Array, Iterator[tuple[NDArray[np.bool_], Array, Array]]]:
        """Fit; return mixtures, and (documents, others' mixtures, theirs) without them.

        In the latter the topics have not seen the labels of the documents.
        """
        model = self.model_
        parts = split_documents(codes, cv) if cv else codes[:0]
        numbers = range(int(parts.max(initial=-1)) + 1)
        if isinstance(model, TwoPhase):
            twins: Any = ()
            if cv and all(
                len(np.unique(codes[(parts >= 0) & (parts != p)])) > 1 for p in numbers
            ):
                twins = model.cross_fits(X, codes, cv)
            else:
                model.fit(X, codes)
            model.classes_ = self.classes_
            theta = model.doc_topics_
            return theta, (
                (hidden, twin.doc_topics_, twin.transform(counts[hidden]))
                for hidden, twin, counts in twins
            )
        theta = model.fit_transform(X, codes)

        def part(number: int) -> tuple[NDArray[np.bool_], Array, Array]:
            hidden = parts == number
            if not model._uses_labels:
                return hidden, theta[~hidden], theta[hidden]
            twin = clone(model)
            seen = twin.fit_transform(X[~hidden], codes[~hidden])
            return hidden, seen, twin.transform(X[hidden])

        return theta, map(part, numbers)

    def _read(self, X: Any, y: Any) -> tuple[sparse.csr_matrix, NDArray[np.int64]]:
        """Check everything; make the model."""
        require_labels(y, "TopicClassifier", "Give a label per document.")
        if self.model is not None and not isinstance(self.model, TopicModel):
            raise DataError(
                f"The 'model' parameter of TopicClassifier is a "
                f"{type(self.model).__name__}. Give a topic model of topicfold, "
                "for instance TwoPhase(FSTM(100))."
            )
        self._validate_params()
        X = check_documents(self, X, reset=True)
        codes, self.classes_ = class_numbers(y, X.shape[0], self.unknown_label)
        self._check_class_shares()
        n_classes = len(self.classes_)
        check_two_classes(codes, n_classes, "a classifier", self.unknown_label)
        self.lsi_, self.neighbor_shares_ = None, None
        self.word_weights_, self.word_intercepts_ = None, None
        if self.model is not None:
            self.model_ = clone(self.model)
        else:
            self.model_ = default_topics(
                codes, random_state=self.random_state, n_jobs=self.n_jobs
            )
        return X, codes

    def _check_class_shares(self) -> None:
        """Refuse shares that are none, or not those of the classes."""
        shares, classes = self.class_shares, self.classes_.tolist()
        if shares is None or (isinstance(shares, str) and shares == "labels"):
            return
        if not isinstance(shares, Mapping):
            raise DataError(
                f"class_shares={shares!r}: give a share per class, such as "
                f'{{{classes[0]!r}: 0.5, …}}, "labels" or None.'
            )
        names = [_plain(name) for name in shares]
        if set(names) != set(classes):
            other = sorted(set(classes).symmetric_difference(names), key=str)
            raise DataError(
                f"class_shares and the labels have different classes: only one has "
                f"{', '.join(map(repr, other[:5]))}. Give a share per class."
            )
        if not all(map(_at_least_zero, shares.values())) or not sum(shares.values()):
            raise DataError(
                "class_shares has a share that is negative or not a number, or only "
                "zeros. Give numbers of at least 0; they need not sum to 1."
            )

    def _rule(self, features: Array, codes: NDArray[np.int64]) -> Any:
        """Return the classifier, learned from the documents whose class is known."""
        known = codes >= 0
        classifier = LinearSVC() if self.classifier is None else clone(self.classifier)
        return classifier.fit(features[known], self.classes_[codes[known]])

    def _values(self, rule: Any, features: Array) -> Array:
        """Return decision values (D, n_classes), or 1 for the predicted class."""
        if hasattr(rule, "decision_function"):
            return decisions(rule, features, self.classes_)
        return (rule.predict(features)[:, None] == self.classes_).astype(np.float64)

    def _set_recipe(self, recipe: Recipe) -> None:
        self.choice_ = recipe.text
        self.scales_ = [recipe.topics, recipe.directions]

    @property
    def _recipe(self) -> Recipe:
        topics, directions = self.scales_
        return Recipe(self.choice_, topics, directions)

    def _directions(self, X: sparse.csr_matrix, given: Array | None) -> Array | None:
        """Return unit rows of latent directions, beside those of the embeddings."""
        blocks = [] if given is None else [given]
        if self.lsi_ is not None:
            found = self.lsi_.transform(_unit_logs(X))
            blocks.insert(0, normalize(found, copy=False))
        if len(blocks) == 1:
            return blocks[0]
        return np.hstack(blocks) if blocks else None

    def _words(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        """Return unit rows of tf-idf."""
        logs = _unit_logs(X)
        logs.data *= self.lsi_.term_weights_[logs.indices]
        return normalize(logs, copy=False)

    def _word_rule(self) -> WordRule | None:
        if self.word_weights_ is None or self.word_intercepts_ is None:
            return None
        return WordRule(self.word_weights_, self.word_intercepts_)

    def _embedded(
        self, embeddings: Any, n_documents: int, *, reset: bool = False
    ) -> Array | None:
        """Return unit rows of the embeddings, or say what is wrong with them."""
        fitted = 0 if reset else self.n_embeddings_
        if embeddings is None and fitted:
            raise DataError(
                "this TopicClassifier was fitted with embeddings, and these documents "
                "have none. Give their vectors, by the encoder of the fit, with "
                "embeddings=."
            )
        if embeddings is not None and not (reset or fitted):
            raise DataError(
                "this TopicClassifier was fitted without embeddings. Fit it with them, "
                "fit(X, y, embeddings=...), or leave them out."
            )
        rows = None
        if embeddings is not None:
            rows = check_embeddings(embeddings, n_documents, fitted or None)
        if reset:
            self.n_embeddings_ = 0 if rows is None else rows.shape[1]
        return None if rows is None else rows.astype(np.float64)

    def _features(
        self, X: sparse.csr_matrix, embeddings: Any
    ) -> tuple[Array, sparse.csr_array | None]:
        """Return features of documents, and edges to training documents if used."""
        given = self._embedded(embeddings, X.shape[0])
        recipe, model, edges = self._recipe, self.model_, None
        with already_warned():
            if not recipe.topics:
                theta = np.empty((X.shape[0], 0))
            elif isinstance(model, SideBySide) and model.sees_neighbors:
                edges = model.models_[0].edges_to(X, given)
                theta = model.fold_in_along(X, edges)
                theta[np.diff(X.indptr) == 0] = 0.0  # no word, nothing is known
                edges = normalize(edges, norm="l1")
            else:
                theta = model.transform(X)
            directions = self._directions(X, given)
        return recipe.features(np.sqrt(theta), directions), edges

    def _rated(self, X: Any, embeddings: Any) -> tuple[Array, Array]:
        """Return features of documents, and values of which the largest decides."""
        check_is_fitted(self, "classifier_")
        X = check_documents(self, X, reset=False, allow_empty=True)
        features, edges = self._features(X, embeddings)
        values, by_words = self._values(self.classifier_, features), self._word_rule()
        if by_words is not None:
            values = values + by_words.values(self._words(X))
        if self.neighbor_shares_ is not None and edges is not None:
            known = probabilities(values, 1.0)
            values = smoothed(known, edges, self.neighbor_shares_)
        return features, values

    def _named(self, features: Array | Rows, values: Array) -> NDArray[Any]:
        """Return the classes of documents, unknown where the rule is in doubt."""
        labels: NDArray[Any]
        if self.classifier is None:
            labels = self.classes_[values.argmax(axis=1)]
        else:
            labels = np.asarray(self.classifier_.predict(features))
        if not self.abstain:
            return labels
        if not _has_decision_function(self):
            raise DataError(
                f"abstain needs probabilities, and a "
                f"{type(self.classifier_).__name__} has no decision_function. Use for "
                "instance LogisticRegression."
            )
        sure = self._probabilities(values).max(axis=1) >= self.abstain
        unknown = self.unknown_label
        if unknown is None:
            unknown = "" if self.classes_.dtype.kind in "OUS" else -1
        kinds = {labels.dtype.kind, np.asarray(unknown).dtype.kind}
        if len(kinds) > 1 and not kinds <= set("iuf"):  # no common type holds both
            labels = labels.astype(object)
        return np.where(sure, labels, unknown)

    def predict(self, X: Any, *, embeddings: Any = None) -> NDArray[Any]:
        """Return the class of each document."""
        return self._named(*self._rated(X, embeddings))

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, embeddings: Any = None
    ) -> float:
        """Return the share of documents whose predicted class is correct.

        Parameters
        ----------
        y : array-like of shape (n_documents,)
            The classes; documents whose class is unknown are left out.
        sample_weight : array-like of shape (n_documents,) or None
            Weights of the documents.
        """
        found = self.predict(X, embeddings=embeddings)
        return share_right(y, found, self.unknown_label, sample_weight)

    @available_if(_has_decision_function)
    def predict_proba(self, X: Any, *, embeddings: Any = None) -> Array:
        """Return the probability of each class, calibrated on hidden labels.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
            Rows sum to 1; columns in the order of `classes_`.
        """
        return self._probabilities(self._rated(X, embeddings)[1])

    def _probabilities(self, values: Array) -> Array:
        return probabilities(values, self.temperature_)

    @available_if(_has_decision_function)
    def decision_function(self, X: Any, *, embeddings: Any = None) -> Array:
        """Return the confidence in each class, that of the neighbours included."""
        features, values = self._rated(X, embeddings)
        if self.neighbor_shares_ is None and not self._word_rule():
            plain: Array = self.classifier_.decision_function(features)
            return plain
        return values[:, 1] - values[:, 0] if values.shape[1] == 2 else values

    def suggest_labels(self, n: int = 10) -> NDArray[np.int64]:
        """Return the training documents whose labels would help most, best first.

        These are documents that the classifier is uncertain about and that are far from
        labelled ones and from each other.

        Parameters
        ----------
        n : int, default=10
            How many.
        """
        check_is_fitted(self, "classifier_")
        if not isinstance(n, int | np.integer) or n < 0:
            raise DataError(f"n={n!r} is not a number of documents. Give 0, 1, 2 …")
        if not hasattr(self, "_training") or not _has_decision_function(self):
            raise DataError(
                "suggest_labels needs the documents of fit, which a loaded classifier "
                "does not have, and a classifier with a decision_function. Fit again."
            )
        features, codes, values = self._training
        return most_telling(features[:], self._probabilities(values), codes, n)

    @property
    def accuracy_(self) -> Accuracy | None:
        """Measured on labelled documents without their labels."""
        if not self.n_checked_:
            return None
        interval = wilson_interval(self.share_right_, self.n_effective_)
        return Accuracy(self.share_right_, *interval, self.n_checked_)

    def explain(
        self, document: Any, n: int = 5, *, embeddings: Any = None
    ) -> Explanation:
        """Return the topics and words that led to a document's class.

        The rule's decision is linear in √θ, so it is a sum of contributions of topics
        (the influence of nearby training documents is not included). A topic's
        contribution is divided among the words of the document by how many of their
        occurrences belong to the topic, ``X_dw p(k|d,w)``. Latent directions and naive
        Bayes are linear in the words, so each word contributes to those too.

        Experimental: how a topic's contribution is divided among words may change.

        Parameters
        ----------
        document : array-like of shape (n_terms,) or (1, n_terms), or sparse matrix
            Counts of one document.
        n : int, default=5
            Maximum number of topics, of words per topic, and of words in all; only
            those with a positive contribution are listed.
        embeddings : array-like of shape (1, n_dimensions) or None
            If `fit` had them.

        Returns
        -------
        Explanation
            The class, its decision value, topics and words.
        """
        check_is_fitted(self, "classifier_")
        X = self._one_document(document)
        features, values = self._rated(X, embeddings)
        near = {}
        if getattr(self.model_, "sees_embeddings", False):
            near = {"embeddings": embeddings}
        with already_warned():
            theta = self.model_.transform(X, **near)[0].astype(np.float64)
        label = self.classes_[values[0].argmax()]
        return explained(self, X, features[0], theta, label, n)

    def _one_document(self, document: Any) -> sparse.csr_matrix:
        flat = np.ndim(document) == 1 and not sparse.issparse(document)
        row = np.reshape(document, (1, -1)) if flat else document
        n_documents = np.shape(row)[0]
        if n_documents != 1:
            raise DataError(
                f"explain takes one document, not {n_documents}. Give one row, for "
                "instance X[[0]]."
            )
        with warnings.catch_warnings():
            if flat:  # it cannot have names
                warnings.filterwarnings("ignore", "X does not have valid feature")
            return check_documents(self, row, reset=False, allow_empty=True)

    components_ = attribute_of(
        "model_.components_", "Topics of the topic model (n_topics, n_terms)."
    )
    doc_topics_ = attribute_of(
        "model_.doc_topics_",
        "Mixtures of the training documents (n_documents, n_topics).",
    )

    def topic_data(self, vocabulary: Any = None, **documents: Any) -> TopicData:
        """Return the record of the topic model; see `TopicModel.topic_data`."""
        check_is_fitted(self, "model_")
        if vocabulary is None:
            vocabulary = getattr(self, "feature_names_in_", None)
        data: TopicData = self.model_.topic_data(vocabulary, **documents)
        return data

    _saved = saved.forms(
        scales_=_two_scales,
        n_embeddings_=saved.number(0, 2**53, whole=True),
        n_checked_=saved.number(0, 2**53, whole=True),
        share_right_=saved.number(0, 1),
        n_effective_=saved.number(1e-3, 2**53),
        temperature_=saved.number(0.01, 100),  # `best_temperature` looks within them
        neighbor_shares_=saved.or_none(saved.numbers("DC")),
        word_weights_=saved.or_none(saved.numbers("CV")),
        word_intercepts_=saved.or_none(saved.numbers("C")),
    )

    def _check_loaded(self) -> None:
        if not hasattr(self, "classifier_"):
            return  # saved before it was fitted
        names = ("model_", "lsi_", "classifier_", "classes_", "neighbor_shares_")
        model, lsi, rule, classes, shares = (getattr(self, n, None) for n in names)
        if not isinstance(model, TopicModel) or not isinstance(lsi, LSI | None):
            raise ValueError("its topics or its latent directions are missing")  # noqa: TRY004
        n_terms = getattr(model, "n_features_in_", None)
        widths = [getattr(part, "n_features_in_", 0) for part in (self, lsi or self)]
        if n_terms is None or widths != [n_terms] * 2:
            raise ValueError("its topics and its words do not match")
        n_documents = len(getattr(model, "doc_topics_", ()))
        n_classes = 0 if classes is None else np.size(classes)
        sizes = {"C": n_classes, "D": n_documents, "V": n_terms}
        saved.check(self, sizes, partial=True)
        recipe = self._recipe
        width = len(model.components_) if recipe.topics else 0
        if recipe.directions:
            width += 0 if lsi is None else len(lsi.components_)
            width += self.n_embeddings_
        if not isinstance(rule, LinearRule) or rule.coef_.shape[1] != width:
            raise ValueError("its topics and its rule do not match")
        if (
            not isinstance(classes, np.ndarray)
            or classes.ndim != 1
            or len(classes) < 2
            or np.unique(classes).tolist() != classes.tolist()
            or not set(rule.classes_.tolist()) <= set(classes.tolist())
        ):
            raise ValueError("its classes and its rule do not match")
        if lsi is None and self._word_rule() is not None:
            raise ValueError("its latent directions, which weigh words, are missing")
        # A graph model may have kept fewer documents than it has; this one may not.
        kept = [
            rows.shape[0]
            for part in getattr(model, "models_", [model])[:1]
            for name in ("embeddings_", "training_counts_")
            if (rows := getattr(part, name, None)) is not None
        ]
        if shares is not None and any(n_kept != len(shares) for n_kept in kept):
            raise ValueError("its classes and its documents do not match")

    def save(self, path: Any, corpus: Any = None, **known: Any) -> None:
        """Save the topics and the decision of a linear classifier, without pickle.

        :func:`topicfold.load` reads them. The classifier itself is not saved, so after
        loading, a new `fit` uses the default classifier.

        Parameters
        ----------
        path : str or path
            A folder, or a file ending in ``.safetensors``.
        corpus, **known
            What is known of the words and documents, as in
            :meth:`topicfold.LDA.save`.
        """
        check_is_fitted(self, "classifier_")
        save_fitted(self, path, corpus, known)

    def _to_save(self) -> Self:
        """Return a copy whose classifier is only its decision."""
        plain = copy(self)
        plain.classifier_ = LinearRule.of(self.classifier_)
        return plain

    def _threads(self) -> int | None:
        """Return the threads of the topics, for what is computed beside them."""
        inner = getattr(self.model_, "model", self.model_)
        threads: int | None = getattr(inner, "n_jobs", self.n_jobs)
        return threads

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        # Topics see proportions only: points in the plane have one dimension left.
        tags.classifier_tags.poor_score = True
        return tags


def _unit_logs(X: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return ``log(1 + count)`` in rows of length 1; the places are those of X."""
    entries = np.log1p(X.data, dtype=np.float64), X.indices, X.indptr
    return normalize(sparse.csr_matrix(entries, shape=X.shape), copy=False)


def _plain(name: Any) -> Any:
    """Return a class as `ndarray.tolist` has it."""
    return name.item() if isinstance(name, np.generic) else name


def _at_least_zero(value: Any) -> bool:
    return isinstance(value, Real) and 0 <= float(value) < np.inf
