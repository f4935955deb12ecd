# SPDX-License-Identifier: BSD-3-Clause
"""Where EM starts: topics from random numbers, documents, an SVD or anchor words.

And which of two starts leads to topics that explain the words better (`lead`). Vectors
that distinguish only some of the topics (a language, a form, subjects in pairs) make
clusters that mix the others, and a fit does not leave such a start. The words show it
within a few passes of EM over a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from topicfold.core.counts import (
    SparseRows,
    column_sums,
    row_sums,
    smooth_idf,
    tall_product,
)
from topicfold.core.threads import n_threads, one_blas_thread
from topicfold.core.typing import Array, Doubles
from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.engine import make_engine
from topicfold.exceptions import DataError
from topicfold.learn.learner import Learner

DOCUMENTS_PER_TOPIC = 10
BACKGROUND_SHARE = 0.5
SVD_DOCUMENTS = 50_000
SPECTRAL_BACKGROUND = 1e-3
NEIGHBORS_PER_TOPIC = 20
NEIGHBOR_DOCUMENTS = 20_000
# Of the start from clusters (benchmarks/results/lda_quality.md): the corpus' share of a
# topic, the dimensions in which documents are compared, steps to find these and steps
# of k-means.
CLUSTER_DOCUMENTS = 10_000
CLUSTER_BACKGROUND = 0.2
MOST_DIMENSIONS = 50
LATENT_STEPS = 5
CLUSTER_STEPS = 10
# Where places are given, the tightest of some runs of k-means is taken, each with more
# steps and the best of some candidates per seed (benchmarks/results/embeddings.md).
PLACE_RUNS, PLACE_STEPS, PLACE_SEEDS = 10, 30, 5
# Dimensions in which places are compared until then, and steps to find these.
PLACE_DIMENSIONS, PLACE_LATENT_STEPS = 48, 3
LEAST_SQUARE = 1e-12
# Words in more than this share of the documents start in topics of their own: this part
# of the topics that their share of the tokens would be. The others keep a part of their
# own share of them.
COMMON_WORDS = 0.3
COMMON_TOPICS = 0.2
COMMON_PART = 0.05
# With fewer topics none is spared, and one topic's own words may be in many documents.
LEAST_TOPICS = 10
COMMON_AMONG_FEW = 0.8
# How far documents of a cluster must be from differing in their share of common words
# by chance alone, in itself and in standard errors: those of real corpora are by 0.001
# to 0.1. Where all topics have these words alike, none starts from them
# (benchmarks/results/mixtures.md).
LEAST_DIFFERENCE, LEAST_ERRORS = 0.001, 2.0
# Of two rival starts: documents that are looked at, passes over them, and updates of
# each in a pass.
RIVAL_DOCUMENTS, PASSES, UPDATES, TOL = 1000, 3, 2, 1e-3
# Nats per token below which topics start from words (benchmarks/results/embeddings.md).
LEAST_LEAD = -0.04
# Priors: Σα, the largest α, and η.
ALPHA_SUM, ALPHA_MOST, ETA = 2.0, 0.2, 0.01


def initial_topics(
    X: sparse.csr_matrix,
    n_topics: int,
    init: Any,
    rng: np.random.RandomState,
    n_jobs: int | None = None,
    *,
    places: Array | None = None,
) -> Array:
    """Return (K, V) topics of the type of X, rows on the simplex.

    Entries are positive except where a given array has zeros. Made topic by topic:
    the result is the only array of its size. `init` is

    - ``"random"``: the corpus' word frequencies times random factors;
    - ``"documents"``: half a few random documents, half the corpus;
    - ``"neighbors"``: half a document and those most like it, half the corpus; the
      documents are chosen far from each other, among `NEIGHBOR_DOCUMENTS` random ones;
    - ``"clusters"``: clusters of documents by their first singular vectors, with a
      little of the corpus; of `CLUSTER_DOCUMENTS` random ones. Words of many
      documents start in a few topics of their own, or in one of the clusters. With
      `places`, unit rows of the documents, clusters are those of the places;
    - ``"spectral"``: topics of anchor words (`spectral_topics`), with a little of the
      corpus; of at most `SVD_DOCUMENTS` random documents;
    - ``"svd"``: positive parts of singular vectors, filled with a little of the corpus
      (after NNDSVD, Boutsidis & Gallopoulos 2008); of a corpus in blocks, those of
      at most `SVD_DOCUMENTS` random documents;
    - an array (K, V): used as it is after normalising.
    """
    threads = n_threads(n_jobs)
    unigram = column_sums(X, threads) + 1.0 / X.shape[1]
    unigram /= unigram.sum()
    if not isinstance(init, str):
        return _given(init, n_topics, X.shape[1], unigram).astype(X.dtype, copy=False)
    start = _Start(X, n_topics, unigram, rng, threads, places)
    topics = np.empty((n_topics, X.shape[1]), X.dtype)
    for k, weights in enumerate(getattr(start, init)()):
        topics[k] = weights / weights.sum()
    return topics


def _sampled(X: Any, most: int, rng: np.random.RandomState) -> sparse.csr_matrix:
    """Return all documents, or `most` random ones, in memory."""
    n_documents = X.shape[0]
    whole = n_documents <= most
    if whole and sparse.issparse(X):
        return X
    return X[:] if whole else X[np.sort(rng.choice(n_documents, most, False))]


def _given(init: Any, n_topics: int, n_terms: int, unigram: Array) -> Array:
    try:
        given = np.asarray(init)
        if given.dtype.kind in "cMm":
            raise TypeError(f"it is {given.dtype}")  # noqa: TRY301
        topics = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"init is not an array of numbers ({error}).") from error
    if topics.shape != (n_topics, n_terms):
        raise DataError(
            f"init has shape {topics.shape}, but n_components={n_topics} topics over "
            f"{n_terms} terms need ({n_topics}, {n_terms})."
        )
    if not np.isfinite(topics).all() or (topics < 0).any():
        raise DataError("init must be finite and non-negative; check your array.")
    if topics.size and topics.max() > 1e200:  # their sum may be none
        topics /= topics.max()
    totals = topics.sum(axis=1, keepdims=True)
    return np.where(totals > 0, topics / np.where(totals > 0, totals, 1), unigram)


class _Start(NamedTuple):
    """What topics start from; a method per `init` yields them, of any scale."""

    X: Any
    n_topics: int
    unigram: Array
    rng: np.random.RandomState
    threads: int
    places: Array | None = None

    def random(self) -> Iterator[Array]:
        """Yield the corpus times random factors."""
        for _ in range(self.n_topics):
            yield self.unigram * self.rng.gamma(1.0, size=self.X.shape[1])

    def documents(self) -> Iterator[Array]:
        """Yield the words of a few random documents."""
        used = np.flatnonzero(np.diff(self.X.indptr))
        for _ in range(self.n_topics):
            rows = self.rng.choice(used, size=min(DOCUMENTS_PER_TOPIC, len(used)))
            yield _half_of(self.X[rows], self.unigram)

    def neighbors(self) -> Iterator[Array]:
        """Seeds far apart by the cosine of tf-idf, each with its nearest documents."""
        X, rows = _compared(self.X, NEIGHBOR_DOCUMENTS, self.rng)
        # Not more than a topic's share of the documents.
        n_neighbors = min(NEIGHBORS_PER_TOPIC, max(1, X.shape[0] // self.n_topics))
        product, size = SparseRows(rows, self.threads), (X.shape[0], self.n_topics)
        for _, likeness in _spread_seeds(
            lambda seeds: product @ rows[seeds].toarray().T, *size, self.rng
        ):
            least = np.partition(likeness, -n_neighbors)[-n_neighbors]
            nearest = np.flatnonzero(likeness >= least)
            order = np.argsort(-likeness[nearest], kind="stable")
            nearest = nearest[order][:n_neighbors]
            yield _half_of(X[nearest[likeness[nearest] > 0]], self.unigram)

    def clusters(self) -> Iterator[Array]:
        """Clusters by k-means on the cosine of the documents' first singular vectors.

        Documents of a large class may share few words: by their words alone they are as
        far from each other as from any document, many seeds fall among them, and topics
        that start there never merge. By what their words occur with, they are near.
        The singular vectors weigh each document by the root of its length: where a few
        documents have most of the tokens, they need topics, too.

        Words of many documents (stop words, what every page of a site has) would be the
        top words of every topic: no cluster differs in them, and topics that begin with
        equal shares of a word keep them. They start in a few topics of their own; one
        could not tell how documents differ in stop words, and all topics would have
        them again. Where they are too few for a topic, they start in the cluster with
        most of them.
        """
        given, whole = self.places, self.X
        if given is not None and len(given) > CLUSTER_DOCUMENTS:
            drawn = self.rng.choice(len(given), CLUSTER_DOCUMENTS, replace=False)
            given, whole = given[np.sort(drawn)], whole[np.sort(drawn)]
        X, rows = _compared(whole, CLUSTER_DOCUMENTS, self.rng)
        lengths = row_sums(X)
        rows.data *= np.repeat(np.sqrt(lengths / lengths.mean()), np.diff(rows.indptr))
        common, n_apart = self._common(X)
        n_clusters = self.n_topics - n_apart
        clusters: Callable[..., sparse.csr_matrix]
        with one_blas_thread():
            if given is None:
                rank = min(n_clusters, MOST_DIMENSIONS)
                places = _latent(rows, rank, self.rng, self.threads)
                clusters = _k_means
            else:
                places = given[np.diff(whole.indptr) > 0]
                clusters = _tight_clusters
            members = clusters(places, n_clusters, self.rng, self.threads)
            if not _differ(X, common, members):
                common = common[:0]
                if n_apart:
                    n_clusters, n_apart = self.n_topics, 0
                    members = clusters(places, n_clusters, self.rng, self.threads)
            counts = sparse.csr_matrix(members @ X)
            usage = counts[:, common].toarray()
            apart = self._groups(usage, n_apart) if n_apart else usage[:0]
        home = np.argmax(usage.sum(axis=1) / np.asarray(counts.sum(axis=1)).ravel())
        background = CLUSTER_BACKGROUND * self.unigram
        for k, own in enumerate(map(slice, counts.indptr[:-1], counts.indptr[1:])):
            weights = background.copy()
            shares = counts.data[own] / counts.data[own].sum()
            weights[counts.indices[own]] += (1 - CLUSTER_BACKGROUND) * shares
            if n_apart or k != home:
                weights[common] *= COMMON_PART
            yield weights
        for own in apart:
            weights = background.copy()
            weights[common] += (1 - CLUSTER_BACKGROUND) * own / own.sum()
            yield weights

    def _common(self, X: sparse.csr_matrix) -> tuple[Any, int]:
        """Return the words of many documents, and how many topics start from them."""
        few = self.n_topics < LEAST_TOPICS
        least = COMMON_AMONG_FEW if few else COMMON_WORDS
        common = np.flatnonzero(X.getnnz(axis=0) > least * X.shape[0])
        share = float(self.unigram[common].sum())
        return common, 0 if few else round(COMMON_TOPICS * share * self.n_topics)

    def _groups(self, usage: Doubles, n_groups: int) -> Doubles:
        """Return counts of common words in groups of clusters that use them alike."""
        shares = np.sqrt(usage / np.maximum(usage.sum(axis=1, keepdims=True), 1.0))
        places = _unit_rows(shares - shares.mean(axis=0))
        members = _k_means(places, n_groups, self.rng, self.threads)
        return np.asarray(members @ usage) + 1.0 / usage.shape[1]

    def spectral(self) -> Iterator[Array]:
        """Topics of anchor words, with a little of the corpus."""
        X = _sampled(self.X, SVD_DOCUMENTS, self.rng)
        with one_blas_thread():
            found = spectral_topics(X, self.n_topics, self.rng)
        for topic in found:
            yield topic + SPECTRAL_BACKGROUND * self.unigram

    def svd(self) -> Iterator[Array]:
        """Squared positive part of a singular vector of √X, plus noise."""
        X, unigram, rng = self.X, self.unigram, self.rng
        if isinstance(X, BlockCorpus):
            X = _sampled(X, SVD_DOCUMENTS, rng)
        rank = min(self.n_topics, *X.shape)
        left, _, right = randomized_svd(X.sqrt(), rank, random_state=rng)
        for k in range(self.n_topics):
            # Topics beyond the matrix's rank repeat its vectors with the other sign.
            u, v = left[:, k % rank], right[k % rank]
            ups, downs = (
                np.linalg.norm(np.maximum(s * u, 0))
                * np.linalg.norm(np.maximum(s * v, 0))
                for s in (1, -1)
            )
            sign = 1 if ups >= downs else -1
            part = np.maximum((sign if k < rank else -sign) * v, 0) ** 2
            share = part / part.sum() if part.sum() > 0 else unigram
            yield 0.8 * share + 0.2 * unigram * rng.gamma(1.0, size=len(v))


def _differ(X: Any, words: Any, members: sparse.csr_matrix) -> bool:
    """Return whether shares of words differ among a cluster's documents, not by chance.

    By the correlation of being one of these words, of two tokens of a document: 0 where
    all documents have the same share, 1 where each has these words only or none.
    """
    if not len(words):
        return False
    chosen = np.zeros(X.shape[1])
    chosen[words] = 1.0
    own, lengths = X @ chosen, X @ np.ones(X.shape[1])
    sizes = members.getnnz(axis=1)
    shares = (members @ own) / np.maximum(members @ lengths, 1.0)
    cluster, rows = np.repeat(np.arange(len(sizes)), sizes), members.indices
    used = ((sizes > 1) & (shares > 0) & (shares < 1))[cluster]
    cluster, own, lengths = cluster[used], own[rows][used], lengths[rows][used]
    pairs = (lengths * (lengths - 1.0)).sum()
    if not pairs > 0:
        return False
    scale = sizes / (np.maximum(sizes - 1, 1) * np.maximum(shares * (1 - shares), 1e-9))
    spread = (scale[cluster] * (own - shares[cluster] * lengths) ** 2).sum()
    difference = (spread - lengths.sum()) / pairs
    error = np.sqrt(2.0 * (lengths**2).sum()) / pairs
    return bool(abs(difference) > max(LEAST_DIFFERENCE, LEAST_ERRORS * error))


def _half_of(documents: sparse.csr_matrix, unigram: Array) -> Array:
    """Return the words of some documents, half of them the corpus'."""
    counts = np.asarray(documents.sum(axis=0, dtype=np.float64)).ravel()
    own = (1 - BACKGROUND_SHARE) * counts / counts.sum()
    return own + BACKGROUND_SHARE * unigram


