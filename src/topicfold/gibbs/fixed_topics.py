# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""Sampling with the topics fixed: mixtures of documents, and their likelihood.

A token's topic has ``P(k) ∝ (N_dk + α_k) φ_kw``, the token itself not counted. A draw
costs the topics of the document: ``N_dk φ_kw`` over those, and one number for all
``α_k φ_kw``. Each document has its own stream of random numbers, keyed by its content.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import uint32, uint64
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.counts import normalize_rows, token_words
from topicfold.core.jit import elementwise, inline, kernel, lean_kernel
from topicfold.core.threads import n_threads, run_balanced
from topicfold.core.typing import Array


class FixedTopics(NamedTuple):
    """Documents and topics as the kernels want them.

    Row ``words[i]`` of `rows` is φ of token i's word, and `prior_mass` is its
    Σ_k α_k φ_kw; `keys` are hashes of the documents' content, on which their random
    numbers depend.
    """

    doc_ptr: NDArray[np.int64]
    words: NDArray[np.uint32]
    rows: NDArray[np.float32]
    prior_mass: NDArray[np.float64]
    keys: NDArray[np.uint64]

    @classmethod
    def arrange(
        cls, X: sparse.csr_matrix, topics: Array, alpha: NDArray[np.float64]
    ) -> FixedTopics:
        """Expand whole counts to tokens and gather the rows of their words."""
        keys = np.zeros(X.shape[0], dtype=np.uint64)
        content_keys(X.indptr, X.indices, X.data.astype(np.int64), keys)
        used, place = np.unique(X.indices, return_inverse=True)
        rows = np.ascontiguousarray(topics[:, used].T, dtype=np.float32)
        prior_mass = np.empty(len(used))
        prior_masses(rows, alpha, prior_mass)
        return cls(*token_words(X, place.astype(np.uint32)), rows, prior_mass, keys)


