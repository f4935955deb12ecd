# SPDX-License-Identifier: BSD-3-Clause
"""Walks along embeddings, and counts shared along them, against plain NumPy."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import normalize

from topicfold.graph import CountSharing, EmbeddingIndex, walks
from topicfold.graph.embedding import check_embeddings
from topicfold.graph.sharing import agreement
from topicfold.graph.walks import edge_weights, places_of, places_of_new, walks_of


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((9, 12))
    return centers[rng.integers(0, 9, 700)] + rng.standard_normal((700, 12))


def plain_places(rows):
    """Return places of documents from the equations, with all eigenvectors."""
    unit = normalize(rows)
    near, similar = EmbeddingIndex(rows).query(None, walks.NEIGHBORS)
    w = edge_weights(near, similar, len(rows)).toarray()
    W = w + w.T - w * w.T
    degree = W.sum(axis=1)
    values, U = np.linalg.eigh(W / np.sqrt(np.outer(degree, degree)))
    walk = U[:, -20:] * np.maximum(values[-20:], 0) ** 10 / np.sqrt(degree)[:, None]
    return normalize(np.hstack([normalize(walk), 0.5 * unit]))


def test_weights_fall_off_so_that_their_sum_is_the_logarithm(rows):
    near, similar = EmbeddingIndex(rows).query(None, 15)
    weights = edge_weights(near, similar, len(rows))
    np.testing.assert_allclose(weights.max(axis=1).toarray(), 1)
    np.testing.assert_allclose(weights.sum(axis=1), np.log2(15), rtol=1e-6)
    # In a sparse region as in a dense one: only differences beyond the nearest count.
    other = edge_weights(near, 0.3 * similar, len(rows))
    np.testing.assert_allclose(weights.toarray(), other.toarray(), atol=1e-6)


def test_places_are_those_of_the_equations(rows):
    index = EmbeddingIndex(rows)
    places = places_of(walks_of(index), index.rows_)
    expected = plain_places(rows)
    np.testing.assert_allclose(places @ places.T, expected @ expected.T, atol=0.02)


def test_a_document_seen_again_has_its_place(rows):
    index = EmbeddingIndex(rows)
    found = walks_of(index)
    again = places_of_new(index, found, index.rows_)
    cosines = (again * places_of(found, index.rows_)).sum(axis=1)
    assert cosines.min() > 0.8
    assert cosines.mean() > 0.97


def test_walks_join_the_ends_of_a_chain_and_not_two_chains():
    """Ends of a chain are farther from each other than from the other chain."""
    angle = np.linspace(0, np.pi / 2, 60)
    zero = np.zeros(60)
    one = np.c_[np.cos(angle), np.sin(angle), zero, zero + 0.2]
    other = np.c_[np.cos(angle), zero, np.sin(angle), zero - 0.2]
    rows = check_embeddings(np.vstack([one, other]), 120)
    index = EmbeddingIndex(rows)
    places = places_of(walks_of(index), rows)
    near, _ = EmbeddingIndex(places).query(None, 30)
    same = (near < 60) == (np.arange(120) < 60)[:, None]
    by_vectors, _ = index.query(None, 30)
    same_by_vectors = (by_vectors < 60) == (np.arange(120) < 60)[:, None]
    assert same.mean() > max(0.95, same_by_vectors.mean())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_counts_are_shared_as_the_equation_says(rows, dtype):
    rng = np.random.default_rng(2)
    X = sparse.random(700, 30, 0.2, "csr", dtype, rng)
    sharing = CountSharing(6, weight=2.0)
    shared = sharing.fit_shared(X, rows)
    assert shared.dtype == dtype
    near, _ = EmbeddingIndex(sharing.places).query(None, 6)
    dense = X.toarray()

    def expected(own, near):
        having = (dense[near] > 0).sum(axis=1)
        return own + 2.0 * np.where(having >= 2, dense[near].mean(axis=1), 0)

    np.testing.assert_allclose(shared.toarray(), expected(dense, near), rtol=1e-5)
    new = rng.standard_normal((8, 12))
    X_new = sparse.random(8, 30, 0.2, "csr", dtype, rng)
    index = EmbeddingIndex(rows)
    places = places_of_new(index, sharing.walks_, check_embeddings(new, 8))
    near, _ = EmbeddingIndex(sharing.places).query(places, 6)
    found = sharing.shared(X_new, new)
    np.testing.assert_allclose(
        found.toarray(), expected(X_new.toarray(), near), rtol=1e-5
    )


def test_longer_texts_share_words_by_what_neighbours_say_about_them(rows):
    rng = np.random.default_rng(4)
    X = sparse.csr_matrix(rng.poisson(4 * rng.dirichlet(np.full(60, 0.05), 700) * 15))
    sharing = CountSharing(6, weight=0.5)
    shared = sharing.fit_shared(X, rows)
    assert not sharing.short
    near, _ = EmbeddingIndex(sharing.places).query(None, 6)
    dense = X.toarray()
    sums = dense[near].sum(axis=1)
    shares = sums / sums.sum(axis=1, keepdims=True)
    lift = (dense * shares).sum(axis=0) / dense.sum(axis=0) ** 2 * dense.sum()
    weights = np.maximum(1 - 1 / lift, 0) ** 2
    assert (weights == 0).any()
    assert (weights > 0).any()
    np.testing.assert_allclose(sharing.word_weights_, weights, atol=1e-6)
    weights = sharing.word_weights_.astype(float)
    sums = np.where((dense[near] > 0).sum(axis=1) >= 2, sums, 0)
    total = sums.sum(axis=1, keepdims=True)
    sums = sums * weights
    left = sums.sum(axis=1, keepdims=True)
    sums *= total / np.where(left > 0, left, 1)
    # Small parts of a token are left out, unless a text has the word.
    least = 0.1 * (dense.sum() / 700 / 40 - 1)
    small = (0.5 * sums / 6 < least) & (dense == 0)
    assert (small & (sums > 0)).any()
    assert ((0.5 * sums / 6 < least) & (sums > 0) & ~small).any()
    sums[small] = 0
    left = sums.sum(axis=1, keepdims=True)
    sums *= total / np.where(left > 0, left, 1)
    np.testing.assert_allclose(shared.toarray(), dense + 0.5 * sums / 6, rtol=1e-4)


def test_topics_of_longer_texts_do_not_fill_with_everyday_words():
    """Each of eight subjects has words of its own; half of all words are everyday."""
    rng = np.random.default_rng(5)
    subject = rng.integers(0, 8, 400)
    own = np.zeros((8, 110))
    own[:, :30] = 0.5 * rng.dirichlet(np.full(30, 2.0))
    for k in range(8):
        own[k, 30 + 10 * k : 40 + 10 * k] = 0.05
    X = np.array([rng.multinomial(80, own[k]) for k in subject])
    vectors = np.eye(8)[subject] + 0.1 * rng.standard_normal((400, 8))
    sharing = CountSharing()
    shared = sharing.fit_shared(X, vectors)
    assert sharing.weight_ == pytest.approx(0.35)
    added = np.asarray(shared.sum(axis=0)).ravel() - X.sum(axis=0)
    assert added[:30].sum() < 0.001 * added.sum()


@pytest.mark.parametrize(("length", "least"), [(30, 0.0), (60, 0.05), (120, 0.1)])
def test_longer_texts_get_no_small_parts_of_a_token(rows, length, least):
    rng = np.random.default_rng(4)
    topics = rng.dirichlet(np.full(400, 0.05), 9)
    kinds = np.argmax(rows @ rows[:9].T, axis=1)
    X = np.array([rng.multinomial(length, topics[kind]) for kind in kinds])
    sharing = CountSharing(weight=0.3)
    shared = sharing.fit_shared(X, rows).toarray()
    assert (shared >= X).all()
    added = shared[(X == 0) & (shared > 0)]
    smallest = 0.3 * 2 / 15  # before everyday words are weighted
    assert added.min() > least
    assert added.min() < max(2 * least, smallest)
    # As many are shared as if none were left out: words of two neighbours or more.
    near, _ = EmbeddingIndex(sharing.places).query(None, 15)
    sums = np.where((X[near] > 0).sum(axis=1) >= 2, X[near].sum(axis=1), 0)
    expected = X.sum() + 0.3 / 15 * sums.sum()
    assert shared.sum() == pytest.approx(expected, rel=1e-3)


def test_the_weight_follows_the_length_of_the_texts():
    rows = np.repeat(np.eye(7), 100, axis=0)
    for length, weight in ((1, 3.0), (10, 1.2), (45, 0.35), (160, 0.25), (900, 0.0)):
        sharing = CountSharing()
        shared = sharing.fit_shared(length * rows, rows)
        assert sharing.agreement_ == pytest.approx(np.log(0.8 + 0.2 * 7), abs=0.1)
        assert sharing.weight_ == pytest.approx(weight)
        np.testing.assert_allclose(shared.sum(axis=1), length * (1 + weight), rtol=1e-5)


def test_vectors_that_words_do_not_follow_count_little(rows):
    rng = np.random.default_rng(3)
    X = rng.poisson(1.0, (700, 30))
    sharing = CountSharing()
    sharing.fit_shared(X, rows)
    assert sharing.agreement_ < 0.05
    assert sharing.weight_ < 0.3
    assert not sharing.agrees
    assert CountSharing(weight=2.0).fit_shared(X, rows).sum() > 2 * X.sum()


def test_longer_texts_that_do_not_follow_the_vectors_keep_their_counts(rows):
    rng = np.random.default_rng(3)
    X = rng.poisson(2.0, (700, 30))
    sharing = CountSharing()
    shared = sharing.fit_shared(X, rows)
    np.testing.assert_array_equal(shared.toarray(), X)
    assert sharing.weight_ == 0
    assert not sharing.agrees
    near, _ = EmbeddingIndex(rows).query(None, 15)
    assert sharing.agreement_ == agreement(sparse.csr_matrix(X), near)
    np.testing.assert_array_equal(sharing.shared(X[:9], rows[:9]).toarray(), X[:9])
    forced = CountSharing(weight=0.3)
    assert forced.fit_shared(X, rows).sum() > 1.2 * X.sum()
    assert forced.walks_.shape[1] > 1


def test_blocks_and_threads_change_nothing(rows, monkeypatch):
    X = sparse.random(700, 30, 0.2, "csr", random_state=np.random.default_rng(2))
    whole = CountSharing().fit_shared(X, rows)
    monkeypatch.setattr("topicfold.graph.sharing.BLOCK", 64)
    parts = CountSharing().fit_shared(X, rows, n_jobs=3)
    assert (whole != parts).nnz == 0


def test_a_document_without_a_vector_keeps_its_counts(rows):
    X = sparse.csr_matrix(np.maximum(np.eye(700), np.eye(1, 700)))
    rows[3] = 0
    shared = CountSharing().fit_shared(X, rows)
    np.testing.assert_array_equal(shared[3].toarray(), X[3].toarray())
    assert shared[:, 3].nnz == 1  # nor is it a neighbour


@pytest.mark.parametrize("size", [1, 2, 5, 30])
def test_few_documents(size):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((size, 3))
    sharing = CountSharing()
    shared = sharing.fit_shared(np.ones((size, 2)), rows)
    assert np.isfinite(shared.toarray()).all()
    assert np.isfinite(sharing.shared([[1, 0]], rows[:1]).toarray()).all()


def test_equal_documents_and_many_parts():
    """More parts than walks tell apart; within a part all vectors are equal."""
    rows = np.repeat(np.eye(40), 20, axis=0)
    X = sparse.csr_matrix(np.repeat(np.eye(40), 20, axis=0))
    shared = CountSharing(weight=1.0).fit_shared(X, rows)
    np.testing.assert_allclose(shared.toarray(), 2 * X.toarray(), rtol=1e-5)


def test_training_documents_seen_again_share_as_in_the_fit(rows):
    X = sparse.random(700, 30, 0.2, "csr", random_state=np.random.default_rng(2))
    rows[5], X = rows[4], X[[0, 1, 2, 3, 4, 4, *range(6, 700)]]  # a copy
    rows[7] = rows[6]  # the same vector, other words
    sharing = CountSharing(weight=2.0)
    shared = sharing.fit_shared(X, rows)
    again = sharing.shared(X[5:], rows[5:])
    np.testing.assert_allclose(again.toarray(), shared[5:].toarray(), rtol=1e-5)
    other = sharing.shared(X[[9]], rows[[8]])  # words of another document
    assert abs(other - shared[[9]]).max() > 0