def _compared(
    X: Any, most: int, rng: np.random.RandomState
) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Return a sample of the documents that have words, and their tf-idf."""
    X = _sampled(X, most, rng)
    used = np.diff(X.indptr) > 0
    X = X if used.all() else X[used]
    values = 1.0 + np.log(np.maximum(X.data, 1.0, dtype=np.float64))
    values *= smooth_idf(X)[X.indices]
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    values /= np.sqrt(np.bincount(row, values * values))[row]
    return X, sparse.csr_matrix((values, X.indices, X.indptr), X.shape)


def _spread_seeds(
    likeness_to: Callable[[Any], Doubles],
    n_documents: int,
    n_seeds: int,
    rng: np.random.RandomState,
    n_candidates: int = 1,
) -> Iterator[tuple[int, Doubles]]:
    """Yield seeds by D² sampling, and the cosines of all documents with each.

    A document is drawn with a probability in proportion to its squared distance from
    the nearest seed so far (k-means++, Arthur & Vassilvitskii 2007).
    """
    distance = np.ones(n_documents)  # half the squared one
    # The best of some candidates; where seeds are few, a bad one matters more.
    n_tries = max(n_candidates, min(8, 20 // n_seeds))
    for _ in range(n_seeds):
        below = distance.cumsum()
        if below[-1] > 0:
            shares = below / below[-1]
            drawn = shares.searchsorted(rng.random_sample(n_tries), side="right")
        else:  # as many seeds as there are different documents: begin again
            drawn = rng.choice(n_documents, size=n_tries)
        near = likeness_to(drawn)
        left = np.minimum(distance[:, None], np.maximum(1.0 - near, 0.0))
        best = 0 if n_tries == 1 else left.sum(axis=0).argmin()
        distance = np.ascontiguousarray(left[:, best])
        distance[drawn[best]] = 0.0
        yield int(drawn[best]), near[:, best]


def _k_means(
    places: Array,
    n_clusters: int,
    rng: np.random.RandomState,
    threads: int,
    *,
    n_steps: int = CLUSTER_STEPS,
    n_candidates: int = 1,
) -> sparse.csr_matrix:
    """Return clusters × rows, ones at a cluster's rows; one left empty has its seed."""
    n_rows = len(places)
    spread = _spread_seeds(
        lambda seeds: tall_product(places, places[seeds].T, threads),
        *(n_rows, n_clusters, rng, n_candidates),
    )
    seeds = np.array([seed for seed, _ in spread])
    return _settled(places, places[seeds], seeds, threads, n_steps)


