# SPDX-License-Identifier: BSD-3-Clause
"""Topics that distinguish classes: the two-phase framework around any topic model."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from numbers import Integral
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import _fit_context, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from topicfold.core import saved
from topicfold.core.counts import already_warned, normalize_rows, simplex_problems
from topicfold.core.labels import class_members, require_labels
from topicfold.core.parameters import AT_LEAST_ONE, NOT_NEGATIVE, SHARE, whole
from topicfold.core.typing import Array
from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.exceptions import DataError, MissingAttributeError, SpareTopicsWarning
from topicfold.graph import NeighborIndex
from topicfold.graph.embedding import refuse_data
from topicfold.infer.two_phase import (
    class_neighbors,
    class_topic_weights,
    class_word_weights,
    digamma_weights,
    discriminative_mixtures,
    discriminative_topics,
    expected_topic_counts,
    neighbor_mixtures,
    regressed_mixtures,
    weighted_words,
    word_regression,
)
from topicfold.learn.fstm import updated_topics
from topicfold.learn.loop import part_of_more
from topicfold.models.base import (
    TopicModel,
    attribute_of,
    check_documents,
    one_at_a_time,
)
from topicfold.models.fstm import FSTM
from topicfold.models.lda import LDA

# What only some options leave behind.
FITTED_OPTIONS = (
    *("word_weights_", "word_regression_", "regression_mean_"),
    *("label_mixtures_", "training_counts_"),
)
# Parts of the training documents, each predicted by a regression on the others.
REGRESSION_PARTS = 3


class TwoPhase(TopicModel):
    """Supervised topics: a topic model, then topics that distinguish classes.

    Phase 1 fits `base` without labels. Phase 2 infers the training documents again,
    each pulled towards its nearest neighbours of the same class and towards the topics
    that distinguish its class, and learns new topics from the result (docs/math.md §7).
    `transform` is the base model's own inference with the new topics and needs no
    labels.

    Parameters
    ----------
    base : TopicModel or None, default=None
        Model of phase 1: FSTM, PLSA, LDA or a graph model; None is ``FSTM()``.
    n_neighbors : int, default=20
        Neighbours of a document, by KL divergence, inside its class.
    own_weight : float, default=0.1
        λ, the weight of the document itself; the rest is the mean of its neighbours.
    promotion : float, default=0.0
        R, the weight of ``Σ sin θ_k`` over the topics that distinguish the class: 1000
        in the paper. Off by default, because oh0, oh5, oh10 and oh15 were classified
        better without it; on a simulated corpus whose classes differ in rare words, 3
        was better.
    threshold : float, default=1.5
        ε: a topic distinguishes a class if its weight in the class is at least ε times
        its smallest weight in any class.
    n_rounds : int, default=3
        How often phase 2 is repeated, each time from the last topics; 1 in the paper.
    word_weights : {"classes"} or None, default="classes"
        ``"classes"``: both phases and `transform` use ``log(1 + count)`` times how
        informative a word is about the class, ``√KL(p(c|w) ‖ p(c))``, so that topics
        consist of informative words. None: the counts, as always with a base that needs
        whole counts (GibbsLDA). Experimental: not in the paper.
    regression_weight : float, default=0.5
        Share g of a ridge regression on the words in a document's mixture:
        ``(1 − g) θ + g · θ̂``, where θ̂ predicts the mixtures θ* of the last round.
        Single words that distinguish classes are then used directly, as in a classifier
        on words. θ already includes the neighbours. 0 leaves the regression out.
        Experimental: not in the paper.
    neighbor_weight : float, default=0.5
        Share g of a document's nearest training documents (of any class, by cosine
        of tf-idf) in `transform`: ``(1 − g) θ + g · θ̄``, where θ̄ is the mean of their
        mixtures θ* of the last round, weighted by similarity. Keeps the training
        matrix, in the saved model too. Experimental: not in the paper.
    approximate : bool, default=False
        Search neighbours in large classes by their rare words alone: faster, not exact.
    prefit : bool, default=False
        Whether `base` is fitted already; it is copied, not changed.
    n_jobs : int or None, default=None
        Threads of phase 2; None is 1, -1 all. The result is the same for any number.

    Attributes
    ----------
    base_ : TopicModel
        The fitted base model with the new topics.
    components_ : ndarray of shape (n_components, n_features_in_)
        The new topics, rows on the simplex.
    doc_topics_ : ndarray of shape (n_documents, n_components)
        Mixtures of the training documents without their labels. No document is its own
        neighbour or used in its own regression, unlike in ``transform(X)``.
    classes_ : ndarray of shape (n_classes,)
        Labels; column numbers for an indicator matrix.
    class_topic_weights_ : ndarray of shape (n_classes, n_components)
        Share of each topic in the documents of a class, from `doc_topics_`.
    class_topics_ : ndarray of bool of shape (n_classes, n_components)
        Topics that distinguish each class, by those shares.
    round_objectives_ : list of float
        Mean objective of phase 2 of each round.
    word_weights_ : ndarray of shape (n_features_in_,)
        Weights of words, with `word_weights` only.
    word_regression_ : ndarray of shape (n_features_in_, n_components)
        What each word adds to θ̂, with `regression_weight` only.
    label_mixtures_, training_counts_ : csr_array, csr_matrix
        θ* of the training documents, and their words; with `neighbor_weight` only.

    See Also
    --------
    TopicClassifier : predicts, and explains, classes.

    Notes
    -----
    A class with one document is allowed: its neighbourhood is the document. Fewer
    topics than classes are allowed too; classes then share topics. New topics come from
    θ* by the base's kind: FSTM ``φ ∝ Σ_d X_dw θ*_dk``; LDA one E-step with
    ``exp ψ(θ*)``; others one E-step of PLSA. A φ-step of the base is reduced to its
    Dirichlet part, and its θ-step is not used in phase 2.

    References
    ----------
    K. Than, T. B. Ho & D. K. Nguyen (2014). An effective framework for supervised
    dimension reduction. Neurocomputing 139. doi:10.1016/j.neucom.2014.02.017

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import FSTM, TwoPhase
    >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]])
    >>> model = TwoPhase(FSTM(2, random_state=0)).fit(X, ["a", "a", "b", "b"])
    >>> model.class_topic_weights_.max(axis=1).round(1)
    array([0.9, 0.9])
    """

    _takes_blocks = False  # `fit`; `transform` does where the base does
    base: Any
    n_neighbors: Annotated[int, whole(1)]
    own_weight: Annotated[float, SHARE]
    promotion: Annotated[float, NOT_NEGATIVE]
    threshold: Annotated[float, AT_LEAST_ONE]
    n_rounds: Annotated[int, whole(1, 1000)]
    word_weights: Annotated[str | None, StrOptions({"classes"})]
    regression_weight: Annotated[float, SHARE]
    neighbor_weight: Annotated[float, SHARE]
    approximate: bool
    prefit: bool
    n_jobs: Annotated[int | None, Integral]

    def __init__(
        self,
        base: Any = None,
        *,
        n_neighbors: int = 20,
        own_weight: float = 0.1,
        promotion: float = 0.0,
        threshold: float = 1.5,
        n_rounds: int = 3,
        word_weights: str | None = "classes",
        regression_weight: float = 0.5,
        neighbor_weight: float = 0.5,
        approximate: bool = False,
        prefit: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self._store_parameters(locals())

    @classmethod
    def paper(cls, base: Any = None, **options: Any) -> TwoPhase:
        """Return the framework with the settings of the paper.

        R = 1000, one round, 20 neighbours, λ = 0.1, ε = 1.5, counts without weights,
        mixtures of the base alone; `options` set other parameters.

        Examples
        --------
        >>> TwoPhase.paper(FSTM(120))
        TwoPhase(base=FSTM(n_components=120), n_rounds=1, neighbor_weight=0.0,
                 promotion=1000.0, regression_weight=0.0, word_weights=None)
        """
        settings: dict[str, Any] = {
            "n_neighbors": 20,
            "own_weight": 0.1,
            "promotion": 1000.0,
            "threshold": 1.5,
            "n_rounds": 1,
            "word_weights": None,
            "regression_weight": 0.0,
            "neighbor_weight": 0.0,
        }
        return cls(base, **(settings | options))

    @one_at_a_time
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, **not_taken: Any) -> Self:
        """Fit the base model, then learn topics that distinguish the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Counts or other non-negative weights.
        y : array-like of shape (n_documents,) or (n_documents, n_classes)
            Labels, or a matrix of 0 and 1 for several labels per document. -1 (also
            None or "", or a row without 1) is unknown: such a document has neighbours
            in all classes, and no topic is promoted for it.
        **not_taken
            Refused with a sentence, such as embeddings.
        """
        refuse_data(self, not_taken)
        counts, members = self._read(X, y)
        self._do_phases(counts, members)
        return self

    def cross_fit_transform(self, X: Any, y: Any, cv: int = 5) -> Array:
        """Fit, and return documents' mixtures that do not depend on their labels.

        On the mixtures of `fit_transform` every labelling looks learnable, even a
        random one, because the labels moved their topics. So choose the settings of a
        classifier, and measure it, on these; then train it on `fit_transform`, whose
        topics are those of `transform`. The labelled documents are divided into `cv`
        parts; for each part phase 2 is done again without it, from the same start, so
        that topic k is nearly the same topic in all rows. Takes about `cv` times as
        long as `fit`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Counts or other non-negative weights.
        y : array-like of shape (n_documents,) or (n_documents, n_classes)
            Labels, as in `fit`.
        cv : int, default=5
            Number of parts, at least 2.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            Rows on the simplex; documents without a label as in `fit_transform`.

        Examples
        --------
        >>> import numpy as np
        >>> from topicfold import FSTM, TwoPhase
        >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]] * 3)
        >>> model = TwoPhase(FSTM(2, random_state=0))
        >>> model.cross_fit_transform(X, ["a", "a", "b", "b"] * 3, cv=3).shape
        (12, 2)
        """
        found = [
            (hidden, twin.transform(counts[hidden]))
            for hidden, twin, counts in self.cross_fits(X, y, cv)
        ]
        theta = np.array(self.doc_topics_)
        for hidden, rows in found:
            theta[hidden] = rows
        return theta

    def cross_fits(
        self, X: Any, y: Any, cv: int
    ) -> Iterator[tuple[NDArray[np.bool_], TwoPhase, sparse.csr_matrix]]:
        """Fit; return documents, a model without their labels, and all counts."""
        counts, members = self._read(X, y)
        start = self._common_start(counts)
        self._do_phases(counts, members, start)
        return self._twins(counts, members, start, cv)

    def _twins(
        self,
        counts: sparse.csr_matrix,
        members: NDArray[np.bool_],
        start: TopicModel,
        cv: int,
    ) -> Iterator[tuple[NDArray[np.bool_], TwoPhase, sparse.csr_matrix]]:
        """Yield what `cross_fits` returns."""
        labelled = members.any(axis=1)
        parts = split_documents(np.where(labelled, members.argmax(axis=1), -1), cv)
        for part in range(cv):
            hidden = parts == part
            if not hidden.any():
                continue
            if members[~hidden].any(axis=0).sum() < 2:
                raise DataError(
                    f"{int((parts >= 0).sum())} labelled documents are too few to be "
                    f"split into {cv} parts: without part {part} fewer than two "
                    "classes are left. Label more."
                )
            twin = copy.copy(self)
            twin._do_phases(counts, members, start, ~hidden)
            yield hidden, twin, counts

    def _read(self, X: Any, y: Any) -> tuple[sparse.csr_matrix, NDArray[np.bool_]]:
        advice = "Give a label per document, -1 where it is unknown."
        require_labels(y, "TwoPhase", advice)
        self._check_base()
        counts = self._start_fit(X)
        members, self.classes_ = class_members(y, counts.shape[0])
        return counts, members

    def _common_start(self, counts: sparse.csr_matrix) -> TopicModel:
        """Return what all parts of cross-fitting start from: no labels are in it."""
        base = FSTM() if self.base is None else self.base
        if not self._weighs_words() or self.prefit:
            return self._phase_one(counts)
        seed = check_random_state(base.random_state).randint(2**31 - 1)
        if isinstance(base.random_state, Integral):
            seed = base.random_state
        return clone(base).set_params(random_state=seed)

    def _do_phases(
        self,
        counts: sparse.csr_matrix,
        members: NDArray[np.bool_],
        start: TopicModel | None = None,
        seen: NDArray[np.bool_] | None = None,
    ) -> None:
        """Do both phases; `seen`: only these documents have a part in the second."""
        if seen is not None:
            members = members & seen[:, None]
        for name in FITTED_OPTIONS:
            self.__dict__.pop(name, None)  # of an earlier fit with other options
        if self._weighs_words():
            self.word_weights_ = class_word_weights(counts, members)
            counts = weighted_words(counts, self.word_weights_)
        # The second phase moves the topics: one left empty before it is no news.
        with already_warned(SpareTopicsWarning):
            if start is None:
                self.base_ = self._phase_one(counts)
            elif hasattr(start, "components_"):
                self.base_ = copy.deepcopy(start)
            else:
                with part_of_more():
                    self.base_ = clone(start).fit(counts)
            if seen is not None:
                counts, members = counts[seen], members[seen]
                theta = self.base_.doc_topics_[seen]
                self._set_documents(self.base_, counts, theta)
            self._phase_two(counts, members)

    def _weighs_words(self) -> bool:
        return self.word_weights is not None and not getattr(
            self.base, "_needs_whole_counts", False
        )

    def _check_base(self) -> None:
        base = self.base
        fits = base is None or isinstance(base, TopicModel)
        if not fits or isinstance(base, TwoPhase):
            raise DataError(
                f"The 'base' parameter of TwoPhase is a {type(base).__name__}, which "
                "has no topics that it can refine. Give a topic model of topicfold: "
                "FSTM, PLSA, LDA, or a graph model."
            )
        if self.prefit and not hasattr(base, "components_"):
            raise DataError(
                "prefit=True, but 'base' has no topics (components_) yet. Fit it "
                "first, or use prefit=False."
            )

    def _phase_one(self, X: sparse.csr_matrix) -> TopicModel:
        if self.prefit:
            base = copy.deepcopy(self.base)
            self._set_documents(base, X, plain_mixtures(base, X))
            return base
        with part_of_more():
            return (FSTM() if self.base is None else clone(self.base)).fit(X)

    @staticmethod
    def _set_documents(base: Any, X: sparse.csr_matrix, theta: Array) -> None:
        base.doc_topics_ = theta
        base._store_corpus(X)
        if hasattr(base, "training_counts_"):
            base.training_counts_ = X.copy()

    def _phase_two(self, X: sparse.csr_matrix, members: NDArray[np.bool_]) -> None:
        base = self.base_
        neighbors = class_neighbors(
            X,
            members,
            self.n_neighbors,
            approximate=self.approximate,
            n_jobs=self.n_jobs,
        )
        self.round_objectives_: list[float] = []
        for _ in range(self.n_rounds):
            self._weigh_classes(members)
            theta, objective = self._label_mixtures(X, members, neighbors)
            self.round_objectives_.append(objective)
            set_topics(base, X, theta, n_jobs=self.n_jobs)
            # Only promotion asks for mixtures under the topics of every round.
            if self.promotion > 0 or len(self.round_objectives_) == self.n_rounds:
                base.doc_topics_ = plain_mixtures(base, X)
        self._weigh_classes(members)
        if self.neighbor_weight == self.regression_weight == 0:
            return
        mixtures, _ = self._label_mixtures(X, members, neighbors)
        if self.neighbor_weight > 0:
            self.training_counts_, self.label_mixtures_ = X, mixtures
            base.doc_topics_ = self._with_neighbors(base.doc_topics_, None)
        if self.regression_weight > 0:
            base.doc_topics_ = self._learn_regression(X, mixtures, members)
        self._weigh_classes(members)

    def _learn_regression(
        self, X: sparse.csr_matrix, mixtures: sparse.csr_array, members: Any
    ) -> Array:
        """Regress θ* on words; return mixtures that no document had a part in.

        Only documents with a label are learned from. Those of a class are split into
        parts, and each part is predicted from the others; classes of fewer documents
        than parts are not: nothing would be left to predict them from.
        """
        words, known = self._regressors(X), members.any(axis=1)
        weights, mean = word_regression(words[known], mixtures[known].toarray())
        self.word_regression_, self.regression_mean_ = weights.astype(X.dtype), mean
        found = regressed_mixtures(words, weights, mean)
        first = members.argmax(axis=1)
        enough = members.sum(axis=0) >= REGRESSION_PARTS
        codes = np.where(known & enough[first], first, -1)
        parts = split_documents(codes, REGRESSION_PARTS)
        for part in range(REGRESSION_PARTS):
            own, others = parts == part, known & (parts != part)
            if own.any():
                fit = word_regression(words[others], mixtures[others].toarray())
                found[own] = regressed_mixtures(words[own], *fit)
        return self._blend(self.base_.doc_topics_, X, found)

    def _regressors(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        """Words of documents as the regression sees them; repeats count less."""
        return X if hasattr(self, "word_weights_") else X.log1p()

    def _blend(self, theta: Array, X: sparse.csr_matrix, found: Array) -> Array:
        """Mix in the regression's mixtures; a document without words stays as it is."""
        share = np.where(np.diff(X.indptr) > 0, self.regression_weight, 0.0)[:, None]
        return normalize_rows((1.0 - share) * theta + share * found).astype(theta.dtype)

    def _label_mixtures(
        self,
        X: sparse.csr_matrix,
        members: NDArray[np.bool_],
        neighbors: NDArray[np.int64],
    ) -> tuple[sparse.csr_array, float]:
        """Return θ* under the topics as they are, and the mean of the objectives."""
        return discriminative_mixtures(
            X,
            np.ascontiguousarray(self.base_.components_.T, dtype=X.dtype),
            neighbors,
            members,
            self.class_topics_,
            own_weight=self.own_weight,
            promotion=self.promotion,
            device=self.base_.device,
            n_jobs=self.n_jobs,
        )

    def _with_neighbors(self, theta: Array, X: sparse.csr_matrix | None) -> Array:
        """Mix θ with the nearest training documents'; None: training documents."""
        means, found = neighbor_mixtures(
            NeighborIndex(self.training_counts_.log1p()),
            self.label_mixtures_,
            None if X is None else X.log1p(),
            n_neighbors=self.n_neighbors,
            n_jobs=self.n_jobs,
        )
        share = np.where(found, self.neighbor_weight, 0.0)[:, None]
        return normalize_rows((1.0 - share) * theta + share * means).astype(theta.dtype)

    def _weigh_classes(self, members: NDArray[np.bool_]) -> None:
        weights = class_topic_weights(self.base_.doc_topics_, members)
        self.class_topic_weights_ = weights
        self.class_topics_ = discriminative_topics(weights, self.threshold)

    def transform(self, X: Any) -> Array:
        """Return the topic mixtures of documents by the base's own inference.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            Rows on the simplex.
        """
        check_is_fitted(self, "base_")
        X = check_documents(self, X, reset=False, allow_empty=True, blocks=True)
        if isinstance(X, BlockCorpus) and not self._plain():
            blocks = itertools.pairwise(X.offsets.tolist())
            return np.vstack([self.transform(X[first:end]) for first, end in blocks])
        X = self._seen(X)
        with already_warned():
            theta = self.base_.transform(X)
        if self._sees_neighbors():
            theta = self._with_neighbors(theta, X)
        if hasattr(self, "word_regression_"):
            fit = self.word_regression_, self.regression_mean_
            found = regressed_mixtures(self._regressors(X), *fit)
            theta = self._blend(theta, X, found)
        return theta

    def _plain(self) -> bool:
        """Whether `transform` is the base's own inference on the words as they are."""
        fitted = (hasattr(self, name) for name in FITTED_OPTIONS)
        return not any(fitted) and not self._sees_neighbors()

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit, and return the mixtures of the training documents without labels.

        A classifier may be trained on them: see `doc_topics_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Counts or other non-negative weights.
        y : array-like of shape (n_documents,) or (n_documents, n_classes)
            Labels, as in `fit`.
        """
        self.fit(X, y)
        mixed = self.neighbor_weight > 0 or self.regression_weight > 0
        return self.doc_topics_ if mixed else self.transform(X)

    def _sees_neighbors(self) -> bool:
        if self.neighbor_weight > 0 and not hasattr(self, "training_counts_"):
            raise MissingAttributeError(
                "this TwoPhase was fitted with neighbor_weight=0 and did not keep its "
                "training documents. Fit it again, or set neighbor_weight to 0."
            )
        return self.neighbor_weight > 0

    def perplexity(
        self, X: Any, *, random_state: int = 0, cache: float | str | None = None
    ) -> float:
        """Return the held-out perplexity under the new topics (lower is better).

        With `word_weights`, the weighted words are scored; neighbours and regression
        are never used.
        """
        check_is_fitted(self, "base_")
        X = self._seen(check_documents(self, X, reset=False))
        with already_warned():
            return self.base_.perplexity(X, random_state=random_state, cache=cache)

    components_ = attribute_of("base_.components_", "The new topics.")
    doc_topics_ = attribute_of("base_.doc_topics_", "Mixtures of training documents.")
    doc_lengths_ = attribute_of("base_.doc_lengths_", "Tokens of training documents.")

    _saved = saved.forms(
        word_regression_=saved.numbers("VK"), regression_mean_=saved.numbers("K")
    )

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if not hasattr(self, "base_"):
            return  # saved before it was fitted
        if not isinstance(self.base_, TopicModel) or not hasattr(self, "components_"):
            raise ValueError("base_ is not a fitted topic model")
        if self.base_.n_features_in_ != self.n_features_in_:
            raise ValueError("base_ has another number of words")
        seen: Any = getattr(self, "training_counts_", None)
        mixtures: Any = getattr(self, "label_mixtures_", None)
        if seen is mixtures is None:
            return
        if not (
            all(sparse.issparse(x) and x.dtype.kind == "f" for x in (seen, mixtures))
            and seen.shape == (mixtures.shape[0], self.n_features_in_)
            and mixtures.shape[1] == len(self.components_)
            and seen.data.min(initial=0) >= 0
            and not any(simplex_problems("", mixtures.toarray()))
        ):
            raise ValueError("its training documents and their mixtures are invalid")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def split_documents(codes: NDArray[np.int64], n_parts: int) -> NDArray[np.int64]:
    """Divide the labelled documents of each class evenly into parts; -1: no label."""
    if n_parts < 2:
        raise DataError(f"cv={n_parts}: cross-fitting needs at least 2 parts.")
    parts = np.full(len(codes), -1, dtype=np.int64)
    order = np.random.default_rng(0).permutation(len(codes))
    order = order[codes[order] >= 0]
    order = order[np.argsort(codes[order], kind="stable")]
    parts[order] = np.arange(len(order)) % n_parts
    return parts


def set_topics(
    base: Any, X: sparse.csr_matrix, theta: Any, *, n_jobs: int | None = None
) -> None:
    """Give a model the topics, and totals, that sparse mixtures θ* of X imply."""
    if isinstance(base, FSTM):
        old = np.ascontiguousarray(base.components_.T, dtype=X.dtype)
        base.components_ = np.ascontiguousarray(updated_topics(X, theta, old).T)
    else:
        if isinstance(base, LDA):
            prior = base.topic_word_prior_
            theta, weights = digamma_weights(theta), base._topic_weights()
        else:
            prior = base._topic_pseudo_count()
            weights = base.components_
        counts = expected_topic_counts(
            X, theta.toarray(), weights, device=base.device, n_jobs=n_jobs
        )
        counts += prior
        totals = counts.sum(axis=1, dtype=np.float64)
        unused = totals <= 0
        counts /= np.where(unused, 1.0, totals)[:, None].astype(counts.dtype)
        counts[unused] = base.components_[unused]
        base.components_ = counts
        if hasattr(base, "topic_totals_"):
            base.topic_totals_ = totals


def plain_mixtures(base: Any, X: sparse.csr_matrix) -> Array:
    """Return mixtures by the base's inference, without a graph model's neighbours."""
    if isinstance(base, FSTM):
        return base._mixtures(X)
    return TopicModel._mixtures(base, X)
