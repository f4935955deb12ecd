# SPDX-License-Identifier: BSD-3-Clause
"""Parts of the exact search, of the approximate one and of the blocks, one by one."""

from __future__ import annotations

import graph_reference as reference
import numpy as np
import pytest
import scipy.sparse as sp

from topicfold.graph import NeighborIndex, neighbors
from topicfold.graph import inverted_lists as kernels
from topicfold.graph.build import add_label_edges, symmetrized
from topicfold.graph.inverted_lists import InvertedLists
from topicfold.graph.neighbors import (
    KL_FLOOR,
    Weighting,
    approximate_neighbors,
)


def counts_of(n_documents=120, n_terms=60, seed=0):
    rng = np.random.default_rng(seed)
    chance = 1.0 / np.arange(1, n_terms + 1)
    return rng.poisson(8 * chance / chance.sum(), (n_documents, n_terms)).astype(float)


@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_the_heap_keeps_the_best_and_sorts_them(size):
    """Many equal scores: of those the lower numbers are the better ones."""
    rng = np.random.default_rng(size)
    scores = rng.integers(1, 6, 30).astype(float)
    order = rng.permutation(30)
    heap, values, count = np.full((1, size), -1), np.zeros((1, size)), 0
    for document in order:
        count = kernels.push(heap[0], values[0], count, document, scores[document])
        kept = values[0, :count]
        for child in range(1, count):  # no child is worse than its parent
            parent = (child - 1) // 2
            assert (kept[child], -heap[0, child]) >= (kept[parent], -heap[0, parent])
    assert count == min(size, 30)
    kernels.sort_best(0, 1, np.array([count]), heap, values)
    best = sorted(range(30), key=lambda d: (-scores[d], d))[:size]
    assert heap[0, :count].tolist() == best
    assert values[0, :count].tolist() == scores[best].tolist()


def test_the_largest_sums_are_found_across_blocks():
    rng = np.random.default_rng(0)
    sums = rng.normal(size=200).astype(np.float32)
    probe = np.empty(5, np.int64), np.empty(5, np.float32)
    assert kernels.largest_sums(sums, probe) == 5
    assert set(probe[0]) == set(np.argsort(-sums)[:5])
    few = np.full(130, -1.0, dtype=np.float32)
    few[[3, 129]] = 0.5
    few[64] = 0.0  # no overlap is no neighbour
    assert kernels.largest_sums(few, probe) == 2
    assert set(probe[0][:2]) == {3, 129}


@pytest.mark.parametrize("take_min", [False, True])
def test_norms_of_the_rest_are_tight_upper_bounds(take_min):
    rows = sp.csr_array(counts_of(30, 12))
    indptr = rows.indptr.astype(np.int64)
    terms = rows.indices.astype(np.uint32)
    cuts = np.array([3, 3, 8, 12])
    norms, sizes = np.empty((4, 30), np.float32), np.empty(4)
    kernels.measure_rest(indptr, terms, rows.data, cuts, take_min, norms, sizes)
    dense = rows.toarray()
    for level, cut in enumerate(cuts):
        rest = dense[:, cut:]
        exact = rest.sum(axis=1) if take_min else np.sqrt((rest**2).sum(axis=1))
        assert (norms[level] >= exact).all()
        np.testing.assert_allclose(norms[level], exact, rtol=1e-6)
        assert sizes[level] == pytest.approx((rest > 0).sum(axis=1).mean())
    values = rows.data[:9]
    exact = values.sum() if take_min else np.sqrt(values @ values)
    found = kernels.rest_norm(values, take_min)
    assert exact <= found <= exact * (1 + 1e-6)


