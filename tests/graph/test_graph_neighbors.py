# SPDX-License-Identifier: BSD-3-Clause
"""Exact neighbours against the dense reference, ties, tiles, threads, new documents."""

from __future__ import annotations

from unittest import mock

import graph_reference as reference
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfTransformer

from topicfold.exceptions import DataError
from topicfold.graph import (
    NeighborIndex,
    inverted_lists,
    neighbors,
)
from topicfold.graph.neighbors import Weighting

SIMILARITIES = ("cosine", "intersection", "kl")


def zipf_counts(n_documents, n_terms, seed=0, length=30):
    """Return documents whose words have Zipf's frequencies, as in real text."""
    rng = np.random.default_rng(seed)
    chance = 1.0 / np.arange(1, n_terms + 1)
    lengths = rng.poisson(length, n_documents)
    rows = [rng.multinomial(n, chance / chance.sum()) for n in lengths]
    return np.array(rows, dtype=np.float64)


def search(index, queries, k, exclude_self):
    return index.query_among(None, k) if exclude_self else index.query(queries, k)


def assert_like_reference(queries, documents, similarity, k, exclude_self=False):
    index = NeighborIndex(sp.csr_array(documents), similarity=similarity)
    found, values = search(index, queries, k, exclude_self)
    with mock.patch.object(neighbors, "FEW_DOCUMENTS", 0):
        listed = search(index, queries, k, exclude_self)
    np.testing.assert_array_equal(found, listed[0])
    np.testing.assert_allclose(values, listed[1], atol=1e-9)
    score = reference.scores(queries, documents, similarity)
    n_best = min(k, len(documents) - exclude_self)
    np.testing.assert_array_equal(
        found, reference.top_neighbors(score, n_best, exclude_self)
    )
    dense = reference.similarities(queries, documents, similarity)
    expected = np.take_along_axis(dense, np.maximum(found, 0), axis=1)
    np.testing.assert_allclose(values, np.where(found >= 0, expected, 0.0), atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("k", [1, 7, 500])
def test_neighbors_are_the_reference_s_on_text_like_data(similarity, k):
    counts = zipf_counts(300, 400)
    assert_like_reference(counts, counts, similarity, k, exclude_self=True)
    assert_like_reference(zipf_counts(40, 400, seed=1), counts, similarity, k)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), similarity=st.sampled_from(SIMILARITIES))