def _settled(
    places: Array, centers: Array, seeds: Any, threads: int, n_steps: int
) -> sparse.csr_matrix:
    """Return clusters by steps of k-means from centres; one left empty has its seed."""
    n_rows, n_clusters = len(places), len(centers)
    empty = seeds[:0]
    # A one in each column, at the row's cluster: only the indices change.
    starts = np.arange(n_rows + 1, dtype=np.int32)
    members = sparse.csc_matrix(
        (np.ones(n_rows, places.dtype), np.full(n_rows, -1, np.int32), starts),
        shape=(n_clusters, n_rows),
    )
    for _ in range(n_steps):
        nearest = tall_product(places, centers.T, threads).argmax(axis=1)
        if np.array_equal(nearest, members.indices):
            break  # the next steps would change nothing either
        members.indices = nearest.astype(np.int32)
        sums = members @ places
        empty = np.flatnonzero(np.bincount(nearest, minlength=n_clusters) == 0)
        sums[empty] = places[seeds[empty]]
        centers = _unit_rows(sums)
    if len(empty) == 0:
        return members.tocsr()
    lone = np.ones(len(empty)), (empty, seeds[empty])
    return members.tocsr() + sparse.csr_matrix(lone, members.shape)


def _tight_clusters(
    places: Array, n_clusters: int, rng: np.random.RandomState, threads: int
) -> sparse.csr_matrix:
    """Return the clusters whose rows are nearest to their centres, of some runs.

    Runs are in the rows' first dimensions, as all would take most of the time; the
    tightest goes on in all.
    """
    rows, some = places, places.shape[1] > PLACE_DIMENSIONS
    if some:
        rows = _first_dimensions(places, PLACE_DIMENSIONS, threads)
    how = {"n_steps": PLACE_STEPS, "n_candidates": PLACE_SEEDS}
    runs = (_k_means(rows, n_clusters, rng, threads, **how) for _ in range(PLACE_RUNS))
    best = max(runs, key=lambda run: np.linalg.norm(run @ rows, axis=1).sum())
    if not some:
        return best
    centers, seeds = _unit_rows(best @ places), best.indices[best.indptr[:-1]]
    return _settled(places, centers, seeds, threads, PLACE_STEPS)


