# SPDX-License-Identifier: BSD-3-Clause
"""LDA whose topics are the labels of documents."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from topicfold.models.base import already_warned
from topicfold.models.lda import SidedLDA
from topicfold.sides.labels import MOST_CALIBRATED, MOST_PAIRS, Labels


class LabeledLDA(SidedLDA):
    """Labeled LDA: a document uses the topics of its labels and a background.

    With ``topics_per_label=1`` and ``n_background=0`` it is labeled LDA, else partially
    labelled LDA. Documents whose labels are not known may use all topics and help to
    learn them; if no label is known, it is LDA. If X is in memory and documents may use
    at most an eighth of the topics on average, and at most 64, a pass costs as much as
    the labels that documents have; otherwise as much as one of LDA.

    Parameters
    ----------
    doc_topic_prior : float, array of shape (n_topics,) or None, default=None
        α of a document that may use all topics. None is ``2 / n_topics``, at most 0.2.
        The topics that a document may use share the sum.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels, in the order of their topics.
    topic_names_ : list of str
        Names of the topics: labels, then the background.
    n_topics_ : int
        Number of topics.

    See Also
    --------
    topicfold.sides.Labels : the same as a side of any LDA.
    MedLDA, TopicClassifier : models that aim at classes.

    References
    ----------
    D. Ramage, D. Hall, R. Nallapati, C. Manning (2009). Labeled LDA. EMNLP.
    D. Ramage, C. Manning, S. Dumais (2011). Partially labeled topic models for
    interpretable text mining. KDD.

    Examples
    --------
    >>> from topicfold import LabeledLDA
    >>> X = [[5, 4, 0, 0, 1], [4, 6, 0, 0, 2], [0, 0, 3, 5, 1], [2, 3, 2, 2, 1]]
    >>> labels = [["sea"], ["sea"], ["sky"], ["sea", "sky"]]
    >>> model = LabeledLDA(random_state=0).fit(X, labels=labels)
    >>> model.topic_names_
    ['sea', 'sky', 'background']
    >>> model.predict([[0, 0, 4, 4, 0]])
    array([[0, 1]])
    """

    _without = (*SidedLDA._without, "learn_priors", "n_components")
    learn_priors = None
    _part = Labels
    n_background: int = field(default=1, kw_only=False)
    topics_per_label: int = 1

    def fit(
        self, X: Any, y: Any = None, *, labels: Any = None, **side_data: Any
    ) -> Self:
        """Learn the topics of the labels, and of the background.

        Parameters
        ----------
        y : as `labels`, optional
            Labels in scikit-learn's place for them.
        labels : sequence of labels, of lists of labels, or a matrix of 0 and 1
            The labels of each document. Unknown are None, NaN, -1 and "", and rows of
            -1 of a matrix; an empty list says that a document has none of the labels.
            If no document has a known label, it is LDA, and a warning says so.
        """
        given = y if labels is None else labels
        if given is None:
            given = [None] * X.shape[0] if hasattr(X, "shape") else [None] * len(X)
        super().fit(X, y, labels=given, **side_data)
        return self._calibrated(X, given)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each document, or rows of 0 and 1 by `classes_`.

        One label if no training document had several; else those that are more likely
        than not, and at least the most likely one.
        """
        self._check_labels()
        return self._side(Labels).predict(self.transform(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each label, in the order of `classes_`.

        If no training document had several labels, rows sum to one: the shares of the
        labels in the document. Otherwise each label has its own probability: how often
        training documents with such a share of it had the label, by a logistic curve
        that all labels have in common. The words of these documents have been seen, so
        it is overconfident.
        """
        self._check_labels()
        return self._side(Labels).probabilities(self.transform(X))

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of their topics."""
        return self._side(Labels).classes_

    @classes_.setter
    def classes_(self, names: NDArray[Any]) -> None:
        side = self._side(Labels)
        side.classes_ = np.asarray(names)
        self.topic_names_ = side.topic_names_ = side.names()

    def _check_labels(self) -> None:
        check_is_fitted(self, "components_")
        if len(self.classes_) == 0:
            raise AttributeError(
                "LabeledLDA was fitted without a known label; it has none to predict."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(poor_score=True)  # it has predict_proba
        return tags

    def _init(self, default: str) -> Any:
        # Labels make topics different: no need to look for documents that are.
        labelled = any(len(getattr(side, "classes_", ())) for side in self.sides_)
        return super()._init("random" if labelled else default)

    def _calibrated(self, X: Any, labels: Any) -> Self:
        """Learn what shares mean, from documents folded in without their labels."""
        side = self._side(Labels)
        if side.several_ and len(side.classes_):
            with already_warned():
                counts = self._counts(X, blocks=True)
                n_some = min(MOST_CALIBRATED, MOST_PAIRS // len(side.classes_) + 1)
                some = counts[: min(counts.shape[0], n_some)]
                theta = self._sided_mixtures(self._seen(some), {})
            context = self._side_context(
                counts, n_topics=len(self.components_), fitting=False
            )
            side.calibrate(theta, side.check(labels, context))
        return self
