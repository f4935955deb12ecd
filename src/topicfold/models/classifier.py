# SPDX-License-Identifier: BSD-3-Clause
"""A classifier on topics that says which topics and words spoke for a class."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from topicfold.core.labels import check_two_classes, class_numbers
from topicfold.core.typing import Array
from topicfold.exceptions import DataError
from topicfold.models.base import (
    TopicModel,
    already_warned,
    check_counts,
    save_fitted,
)
from topicfold.models.fstm import FSTM
from topicfold.models.linear_rule import LinearRule
from topicfold.models.manifold import LocallyConsistentPLSA
from topicfold.models.two_phase import TwoPhase, deal_documents
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
    (Hellinger). Documents without a label take part in the topics.

    Parameters
    ----------
    model : TopicModel or None, default=None
        The topics. None is `default_topics`: with few labels a graph model, which
        learns from all documents alike, with many the two-phase framework.
    classifier : classifier or None, default=None
        Anything with `fit` and `predict`. None is ``LinearSVC()``; `explain` needs a
        linear one.
    unknown_label : object, default=None
        The label of documents whose class is not known. None: -1 and ""; None and
        NaN mean unknown in any case.

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
        X, codes = self._read(X, y)
        with already_warned():
            theta = self.model_.fit_transform(X, codes)
        self._fit_rule(theta, codes)
        return self

    def fit_cross_predict(
        self, X: Any, y: Any, *, cv: int = 5, enough: int = 1000
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Fit, and predict labelled documents by classifiers without their labels.

        They tell how well new documents will be classified; the training documents'
        own mixtures do not, if the topics have seen the labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Counts or other non-negative weights.
        y : array-like of shape (n_documents,)
            One label per document.
        cv : int, default=5
            Parts into which the labelled documents are dealt, at least 2. Topics that
            use labels are fitted once more for each.
        enough : int, default=1000
            Leave the other parts out when this many documents are predicted.

        Returns
        -------
        rows : ndarray of int
            The labelled documents that were predicted.
        labels : ndarray
            Their predicted classes.
        """
        X, codes = self._read(X, y)
        rows: list[NDArray[np.int64]] = []
        found: list[NDArray[Any]] = []
        with already_warned():
            for hidden, seen, new in self._hidden_parts(X, codes, cv):
                rule = self._rule(seen, np.where(hidden, -1, codes)[~hidden])
                rows.append(np.flatnonzero(hidden))
                found.append(rule.predict(np.sqrt(new)))
                if sum(map(len, rows)) >= enough:
                    break
        return np.concatenate(rows), np.concatenate(found)

    def _hidden_parts(
        self, X: sparse.csr_matrix, codes: NDArray[np.int64], cv: int
    ) -> Iterator[tuple[NDArray[np.bool_], Array, Array]]:
        """Fit; yield documents, mixtures of all others, and theirs without labels."""
        model = self.model_
        if isinstance(model, TwoPhase):
            for hidden, twin, counts in model.cross_fits(X, codes, cv):
                if not hasattr(self, "classifier_"):
                    self._fit_rule(model.doc_topics_, codes)
                yield hidden, twin.doc_topics_, twin.transform(counts[hidden])
            return
        theta = model.fit_transform(X, codes)
        self._fit_rule(theta, codes)
        uses_labels = model.__sklearn_tags__().target_tags.required or getattr(
            getattr(model, "graph", None), "label_edges", False
        )
        parts = deal_documents(codes, cv)
        for part in range(min(cv, parts.max() + 1)):
            hidden = parts == part
            if uses_labels:
                twin = clone(model)
                seen = twin.fit_transform(X[~hidden], codes[~hidden])
                yield hidden, seen, twin.transform(X[hidden])
            else:
                yield hidden, theta[~hidden], theta[hidden]

    def _read(self, X: Any, y: Any) -> tuple[sparse.csr_matrix, NDArray[np.int64]]:
        """Check everything; make the model."""
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
        codes, self.classes_ = class_numbers(y, X.shape[0], self.unknown_label)
        n_classes = len(self.classes_)
        check_two_classes(codes, n_classes, "a classifier", self.unknown_label)
        self.__dict__.pop("classifier_", None)  # of an earlier fit
        self.model_ = default_topics(codes) if self.model is None else clone(self.model)
        return X, codes

    def _fit_rule(self, theta: Array, codes: NDArray[np.int64]) -> None:
        if isinstance(self.model_, TwoPhase):
            self.model_.classes_ = self.classes_
        self.classifier_ = self._rule(theta, codes)

    def _rule(self, theta: Array, codes: NDArray[np.int64]) -> Any:
        """Return the classifier, learned from the documents whose class is known."""
        known = codes >= 0
        labels = self.classes_[codes[known]]
        if len(np.unique(labels)) == 1:  # in a part of the documents
            return DummyClassifier().fit(theta[known], labels)
        classifier = LinearSVC() if self.classifier is None else clone(self.classifier)
        return classifier.fit(np.sqrt(theta[known]), labels)

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
        with already_warned():
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

    def _check_loaded(self) -> None:
        """Refuse a saved classifier whose parts do not fit together."""
        if not hasattr(self, "classifier_"):
            return  # saved before it was fitted
        n_terms = getattr(getattr(self, "model_", None), "n_features_in_", None)
        n_topics = len(getattr(self.model_, "components_", ()))
        if n_terms is None or getattr(self, "n_features_in_", None) != n_terms:
            raise ValueError("its topics and its words do not fit together")
        rule = self.classifier_
        if not isinstance(rule, LinearRule) or rule.coef_.shape[1] != n_topics:
            raise ValueError("its topics and its rule do not fit together")

    def save(self, path: Any, corpus: Any = None, **known: Any) -> None:
        """Save the topics and the decision of a linear classifier, without pickle.

        :func:`topicfold.load` reads them. The classifier itself is not saved, so a
        new `fit` of the loaded one learns with the default.

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

    def _features(self, X: Any) -> Array:
        check_is_fitted(self, "classifier_")
        X = check_counts(self, X, reset=False, allow_empty=True)
        with already_warned():
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


# Chosen and confirmed in benchmarks/results/few_labels_defaults.md.
FEW_PER_CLASS = 30


def default_topics(
    codes: NDArray[np.int64],
    n_components: int | None = None,
    *,
    few: bool | None = None,
    base: TopicModel | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> TopicModel:
    """Return the topics of a `TopicClassifier` for which none were given.

    With `few` labels the graph model (None: fewer than 30 per class, and on fewer than
    a quarter of the documents), else `TwoPhase` on `base`. `codes` are class numbers,
    -1 where unknown; the seed is fixed, so that results can be had again.

    Examples
    --------
    >>> default_topics(np.arange(200) % 2)
    TwoPhase(base=FSTM(n_components=40, random_state=0), neighbor_weight=0.5,
             word_weights='classes')
    """
    n_labelled, n_classes = int((codes >= 0).sum()), int(codes.max()) + 1
    if few is None:
        few = n_labelled < min(FEW_PER_CLASS * n_classes, len(codes) / 4)
    options = {
        "n_components": n_components or _n_topics(len(codes), n_classes),
        "random_state": random_state,
        "n_jobs": n_jobs,
    }
    if few:
        return LocallyConsistentPLSA(transform_neighbors=True, **options)
    base = (FSTM() if base is None else clone(base)).set_params(**options)
    return TwoPhase(base, word_weights="classes", neighbor_weight=0.5)


def _n_topics(n_documents: int, n_classes: int) -> int:
    """Return 120, more for many classes, fewer for few documents."""
    return max(n_classes, min(max(120, 4 * n_classes), n_documents // 5), 2)