@pytest.mark.parametrize("take_min", [False, True])
def test_bounds_rule_out_only_what_cannot_be_a_neighbour(take_min):
    rng = np.random.default_rng(1)
    query, rows = rng.random(10), rng.random((50, 10))
    pair = np.minimum(query, rows) if take_min else query * rows
    sums = pair[:, :4].sum(axis=1).astype(np.float32)
    rest = rows[:, 4:]
    norms = rest.sum(axis=1) if take_min else np.sqrt((rest**2).sum(axis=1))
    bounds = norms.astype(np.float32), kernels.rest_norm(query[4:], take_min), take_min
    exact = pair.sum(axis=1)
    most = [
        kernels.bound(s, n, bounds[1], take_min)
        for s, n in zip(sums, norms, strict=True)
    ]
    assert (np.array(most) >= exact - 1e-6).all()
    for floor in (0.5, 1.5, 2.5):
        left = kernels.count_left(sums, bounds, np.float32(floor))
        assert left == (np.array(most, np.float32) >= floor).sum()
        assert left >= (exact >= floor + 1e-5).sum()


def test_nothing_is_ruled_out_before_the_list_is_full():
    best = np.array([5, 3]), np.array([0.25, 0.75])
    assert 0 < kernels.lowest_sum(best, 1, 1.0) < 1e-40
    lowest = kernels.lowest_sum(best, 2, 1.0)
    assert 0.25 * (1 - 1e-6) < lowest < 0.25  # what ties with the worst is looked at
    assert kernels.lowest_sum(best, 2, 1.1) < lowest / 1.09
    assert kernels.lowest_sum((best[0], np.zeros(2)), 2, 1.0) > 0


def test_work_ahead_is_that_of_the_next_level_with_a_term():
    indptr = np.array([0, 1, 3, 6, 10, 15, 21])  # lists of 1 to 6 entries
    cuts = np.array([1, 3, 5, 6])
    terms = np.array([3, 4, 5], np.uint32)
    assert kernels.work_ahead(indptr, terms, cuts, 0) == 4 + 5
    assert kernels.work_ahead(indptr, terms, cuts, 1) == 4 + 5
    assert kernels.work_ahead(indptr, terms[2:], cuts, 1) == 6
    assert kernels.work_ahead(indptr, np.array([1, 2, 5], np.uint32), cuts, 0) == 5


@pytest.mark.parametrize("similarity", ["cosine", "intersection", "kl"])
def test_given_candidates_are_scored_as_the_search_does(similarity):
    counts = sp.csr_array(counts_of(40))
    weighting = Weighting(counts, similarity)
    lists = InvertedLists(weighting.documents(counts), weighting.take_min)
    rows = weighting.queries(counts)
    everyone = np.tile(np.arange(40), (40, 1))
    everyone[:, ::7] = -1
    found, scores = lists.score(rows, everyone, 6, 1)
    dense = reference.scores(counts.toarray(), counts.toarray(), similarity)
    dense[:, ::7] = 0
    np.testing.assert_array_equal(found, reference.top_neighbors(dense, 6, False))
    expected = np.take_along_axis(dense, np.maximum(found, 0), axis=1)
    np.testing.assert_allclose(scores, np.where(found >= 0, expected, 0), atol=1e-9)


def test_terms_are_searched_from_rare_to_frequent_and_unknown_ones_left_out():
    rows = sp.csr_array(np.array([[1.0, 0, 2, 0], [3, 0, 0, 0], [4, 0, 5, 6]]))
    lists = InvertedLists(rows, take_min=False)
    assert lists.n_terms == 3
    np.testing.assert_array_equal(lists._number, [2, -1, 1, 0])
    np.testing.assert_array_equal(lists._rows[1], [1, 2, 2, 0, 1, 2])
    np.testing.assert_array_equal(lists._rows[2], [2, 1, 3, 6, 5, 4])
    # Work grows with the square of a list: 1, 1 + 4, 1 + 4 + 9 of 14.
    np.testing.assert_array_equal(lists._cuts, [1, 2, 2, 3])
    found, scores = lists.search(sp.csr_array([[0.0, 9, 1, 0]]), 3, False, 1)
    np.testing.assert_array_equal(found, [[2, 0, -1]])
    np.testing.assert_array_equal(scores, [[5, 2, 0]])
    assert lists.search(None, 0, True, 1)[0].shape == (3, 0)
    empty = InvertedLists(sp.csr_array((2, 4)), take_min=False)
    assert empty.search(rows, 2, False, 1)[0].tolist() == [[-1, -1]] * 3


