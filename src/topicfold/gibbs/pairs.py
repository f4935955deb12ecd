# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""What drawn topics of tokens say: α, and what two topics are worth in place of one.

The tokens of a pair of topics are drawn between its two sides, all else fixed:

    ``P(side) ∝ (n_d,side + α_side)(N_w,side + η)/(N_side + Vη)``

without the token itself. If no token is in two pairs, a sweep over all of them costs no
more than one over the tokens. The worth of a pair is a difference of log evidence: that
of words and sides with two topics, plus the entropy of the sides, minus that of the
words with one topic, whose α is the sum of both.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, psi

from topicfold.core.counts import SMALLEST_PRIOR
from topicfold.core.jit import kernel
from topicfold.gibbs.fixed_topics import stream_key, uniform

# Sweeps over tokens, and the last of them, whose worth is averaged; sweeps before them
# that give all tokens a document has of a pair one side.
SWEEPS = 6
COUNTED = 2
DOCUMENT_SWEEPS = 5
# Streams of random numbers after those of the sweeps over tokens.
COINS, BY_DOCUMENT = 1000, 2000
# Rounds of Minka's fixed point (docs/math.md §3). Whole counts repeat, so each distinct
# one is looked at once; codes below the second are counted in a table, without sorting.
PRIOR_STEPS, LARGEST_TABLE = 3, 1 << 23


class Pairs(NamedTuple):
    """The worth of each pair, and N_w,side (V, 2 G); side 0 of pair g is column 2 g."""

    worth: NDArray[np.float64]
    counts: NDArray[np.int32]


class Sampled(NamedTuple):
    """Tokens document by document, their words below `n_terms`, and their topics."""

    doc_ptr: NDArray[np.int64]
    words: NDArray[np.int32]
    topics: NDArray[np.int32]
    n_terms: int


def halves(tokens: Sampled, alpha: NDArray[np.float64], eta: float, seed: int) -> Pairs:
    """Part each topic in two, by the documents that have its tokens."""
    sides = 2 * tokens.topics
    toss_sides(tokens.doc_ptr, seed, COINS, sides)
    counts = _counted(tokens, sides, 2 * len(alpha))
    for sweep in range(DOCUMENT_SWEEPS):
        stream = seed, BY_DOCUMENT + sweep
        sample_documents(*tokens[:2], sides, eta, *stream, counts, counts.sum(axis=0))
    return _sampled(tokens, sides, counts, np.repeat(alpha / 2, 2), eta, seed)


def worth_of_pairs(
    tokens: Sampled,
    pairs: NDArray[np.integer],
    alpha: NDArray[np.float64],
    eta: float,
    seed: int,
) -> Pairs:
    """Weigh pairs of topics (G, 2), each topic in one pair at most."""
    place = np.full(len(alpha), -1, dtype=np.int32)
    place[pairs.ravel()] = np.arange(pairs.size)
    sides = place[tokens.topics]
    counts = _counted(tokens, sides, pairs.size)
    return _sampled(tokens, sides, counts, alpha[pairs.ravel()], eta, seed)


def _counted(
    tokens: Sampled, sides: NDArray[np.int32], n_sides: int
) -> NDArray[np.int32]:
    counts = np.zeros((tokens.n_terms, n_sides), dtype=np.int32)
    count_sides(tokens.words, sides, counts)
    return counts


