# SPDX-License-Identifier: BSD-3-Clause
"""LDA that finds its number of topics: the hierarchical Dirichlet process."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from sklearn.utils import check_random_state

from topicfold.core.counts import already_warned
from topicfold.core.parameters import SHARE_BELOW_ONE, whole
from topicfold.core.typing import Array
from topicfold.exceptions import FitInterruptedWarning, SpareTopicsWarning
from topicfold.learn import Callback
from topicfold.learn.loop import part_of_more
from topicfold.models.base import LearnedModel
from topicfold.models.gibbs_lda import GibbsLDA
from topicfold.models.lda import LDA

# Short fits of LDA that say where the chain starts: the first number of topics, passes,
# one document in so many held out, and what doubling must leave of the perplexity.
FIRST_NUMBER, SHORT_PASSES, HELD_OUT, HELPS = 5, 20, 7, 0.98
FEWEST_DOCUMENTS = 50
# Topics at the start have this many times the tokens of a topic that counts.
SPARE = 2


class HierarchicalDirichletLDA(GibbsLDA):
    """LDA with an open number of topics, by a hierarchical Dirichlet process.

    ``β ~ GEM(γ)``, ``θ_d ~ Dirichlet(α_0 β)``, ``φ_k ~ Dirichlet(η)``: documents share
    topic weights β of decreasing size, as many as the corpus needs. A chain over the
    topics of all tokens, β, γ and α_0; η is learned. How many topics it starts with
    does not depend on `n_components`, unless that is too small: short fits of LDA with
    5, 10, 20, … topics are scored on held-out documents until doubling the number no
    longer helps, and the chain starts from a fit with twice the best. Topics that are
    not needed are merged or die out. Passes of :class:`LDA` with the number, topics and
    α that were found end the fit, and new documents are inferred as LDA infers them: a
    chain's own topics and mixtures predict the other words of a document worse.

    Parameters
    ----------
    n_components : int, default=300
        Maximum number of topics. If the number found is close to it, give a larger one.
    min_share : float, default=0.001
        Share of the tokens that a topic needs to be counted; in any case it needs 100
        tokens, or 2 % of a small corpus. A chain always has some tiny topics that come
        and go; in the burn-in their tokens go to the others, and `n_folded_` says how
        often that happened.
    n_restarts : int, default=1
        Chains from other random numbers. The one with the highest mean of
        log P(w, z | α, η) over its last quarter is kept; the numbers of all are in
        `n_topics_over_restarts_`.
    topic_word_prior : float, default=0.05
        η at the start. The number of topics depends on η, which is why it is learned.

    Attributes
    ----------
    components_ : ndarray of shape (n_topics_, n_features_in_)
        Topics φ, rows on the simplex.
    n_topics_ : int
        Number of topics found.
    n_topics_over_restarts_ : list of int
        Number found by each chain.
    n_topics_history_ : list of int
        Number of counted topics after each sweep.
    n_start_ : int
        Topics at the start of the chain.
    perplexity_by_number_ : list of (int, float)
        Number of topics and held-out perplexity of the short fits of LDA. Empty if
        there are too few documents.
    n_merged_, n_folded_ : int
        Pairs of topics that became one; tiny topics whose tokens went to others.
    concentration_, top_concentration_ : float
        α_0 and γ at the end of the chain.
    doc_topic_prior_ : ndarray of shape (n_topics_,)
        α_0 β of the topics found, mean over the samples.
    topic_word_prior_ : float
        η of the last passes, that of :class:`LDA`.

    See Also
    --------
    select_n_components : the number of topics by held-out words.

    Notes
    -----
    The number is that of this model, not a fact of the corpus: on real text it grows
    with the corpus and is larger than most people want to read. The sticks are cut at
    `n_components` (the weak limit); tokens are sampled as in :class:`GibbsLDA`.

    References
    ----------
    Y. W. Teh, M. Jordan, M. Beal, D. Blei (2006). Hierarchical Dirichlet processes.
    JASA 101.

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import HierarchicalDirichletLDA
    >>> topics = np.kron(np.eye(3), np.full(10, 0.1))
    >>> X = np.random.default_rng(0).multinomial(50, topics[np.arange(90) % 3])
    >>> model = HierarchicalDirichletLDA(20, max_iter=200, random_state=0).fit(X)
    >>> model.n_topics_
    3
    """

    _open_size = True
    sides = None
    min_share: Annotated[float, SHARE_BELOW_ONE]
    n_restarts: Annotated[int, whole(1)]

    def __init__(
        self,
        n_components: int = 300,
        *,
        min_share: float = 0.001,
        n_restarts: int = 1,
        topic_word_prior: float = 0.05,
        burn_in: int | None = None,
        sample_every: int = 5,
        n_blocks: int = 8,
        max_iter: int = 300,
        random_state: Any = None,
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        self._store_parameters(locals())

    def _fit_counts(self, counts: Any, y: Any) -> None:
        from topicfold.gibbs.open_number import HdpGibbs

        burn_in = self._checked_burn_in()
        self._store_corpus(counts)
        rng = check_random_state(self.random_state)
        self.n_start_, self.perplexity_by_number_ = self._first_number(
            counts, int(rng.randint(2**31 - 1))
        )
        best, found, numbers = -math.inf, dict[str, Any](), list[int]()
        before = set(vars(self))
        for _ in range(self.n_restarts):
            self.seed_ = int(rng.randint(2**31 - 1))
            sampler = HdpGibbs(
                counts,
                self.n_start_,
                float(self.topic_word_prior),
                burn_in=burn_in,
                sample_every=self.sample_every,
                learn_priors=True,
                min_share=self.min_share,
                n_blocks=self.n_blocks,
                seed=self.seed_,
                n_jobs=self.n_jobs,
                phi=self._short_fit(counts, self.n_start_, self.seed_).components_,
            )
            with already_warned(SpareTopicsWarning):
                self._learn(sampler, tol=-math.inf)
            self._keep(sampler)
            numbers.append(self.n_topics_)
            history = self.objective_history_
            score = float(np.mean(history[-max(len(history) // 4, 1) :]))
            if score > best:
                best = score
                found = {k: v for k, v in vars(self).items() if k not in before}
        for name, value in found.items():
            setattr(self, name, value)
        self.n_topics_over_restarts_ = numbers
        self._settle(counts)

    def _settle(self, counts: Any) -> None:
        """End with passes of LDA, with the chain's topics as start and its α.

        A chain fits the words it has: its documents are too pure for other words.
        """
        ended = self._lda(
            counts,
            len(self.components_),
            doc_topic_prior=self.doc_topic_prior_,
            init=self.components_,
            random_state=self.seed_,
        )
        self.components_, self.doc_topics_ = ended.components_, ended.doc_topics_
        self.topic_totals_ = ended.topic_totals_
        self.topic_word_prior_ = ended.topic_word_prior_

    def _first_number(
        self, counts: Any, seed: int
    ) -> tuple[int, list[tuple[int, float]]]:
        """Return how many topics the chain starts with, and what LDA says of it."""
        from topicfold.gibbs.open_number import least_tokens

        n_tokens = float(counts.sum(dtype=np.float64))
        least = least_tokens(n_tokens, self.min_share)
        most = min(self._size, max(int(n_tokens / max(SPARE * least, 1.0)), 1))
        scores: dict[int, float] = {}
        if counts.shape[0] < FEWEST_DOCUMENTS:
            return most, []
        order = np.random.default_rng(seed).permutation(counts.shape[0])
        n_held_out = counts.shape[0] // HELD_OUT
        held_out, rest = counts[order[:n_held_out]], counts[order[n_held_out:]]
        number, best = min(FIRST_NUMBER, most), math.inf
        while True:
            lda = self._short_fit(rest, number, seed)
            scores[number] = float(lda.perplexity(held_out))
            if number == most or not scores[number] < HELPS * best:
                break
            number, best = min(2 * number, most), scores[number]
        found = min(scores, key=lambda n: scores[n])
        return min(2 * found, most), list(scores.items())

    def _short_fit(self, counts: Any, number: int, seed: int) -> LDA:
        with part_of_more():
            return self._lda(counts, number, max_iter=SHORT_PASSES, random_state=seed)

    def _lda(self, counts: Any, number: int, **options: Any) -> LDA:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", FitInterruptedWarning)
            return LDA(number, n_jobs=self.n_jobs, **options).fit(counts)

    def _mixtures(self, X: Any, known: Any = None) -> Array:
        """Infer documents as LDA does, by which the fit ended."""
        return LearnedModel._mixtures(self, X)

    def _keep(self, sampler: Any) -> None:
        super()._keep(sampler)
        self.doc_topic_prior_ = sampler.mean_alpha()
        self.concentration_ = sampler.concentration
        self.top_concentration_ = sampler.top_concentration
        self.n_folded_, self.n_merged_ = sampler.n_folded, sampler.n_merged
        self.n_topics_ = len(self.components_)
        self.n_topics_history_ = sampler.n_topics_history
