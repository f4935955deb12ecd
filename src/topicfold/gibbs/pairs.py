# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""What drawn topics of tokens say: α, and what two topics are worth in place of one.

The tokens of a pair of topics are drawn between its two sides, all else fixed:

    ``P(side) ∝ (n_d,side + α_side)(N_w,side + η)/(N_side + Vη)``

without the token itself. No token is in two pairs, so a sweep over all of them costs no
more than one over the tokens, and pairs are drawn one by one, on any number of threads.
The worth of a pair is a difference of log evidence: that of words and sides with two
topics, plus the entropy of the sides, minus that of the words with one topic, whose α
is the sum of both.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, psi

from topicfold.core.counts import SMALLEST_PRIOR, pair_counts
from topicfold.core.jit import kernel, part
from topicfold.core.threads import run_balanced
from topicfold.engine.special import prefetch_row
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
# Topics whose weights are added up before a draw looks at each of them.
AT_ONCE = 16
# Tokens before a draw that its row of topic weights is asked for.
AHEAD = 2


class Sampled(NamedTuple):
    """Tokens document by document, their words below `n_terms`, and their topics."""

    doc_ptr: NDArray[np.int64]
    words: NDArray[np.int32]
    topics: NDArray[np.int32]
    n_terms: int


class Grouped(NamedTuple):
    """The tokens of each pair, in the order of documents.

    `places` are theirs in their documents; `sides` are 0 or 1.
    """

    pair_ptr: NDArray[np.int64]
    words: NDArray[np.int32]
    documents: NDArray[np.int32]
    places: NDArray[np.int32]
    sides: NDArray[np.int8]


class Pairs(NamedTuple):
    """The worth of each pair, and its tokens."""

    worth: NDArray[np.float64]
    tokens: Grouped
    n_terms: int

    def counts(self, pair: int) -> NDArray[np.int64]:
        """Return how often each word is on either side of a pair (V, 2)."""
        own = slice(*self.tokens.pair_ptr[pair : pair + 2])
        tokens = self.tokens
        return pair_counts(tokens.words[own], tokens.sides[own], (self.n_terms, 2))


def halves(
    tokens: Sampled, alpha: NDArray[np.float64], eta: float, seed: int, threads: int = 1
) -> Pairs:
    """Part each topic in two, by the documents that have its tokens."""
    grouped = _grouped(tokens, tokens.topics, np.zeros_like(tokens.topics), len(alpha))
    of_sides = np.repeat(alpha / 2, 2)
    return _weighed(tokens, grouped, of_sides, eta, (seed, DOCUMENT_SWEEPS), threads)


def worth_of_pairs(
    tokens: Sampled,
    pairs: NDArray[np.integer],
    alpha: NDArray[np.float64],
    eta: float,
    seed: int,
    threads: int = 1,
) -> Pairs:
    """Weigh pairs of topics (G, 2), each topic in one pair at most."""
    place = np.full(len(alpha), -1, dtype=np.int32)
    place[pairs.ravel()] = np.arange(pairs.size)
    sides = place[tokens.topics]
    grouped = _grouped(tokens, sides >> 1, sides & 1, len(pairs))
    return _weighed(tokens, grouped, alpha[pairs.ravel()], eta, (seed, 0), threads)


def _grouped(
    tokens: Sampled, pairs: NDArray[np.int32], sides: NDArray[np.int32], n_pairs: int
) -> Grouped:
    """Sort tokens by pair; those of pairs below 0 are in none."""
    sizes = np.bincount(pairs + 1, minlength=n_pairs + 1)[1:]
    ptr = np.r_[0, np.cumsum(sizes)]
    kinds = np.int32, np.int32, np.int32, np.int8
    grouped = Grouped(ptr, *(np.empty(ptr[-1], kind) for kind in kinds))
    group_tokens(*tokens[:2], pairs, sides, ptr[:-1].copy(), *grouped[1:])
    return grouped


def _weighed(
    tokens: Sampled,
    grouped: Grouped,
    alpha: NDArray[np.float64],
    eta: float,
    plan: tuple[int, int],
    threads: int,
) -> Pairs:
    """Draw sides and weigh pairs; the plan is the seed, and sweeps by documents."""
    n_pairs = len(alpha) // 2
    two, totals = np.zeros(n_pairs), np.zeros((COUNTED, n_pairs, 2))
    most = np.bincount(grouped.words).max(initial=0)
    table = gammaln(np.arange(most + 1) + eta) - gammaln(eta)
    known = tuple(grouped), tokens.n_terms, alpha, float(eta), plan, table
    run_balanced(weigh_pairs, grouped.pair_ptr, threads, *known, two, totals)
    size = eta * tokens.n_terms
    for left, right in totals.transpose(0, 2, 1):
        two -= gammaln(left + size) + gammaln(right + size) - gammaln(size)
        two += gammaln(left + right + size)
    return Pairs(two / COUNTED, grouped, tokens.n_terms)