def _first_dimensions(rows: Array, rank: int, threads: int) -> Array:
    """Return rows by about their first singular vectors, at their lengths there.

    By a few steps of subspace iteration.
    """
    drawn = np.random.default_rng(0).standard_normal((rows.shape[1], rank))
    basis = drawn.astype(rows.dtype)
    for _ in range(PLACE_LATENT_STEPS):
        image = tall_product(rows, basis, threads)
        basis = (rows.T @ image).astype(np.float64)
        basis = (basis @ _orthonormal(basis)).astype(rows.dtype)
    return tall_product(rows, basis, threads)


def place_clusters(
    places: Array, n_clusters: int, rng: np.random.RandomState
) -> NDArray[np.int64]:
    """Return the cluster of each unit row."""
    with one_blas_thread():
        members = _tight_clusters(places, n_clusters, rng, 1)
    return np.asarray(members.tocsc().argmax(axis=0)).ravel().astype(np.int64)


def _latent(
    rows: sparse.csr_matrix, rank: int, rng: np.random.RandomState, threads: int
) -> Doubles:
    """Return rows in the space of their first singular vectors, at length one.

    Roughly: by a few steps of subspace iteration (Halko, Martinsson & Tropp 2011).
    """
    by_row, by_term = SparseRows(rows, threads), SparseRows(rows.T.tocsr(), threads)
    basis = rng.standard_normal((rows.shape[0], min(rank + 10, *rows.shape)))
    for step in range(LATENT_STEPS):
        basis = by_row @ (by_term @ basis)
        if step % 2 or step == LATENT_STEPS - 1:  # two steps lose few digits
            basis = tall_product(basis, _orthonormal(basis), threads)
    image = by_term @ basis
    squares, vectors = np.linalg.eigh(image.T @ image)
    scaled = vectors * np.sqrt(np.maximum(squares, 0.0))
    return _unit_rows(tall_product(basis, scaled[:, -rank:], threads))


