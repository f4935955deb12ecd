# SPDX-License-Identifier: BSD-3-Clause
"""Counts shared with the documents that are near by their embeddings.

A document d is seen as ``x_d + λ/n Σ_e x_e`` over its n nearest documents e, by their
places (``graph.walks``); of the sum, only words that at least two of them have. λ
follows the length of the texts: the neighbours of a short one are worth about
`SHARED_TOKENS` words, and at most three times as many as its own. That is what predicts
held-out words best, in simulated and in real texts, with vectors that tell all topics
apart and with those that tell half. The neighbours of a longer text, of `SHORT_TEXT`
words or more, are worth `LONG_TOKENS`, or `LONG_WEIGHT` of its own. Everyday words are
frequent in all longer texts, and topics would fill with them. So words of a longer text
are shared by how much the neighbours say about them: with s_d the counts of its
neighbours and p the word frequencies of the corpus, a word is

    lift_w = Σ_d x_dw s_dw / Σ_w s_dw  /  p_w Σ_d x_dw

times as frequent beside documents that have it as elsewhere, and its counts are shared
``max(1 - 1/lift_w, 0)^γ`` times; all of a document's, then, in the same proportion, so
that as many are shared. γ rises from 0 in texts of half of `SHORT_TEXT` words to
`POWER` in those of `SHORT_TEXT`: short texts have few everyday words, and where vectors
see only some topics, the words of the others would be left out. (A threshold for each
document's own words, in place of one weight per word, led mixtures of simulated texts
away from the truth.)

Most of the words that a long text gets are a small part of a token each, and a fit
takes as long for them as for whole ones. So those that a text of twice `SHORT_TEXT`
words or more would get less than `LEAST_SHARED` of, and does not have itself, are left
out, and the others get what these would have; in texts of `SHORT_TEXT` words or fewer
none is.

Vectors may be near for reasons that words do not show (all reviews of one critic). So
the neighbours' words are asked how well they predict those of a document,

    gain = Σ_dw x_dw log(4/5 + y_dw / 5 p_w) / Σ_dw x_dw

with y_d their word frequencies and p those of the corpus, in nats per token. The
agreement is the gain less that of as many documents drawn at random. Where it is below
`LEAST_AGREEMENT`, topics start from words alone, and no counts are shared. It is asked
of the nearest documents by the vectors first: in longer texts it is a little more than
by walks, which are not made where it is too little. Short texts say less themselves: a
quarter of it is enough, and below that λ falls with it. A λ
below `LEAST_WEIGHT` is zero: of very long texts no counts are shared.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from topicfold.core import saved
from topicfold.core.counts import row_sums
from topicfold.core.jit import kernel, part
from topicfold.core.parameters import NOT_NEGATIVE, DeclaredParameters, whole
from topicfold.core.threads import even_ranges, n_ranges, n_threads, run_ranges
from topicfold.core.typing import Doubles
from topicfold.graph.embedding import GRID, EmbeddingIndex, Rows, check_embeddings
from topicfold.graph.walks import NEIGHBORS, places_between, places_of, walks_along

# Chosen by benchmarks/results/embeddings.md, which says on what.
SHARED_TOKENS, MOST_WEIGHT = 12.0, 3.0
# The same in longer texts.
LONG_TOKENS, LONG_WEIGHT = 40.0, 0.35
# How much less everyday words of longer texts are shared.
POWER = 2.0
# Mean words of a text below which it is short, and says less itself: the share of
# `LEAST_AGREEMENT` that is asked of it.
SHORT_TEXT, SHORT_SHARE = 40.0, 0.25
# A smaller weight changes little and costs as much: it becomes zero.
LEAST_WEIGHT = 0.05
# Neighbours that must have a word; all words count of fewer than `FEW` neighbours.
SHARED_BY, FEW = 2, 5
# Least part of a token that is shared with a text of twice `SHORT_TEXT` words or more
# that does not have the word; and with any text.
LEAST_SHARED, NEXT_TO_NOTHING = 0.1, 1e-6
# Nats per token, the neighbours' share of a prediction, and documents that are asked.
LEAST_AGREEMENT, PREDICTED_SHARE, ASKED = 0.4, 0.2, 1000
BLOCK = 4096  # documents whose sums are made at once


class CountSharing(DeclaredParameters, BaseEstimator):
    """Counts of documents with those of the documents nearest by embedding.

    A document is seen as its own counts and, `weight` times, the mean counts of its
    nearest documents, of which words of a single neighbour are left out: short texts
    then share words with texts that say the same in other words. Longer texts share
    mostly words that near documents have in common, hardly any everyday words, and no
    small parts of a token.

    Parameters
    ----------
    n_neighbors : int, default=15
        Documents that a document shares counts with.
    weight : float or None, default=None
        How much their mean counts, beside the document's own counts. None is
        12 / the mean length of the documents, at most 3; from 40 words on 40 / the
        mean length, at most 0.35. Less where the neighbours' words do not agree with a
        document's own, in longer texts 0; 0 too if it is below 0.05.

    Attributes
    ----------
    weight_ : float
        The weight used.
    agreement_ : float
        How much better the words of a document are predicted with those of its
        neighbours than with those of random documents, in nats per token.
    counts_ : csr_matrix of shape (n_documents, n_terms)
        The counts of the training documents.
    word_weights_ : ndarray of shape (n_terms,)
        How much of a word's counts is shared; 1 in texts of fewer than 20 words.
    embeddings_ : ndarray of shape (n_documents, n_dimensions)
        Unit rows of their embeddings, in float32.
    walks_ : ndarray of shape (n_documents, n_walks)
        Where walks along near documents lead; see the source of ``graph.walks``. A
        column of zeros where longer texts do not follow the vectors.

    Examples
    --------
    >>> sharing = CountSharing(1, weight=0.5)
    >>> shared = sharing.fit_shared([[2, 0], [0, 4]], [[1.0, 0.1], [1.0, 0.0]])
    >>> shared.toarray()
    array([[2., 2.],
           [1., 4.]], dtype=float32)
    """

    n_neighbors: Annotated[int, whole(1)]
    weight: Annotated[float | None, NOT_NEGATIVE]

    def __init__(self, n_neighbors: int = 15, *, weight: float | None = None) -> None:
        self._store_parameters(locals())

    def fit_shared(
        self, X: Any, embeddings: Any, *, n_jobs: int | None = None
    ) -> sp.csr_matrix:
        """Keep the training documents; return their shared counts.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_terms)
            Counts.
        embeddings : array-like of shape (n_documents, n_dimensions)
            A row per document.
        n_jobs : int or None, default=None
            Threads; no effect on the result.
        """
        self._validate_params()
        counts = _floats(X)
        self.embeddings_ = check_embeddings(embeddings, counts.shape[0])
        self.counts_ = counts
        for name in ("_index", "places", "_place_index"):
            self.__dict__.pop(name, None)
        near, similar = self._index.query(None, NEIGHBORS, n_jobs=n_jobs)
        self.agreement_ = agreement(counts, near)
        if self.weight is None and not self.short and not self.agrees:
            # Walks lead to documents that agree a little less.
            self.walks_ = np.zeros((len(near), 1), dtype=np.float32)
            self.weight_ = 0.0
            self.word_weights_ = np.ones(counts.shape[1], dtype=np.float32)
            return counts
        self.walks_ = walks_along(near, similar)
        near, _ = self._place_index.query(None, self.n_neighbors, n_jobs=n_jobs)
        self.agreement_ = agreement(counts, near)
        self.weight_ = self._rule() if self.weight is None else float(self.weight)
        self.word_weights_ = np.ones(counts.shape[1], dtype=np.float32)
        if self.weight_ and self._power:
            self.word_weights_ = word_weights(counts, near, self._power)
        return self._joined(counts, near, n_jobs)

    def _rule(self) -> float:
        length, share = max(self._length, 1e-300), self.agreement_ / self._least
        if self.short:
            weight = min(MOST_WEIGHT, SHARED_TOKENS / length) * min(1.0, share)
        else:
            weight = min(LONG_WEIGHT, LONG_TOKENS / length) * (share >= 1)
        return weight if weight >= LEAST_WEIGHT else 0.0

    @property
    def short(self) -> bool:
        """Whether the training documents have few words."""
        return self._length < SHORT_TEXT

    @property
    def _length(self) -> float:
        counts = self.counts_
        return float(counts.sum(dtype=np.float64)) / max(counts.shape[0], 1)

    @property
    def _power(self) -> float:
        return POWER * min(max(2 * self._length / SHORT_TEXT - 1, 0.0), 1.0)

    @property
    def _least_shared(self) -> float:
        share = min(max(self._length / SHORT_TEXT - 1, 0.0), 1.0)
        return max(LEAST_SHARED * share, NEXT_TO_NOTHING)

    @property
    def _least(self) -> float:
        return LEAST_AGREEMENT * (SHORT_SHARE if self.short else 1.0)

    def shared(
        self, X: Any, embeddings: Any, *, n_jobs: int | None = None
    ) -> sp.csr_matrix:
        """Return shared counts of new documents, by their nearest training documents.

        A document with the vector and the counts of a training document has its place
        and its neighbours: it is not its own neighbour, here as in the fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_terms)
            Counts, in the columns of `fit_shared`.
        embeddings : array-like of shape (n_documents, n_dimensions)
            A row per document, by the encoder of `fit_shared`.
        n_jobs : int or None, default=None
            Threads; no effect on the result.
        """
        counts = _floats(X)
        rows = check_embeddings(embeddings, counts.shape[0], self.embeddings_.shape[1])
        if not self.weight_:
            return counts
        near, similar = self._index.query(rows, NEIGHBORS, n_jobs=n_jobs)
        places = places_between(near, similar, self.walks_, rows)
        same = _seen_before(counts, self.counts_, near, similar)
        places[same >= 0] = self.places[same[same >= 0]]
        near, _ = self._place_index.query(places, self.n_neighbors + 1, n_jobs=n_jobs)
        near = _without(near, same)[:, : self.n_neighbors]
        return self._joined(counts, near, n_jobs)

    @property
    def agrees(self) -> bool:
        """Whether near documents have words in common, so that topics start there."""
        return bool(self.agreement_ >= self._least)

    @cached_property
    def places(self) -> Rows:
        """Unit rows: where the training documents are, compared by the cosine."""
        return places_of(self.walks_, self.embeddings_)

    @cached_property
    def _index(self) -> EmbeddingIndex:
        return EmbeddingIndex(self.embeddings_)

    @cached_property
    def _place_index(self) -> EmbeddingIndex:
        return EmbeddingIndex(self.places)

    def _joined(
        self, counts: sp.csr_matrix, near: NDArray[np.int64], n_jobs: int | None
    ) -> sp.csr_matrix:
        if not self.weight_:
            return counts
        parts = [
            self._block_joined(counts[i : i + BLOCK], near[i : i + BLOCK], n_jobs)
            for i in range(0, max(len(near), 1), BLOCK)
        ]
        shared = sp.csr_matrix(parts[0] if len(parts) == 1 else sp.vstack(parts))
        shared.sort_indices()
        return shared

    def _block_joined(
        self, counts: sp.csr_matrix, near: NDArray[np.int64], n_jobs: int | None
    ) -> sp.csr_matrix:
        """Return counts of some documents with what they get from their neighbours."""
        training, threads = self.counts_, n_threads(n_jobs)
        # Neighbours' words at most, and the document's own.
        most = np.where(near >= 0, np.diff(training.indptr)[near], 0).sum(axis=1)
        starts = np.r_[0, np.cumsum(most + np.diff(counts.indptr))]
        words = np.empty(starts[-1], dtype=np.int64)
        values = np.empty(starts[-1], dtype=counts.dtype)
        sizes = np.empty(len(near), dtype=np.int64)
        arguments = (
            near,
            (counts.indptr, counts.indices, counts.data),
            (training.indptr, training.indices, training.data),
            (self.word_weights_, self.weight_, SHARED_BY, FEW, self._least_shared),
            (starts, words, values, sizes),
        )
        ranges = even_ranges(len(near), n_ranges(threads))
        run_ranges(join_neighbors, ranges, threads, *arguments)
        kept = np.repeat(starts[:-1] - np.r_[0, np.cumsum(sizes)[:-1]], sizes)
        kept += np.arange(len(kept))
        parts = values[kept], words[kept], np.r_[0, np.cumsum(sizes)]
        return sp.csr_matrix(parts, shape=counts.shape)

    _saved = saved.forms(
        walks_=saved.numbers("DW", -2, 2),
        word_weights_=saved.numbers("V", 0, 1),
        weight_=saved.number(0),
        agreement_=saved.number(),
    )

    def _check_loaded(self) -> None:
        """Refuse saved parts that do not match."""
        rows: Any = getattr(self, "embeddings_", None)
        counts: Any = getattr(self, "counts_", None)
        if rows is None and counts is None:
            return  # saved before it was fitted
        width = np.shape(counts)[1] if np.ndim(counts) == 2 else -1
        saved.check(self, {"D": len(rows), "W": np.shape(self.walks_)[1], "V": width})
        shapes = np.ndim(rows), np.shape(counts)[:1]
        if (
            not (isinstance(rows, np.ndarray) and sp.issparse(counts))
            or shapes != (2, (len(rows),))
            or not len(rows)
        ):
            raise ValueError("its embeddings and its documents do not match")
        self._validate_params()
        check_embeddings(rows, len(rows))
        if counts.nnz and not (0 < counts.data.min() <= counts.data.max() < 1e30):
            raise ValueError("its counts are invalid")


def word_weights(
    counts: sp.csr_matrix, near: NDArray[np.int64], power: float = POWER
) -> NDArray[np.float32]:
    """Return how much of a word's counts is shared; see the module.

    Examples
    --------
    >>> counts = sp.csr_matrix([[1.0, 3, 0], [1, 3, 0], [1, 0, 3], [1, 0, 3]])
    >>> word_weights(counts, np.array([[1], [0], [3], [2]])).tolist()
    [0.0, 0.25, 0.25]
    """
    sums, totals = _beside(counts, near, counts)
    rows = np.repeat(np.arange(len(near)), np.diff(counts.indptr))
    shares = sums / np.where(totals > 0, totals, np.inf)[rows]
    beside = np.bincount(counts.indices, counts.data * shares, counts.shape[1])
    often = np.asarray(counts.sum(axis=0, dtype=np.float64)).ravel()
    by_chance = often**2 / max(often.sum(), 1e-300)
    lift = np.maximum(beside / np.where(by_chance > 0, by_chance, 1.0), 1.0)
    return np.asarray((1 - 1 / lift) ** power, dtype=np.float32)


def _seen_before(
    counts: sp.csr_matrix,
    training: sp.csr_matrix,
    near: NDArray[np.int64],
    similar: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return which training document a new one is, by vector and counts; -1: none."""
    found = np.full(len(near), -1, dtype=np.int64)
    for documents, cosines in zip(near.T, similar.T, strict=True):
        rows = np.flatnonzero((found < 0) & (documents >= 0) & (cosines >= 1 - GRID))
        if not len(rows):
            break  # the nearest come first
        others = sp.csr_matrix(counts[rows] != training[documents[rows]])
        rows = rows[np.diff(others.indptr) == 0]
        found[rows] = documents[rows]
    return found


