# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from topicfold.search.coarse import CoarseRows
from topicfold.search.lexical import LexicalScores, mixed
from topicfold.search.measures import latent_form, query_form, stored_form
from topicfold.search.ranking import best_of_scores, find_best


def coded(vectors):
    coarse = CoarseRows(vectors.shape[1])
    # In two parts: the second does not fit and makes the arrays grow.
    coarse.extend(vectors[:10])
    coarse.extend(vectors[10:])
    return coarse


@pytest.mark.parametrize("n", [1, 7, 300, 5000])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("by_codes", [False, True], ids=["rows", "codes"])
def test_equals_a_stable_sort(n, threads, by_codes):
    rng = np.random.default_rng(0)
    # Small integers: many equal scores, all exact.
    vectors = rng.integers(0, 4, (4000, 5)).astype(np.float32)
    query = rng.integers(0, 4, 5).astype(float)
    exact = vectors.astype(float) @ query
    coarse = coded(vectors) if by_codes else None
    for skip in (-1, int(np.argmax(exact))):
        order = np.argsort(-exact, kind="stable")
        expected = order[order != skip][:n]
        rows, scores = find_best(
            vectors, query, n, skip=skip, threads=threads, coarse=coarse
        )
        np.testing.assert_array_equal(rows, expected)
        np.testing.assert_array_equal(scores, exact[expected])


@pytest.mark.parametrize("k", [1, 16, 17, 100])
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_codes_bound_every_score(k, size):
    rng = np.random.default_rng(k)
    vectors = (size * rng.standard_normal((500, k))).astype(np.float32)
    vectors[::7, : k // 2] *= 1e-4
    coarse, query = coded(vectors), rng.standard_normal(k) ** 3
    exact = vectors.astype(float) @ query
    code = coarse.encode_query(query)
    sums = coarse.codes.astype(np.int64) @ code.code.astype(np.int64)
    assert np.abs(sums).max() < 2**31
    near = coarse.scales.astype(float) * (code.step * sums)
    room = coarse.errors * code.length + coarse.scales.astype(float) * code.error
    assert (np.abs(near - exact) <= room).all()
    # And closely: the bounds are of use.
    lengths = np.linalg.norm(vectors.astype(float), axis=1)
    assert (room <= 0.05 * lengths * np.linalg.norm(query)).all()


def test_the_largest_codes_do_not_overflow():
    vectors = np.ones((300, 700), np.float32)
    vectors[7] = 1.5
    rows, scores = find_best(vectors, np.ones(700), 2, coarse=coded(vectors))
    assert (rows.tolist(), scores.tolist()) == ([7, 0], [1050, 700])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("spread", [1e-5, 1.0], ids=["near ties", "spread"])
def test_codes_change_nothing(threads, spread):
    rng = np.random.default_rng(4)
    vectors = (1 + spread * rng.standard_normal((3000, 33))).astype(np.float32)
    vectors[1000:1003] = 0.0
    vectors[1003] = 1e-44
    coarse = coded(vectors)
    for query in rng.standard_normal((5, 33)):
        plain = find_best(vectors, query, 10, threads=threads)
        quick = find_best(vectors, query, 10, threads=threads, coarse=coarse)
        np.testing.assert_array_equal(plain, quick)
    zero = find_best(vectors, np.zeros(33), 3, coarse=coarse)
    assert zero[0].tolist() == [0, 1, 2]


def test_rows_that_are_no_numbers_are_looked_at():
    vectors = np.ones((40, 2), np.float32)
    vectors[30, 0] = np.inf
    rows, scores = find_best(vectors, np.ones(2), 1, coarse=coded(vectors))
    assert (rows.tolist(), scores.tolist()) == ([30], [np.inf])


def test_rows_with_a_low_bound_are_not_read():
    rng = np.random.default_rng(6)
    vectors = rng.standard_normal((5000, 20)).astype(np.float32)
    query = rng.standard_normal(20)
    coarse, (expected, scores) = coded(vectors), find_best(vectors, query, 5)
    low = np.flatnonzero(vectors @ query < scores[-1] * 0.5)
    low = low[low >= 500]
    assert len(low) > 3000
    vectors[low] = 1e6 * query
    np.testing.assert_array_equal(
        find_best(vectors, query, 5, coarse=coarse)[0][:5], expected
    )


def test_small_and_empty():
    one = np.ones((1, 2), np.float32)
    assert find_best(one, np.ones(2), 5)[0].tolist() == [0]
    assert find_best(one, np.ones(2), 5, skip=0)[0].tolist() == []
    assert find_best(one[:0], np.ones(2), 5, threads=2)[0].tolist() == []
    assert best_of_scores(np.array([1.0]), 400, skip=0).tolist() == []


def test_products_are_added_in_float64():
    vectors = np.array([[1.0, 1e-9], [1.0, 0.0]], dtype=np.float32)[::-1].copy()
    rows, scores = find_best(vectors, np.ones(2), 2)
    assert rows.tolist() == [1, 0]
    assert scores[0] > 1


@pytest.mark.parametrize("measure", ["cosine", "inner", "hellinger", "kl"])
def test_measures_equal_their_formulas(measure):
    rng = np.random.default_rng(1)
    docs, query = rng.dirichlet(np.full(6, 0.3), 50), rng.dirichlet(np.ones(6))
    query[2] = 0
    query /= query.sum()
    factor, constant = query_form(query, measure)
    found = stored_form(docs, measure).astype(float) @ factor + constant
    smooth = 0.999 * docs + 0.001 / 6
    live = query > 0
    expected = {
        "cosine": docs @ query / np.linalg.norm(docs, axis=1) / np.linalg.norm(query),
        "inner": docs @ query,
        "hellinger": 1 - ((np.sqrt(docs) - np.sqrt(query)) ** 2).sum(axis=1) / 2,
        "kl": -(query[live] * np.log(query[live] / smooth[:, live])).sum(axis=1),
    }[measure]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    back = latent_form(stored_form(docs[:1], measure)[0], measure)
    if measure == "cosine":
        back = back / back.sum()
    np.testing.assert_allclose(back, docs[0], atol=1e-6)


def test_bm25_by_hand():
    X = sparse.csr_matrix([[2.0, 0, 1], [0, 1, 0], [1, 1, 1]])
    scores = LexicalScores(X, "bm25").score(sparse.csr_matrix([[1.0, 0, 0]]))
    idf = np.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    lengths = np.array([3, 1, 3])
    damping = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
    tf = np.array([2, 0, 1])
    np.testing.assert_allclose(scores, idf * tf * 2.2 / (tf + damping), rtol=1e-6)


def test_tfidf_is_the_cosine_of_scikit_learns_vectors(planted):
    X = planted[0].astype(float)
    transformer = TfidfTransformer().fit(X)
    query = X[7]
    expected = transformer.transform(X) @ transformer.transform(query).T
    found = LexicalScores(X, "tfidf").score(sparse.csr_matrix(query))
    np.testing.assert_allclose(found, expected.toarray().ravel(), atol=1e-6)


def test_mixing_constant_scores():
    np.testing.assert_array_equal(
        mixed(np.ones(3), np.arange(3.0), 0.5), [0, 0.25, 0.5]
    )
