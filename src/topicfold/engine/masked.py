# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""The CPU engine of documents that may use a few topics each.

The result is that of the dense engine with zeros at the topics that a document may not
use; time and memory of the documents are in proportion to the topics they may use.

Packed documents are vectors, one entry for each pair of a document and a topic that it
may use, document by document. Packed topics are one row of stretches, one for each
topic, with places for the words of the documents that may use it. No document reads
the others: their counts are zero, and the weight that they have in common is kept at
the end of the row, by topic.

In the kernels an entry, a document and one of its topics, has a list of the places of
its words in the topic's stretch, ``places[firsts[e]:]``, and there its shares of the
counts are left for the word pass. Entries are listed topic by topic. Each kernel names
the dense one it equals.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import psi

from topicfold.core.counts import row_sums
from topicfold.core.jit import SPACE, kernel, part
from topicfold.core.threads import RANGES_PER_THREAD, balanced_ranges, run_ranges
from topicfold.core.typing import Array
from topicfold.engine.cpu import document_layout
from topicfold.engine.kernels import FLOOR, left_out
from topicfold.engine.protocol import (
    DocumentPass,
    Engine,
    OwnShare,
    PassOptions,
)
from topicfold.engine.special import log_scalar, prefetch_row

# Documents that may use more of the topics than one in so many, or more than so many of
# them, on average, are faster, or take less room, with zeros at the others.
ONE_IN, MOST = 8, 64


def pays(X: sparse.csr_matrix, allowed: sparse.csr_matrix) -> bool:
    """Whether documents are allowed few enough topics for an engine of their own."""
    pairs = float(np.diff(X.indptr) @ np.diff(allowed.indptr))
    return pairs <= X.nnz * min(allowed.shape[1] / ONE_IN, MOST)


