# SPDX-License-Identifier: BSD-3-Clause
"""The hierarchical Dirichlet process on the collapsed sampler: sticks are drawn too.

Direct assignment (Teh et al. 2006): given the topics of the tokens, the numbers of
tables m_dk are drawn, then ``β ~ Dirichlet(m_k + γ/K)``, γ and α_0; the next sweep has
``α_k = α_0 β_k``. At most K topics, so a topic without tokens stays as a place for a
new one. The tokens are sampled by the kernels of LDA. Two topics of documents that have
little else never become one token by token, so in the burn-in similar ones are merged
where one topic has more evidence than two (`gibbs.pairs`). A chain always has tiny
topics that come and go: in the burn-in their tokens go to the others now and then, so
that the number comes to rest.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.core.counts import SMALLEST_PRIOR, pair_counts
from topicfold.core.threads import one_blas_thread
from topicfold.gibbs.pairs import Sampled, worth_of_pairs
from topicfold.gibbs.sampler import CollapsedGibbs

# Gamma(1, 1) priors of γ and α_0, and how often each is drawn per sweep.
SHAPE, RATE, CONCENTRATION_STEPS = 1.0, 1.0, 5
# α_0 at the start.
FIRST_CONCENTRATION = 5.0


# Sweeps of the burn-in after the number of topics is fixed.
CLOSED_SWEEPS = 10
# Sweeps from one look at pairs to the next, and neighbours that are looked at.
MERGE_EVERY, MERGE_TURNS = 10, 2
# Sweeps before the first tiny topics are folded into the others.
FOLD_AFTER = 50
# Topics of a chain that come and go are smaller.
FEWEST_TOKENS, SMALL_SHARE = 100, 0.02


def least_tokens(n_tokens: float, min_share: float) -> float:
    """Return how many tokens a topic has at least."""
    return max(min_share * n_tokens, min(FEWEST_TOKENS, SMALL_SHARE * n_tokens))


class HdpGibbs(CollapsedGibbs):
    """The chain of topics and sticks; η is learned in the burn-in.

    A topic counts with more than `min_share` of the tokens, and `FEWEST_TOKENS` of them
    (of a small corpus, `SMALL_SHARE`).
    """

    def __init__(
        self, X: Any, n_topics: int, eta: float, *, min_share: float, **options: Any
    ) -> None:
        alpha = np.full(n_topics, FIRST_CONCENTRATION / n_topics)
        super().__init__(X, alpha, eta, **options)
        self.min_share = min_share
        self.rng = np.random.default_rng(self.seed)
        self.concentration = FIRST_CONCENTRATION
        self.top_concentration = 1.0
        self.n_topics_history: list[int] = []
        self.n_folded = self.n_merged = 0
        self._alpha_sum = np.zeros(n_topics)

    def iterate(self) -> float:
        """One sweep over all tokens, then one draw of sticks and concentrations."""
        last = max(self.burn_in - CLOSED_SWEEPS, 0)
        due = FOLD_AFTER <= self.n_sweeps < last and self.n_sweeps % MERGE_EVERY == 0
        if due or self.n_sweeps == last:
            self._fold()
        kept = self.n_samples
        objective = super().iterate()
        if self.n_samples > kept:
            self._alpha_sum += self.alpha
        self.n_topics_history.append(int(self._counting().sum()))
        self._draw_sticks()
        if self.n_sweeps <= self.burn_in and self.n_sweeps % MERGE_EVERY == 0:
            self._merge()
        if self.n_sweeps == self.burn_in:
            self._fold()
        return objective

    def _counting(self) -> NDArray[np.bool_]:
        """Say which topics count."""
        found = self.totals > least_tokens(self.totals.sum(), self.min_share)
        found[np.argmax(self.totals)] = True
        return found

    def _fold(self) -> None:
        """Go on with the topics that count, largest first; tokens of others move."""
        counting = self._counting()
        if counting.all():
            return
        self.n_folded += int(np.sum(~counting & (self.totals > 0)))
        order = np.argsort(-self.totals, kind="stable")
        kept = order[counting[order]]
        place = np.zeros(len(self.alpha), dtype=np.int64)
        place[kept] = np.arange(len(kept))
        topics = place[self.topic_of]
        moved = np.flatnonzero(~counting[self.topic_of])
        shares = self.alpha[kept] / self.alpha[kept].sum()
        topics[moved] = self.rng.choice(len(kept), size=len(moved), p=shares)
        self.alpha = self.alpha[kept]
        self._alpha_sum = np.zeros(len(kept))
        self._allocate(len(kept))
        self.topic_of[:] = topics
        self._count_again()

    def _merge(self) -> None:
        """Merge pairs of similar topics where two are not worth more than one."""
        for turn in range(MERGE_TURNS):
            pairs = self._similar_pairs(turn)
            if not len(pairs):
                return
            tokens = self.tokens
            words = tokens.words.astype(np.int32)
            topics = self.topic_of.astype(np.int32)
            sampled = Sampled(tokens.doc_ptr, words, topics, tokens.n_terms)
            seed = int(self.rng.integers(2**31))
            worth = worth_of_pairs(sampled, pairs, self.alpha, self.eta, seed).worth
            share = self.alpha[pairs[:, 0]] / self.alpha[pairs].sum(axis=1)
            # Of the sticks: another one, cut off at a uniform share.
            worth += math.log(self.top_concentration) - np.log(share * (1 - share))
            merged = pairs[worth < 0]
            place = np.arange(len(self.alpha), dtype=self.topic_of.dtype)
            place[merged[:, 0]] = merged[:, 1]
            self.topic_of[:] = place[self.topic_of]
            self.alpha[merged[:, 1]] += self.alpha[merged[:, 0]]
            self.alpha[merged[:, 0]] = SMALLEST_PRIOR
            self.n_merged += len(merged)
            self._count_again()
            self._new_priors()

    def _similar_pairs(self, turn: int) -> NDArray[np.int64]:
        """Return disjoint pairs of topics with tokens, the most similar first.

        Each topic is in one pair at most; in a later turn, with its next neighbour.
        """
        shape = len(self.alpha), self.tokens.n_terms
        counts = pair_counts(self.topic_of, self.tokens.words, shape)
        share = np.sqrt(counts / np.maximum(self.totals, 1)[:, None])
        with one_blas_thread():
            like = share @ share.T
        np.fill_diagonal(like, -1.0)
        like[self.totals == 0] = like[:, self.totals == 0] = -1.0
        pairs = []
        nearest = np.argsort(-like, axis=1, kind="stable")[:, turn : turn + 1].ravel()
        best = like[np.arange(len(nearest)), nearest]
        free = best >= 0
        for a in np.argsort(-best, kind="stable").tolist():
            b = int(nearest[a])
            if free[a] and free[b]:
                pairs.append((a, b))
                free[a] = free[b] = False
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def _count_again(self) -> None:
        """Count the tokens after their topics have changed everywhere."""
        self.rows[:] = 0
        self.lists[1][:] = 0
        self.totals[:] = 0
        for block in self.blocks:
            self._recount(block, counted=False)

    def _learn_alpha(self) -> None:
        """Nothing: α is drawn after every sweep."""

    def _draw_sticks(self) -> None:
        codes = self._document_codes()
        counts, topics = np.divmod(codes, len(self.alpha))
        tables = drawn_tables(counts, topics, self.alpha, self.rng)
        n_tables, used = float(tables.sum()), float((tables > 0).sum())
        for _ in range(CONCENTRATION_STEPS):
            self.top_concentration = drawn_concentration(
                self.top_concentration, used, np.array([n_tables]), self.rng
            )
        weights = tables + self.top_concentration / len(self.alpha)
        sticks = self.rng.dirichlet(weights)
        lengths = self.tokens.document_lengths
        for _ in range(CONCENTRATION_STEPS):
            self.concentration = drawn_concentration(
                self.concentration, n_tables, lengths[lengths > 0], self.rng
            )
        self.alpha = np.maximum(self.concentration * sticks, SMALLEST_PRIOR)
        self._new_priors()

    def mean_alpha(self) -> NDArray[np.float64]:
        """α_0 β_k, mean over the samples, or now before there is one."""
        if not self.n_samples:
            return self.alpha
        return np.asarray(self._alpha_sum / self.n_samples)


def drawn_tables(
    counts: NDArray[np.integer],
    topics: NDArray[np.integer],
    alpha: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return m_k: Σ over N_dk > 0 of the tables that N_dk customers open (Antoniak).

    The i-th customer after the first opens one with probability ``α_k / (α_k + i)``.
    """
    tables = np.bincount(topics, minlength=len(alpha)).astype(np.float64)
    order = np.argsort(counts, kind="stable")
    counts, topics = counts[order], topics[order]
    for i in range(1, int(counts[-1]) if len(counts) else 0):
        more = topics[np.searchsorted(counts, i, side="right") :]
        own = alpha[more]
        opened = rng.random(len(more)) * (own + i) < own
        tables += np.bincount(more[opened], minlength=len(alpha))
    return tables


def drawn_concentration(
    value: float, n_tables: float, customers: NDArray[Any], rng: np.random.Generator
) -> float:
    """Draw the concentration of Dirichlet processes with so many tables in all.

    Auxiliary variables of Escobar and West (1995), one process per entry of
    `customers`; its prior is Gamma(`SHAPE`, `RATE`).
    """
    logs = np.log(np.maximum(rng.beta(value + 1.0, customers), 1e-300))
    fewer = rng.random(len(customers)) * (customers + value) < customers
    shape = max(SHAPE + n_tables - float(fewer.sum()), SHAPE)
    return max(float(rng.gamma(shape)) / (RATE - float(logs.sum())), SMALLEST_PRIOR)