def _orthonormal(block: Doubles) -> Doubles:
    """Return the matrix that makes the columns of a block orthonormal, largest last.

    By the eigenvectors of its small Gram matrix, several times faster than QR. Columns
    beyond the block's rank become zero.
    """
    squares, vectors = np.linalg.eigh(block.T @ block)
    kept = squares > LEAST_SQUARE * squares[-1]
    return vectors * np.where(kept, 1.0 / np.sqrt(np.where(kept, squares, 1.0)), 0.0)


def _unit_rows(array: Array) -> Any:
    """Return rows of length one; zeros stay."""
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    return np.asarray(array / np.where(lengths > 0, lengths, 1.0))


MOST_WORDS = 3000
# An anchor is in at least so many documents, or in this share of them: words of few
# documents lie far out by chance.
LEAST_DOCUMENTS, LEAST_SHARE = 5, 0.002
STEPS = 300


def spectral_topics(
    X: sparse.csr_matrix, n_topics: int, rng: np.random.RandomState
) -> NDArray[np.float64]:
    """Return topics (K, V) from anchor words, by no random number.

    Words that occur in one topic only are its anchors. The rows of the table of words
    that occur together are in the convex hull of the anchors' rows, which are its
    corners: each corner is found as the row farthest from the span of those before it,
    and every other row as a mixture of the corners (Arora et al. 2013, "A practical
    algorithm for topic modeling with provable guarantees"). Above `MOST_WORDS` words
    the table has as many random projections as columns instead, and is never made.
    """
    rows, shares = _together(sparse.csr_matrix(X, dtype=np.float64), rng)
    anchors = _anchors(rows, _may_be_anchors(X, n_topics), n_topics)
    corners = rows[anchors]
    mixtures = _mixtures(corners @ corners.T, rows @ corners.T)
    topics = (mixtures * shares[:, None]).T
    return np.asarray(topics / topics.sum(axis=1, keepdims=True))


