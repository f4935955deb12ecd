# SPDX-License-Identifier: BSD-3-Clause
"""Latent Dirichlet allocation by CVB0 or variational Bayes, in batch or online."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from topicfold.core.parameters import NOT_NEGATIVE, level_of_caller, warn_caller, whole
from topicfold.core.typing import Array
from topicfold.engine import Link
from topicfold.exceptions import DataError, UnsettledWarning
from topicfold.learn import Callback
from topicfold.learn.learner import OWN_WORD_SHARE, Cvb0, Learner, Variational
from topicfold.learn.online import (
    OnlineFit,
    OnlineLearner,
    Stream,
    expected_log_weights,
)
from topicfold.learn.rearranging import sample_of
from topicfold.metrics.perplexity import left_to_right_log_likelihood
from topicfold.models.base import PRIOR, STARTS, LearnedModel
from topicfold.models.sided import SidedModel
from topicfold.models.streamed import StreamedModel, not_streamed
from topicfold.parts.sides import Side
from topicfold.parts.steps import PhiStep
from topicfold.parts.together import check_place

# Of a corpus: Σ_k α_k and the largest α_k, and η as a share of the mean count of a word
# in a topic, within limits; the upper one falls with the root of the number of topics
# (benchmarks/results/lda_quality.md).
ALPHA_SUM, ALPHA_MOST = 2.0, 0.2
# Topics beyond which Σ_k α_k grows with the root of their number.
FEW_TOPICS = 20
ETA_SHARE = 0.1
ETA_LEAST, ETA_MOST, ETA_MOST_BY_ROOT = 0.002, 0.1, 0.3
# Words are rare up to the first count of the median word in a topic, and frequent from
# the second. If they are frequent, a token's own count is left out of its word's counts
# completely, not by half, and the upper limit of η does not fall
# (benchmarks/results/mixtures.md).
RARE, FREQUENT = 1.0, 2.0
# α, η and the start of a stream, of which only the first batch is known.
STREAM_PRIORS = {"cvb0": (0.05, 0.01), "variational": (0.1, 0.01)}
STREAM_INIT = {"cvb0": "random", "variational": "svd"}
CVB0_TOL = 5e-5
DEFAULT_TOL = 1e-5
# Tolerances of topics that start from clusters of embeddings, for short texts and for
# longer ones. More passes lead away from the clusters, and mixtures then agree less
# with classes; in longer texts, common words need some passes to leave the clusters
# (benchmarks/results/embeddings.md).
EMBEDDED_TOLS = 1e-3, 3e-4
ALGORITHMS = {"cvb0": Cvb0, "variational": Variational}


class DirichletTopics(LearnedModel):
    """What LDA has with any algorithm: α, and the likelihood under it."""

    doc_topic_prior_: NDArray[np.float64]
    topic_word_prior_: float

    def left_to_right(
        self, X: Any, *, n_particles: int = 20, n_sweeps: int = 1, random_state: int = 0
    ) -> NDArray[np.float64]:
        """Return the log-likelihood of each document, by left-to-right sampling.

        Whole documents are scored, with α = `doc_topic_prior_`; see
        :func:`topicfold.metrics.left_to_right_log_likelihood`. Time grows with the
        square of a document's length.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Whole counts of documents that were not fitted.
        n_particles : int, default=20
            Independent walks over each document; more walks give less noise.
        n_sweeps : int, default=1
            How often the tokens before each token are drawn again.
        random_state : int, default=0
            Seed.

        Returns
        -------
        ndarray of shape (n_documents,)
            Natural logarithms; perplexity is ``exp(-sum / tokens)``.
        """
        check_is_fitted(self, "components_")
        counts = self._counts(X)
        return left_to_right_log_likelihood(
            counts,
            self.components_,
            self.doc_topic_prior_,
            n_particles=n_particles,
            n_sweeps=n_sweeps,
            random_state=random_state,
            n_jobs=self.n_jobs,
        )


class LDA(SidedModel, StreamedModel):
    """Latent Dirichlet allocation: topics of word counts, a mixture per document.

    ``θ_d ~ Dirichlet(α)``, ``φ_k ~ Dirichlet(η)``, ``p(w|d) = Σ_k θ_dk φ_kw``.
    Time O(nnz·K) per pass, memory O(nnz + (D + V)·K). Passes over a whole corpus are
    extrapolated, so that fewer are needed.

    Parameters
    ----------
    algorithm : {"cvb0", "variational"}, default="cvb0"
        ``"cvb0"``: collapsed variational Bayes of order zero, the fastest way to a low
        perplexity. A token is assigned by the counts of the others: its own count is
        left out of its document's counts completely, and out of its word's counts by
        half, or by more where half of the words have more than one token per topic, or
        where documents repeat words no more often than their topics say (with
        `batch_size` or `phi_step` it is kept in). ``"variational"``: mean-field
        variational Bayes with its evidence lower bound.
    doc_topic_prior : float, array of shape (n_components,) or None, default=None
        α. None is ``2 / n_components``, for more than 20 topics
        ``2 / sqrt(20 * n_components)``, and at most 0.2; in `partial_fit` 0.05 for
        CVB0 and 0.1 for variational Bayes.
    topic_word_prior : float or None, default=None
        η. None is a tenth of the mean count of a word in a topic, at least 0.002 and
        at most ``0.3 / sqrt(n_components)`` or 0.1; with CVB0 on a whole corpus,
        without sides, at most 0.1 for any number of topics where half of the words have
        more than two tokens per topic. In `partial_fit`, which does not know the
        corpus, it is 0.01.
    learn_priors : bool or None, default=None
        Learn priors every five iterations (online: a little with every batch,
        variational Bayes only), starting from the values above. Variational Bayes
        learns an asymmetric α and a symmetric η. CVB0 learns an asymmetric α from the
        topics of a sample's tokens before passes 6, 12, 18, 24 and 30 (and some more
        where topics still move and words are repeated no more often than the topics
        say), when topics are also merged and split: two that are the same become one,
        and a mixed one becomes two. Without that, large topics stay split and small
        ones stay joined. Σα never falls and η does not change, because smaller values
        ruin the topics of short texts. With weights that are not counts, only the
        shares of topics in α are learned. Topics with a meaning in one of the `sides`,
        such as those of labels and seeds, are never split or replaced. None learns
        them for CVB0 on a whole corpus, if you give neither `phi_step` nor
        `doc_topic_prior`, and for online variational Bayes; α does not change if a
        side influences the topics of
        documents.
    phi_step : PhiStep or None, default=None
        How expected counts plus η become topics; for instance
        :class:`~topicfold.phi.OrthogonalPhi` makes them share few words. Only with CVB0
        on the whole corpus. Experimental: not measured in any paper.
    init : {"clusters", "documents", "neighbors", "random", "svd"}, array (K, V) or None
        Start of the topics, as in :class:`PLSA`; ``"clusters"`` starts each topic from
        a cluster of documents, found by k-means on their first singular vectors; words
        in more than 30 % of the documents (80 % for fewer than 10 topics) start in a
        few separate topics or in one cluster, so that they do not dominate all topics,
        unless the documents' shares of them differ only by chance. None is
        ``"clusters"``, with seeds ``"neighbors"``; in `partial_fit`
        ``"random"`` for CVB0 and ``"svd"`` for variational Bayes.
    max_iter : int, default=200
        Maximum number of iterations (passes over the corpus).
    tol : float or None, default=None
        Relative change of the objective per iteration that ends the fit. For CVB0 on
        a whole corpus the mean of the last five, and ten times `tol` (thirty times,
        once no more topics are merged or split) is the share of a document's mixture
        that a pass may still move in the mean: the likelihood settles before the
        mixtures do. None is 5e-5 there, else 1e-5; where topics start from clusters of
        embeddings 1e-3, or 3e-4 in texts of 40 words or more.
    batch_size : int or None, default=None
        None fits on the whole corpus at once; a number learns online from
        mini-batches of that many documents.
    learning_decay : float, default=0.7
        Online: exponent κ of the step ``ρ_t = (t0 + t)^-κ``.
    learning_offset : float, default=1.0
        Online: t0, damps the first steps.
    total_documents : int or None, default=None
        `partial_fit`: size of the stream; None counts what has been seen.
    random_state : int, RandomState or None, default=None
        Seed of the start and of the order of mini-batches.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features_in_)
        Topics φ (posterior mean or mode), rows on the simplex.
    topic_totals_ : ndarray of shape (n_components,)
        Tokens of each topic, its prior's included.
    doc_topic_prior_, topic_word_prior_ : ndarray, float
        α and η in use.
    prior_updates_ : list of int
        Iterations in which α and η were learned.
    objective_history_ : list of float
        Objective at the start and after each pass. CVB0: the log-likelihood of the
        training words, ``Σ X_dw log Σ_k θ_dk φ_kw``, which CVB0 does not maximise, so
        it may fall a little. Variational: the bound, never falls. With a `phi_step`:
        log posterior up to a constant, which never falls except where the priors
        changed. Online: log-likelihood per token of a sample.

    See Also
    --------
    GibbsLDA : the same model by collapsed Gibbs sampling.

    References
    ----------
    D. Blei, A. Ng, M. Jordan (2003). Latent Dirichlet allocation. JMLR 3.
    A. Asuncion, M. Welling, P. Smyth, Y. W. Teh (2009). On smoothing and inference
    for topic models. UAI.
    M. Hoffman, D. Blei, F. Bach (2010). Online learning for latent Dirichlet
    allocation. NIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import LDA
    >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]])
    >>> model = LDA(n_components=2, random_state=0).fit(X)
    >>> model.components_.sum(axis=1).round(3)
    array([1., 1.], dtype=float32)
    """

    _weighs_documents: ClassVar[bool] = True
    doc_topic_prior_: NDArray[np.float64]
    topic_word_prior_: float
    left_to_right = DirichletTopics.left_to_right
    doc_updates = 2  # extra ones per iteration; more cost time and gain little
    max_doc_updates = 200  # `doc_tol` ends almost all documents before
    _needed_state: ClassVar[tuple[str, ...]] = (
        *("n_features_in_", "doc_topic_prior_", "topic_word_prior_"),
    )
    algorithm: Annotated[str, StrOptions(set(ALGORITHMS))]
    doc_topic_prior: Annotated[Any, PRIOR, "array-like", None]
    topic_word_prior: Annotated[float | None, PRIOR]
    learn_priors: bool | None
    phi_step: Annotated[PhiStep | None, PhiStep]
    init: Annotated[Any, StrOptions(STARTS), "array-like", None]
    tol: Annotated[float | None, NOT_NEGATIVE]  # type: ignore[assignment]  # depends on the algorithm
    batch_size: Annotated[int | None, whole(1)]

    def __init__(
        self,
        n_components: int = 10,
        *,
        algorithm: str = "cvb0",
        doc_topic_prior: Any = None,
        topic_word_prior: float | None = None,
        learn_priors: bool | None = None,
        phi_step: PhiStep | None = None,
        batch_size: int | None = None,
        sides: Sequence[Side] | None = None,
        learning_decay: float = 0.7,
        learning_offset: float = 1.0,
        total_documents: int | None = None,
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

    def _fit_counts(self, counts: Any, y: Any) -> None:
        self._check_combination()
        self._store_corpus(counts)
        alpha, eta = self._default_priors()
        self._start_priors(alpha * max(1.0, self._size / FEW_TOPICS) ** 0.5, eta)
        if self.batch_size is not None:
            self._fit_in_batches(counts, "clusters")
            return
        rng = check_random_state(self.random_state)
        phi = self._initial_topics(counts, self._init("clusters"), rng)
        learned = self._learns_priors()
        sample = sample_of(self._whole(counts), self._size) if learned else None
        algorithm = self._learner(
            self._engine(counts),
            phi,
            doc_updates=self.doc_updates,
            doc_tol=self.doc_tol,
            learn_priors=learned,
        )
        del counts  # the engine has its own arrangement
        if isinstance(algorithm, Cvb0) and sample is not None:
            frequent = self._frequent_words()
            algorithm.own_word_share += (1 - OWN_WORD_SHARE) * frequent
            algorithm.take_sample(sample, learn_alpha=True)
        self._learn_priors_and_topics(algorithm)

    def _whole(self, counts: Any) -> Any:
        """Return counts whose topics are drawn: those of the texts, if shared."""
        shared = hasattr(self, "sharing_") and not self._from_places
        return self.sharing_.counts_ if shared else counts

    def _learner(self, engine: Any, phi: Array, **options: Any) -> Learner:
        """Return what learns: by the algorithm's link, or EM with φ-step or mixing."""
        mixing = any(side.hook == "mixing" for side in self._all_sides())
        maximized = mixing or self.phi_step is not None
        link = Learner if maximized else ALGORITHMS[self.algorithm]
        return link(
            *(engine, phi, None, self.phi_step),
            alpha=self.doc_topic_prior_,
            eta=self.topic_word_prior_,
            **options,
        )

    def _learn_priors_and_topics(self, algorithm: Learner) -> None:
        self._learn(algorithm.extrapolated(), tol=self._tolerance())
        self._say_if_unsettled()
        self.topic_totals_ = algorithm.topic_totals()
        self.doc_topic_prior_ = algorithm.alpha
        self.topic_word_prior_ = algorithm.eta
        self.prior_updates_: list[int] = algorithm.prior_updates

    def _fit_with_sides(self, counts: Any, side_data: Mapping[str, Any]) -> None:
        self._check_sides()
        sides = self._checked_sides(counts, side_data)
        self._store_corpus(counts)
        self._start_priors(*self._default_priors())
        init = next((s.init for s in sides.sides if s.init), "clusters")
        if self.batch_size is not None:
            self._fit_in_batches(counts, init, sides)
            self._finish_sides(counts, sides, side_data)
            return
        joined, groups = self._joined(counts, sides)
        plain = self.algorithm == "cvb0" and self.phi_step is None
        allowed = sides.allowed() if plain else None
        algorithm = self._learner(
            self._engine(joined, allowed=allowed),
            self._start_of(counts, joined, groups, self._init(init)),
            sides=sides,
            groups=groups,
            learn_priors=bool(self.learn_priors),
        )
        if plain and self._learns_priors() and algorithm.has_free_topics():
            sample = sample_of(joined, self._size)
            learned = bool(self.learn_priors) or not tells_of_topics(sides.sides)
            if sample is not None:
                algorithm.take_sample(sample, learn_alpha=learned)
        del joined  # the engine has its own arrangement
        self._learn_priors_and_topics(algorithm)
        algorithm.keep_results()
        del algorithm  # and its engine: documents are inferred again
        self._finish_sides(counts, sides, side_data)

    def _check_sides(self) -> None:
        """Refuse options that sides cannot go with."""
        self._check_combination()
        if self.batch_size is not None:
            check_place(self.sides_, "online")
        if self.algorithm == "variational":
            check_place(self.sides_, "variational")
        if self.phi_step is not None:
            check_place(self.sides_, "phi_step")
        fixed = prior_of(self._all_sides())
        if self.learn_priors and fixed:
            raise DataError(
                f"learn_priors=True contradicts {fixed}, which gives every document "
                "its own prior. Leave learn_priors out."
            )

    def _eta_of(self, counts: Any) -> float:
        return self._default_eta(float(counts.sum(dtype=np.float64)), counts.shape[1])

    def _default_eta(self, tokens: float, n_terms: int) -> float:
        return default_topic_word_prior(tokens, n_terms, self._size)

    def _alpha(self) -> Any:
        return self.doc_topic_prior_

    def _check_stream(self) -> None:
        self._check_phi_step()
        self._check_learned_priors("partial_fit")

    def _partial_fit_counts(self, X: Any, sides: Any) -> None:
        if not hasattr(self, "doc_topic_prior_"):
            self._start_priors(*STREAM_PRIORS[self.algorithm])
        stream = self._stream(X, self._init(STREAM_INIT[self.algorithm]))
        learner = self._online(stream)
        learner.learn(X, sides)
        self._keep_online(learner)

    def _online(self, stream: Stream) -> OnlineLearner:
        learned = self.algorithm == "variational" and self.learn_priors is not False
        return OnlineLearner(
            stream,
            alpha=self.doc_topic_prior_,
            eta=self.topic_word_prior_,
            link=self._link(),
            phi_step=self.phi_step,
            learn_priors=learned,
            max_updates=self.max_doc_updates,
            tol=self.doc_tol,
            place={"device": self.device, "n_jobs": self.n_jobs},
        )

    def _keep_online(self, learner: OnlineLearner) -> None:
        self._keep_stream(learner.stream)
        self.doc_topic_prior_, self.topic_word_prior_ = learner.alpha, learner.eta

    def _fit_in_batches(self, counts: Any, init: str, sides: Any = None) -> None:
        self.prior_updates_ = []
        size = self.batch_size or counts.shape[0]
        stream = Stream(self.learning_decay, self.learning_offset, None)
        options = {"n_topics": self._size, "init": self._init(init), "sides": sides}
        fit = OnlineFit(
            self._online(stream), counts, size, seed=self.random_state, **options
        )
        self._learn(fit, tol=self._tolerance())
        self._keep_online(fit.learner)

    def _tolerance(self) -> float:
        if self.tol is not None:
            return self.tol
        if self._from_places:
            return EMBEDDED_TOLS[not self.sharing_.short]
        return CVB0_TOL if self._whole_cvb0() else DEFAULT_TOL

    def _say_if_unsettled(self) -> None:
        if self._tolerance() > 0 and self.n_iter_ == self.max_iter > 1:
            if self.converged_:
                return
            warnings.warn(
                f"The topics were still changing after {self.n_iter_} passes "
                "(max_iter). You can use them as they are; a higher max_iter may "
                "improve them.",
                UnsettledWarning,
                stacklevel=level_of_caller(),
            )

    def _learns_priors(self) -> bool:
        if self.learn_priors is not None:
            return self.learn_priors
        plain = self._whole_cvb0() and self.phi_step is None
        return plain and self.doc_topic_prior is None

    def _whole_cvb0(self) -> bool:
        return self.algorithm == "cvb0" and self.batch_size is None

    def _default_priors(self) -> tuple[float, float]:
        """Return α and η for the corpus that was stored."""
        alpha = min(ALPHA_SUM / self._size, ALPHA_MOST)
        tokens = float(self.doc_lengths_.sum())
        plain = self._whole_cvb0() and self.phi_step is None and not self._all_sides()
        frequent = self._frequent_words() if plain else 0.0
        n_terms = len(self.word_frequencies_)
        return alpha, default_topic_word_prior(tokens, n_terms, self._size, frequent)

    def _frequent_words(self) -> float:
        counts = self.word_frequencies_ * self.doc_lengths_.sum()
        return frequent_words(counts, self._size)

    def _start_priors(self, alpha: Any, eta: float) -> None:
        alpha = alpha if self.doc_topic_prior is None else self.doc_topic_prior
        self.doc_topic_prior_ = checked_doc_topic_prior(alpha, self._size)
        self.topic_word_prior_ = float(
            eta if self.topic_word_prior is None else self.topic_word_prior
        )

    def _check_combination(self) -> None:
        if self.batch_size is not None:
            self._check_learned_priors("a batch_size")
        self._check_phi_step()

    def _check_phi_step(self) -> None:
        if self.phi_step is not None and self.algorithm != "cvb0":
            raise DataError(
                "phi_step only works with algorithm='cvb0': variational Bayes has no "
                "topics to maximise over."
            )

    def _check_learned_priors(self, online: str) -> None:
        if self.learn_priors and self.algorithm == "cvb0":
            raise DataError(
                f"learn_priors=True has no meaning for algorithm='cvb0' with {online}; "
                "leave it None, or use algorithm='variational'."
            )

    def _init(self, default: str) -> Any:
        return default if self.init is None else self.init

    def _link(self) -> Link:
        return "digamma" if self.algorithm == "variational" else "identity"

    def _topic_weights(self) -> Array:
        """What inference multiplies: φ, or exp E[log φ] for variational Bayes."""
        if self.algorithm == "cvb0":
            return self.components_
        return expected_log_weights(self.components_, self.topic_totals_)

    def _fold_in_options(self) -> dict[str, Any]:
        return {
            **super()._fold_in_options(),
            "prior": self.doc_topic_prior_,
            "link": self._link(),
            "topic_weights": self._topic_weights(),
        }


