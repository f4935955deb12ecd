# SPDX-License-Identifier: BSD-3-Clause
"""A classifier on topics that says which topics and words spoke for a class."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.svm import LinearSVC
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from topicfold.core.typing import Array
from topicfold.exceptions import DataError, EmptyDocumentWarning
from topicfold.models.base import TopicModel, check_counts
from topicfold.models.class_labels import class_numbers
from topicfold.models.linear_rule import LinearRule
from topicfold.models.two_phase import TwoPhase
from topicfold.topic_data import TopicData


@dataclass(frozen=True)
class WordReason:
    """A word and what it added to the decision.

    Attributes
    ----------
    word : str
        The column's name.
    count : float
        Its count in the document.
    contribution : float
        Its part of the decision value.
    """

    word: str
    count: float
    contribution: float


@dataclass(frozen=True)
class TopicReason:
    """A topic and what it added to the decision.

    Attributes
    ----------
    topic : int
        Number of the topic.
    share : float
        Its share θ_dk of the document.
    contribution : float
        Its part of the decision value.
    words : tuple of WordReason
        The document's words through which it spoke, strongest first.
    """

    topic: int
    share: float
    contribution: float
    words: tuple[WordReason, ...]


@dataclass(frozen=True)
class Explanation:
    """Why a document was given its class.

    Attributes
    ----------
    label : object
        The predicted class.
    decision : float
        Its decision value: `intercept` plus the contributions of all topics.
    intercept : float
        What the classifier says of any document.
    topics : tuple of TopicReason
        The topics that spoke for the class most, strongest first.
    words : tuple of WordReason
        The words that did, over all topics.
    """

    label: Any
    decision: float
    intercept: float
    topics: tuple[TopicReason, ...]
    words: tuple[WordReason, ...]


def _has_decision_function(self: Any) -> bool:
    classifier = getattr(self, "classifier_", self.classifier)
    return classifier is None or hasattr(classifier, "decision_function")


class TopicClassifier(ClassifierMixin, BaseEstimator):
    """Classify documents by their topics, and explain why.

    Fits a topic model (with the labels, if it uses them) and a classifier on the
    square roots of the mixtures, whose distances are those of distributions
    (Hellinger).

    Parameters
    ----------
    model : TopicModel or None, default=None
        The topics. None is ``TwoPhase(word_weights="classes", neighbor_weight=0.5)``,
        the setting nearest to a classifier of raw words.
    classifier : classifier or None, default=None
        Anything with `fit` and `predict`. None is ``LinearSVC()``; `explain` needs a
        linear one.
    unknown_label : object, default=None
        The label of documents whose class is not known: the topics learn from them,
        the classifier does not. None: every document has a class.

    Attributes
    ----------
    model_, classifier_ :
        What was fitted.
    classes_ : ndarray of shape (n_classes,)
        The classes.

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import FSTM, TopicClassifier, TwoPhase
    >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]])
    >>> model = TopicClassifier(TwoPhase(FSTM(2, random_state=0)))
    >>> _ = model.fit(X, ["sea", "sea", "sky", "sky"])
    >>> model.predict([[1, 1, 0, 0]])
    array(['sea'], dtype='<U3')
    >>> [reason.word for reason in model.explain([0, 0, 1, 3]).words]
    ['w3', 'w2']
    """

    _unsaved_parameters = ("classifier",)

    def __init__(
        self, model: Any = None, classifier: Any = None, *, unknown_label: Any = None
    ) -> None:
        self.model = model
        self.classifier = classifier
        self.unknown_label = unknown_label

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the topic model, then the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Counts or other non-negative weights.
        y : array-like of shape (n_documents,)
            One label per document.
        """
        if y is None:
            raise DataError(
                "TopicClassifier requires y to be passed, but the target y is None. "
                "Give a label per document."
            )
        if self.model is not None and not isinstance(self.model, TopicModel):
            raise DataError(
                f"The 'model' parameter of TopicClassifier is a "
                f"{type(self.model).__name__}. Give a topic model of topicfold, "
                "for instance TwoPhase(FSTM(100))."
            )
        X = check_counts(self, X, reset=True)
        codes, self.classes_ = class_numbers(
            y, X.shape[0], self.unknown_label, "a classifier"
        )
        self.model_ = best_topics() if self.model is None else clone(self.model)
        known = codes >= 0
        with _already_warned():
            theta = self.model_.fit_transform(X, codes)[known]
        if isinstance(self.model_, TwoPhase):
            self.model_.classes_ = self.classes_
        classifier = LinearSVC() if self.classifier is None else clone(self.classifier)
        self.classifier_ = classifier.fit(np.sqrt(theta), self.classes_[codes[known]])
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each document.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Counts, in the columns of `fit`.
        """
        features = self._features(X)
        labels: NDArray[Any] = self.classifier_.predict(features)
        return labels

    @available_if(_has_decision_function)
    def decision_function(self, X: Any) -> Array:
        """Return the classifier's confidence in each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Counts, in the columns of `fit`.
        """
        features = self._features(X)
        values: Array = self.classifier_.decision_function(features)
        return values

    def explain(self, document: Any, n: int = 5) -> Explanation:
        """Return the topics and words that spoke for a document's class.

        The decision is linear in √θ, so every topic has its part of it. A topic's
        part is shared among the words of the document by how many of their
        occurrences are the topic's, ``X_dw p(k|d,w)``.

        Experimental: how a topic's part is shared among words may change.

        Parameters
        ----------
        document : array-like of shape (n_terms,) or (1, n_terms), or sparse matrix
            Counts of one document.
        n : int, default=5
            Most topics, and most words of each and in all; only those with a
            positive part.

        Returns
        -------
        Explanation
            The class, its decision value, topics and words.
        """
        check_is_fitted(self, "classifier_")
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
            X = check_counts(self, row, reset=False, allow_empty=True)
        with _already_warned():
            theta = self.model_.transform(X)[0].astype(np.float64)
        label = self.classifier_.predict(np.sqrt(theta[None, :]))[0]
        slope, intercept = self._linear_part(label)
        parts = slope * np.sqrt(theta)
        shares = self._word_shares(X, theta)
        best = [k for k in np.argsort(-parts, kind="stable")[:n] if parts[k] > 0]
        return Explanation(
            label,
            float(parts.sum() + intercept),
            float(intercept),
            tuple(
                TopicReason(
                    int(k),
                    float(theta[k]),
                    float(parts[k]),
                    self._reasons(X, parts[k] * shares[k], n),
                )
                for k in best
            ),
            self._reasons(X, parts @ shares, n),
        )

    @property
    def components_(self) -> Array:
        """Topics of the topic model (n_topics, n_terms)."""
        topics: Array = self.model_.components_
        return topics

    @property
    def doc_topics_(self) -> Array:
        """Mixtures of the training documents (n_documents, n_topics)."""
        theta: Array = self.model_.doc_topics_
        return theta

    def topic_data(self, vocabulary: Any = None, **documents: Any) -> TopicData:
        """Return the record of the topic model; see `TopicModel.topic_data`."""
        check_is_fitted(self, "model_")
        if vocabulary is None:
            vocabulary = getattr(self, "feature_names_in_", None)
        data: TopicData = self.model_.topic_data(vocabulary, **documents)
        return data

    def save(self, path: Any) -> None:
        """Save the topics and the decision of a linear classifier, without pickle.

        :func:`topicfold.load` reads them. The classifier itself is not saved, so a
        new `fit` of the loaded one learns with the default.

        Parameters
        ----------
        path : str or path
            A folder, or a file ending in ``.safetensors``.
        """
        from topicfold.persistence import save_estimator

        check_is_fitted(self, "classifier_")
        save_estimator(self, path)

    def _to_save(self) -> Self:
        """Return a copy whose classifier is only its decision."""
        plain = copy(self)
        plain.classifier_ = LinearRule.of(self.classifier_)
        return plain

    def _features(self, X: Any) -> Array:
        check_is_fitted(self, "classifier_")
        X = check_counts(self, X, reset=False, allow_empty=True)
        with _already_warned():
            theta: Array = self.model_.transform(X)
        return np.sqrt(theta)

    def _linear_part(self, label: Any) -> tuple[Array, float]:
        """Return the slope and intercept of the decision for a class."""
        slopes = getattr(self.classifier_, "coef_", None)
        if slopes is None:
            raise DataError(
                f"explain needs a linear classifier, and a "
                f"{type(self.classifier_).__name__} has no coef_. Use for instance "
                "LinearSVC or LogisticRegression."
            )
        number = int(np.flatnonzero(self.classifier_.classes_ == label)[0])
        intercepts = np.broadcast_to(self.classifier_.intercept_, len(slopes))
        if len(slopes) == 1:  # two classes: one function, positive for the second
            sign = 1.0 if number else -1.0
            return sign * slopes[0], sign * float(intercepts[0])
        return slopes[number], float(intercepts[number])

    def _word_shares(self, X: sparse.csr_matrix, theta: Array) -> Array:
        """Return how a topic's occurrences are spread over words (K, words of X)."""
        counts = X.data.astype(np.float64)
        weights = getattr(self.model_, "word_weights_", None)
        if weights is not None:  # as the model saw the document
            counts = np.log1p(counts) * weights[X.indices]
        topics = self.model_.components_[:, X.indices].astype(np.float64)
        joint = theta[:, None] * topics
        chance = np.maximum(joint.sum(axis=0), 1e-300)
        expected = counts * joint / chance
        totals = expected.sum(axis=1, keepdims=True)
        shares: Array = expected / np.where(totals > 0, totals, 1.0)
        return shares

    def _reasons(
        self, X: sparse.csr_matrix, parts: Array, n: int
    ) -> tuple[WordReason, ...]:
        names = getattr(self, "feature_names_in_", None)
        return tuple(
            WordReason(
                f"w{X.indices[i]}" if names is None else str(names[X.indices[i]]),
                float(X.data[i]),
                float(parts[i]),
            )
            for i in np.argsort(-parts, kind="stable")[:n]
            if parts[i] > 0
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        # Topics see proportions only: points in the plane have one dimension left.
        tags.classifier_tags.poor_score = True
        return tags


def best_topics() -> TwoPhase:
    """Return the topics of a `TopicClassifier` for which none were given.

    Examples
    --------
    >>> best_topics()
    TwoPhase(neighbor_weight=0.5, word_weights='classes')
    """
    return TwoPhase(word_weights="classes", neighbor_weight=0.5)


@contextmanager
def _already_warned() -> Iterator[None]:
    """Keep the model from warning again of empty documents."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)
        yield
