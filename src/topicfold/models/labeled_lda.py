# SPDX-License-Identifier: BSD-3-Clause
"""LDA whose topics are the labels of documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import label_ranking_average_precision_score
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.validation import check_is_fitted

from topicfold.core.parameters import whole
from topicfold.exceptions import DataError
from topicfold.learn.loop import part_of_more
from topicfold.models.base import already_warned
from topicfold.models.lda import SidedLDA
from topicfold.sides.labels import (
    MOST_CALIBRATED,
    MOST_PAIRS,
    KnownLabels,
    Labels,
    read_labels,
)
from topicfold.sides.together import SideData

# Documents whose labels are hidden in turn, a fifth at a time, to choose what is left
# open; with fewer labels than that nothing is tried.
FOLDS, ENOUGH_HIDDEN, FEWEST_LABELS = 5, 500, 10
TRIAL_PASSES = 15


class LabeledLDA(SidedLDA):
    """Labeled LDA: a document uses the topics of its labels and a background.

    With ``topics_per_label=1`` and ``n_background=0`` it is labeled LDA, else partially
    labelled LDA. Documents whose labels are not known may use all topics; if no label
    is known, it is LDA. If X is in memory and documents may use at most an eighth of
    the topics on average, and at most 64, a pass costs as much as the labels that
    documents have; otherwise as much as one of LDA.

    Whether unlabelled documents help depends on the corpus: topics of labels can drift
    to what these documents are about. So does a background, which may take words that
    tell labels apart. Unless they are given, both are chosen by fits of 15 passes to
    four fifths of the labels that predict the rest: once each way, or five times with
    fewer than 2,500 labels. With fewer than 10, there is a background and all documents
    are used.

    Parameters
    ----------
    n_background : int or None, default=None
        Topics that every document may use: the words that no label explains. None is 0
        or 1, by hidden labels; 1 if a document is known to have none of the labels.
    use_unlabeled : bool or None, default=None
        Whether topics are learned from documents without labels, too. They have
        mixtures in any case. None lets hidden labels decide.
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
    use_unlabeled_ : bool
        Whether documents without labels took part in the topics.
    trial_scores_ : list of (int, bool, float)
        What was tried: background topics, whether unlabelled documents were used, and
        the accuracy on hidden labels (with several labels per document, the label
        ranking average precision). Empty if nothing was.

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
    >>> model.n_topics_
    3
    >>> model.predict([[0, 0, 4, 4, 0]])
    array([[0, 1]])
    """

    _without = (*SidedLDA._without, "learn_priors", "n_components")
    learn_priors = None
    _part = Labels
    n_background: Annotated[int | None, whole(0)] = field(default=None, kw_only=False)
    topics_per_label: int = 1
    use_unlabeled: bool | None = None

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

    def _own_sides(self) -> list[Any]:
        n_background = 1 if self.n_background is None else self.n_background
        return [Labels(self.topics_per_label, n_background)]

    def predict(self, X: Any, **side_data: Any) -> NDArray[Any]:
        """Return the label of each document, or rows of 0 and 1 by `classes_`.

        One label if every training document with known labels had one; else those that
        are more likely than not, and at least the most likely one.
        """
        self._check_labels()
        return self._side(Labels).predict(self.transform(X, **side_data))

    def predict_proba(self, X: Any, **side_data: Any) -> NDArray[np.float64]:
        """Return the probability of each label, in the order of `classes_`.

        If every training document with known labels had one, rows sum to one: the
        shares of the labels in the document. Otherwise, and with a matrix of 0 and 1,
        each label has its own probability: how often training documents with such a
        share of it had the label, by a logistic curve that all labels have in common.
        The words of these documents have been seen, so it is overconfident.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Counts, in the columns of `fit`.
        **side_data
            What else is known of these documents, as in `transform`.
        """
        self._check_labels()
        return self._side(Labels).probabilities(self.transform(X, **side_data))

    def score(self, X: Any, y: Any = None, **side_data: Any) -> float:
        """Return the accuracy of :meth:`predict`.

        Of documents with several labels, those are right whose labels are all found and
        no others. Documents whose labels are not known are left out.

        Parameters
        ----------
        y : as `labels` of `fit`
            The labels.
        """
        self._check_labels()
        if y is None:
            raise DataError(
                f"{type(self).__name__}.score needs labels: score(X, y). The "
                "log-likelihood of words is -log(perplexity(X))."
            )
        found = self.predict(X, **side_data)
        members, names, unknown, _ = read_labels(y, len(found))
        if unknown.all():
            raise DataError("score knows the label of no document in y.")
        if (
            isinstance(y, np.ndarray)
            and y.ndim == 2
            and len(names) == len(self.classes_)
        ):
            names = self.classes_
        right = [
            _names(names, members.getrow(d).indices) == self._found(found[d])
            for d in np.flatnonzero(~unknown)
        ]
        return float(np.mean(right))

    def _found(self, label: Any) -> set[str]:
        """Return the names of the labels that were predicted of a document."""
        if not self._side(Labels).several_:
            return {str(label)}
        return _names(self.classes_, np.flatnonzero(label))

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
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(poor_score=True)
        return tags

    def _init(self, default: str) -> Any:
        # Labels make topics different: no need to look for documents that are.
        labelled = any(len(getattr(side, "classes_", ())) for side in self.sides_)
        return super()._init("random" if labelled else default)

    def _calibrated(self, X: Any, labels: Any) -> Self:
        """Learn what shares mean, from documents folded in without their labels."""
        side = self._side(Labels)
        if side.several_ and len(side.classes_):
            counts = self._counts(X, blocks=True)
            known = side.check(labels, self._context_of(counts.shape[0]))
            n_some = min(MOST_CALIBRATED, MOST_PAIRS // len(side.classes_) + 1)
            rows = np.flatnonzero(~known.unknown)[:n_some]
            with already_warned():
                theta = self._sided_mixtures(self._seen(counts[rows]), {})
            side.calibrate(theta, known.members[rows])
        return self

    def _context_of(self, n_documents: int) -> Any:
        empty = sparse.csr_matrix((n_documents, self.n_features_in_))
        n_topics = len(self.components_)
        return self._side_context(empty, n_topics=n_topics, fitting=False)

    # ---- unlabelled documents, and the background

    def _fit_with_sides(self, counts: Any, side_data: Mapping[str, Any]) -> None:
        given = side_data["labels"]
        members, _, unknown, _ = read_labels(given, counts.shape[0])
        known = KnownLabels(members, unknown)
        n_background, self.use_unlabeled_ = self._chosen(counts, known, side_data)
        self.sides_[0].set_params(n_background=n_background)
        super()._fit_with_sides(counts, side_data)
        if not self.use_unlabeled_:
            later = {side.keyword for side in self.sides_ if side.known_later}
            data = {name: own for name, own in side_data.items() if name in later}
            with already_warned():
                theta = self._sided_mixtures(self._seen(counts), data)
            self.doc_topics_[unknown] = theta[unknown]

    def _chosen(
        self, counts: Any, known: KnownLabels, side_data: Mapping[str, Any]
    ) -> tuple[int, bool]:
        """Return how many background topics there are, and who takes part.

        First the background, of fits to labelled documents, then whether the others
        help with it.
        """
        self.trial_scores_: list[tuple[int, bool, float]] = []
        labelled = np.flatnonzero(~known.unknown)
        sizes = np.diff(known.members.indptr)[labelled]
        bare = bool((sizes == 0).any())
        given = self.n_background, self.use_unlabeled
        if given[0] is None and not (self.init is None or isinstance(self.init, str)):
            n_own = (known.members.sum(axis=0) > 0).sum() * self.topics_per_label
            given = max(len(self.init) - int(n_own), 0), given[1]
        n_background = 1 if given[0] is None else given[0]
        used = True if given[1] is None else given[1]
        if len(labelled) < FEWEST_LABELS or not sizes.any():
            return n_background, used

        def best(ways: list[tuple[int, bool]]) -> tuple[int, bool]:
            scores = [self._tried(counts, known, side_data, *way) for way in ways]
            return ways[int(np.argmax(scores))]

        if given[0] is None and not bare:
            n_background, _ = best([(0, False), (1, False)])
        if known.unknown.any() and given[1] is None:
            _, used = best([(n_background, False), (n_background, True)])
        return n_background, used

    def _tried(
        self,
        counts: Any,
        known: KnownLabels,
        side_data: Mapping[str, Any],
        n_background: int,
        use_unlabeled: bool,
    ) -> float:
        """Return how well hidden labels are predicted."""
        for background, used, score in self.trial_scores_:
            if (background, used) == (n_background, use_unlabeled):
                return score
        trial = clone(self).set_params(
            n_background=n_background,
            use_unlabeled=use_unlabeled,
            max_iter=min(self.max_iter, TRIAL_PASSES),
            tol=0.0,
            init=self.init if isinstance(self.init, str) else None,
            callbacks=None,
            verbose=False,
        )
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        trial.set_params(random_state=seed)
        members = known.members
        own = np.split(members.indices.astype(str), members.indptr[1:-1])
        found, held_out = [], []
        for hidden in _parts(np.flatnonzero(~known.unknown), seed):
            left: list[Any] = [names.tolist() for names in own]
            for row in (*np.flatnonzero(known.unknown), *hidden):
                left[row] = None
            if not any(left):
                continue
            with part_of_more(), already_warned():
                SidedLDA.fit(trial, counts, **{**side_data, "labels": left})
                theta = trial._sided_mixtures(trial._seen(counts[hidden]), {})
            shares = np.zeros((len(hidden), members.shape[1]))
            shares[:, trial.classes_.astype(int)] = trial._side(Labels).shares(theta)
            found.append(shares)
            held_out.append(members[hidden].toarray() != 0)
        right = _right(np.vstack(held_out), np.vstack(found)) if found else 0.0
        self.trial_scores_.append((n_background, use_unlabeled, right))
        return right

    def _joined(self, counts: Any, sides: SideData) -> tuple[Any, Any]:
        joined, groups = super()._joined(counts, sides)
        labels = sides.one("mask")
        if not self.use_unlabeled_ and labels is not None:
            joined = _only(joined, ~labels[1].unknown)
        return joined, groups


def _right(wanted: NDArray[np.bool_], shares: NDArray[np.float64]) -> float:
    """Return the accuracy of the largest share, or how high several labels rank."""
    if (wanted.sum(axis=1) == 1).all():
        return float(wanted[np.arange(len(wanted)), shares.argmax(axis=1)].mean())
    return float(label_ranking_average_precision_score(wanted, shares))


def _names(classes: NDArray[Any], places: NDArray[np.integer]) -> set[str]:
    return {str(label) for label in classes[places]}


def _parts(labelled: NDArray[np.int64], seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield fifths of the labelled documents, until enough have been hidden."""
    drawn, hidden = np.random.RandomState(seed).permutation(labelled), 0
    for part in np.array_split(drawn, FOLDS):
        if hidden >= ENOUGH_HIDDEN:
            return
        part = np.sort(part[:ENOUGH_HIDDEN])
        hidden += len(part)
        yield part


def _only(counts: Any, kept: NDArray[np.bool_]) -> sparse.csr_matrix:
    """Return counts in memory whose other rows are empty."""
    rows = np.flatnonzero(kept)
    part = sparse.csr_matrix(counts[rows])
    sizes = np.zeros(len(kept), part.indptr.dtype)
    sizes[rows] = np.diff(part.indptr)
    indptr = np.r_[part.indptr[:1], np.cumsum(sizes, dtype=part.indptr.dtype)]
    shape = len(kept), part.shape[1]
    return sparse.csr_matrix((part.data, part.indices, indptr), shape=shape)