def _without(near: NDArray[np.int64], left_out: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return neighbours, nearest first, with one that is left out (-1: none) last."""
    last = (near == left_out[:, None]) & (near >= 0)
    order = np.argsort(last, axis=1, kind="stable")
    return np.take_along_axis(np.where(last, -1, near), order, axis=1)


def agreement(counts: sp.csr_matrix, near: NDArray[np.int64]) -> float:
    """Return how much the neighbours' words say about a document's, nats per token.

    See the module.
    """
    drawn = np.random.default_rng(0).integers(0, counts.shape[0], near.shape)
    return _gain(counts, near) - _gain(counts, np.where(near >= 0, drawn, -1))


def _gain(counts: sp.csr_matrix, near: NDArray[np.int64]) -> float:
    """Return the gain; of at most `ASKED` documents, evenly spread over the corpus."""
    step = -(-len(near) // ASKED)
    asked, near = sp.csr_matrix(counts[::step]), near[::step]
    frequencies = np.asarray(counts.sum(axis=0, dtype=np.float64)).ravel()
    sums, totals = _beside(asked, near, counts)
    rows = np.repeat(np.arange(len(near)), np.diff(asked.indptr))
    known = totals[rows] > 0  # documents without neighbours are not asked
    rows, columns, own = rows[known], asked.indices[known], asked.data[known]
    if not len(rows):
        return 0.0
    predicted = sums[known] / totals[rows]
    ratio = predicted / (frequencies[columns] / frequencies.sum())
    gains = np.log((1 - PREDICTED_SHARE) + PREDICTED_SHARE * ratio)
    own = own.astype(np.float64)
    return float((own * gains).sum() / own.sum())


def _beside(
    documents: sp.csr_matrix, near: NDArray[np.int64], counts: sp.csr_matrix
) -> tuple[Doubles, Doubles]:
    """Return what neighbours have of each word of documents, and of all words.

    The first has a number per non-zero of the documents.
    """
    sums, lengths = np.empty(documents.nnz), row_sums(counts)
    corpus = counts.indptr, counts.indices, counts.data
    own = documents.indptr, documents.indices
    add_neighbors(0, len(near), near, own, corpus, counts.shape[1], sums)
    return sums, np.where(near >= 0, lengths[near], 0.0).sum(axis=1)


@kernel
def add_neighbors(
    start: int,
    stop: int,
    near: NDArray[np.int64],
    own: Any,
    corpus: Any,
    n_terms: int,
    out_sums: Doubles,
) -> None:
    """Write the counts that neighbours have of the words of documents ``start..stop``.

    Equivalent to ``(G @ X)[rows, columns]`` with ones in G at a document's neighbours.
    """
    own_ptr, own_words = own
    indptr, indices, counts = corpus
    place = np.full(n_terms, -1, np.int64)
    for d in range(start, stop):
        for p in range(own_ptr[d], own_ptr[d + 1]):
            place[own_words[p]] = p
            out_sums[p] = 0.0
        for j in range(near.shape[1]):
            e = near[d, j]
            if e < 0:
                continue
            for q in range(indptr[e], indptr[e + 1]):
                p = place[indices[q]]
                if p >= 0:
                    out_sums[p] += counts[q]
        for p in range(own_ptr[d], own_ptr[d + 1]):
            place[own_words[p]] = -1


@part
def sum_at(values: Doubles, places: NDArray[np.int64], n: int) -> float:
    """Return the sum of values at the first `n` places."""
    total = 0.0
    for i in range(n):
        total += values[places[i]]
    return total


@kernel
def join_neighbors(
    start: int,
    stop: int,
    near: NDArray[np.int64],
    own: Any,
    corpus: Any,
    rules: Any,
    outputs: Any,
) -> None:
    """Write what documents ``start..stop`` have with their neighbours, word by word.

    A word of fewer than `shared_by` neighbours counts only where a document has fewer
    than `few` of them, and one of which a document would get less than `least_shared`
    only where it has the word. Words are in any order, a document's own first.
    """
    own_ptr, own_words, own_counts = own
    indptr, indices, counts = corpus
    word_weights, weight, shared_by, few, least_shared = rules
    starts, out_words, out_values, out_sizes = outputs
    n_terms = word_weights.shape[0]
    having = np.zeros(n_terms, np.int64)
    sums = np.zeros(n_terms)
    found = np.empty(n_terms, np.int64)
    mine = np.zeros(n_terms, np.bool_)
    for d in range(start, stop):
        for p in range(own_ptr[d], own_ptr[d + 1]):
            mine[own_words[p]] = True
        n_joined = 0
        n_found = 0
        for j in range(near.shape[1]):
            e = near[d, j]
            if e < 0:
                continue
            n_joined += 1
            for q in range(indptr[e], indptr[e + 1]):
                word = indices[q]
                if having[word] == 0:
                    found[n_found] = word
                    n_found += 1
                having[word] += 1
                sums[word] += counts[q]
        least = shared_by if n_joined >= few else 1
        for i in range(n_found):
            if having[found[i]] < least:
                sums[found[i]] = 0.0
        total = sum_at(sums, found, n_found) * weight / max(n_joined, 1)
        for i in range(n_found):
            sums[found[i]] *= word_weights[found[i]]
        # As many are shared in all, whatever the weights of words.
        smallest = least_shared * sum_at(sums, found, n_found) / max(total, 1e-300)
        for i in range(n_found):
            if sums[found[i]] < smallest and not mine[found[i]]:
                sums[found[i]] = 0.0
        left = sum_at(sums, found, n_found)
        scale = total / left if left > 0.0 else 0.0
        place = starts[d]
        for p in range(own_ptr[d], own_ptr[d + 1]):
            word = own_words[p]
            out_words[place] = word
            out_values[place] = own_counts[p] + scale * sums[word]
            sums[word] = 0.0
            mine[word] = False
            place += 1
        for i in range(n_found):
            word = found[i]
            value = scale * sums[word]
            if value > 0.0:
                out_words[place] = word
                out_values[place] = value
                place += 1
            having[word] = 0
            sums[word] = 0.0
        out_sizes[d] = place - starts[d]


def _floats(X: Any) -> sp.csr_matrix:
    """Return counts in float32, or in float64 as they are."""
    counts = sp.csr_matrix(X)
    return counts if counts.dtype.kind == "f" else counts.astype(np.float32)