def _sampled(
    tokens: Sampled,
    sides: NDArray[np.int32],
    counts: NDArray[np.int32],
    alpha: NDArray[np.float64],
    eta: float,
    seed: int,
) -> Pairs:
    worth = np.zeros(len(alpha) // 2)
    table = gammaln(np.arange(len(tokens.words) + 1) + eta) - gammaln(eta)
    for sweep in range(SWEEPS):
        of_this = np.zeros_like(worth)
        sample_sides(
            *(*tokens[:2], sides, alpha, eta, seed, sweep, sweep >= SWEEPS - COUNTED),
            *(counts, counts.sum(axis=0), of_this),
        )
        if sweep >= SWEEPS - COUNTED:
            word_evidence(counts, table, of_this)
            document_evidence(tokens.doc_ptr, sides, alpha, of_this)
            worth += of_this - _size_evidence(counts, eta)
    return Pairs(worth / COUNTED, counts)


def _size_evidence(counts: NDArray[np.int32], eta: float) -> NDArray[np.float64]:
    """Return the part of totals in the evidence of words, one topic's taken off."""
    totals = counts.sum(axis=0, dtype=np.float64)
    size = eta * len(counts)

    left, right = totals[::2], totals[1::2]
    two = gammaln(left + size) + gammaln(right + size) - gammaln(size)
    return np.asarray(two - gammaln(left + right + size))


def alpha_from_codes(
    codes: NDArray[np.integer], lengths: NDArray[np.integer], alpha: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return α of a Dirichlet-multinomial, from N_dk K + k of every N_dk > 0.

    ``α_k ← α_k Σ_d[ψ(N_dk + α_k) − ψ(α_k)] / Σ_d[ψ(n_d + α_0) − ψ(α_0)]``; documents
    without tokens say nothing.
    """
    n_topics = len(alpha)
    if codes.max(initial=0) < LARGEST_TABLE:
        table = np.bincount(codes)
        distinct = np.flatnonzero(table)
        repeats = table[distinct]
    else:
        distinct, repeats = np.unique(codes, return_counts=True)
    n, k = np.divmod(distinct, n_topics)
    length, documents = np.unique(lengths[lengths > 0], return_counts=True)
    for _ in range(PRIOR_STEPS):
        terms = repeats * (psi(n + alpha[k]) - psi(alpha[k]))
        above = np.bincount(k, weights=terms, minlength=n_topics)
        total = alpha.sum()
        below = float(documents @ (psi(length + total) - psi(total)))
        alpha = np.maximum(alpha * above / max(below, 1e-300), SMALLEST_PRIOR)
    return alpha


@kernel
def draw_tokens(doc_ptr, words, rows, alpha, seed, sweeps, out_topics):
    """Draw topics of tokens by ``(N_dk + α_k) φ_kw``, φ in `rows` (V, K), fixed.

    `sweeps` are the first and the one after the last. Sweep 0 counts the tokens of the
    document before, others all of them but the one that is drawn.
    """
    n_topics = len(alpha)
    weights = alpha.copy()
    for d in range(len(doc_ptr) - 1):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        if sweeps[0] > 0:
            for i in range(begin, end):
                weights[out_topics[i]] += 1
        for sweep in range(sweeps[0], sweeps[1]):
            key = stream_key(seed, sweep, d)
            for i in range(begin, end):
                if sweep > 0:
                    weights[out_topics[i]] -= 1
                row = rows[words[i]]
                total = rows.dtype.type(0)
                for k in range(n_topics):
                    total += weights[k] * row[k]
                left = uniform(key, i - begin) * total
                drawn = 0
                left -= weights[0] * row[0]
                while left >= 0 and drawn < n_topics - 1:
                    drawn += 1
                    left -= weights[drawn] * row[drawn]
                out_topics[i] = drawn
                weights[drawn] += 1
        for i in range(begin, end):
            weights[out_topics[i]] = alpha[out_topics[i]]


@kernel
def count_sides(words, sides, out_counts):
    """Count the tokens of each word on each side; those below 0 are on none."""
    for i in range(len(words)):
        if sides[i] >= 0:
            out_counts[words[i], sides[i]] += 1


@kernel
def toss_sides(doc_ptr, seed, stream, sides):
    """Give the tokens that a document has of a pair one side, by a coin."""
    for d in range(len(doc_ptr) - 1):
        key = stream_key(seed, stream, d)
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            if uniform(key, sides[i]) < 0.5:
                sides[i] += 1


@kernel
def sample_documents(
    doc_ptr, words, sides, eta, seed, stream, counts, totals
):  # fmt: skip
    """Draw one side for all tokens that a document has of a pair, for each of both."""
    gain = np.zeros(len(totals) // 2)
    size = len(counts) * eta
    for d in range(len(doc_ptr) - 1):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        for i in range(begin, end):
            counts[words[i], sides[i]] -= 1
            totals[sides[i]] -= 1
        for i in range(begin, end):
            a = sides[i] & ~1
            left = (counts[words[i], a] + eta) * (totals[a + 1] + size)
            right = (counts[words[i], a + 1] + eta) * (totals[a] + size)
            gain[a >> 1] += math.log(left / right)
        key = stream_key(seed, stream, d)
        for i in range(begin, end):
            a = sides[i] & ~1
            odds = min(max(gain[a >> 1], -30.0), 30.0)
            is_left = uniform(key, a) * (1.0 + math.exp(-odds)) < 1.0
            sides[i] = a if is_left else a + 1
            counts[words[i], sides[i]] += 1
            totals[sides[i]] += 1
        for i in range(begin, end):
            gain[sides[i] >> 1] = 0.0


@kernel
def sample_sides(
    doc_ptr, words, sides, alpha, eta, seed, stream, counted, counts, totals,
    out_entropy,
):  # fmt: skip
    """Draw the side of each token; where `counted`, add the entropies of the draws."""
    own = np.zeros(len(alpha), dtype=np.int64)
    size = len(counts) * eta
    for d in range(len(doc_ptr) - 1):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        for i in range(begin, end):
            if sides[i] >= 0:
                own[sides[i]] += 1
        key = stream_key(seed, stream, d)
        for i in range(begin, end):
            s = sides[i]
            if s < 0:
                continue
            w = words[i]
            own[s] -= 1
            counts[w, s] -= 1
            totals[s] -= 1
            a = s & ~1
            b = a + 1
            left = (own[a] + alpha[a]) * (counts[w, a] + eta) * (totals[b] + size)
            right = (own[b] + alpha[b]) * (counts[w, b] + eta) * (totals[a] + size)
            p = left / (left + right)
            if counted and p > 0.0 and p < 1.0:
                out_entropy[a >> 1] -= p * math.log(p) + (1 - p) * math.log(1 - p)
            s = a if uniform(key, i - begin) < p else b
            sides[i] = s
            own[s] += 1
            counts[w, s] += 1
            totals[s] += 1
        for i in range(begin, end):
            if sides[i] >= 0:
                own[sides[i]] = 0


@kernel
def word_evidence(counts, table, out_evidence):
    """Add Σ_w of log Γ(N + η) − log Γ(η) of both sides, minus that of their sum."""
    for w in range(len(counts)):
        for g in range(len(out_evidence)):
            left, right = counts[w, 2 * g], counts[w, 2 * g + 1]
            if left > 0 and right > 0:
                out_evidence[g] += table[left] + table[right] - table[left + right]


@kernel
def document_evidence(doc_ptr, sides, alpha, out_evidence):
    """Add what two topics change in log P(topics of tokens) of the documents."""
    own = np.zeros(len(alpha), dtype=np.int64)
    for d in range(len(doc_ptr) - 1):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        for i in range(begin, end):
            if sides[i] >= 0:
                own[sides[i]] += 1
        for i in range(begin, end):
            a = sides[i] & ~1
            if sides[i] < 0 or own[a] + own[a + 1] == 0:
                continue
            left, right = alpha[a], alpha[a + 1]
            of_left = math.lgamma(own[a] + left) - math.lgamma(left)
            of_right = math.lgamma(own[a + 1] + right) - math.lgamma(right)
            n, both = own[a] + own[a + 1], left + right
            of_both = math.lgamma(n + both) - math.lgamma(both)
            out_evidence[a >> 1] += of_left + of_right - of_both
            own[a] = own[a + 1] = 0