def test_divergences_of_scores_are_those_of_the_equation():
    counts = counts_of(10, 8) + np.eye(10, 8)
    weighting = Weighting(sp.csr_array(counts), "kl")
    assert weighting.idf is None
    assert not weighting.symmetric
    rows = weighting.queries(sp.csr_array(counts))
    p = counts / counts.sum(axis=1, keepdims=True)
    scores = p @ np.log(np.maximum(p, KL_FLOOR) / KL_FLOOR).T
    kl = (p[:, None] * np.log(np.where(p > 0, p, 1)[:, None])).sum(axis=2)
    kl = kl - p @ np.log(np.maximum(p, KL_FLOOR)).T
    found = weighting.similarities(rows, scores)
    np.testing.assert_allclose(found, np.exp(-np.maximum(kl, 0)), atol=1e-12)
    assert weighting.similarities(rows, np.zeros((10, 1))).max() == 0
    cosine = Weighting(sp.csr_array(counts), "cosine")
    assert cosine.similarities(rows, scores) is scores
    assert cosine.symmetric
    assert not cosine.take_min


def test_blocks_of_queries_change_nothing(monkeypatch):
    counts = counts_of(50)
    index = NeighborIndex(counts, similarity=lambda a, b: a @ b.T)
    whole = index.query_among(None, 4)
    shapes = []

    def watched(a, b):
        shapes.append((a.shape[0], b.shape[0]))
        return a @ b.T

    monkeypatch.setattr(neighbors, "BLOCK_ENTRIES", 7 * 50 + 3)
    parts = NeighborIndex(counts, similarity=watched).query_among(None, 4)
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(a, b)
    assert shapes == [(7, 50)] * 7 + [(1, 50)]
    shapes.clear()
    monkeypatch.setattr(neighbors, "BLOCK_ENTRIES", 3)  # less than a row: one a time
    NeighborIndex(counts, similarity=watched).query_among(None, 4)
    assert shapes == [(1, 50)] * 50


def test_negative_similarities_are_no_neighbours():
    found, values = NeighborIndex(
        [[1], [1], [1]],
        similarity=lambda a, b: np.array([[0.0, -2.0, 3.0]] * a.shape[0]),
    ).query([[1.0]], 3)
    assert found.tolist() == [[2, -1, -1]]
    assert values.tolist() == [[3.0, 0.0, 0.0]]


def test_the_larger_weight_of_both_directions_is_kept():
    graph = symmetrized(sp.csr_array([[0.0, 3.0, 0.0], [1.0, 0, 0], [2.0, 0, 0]]))
    assert graph.toarray().tolist() == [[0, 3, 2], [3, 0, 0], [2, 0, 0]]
    assert graph.indices.dtype == np.int32
    assert graph.indices.tolist() == [1, 2, 0, 0]


def test_label_edges_are_counted_once():
    """0-1 of one class have an edge; 0-2 and 1-2 are of two classes; 3 is unknown."""
    graph = sp.csr_array(
        np.array([[0, 0.5, 1, 0], [0.5, 0, 1, 1], [1, 1, 0, 1], [0, 1, 1, 0]])
    )
    index = NeighborIndex(np.ones((4, 2)))
    found, *changes, _ = add_label_edges(graph, np.array([0, 0, 1, -1]), index, 1, None)
    expected = [[0, 1, 0, 0], [1, 0, 0, 1], [0, 0, 0, 1], [0, 1, 1, 0]]
    assert found.toarray().tolist() == expected
    assert changes == [0, 2]
    found, *changes, _ = add_label_edges(
        graph, np.array([0, -1, -1, 0]), index, 1, None
    )
    assert changes == [1, 0]
    assert found[[0], [3]] == 1