def _together(
    X: sparse.csr_matrix, rng: np.random.RandomState
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ``p(w' | w)`` of pairs of tokens in a document, and ``p(w)``.

    A token is no pair with itself; documents weigh the same whatever their length.
    """
    lengths = np.asarray(X.sum(axis=1)).ravel()
    pairs = lengths * (lengths - 1.0)
    weight = np.divide(1.0, pairs, out=np.zeros_like(pairs), where=pairs > 0)
    weighted = sparse.diags(weight) @ X
    own = np.asarray(weighted.sum(axis=0)).ravel()
    totals = np.asarray(weighted.T @ lengths).ravel() - own
    if X.shape[1] <= MOST_WORDS:
        together = np.asarray((X.T @ weighted).todense())
        together[np.diag_indices_from(together)] -= own
    else:
        signs = rng.normal(size=(X.shape[1], MOST_WORDS // 3))
        together = X.T @ (weighted @ signs) - own[:, None] * signs
    scale = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)
    shares = np.maximum(totals, 0.0)
    return together * scale[:, None], shares / shares.sum()


def _may_be_anchors(X: sparse.csr_matrix, n_topics: int) -> NDArray[np.bool_]:
    """Tell which words are in documents enough; more of them if these are too few."""
    documents = np.bincount(X.indices, minlength=X.shape[1])
    least = max(LEAST_DOCUMENTS, LEAST_SHARE * X.shape[0])
    while least >= 1 and (documents >= least).sum() < 2 * n_topics:
        least /= 2
    found = documents >= max(least, 1)
    if found.sum() < n_topics:
        raise DataError(
            f"init='spectral' needs a separate word for each of {n_topics} topics, but "
            f"X has {int(found.sum())} words. Use fewer topics or another init."
        )
    return np.asarray(found)


def _anchors(
    rows: NDArray[np.float64], allowed: NDArray[np.bool_], n_topics: int
) -> NDArray[np.intp]:
    """Return the words at the corners: each farthest from the span of the others.

    Squared distances lose what each direction of an orthogonal basis of the span adds.
    """
    distance = np.where(allowed, np.einsum("ij,ij->i", rows, rows), -np.inf)
    basis = np.zeros((n_topics, rows.shape[1]))
    found: list[int] = []
    for number in range(n_topics):
        found.append(int(distance.argmax()))
        direction = rows[found[-1]].copy()
        for _ in range(2):  # once more for what rounding left
            direction -= (basis[:number] @ direction) @ basis[:number]
        basis[number] = direction / max(float(np.linalg.norm(direction)), 1e-300)
        distance -= (rows @ basis[number]) ** 2
        distance[found] = -np.inf
    return np.array(found)


def _mixtures(
    products: NDArray[np.float64], targets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return rows c on the simplex that minimise ``c G cᵀ − 2 t c``.

    By exponentiated gradients, accelerated by each row's own step: a step that does not
    lower a row's value is not made, and halves its step.
    """
    shape = targets.shape
    mixtures = np.full(shape, 1.0 / shape[1])
    step = np.full((shape[0], 1), 1.0 / max(float(np.abs(products).max()), 1e-300))
    image = mixtures @ products
    value = (mixtures * (image - 2 * targets)).sum(axis=1, keepdims=True)
    for _ in range(STEPS):
        gradient = image - targets
        gradient -= gradient.min(axis=1, keepdims=True)
        tried = mixtures * np.exp(-np.minimum(step * gradient, 50.0))
        tried /= tried.sum(axis=1, keepdims=True)
        new_image = tried @ products
        new = (tried * (new_image - 2 * targets)).sum(axis=1, keepdims=True)
        better = new <= value
        mixtures = np.where(better, tried, mixtures)
        image = np.where(better, new_image, image)
        value = np.where(better, new, value)
        step = np.where(better, 1.5 * step, 0.5 * step)
    return mixtures


def lead(
    counts: sparse.csr_matrix, topics: Array, others: Array, n_jobs: int | None = None
) -> float:
    """Return how many nats per token the words are likelier with the first topics.

    Both are topics (K, V) that EM starts from, and improves for a few passes before.

    Examples
    --------
    >>> X = sparse.csr_matrix([[3.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 3.0]])
    >>> apart = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    >>> lead(X, apart, np.full((2, 4), 0.25)) > 0.05
    True
    """
    step = -(-counts.shape[0] // RIVAL_DOCUMENTS)
    seen = counts[::step]
    tokens = float(seen.sum(dtype=np.float64))
    if not tokens:
        return 0.0
    found = [_log_likelihood(seen, start, n_jobs) for start in (topics, others)]
    return (found[0] - found[1]) / tokens


def _log_likelihood(seen: sparse.csr_matrix, topics: Array, n_jobs: Any) -> float:
    size = len(topics)
    learner = Learner(
        make_engine(seen, size, dtype=seen.dtype, device="cpu", n_jobs=n_jobs),
        topics.astype(seen.dtype),
        alpha=np.full(size, min(ALPHA_SUM / size, ALPHA_MOST)),
        eta=ETA,
        doc_updates=UPDATES,
        doc_tol=TOL,
    )
    learner.start()
    for _ in range(PASSES):
        learner.iterate()
    return learner.log_likelihood