def gibbs_mixtures(
    X: sparse.csr_matrix,
    topics: Array,
    *,
    prior: NDArray[np.float64],
    burn_in: int = 10,
    n_samples: int = 40,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Array:
    """Return θ (D, K), the posterior mean of mixtures by Gibbs sampling.

    ``P(z_i = k | rest) ∝ (N_dk + α_k) φ_kw``; θ is the mean of ``N_dk + α_k`` over the
    samples, normalised. A document's random numbers are keyed by the seed and its own
    words and counts, so its row depends neither on the batch it came in nor on the
    number of threads. A document without words that any topic knows gets the uniform
    mixture.
    """
    plan = (np.uint64(seed), burn_in, n_samples)
    sums = drawn_counts(X, topics, prior, plan, n_jobs)
    empty = sums.sum(axis=1) == 0
    sums /= n_samples
    sums += prior
    sums[empty] = 1.0
    return normalize_rows(sums).astype(X.dtype)


def drawn_counts(
    X: sparse.csr_matrix,
    topics: Array,
    prior: NDArray[np.float64],
    plan: tuple[np.uint64, int, int],
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Return N_dk summed over samples; the plan is seed, burn-in and their number.

    Words that no topic knows are left out.
    """
    parts = FixedTopics.arrange(known_words(X, topics), topics, prior)
    sums = np.zeros((X.shape[0], len(topics)))
    _run(sample_mixtures, parts, prior, plan, parts.doc_ptr, sums, n_jobs)
    return sums


def known_words(X: sparse.csr_matrix, topics: Array) -> sparse.csr_matrix:
    """Return counts without words that no topic knows."""
    known = topics.max(axis=0) > 0
    if not known[X.indices].all():
        X = sparse.csr_matrix(X @ sparse.diags(known.astype(X.dtype)))
        X.eliminate_zeros()
    return X


def left_to_right(
    X: sparse.csr_matrix,
    topics: NDArray[np.floating],
    alpha: NDArray[np.float64],
    *,
    n_particles: int = 20,
    n_sweeps: int = 1,
    seed: int = 0,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Return log P(w_d | φ, α) as ``metrics.left_to_right_log_likelihood``, input
    unchecked.
    """
    parts = FixedTopics.arrange(X, topics, alpha)
    lengths = np.diff(parts.doc_ptr)
    work = np.concatenate(([0], np.cumsum(lengths * (lengths + 1))))
    plan = (np.uint64(seed), n_particles, n_sweeps)
    loglik = np.empty(X.shape[0])
    _run(predict_left_to_right, parts, alpha, plan, work, loglik, n_jobs)
    unknown = (topics.max(axis=0) <= 0).astype(np.float64)
    loglik[X @ unknown > 0] = -np.inf
    return loglik


def _run(
    kernel: Callable[..., None],
    parts: FixedTopics,
    alpha: NDArray[np.float64],
    plan: tuple[np.uint64, int, int],
    work: NDArray[np.integer],
    out: NDArray[np.float64],
    n_jobs: int | None,
) -> None:
    """Run a kernel over all documents; `work` says how much of it is before each."""
    longest = int(np.diff(parts.doc_ptr).max(initial=0))
    run_balanced(
        lambda a, b: kernel(
            a, b, *parts[:4], alpha, plan, parts.keys,
            fixed_scratch(len(alpha), longest), out,
        ),
        work,
        n_threads(n_jobs),
    )  # fmt: skip


# Counter-based random numbers, splitmix64: the i-th number of a stream is a hash of
# ``key + i·γ``, so streams need no state that threads would share, and the seed, the
# sweep and the document give the same numbers whoever samples the document, and when.
_GAMMA = 0x9E3779B97F4A7C15
_SCALE = 1.0 / (1 << 53)


@elementwise
def mixed(x):
    """Hash 64 bits to 64 bits (the finaliser of splitmix64)."""
    x = uint64(x)
    x = (x ^ (x >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> uint64(27))) * uint64(0x94D049BB133111EB)
    return x ^ (x >> uint64(31))


@elementwise
def stream_key(seed, sweep, document):
    """Return the key of a document's stream in a sweep."""
    key = mixed(uint64(seed) + uint64(_GAMMA))
    key = mixed(key ^ (uint64(sweep) * uint64(0xD1342543DE82EF95)))
    return mixed(key ^ (uint64(document) * uint64(0xAF251AF3B0F025B5)))


@elementwise
def uniform(key, counter):
    """Return number `counter` of a stream: 53 random bits in [0, 1)."""
    bits = mixed(uint64(key) + uint64(counter) * uint64(_GAMMA))
    return float(bits >> uint64(11)) * _SCALE


@kernel
def content_keys(indptr, indices, data, out_keys):
    """Hash each document's words and counts, whatever their order and its row."""
    for d in range(len(indptr) - 1):
        key = uint64(0)
        for i in range(indptr[d], indptr[d + 1]):
            pair = mixed(uint64(indices[i]) + uint64(_GAMMA))
            key += mixed(pair ^ uint64(data[i]))
        out_keys[d] = key


def fixed_scratch(n_topics: int, longest: int) -> tuple[np.ndarray, ...]:
    """Return part, active, place, and topics, order, predicted of `longest` tokens."""
    return (
        np.empty(n_topics),
        np.empty(n_topics, dtype=np.uint32),
        np.full(n_topics, -1, dtype=np.int32),
        np.empty(longest, dtype=np.uint32),
        np.empty(longest, dtype=np.uint32),
        np.empty(longest),
    )


@lean_kernel
def prior_masses(rows, alpha, out_mass):
    """Σ_k α_k φ_kw of every word: no matrix product, whose bits may depend on V."""
    for w in range(len(rows)):
        total = 0.0
        for k in range(len(alpha)):
            total += alpha[k] * rows[w, k]
        out_mass[w] = total


@inline
def document_mass(part, active, n_active, rows, w, smooth):
    """Return Σ_j part_j (rows[w, active_j] + smooth), in four interleaved sums."""
    a = b = c = d = part.dtype.type(0)
    quads = n_active & ~3
    for j in range(0, quads, 4):
        a += part[j] * (rows[w, active[j]] + smooth)
        b += part[j + 1] * (rows[w, active[j + 1]] + smooth)
        c += part[j + 2] * (rows[w, active[j + 2]] + smooth)
        d += part[j + 3] * (rows[w, active[j + 3]] + smooth)
    for j in range(quads, n_active):
        a += part[j] * (rows[w, active[j]] + smooth)
    return (a + b) + (c + d)


@inline
def draw_topic(u, total, rows, w, smooth, prior, part, active, n_active):
    """Return the topic at u of the masses, `total` of them the document's own."""
    if u < total:
        j = 0
        u -= part[0] * (rows[w, active[0]] + smooth)
        while u >= 0 and j < n_active - 1:
            j += 1
            u -= part[j] * (rows[w, active[j]] + smooth)
        k = active[j]
    else:
        u -= total
        k = uint32(0)
        u -= prior[0] * (rows[w, 0] + smooth)
        while u >= 0 and k < len(prior) - 1:
            k += uint32(1)
            u -= prior[k] * (rows[w, k] + smooth)
    return k


@inline
def add_token(k, n_active, part, place, active):
    """Count a token of topic k; return the number of active topics."""
    if place[k] < 0:
        place[k] = n_active
        active[n_active] = k
        part[n_active] = 0.0
        n_active += 1
    part[place[k]] += 1.0
    return n_active


@inline
def remove_token(k, n_active, part, place, active):
    """Forget a token of topic k; return the number of active topics."""
    j = place[k]
    part[j] -= 1.0
    if part[j] == 0.0:
        place[k] = -1
        n_active -= 1
        if j < n_active:
            active[j] = active[n_active]
            part[j] = part[n_active]
            place[active[j]] = j
    return n_active


@lean_kernel
def sample_mixtures(
    first, last, doc_ptr, words, rows, prior_mass, alpha, plan, keys, scratch, out_sums
):  # fmt: skip
    """Add N_dk of `plan`'s samples to the rows [first, last) of `out_sums`.

    `plan` is (seed, sweeps before the first sample, samples). The first sweep gives
    each token a topic given the tokens before it.
    """
    seed, burn_in, n_samples = plan
    part, active, place, topics, _, _ = scratch
    for d in range(first, last):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        n_active = 0
        for sweep in range(burn_in + n_samples + 1):
            key = stream_key(seed, sweep, keys[d])
            for i in range(end - begin):
                if sweep > 0:
                    n_active = remove_token(topics[i], n_active, part, place, active)
                w = words[begin + i]
                total = document_mass(part, active, n_active, rows, w, 0.0)
                u = uniform(key, i) * (total + prior_mass[w])
                k = draw_topic(u, total, rows, w, 0.0, alpha, part, active, n_active)
                topics[i] = k
                n_active = add_token(k, n_active, part, place, active)
            if sweep > burn_in:
                for j in range(n_active):
                    out_sums[d, active[j]] += part[j]
        for j in range(n_active):
            place[active[j]] = -1


@lean_kernel
def predict_left_to_right(
    first, last, doc_ptr, words, rows, prior_mass, alpha, plan, keys, scratch,
    out_loglik,
):  # fmt: skip
    """Write Σ_n log P(w_n | w_<n) of the documents [first, last).

    `plan` is (seed, particles, sweeps over the tokens before each token); P is the mean
    over particles. The order of a document's tokens is keyed by its content.
    """
    seed, n_particles, n_sweeps = plan
    concentration = 0.0
    for k in range(len(alpha)):
        concentration += alpha[k]
    part, active, place, topics, order, predicted = scratch
    for d in range(first, last):
        begin = doc_ptr[d]
        n_tokens = doc_ptr[d + 1] - begin
        key = stream_key(seed, 0, keys[d])
        for i in range(n_tokens):
            # Fisher and Yates, inside out.
            j = int(uniform(key, i) * (i + 1))
            order[i] = order[j]
            order[j] = words[begin + i]
            predicted[i] = 0.0
        for r in range(n_particles):
            n_active = 0
            counter = 0
            key = stream_key(seed, r + 1, keys[d])
            for n in range(n_tokens):
                for step in range(n * n_sweeps + 1):
                    # The last step is token n itself.
                    i = n if step == n * n_sweeps else step % n
                    if i < n:
                        n_active = remove_token(
                            topics[i], n_active, part, place, active
                        )
                    w = order[i]
                    total = document_mass(part, active, n_active, rows, w, 0.0)
                    mass = total + prior_mass[w]
                    u = uniform(key, counter) * mass
                    counter += 1
                    k = draw_topic(
                        u, total, rows, w, 0.0, alpha, part, active, n_active
                    )
                    topics[i] = k
                    n_active = add_token(k, n_active, part, place, active)
                    if i == n:
                        predicted[n] += mass / (n + concentration)
            for j in range(n_active):
                place[active[j]] = -1
        loglik = 0.0
        for n in range(n_tokens):
            loglik += math.log(predicted[n] / n_particles)
        out_loglik[d] = loglik