def test_neighbors_are_the_reference_s_on_small_counts(data, similarity):
    n_terms = data.draw(st.integers(1, 6))
    row = st.lists(st.integers(0, 3), min_size=n_terms, max_size=n_terms)
    documents = data.draw(st.lists(row, min_size=1, max_size=12))
    queries = data.draw(st.lists(row, min_size=1, max_size=5))
    k = data.draw(st.integers(1, 14))
    documents, queries = np.array(documents, float), np.array(queries, float)
    assert_like_reference(queries, documents, similarity, k)
    assert_like_reference(documents, documents, similarity, k, exclude_self=True)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_tiles_and_levels_change_no_bit(similarity, monkeypatch):
    counts = sp.csr_array(zipf_counts(200, 150, length=40))
    weighting = Weighting(counts, similarity)
    rows, documents = weighting.queries(counts), weighting.documents(counts)
    whole = inverted_lists.InvertedLists(documents, weighting.take_min)
    expected = whole.search(rows, 5, True, 1)
    for levels, tile in (((0.25, 0.45, 0.7), 17), ((), 200), ((0.01, 0.05, 0.1), 64)):
        monkeypatch.setattr(inverted_lists, "LEVELS", levels)
        lists = inverted_lists.InvertedLists(documents, weighting.take_min, tile=tile)
        for got, want in zip(lists.search(rows, 5, True, 1), expected, strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("similarity", [*SIMILARITIES, lambda a, b: a @ b.T])
def test_threads_change_no_bit(similarity):
    counts = zipf_counts(250, 200)
    index = NeighborIndex(counts, similarity=similarity)
    one = index.query_among(None, 6, n_jobs=1)
    for n_jobs in (2, 3):
        many = index.query_among(None, 6, n_jobs=n_jobs)
        for a, b in zip(one, many, strict=True):
            np.testing.assert_array_equal(a, b)


def test_weights_are_scikit_learn_s():
    counts = sp.csr_array(zipf_counts(50, 80))
    for similarity, norm in (("cosine", "l2"), ("intersection", "l1")):
        fitted = TfidfTransformer(norm=norm).fit(counts)
        weighting = Weighting(counts, similarity)
        np.testing.assert_allclose(weighting.idf, fitted.idf_)
        np.testing.assert_allclose(
            weighting.documents(counts).toarray(), fitted.transform(counts).toarray()
        )


def test_ties_go_to_the_lower_number():
    counts = np.array([[1, 1, 0, 0], [0, 0, 1, 1], *[[2, 2, 0, 0]] * 4])
    found, values = NeighborIndex(counts).query(counts[:1], 3)
    assert found.tolist() == [[0, 2, 3]]
    assert values.tolist() == [[1.0, 1.0, 1.0]]
    # Equal similarities of different documents, added up in different orders.
    found, values = NeighborIndex(np.eye(30)).query(np.ones((1, 30)), 30)
    assert found.tolist() == [list(range(30))]
    assert len(set(values.ravel())) == 1


def test_documents_without_words_have_no_neighbors():
    counts = np.array([[0, 0], [1, 2], [0, 0], [2, 1]])
    for similarity in (*SIMILARITIES, lambda a, b: np.ones((a.shape[0], b.shape[0]))):
        index = NeighborIndex(counts, similarity=similarity)
        found, values = index.query_among(None, 2)
        assert found.tolist() == [[-1, -1], [3, -1], [-1, -1], [1, -1]]
        assert (values[found < 0] == 0).all()
    empty = NeighborIndex(np.zeros((3, 0))).query_among(None, 2)[0]
    assert empty.tolist() == [[-1, -1]] * 3


def test_one_document_has_no_neighbors_and_n_neighbors_is_cut():
    assert NeighborIndex([[1, 2]]).query_among(None, 3)[0].shape == (1, 0)
    assert NeighborIndex([[1, 2]]).query([[1, 0]], 3)[0].tolist() == [[0]]


def test_new_documents_get_the_index_s_term_weights():
    counts = zipf_counts(120, 90)
    index = NeighborIndex(counts)
    all_at_once = index.query(counts, 4)
    alone = index.query(counts[17:18], 4)
    for one, many in zip(alone, all_at_once, strict=True):
        np.testing.assert_array_equal(one[0], many[17])
    again = NeighborIndex(index.counts_)
    np.testing.assert_array_equal(again.weighting_.idf, index.weighting_.idf)


def test_the_matrix_of_the_user_is_not_changed_and_may_be_anything():
    counts = sp.coo_array(([1, 1, 2, 0], ([0, 0, 1, 1], [1, 1, 1, 0])), (2, 2))
    before = counts.data.copy()
    expected = NeighborIndex([[0, 2], [0, 2]]).query([[0, 2], [0, 2]], 2)
    for container in (sp.csr_array, sp.csc_matrix, sp.coo_array):
        got = NeighborIndex(container(counts)).query(container(counts), 2)
        np.testing.assert_array_equal(got[0], expected[0])
    np.testing.assert_array_equal(counts.data, before)


def test_callable_may_return_sparse_similarities():
    counts = zipf_counts(40, 30)
    dense = NeighborIndex(counts, similarity=lambda a, b: (a @ b.T).toarray())
    sparse = NeighborIndex(counts, similarity=lambda a, b: a @ b.T)
    for a, b in zip(dense.query_among(), sparse.query_among(), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: NeighborIndex([1, 2]), "X has 1 dimensions"),
        (lambda: NeighborIndex([["a"]]), "X is not a matrix of numbers"),
        (lambda: NeighborIndex(np.zeros((0, 3))), "X has no documents"),
        (
            lambda: NeighborIndex([[0, 1], [-1, -2]]),
            r"X has 2 negative entries \(first at row 1, column 0\)",
        ),
        (
            lambda: NeighborIndex([[0, np.nan]]),
            r"1 NaN entry \(first at row 0, column 1\)",
        ),
        (
            lambda: NeighborIndex([[1]], similarity="cosin"),
            "'similarity' parameter .* 'cosine', 'intersection', 'kl'. Got 'cosin'",
        ),
        (lambda: NeighborIndex([[1]]).query([[1, 2]]), "X has 2 terms .* index has 1"),
        (
            lambda: NeighborIndex([[1]]).query([[1]], 0),
            "n_neighbors=0 must be a whole number, 1 or more",
        ),
        (
            lambda: NeighborIndex([[1]], similarity=lambda a, b: [1.0]).query([[1]]),
            r"similarity returned an array of shape \(1,\) for 1 query and 1",
        ),
        (
            lambda: NeighborIndex([[1]], similarity=lambda a, b: [[np.nan]]).query(
                [[1]]
            ),
            "similarity returned NaN for query row 0 .* index document 0",
        ),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(DataError, match=message):
        call()