def alpha_from_codes(
    codes: NDArray[np.integer],
    lengths: NDArray[np.integer],
    alpha: NDArray[np.float64],
    steps: int = PRIOR_STEPS,
) -> NDArray[np.float64]:
    """Return α of a Dirichlet-multinomial, from N_dk K + k of N_dk > 0, or of all.

    ``α_k ← α_k Σ_d[ψ(N_dk + α_k) − ψ(α_k)] / Σ_d[ψ(n_d + α_0) − ψ(α_0)]``; documents
    without tokens say nothing. Of whole n, ``ψ(n + α) − ψ(α)`` is the sum of the
    reciprocals of α + j for j < n: where counts are small, these are quicker.
    """
    n_topics, largest = len(alpha), int(codes.max(initial=0))
    small = largest < LARGEST_TABLE
    if small:
        table = np.bincount(codes, minlength=(largest // n_topics + 1) * n_topics)
        # Row j: how many documents have more than j tokens of each topic.
        more = table.reshape(-1, n_topics)[::-1].cumsum(axis=0)[-2::-1]
        steps_of_n = np.arange(len(more))[:, None]
    else:
        distinct, repeats = np.unique(codes, return_counts=True)
        n, k = np.divmod(distinct, n_topics)
    length, documents = np.unique(lengths[lengths > 0], return_counts=True)
    for _ in range(steps):
        if small:
            above = (more / (alpha + steps_of_n)).sum(axis=0)
        else:
            terms = repeats * (psi(n + alpha[k]) - psi(alpha)[k])
            above = np.bincount(k, weights=terms, minlength=n_topics)
        total = alpha.sum()
        below = float(documents @ (psi(length + total) - psi(total)))
        alpha = np.maximum(alpha * above / max(below, 1e-300), SMALLEST_PRIOR)
    return alpha


@kernel
def draw_tokens(start, stop, doc_ptr, words, rows, alpha, seed, sweeps, out_topics):
    """Draw topics of tokens by ``(N_dk + α_k) φ_kw``, φ in `rows` (V, K), fixed.

    `sweeps` are the first and the one after the last. Sweep 0 counts the tokens of the
    document before, others all of them but the one that is drawn. A draw passes over
    `AT_ONCE` topics at a time, before it looks at each.
    """
    n_topics = len(alpha)
    weights = np.empty_like(alpha)
    for d in range(start, stop):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        # All of them: adding and taking one again rounds, and what is left of that
        # would depend on the document at which a thread starts.
        for k in range(n_topics):
            weights[k] = alpha[k]
        if sweeps[0] > 0:
            for i in range(begin, end):
                weights[out_topics[i]] += 1
        for sweep in range(sweeps[0], sweeps[1]):
            key = stream_key(seed, sweep, d)
            for i in range(begin, end):
                if sweep > 0:
                    weights[out_topics[i]] -= 1
                prefetch_row(rows, words[min(i + AHEAD, end - 1)])
                row = rows[words[i]]
                total = rows.dtype.type(0)
                for k in range(n_topics):
                    total += weights[k] * row[k]
                left = uniform(key, i - begin) * total
                drawn = 0
                while drawn + AT_ONCE < n_topics:
                    mass = rows.dtype.type(0)
                    for k in range(drawn, drawn + AT_ONCE):
                        mass += weights[k] * row[k]
                    if left < mass:
                        break
                    left -= mass
                    drawn += AT_ONCE
                left -= weights[drawn] * row[drawn]
                while left >= 0 and drawn < n_topics - 1:
                    drawn += 1
                    left -= weights[drawn] * row[drawn]
                out_topics[i] = drawn
                weights[drawn] += 1


@kernel
def group_tokens(
    doc_ptr, words, pairs, sides, cursor,
    out_words, out_documents, out_places, out_sides,
):  # fmt: skip
    """Copy each token to where the `cursor` of its pair stands."""
    for d in range(len(doc_ptr) - 1):
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            g = pairs[i]
            if g >= 0:
                q = cursor[g]
                cursor[g] = q + 1
                out_words[q] = words[i]
                out_documents[q] = d
                out_places[q] = i - doc_ptr[d]
                out_sides[q] = sides[i]


@kernel
def weigh_pairs(
    start, stop, grouped, n_terms, alpha, eta, plan, table, out_evidence, out_totals
):
    """Draw the sides of tokens of pairs ``start..stop``; add the evidence of two.

    That of totals is not in it: `out_totals` has these, of each sweep that counts.
    """
    pair_ptr, all_words, all_documents, all_places, all_sides = grouped
    seed, by_document = plan
    counts = np.zeros((n_terms, 2), dtype=np.int32)
    totals = np.zeros(2, dtype=np.int64)
    for g in range(start, stop):
        begin, end = pair_ptr[g], pair_ptr[g + 1]
        words, sides = all_words[begin:end], all_sides[begin:end]
        documents, places = all_documents[begin:end], all_places[begin:end]
        if by_document > 0:
            toss_sides(documents, sides, g, seed)
        counts[:] = 0
        totals[:] = 0
        for i in range(len(words)):
            counts[words[i], sides[i]] += 1
            totals[sides[i]] += 1
        for sweep in range(by_document):
            stream = BY_DOCUMENT + sweep
            sample_documents(words, documents, sides, g, eta, seed, stream, counts,
                             totals)  # fmt: skip
        own_alpha = alpha[2 * g : 2 * g + 2]
        for sweep in range(SWEEPS):
            counted = sweep - (SWEEPS - COUNTED)
            entropy = sample_sides(
                words, documents, places, sides, own_alpha, eta, seed, sweep,
                counted >= 0, counts, totals,
            )  # fmt: skip
            if counted >= 0:
                of_words = word_evidence(counts, table)
                of_documents = document_evidence(documents, sides, own_alpha)
                out_evidence[g] += entropy + of_words + of_documents
                out_totals[counted, g, 0] = totals[0]
                out_totals[counted, g, 1] = totals[1]


@part
def toss_sides(documents, sides, pair, seed):
    """Give the tokens that a document has of a pair one side, by a coin."""
    for i in range(len(sides)):
        key = stream_key(seed, COINS, documents[i])
        sides[i] = 1 if uniform(key, 2 * pair) < 0.5 else 0


@part
def end_of_document(documents, begin):
    """Return where the tokens of the document that `begin` is in end."""
    end = begin + 1
    while end < len(documents) and documents[end] == documents[begin]:
        end += 1
    return end


@part
def sample_documents(words, documents, sides, pair, eta, seed, stream, counts, totals):
    """Draw one side for all tokens that a document has of a pair."""
    size = len(counts) * eta
    begin = 0
    while begin < len(words):
        end = end_of_document(documents, begin)
        for i in range(begin, end):
            counts[words[i], sides[i]] -= 1
            totals[sides[i]] -= 1
        gain = 0.0
        for i in range(begin, end):
            left = (counts[words[i], 0] + eta) * (totals[1] + size)
            right = (counts[words[i], 1] + eta) * (totals[0] + size)
            gain += math.log(left / right)
        key = stream_key(seed, stream, documents[begin])
        odds = min(max(gain, -30.0), 30.0)
        is_left = uniform(key, 2 * pair) * (1.0 + math.exp(-odds)) < 1.0
        side = 0 if is_left else 1
        for i in range(begin, end):
            sides[i] = side
            counts[words[i], side] += 1
        totals[side] += end - begin
        begin = end


@part
def sample_sides(
    words, documents, places, sides, alpha, eta, seed, stream, counted, counts, totals
):
    """Draw the side of each token of a pair.

    Returns the entropies of the draws, where they are `counted`.
    """
    own = np.zeros(2, dtype=np.int64)
    size = len(counts) * eta
    entropy = 0.0
    begin = 0
    while begin < len(words):
        end = end_of_document(documents, begin)
        own[:] = 0
        for i in range(begin, end):
            own[sides[i]] += 1
        key = stream_key(seed, stream, documents[begin])
        for i in range(begin, end):
            s = sides[i]
            w = words[i]
            own[s] -= 1
            counts[w, s] -= 1
            totals[s] -= 1
            left = (own[0] + alpha[0]) * (counts[w, 0] + eta) * (totals[1] + size)
            right = (own[1] + alpha[1]) * (counts[w, 1] + eta) * (totals[0] + size)
            p = left / (left + right)
            if counted and p > 0.0 and p < 1.0:
                entropy -= p * math.log(p) + (1 - p) * math.log(1 - p)
            s = 0 if uniform(key, places[i]) < p else 1
            sides[i] = s
            own[s] += 1
            counts[w, s] += 1
            totals[s] += 1
        begin = end
    return entropy


@part
def word_evidence(counts, table):
    """Return Σ_w of log Γ(N + η) − log Γ(η) of both sides, minus that of their sum."""
    evidence = 0.0
    for w in range(len(counts)):
        left, right = counts[w, 0], counts[w, 1]
        if left > 0 and right > 0:
            evidence += table[left] + table[right] - table[left + right]
    return evidence


@part
def document_evidence(documents, sides, alpha):
    """Return what two topics change in log P(topics of tokens) of the documents."""
    evidence = 0.0
    begin = 0
    both = alpha[0] + alpha[1]
    none = math.lgamma(alpha[0]) + math.lgamma(alpha[1]) - math.lgamma(both)
    while begin < len(documents):
        end = end_of_document(documents, begin)
        right = 0
        for i in range(begin, end):
            right += sides[i]
        left, n = end - begin - right, end - begin
        evidence += math.lgamma(left + alpha[0]) + math.lgamma(right + alpha[1])
        evidence -= math.lgamma(n + both) + none
        begin = end
    return evidence
