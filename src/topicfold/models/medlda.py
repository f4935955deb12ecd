# SPDX-License-Identifier: BSD-3-Clause
"""MedLDA: topics and a large-margin classifier learned together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from topicfold.core import saved
from topicfold.core.labels import (
    check_two_classes,
    class_numbers,
    require_labels,
    share_right,
)
from topicfold.core.parameters import POSITIVE
from topicfold.core.typing import Array
from topicfold.graph.embedding import refuse_data
from topicfold.infer.two_phase import class_word_weights
from topicfold.learn import Callback
from topicfold.learn.initial import initial_topics
from topicfold.learn.medlda import MarginDual, MedLdaLearning
from topicfold.learn.online import expected_log_weights
from topicfold.models.base import PRIOR, LearnedModel, one_at_a_time

# The last solution of the margin: to this share of the loss, in at most so many sweeps.
FINAL_TOL = 1e-3
FINAL_SWEEPS = 300


class MedLDA(ClassifierMixin, LearnedModel):
    """Maximum-margin supervised topics: variational LDA with a multi-class SVM.

    A document's mean topic assignment z̄ is classified by ``argmax_y w_y·z̄``. Topics
    and w are learned together: the margin that w leaves a training document pulls
    its topics (docs/math.md §8). New documents need no label. Time O(nnz·K) per pass,
    memory O(nnz + (D + V)·K + D·C) for C classes.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics; fewer than classes are allowed.
    cost : float, default=32.0
        C, the weight of a document's slack beside its log-likelihood.
    loss : float, default=128.0
        ℓ, the margin required of every document; 32 in the two-phase paper's
        comparison.
    max_pull : float or None, default=2.0
        How far the margin may move the logarithm of a topic's weight in a document.
        Without a limit (None, as in the paper) many topics become empty: 35 of 60 on
        2,000 search snippets, where accuracy was 0.89 without the limit and 0.87 with
        it.
    word_weights : {"classes"} or None, default="classes"
        ``"classes"``: instead of counts the model uses ``log(1 + count)`` times how
        informative a word is about the class, ``√KL(p(c|w) ‖ p(c))``; topics consist of
        informative words, and accuracy on oh0 was 3 points higher. None: as in the
        paper.
    doc_topic_prior : float, default=0.5
        α, of every topic.
    topic_word_prior : float, default=0.05
        η, of every word.
    unknown_label : object, default=None
        The label of documents whose class is not known: the topics learn from these
        documents, but the margin does not. None: -1 and ""; None and NaN mean unknown
        in any case.
    doc_tol : float, default=1e-4
        Change of a document's mixture (L1) that ends its updates in `transform`.
    device : {"cpu", "cuda"}, default="cpu"
        Where the passes over documents run; ``"cuda"`` needs an NVIDIA GPU and CuPy
        (``pip install 'topicfold[gpu]'``). The margin is solved on the CPU.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    coef_ : ndarray of shape (n_classes, n_components)
        The weights w of topics in classes.
    components_ : ndarray of shape (n_components, n_features_in_)
        Posterior mean topics, rows on the simplex.
    topic_totals_ : ndarray of shape (n_components,)
        Tokens of each topic, its prior's included.
    doc_topics_ : ndarray of shape (n_documents, n_components)
        Mixtures of the training documents as learned, pulled by their labels;
        ``transform(X)`` returns mixtures without this pull.
    objective_history_ : list of float
        Evidence lower bound less ``½ Σ ‖w_y‖² + C Σ_d ξ_d``, at the start and after
        each iteration. With a large `cost` and `loss` it rises and then swings; see
        Notes.
    margin_violation_ : float
        Largest violation of the optimality condition of w, as a share of `loss`.
    word_weights_ : ndarray of shape (n_features_in_,)
        Weights of words, with `word_weights` only.

    See Also
    --------
    TwoPhase : supervised topics without a classifier inside.

    Notes
    -----
    Mixtures and margin are updated in turn, each with the other held fixed. With
    ``cost=1, loss=1`` the objective was never seen to fall. Without `max_pull` it falls
    in every other of the later iterations, by up to 1.6 % on oh0, and a fit ends with
    `max_iter`, not `tol`; what is predicted does not swing: accuracy on oh0 with 20
    topics was 0.915 to 0.925 after 10, 20, 25, 30, 40 and 60 iterations.

    References
    ----------
    J. Zhu, A. Ahmed & E. P. Xing (2012). MedLDA: maximum margin supervised topic
    models. JMLR 13.

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import MedLDA
    >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]])
    >>> model = MedLDA(2, random_state=0).fit(X, ["sea", "sea", "sky", "sky"])
    >>> model.predict([[1, 1, 0, 0]])
    array(['sea'], dtype='<U3')
    """

    _unsaved_parameters = (*LearnedModel._unsaved_parameters, "unknown_label")
    doc_updates = 2  # per iteration; more cost time and gain little
    max_doc_updates = 200  # `doc_tol` ends almost all documents before
    _parameter_constraints = {"unknown_label": "no_validation"}  # noqa: RUF012
    _takes_blocks = False
    cost: Annotated[float, POSITIVE]
    loss: Annotated[float, POSITIVE]
    max_pull: Annotated[float | None, POSITIVE]
    word_weights: Annotated[str | None, StrOptions({"classes"})]
    doc_topic_prior: Annotated[float, PRIOR]
    topic_word_prior: Annotated[float, PRIOR]
    unknown_label: Any

    def __init__(
        self,
        n_components: int = 10,
        *,
        cost: float = 32.0,
        loss: float = 128.0,
        max_pull: float | None = 2.0,
        word_weights: str | None = "classes",
        doc_topic_prior: float = 0.5,
        topic_word_prior: float = 0.05,
        unknown_label: Any = None,
        init: Any = "neighbors",
        max_iter: int = 30,
        tol: float = 1e-5,
        doc_tol: float = 1e-4,
        random_state: Any = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        self._store_parameters(locals())

    @one_at_a_time
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, **not_taken: Any) -> Self:
        """Learn topics and classifier.

        Parameters
        ----------
        y : array-like of shape (n_documents,)
            One label per document.
        **not_taken
            Refused with a sentence, such as embeddings.
        """
        refuse_data(self, not_taken)
        advice = "Give a label per document, or use LDA, which needs none."
        require_labels(y, "MedLDA", advice)
        counts = self._start_fit(X)
        codes, self.classes_ = class_numbers(y, counts.shape[0], self.unknown_label)
        check_two_classes(codes, len(self.classes_), "a margin", self.unknown_label)
        if self.word_weights is not None:
            members = codes[:, None] == np.arange(len(self.classes_))
            self.word_weights_ = class_word_weights(counts, members)
        counts = self._seen(counts)
        self._store_corpus(counts)
        rng = check_random_state(self.random_state)
        dual = MarginDual(
            codes, len(self.classes_), self._size, cost=self.cost, loss=self.loss
        )
        learning = MedLdaLearning(
            self._engine(counts),
            initial_topics(counts, self._size, self.init, rng, self.n_jobs),
            dual,
            np.full(self._size, float(self.doc_topic_prior)),
            float(self.topic_word_prior),
            doc_updates=self.doc_updates,
            max_pull=self.max_pull,
        )
        self._learn(learning)
        self.margin_violation_ = learning.solve_margin(FINAL_TOL, FINAL_SWEEPS)
        self.coef_ = dual.weights.astype(counts.dtype)
        self.topic_totals_ = learning.topic_totals()
        return self

    def decision_function(self, X: Any) -> Array:
        """Return ``w_y·z̄`` of every class, or the second less the first of two.

        Returns
        -------
        ndarray of shape (n_documents, n_classes), or (n_documents,) for two classes
            The class with the largest value is predicted.
        """
        check_is_fitted(self, "coef_")
        X = self._counts(X, allow_empty=True)
        values: Array = self._mean_assignments(X) @ self.coef_.T
        return values if len(self.classes_) > 2 else values[:, 1] - values[:, 0]

    def _mean_assignments(self, X: sparse.csr_matrix) -> Array:
        """Return z̄: mixtures without what the prior put in; uniform if empty."""
        seen = self._seen(X)
        theta = self._mixtures(seen)
        lengths = np.asarray(seen.sum(axis=1, dtype=np.float64))
        prior = self.doc_topic_prior
        counts = theta * (lengths + prior * self._size) - prior
        assignments = np.where(lengths > 0, counts / np.maximum(lengths, 1e-30), theta)
        return assignments.astype(X.dtype)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each document."""
        values = self.decision_function(X)
        best = values.argmax(axis=1) if values.ndim == 2 else (values > 0).astype(int)
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy on the documents whose class is known."""
        return share_right(y, self.predict(X), self.unknown_label, sample_weight)

    def _fold_in_options(self) -> dict[str, Any]:
        weights = expected_log_weights(self.components_, self.topic_totals_)
        return {
            **super()._fold_in_options(),
            "prior": float(self.doc_topic_prior),
            "link": "digamma",
            "topic_weights": weights,
        }

    _needed_state = ("n_features_in_", "topic_totals_", "coef_", "classes_")

    _saved = saved.forms(coef_=saved.numbers("CK"))

    def _sizes(self) -> dict[str, int]:
        classes: Any = getattr(self, "classes_", None)
        if getattr(classes, "ndim", 0) != 1 or len(classes) < 2:
            raise ValueError("classes_ is not an array of two classes or more")
        return {**super()._sizes(), "C": len(classes)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Topics see proportions only: points in the plane have one dimension left.
        tags.classifier_tags.poor_score = True
        return tags
