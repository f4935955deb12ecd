# SPDX-License-Identifier: BSD-3-Clause
"""Correlated topics, and the structural topic model: covariates of mixtures and words.

A fit tries several starts, each for some passes, and continues with the best.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from topicfold.core import saved
from topicfold.core.counts import already_warned, only_rows
from topicfold.core.parameters import POSITIVE, topic_number, whole
from topicfold.core.side_table import SideTable
from topicfold.core.threads import n_threads
from topicfold.core.typing import Array
from topicfold.exceptions import DataError, SpareTopicsWarning, UnsettledWarning
from topicfold.graph.embedding import refuse_data
from topicfold.infer.fold_in import fold_in
from topicfold.learn import Callback, run_em
from topicfold.learn.initial import initial_topics
from topicfold.learn.learner import Learner, LeftOut
from topicfold.learn.loop import part_of_more
from topicfold.metrics.words import contrasting_words
from topicfold.models.base import EMPTY, PRIOR, STARTS
from topicfold.models.lda import LDA, default_topic_word_prior
from topicfold.models.plsa import PLSA
from topicfold.models.streamed import not_streamed
from topicfold.parts.sides import check_rows, is_missing
from topicfold.parts.steps import Context, DirichletPhi, PhiStep, ThetaStep
from topicfold.parts.tables import wording_tables
from topicfold.phi.slices import GroupedPhi, numbered
from topicfold.theta.logistic_normal import (
    EVERY_PASSES,
    Known,
    LogisticNormalTheta,
    sampled_every,
)

# Passes of every start before the best is chosen, and of documents before the first.
START_PASSES = 20
START_UPDATES = 20
# Passes in which topics are learned; then mixtures settle.
LEARNING_PASSES = 60
# Groups of content whose words a report shows.
MOST_GROUPS = 8


class CorrelatedLDA(PLSA):
    """Correlated topic model: topics that occur together, by a logistic normal.

    ``θ_d = softmax(η_d)``, ``η_d ~ N(μ, Σ)``, ``φ_k ~ Dirichlet(η + 1)``; mixtures are
    the softmax of the mode. It predicts words about as well as LDA does. Use it for the
    correlations between topics, and :class:`StructuralLDA` for effects of covariates.
    Time O(nnz·K + D·K²) per pass.

    Parameters
    ----------
    topic_word_prior : float or None, default=None
        η, pseudo-counts of every word in a topic. None is LDA's.
    n_starts : int, default=1
        Starts that are tried for 20 passes each; the best is continued. The first is
        that of `init`, the others are fits of LDA.
    init : str or array of shape (K, V), default="lda"
        Start of the topics: "lda", those that :class:`LDA` finds with its defaults, or
        as in :class:`PLSA`. "spectral" has anchor words, as R's stm does, and needs no
        random numbers; it finds fewer of the topics of simulated documents.
    max_iter : int, default=300
        Maximum number of iterations. Topics are learned in the first 60; then mixtures
        and Σ settle before it ends earlier.

    Attributes
    ----------
    topic_correlations_ : ndarray of shape (n_components, n_components)
        Correlations of ``log θ`` less its mean over topics, by Σ.
    objective_history_ : list of float
        Approximate bound of the log-likelihood, up to a constant. It need not rise
        while topics are learned: a token's own share is left out of its document, and
        half of its count out of its word's counts, as in LDA. After that it never
        falls, except where the documents' covariances are computed again, every ten
        passes up to pass 100.
    start_objectives_ : list of float
        Objective of each start after its first passes.

    References
    ----------
    D. Blei, J. Lafferty (2007). A correlated topic model of Science. Annals of Applied
    Statistics 1.

    Examples
    --------
    >>> from topicfold import CorrelatedLDA
    >>> X = [[5, 4, 0, 0, 1], [4, 6, 0, 0, 2], [0, 0, 3, 5, 1], [0, 0, 6, 4, 1]] * 3
    >>> model = CorrelatedLDA(2, random_state=0).fit(X)
    >>> model.topic_correlations_.round(1)
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    _weighs_documents: ClassVar[bool] = False
    _binds_topics = "how its topics are correlated"

    sides = theta_step = phi_step = None
    partial_fit = not_streamed("it learns from the whole corpus")
    _part = LogisticNormalTheta
    topic_word_prior: Annotated[float | None, PRIOR]
    shrinkage: float
    n_starts: Annotated[int, whole(1, 1000)]
    init: Annotated[Any, StrOptions({*STARTS, "lda"}), "array-like"]

    # ---- fitting

    def __init__(
        self,
        n_components: int = 10,
        *,
        topic_word_prior: float | None = None,
        shrinkage: float = 0.0,
        n_starts: int = 1,
        init: Any = "lda",
        max_iter: int = 300,
        tol: float = 1e-5,
        doc_tol: float = 1e-4,
        random_state: Any = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        self._store_parameters(locals())

    def _fit_counts(
        self,
        X: sparse.csr_matrix,
        y: Any,
        side_data: Mapping[str, Any] = EMPTY,
        sides: Any = None,
    ) -> None:
        self._store_corpus(X)
        self.topic_word_prior_ = self._prior(X)
        seen = self._content_seen(X, side_data)
        engine = self._engine(seen)
        step = self._theta_step()
        context = Context.of(engine, np.zeros((engine.n_terms, self._size)))
        data = step.check(side_data.get("prevalence"), context)
        every = sampled_every(seen.shape[0], self._size)
        words = only_rows(seen, np.arange(0, seen.shape[0], every)).astype(np.float64)
        data = Known(data.design, lambda: words)
        best = self._best_start(X, seen, engine, step, data)
        self.theta_step_: ThetaStep = best.theta_step
        self._learn(best)
        self._fitted_algorithm(best)

    def _prior(self, X: Any) -> float:
        if self.topic_word_prior is not None:
            return float(self.topic_word_prior)
        tokens = float(self.doc_lengths_.sum())
        return default_topic_word_prior(tokens, X.shape[1], self._size)

    def _best_start(
        self, X: Any, seen: Any, engine: Any, step: LogisticNormalTheta, data: Known
    ) -> LeftOut:
        """Return the learner of the best start, ready to go on."""
        rng = check_random_state(self.random_state)
        learners, found = [], []
        for number in range(self.n_starts):
            init = self.init if number == 0 else "lda"
            phi = self._start(X, init, rng)
            learner = self._learner(self._spread(phi), seen, engine, step, data)
            if self.n_starts > 1:
                with part_of_more():
                    went = run_em(learner, max_iter=START_PASSES, tol=0.0)
                found.append(float(went.history[-1]))
            learners.append(learner)
        self.start_objectives_: list[float] = found
        return learners[int(np.argmax(found)) if found else 0]

    def _start(self, X: Any, init: Any, rng: np.random.RandomState) -> Array:
        if not isinstance(init, str) or init != "lda":
            return initial_topics(X, self._size, init, rng, self.n_jobs)
        place: dict[str, Any] = {"device": self.device, "n_jobs": self.n_jobs}
        with part_of_more(), already_warned(SpareTopicsWarning, UnsettledWarning):
            return LDA(self._size, random_state=rng, **place).fit(X).components_

    def _learner(
        self, phi: Array, X: Any, engine: Any, step: LogisticNormalTheta, data: Known
    ) -> LeftOut:
        """Return a learner whose documents are at their modes under `phi`."""
        own = copy(step)
        own.start(data.design.shape[1], self._size)
        theta = fold_in(
            X,
            phi,
            step=own,
            data=Known(data.design),
            max_iter=START_UPDATES,
            tol=0.01,
            dtype=X.dtype,
            device=self.device,
            n_jobs=self.n_jobs,
        )
        learner = LeftOut(
            *(engine, phi, own, self._phi_step()),
            data=data,
            word_prior=self.topic_word_prior_,
            last=LEARNING_PASSES,
        ).extrapolated()
        learner.documents = engine.pack_documents(theta)
        # From one pass that takes covariances to the next.
        learner.settles_over = EVERY_PASSES
        return learner

    def _theta_step(self) -> LogisticNormalTheta:
        step: LogisticNormalTheta = self._made_part()
        step._validate_params()
        return step

    def _phi_step(self) -> PhiStep:
        return DirichletPhi(1.0 + self.topic_word_prior_)

    def _content_seen(self, X: Any, side_data: Mapping[str, Any]) -> Any:
        """Return the counts that are learned from; they may have other columns."""
        return X

    def _spread(self, phi: Array) -> Array:
        """Return topics over the columns that are learned from."""
        return phi

    def _fitted_algorithm(self, algorithm: Learner) -> None:
        self.topic_correlations_ = self._step.correlations()

    def _side_tables(self, vocabulary: Sequence[str]) -> Iterable[SideTable]:
        yield from super()._side_tables(vocabulary)
        rows = tuple(str(topic) for topic in range(len(self.topic_correlations_)))
        yield SideTable(
            name="correlations",
            kind="correlations",
            rows=rows,
            values=self.topic_correlations_,
            note="Correlations of log shares, centred by their mean over topics.",
        )

    @property
    def _step(self) -> LogisticNormalTheta:
        check_is_fitted(self, "components_")
        step: LogisticNormalTheta = self.theta_step_  # type: ignore[assignment]
        return step

    # ---- results

    def theta_draws(
        self,
        n_draws: int = 25,
        *,
        X: Any = None,
        random_state: Any = 0,
        **side_data: Any,
    ) -> NDArray[np.float32]:
        """Return draws of the mixtures from the documents' posteriors.

        For regressions on topics that account for the uncertainty of the mixtures (the
        method of composition). Gaussian draws of η around the mode.

        Parameters
        ----------
        n_draws : int, default=25
            How many.
        X : {array-like, sparse matrix} or None, default=None
            Documents. None: those of the fit, whose words are not kept; then all tokens
            are assumed to be equally informative about their topics.
        random_state : int or RandomState, default=0
            Seed.
        **side_data
            What is known of `X`, as in `transform`.

        Returns
        -------
        ndarray of shape (n_draws, n_documents, n_components)
            Rows on the simplex.
        """
        step, rng = self._step, check_random_state(random_state)
        threads = n_threads(self.n_jobs)
        if X is None:
            return step.draws(
                *(self.doc_topics_, n_draws, rng),
                lengths=self.doc_lengths_,
                threads=threads,
            )
        X = self._counts(X, allow_empty=True)
        theta = self._sided_mixtures(self._seen(X), side_data)
        draws = np.empty((n_draws, *theta.shape), np.float32)
        for rows, topics in self._topic_parts(X, side_data):
            draws[:, rows] = step.draws(
                *(theta[rows], n_draws, rng),
                lengths=np.zeros(len(theta)),
                words=X[rows],
                topics=topics,
                threads=threads,
            )
        return draws

    def bound(self, X: Any, **side_data: Any) -> float:
        """Return the approximate bound of the log-likelihood that R's stm reports.

        ``Σ_d [ℒ_d + ½ log|H_d⁻¹| − ½ (η − μ)ᵀ Σ⁻¹ (η − μ) − ½ log|Σ|]`` at the modes
        of documents, H being the curvature there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Documents; those of the fit to compare fits.
        **side_data
            What is known of them, as in `transform`.
        """
        step = self._step
        X = self._counts(X, allow_empty=True)
        theta = self._sided_mixtures(self._seen(X), side_data)
        known = self._known(X, side_data)
        parts = self._topic_parts(X, side_data)
        return sum(step.bound(theta[r], X[r], t, known[r]) for r, t in parts)

    def _known(self, X: Any, side_data: Mapping[str, Any]) -> Known:
        return self._step.check(side_data.get("prevalence"), self._new_context(X))

    def _topic_parts(
        self, X: Any, side_data: Mapping[str, Any]
    ) -> Sequence[tuple[Any, Array]]:
        return [(np.arange(X.shape[0]), self.components_)]

    _saved = saved.forms(topic_correlations_=saved.numbers("KK"))

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        super()._check_fitted(sizes)
        if not isinstance(getattr(self, "theta_step_", None), LogisticNormalTheta):
            raise ValueError("theta_step_ is not that of the model")  # noqa: TRY004


class StructuralLDA(CorrelatedLDA):
    """Structural topic model: covariates change topic shares, groups change words.

    ``η_d ~ N(x_d Γ, Σ)``: *prevalence*, how much documents say about a topic, depends
    on covariates. With *content*, the words of a topic depend on a group of documents:
    ``φ_gkw ∝ N_gwk + κ φ_kw``. :func:`topicfold.effects.estimate_effect` has the
    effects of covariates on shares of topics, with intervals.

    Parameters
    ----------
    content_strength : float, default=3000.0
        κ, in tokens: with more, groups share more of a topic's words.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features_in_)
        Topics φ, rows on the simplex; with content, the common ones.
    prevalence_names_ : list of str
        Columns of the covariates, the intercept first.
    prevalence_effects_ : ndarray of shape (n_columns, n_components)
        Γ, of covariates scaled as in the fit; the last topic is the reference.
    content_groups_ : list of str
        Groups of `content`, empty without.

    References
    ----------
    M. Roberts, B. Stewart, D. Tingley et al. (2014). Structural topic models for
    open-ended survey responses. American Journal of Political Science 58.

    Examples
    --------
    >>> from topicfold import StructuralLDA
    >>> X = [[5, 4, 0, 0, 1], [4, 6, 0, 0, 2], [0, 0, 3, 5, 1], [0, 0, 6, 4, 1]] * 3
    >>> table = {"treated": [1, 1, 0, 0] * 3}
    >>> model = StructuralLDA(2, random_state=0).fit(X, prevalence=table)
    >>> model.prevalence_names_
    ['intercept', 'treated']
    >>> model.transform(X[:1], prevalence={"treated": [1]}).shape
    (1, 2)
    """

    # Where the bound is that of a fit of R's stm: effects depend on it little.
    content_strength: Annotated[float, POSITIVE]
    ridge: float
    formula: str | None

    def __init__(
        self,
        n_components: int = 10,
        *,
        content_strength: float = 3000.0,
        ridge: float = 1.0,
        formula: str | None = None,
        topic_word_prior: float | None = None,
        shrinkage: float = 0.0,
        n_starts: int = 1,
        init: Any = "lda",
        max_iter: int = 300,
        tol: float = 3e-7,
        doc_tol: float = 1e-4,
        random_state: Any = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        self._store_parameters(locals())

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        prevalence: Any = None,
        content: Any = None,
        **not_taken: Any,
    ) -> Self:
        """Learn topics, mixtures and the effects of covariates on them.

        Parameters
        ----------
        prevalence : data frame, mapping of columns, array or None, default=None
            Covariates of topic shares, one row per document; the formula names those
            that are used.
        content : sequence of str or None, default=None
            The group of each document; each group may have its own words for a topic.
        **not_taken
            Refused with a sentence, such as embeddings.
        """
        refuse_data(self, not_taken)
        given = {"prevalence": prevalence, "content": content}
        known = {name: value for name, value in given.items() if value is not None}
        return super().fit(X, y, **known)

    def _keywords(self, sides: Sequence[Any]) -> list[str]:
        return [*super()._keywords(sides), "content"]

    def _fit_sided(
        self, X: Any, y: Any, sides: list[Any], side_data: Mapping[str, Any]
    ) -> None:
        self._check_keywords(sides, side_data)
        self._fit_counts(self._start_fit(X), y, side_data)

    def _content_seen(self, X: Any, side_data: Mapping[str, Any]) -> Any:
        self.content_groups_: list[str] = []
        content = side_data.get("content")
        if content is None:
            return X
        content = _group_names(content, X.shape[0])
        missing = [row for row, name in enumerate(content) if is_missing(name)]
        if missing:
            more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
            raise DataError(
                f"content is missing in row {missing[0]}{more}. "
                "Give every document of the fit a group."
            )
        self.content_groups_ = sorted({str(name) for name in content})
        alone = [g for g in self.content_groups_ if _count(content, g) < 2]
        if alone or len(self.content_groups_) < 2:
            what = f"one document of the group {alone[0]!r}" if alone else "one group"
            raise DataError(
                f"content has {what}, so there is nothing to compare. Merge rare "
                "groups, or leave content out."
            )
        slices = numbered(content, self.content_groups_, "content")
        self.phi_step_ = GroupedPhi(self.content_strength, self.topic_word_prior_)
        return self.phi_step_.widen(X, slices, len(self.content_groups_))

    def _spread(self, phi: Array) -> Array:
        return phi[:, self.phi_step_.pair_words_] if self.content_groups_ else phi

    def _phi_step(self) -> PhiStep:
        return self.phi_step_ if self.content_groups_ else super()._phi_step()

    def _fitted_algorithm(self, algorithm: Learner) -> None:
        super()._fitted_algorithm(algorithm)
        if self.content_groups_:
            dtype = self.components_.dtype
            self.components_ = self.phi_step_.common().astype(dtype)
        step = self._step
        self.prevalence_names_ = step.names()
        last = np.zeros((len(step.gamma_), 1))
        self.prevalence_effects_ = np.hstack([step.gamma_, last])

    def _side_tables(self, vocabulary: Sequence[str]) -> Iterable[SideTable]:
        yield from super()._side_tables(vocabulary)
        groups = enumerate(self.content_groups_[:MOST_GROUPS])
        named = ((name, self.phi_step_.words_of(place)) for place, name in groups)
        what = "words of groups"
        yield from wording_tables(named, self.components_, vocabulary, what)

    def topics_of(self, group: str) -> Array:
        """Return the topics (n_components, n_features_in_) in the words of a group.

        Parameters
        ----------
        group : str
            One of `content_groups_`.
        """
        check_is_fitted(self, "components_")
        if not self.content_groups_:
            raise DataError("the fit had no groups. Give fit(X, content=...).")
        number = int(numbered([group], self.content_groups_, "group")[0])
        return self.phi_step_.topics_of(number).astype(self.components_.dtype)

    def perspectives(
        self,
        topic: int,
        groups: tuple[str, str],
        n: int = 10,
        *,
        vocabulary: Sequence[str] | None = None,
    ) -> tuple[list[str], list[str]]:
        """Return the words of a topic that distinguish two groups most.

        By the difference of their shares of the topic.

        Parameters
        ----------
        topic : int
            The topic.
        groups : (str, str)
            Two of `content_groups_`.
        n : int, default=10
            Words of each.
        vocabulary : sequence of str or None, default=None
            The words of the columns; None: those of the data frame that was fitted.

        Returns
        -------
        (list of str, list of str)
            Words of the first group and of the second, the most different first.
        """
        check_is_fitted(self, "components_")
        topic = topic_number(topic, len(self.components_))
        one, other = (self.topics_of(group)[topic] for group in groups)
        words = [str(word) for word in self._column_words(vocabulary)]
        return contrasting_words(one, other, words, n)

    def _topic_parts(
        self, X: Any, side_data: Mapping[str, Any]
    ) -> Sequence[tuple[Any, Array]]:
        content = side_data.get("content")
        if content is None:
            return super()._topic_parts(X, side_data)
        if not self.content_groups_:
            raise DataError("content was given, but the fit had none. Leave it out.")
        content = _group_names(content, X.shape[0])
        slices = numbered(content, self.content_groups_, "content")
        return [
            (np.flatnonzero(slices == number), self._topics_of_number(int(number)))
            for number in np.unique(slices)
        ]

    def _topics_of_number(self, number: int) -> Array:
        if number < 0:
            return self.components_
        return self.phi_step_.topics_of(number).astype(self.components_.dtype)

    def _mixtures(self, X: Any, known: Any = None) -> Array:
        if (known or {}).get("content") is None:
            return super()._mixtures(X, known)
        data = self._known(X, known)
        return self._mixtures_by_part(X, known, data, step=self._step)

    _saved = saved.forms(content_groups_=saved.texts())

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        super()._check_fitted(sizes)
        groups = getattr(self, "content_groups_", [])
        if groups:
            if not isinstance(self.phi_step_, GroupedPhi):
                raise ValueError("phi_step_ is not that of the model")
            self.phi_step_._check_slices(*self.components_.shape)
            if self.phi_step_.n_slices_ != len(groups):
                raise ValueError("content_groups_ are not those of the topics")


def _group_names(content: Any, n_documents: int) -> list[Any]:
    if isinstance(content, str):
        raise DataError(
            f"content is the text {content!r}. Give the group of every document, such "
            "as table['party']."
        )
    names = list(content)
    check_rows("content", len(names), n_documents)
    return names


def _count(names: list[Any], name: str) -> int:
    return sum(str(one) == name for one in names)