@pytest.mark.parametrize("similarity", ["cosine", "intersection"])
@pytest.mark.parametrize("tile", [kernels.TILE, 16])
def test_approximate_neighbours_have_the_largest_sums_of_rare_words(similarity, tile):
    """The search, straight from what it says: of each tile the best by rare words."""
    weighting = Weighting(sp.csr_array(counts_of()), similarity)
    rows = weighting.documents(sp.csr_array(counts_of()))
    dense = rows.toarray()
    lists = InvertedLists(rows, weighting.take_min, tile=tile)
    found, scores = lists.search(None, 4, True, 2, approximate=True)
    there = dense > 0
    rank = np.argsort(np.argsort(there.sum(axis=0), kind="stable"))
    limit = kernels.RAREST * (there.sum(axis=0) ** 2.0).sum() / 120**2
    pair = np.minimum if weighting.take_min else np.multiply
    whole = pair(dense[:, None], dense[None]).sum(axis=2)
    n_probes = max(4, -(-kernels.CANDIDATES * 4 // -(-120 // tile)))
    for d in range(120):
        probes = []
        for first in range(0, 120, tile):
            near = slice(first, min(first + tile, 120))
            n_entries = np.ceil(limit * (near.stop - first))
            terms = sorted(np.flatnonzero(there[d]), key=lambda term: rank[term])
            before = np.cumsum([0, *there[near][:, terms].sum(axis=0)])[:-1]
            rare = [
                t for t, n in zip(terms, before, strict=True) if not n or n < n_entries
            ]
            sums = pair(dense[near][:, rare], dense[d, rare]).sum(axis=1)
            if near.start <= d < near.stop:
                sums[d - first] = 0.0
            best = np.argsort(-sums, kind="stable")[:n_probes]
            probes += [first + b for b in best if sums[b] > 0]
        probes.sort(key=lambda j: (-np.rint(whole[d, j] * 2**32), j))
        expected = probes[:4] + [-1] * (4 - len(probes))
        assert found[d].tolist() == expected
        kept = found[d] >= 0
        np.testing.assert_allclose(scores[d, kept], whole[d, found[d, kept]], atol=1e-9)
        assert (scores[d, ~kept] == 0).all()


def test_with_all_words_rare_approximate_neighbours_are_exact(monkeypatch, caplog):
    monkeypatch.setattr(kernels, "RAREST", 2.0)
    counts = counts_of(60)
    counts[[4, 17]] = 0
    index = NeighborIndex(counts)
    found, values, recall = approximate_neighbors(index, 5, n_jobs=1)
    exact = index.query_among(None, 5)
    np.testing.assert_array_equal(found, exact[0])
    np.testing.assert_array_equal(values, exact[1])
    assert recall == 1.0
    assert "recall 1.000 of the exact ones on a sample of 60 documents" in caplog.text


def test_recall_is_the_share_of_exact_neighbours_found():
    index = NeighborIndex(counts_of(150))
    found, values, recall = approximate_neighbors(index, 4)
    exact = index.query_among(None, 4)[0]
    shared = [
        len(np.intersect1d(a[a >= 0], b)) for a, b in zip(exact, found, strict=True)
    ]
    assert recall == sum(shared) / (exact >= 0).sum()
    assert 0.3 < recall < 1
    assert not (found == np.arange(150)[:, None]).any()
    many = approximate_neighbors(index, 4, n_jobs=3)
    np.testing.assert_array_equal(many[0], found)
    np.testing.assert_array_equal(many[1], values)


def test_approximate_neighbours_of_next_to_nothing():
    for counts in (np.zeros((3, 2)), np.array([[1.0, 0.0], [0, 0], [0, 0]])):
        found, _, recall = approximate_neighbors(NeighborIndex(counts), 2)
        assert (found == -1).all()
        assert recall == 1.0  # nothing to find
    found, _, _ = approximate_neighbors(NeighborIndex([[1.0, 1.0], [1.0, 2.0]]), 5)
    assert found.tolist() == [[1], [0]]
