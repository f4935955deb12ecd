# SPDX-License-Identifier: BSD-3-Clause
"""Topics that are merged and split, and what a sample of tokens says of them and of α.

Passes of a fit move topics a little at a time. Where topics differ much in size,
several start in a large one and share it for good, and small ones share one: no small
step leads out. So the topics of the tokens of a `Sample` are drawn now and then, and

- α is learned from them (expected counts would not do: they are spread more evenly);
- each topic is weighed with the topic most like it, if they are alike at all, against
  both as one (`gibbs.pairs`), and each topic in two halves against itself;
- a pair that is worth next to nothing becomes one topic, and the halves of the topic
  whose halves are worth most become two.

All depends on the topics, α and the sample alone, so a corpus may be in blocks, and a
fit that is resumed does the same.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.counts import pair_counts, row_sums, token_words
from topicfold.core.threads import (
    even_ranges,
    one_blas_thread,
    run_balanced,
    run_ranges,
)
from topicfold.core.typing import Array, Doubles
from topicfold.engine.protocol import ranges_of
from topicfold.parts.steps import Move

# Passes before which topics are looked at.
AT = (6, 12, 18, 24, 30)
# Where documents repeat words as independent tokens would, there are later looks: so
# many passes after each that moves topics, up to the last pass.
EVERY, LAST = 6, 60
# Documents of the sample: at least, per topic, at most; and mean tokens of one.
LEAST_DOCUMENTS, DOCUMENTS_PER_TOPIC, MOST_DOCUMENTS = 600, 20, 3000
SAMPLE_TOKENS = 60
# α is learned after these sweeps over the sample, by so many steps of Minka's fixed
# point each time.
LEARNED_AFTER = (2, 3)
ALPHA_STEPS = 21
LEAST_ALPHA = 1e-3
# Two topics are merged if their words have at least this similarity (1: the same), and
# if having both gains less than `LEAST_WORTH` nats per token of the smaller one. If it
# loses more than `TOGETHER`, they are kept: their words differ but occur in the same
# documents, as the parts of a form do.
LEAST_LIKENESS = 0.65
LEAST_WORTH, TOGETHER = 0.05, -0.2
# A topic is split only if its halves gain more than this per token.
LEAST_HALVES = -0.06
# A topic is one of common words if its shares vary less than this part of the median.
EVENLY = 0.1
# Topics with fewer tokens in the sample are left alone.
LEAST_TOKENS = 30
# Words of which topics are compared at a time.
BLOCK = 4096
# Share of the topics that may be merged at a time.
MOST_MOVED = 0.2
# The ratio of how often documents repeat a word to how often their topics alone would
# repeat it. Tokens count as independent if its logarithm is at most the first number,
# and as repeated in bursts if it is at least the second: it is 0.2 at most in simulated
# corpora, 0.8 to 2 in longer real texts (benchmarks/results/mixtures.md).
ONE_BY_ONE, IN_BURSTS = 0.3, 0.5
# Only words of fewer documents than this share: the many repeats of common words are
# what topics predict, in real texts too.
REPEATED_IN = 0.1
# Mean tokens of a document up to which that cannot be measured, and from which it can:
# topics that were drawn for short documents follow their tokens.
TOO_SHORT, LONG_ENOUGH = 15.0, 30.0
# Added to a word's tokens in both halves of a topic, so that neither lacks a word.
SMOOTHING = 0.1


class Swap(NamedTuple):
    """Topics `into` and `spare` become one, the halves of `parted` two.

    `first` (V,) is the share of each word's tokens that stay with `parted`; `share` is
    that of all its tokens.
    """

    into: int
    spare: int
    parted: int
    first: Doubles
    share: float

    def move(self) -> Move:
        """Return it without words."""
        return Move(self.into, self.spare, self.parted, self.share)


class Sample:
    """The tokens of some documents, and what their topics say of topics and α.

    Parameters
    ----------
    counts : sparse matrix
        Whole counts of the documents.
    least : float
        Least Σα.
    asks_independence : bool
        Whether a look finds out if words are drawn one by one.
    """

    #: Whether words are drawn one by one in a document, from 0 to 1, at the last look.
    independent = 0.0

    def __init__(
        self, counts: sparse.csr_matrix, least: float, asks_independence: bool = True
    ) -> None:
        self.least, self.asks_independence = least, asks_independence
        self.terms, number = np.unique(counts.indices, return_inverse=True)
        self.doc_ptr, self.words = token_words(counts, number.astype(np.int32))
        used = np.bincount(number, minlength=len(self.terms))
        self._rare = used < REPEATED_IN * counts.shape[0]
        repeated = counts.data[self._rare[number]].astype(np.float64)
        self._repeats = float((repeated * (repeated - 1)).sum())

    def look(
        self,
        topics: Array,
        alpha: Doubles,
        eta: float,
        seed: int,
        free: NDArray[np.bool_] | None = None,
        threads: int = 1,
    ) -> tuple[Doubles, list[Swap]]:
        """Return α and the swaps that the sample supports.

        Topics that are not `free` are not split, and no other takes their place.
        """
        if len(self.words) == 0:
            return alpha, []
        alpha, drawn, counts = self._learned(topics, alpha, seed, threads)
        if self.asks_independence:
            self.independent = self._independence(topics, alpha, counts, threads)
        if len(alpha) < 3:
            return alpha, []
        from topicfold.gibbs.pairs import Sampled, halves, worth_of_pairs

        tokens = Sampled(self.doc_ptr, self.words, drawn, len(self.terms))
        sizes = np.maximum(np.bincount(drawn, minlength=len(alpha)), 1)
        common, few = self._of_common_words(counts), sizes < LEAST_TOKENS
        pairs = _alike(topics, threads)
        # Topics of common words stay apart: in one they would come back to all others.
        kept = ~common[pairs].all(axis=1) & ~few[pairs].any(axis=1)
        if free is not None:
            pairs = np.where(free[pairs[:, 1:]], pairs, pairs[:, ::-1])
            kept &= free[pairs[:, 1]]
        pairs = pairs[kept]
        if not len(pairs):
            return alpha, []
        worth = worth_of_pairs(tokens, pairs, alpha, eta, seed, threads).worth
        worth /= sizes[pairs].min(axis=1)
        worth[worth < TOGETHER] = np.inf
        spared = _least(pairs, worth, len(alpha))
        if not spared:
            return alpha, []
        parted = halves(tokens, alpha, eta, seed, threads)
        worth = parted.worth / sizes
        worth[common | few] = worth[np.ravel(spared)] = -np.inf
        if free is not None:
            worth[~free] = -np.inf
        order = np.argsort(-parted.worth, kind="stable")
        best = [int(k) for k in order if worth[k] > LEAST_HALVES]
        chosen = list(zip(spared, best, strict=False))
        swaps: list[Any] = [None] * len(chosen)

        def make(start: int, stop: int) -> None:
            for number in range(start, stop):
                pair, k = chosen[number]
                swaps[number] = self._swap(topics, *pair, k, parted.counts(k))

        run_ranges(make, even_ranges(len(chosen), threads), threads)
        return alpha, swaps

    def _swap(
        self, topics: Array, into: int, spare: int, parted: int, counts: Any
    ) -> Swap:
        left, right = (counts + SMOOTHING).T
        first = np.full(topics.shape[1], 0.5)
        first[self.terms] = left / (left + right)
        # Not by BLAS, whose threads would change the order of addition.
        share = float((topics[parted] * first).sum(dtype=np.float64))
        return Swap(into, spare, parted, first, share)

    def _learned(
        self, topics: Array, alpha: Doubles, seed: int, threads: int
    ) -> tuple[Doubles, NDArray[np.int32], NDArray[np.int64]]:
        """Return α, the topics of the tokens, and N_dk."""
        from topicfold.gibbs.pairs import alpha_from_codes, draw_tokens

        rows = np.empty((len(self.terms), len(alpha)), dtype=np.float32)

        def gather(start: int, stop: int) -> None:
            rows[start:stop] = topics[:, self.terms[start:stop]].T

        run_ranges(gather, even_ranges(len(rows), threads), threads)
        drawn = np.zeros(len(self.words), dtype=np.int32)
        lengths = np.diff(self.doc_ptr)
        documents = np.repeat(np.arange(len(lengths)), lengths)
        for sweeps in pairwise((0, *LEARNED_AFTER)):
            plan = alpha.astype(np.float32), seed, sweeps, drawn
            tokens = self.doc_ptr, self.words, rows
            run_balanced(draw_tokens, self.doc_ptr, threads, *tokens, *plan)
            counts = pair_counts(documents, drawn, (len(lengths), len(alpha)))
            codes = (counts * len(alpha) + np.arange(len(alpha))).ravel()
            alpha = alpha_from_codes(codes, lengths, alpha, ALPHA_STEPS)
            alpha = np.maximum(alpha, LEAST_ALPHA)
            alpha = alpha * max(1.0, self.least / alpha.sum())
        return alpha, drawn, counts

    def _independence(
        self, topics: Array, alpha: Doubles, counts: NDArray[np.int64], threads: int
    ) -> float:
        """Return whether documents repeat words as often as their topics say.

        Texts repeat a word once it is there. Of those that do not, topics are nearer
        the truth where all of a token leaves its word's counts.
        """
        lengths = np.diff(self.doc_ptr)
        long = (lengths.mean() - TOO_SHORT) / (LONG_ENOUGH - TOO_SHORT)
        if not (self._repeats > 0 and long > 0):
            return 0.0
        shares = counts + alpha
        shares /= (lengths + alpha.sum())[:, None]
        same = _products(topics, self.terms[self._rare], threads).astype(np.float64)
        with one_blas_thread():
            same = ((shares @ same) * shares).sum(axis=1)
        expected = float(((lengths * (lengths - 1.0)) * same).sum())
        if not expected > 0:
            return 0.0
        far = abs(np.log(self._repeats / expected))
        near = (IN_BURSTS - far) / (IN_BURSTS - ONE_BY_ONE)
        return float(np.clip(near, 0.0, 1.0) * np.clip(long, 0.0, 1.0))

    def _of_common_words(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which topics are spread far more evenly over documents than others.

        By the squared coefficient of variation of their shares, that of drawing tokens
        taken off.
        """
        lengths = np.diff(self.doc_ptr)
        sizes = counts.sum(axis=0)
        expected = np.outer(lengths, sizes / max(sizes.sum(), 1))
        spread = ((counts - expected) ** 2).sum(axis=0) - sizes
        spread = spread / np.maximum((expected**2).sum(axis=0), 1e-300)
        return np.asarray(spread < EVENLY * np.median(spread[sizes > 0]))


