# SPDX-License-Identifier: BSD-3-Clause
"""Collapsed Gibbs sampling of LDA's topics, in parallel and reproducible.

The exact sampler draws ``z_i ~ P(z_i | all other z)`` token after token
(`gibbs_reference.exact_sweep` of the tests). This one draws the tokens of a document
exactly as that one does with respect to the document's own counts N_dk, but with the
word counts N_wk and N_k as they were when its *block* of documents began, the token
itself left out. Blocks follow one another, and the counts are brought up to date after
each: this is the approximate distributed LDA of Newman et al. (2009) with a document in
the place of a processor, synchronised `n_blocks` times per sweep. The cut into blocks
depends on the corpus and `n_blocks` only, and random numbers on seed, sweep, document
and token: threads share the documents of a block, and nothing depends on how many they
are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln, psi

from topicfold.core.counts import SMALLEST_PRIOR, normalize_rows
from topicfold.core.threads import n_threads, run_balanced
from topicfold.core.typing import Array
from topicfold.gibbs import sampler_kernels as kernels
from topicfold.gibbs.pairs import PRIOR_STEPS, alpha_from_codes
from topicfold.gibbs.tokens import FEWEST_FOR_A_ROW, Block, Tokens

PRIORS_EVERY = 5
# log Γ is looked up for counts below these.
SMALL_DOCUMENT_COUNT = 64
SMALL_WORD_COUNT = 4096
# float32 counts one by one up to here.
LARGEST_FLOAT32 = 1 << 24


class CollapsedGibbs:
    """The chain, for :func:`topicfold.learn.run_em`.

    The objective is the log joint probability of words and topics, log P(w, z | α, η),
    of the state after each sweep: a chain's, it wanders and is not monotone. Samples
    are kept every `sample_every` sweeps after `burn_in` of them, in which α and η are
    learned if `learn_priors`. The chain starts at random, or from topics `phi` (K, V).
    """

    #: Tokens of a word that has a row of counts, and not a list.
    fewest = FEWEST_FOR_A_ROW

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
        phi: Array | None = None,
    ) -> None:
        self._phi = phi
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
        self.tokens = Tokens(X, self.fewest)
        self.blocks = self.tokens.blocks(n_blocks)
        self._allocate(len(alpha))

    def _allocate(self, n_topics: int) -> None:
        tokens = self.tokens
        kind: Any = np.min_scalar_type(n_topics - 1)
        self.topic_of = np.zeros(tokens.n_tokens, dtype=kind)
        # Topics before the block at hand was sampled.
        longest = max((len(block.order) for block in self.blocks), default=0)
        self.old = np.zeros(longest, dtype=kind)
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
        self._sums: tuple[Array, Array] | None = None
        self._new_priors()

    def _new_priors(self) -> None:
        small = np.arange(SMALL_DOCUMENT_COUNT)
        alpha = self.alpha[:, None]
        self._alpha_table = gammaln(small + alpha) - gammaln(alpha)
        small = np.arange(SMALL_WORD_COUNT)
        self._eta_table = gammaln(small + self.eta) - gammaln(self.eta)

    def start(self) -> float:
        """Draw the first topics: of `phi`, or given those of the blocks before."""
        rows = np.zeros((0, len(self.alpha)))
        if self._phi is not None:
            rows = np.ascontiguousarray(self._phi[:, self.tokens.terms].T, np.float64)
        tokens = self.tokens.doc_ptr, self.tokens.words, rows
        given = *tokens, self._own_topics(), self.seed, self.topic_of
        for block in self.blocks:
            self._over_documents(block, lambda a, b: kernels.draw_topics(a, b, *given))
            self._recount(block, counted=False)
            if self._phi is None:
                self._sample(block)
        for block in () if self._phi is None else self.blocks:
            self._sample(block)
        self._phi = None
        return self.log_joint()

    def _own_topics(self) -> tuple[NDArray[Any], ...]:
        """Return where the topics of documents start and end in a list, it, and α."""
        first = np.zeros(self.tokens.n_documents, dtype=np.int64)
        n_topics = len(self.alpha)
        topics = np.arange(n_topics, dtype=np.uint32)
        return first, first + n_topics, topics, self.alpha

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
            self._sums = self._added(self._sums)
            self.n_samples += 1
        return objective

    def _sample(self, block: Block) -> None:
        eta = self.eta
        scale = 1.0 / (self.totals + self.tokens.n_terms * eta)
        prior = self.alpha * scale
        weights = (scale.astype(np.float32), prior.astype(np.float32), np.cumsum(prior))
        n_used = int(np.searchsorted(block.words, self.tokens.n_frequent))
        last = int(block.words[n_used - 1]) + 1 if n_used else 0
        sought = self.rows, weights[1], eta, self.prior_mass
        words = np.arange(last + 1)
        run_balanced(kernels.prior_masses, words, self.threads, *sought)
        corpus = self.corpus(block)
        sweep = self.n_sweeps + 1  # 0 is the key of the random start
        self._over_documents(
            block,
            lambda a, b: kernels.sample_documents(
                a, b, corpus, self.rows, self.prior_mass, self.lists, weights,
                eta, self.seed, sweep, self._alpha_table, self.alpha,
                kernels.document_scratch(len(self.alpha)), self.doc_loglik,
            ),
        )  # fmt: skip
        self._recount(block, counted=True)

    def corpus(self, block: Block) -> tuple[Any, ...]:
        """Return the tokens as the kernels want them."""
        doc_ptr = self.tokens.doc_ptr
        begin = int(doc_ptr[block.first])
        return doc_ptr, self.tokens.words, self.topic_of, self.old, begin

    def _over_documents(self, block: Block, task: Callable[[int, int], Any]) -> None:
        first, ends = block.first, self.tokens.doc_ptr[block.first : block.last + 1]
        run_balanced(lambda a, b: task(first + a, first + b), ends, self.threads)

    def _recount(self, block: Block, *, counted: bool) -> None:
        """Bring the counts of a block's words up to date, and N_k."""
        corpus = self.corpus(block)
        changes: dict[int, NDArray[np.int64]] = {}

        def change(a: int, b: int) -> None:
            changes[a] = np.zeros_like(self.totals)
            kernels.recount_words(
                a, b, block[2:], corpus, counted, self.rows, self.lists, changes[a]
            )

        run_balanced(change, block.ptr, self.threads)
        # Whole numbers: their sum has no order.
        self.totals += sum(changes.values())

    def log_joint(self) -> float:
        """Log P(w, z | α, η) of the current topics of the tokens."""
        tokens, eta = self.tokens, self.eta
        words = np.empty(tokens.n_terms)
        counts = self.rows, self.lists, self._eta_table, eta, words
        ends = np.arange(tokens.n_terms + 1)
        run_balanced(kernels.word_loglik, ends, self.threads, *counts)
        size = tokens.n_terms * eta
        topics = gammaln(size) - gammaln(self.totals + size)
        return float(self._documents_value() + topics.sum() + words.sum())

    def _documents_value(self) -> float:
        """Log P(z | α), of what the last draws of the documents left."""
        total = self.alpha.sum()
        lengths = gammaln(total) - gammaln(self.tokens.document_lengths + total)
        return float(lengths.sum() + self.doc_loglik.sum())

    def _learn_priors(self) -> None:
        self._learn_alpha()
        self._learn_eta()
        self.prior_updates.append(self.n_sweeps)
        self._new_priors()

    def _document_codes(self) -> NDArray[np.int64]:
        """Return N_dk K + k of every N_dk > 0, document by document."""
        tokens, n_topics = self.tokens, len(self.alpha)
        most = np.minimum(tokens.document_lengths, n_topics)
        codes = np.empty(int(most.sum()), dtype=np.int64)
        n_codes = kernels.document_codes(tokens.doc_ptr, self.topic_of, n_topics, codes)
        return codes[:n_codes]

    def _learn_alpha(self) -> None:
        lengths = self.tokens.document_lengths
        self.alpha = alpha_from_codes(self._document_codes(), lengths, self.alpha)

    def _learn_eta(self) -> None:
        tokens = self.tokens
        ptr, length, _, list_counts = self.lists
        # Only the beginnings of the lists are in use.
        inside = np.arange(len(list_counts)) - np.repeat(ptr[:-1], np.diff(ptr))
        used = list_counts[inside < np.repeat(length, np.diff(ptr))]
        largest = int(tokens.word_counts[0]) + 1 if tokens.n_terms else 1
        histogram = np.bincount(used, minlength=largest)
        for first in range(0, len(self.rows), 1024):
            part = self.rows[first : first + 1024].ravel().astype(np.int64)
            histogram += np.bincount(part, minlength=largest)
        self.eta = eta_from_histogram(histogram, self.totals, tokens.n_terms, self.eta)

    def _added(self, sums: tuple[Array, Array] | None) -> tuple[Array, Array]:
        """Add the state's N_wk (words by frequency) and N_dk to the sums."""
        tokens, n_topics = self.tokens, len(self.alpha)
        if sums is None:
            sums = (
                np.zeros((tokens.n_terms, n_topics), dtype=self.rows.dtype),
                np.zeros((tokens.n_documents, n_topics), dtype=np.float32),
            )
        words, documents = sums
        of_words, ends = (self.rows, self.lists, words), np.arange(len(words) + 1)
        run_balanced(kernels.add_word_counts, ends, self.threads, *of_words)
        self._add_documents(documents)
        return sums

    def _add_documents(self, sums: Array) -> Array:
        """Add the state's N_dk to sums."""
        ends = self.tokens.doc_ptr
        own = ends, self.topic_of, sums
        run_balanced(kernels.add_document_counts, ends, self.threads, *own)
        return sums

    def _summed(self) -> tuple[Array, Array]:
        """Return the sums of the samples, or the state before there is one."""
        return self._added(None) if self._sums is None else self._sums

    def free_scratch(self) -> None:
        """Give back the chain, once it is over: the sums alone make the results."""
        self._sums = self._summed()
        del self.topic_of, self.old, self.rows, self.lists, self.blocks
        del self.tokens.words

    def word_counts(self) -> Array:
        """N_wk (K, V): the mean of the samples, or the state before there is one."""
        sums = self._summed()[0]
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
        totals = self._summed()[0].sum(axis=0, dtype=np.float64)
        totals /= max(self.n_samples, 1)
        return np.asarray(totals + self.tokens.n_terms * self.eta)

    def doc_topics(self) -> Array:
        """θ (D, K), posterior mean given the samples; uniform for empty documents."""
        theta = self._summed()[1].astype(self.dtype)
        theta /= self.dtype.type(max(self.n_samples, 1))
        theta += self.alpha.astype(self.dtype)
        theta[self.tokens.document_lengths == 0] = 1.0
        return normalize_rows(theta)


# Minka's fixed point (docs/math.md §3), as `alpha_from_codes`.


def eta_from_histogram(
    histogram: NDArray[np.integer],
    totals: NDArray[np.integer],
    n_terms: int,
    eta: float,
) -> float:
    """Return the symmetric η, given how many N_wk have each value, and all N_k."""
    n = np.flatnonzero(histogram[1:]) + 1
    repeats = histogram[n]
    for _ in range(PRIOR_STEPS):
        above = float(repeats @ (psi(n + eta) - psi(eta)))
        below = float((psi(totals + n_terms * eta) - psi(n_terms * eta)).sum())
        eta = max(eta * above / max(n_terms * below, 1e-300), SMALLEST_PRIOR)
    return float(eta)
