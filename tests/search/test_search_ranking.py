# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from topicfold.core.counts import best_places
from topicfold.corpus.vectorizing import cutting_options
from topicfold.search.ranking import (
    exact_scores,
    find_best,
    latent_form,
    query_form,
    stored_form,
)
from topicfold.search.words import LexicalScores, count_text, mixed


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several blocks, the last of them short."""
    monkeypatch.setattr("topicfold.search.ranking._BLOCK", 900)
    monkeypatch.setattr("topicfold.search.ranking._EXACT_BLOCK", 70)


@pytest.mark.parametrize("n", [1, 7, 300, 5000])
@pytest.mark.parametrize("threads", [1, 3])
def test_equals_a_stable_sort(n, threads):
    rng = np.random.default_rng(0)
    # Small integers: many equal scores, all exact.
    vectors = rng.integers(0, 4, (4000, 5)).astype(np.float32)
    query = rng.integers(0, 4, 5).astype(float)
    exact = vectors.astype(float) @ query
    for skip in (-1, int(np.argmax(exact))):
        order = np.argsort(-exact, kind="stable")
        expected = order[order != skip][:n]
        rows, scores = find_best(vectors, query, n, skip=skip, threads=threads)
        np.testing.assert_array_equal(rows, expected)
        np.testing.assert_array_equal(scores, exact[expected])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("spread", [1e-7, 1e-5, 1.0])
@pytest.mark.parametrize("size", [1e-42, 1e-30, 1.0, 1e30])
def test_rounding_of_the_first_scan_changes_nothing(threads, spread, size):
    rng = np.random.default_rng(4)
    vectors = 1 + spread * rng.standard_normal((3000, 33))
    vectors = (size * vectors).astype(np.float32)
    vectors[1000:1003] = 0.0
    for query in rng.standard_normal((5, 33)) * np.array(
        [[1e-200], [1], [1], [1], [9]]
    ):
        exact = exact_scores(vectors, query)
        rows, scores = find_best(vectors, query, 10, threads=threads)
        np.testing.assert_array_equal(rows, np.argsort(-exact, kind="stable")[:10])
        np.testing.assert_array_equal(scores, exact[rows])
    zero = find_best(vectors, np.zeros(33), 3)
    assert zero[0].tolist() == [0, 1, 2]


def test_few_rows_are_scored_twice(monkeypatch):
    rng = np.random.default_rng(6)
    vectors = rng.standard_normal((5000, 20)).astype(np.float32)
    seen = []

    def spy(vectors, query, rows):
        seen.append(len(rows))
        return exact_scores(vectors, query, rows)

    monkeypatch.setattr("topicfold.search.ranking.exact_scores", spy)
    find_best(vectors, rng.standard_normal(20), 5)
    assert 5 <= seen[0] <= 7


def test_a_row_scores_the_same_wherever_it_lies():
    rng = np.random.default_rng(8)
    row, query = rng.standard_normal(101).astype(np.float32), rng.standard_normal(101)
    one = exact_scores(row[None], query)[0]
    room = np.empty(1000 * 101 + 16, np.float32)
    for offset in range(16):
        vectors = room[offset : offset + 1000 * 101].reshape(1000, 101)
        vectors[:] = row
        assert (exact_scores(vectors, query) == one).all()
        assert (exact_scores(vectors, query, np.array([3, 998])) == one).all()


@pytest.mark.parametrize("size", [1, 63, 64, 1000, 20_000])
def test_the_best_places_are_those_of_a_stable_sort(size):
    rng = np.random.default_rng(size)
    for scores in (rng.standard_normal(size), rng.integers(0, 9, size).astype(float)):
        for n in (1, 10, size):
            expected = np.argsort(-scores, kind="stable")[:n]
            np.testing.assert_array_equal(best_places(scores, n), expected)


def test_small_and_empty():
    one = np.ones((1, 2), np.float32)
    assert find_best(one, np.ones(2), 5)[0].tolist() == [0]
    assert find_best(one, np.ones(2), 5, skip=0)[0].tolist() == []
    assert find_best(one[:0], np.ones(2), 5, threads=2)[0].tolist() == []
    assert best_places(np.empty(0), 400).tolist() == []


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


def test_only_options_that_cut_words_matter_to_a_query():
    saved = {"min_df": 3, "stem": "english", "tokens": None}
    assert cutting_options(saved) == {"stem": "english"}
    counts = count_text("Red fox, red!", {"blue": 0, "red": 1})
    np.testing.assert_array_equal(counts.toarray(), [[0, 2]])


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
        mixed(np.array([-1.0, 1.0]), np.array([8.0, 0.0]), 0.25), [0.25, 0.75]
    )
    np.testing.assert_array_equal(
        mixed(np.ones(3), np.arange(3.0), 0.5), [0, 0.25, 0.5]
    )
