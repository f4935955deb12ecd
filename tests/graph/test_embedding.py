# SPDX-License-Identifier: BSD-3-Clause
"""Neighbours by embedding, against plain NumPy."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import normalize

from topicfold.exceptions import DataError
from topicfold.graph import EmbeddingIndex, NeighborGraph, embedding
from topicfold.graph.embedding import check_embeddings


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((9, 12))
    return centers[rng.integers(0, 9, 700)] + rng.standard_normal((700, 12))


def plain_neighbors(rows, queries, n, own=False):
    """Return the nearest rows by cosine, all pairs compared."""
    cosines = normalize(queries) @ normalize(rows).T
    if own:
        np.fill_diagonal(cosines, -2)
    near = np.argsort(-cosines, axis=1, kind="stable")[:, :n]
    return near, np.take_along_axis(cosines, near, axis=1)


def test_neighbors_are_the_nearest_by_cosine(rows):
    index = EmbeddingIndex(rows)
    expected, cosines = plain_neighbors(rows, rows, 10, own=True)
    near, similar = index.query(None, 10)
    np.testing.assert_array_equal(near, expected)
    np.testing.assert_allclose(similar, cosines, atol=2e-6)
    new = np.random.default_rng(1).standard_normal((40, 12))
    np.testing.assert_array_equal(
        index.query(new, 7)[0], plain_neighbors(rows, new, 7)[0]
    )


def test_cells_find_nearly_all_neighbors(rows, monkeypatch):
    expected = EmbeddingIndex(rows).query(None, 10)[0]
    for name, value in {"EXACT": 100, "CELL_SIZE": 20, "BLOCK": 64}.items():
        monkeypatch.setattr(embedding, name, value)
    index = EmbeddingIndex(rows)
    near = index.query(None, 10)[0]
    found = [len(set(a) & set(b)) for a, b in zip(near, expected, strict=True)]
    assert np.mean(found) > 9
    assert not (near == np.arange(len(rows))[:, None]).any()
    np.testing.assert_array_equal(index.query(None, 10, n_jobs=3)[0], near)
    new = rows[:150] + 0.1
    one_by_one = np.vstack([index.query(row[None], 10)[0] for row in new])
    np.testing.assert_array_equal(index.query(new, 10)[0], one_by_one)


def test_batches_and_threads_change_nothing(rows):
    index = EmbeddingIndex(rows[:600])
    whole = index.query(rows[600:], 10)
    for part in range(600, 700, 30):
        own = index.query(rows[part : part + 30], 10, n_jobs=2)
        for ours, theirs in zip(own, whole, strict=True):
            np.testing.assert_array_equal(ours, theirs[part - 600 : part - 570])


def test_equal_documents_and_zero_vectors():
    rows = np.array([[1.0, 0], [1, 0], [1, 0], [0, 0], [-1, 0]])
    near, similar = EmbeddingIndex(rows).query(None, 3)
    assert near.tolist() == [
        [1, 2, -1],
        [0, 2, -1],
        [0, 1, -1],
        [-1, -1, -1],
        [-1, -1, -1],
    ]
    assert (similar[near < 0] == 0).all()
    assert EmbeddingIndex(rows[:1]).query(None, 3)[0].tolist() == [[-1]]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
def test_any_kind_of_number(dtype):
    rows = np.array([[3, 4], [0, 2], [100, 0]]).astype(dtype)
    found = check_embeddings(rows, 3)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 1], [1, 0]], rtol=1e-6)
    np.testing.assert_array_equal(check_embeddings(rows.tolist(), 3), found)
    np.testing.assert_array_equal(
        check_embeddings(sparse.csr_matrix(rows.astype(np.float32)), 3), found
    )
    assert not np.shares_memory(found, rows)


class Rows:
    """What NumPy can read as an array, or cannot."""

    def __init__(self, rows, error=None):
        self.rows, self.error = rows, error

    def __array__(self, dtype=None, copy=None):
        if self.error is not None:
            raise self.error
        return np.array(self.rows, dtype)


def test_rows_in_other_containers():
    rows = np.array([[3.0, 4.0], [0.0, 2.0]])
    column = np.empty(2, dtype=object)  # a column of lists in a data frame
    column[:] = [rows[0], rows[1].tolist()]
    masked = np.ma.masked_array(rows, mask=False)
    expected = check_embeddings(rows, 2)
    for given in (Rows(rows), column, masked, rows.astype(object), list(rows)):
        np.testing.assert_array_equal(check_embeddings(given, 2), expected)
    np.testing.assert_array_equal(EmbeddingIndex(Rows(rows)).rows_, expected)


def test_very_large_and_small_rows_have_a_direction():
    found = check_embeddings([[3e14, 4e14], [3e-30, 4e-30]], 2)
    np.testing.assert_allclose(found, [[0.6, 0.8]] * 2, rtol=1e-6)


@pytest.mark.parametrize(
    ("embeddings", "message"),
    [
        (np.ones((3, 2)), "3 embeddings for 4 documents"),
        (np.ones(4), r"have the shape \(4,\)"),
        (np.ones((4, 0)), "have 0 dimensions"),
        (np.ones((4, 3)), "have 3 dimensions, in fit they had 2"),
        ([[1, np.nan]] * 4, r"NaN, infinity .* in 4 rows \(first: row 0\)"),
        ([[1, 2], [1, np.inf], [1, 2], [1, 2]], "in 1 rows .first: row 1"),
        ([[1, 2], [1], [1, 2], [1, 2]], "not a table of numbers"),
        ([["a", "b"]] * 4, "not a table|the type|are texts"),
        (np.ones((4, 2)) * 1j, "the type complex128"),
        (None, "they are of the type NoneType"),
        ({"a": [1, 2]}, "they are of the type dict"),
        (np.ones, "they are of the type function"),
        ((row for row in np.ones((4, 2))), "they are of the type generator"),
        ([[1, 2], [1, 2], [1]], "row 0 has 2 numbers, row 2 has 1 numbers"),
        ([None, [1, 2]], "row 0 has the type NoneType, row 1 has 2 numbers"),
        ((np.ones((4, 2)), None), "row 0 has 4 numbers, row 1 has the type NoneType"),
        (np.ma.masked_array(np.ones((4, 2)), mask=np.eye(4, 2)), "NaN, .* in 2 rows"),
        (Rows(None, RuntimeError("out of memory")), "numbers: out of memory. Give"),
    ],
)
def test_what_is_no_embedding_is_refused(embeddings, message):
    with pytest.raises(DataError, match=message):
        check_embeddings(embeddings, 4, 2)


def test_a_vector_has_a_dimension():
    with pytest.raises(DataError, match="have no dimensions"):
        check_embeddings(np.ones((4, 0)), 4)


def test_a_graph_of_embeddings(rows):
    X = np.ones((700, 3))
    graph = NeighborGraph(4, edge_weights="binary").build(X, embeddings=rows)
    expected = np.zeros((700, 700))
    np.put_along_axis(expected, plain_neighbors(rows, rows, 4, own=True)[0], 1, axis=1)
    np.testing.assert_array_equal(graph.toarray(), np.maximum(expected, expected.T))
    weighed = NeighborGraph(4, of="embeddings").build(X, embeddings=rows)
    assert (weighed - weighed.T).nnz == 0
    np.testing.assert_array_equal(weighed.toarray() > 0, graph.toarray() > 0)
    assert 0 < weighed.data.min() <= weighed.data.max() <= 1


def test_a_graph_says_what_it_compares(rows):
    X = np.ones((700, 3))
    with pytest.raises(DataError, match=r"needs embeddings: fit\(X, embeddings="):
        NeighborGraph(of="embeddings").build(X)
    with pytest.raises(DataError, match="compares words, so embeddings would have no"):
        NeighborGraph(of="words").build(X, embeddings=rows)
    with pytest.raises(ValueError, match="'of' parameter of NeighborGraph must be"):
        NeighborGraph(of="vectors").build(X)


def test_zeros_alone_tell_nothing():
    with pytest.raises(DataError, match="all embeddings are zeros"):
        EmbeddingIndex(np.zeros((5, 3)))
    near, _ = EmbeddingIndex([[1.0, 0.0], [0.0, 0.0]]).query()
    np.testing.assert_array_equal(near, -1)


def test_tensors_are_read():
    class Tensor:
        """As those of torch, which give no array while they have a gradient."""

        def __array__(self, dtype=None, copy=None):
            raise RuntimeError

        def detach(self):
            return self

        cpu = detach

        def float(self):
            return np.eye(2, dtype=np.float32)

    np.testing.assert_array_equal(check_embeddings(Tensor(), 2), np.eye(2))


@pytest.mark.parametrize("length", [1, 40, 400])
def test_neighbours_of_both_kinds(rows, length):
    """Those by words have n / (n + 40) of the weight in texts of n words."""
    rng = np.random.default_rng(0)
    X = length * np.eye(20)[rng.integers(0, 20, len(rows))]
    build = {"embeddings": rows}
    joined = NeighborGraph(4, of="both").build(X, **build).toarray()
    words, _ = NeighborGraph(4).index(X).query_among(None, 4)
    vectors, _ = EmbeddingIndex(rows).query(None, 4)
    expected = np.zeros_like(joined)
    share = length / (length + 40)
    for near, part in ((words, share), (vectors, 1 - share)):
        weights = np.zeros_like(expected)
        compared = normalize(np.log1p(X)) if near is words else normalize(rows)
        for row, found in enumerate(near):
            kept = found[found >= 0]
            weights[row, kept] = compared[kept] @ compared[row]
        expected += part * normalize(weights, "l1")
    np.testing.assert_allclose(joined, np.maximum(expected, expected.T), atol=1e-5)
    with pytest.raises(DataError, match=r'of="both"\) needs embeddings'):
        NeighborGraph(of="both").build(X)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_the_largest_of_a_row_are_found_of_equal_ones_the_first(n):
    rng = np.random.default_rng(n)
    for values in (rng.random((9, 40)), rng.integers(0, 4, (9, 40))):
        values = np.vstack([values, np.sort(values[0]), np.zeros(40)])
        found, largest = embedding._largest(values.astype(np.float32), n)
        expected = np.argsort(-values, axis=1, kind="stable")[:, :n]
        np.testing.assert_array_equal(np.sort(found), np.sort(expected))
        np.testing.assert_allclose(largest, np.take_along_axis(values, found, 1))
    assert embedding._largest(np.zeros((2, 0), np.float32), 3)[0].shape == (2, 0)