class MaskedEngine(Engine):
    """Expected counts of a corpus whose documents may use the topics in `allowed` (D,
    K).

    Time and memory O(Σ_d nnz_d K_d) with K_d topics of document d: `pays` says whether
    that is better than zeros. The same bits for any number of threads. The digamma link
    is not known here. Other arguments are as in `CpuEngine`.
    """

    packs_allowed = True

    def __init__(
        self,
        X: sparse.csr_matrix,
        n_topics: int,
        allowed: sparse.csr_matrix,
        *,
        dtype: np.dtype | type = np.float32,
        threads: int = 1,
        word_order: NDArray[np.integer] | None = None,
    ) -> None:
        self.n_documents, self.n_terms = X.shape
        self.n_topics = n_topics
        self.dtype = np.dtype(dtype)
        self.threads = threads
        self.document_lengths = row_sums(X)
        self._layout = document_layout(X, self.dtype, word_order)
        # Unsigned, so that the compiled code need not check the sign.
        kind = {4: np.uint32, 8: np.uint64}[self._layout.indices.itemsize]
        words = self._layout.indices.view(kind)
        self._corpus = self._layout.indptr, words, self._layout.counts
        self._offsets = allowed.indptr.astype(np.int64)
        self._topics = allowed.indices.astype(np.int32)
        self._lengths = np.diff(self._layout.indptr)
        work = self._lengths * np.diff(self._offsets)
        ranges = RANGES_PER_THREAD * threads
        self._ranges = balanced_ranges(np.r_[0, np.cumsum(work)], ranges)
        self._place_words()
        self._shares = np.empty(len(self._places), self.dtype)

    @property
    def word_order(self) -> NDArray[np.integer]:
        """Column of X of each word in its order here."""
        return self._layout.word_order

    @cached_property
    def _rows(self) -> NDArray[np.int64]:
        """Document of each entry."""
        return np.repeat(np.arange(self.n_documents), np.diff(self._offsets))

    def _place_words(self) -> None:
        """Give every topic a stretch, and every entry the places of its words in it."""
        entries = np.argsort(self._topics, kind="stable")
        topic_ptr = _cumulated(np.bincount(self._topics, minlength=self.n_topics))
        by_topic = topic_ptr, self._rows[entries], entries
        pointer = _cumulated(self._lengths[self._rows[entries]])
        firsts = np.empty(len(entries), np.int64)
        firsts[entries] = pointer[:-1]
        self._listed = pointer[topic_ptr]
        most = np.minimum(np.diff(self._listed), self.n_terms)
        work = self._listed + self.n_terms * np.arange(self.n_topics + 1)
        self._topic_ranges = balanced_ranges(work, RANGES_PER_THREAD * self.threads)
        kind = np.uint16 if most.max(initial=0) <= 2**16 else np.uint32
        self._places = np.empty(self._listed[-1], kind)
        starts, self._sizes = _cumulated(most), np.empty(self.n_topics, np.int64)
        words = np.empty(starts[-1], np.int32)
        out = starts, words, self._sizes, self._places
        arguments = (by_topic, *self._corpus[:2], self.n_terms, firsts, out)
        run_ranges(find_places, self._topic_ranges, self.threads, *arguments)
        self._pointer = _cumulated(self._sizes)
        self._entries = self._offsets, self._topics, firsts, self._places, self._pointer
        pairs = zip(starts, self._sizes, strict=False)
        self._words_of = [words[start : start + size].copy() for start, size in pairs]

    def pack_documents(self, theta: Array) -> Array:
        """Return the entries of a (D, K) array at the topics in use."""
        return np.asarray(theta[self._rows, self._topics], self.dtype)

    def unpack_documents(self, packed: Array) -> Array:
        """Return the (D, K) array, zero at the topics that are not in use."""
        return self._plain_rows(packed, slice(0, self.n_documents))

    def _plain_rows(self, packed: Array, rows: slice) -> Array:
        offsets = self._offsets[rows.start : rows.stop + 1]
        entries = slice(offsets[0], offsets[-1])
        parts = packed[entries], self._topics[entries], offsets - offsets[0]
        shape = len(offsets) - 1, self.n_topics
        return np.asarray(sparse.csr_matrix(parts, shape=shape).toarray())

    def _put_rows(self, packed: Array, rows: slice, plain: Array) -> None:
        entries = slice(self._offsets[rows.start], self._offsets[rows.stop])
        own = self._rows[entries] - rows.start
        packed[entries] = plain[own, self._topics[entries]]

    def _stretches(self, packed: Array) -> list[Array]:
        """Return the stretch of every topic of packed topics, without the rest."""
        return np.split(packed[0, : self._pointer[-1]], self._pointer[1:-1])

    def _rest(self, packed: Array) -> Array:
        """Return what the words have that a topic has no place for, by topic."""
        return packed[0, self._pointer[-1] :]

    def pack_topics(self, phi: Array) -> Array:
        """Copy (K, V) topics; of words without a place, the least value is kept."""
        packed = np.empty((1, self._pointer[-1] + self.n_topics), self.dtype)
        rest = self._rest(packed)
        for k, stretch in enumerate(self._stretches(packed)):
            row = np.asarray(phi[k])[self._layout.word_order]
            stretch[:] = row[self._words_of[k]]
            others = np.delete(row, self._words_of[k])
            rest[k] = others.min() if len(others) else 0.0
        return packed

    def unpack_topics(self, packed: Array) -> Array:
        """Return (K, V) topics in X's order of words."""
        phi = np.empty((self.n_topics, self.n_terms), self.dtype)
        phi[:] = self._rest(packed)[:, None]
        for k, stretch in enumerate(self._stretches(packed)):
            phi[k, self._layout.word_order[self._words_of[k]]] = stretch
        return phi

    def pack_prior(self, prior: Array | float) -> Array:
        """Repeat a scalar over topics."""
        return np.broadcast_to(np.asarray(prior, self.dtype), (self.n_topics,)).copy()

    def _document_pass(
        self, parameters: Array, weights: Array, asked: PassOptions, out: Array | None
    ) -> DocumentPass:
        if asked.link == "digamma":
            raise ValueError("masks do not work with the digamma link")
        documents, own = asked.documents, asked.own
        if documents is None:
            shared = self.pack_prior(0.0 if asked.prior is None else asked.prior)
            documents = OwnShare(None, shared[self._topics])
        if documents.scale is None:
            documents = OwnShare(np.ones_like(parameters), documents.floor)
        counts = np.empty_like(parameters) if out is None else out
        loglik = np.empty(self.n_documents)
        updates = np.zeros(self.n_documents, np.int32)
        arguments: tuple[Any, ...]
        inputs = self._corpus, self._entries, parameters, weights[0]
        floors = documents.floor, documents.scale
        if asked.link == "collapsed" and own is not None:
            parts = tuple(map(np.atleast_2d, own[:2]))
            outputs: tuple[Any, ...] = (counts, self._shares, loglik)
            arguments = (*inputs, floors, parts, own.groups, outputs)
            kernel = masked_collapsed_document_rows
        else:
            outputs = (counts, self._shares, loglik, updates)
            arguments = (*inputs, floors, asked.max_updates, float(asked.tol), outputs)
            kernel = masked_document_rows
        run_ranges(kernel, self._ranges, self.threads, *arguments)
        return DocumentPass(counts, float(loglik.sum()), updates)

    def word_pass(self, parameters: Array, weights: Array, out: Array) -> Array:
        """N_wk of the last document pass, written to `out`."""
        arguments = (self._listed, self._places, self._shares, self._pointer, out[0])
        run_ranges(masked_word_rows, self._topic_ranges, self.threads, *arguments)
        self._rest(out)[:] = 0
        return out

    def topic_totals(self, counts: Array) -> NDArray[np.float64]:
        """``N_k = Σ_w N_wk``; of packed documents Σ_d N_dk."""
        if counts.ndim == 1:
            return self._column_sums(counts, "total", 0.0)
        return self._positive_totals(counts, 0.0)

    def _positive_totals(self, counts: Array, prior: float) -> NDArray[np.float64]:
        totals = np.empty(self.n_topics)
        arguments = (self._pointer, counts[0], float(prior), totals)
        run_ranges(topic_sums, self._topic_ranges, self.threads, *arguments)
        rest = np.maximum(self._rest(counts).astype(np.float64) + prior, 0.0)
        return totals + rest * (self.n_terms - self._sizes)

    def normalize_topics(self, counts: Array, prior: float, out: Array) -> Array:
        """Topics on the simplex from counts; `out` may be `counts`."""
        totals = self._positive_totals(counts, prior)
        empty = totals <= 0
        scale = 1.0 / np.where(empty, 1.0, totals)
        factors = scale.astype(self.dtype)
        stretches = zip(self._stretches(counts), self._stretches(out), strict=True)
        for factor, (stretch, found) in zip(factors, stretches, strict=True):
            np.maximum(stretch + self.dtype.type(prior), 0, out=found)
            found *= factor
        self._rest(out)[:] = np.maximum(self._rest(counts) + prior, 0.0) * scale
        for k in np.flatnonzero(empty):
            out[0, self._pointer[k] : self._pointer[k + 1]] = 1.0 / self.n_terms
            self._rest(out)[k] = 1.0 / self.n_terms
        return out

    def expected_log_topics(self, counts: Array, prior: float, out: Array) -> Array:
        """Of the digamma link, which is not known here."""
        raise NotImplementedError

    def document_bound(self, parameters: Array, prior: Array) -> float:
        """Of the digamma link, which is not known here."""
        raise NotImplementedError

    def _column_sums(
        self, array: Array, kind: str, prior: Array | float
    ) -> NDArray[np.float64]:
        """See the protocol; for topics and for documents."""
        functions: dict[str, Callable[[Any], Any]] = {
            "total": lambda values: values,
            "at most 1": lambda values: np.minimum(values, 1),
            "log": lambda values: np.log(np.maximum(values, 1e-18)),
            "digamma": psi,
        }
        function = functions[kind]
        shared = self.pack_prior(prior).astype(np.float64)
        if array.ndim == 1:
            values = function(array + shared[self._topics])
            sums = np.bincount(self._topics, values, minlength=self.n_topics)
            return sums.astype(np.float64)
        rows = zip(self._stretches(array), shared, strict=True)
        sums = np.array([function(row + p).sum(dtype=np.float64) for row, p in rows])
        rest = function(self._rest(array) + shared)
        return np.asarray(sums + rest * (self.n_terms - self._sizes))


