# SPDX-License-Identifier: BSD-3-Clause
"""Collapsed Gibbs sampling of LDA's topics, in parallel and reproducible.

The exact sampler draws ``z_i ~ P(z_i | all other z)`` token after token
(`reference.exact_sweep`). This one draws every document's tokens one after another
exactly as that one does with respect to the document's own counts N_dk, but with the
word counts N_wk and N_k as they were when its *block* of documents began, the token
itself left out. Blocks follow one another, and the counts are brought up to date after
each. So documents of a block do not see each other's changes until it ends: this is
the approximate distributed LDA of Newman et al. (2009) with a document in the place of
a processor, synchronised `n_blocks` times a sweep. The cut into blocks depends on the
corpus and `n_blocks` only, and random numbers on seed, sweep, document and token:
threads share the documents of a block, and nothing depends on how many they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln

from topicfold.core.simplex import normalize_rows
from topicfold.core.threads import balanced_ranges, n_threads, run_ranges
from topicfold.core.typing import Array
from topicfold.gibbs import sampler_kernels as kernels
from topicfold.gibbs.priors import alpha_from_pairs, eta_from_histogram
from topicfold.gibbs.tokens import Block, Tokens

PRIORS_EVERY = 5
RANGES_A_THREAD = 4
# log Γ is looked up for counts below these.
SMALL_DOCUMENT_COUNT = 64
SMALL_WORD_COUNT = 4096
# float32 counts one by one up to here.
LARGEST_FLOAT32 = 1 << 24


class CollapsedGibbs:
    """The chain, for :func:`topicfold.learn.run_em`.

    The objective is the log joint probability of words and topics, log P(w, z | α, η),
    of the state after each sweep: a chain's, it wanders and is not monotone.

    Parameters
    ----------
    X : csr_matrix of shape (n_documents, n_terms)
        Whole counts.
    alpha : ndarray of shape (n_topics,)
        α.
    eta : float
        η.
    burn_in : int
        Sweeps before the first sample.
    sample_every : int
        Sweeps from one sample to the next.
    learn_priors : bool
        Learn α and η every fifth sweep of the burn-in.
    n_blocks : int
        Updates of the word counts in a sweep.
    seed : int
        Key of all random numbers.
    n_jobs : int or None
        Threads.
    """

    def __init__(
        self,
        X: sparse.csr_matrix,
        alpha: NDArray[np.float64],
        eta: float,
        *,
        burn_in: int,
        sample_every: int,
        learn_priors: bool,
        n_blocks: int,
        seed: int,
        n_jobs: int | None = None,
    ) -> None:
        self.dtype = X.dtype
        self.alpha = alpha
        self.eta = eta
        self.burn_in = burn_in
        self.sample_every = sample_every
        self.learn_priors = learn_priors
        self.seed = seed
        self.threads = n_threads(n_jobs)
        self.prior_updates: list[int] = []
        self.n_samples = 0
        self.n_sweeps = 0
        self.tokens = Tokens(X)
        self.blocks = self.tokens.blocks(n_blocks)
        self._allocate(len(alpha))

    def _allocate(self, n_topics: int) -> None:
        tokens = self.tokens
        kind: Any = np.uint16 if n_topics <= 1 << 16 else np.uint32
        self.topic_of = np.zeros(tokens.n_tokens, dtype=kind)
        self.corpus = (
            tokens.doc_ptr,
            tokens.words,
            self.topic_of,
            np.zeros_like(self.topic_of),
        )
        most = int(tokens.word_counts[0]) if tokens.n_terms else 0
        self.rows = np.zeros(
            (tokens.n_frequent, n_topics),
            dtype=np.float32 if most < LARGEST_FLOAT32 else np.float64,
        )
        sizes = np.minimum(tokens.word_counts[tokens.n_frequent :], n_topics)
        ptr = np.concatenate(([0], np.cumsum(sizes)))
        self.lists = (
            ptr,
            np.zeros(len(sizes), dtype=np.int32),
            np.zeros(ptr[-1], dtype=kind),
            np.zeros(ptr[-1], dtype=np.int32),
        )
        self.totals = np.zeros(n_topics, dtype=np.int64)
        self.prior_mass = np.zeros(tokens.n_frequent, dtype=np.float32)
        self.doc_loglik = np.zeros(tokens.n_documents)
        self._sum_words: Array | None = None
        self._sum_documents: Array | None = None
        self._new_priors()

    def _new_priors(self) -> None:
        small = np.arange(SMALL_DOCUMENT_COUNT)
        alpha = self.alpha[:, None]
        self._alpha_table = gammaln(small + alpha) - gammaln(alpha)
        small = np.arange(SMALL_WORD_COUNT)
        self._eta_table = gammaln(small + self.eta) - gammaln(self.eta)

    def start(self) -> float:
        """Draw the first topics, block after block, given the blocks before."""
        for block in self.blocks:
            self._over_documents(
                block,
                lambda a, b: kernels.random_topics(
                    a, b, self.tokens.doc_ptr, len(self.alpha), self.seed, self.topic_of
                ),
            )
            self._over_words(
                block,
                lambda a, b, runs, change: kernels.add_words(
                    a, b, runs, self.topic_of, self.rows, self.lists, change
                ),
            )
            self._sample(block)
        return self.log_joint()

    def iterate(self) -> float:
        """One sweep over all tokens; learn the priors or keep a sample when due."""
        self.n_sweeps += 1
        for block in self.blocks:
            self._sample(block)
        objective = self.log_joint()
        after = self.n_sweeps - self.burn_in
        if after <= 0 and self.learn_priors and self.n_sweeps % PRIORS_EVERY == 0:
            self._learn_priors()
        if after > 0 and (after - 1) % self.sample_every == 0:
            self._keep_sample()
        return objective

    def _sample(self, block: Block) -> None:
        eta = self.eta
        scale = 1.0 / (self.totals + self.tokens.n_terms * eta)
        prior = self.alpha * scale
        weights = (
            scale.astype(np.float32),
            prior.astype(np.float32),
            np.cumsum(prior),
        )
        n_used = int(np.searchsorted(block.words, self.tokens.n_frequent))
        last = int(block.words[n_used - 1]) + 1 if n_used else 0
        self._in_ranges(
            np.arange(last + 1),
            lambda a, b: kernels.prior_masses(
                a, b, self.rows, weights[1], eta, self.prior_mass
            ),
        )
        sweep = self.n_sweeps + 1  # 0 is the key of the random start
        self._over_documents(
            block,
            lambda a, b: kernels.sample_documents(
                a, b, self.corpus, self.rows, self.prior_mass, self.lists, weights,
                eta, self.seed, sweep, self._alpha_table, self.alpha,
                kernels.document_scratch(len(self.alpha)), self.doc_loglik,
            ),
        )  # fmt: skip
        self._over_words(
            block,
            lambda a, b, runs, change: kernels.recount_words(
                a, b, runs, self.corpus, self.rows, self.lists, change
            ),
        )

    def _over_documents(self, block: Block, task: Callable[[int, int], Any]) -> None:
        first = block.first
        self._in_ranges(
            self.tokens.doc_ptr[first : block.last + 1],
            lambda a, b: task(first + a, first + b),
        )

    def _over_words(self, block: Block, task: Callable[..., Any]) -> None:
        """Run a task over the words of a block and add up the changes of N_k."""
        runs = (block.words, block.ptr, block.order)
        changes: dict[int, NDArray[np.int64]] = {}

        def change(a: int, b: int) -> None:
            changes[a] = np.zeros_like(self.totals)
            task(a, b, runs, changes[a])

        self._in_ranges(block.ptr, change)
        # Whole numbers: their sum has no order.
        self.totals += sum(changes.values())

    def _in_ranges(
        self, work: NDArray[np.integer], task: Callable[[int, int], Any]
    ) -> None:
        if self.threads == 1:
            task(0, len(work) - 1)
        else:
            n_ranges = self.threads * RANGES_A_THREAD
            run_ranges(task, balanced_ranges(work, n_ranges), self.threads)

    def log_joint(self) -> float:
        """Log P(w, z | α, η) of the current topics of the tokens."""
        tokens, eta = self.tokens, self.eta
        words = np.empty(tokens.n_terms)
        self._in_ranges(
            np.arange(tokens.n_terms + 1),
            lambda a, b: kernels.word_loglik(
                a, b, self.rows, self.lists, self._eta_table, eta, words
            ),
        )
        concentration = self.alpha.sum()
        documents = gammaln(concentration) - gammaln(
            tokens.document_lengths + concentration
        )
        size = tokens.n_terms * eta
        topics = gammaln(size) - gammaln(self.totals + size)
        return float(
            documents.sum() + self.doc_loglik.sum() + topics.sum() + words.sum()
        )

    def _learn_priors(self) -> None:
        tokens = self.tokens
        lengths = tokens.document_lengths
        most = int(np.minimum(lengths, len(self.alpha)).sum())
        topics: NDArray[Any] = np.empty(most, dtype=self.topic_of.dtype)
        counts = np.empty(most, dtype=np.int32)
        n_pairs = kernels.document_pairs(
            tokens.doc_ptr, self.topic_of, len(self.alpha), topics, counts
        )
        self.alpha = alpha_from_pairs(
            topics[:n_pairs], counts[:n_pairs], lengths, self.alpha
        )
        del topics, counts
        ptr, length, _, list_counts = self.lists
        # Of the lists, only their beginnings are in use.
        inside = np.arange(len(list_counts)) - np.repeat(ptr[:-1], np.diff(ptr))
        used = list_counts[inside < np.repeat(length, np.diff(ptr))]
        largest = int(tokens.word_counts[0]) + 1 if tokens.n_terms else 1
        histogram = np.bincount(used, minlength=largest)
        for first in range(0, len(self.rows), 1024):
            part = self.rows[first : first + 1024].ravel().astype(np.int64)
            histogram += np.bincount(part, minlength=largest)
        self.eta = eta_from_histogram(histogram, self.totals, tokens.n_terms, self.eta)
        self.prior_updates.append(self.n_sweeps)
        self._new_priors()

    def _keep_sample(self) -> None:
        if self._sum_words is None or self._sum_documents is None:
            shape = (self.tokens.n_terms, len(self.alpha))
            self._sum_words = np.zeros(shape, dtype=self.rows.dtype)
            shape = (self.tokens.n_documents, len(self.alpha))
            self._sum_documents = np.zeros(shape, dtype=np.float32)
        self._add_word_counts(self._sum_words)
        self._add_document_counts(self._sum_documents)
        self.n_samples += 1

    def _add_word_counts(self, out: Array) -> None:
        self._in_ranges(
            np.arange(len(out) + 1),
            lambda a, b: kernels.add_word_counts(a, b, self.rows, self.lists, out),
        )

    def _add_document_counts(self, out: Array) -> None:
        tokens = self.tokens
        self._in_ranges(
            tokens.doc_ptr,
            lambda a, b: kernels.add_document_counts(
                a, b, tokens.doc_ptr, self.topic_of, out
            ),
        )

    def _summed_words(self) -> Array:
        """Return N_wk of words by frequency, summed over the samples."""
        if self._sum_words is not None:
            return self._sum_words
        shape = (self.tokens.n_terms, len(self.alpha))
        state = np.zeros(shape, dtype=self.rows.dtype)
        self._add_word_counts(state)
        return state

    def word_counts(self) -> Array:
        """N_wk (K, V): the mean of the samples, or the state before there is one."""
        sums = self._summed_words()
        counts = np.empty(sums.shape[::-1], dtype=sums.dtype)
        for k in range(len(counts)):
            counts[k, self.tokens.terms] = sums[:, k]
        counts /= max(self.n_samples, 1)
        return counts

    def topics(self) -> Array:
        """φ (K, V), posterior mean given the samples."""
        weights = self.word_counts().astype(self.dtype, copy=False)
        weights += self.dtype.type(self.eta)
        return normalize_rows(weights)

    def topic_totals(self) -> NDArray[np.float64]:
        """Tokens of each topic, its prior's included."""
        totals = self._summed_words().sum(axis=0, dtype=np.float64)
        totals /= max(self.n_samples, 1)
        return np.asarray(totals + self.tokens.n_terms * self.eta)

    def doc_topics(self) -> Array:
        """θ (D, K), posterior mean given the samples; uniform for empty documents."""
        sums = self._sum_documents
        if sums is None:
            shape = (self.tokens.n_documents, len(self.alpha))
            sums = np.zeros(shape, dtype=np.float32)
            self._add_document_counts(sums)
        theta = sums.astype(self.dtype)
        theta /= self.dtype.type(max(self.n_samples, 1))
        theta += self.alpha.astype(self.dtype)
        theta[self.tokens.document_lengths == 0] = 1.0
        return normalize_rows(theta)
