# SPDX-License-Identifier: BSD-3-Clause
"""LDA whose topics are the labels of documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import label_ranking_average_precision_score
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.validation import check_is_fitted

from topicfold.core.counts import already_warned, only_rows
from topicfold.core.parameters import SHARE, whole
from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.engine.protocol import ranges_of
from topicfold.evidence.labels import (
    MOST_CALIBRATED,
    MOST_PAIRS,
    N_CLUES,
    Clues,
    KnownLabels,
    Labels,
    read_labels,
)
from topicfold.exceptions import DataError, MissingAttributeError
from topicfold.learn import Callback
from topicfold.learn.loop import part_of_more
from topicfold.models.lda import SidedLDA
from topicfold.models.sided import scored
from topicfold.models.supervised import usual_unless_worse
from topicfold.parts.sides import Side
from topicfold.parts.together import SideData

# Documents whose labels are hidden in turn, a fifth at a time, to choose what is left
# open; with fewer labels than that nothing is tried.
FOLDS, ENOUGH_HIDDEN, FEWEST_LABELS = 5, 500, 10
TRIAL_PASSES = 30
# Documents, and pairs of a document and a label, that are predicted at a time.
AT_ONCE, PAIRS_AT_ONCE = 4096, 4_000_000
# Weights of documents without labels that are tried, lightest first.
UNLABELED_WEIGHTS = 0.0, 0.03, 0.1, 0.3, 1.0
USUAL_WEIGHT = 0.03


class Hidden(NamedTuple):
    """Predictions for documents whose labels were hidden, arrays of shape (D, C)."""

    clues: Clues
    wanted: NDArray[np.bool_]


class LabeledLDA(SidedLDA):
    """Labeled LDA: a document uses the topics of its labels and a background.

    With ``topics_per_label=1`` and ``n_background=0`` it is labeled LDA, else partially
    labelled LDA. Documents whose labels are not known may use all topics; if no label
    is known, it is LDA. If X is in memory and documents may use at most an eighth of
    the topics on average, and at most 64, a pass costs as much as the labels that
    documents have; otherwise as much as one of LDA.

    Whether unlabelled documents help depends on the corpus: the topics of labels can
    drift towards the subjects of these documents. So their words count less than those
    of labelled ones. A background may take words that distinguish labels. Unless they
    are given, both are chosen by fits of 30 passes to four fifths of the labels that
    predict the rest: once each way, or five times with fewer than 2,500 labels. With
    fewer than 10, there is a background and all documents are used alike.

    Parameters
    ----------
    n_background : int or None, default=None
        Topics that every document may use: the words that no label explains. None is 0
        or 1, by hidden labels; 1 if a document is known to have none of the labels.
    unlabeled_weight : float or None, default=None
        How much a word of an unlabelled document counts, from 0 to 1; with 0, topics
        are learned from labelled documents alone. All documents get mixtures in any
        case. None is 0.03, unless 0, 0.1, 0.3 or 1 predicts hidden labels better by
        more than a standard error. In blocks it is 0 or 1.
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
    unlabeled_weight_ : float
        The weight in use.
    trial_scores_ : list of (int, float, float)
        The settings that were tried: background topics, weight of unlabelled documents,
        and the accuracy on hidden labels (with several labels per document, the label
        ranking average precision). Empty if nothing was tried.

    See Also
    --------
    topicfold.evidence.Labels : the same as a side of any LDA.
    MedLDA, TopicClassifier : models for classification.

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

    learn_priors = None
    _part = Labels
    _asks = True  # a trial has no trials of its own
    n_background: Annotated[int | None, whole(0)]
    topics_per_label: int
    unlabeled_weight: Annotated[float | None, SHARE]

    def __init__(
        self,
        n_background: int | None = None,
        *,
        topics_per_label: int = 1,
        unlabeled_weight: float | None = None,
        doc_topic_prior: Any = None,
        topic_word_prior: float | None = None,
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

        If every training document with known labels had exactly one, a label per
        document; otherwise all labels that are more likely than not, and at least the
        most likely one.
        """
        self._check_labels()
        return self._side(Labels).predict(self.predict_proba(X, **side_data))

    def predict_proba(self, X: Any, **side_data: Any) -> NDArray[np.float64]:
        """Return the probability of each label, in the order of `classes_`.

        They come from a logistic regression on the shares of labels in the document, on
        how likely its words are in their topics (all words alike, or weighted by how
        well they distinguish labels), and on how frequent labels are. It is learned
        from the hidden labels that chose the background. If every training document
        with known labels had one, rows sum to one; if nothing was chosen, the
        probabilities are the shares. Otherwise, and with a matrix of 0 and 1, each
        label has its own probability; if no labels were hidden, it is how often
        documents of the fit with such a share of it had the label, which is
        overconfident.

        Parameters
        ----------
        **side_data
            What else is known of these documents, as in `transform`.
        """
        self._check_labels()
        side = self._side(Labels)
        theta = self.transform(X, **side_data)
        if not hasattr(side, "clue_weights_"):
            return side.probabilities(theta)
        with already_warned():
            counts = self._seen(self._counts(X, allow_empty=True, blocks=True))
        at_once = max(1, min(AT_ONCE, PAIRS_AT_ONCE // len(self.classes_)))
        found = [
            side.probabilities(theta[rows], self._clues(theta[rows], counts[rows]))
            for rows in ranges_of(len(theta), at_once)
        ]
        return np.concatenate(found)

    def _clues(self, theta: Any, counts: Any) -> Clues:
        """Return what predicts the labels of some documents."""
        totals = np.asarray(self.topic_totals_, dtype=np.float64)[:, None]
        own = self.components_ * totals - self.topic_word_prior_
        return self._side(Labels).clues(theta, counts, np.maximum(own, 0.0))

    def score(self, X: Any, y: Any = None, **side_data: Any) -> float:
        """Return the accuracy of :meth:`predict`.

        A document with several labels counts as correct if all its labels are found and
        no others. Documents whose labels are not known are left out.

        Parameters
        ----------
        y : as `labels` of `fit`
            The labels, also as `labels`.
        """
        self._check_labels()
        y = scored(y, "labels", side_data)
        if y is None:
            raise DataError(
                f"{type(self).__name__}.score needs labels: score(X, y). The "
                "log-likelihood of words is -log(perplexity(X))."
            )
        found = self.predict(X, **side_data)
        members, names, unknown, _ = read_labels(y, len(found))
        if unknown.all():
            raise DataError("y has no known label, so there is no score.")
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
            raise MissingAttributeError(
                "LabeledLDA was fitted without any known label, so it has none "
                "to predict."
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
        """Learn what shares mean, from documents folded in without their labels.

        Only if no labels were hidden to choose the background, which say it better.
        """
        side = self._side(Labels)
        learned = hasattr(side, "curve_") or hasattr(side, "clue_weights_")
        if side.several_ and len(side.classes_) and not learned:
            counts = self._counts(X, blocks=True)
            known = side.check(labels, self._new_context(counts.shape[0]))
            n_some = min(MOST_CALIBRATED, MOST_PAIRS // len(side.classes_) + 1)
            rows = np.flatnonzero(~known.unknown)[:n_some]
            with already_warned():
                theta = self._sided_mixtures(self._seen(counts[rows]), {})
            wanted = np.asarray(known.members[rows].todense() != 0)
            side.calibrate(side.shares(theta), wanted)
        return self

    # ---- unlabelled documents, and the background

    def _fit_with_sides(self, counts: Any, side_data: Mapping[str, Any]) -> None:
        given = side_data["labels"]
        members, names, unknown, _ = read_labels(given, counts.shape[0])
        known = KnownLabels(members, unknown)
        n_background, weight = self._chosen(counts, known, names, side_data)
        self.unlabeled_weight_ = weight
        self.sides_[0].set_params(n_background=n_background)
        super()._fit_with_sides(counts, side_data)
        tried = weight if unknown.any() else 0.0
        hidden = self._hidden.get((n_background, tried))
        del self._hidden
        if hidden is None:
            pass
        elif self.sides_[0].several_:
            totals = np.asarray(members[~unknown].sum(axis=0), np.float64).ravel()
            frequencies = (totals + 0.5) / (np.count_nonzero(~unknown) + 1.0)
            side = self.sides_[0]
            side.weigh_clues_of_several(hidden.clues, hidden.wanted, frequencies)
        else:
            self.sides_[0].weigh_clues(hidden.clues, hidden.wanted)
        if weight < 1 and unknown.any():
            known_later = self._of_new_documents(side_data)
            with already_warned():
                theta = self._sided_mixtures(self._seen(counts), known_later)
            self.doc_topics_[unknown] = theta[unknown]

    def _chosen(
        self,
        counts: Any,
        known: KnownLabels,
        names: NDArray[Any],
        side_data: Mapping[str, Any],
    ) -> tuple[int, float]:
        """Return how many background topics there are, and what the others weigh.

        First the background, of fits to labelled documents, then the weight of the
        others with it.
        """
        self.trial_scores_: list[tuple[int, float, float]] = []
        self._hidden: dict[tuple[int, float], Hidden] = {}
        labelled = np.flatnonzero(~known.unknown)
        sizes = np.diff(known.members.indptr)[labelled]
        bare = bool((sizes == 0).any())
        given = self.n_background, self.unlabeled_weight
        if given[0] is None and not (self.init is None or isinstance(self.init, str)):
            n_own = (known.members.sum(axis=0) > 0).sum() * self.topics_per_label
            given = max(len(self.init) - int(n_own), 0), given[1]
        n_background = 1 if given[0] is None else given[0]
        weight = 1.0 if given[1] is None else float(given[1])
        in_blocks = isinstance(counts, BlockCorpus)
        if in_blocks and 0 < weight < 1:
            raise DataError(
                f"unlabeled_weight is {weight}, but for counts in blocks it must be 0 "
                "or 1. Give one of these, or counts in memory."
            )
        if len(labelled) < FEWEST_LABELS or not sizes.any():
            return n_background, weight
        lost: dict[tuple[int, float], NDArray[np.float64]] = {}

        def tried(background: int, weight: float) -> NDArray[np.float64]:
            way = background, weight
            if way not in lost:
                lost[way] = 1 - self._tried(counts, known, names, side_data, *way)
                self.trial_scores_.append((*way, 1 - float(lost[way].mean())))
            return lost[way]

        if given[0] is None and not bare:
            n_background = min((0, 1), key=lambda b: tried(b, 0.0).mean())
        if known.unknown.any() and given[1] is None:
            weights = (0.0, 1.0) if in_blocks else UNLABELED_WEIGHTS
            usual = 0.0 if in_blocks else USUAL_WEIGHT
            losses = {w: tried(n_background, w) for w in weights}
            weight = usual_unless_worse(losses, usual, errors=1.0)
        if self._asks and (sizes != 1).any():  # it says what predicts several labels
            tried(n_background, weight if known.unknown.any() else 0.0)
        return n_background, weight

    def _tried(
        self,
        counts: Any,
        known: KnownLabels,
        labels: NDArray[Any],
        side_data: Mapping[str, Any],
        n_background: int,
        weight: float,
    ) -> NDArray[np.float64]:
        """Return how well the hidden labels of each document are predicted, 0 to 1."""
        trial = clone(self).set_params(
            n_background=n_background,
            unlabeled_weight=weight,
            max_iter=TRIAL_PASSES,  # the same for Resume with another max_iter
            tol=0.0,
            init=self.init if isinstance(self.init, str) else None,
            callbacks=None,
            verbose=False,
        )
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        trial.set_params(random_state=seed)
        trial._asks = False
        members = known.members
        names = np.array([str(label) for label in labels])
        places = {name: place for place, name in enumerate(names)}
        own = np.split(names[members.indices], members.indptr[1:-1])
        found, held_out, clues = [], [], []
        n_kept = MOST_PAIRS // max(members.shape[1], 1)
        several = bool((np.diff(members.indptr)[~known.unknown] != 1).any())
        for hidden in _parts(np.flatnonzero(~known.unknown), seed):
            left: list[Any] = [names.tolist() for names in own]
            for row in (*np.flatnonzero(known.unknown), *hidden):
                left[row] = None
            n_left = len({name for some in left if some for name in some})
            # Other sides may be about a label by its name, such as its seeds.
            if not n_left or (self.sides and n_left < len(names)):
                continue
            with part_of_more(), already_warned():
                SidedLDA.fit(trial, counts, **{**side_data, "labels": left})
                theta = trial._sided_mixtures(trial._seen(counts[hidden]), {})
            shares = np.zeros((len(hidden), members.shape[1]))
            order = [places[str(label)] for label in trial.classes_]
            shares[:, order] = trial._side(Labels).shares(theta)
            found.append(shares)
            held_out.append(members[hidden].toarray() != 0)
            if several or len(trial.classes_) == members.shape[1]:
                known_clues = trial._clues(theta[:n_kept], counts[hidden[:n_kept]])
                own_clues = np.full((len(known_clues), len(names), N_CLUES), np.nan)
                own_clues[:, order] = known_clues
                clues.append((own_clues, held_out[-1][: len(own_clues)]))
                n_kept -= len(own_clues)
        if clues:
            parts = zip(*clues, strict=True)
            self._hidden[n_background, weight] = Hidden(*map(np.concatenate, parts))
        if not found:
            return np.zeros(1)
        return _right(np.vstack(held_out), np.vstack(found))

    def _joined(self, counts: Any, sides: SideData) -> tuple[Any, Any]:
        joined, groups = super()._joined(counts, sides)
        labels = sides.one("mask")
        if self.unlabeled_weight_ < 1 and labels is not None:
            joined = _weighed(joined, labels[1].unknown, self.unlabeled_weight_)
        return joined, groups


def _right(
    wanted: NDArray[np.bool_], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return whether the largest share is right, or how high several labels rank."""
    if (wanted.sum(axis=1) == 1).all():
        return 1.0 * wanted[np.arange(len(wanted)), shares.argmax(axis=1)]
    ranked = label_ranking_average_precision_score
    return np.array([ranked(wanted[[d]], shares[[d]]) for d in range(len(wanted))])


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


def _weighed(counts: Any, unknown: NDArray[np.bool_], weight: float) -> Any:
    """Return counts in which rows that are not known weigh less."""
    if weight == 0:
        return only_rows(counts, np.flatnonzero(~unknown))
    rows = sparse.csr_matrix(counts, copy=True)
    weights = np.repeat(np.where(unknown, weight, 1.0), np.diff(rows.indptr))
    rows.data = rows.data * weights.astype(rows.dtype)
    return rows