def _cumulated(sizes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return where stretches of these sizes begin, and where the last one ends."""
    return np.r_[0, np.cumsum(sizes, dtype=np.int64)]


LINE = 16  # numbers of four bytes in a cache line


@kernel
def find_places(start, stop, by_topic, indptr, words, n_terms, firsts, out):
    """Number the words of topics ``start..stop``, and list them.

    Those in most documents of a topic are first, then by document: so the places of a
    document's words lie close to each other. ``out[1]`` has the words of topic k from
    ``out[0][k]`` on, ``out[2]`` how many there are.
    """
    topic_ptr, topic_documents, topic_entries = by_topic
    starts, out_words, out_sizes, out_places = out
    known = np.empty(n_terms, np.int64)
    rank = np.zeros(n_terms, np.int64)
    for k in range(start, stop):
        size = 0
        at = np.zeros(topic_ptr[k + 1] - topic_ptr[k] + 1, np.int64)
        for j in range(topic_ptr[k], topic_ptr[k + 1]):
            d = topic_documents[j]
            for i in range(indptr[d], indptr[d + 1]):
                w = words[i]
                if rank[w] == 0:
                    known[size] = w
                    size += 1
                at[rank[w]] += 1  # words in more documents than so many
                rank[w] += 1
        for j in range(size):
            w = known[j]
            place = at[rank[w]]
            at[rank[w]] += 1
            rank[w] = place
            out_words[starts[k] + place] = w
        for j in range(topic_ptr[k], topic_ptr[k + 1]):
            d, first = topic_documents[j], firsts[topic_entries[j]]
            for i in range(indptr[d], indptr[d + 1]):
                out_places[first + i - indptr[d]] = rank[words[i]]
        for j in range(size):
            rank[known[j]] = 0
        out_sizes[k] = size


@part
def word_sums(a, b, n_words, out_s):
    """Write ``s_i = Σ_t a_t b_ti``."""
    for i in range(n_words):
        out_s[i] = a.dtype.type(0)
    for t in range(a.shape[0]):
        weight = a[t]
        for i in range(n_words):
            out_s[i] += weight * b[t, i]


@part
def gather(d, n_words, entries, parameters, weights, out_b, out_s):
    """Write the weights of a document's words by topic, and ``s_i = Σ_t a_t b_ti``."""
    offsets, topics, firsts, places, pointer = entries
    for e in range(offsets[d], offsets[d + 1]):
        row = weights[pointer[topics[e]] : pointer[topics[e] + 1]]
        own, b = places[firsts[e] : firsts[e] + n_words], out_b[e - offsets[d]]
        for i in range(n_words):
            b[i] = row[own[i]]
    word_sums(parameters[offsets[d] : offsets[d + 1]], out_b, n_words, out_s)


@part
def prefetch_entries(d, indptr, entries, shares):
    """Ask for the places of a document's words, and for where their shares go."""
    offsets, _, firsts, places, _ = entries
    n_words = indptr[d + 1] - indptr[d]
    for e in range(offsets[d], offsets[d + 1]):
        for i in range(firsts[e], firsts[e] + n_words, LINE):
            prefetch_row(places, i)
            prefetch_row(shares, i)


@part
def log_likelihood(a, counts, s):
    """Σ x log s with the document's weights normalised."""
    total = 0.0
    length = 0.0
    for i in range(counts.shape[0]):
        x = np.float64(counts[i])
        total += x * log_scalar(max(np.float64(s[i]), FLOOR))
        length += x
    norm = 0.0
    for t in range(a.shape[0]):
        norm += a[t]
    return total - length * log_scalar(max(norm, FLOOR))


@part
def weighted_sum(row, ratio, n_words):
    """``Σ_i ratio_i row_i``."""
    total = row.dtype.type(0)
    for i in range(n_words):
        total += ratio[i] * row[i]
    return total


@part
def update_entries(a, tilt, prior, counts):
    """Set ``a = counts ∘ tilt + prior``, return the change of its shares."""
    old_sum = 0.0
    new_sum = 0.0
    for t in range(a.shape[0]):
        counts[t] = max(counts[t] * tilt[t] + prior[t], a.dtype.type(0))
    for t in range(a.shape[0]):
        old_sum += a[t]
        new_sum += counts[t]
    old_scale = 1.0 / max(old_sum, FLOOR)
    new_scale = 1.0 / max(new_sum, FLOOR)
    change = 0.0
    for t in range(a.shape[0]):
        change += abs(counts[t] * new_scale - a[t] * old_scale)
    for t in range(a.shape[0]):
        a[t] = counts[t]
    return change


@part
def widest(start, stop, pointers):
    """Largest difference of two pointers that follow each other."""
    most = 0
    for d in range(start, stop):
        most = max(most, pointers[d + 1] - pointers[d])
    return most


@part
def write_shares(factor, row, ratio, n_words, out):
    """Write ``factor ratio_i row_i``."""
    for i in range(n_words):
        out[i] = factor * (ratio[i] * row[i])


@kernel
def masked_document_rows(
    start, stop, corpus, entries, parameters, weights, floors, max_updates, tol, out
):
    """``kernels.document_rows`` over the topics that each document may use."""
    indptr, _, counts = corpus
    offsets, firsts, (prior, tilt) = entries[0], entries[2], floors
    out_counts, out_shares, out_loglik, out_updates = out
    real = parameters.dtype.type
    least = real(FLOOR)
    n_scratch = widest(start, stop, indptr) + SPACE
    work_b = np.empty((widest(start, stop, offsets), n_scratch), parameters.dtype)
    work_s = np.empty(n_scratch, parameters.dtype)
    ratio = np.empty(n_scratch, parameters.dtype)
    for d in range(start, stop):
        first, last = offsets[d], offsets[d + 1]
        x = counts[indptr[d] : indptr[d + 1]]
        n_words = x.shape[0]
        a, found = parameters[first:last], out_counts[first:last]
        gather(d, n_words, entries, parameters, weights, work_b, work_s)
        out_updates[d] = 0
        change = tol + 1.0
        while True:
            for i in range(n_words):
                ratio[i] = real(x[i]) / max(work_s[i], least)
            for t in range(last - first):
                found[t] = a[t] * weighted_sum(work_b[t], ratio, n_words)
            if out_updates[d] == max_updates or change <= tol:
                break
            change = update_entries(a, tilt[first:last], prior[first:last], found)
            out_updates[d] += 1
            word_sums(a, work_b, n_words, work_s)
        out_loglik[d] = log_likelihood(a, x, work_s)
        for t in range(last - first):
            shares = out_shares[firsts[first + t] : firsts[first + t] + n_words]
            write_shares(a[t], work_b[t], ratio, n_words, shares)


@part
def token_shares(a, b, own, prior, tilt, k, words, parts, groups, out_q):
    """Write the weights of topic k for a document's words, own shares left out."""
    scale, floor = parts
    if groups is None:
        c, f = scale[0, k], floor[0, k]
        for i in range(words.shape[0]):
            out_q[i] = left_out(a, b[i], own[i], prior, tilt, c, f)
    else:
        for i in range(words.shape[0]):
            g = groups[words[i]]
            out_q[i] = left_out(a, b[i], own[i], prior, tilt, scale[g, k], floor[g, k])


@kernel
def masked_collapsed_document_rows(
    start, stop, corpus, entries, parameters, weights, floors, parts, groups, out
):
    """``kernels.collapsed_document_rows`` over the topics each document may use."""
    indptr, indices, counts = corpus
    offsets, topics, firsts = entries[:3]
    prior, tilt = floors
    out_counts, out_shares, out_loglik = out
    real = parameters.dtype.type
    least, one = real(FLOOR), real(1)
    n_scratch = widest(start, stop, indptr) + SPACE
    work_b = np.empty((widest(start, stop, offsets), n_scratch), parameters.dtype)
    work_q = np.empty_like(work_b)
    work_s = np.empty(n_scratch, parameters.dtype)
    own, ratio = np.empty_like(work_s), np.empty_like(work_s)
    for d in range(start, stop):
        first, last = offsets[d], offsets[d + 1]
        words = indices[indptr[d] : indptr[d + 1]]
        x = counts[indptr[d] : indptr[d + 1]]
        n_words = x.shape[0]
        gather(d, n_words, entries, parameters, weights, work_b, work_s)
        prefetch_entries(min(d + 1, stop - 1), indptr, entries, out_shares)
        out_loglik[d] = log_likelihood(parameters[first:last], x, work_s)
        for i in range(n_words):
            own[i] = min(real(x[i]), one) / max(work_s[i], least)
            work_s[i] = real(0)
        for e in range(first, last):
            q = work_q[e - first]
            token_shares(
                parameters[e], work_b[e - first], own, prior[e], tilt[e], topics[e],
                words, parts, groups, q,
            )  # fmt: skip
            for i in range(n_words):
                work_s[i] += q[i]
        for i in range(n_words):
            ratio[i] = real(x[i]) / max(work_s[i], least)
        for e in range(first, last):
            q = work_q[e - first]
            out_counts[e] = weighted_sum(q, ratio, n_words)
            shares = out_shares[firsts[e] : firsts[e] + n_words]
            write_shares(one, q, ratio, n_words, shares)


@kernel
def masked_word_rows(start, stop, listed, places, shares, pointer, out_counts):
    """Add up the shares of topics ``start..stop``, those of k from ``listed[k]`` on."""
    for k in range(start, stop):
        total = out_counts[pointer[k] : pointer[k + 1]]
        own = places[listed[k] : listed[k + 1]]
        found = shares[listed[k] : listed[k + 1]]
        total[:] = shares.dtype.type(0)
        for i in range(own.shape[0]):
            total[own[i]] += found[i]


@kernel
def topic_sums(start, stop, pointer, array, prior, out_sums):
    """Write the sum of ``max(row + prior, 0)`` of each topic's row, in float64."""
    for k in range(start, stop):
        row = array[pointer[k] : pointer[k + 1]]
        total = 0.0
        for w in range(row.shape[0]):
            total += max(np.float64(row[w]) + prior, 0.0)
        out_sums[k] = total