def _products(topics: Array, words: NDArray[np.integer] | None, threads: int) -> Array:
    """Return the products of all pairs of topics in some words.

    Of no words in particular: those of their roots in all words.
    """
    n_words = topics.shape[1] if words is None else len(words)
    blocks = [(rows.start, rows.stop) for rows in ranges_of(n_words, BLOCK)]
    products = np.zeros((len(blocks), len(topics), len(topics)), topics.dtype)

    def multiply(start: int, stop: int) -> None:
        if words is None:
            some = np.sqrt(topics[:, start:stop])
        else:
            some = np.take(topics, words[start:stop], axis=1)
        np.matmul(some, some.T, out=products[start // BLOCK])

    with one_blas_thread():
        run_ranges(multiply, blocks, threads)
    return np.asarray(products.sum(axis=0))


def _alike(topics: Array, threads: int) -> NDArray[np.int64]:
    """Return disjoint pairs of topics (G, 2) that are alike, the most alike first."""
    likeness = _products(topics, None, threads)
    np.fill_diagonal(likeness, -1.0)
    pairs: list[NDArray[np.int64]] = []
    while len(pairs) < len(topics) // 2:
        pair = np.sort(np.divmod(likeness.argmax(), len(topics)))
        if likeness[tuple(pair)] < LEAST_LIKENESS:
            break
        pairs.append(pair)
        likeness[pair] = likeness[:, pair] = -1.0
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _least(
    pairs: NDArray[np.int64], worth: Doubles, n_topics: int
) -> list[tuple[int, int]]:
    """Return pairs that are worth next to nothing, the least first."""
    most = max(1, int(MOST_MOVED * n_topics))
    least = np.argsort(worth, kind="stable")[:most]
    return [
        (int(pairs[g, 0]), int(pairs[g, 1])) for g in least if worth[g] < LEAST_WORTH
    ]


def swap_topics(
    topics: Array, totals: Doubles, alpha: Doubles, swaps: list[Swap]
) -> None:
    """Make swaps in topics (K, V), their totals and α."""
    for a, b, c, first, share in swaps:
        part = totals[a] / (totals[a] + totals[b])
        topics[a] = part * topics[a] + (1 - part) * topics[b]
        topics[b] = topics[c] * (1 - first) / (1 - share)
        topics[c] = topics[c] * first / share
        for numbers in (totals, alpha):
            numbers[a] += numbers[b]
            numbers[b] = (1 - share) * numbers[c]
            numbers[c] *= share


def sample_of(X: Any, n_topics: int) -> sparse.csr_matrix | None:
    """Return some documents of some tokens each; None of weights that are no counts.

    Documents are drawn at random; of a longer one `SAMPLE_TOKENS` tokens are left in
    the mean. Both are always the same.
    """
    n_documents = X.shape[0]
    most = min(max(LEAST_DOCUMENTS, DOCUMENTS_PER_TOPIC * n_topics), MOST_DOCUMENTS)
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.choice(n_documents, min(most, n_documents), replace=False))
    sample = sparse.csr_matrix(X[chosen])
    if (sample.data != np.floor(sample.data)).any():
        return None
    lengths = row_sums(sample)
    kept = np.minimum(1.0, SAMPLE_TOKENS / np.maximum(lengths, 1.0))
    kept = np.repeat(kept, np.diff(sample.indptr))
    drawn = rng.binomial(sample.data.astype(np.int64), kept)
    parts = drawn.astype(sample.dtype), sample.indices, sample.indptr
    sample = sparse.csr_matrix(parts, sample.shape)
    sample.eliminate_zeros()
    return sample
