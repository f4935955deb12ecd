# SPDX-License-Identifier: BSD-3-Clause
"""Latent Dirichlet allocation by collapsed Gibbs sampling."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from topicfold.core import saved
from topicfold.core.parameters import whole
from topicfold.core.typing import Array
from topicfold.exceptions import DataError
from topicfold.gibbs.fixed_topics import gibbs_mixtures
from topicfold.gibbs.own_priors import OwnPriors, SidedGibbs, own_mixtures
from topicfold.gibbs.sampler import CollapsedGibbs
from topicfold.learn import Callback
from topicfold.learn.initial import initial_topics
from topicfold.models.base import PRIOR
from topicfold.models.lda import LDA, DirichletTopics, checked_doc_topic_prior
from topicfold.models.sided import SidedModel
from topicfold.parts.sides import Side
from topicfold.parts.together import SideData, check_place


class GibbsLDA(SidedModel, DirichletTopics):
    """Latent Dirichlet allocation by collapsed Gibbs sampling.

    ``θ_d ~ Dirichlet(α)``, ``φ_k ~ Dirichlet(η)``, ``p(w|d) = Σ_k θ_dk φ_kw``, θ and φ
    integrated out: a chain over the topics of all tokens, whose later states are
    averaged. A token costs the number of topics of its document or its word, not
    `n_components`; memory O(tokens + (D + V)·K).

    Parameters
    ----------
    doc_topic_prior : float or array of shape (n_components,), default=0.1
        α, or where its learning starts.
    topic_word_prior : float, default=0.01
        η, or where its learning starts.
    learn_priors : bool, default=True
        Learn an asymmetric α and a symmetric η every five sweeps of the burn-in; with a
        side, which sets α of each document, only η.
    max_iter : int, default=200
        Sweeps over all tokens.
    burn_in : int or None, default=None
        Sweeps before samples are kept; None is three quarters of `max_iter`.
    sample_every : int, default=5
        Sweeps from one kept sample to the next. `components_` and `doc_topics_` are
        means over the samples.
    init : {"random", "lda"} or array of shape (K, V), default="random"
        Where the chain starts: tokens get random topics, or topics drawn from given
        ones or from those that :class:`LDA` finds with its defaults. A chain that
        starts from ``"lda"`` needs fewer sweeps.
    n_blocks : int, default=8
        How often per sweep the word counts are updated; see Notes.
    sides : sequence of Side or None, default=None
        Priors and masks of documents (:mod:`topicfold.evidence`): features, authors'
        priors, labels. A token's cost is then the number of topics that its document
        may use. Other sides only work with :class:`LDA`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features_in_)
        Topics φ, mean over the samples, rows on the simplex.
    topic_totals_ : ndarray of shape (n_components,)
        Mean number of tokens of each topic, its prior's included.
    doc_topics_ : ndarray of shape (n_documents, n_components)
        Mixtures θ of the training documents, mean over the samples.
    doc_topic_prior_, topic_word_prior_ : ndarray, float
        α and η in use.
    prior_updates_ : list of int
        Sweeps after which α and η were learned.
    n_samples_ : int
        Samples kept. 0 if the fit was ended during the burn-in: then `components_`
        and `doc_topics_` are those of the last state.
    seed_ : int
        Drawn from `random_state`; all random numbers, also those of `transform`,
        depend on it.
    objective_history_ : list of float
        log P(w, z | α, η) of the start and after each sweep. Not monotone: it rises at
        first and then wanders, as a chain does.
    converged_ : bool
        Always False: a chain does not converge.

    See Also
    --------
    LDA : the same model by CVB0 or variational Bayes, for weights that are not counts.

    Notes
    -----
    Documents of a block are sampled, by any number of threads, with the word counts as
    they were when the block began; within a document and from block to block counts are
    up to date. The exact sampler updates all counts after every token. This is
    approximate distributed LDA [2]_ with documents in place of processors; with more
    blocks it comes closer to the exact sampler, and costs a little more.

    `transform` samples with the topics fixed. Random numbers depend on `random_state`
    and on a document's words and counts, so a document's mixture is the same in any
    batch.

    References
    ----------
    .. [1] T. Griffiths, M. Steyvers (2004). Finding scientific topics. PNAS 101.
    .. [2] D. Newman, A. Asuncion, P. Smyth, M. Welling (2009). Distributed algorithms
       for topic models. JMLR 10.
    .. [3] L. Yao, D. Mimno, A. McCallum (2009). Efficient methods for topic model
       inference on streaming document collections. KDD.

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import GibbsLDA
    >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]])
    >>> model = GibbsLDA(n_components=2, random_state=0).fit(X)
    >>> model.components_.shape
    (2, 4)
    """

    # Of `transform`: sweeps over a document before samples are kept, and samples. With
    # the topics fixed a document forgets its start in a few sweeps.
    doc_burn_in = 10
    doc_samples = 40
    device = "cpu"  # not a choice: there is no sampler elsewhere
    _takes_blocks = False
    _needs_whole_counts = True
    doc_topic_prior: Annotated[Any, PRIOR, "array-like"]
    topic_word_prior: Annotated[float, PRIOR]
    learn_priors: bool
    burn_in: Annotated[int | None, whole(0)]
    sample_every: Annotated[int, whole(1)]
    init: Annotated[Any, StrOptions({"random", "lda"}), "array-like"]
    n_blocks: Annotated[int, whole(1, 1_000_000)]

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: Any = 0.1,
        topic_word_prior: float = 0.01,
        learn_priors: bool = True,
        burn_in: int | None = None,
        sample_every: int = 5,
        n_blocks: int = 8,
        sides: Sequence[Side] | None = None,
        init: Any = "random",
        max_iter: int = 200,
        random_state: Any = None,
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        self._store_parameters(locals())

    def _fit_counts(self, counts: Any, y: Any) -> None:
        alpha = checked_doc_topic_prior(self.doc_topic_prior, self._size)
        self._store_corpus(counts)
        self._run_chain(CollapsedGibbs, counts, alpha, self._start_options(counts, {}))

    def _fit_with_sides(self, counts: Any, side_data: Mapping[str, Any]) -> None:
        check_place(self.sides_, "gibbs")
        sides = self._checked_sides(counts, side_data)
        alpha = checked_doc_topic_prior(self.doc_topic_prior, self._size)
        self._store_corpus(counts)
        options = {"sides": sides, **self._start_options(counts, side_data)}
        self._run_chain(SidedGibbs, counts, alpha, options).finish()
        self._finish_sides(counts, sides, side_data)

    def _start_options(self, counts: Any, side_data: Mapping[str, Any]) -> Any:
        options = {"burn_in": self._checked_burn_in()}
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        return {**options, "phi": self._first_topics(counts, side_data)}

    def _run_chain(self, kind: Any, counts: Any, alpha: Array, options: Any) -> Any:
        """Run a chain; keep its results, and return it."""
        sampler = kind(
            counts,
            alpha,
            float(self.topic_word_prior),
            sample_every=self.sample_every,
            learn_priors=self.learn_priors,
            n_blocks=self.n_blocks,
            seed=self.seed_,
            n_jobs=self.n_jobs,
            **options,
        )
        del counts  # the sampler has its own arrangement
        # A chain that stands still for a sweep has not converged.
        self._learn(sampler, tol=-math.inf)
        self._keep(sampler)
        return sampler

    def _keep(self, sampler: Any) -> None:
        """Keep what a chain has found besides topics and mixtures."""
        self.topic_totals_ = sampler.topic_totals()
        self.doc_topic_prior_ = sampler.alpha
        self.topic_word_prior_ = sampler.eta
        self.prior_updates_ = sampler.prior_updates
        self.n_samples_ = sampler.n_samples

    def _checked_burn_in(self) -> int:
        burn_in = 3 * self.max_iter // 4 if self.burn_in is None else self.burn_in
        if burn_in >= self.max_iter:
            raise DataError(
                f"burn_in={burn_in} leaves no sweep of max_iter={self.max_iter} to "
                "sample from. Give a smaller burn_in or a larger max_iter."
            )
        return burn_in

    def _first_topics(self, counts: Any, side_data: Mapping[str, Any]) -> Array | None:
        if isinstance(self.init, str):
            if self.init == "random":
                return None
            options: Any = {"sides": self.sides, "n_jobs": self.n_jobs}
            model = LDA(self._size, random_state=self.seed_, **options)
            return model.fit(counts, **side_data).components_
        return initial_topics(counts, self._size, self.init, np.random.RandomState(0))

    _needed_state = (
        "n_features_in_", "doc_topic_prior_", "topic_word_prior_", "seed_",
    )  # fmt: skip

    _saved = saved.forms(seed_=saved.number(0, 2**32 - 1, whole=True))

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        super()._check_fitted(sizes)
        check_place(getattr(self, "sides_", []), "gibbs")

    def _mixtures(self, X: Any, known: Any = None) -> Array:
        return gibbs_mixtures(
            X,
            self.components_,
            prior=self.doc_topic_prior_,
            **self._chain_options(),
        )

    def _known_mixtures(
        self, X: Any, known: SideData, given: Mapping[str, Any]
    ) -> Array:
        return own_mixtures(
            X,
            self.components_,
            OwnPriors.of(known),
            **self._chain_options(),
        )

    def _chain_options(self) -> dict[str, Any]:
        return {
            "burn_in": self.doc_burn_in,
            "n_samples": self.doc_samples,
            "seed": self.seed_,
            "n_jobs": self.n_jobs,
        }

    def _alpha(self) -> Any:
        return self.doc_topic_prior_

    def _fold_in_options(self) -> dict[str, Any]:
        """Inference by EM, for those who use the topics with other weights."""
        return {"prior": self.doc_topic_prior_, "n_jobs": self.n_jobs}

    def _topic_pseudo_count(self) -> float:
        return self.topic_word_prior_