class SidedLDA(LDA):
    """What models that are LDA with a side have in common.

    The side is their `_part`.
    """

    _weighs_documents: ClassVar[bool] = False

    algorithm, phi_step, batch_size = "cvb0", None, None
    partial_fit = not_streamed("it learns from the whole corpus")

    def _own_sides(self) -> list[Any]:
        return [] if self._part is None else [self._made_part()]

    def _say_missing(self, keyword: str, instead: str) -> None:
        """Warn that a fit has no data of the model's own side, and what it is then."""
        warn_caller(
            f"{type(self).__name__} was fitted without {keyword}, so {instead}. Give "
            f"fit(X, {keyword}=...)."
        )


def tells_of_topics(sides: Sequence[Side]) -> bool:
    """Return whether any side, besides the words, influences documents' mixtures."""
    return any(side.hook not in ("counts", "topics") for side in sides)


def prior_of(sides: Sequence[Side]) -> str:
    """Return the name of the side that gives documents their own priors, or ""."""
    hooks = {side.hook: type(side).__name__ for side in sides}
    return hooks.get("mixing") or hooks.get("prior") or hooks.get("mask") or ""


def checked_doc_topic_prior(given: Any, n_components: int) -> NDArray[np.float64]:
    """Return α as one positive number per topic."""
    try:
        prior = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"doc_topic_prior is {given!r}; give one number or one per topic."
        ) from error
    if prior.ndim and prior.shape != (n_components,):
        raise DataError(
            f"doc_topic_prior has shape {prior.shape}; give one number or "
            f"n_components={n_components} of them."
        )
    wrong = [float(value) for value in np.ravel(prior) if float(value) not in PRIOR]
    if wrong:
        raise DataError(
            f"doc_topic_prior has {wrong[0]:g}; give numbers from {PRIOR.left:g} to "
            f"{PRIOR.right:g}."
        )
    return np.broadcast_to(prior, (n_components,)).copy()


def default_topic_word_prior(
    tokens: float, n_terms: int, n_topics: int, frequent: float = 0.0
) -> float:
    """Return η: a share of the mean count of a word in a topic, within limits.

    The upper one falls with the number of topics, unless words are `frequent`.
    """
    eta = ETA_SHARE * tokens / (n_topics * n_terms)
    most = min(ETA_MOST, ETA_MOST_BY_ROOT / n_topics**0.5)
    most += frequent * (ETA_MOST - most)
    return min(max(eta, ETA_LEAST), most)


def frequent_words(counts: NDArray[np.floating], n_topics: int) -> float:
    """Return how frequent most words are in a topic, from 0 to 1.

    Where words are frequent, mixtures are nearer the truth if a token's own count is
    left out and η is larger, because small topics then take no words of others. Where
    most words are rare, topics would fit new documents worse.
    """
    used = counts[counts > 0]
    if not len(used):
        return 0.0
    density = float(np.median(used)) / n_topics
    return min(max((density - RARE) / (FREQUENT - RARE), 0.0), 1.0)
