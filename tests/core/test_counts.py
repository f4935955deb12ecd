# SPDX-License-Identifier: BSD-3-Clause
"""The one check of count matrices: nothing that leads outside reaches native code."""

import re
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from topicfold import FSTM, LDA, LSI, PLSA, MultimodalLDA
from topicfold.core.counts import (
    bad_values,
    check_counts,
    check_structure,
    checked_csr,
    column_sums,
    token_words,
    weighted_sum,
)
from topicfold.corpus import BlockMatrix, BlockWriter, Corpus, complete_split, read
from topicfold.exceptions import DataError, ModelFileError
from topicfold.graph import NeighborIndex
from topicfold.graph.build import check_graph
from topicfold.metrics import npmi_coherence, residual_dispersion
from topicfold.parts import Context
from topicfold.phi import OtherCounts
from topicfold.search import TopicIndex

GOOD = {
    "data": np.array([1.0, 2.0, 3.0]),
    "indices": np.array([0, 2, 1]),
    "indptr": np.array([0, 2, 2, 3]),
    "shape": (3, 3),
}


def test_good_arrays_make_the_matrix():
    matrix = checked_csr(**GOOD, source="x.npz")
    assert_array_equal(matrix.toarray(), [[1, 0, 2], [0, 0, 0], [0, 3, 0]])
    unsigned = {name: GOOD[name].astype(np.uint16) for name in ("indices", "indptr")}
    again = checked_csr(**{**GOOD, **unsigned}, source="x.npz")
    assert again.indices.dtype == np.int32
    assert (again != matrix).nnz == 0


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"indptr": np.array([0, 2, 2, -3])}, "fall at row 2"),
        ({"indptr": np.array([0, 2, 1, 3])}, "fall at row 1"),
        ({"indptr": np.array([1, 2, 2, 3])}, "start at 1 instead of 0"),
        ({"indptr": np.array([0, 2, 2, 4])}, "end at 4 for 3 values and 3 indices"),
        ({"indptr": np.array([0, 2, 2, 2])}, "end at 2 for 3 values and 3 indices"),
        ({"indptr": np.array([0, 3])}, "2 row pointers (indptr) for 3 rows"),
        ({"indptr": np.empty(0, int)}, "0 row pointers"),
        ({"indptr": np.array([0.0, 2.0, 2.0, 3.0])}, "type float64 instead of whole"),
        ({"indptr": np.zeros((2, 2), int)}, "indptr that is not one-dimensional"),
        ({"indices": np.array([0, 3, 1])}, "column 3 of row 0, but only 3 columns"),
        ({"indices": np.array([0, 2, -1])}, "column -1 of row 2"),
        ({"indices": np.array([0, 2])}, "end at 3 for 3 values and 2 indices"),
        ({"indices": np.array(["0", "2", "1"])}, "indices of type <U1"),
        ({"data": np.array([1.0, 2.0])}, "end at 3 for 2 values"),
        ({"data": np.array([1.0, 2.0, 3.0j])}, "type complex128 instead of real"),
        ({"data": np.array([1.0, np.nan, 2.0])}, "1 NaN entry (first at row 0, column"),
        (
            {"data": np.array([1.0, 2.0, np.inf])},
            "1 infinite entry (first at row 2, co",
        ),
        ({"data": np.array([1.0, -2.0, -1.0])}, "2 negative entries (first at row 0,"),
        ({"data": "abc"}, "data that is not one-dimensional"),
        ({"shape": (-1, 3)}, "the shape (-1, 3)"),
        ({"shape": (3,)}, "the shape (3,)"),
        ({"shape": np.array([3.0, 3.0])}, "the shape [3. 3.]"),
        ({"shape": None}, "the shape None"),
        ({"shape": (2, 3)}, "4 row pointers (indptr) for 2 rows"),
    ],
)
def test_arrays_that_lead_outside_are_named(change, problem):
    with pytest.raises(DataError, match=f"^x.npz has .*{re.escape(problem)}"):
        checked_csr(**{**GOOD, **change}, source="x.npz")


def test_signed_values_and_other_errors():
    signed = {**GOOD, "data": np.array([1.0, -2.0, 3.0])}
    assert checked_csr(**signed, source="x", signed=True).sum() == 2.0
    with pytest.raises(
        ModelFileError, match=r"x has 1 NaN entry .*\. Save it again\.$"
    ):
        checked_csr(
            **{**GOOD, "data": np.array([1.0, np.nan, -3.0])},
            source="x",
            signed=True,
            error=ModelFileError,
            advice="Save it again.",
        )


def hand_made(format: str) -> sparse.spmatrix:
    """Return a matrix that SciPy took for good, changed afterwards."""
    X = sparse.csr_matrix([[1.0, 2.0], [0.0, 3.0]]).asformat(format)
    if format == "coo":
        X.col[0] = 10**6
    elif format == "lil":
        X.rows[0][0] = 10**6
    else:
        X.indices[0] = 10**6
    return X


FORMATS = ("csr", "csc", "bsr", "coo", "lil")


@pytest.mark.parametrize("format", FORMATS)
def test_hand_made_matrices_are_refused_by_every_room(format, tmp_path):
    X = hand_made(format)
    for take in (
        lambda: check_counts(X, "X"),
        lambda: Corpus(X, ["a", "b"]),
        lambda: complete_split(X),
        lambda: NeighborIndex(X),
        lambda: npmi_coherence(np.full((1, 2), 0.5), X, n_words=2),
        lambda: FSTM(1).fit(X),
        lambda: PLSA(1).fit(X),
        lambda: LSI(1).fit(X),
    ):
        with pytest.raises(DataError, match=r"1000000"):
            take()
    if format == "csr":
        with pytest.raises(DataError, match=r"^block 0 has .* 1000000"):
            BlockWriter(tmp_path / "blocks").append(X)


def test_falling_row_pointers_are_refused():
    X = sparse.csr_matrix([[1.0, 2.0], [0.0, 3.0]])
    X.indptr = np.array([0, 2, -1], X.indptr.dtype)
    with pytest.raises(DataError, match=r"X has row pointers .* fall at row 1"):
        PLSA(1).fit(X)
    X = sparse.csc_matrix([[1.0, 2.0], [0.0, 3.0]])
    X.indptr = np.array([0, 2, -1], X.indptr.dtype)
    with pytest.raises(DataError, match=r"X has column pointers .* fall at column 1"):
        PLSA(1).fit(X)


def test_counts_become_canonical_and_x_stays():
    X = sparse.csr_matrix(
        (np.array([1, 2, 3, 0]), np.array([2, 0, 2, 1]), np.array([0, 4])), shape=(1, 3)
    )
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    found = check_counts(X, "X")
    assert found.indices.tolist() == [0, 2]
    assert found.data.tolist() == [2, 4]
    for kept, part in zip(before, (X.data, X.indices, X.indptr), strict=True):
        assert_array_equal(kept, part)
    assert np.shares_memory(check_counts(found, "X").data, found.data)


INTEGERS = [
    np.dtype(f"{order}{kind}{size}")
    for order in "<>"
    for kind in "iu"
    for size in (1, 2, 4, 8)
]


def repeated_entries(dtype, format, *, in_order):
    """Return a matrix with repeated entries, and the sums that it stands for."""
    large = min(np.iinfo(dtype).max, 2**40)
    rows = np.array([0, 0, 0, 1, 1], np.int32)
    columns = np.array([0, 0, 2, 1, 1] if in_order else [2, 0, 0, 1, 1], np.int32)
    values = np.array([large, large - 1, 3, 5, 6]).astype(dtype)
    dense = np.zeros((2, 3), np.int64)
    np.add.at(dense, (rows, columns), values.astype(np.int64))
    if format == "dense":
        X = dense = np.where(dense <= large, dense, large).astype(dtype)
    elif format == "coo":  # SciPy makes none in foreign byte order
        native = values.astype(dtype.newbyteorder("="))
        X = sparse.coo_matrix((native, (rows, columns)), shape=(2, 3))
    elif format == "csr":
        X = sparse.csr_matrix((values, columns, np.array([0, 3, 5])), shape=(2, 3))
    else:  # the same entries of the transposed matrix
        pointers = np.array([0, 3, 5])
        X = sparse.csc_matrix((values, columns, pointers), shape=(3, 2))
        dense = dense.T
    return X, dense


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dense"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_repeated_entries_add_up_in_every_integer_type(
    dtype, format, in_order, tmp_path
):
    X, dense = repeated_entries(dtype, format, in_order=in_order)
    values = X.data if sparse.issparse(X) else X
    before = values.copy()
    found = check_counts(X, "X")
    assert_array_equal(found.toarray(), dense)
    assert found.dtype.isnative
    assert found.dtype.kind in "iu"
    words = [f"w{column}" for column in range(X.shape[1])]
    assert_array_equal(Corpus(X, words).counts.toarray(), dense)
    fitted = PLSA(1, max_iter=1).fit(X)
    lengths = dense.sum(axis=1, dtype=np.float64)
    assert fitted.doc_lengths_ == pytest.approx(lengths, rel=1e-6)
    if format != "dense":
        sparse.save_npz(tmp_path / "counts.npz", X)
        (tmp_path / "vocab.txt").write_text("\n".join(words))
        assert_array_equal(read(tmp_path / "counts.npz").counts.toarray(), dense)
    assert_array_equal(values, before)


def test_sums_keep_their_type_where_it_holds_them():
    def taken(values, dtype, indices=(0, 0)):
        arrays = np.array(values, dtype), np.array(indices), np.array([0, 2])
        return check_counts(sparse.csr_matrix(arrays, shape=(1, 2)), "X")

    assert taken([3, 4], np.uint8).dtype == np.uint8
    assert taken([200, 100], np.uint8).dtype == np.int32
    assert taken([2**31 - 1, 5], np.int32).dtype == np.int64
    assert taken([True, True], bool).data.tolist() == [2]
    assert taken([True, True], bool, (1, 0)).dtype == bool
    large = taken([2**63 - 1, 2**63 - 1], np.int64)
    assert large.data.tolist() == [2.0**64]
    assert taken([2**63, 2**63], np.uint64).data.tolist() == [2.0**64]
    assert taken([0.5, 0.25], ">f4").dtype == np.float32
    assert taken([0.5, 0.25], ">f8").data.tolist() == [0.75]


def test_narrow_counts_of_a_query_and_of_other_columns_add_up():
    X, dense = repeated_entries(np.dtype(np.uint8), "coo", in_order=True)
    words = ["apple", "berry", "cherry"]
    model = LDA(2, max_iter=2, random_state=0).fit(dense)
    by_words = TopicIndex(model, vocabulary=words, lexical="bm25").add(X)
    same = TopicIndex(model, vocabulary=words, lexical="bm25").add(dense)
    query = {"query": "apple", "mix": 1.0}
    assert_array_equal(by_words.query(**query).scores, same.query(**query).scores)
    context = Context(
        n_documents=len(dense), n_topics=2, n_terms=3, lengths=dense.sum(1)
    )
    assert_array_equal(OtherCounts("other").check(X, context).toarray(), dense)


@pytest.mark.parametrize("format", ["coo", "csr"])
def test_narrow_counts_add_up_wherever_a_matrix_is_given(tmp_path, format):
    X, dense = repeated_entries(np.dtype(np.int8), format, in_order=False)
    blocks = BlockMatrix.write(tmp_path / "blocks", X, block_size=1)
    joined = sparse.vstack(list(blocks))
    assert_array_equal(joined.toarray(), dense)
    model = LDA(1, max_iter=2).fit(dense)
    lengths = dense.sum(axis=1)
    assert_array_equal(model.topic_data(X=X).doc_lengths, lengths)
    given = model.doc_topics_, model.components_
    assert residual_dispersion(X, *given) == residual_dispersion(dense, *given)


def test_narrow_weights_of_a_graph_add_up():
    pairs = (np.array([0, 0]), np.array([1, 1]))
    graph = sparse.coo_array((np.array([100, 100], np.int8), pairs), shape=(2, 2))
    assert_array_equal(check_graph(graph, 2).toarray(), [[0, 200], [200, 0]])


def test_lengths_of_described_documents_are_those_of_any_documents(tmp_path):
    dense = np.array([[3, 0, 1], [0, 2, 0], [1, 1, 1]])
    lengths, words = dense.sum(axis=1), ["a", "b", "c"]
    model = LDA(2, max_iter=2, random_state=0).fit(dense)
    for X in (Corpus(dense, words), BlockMatrix.write(tmp_path / "b", dense)):
        assert_array_equal(model.topic_data(X=X).doc_lengths, lengths)
    both = MultimodalLDA(2, max_iter=2, random_state=0)
    both.fit({"words": dense, "tags": dense[:, :2]})
    described = both.topic_data(X={"words": dense, "tags": None})
    assert_array_equal(described.doc_lengths, lengths)
    described = both.topic_data(X={"tags": dense[:, :2]})
    assert_array_equal(described.doc_lengths, [0, 0, 0])


@pytest.mark.parametrize("format", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
def test_every_format_is_taken(format, kind):
    dense = np.array([[0.0, 2.0, 1.0], [3.0, 0.0, 0.0]])
    X = kind(dense).asformat(format)
    check_structure(X, "X")
    assert_array_equal(check_counts(X, "X").toarray(), dense)
    assert_array_equal(check_counts(dense.tolist(), "X").toarray(), dense)


@pytest.mark.parametrize(
    ("X", "problem"),
    [
        ([1, 2], "X has 1 dimensions"),
        ([[1, 2], [3]], "X is not a matrix of numbers"),
        ([["a"]], "X is not a matrix of numbers"),
        (object(), "X is not a matrix of numbers"),
        (np.array([["a", None]], object), "X is not a matrix of numbers"),
        (sparse.csr_matrix([[1j]]), "X has an array data of type complex128"),
        (sparse.coo_array([1.0, 2.0]), "X has 1 dimensions"),
    ],
)
def test_what_is_no_matrix_is_said(X, problem):
    with pytest.raises(DataError, match=problem):
        check_counts(X, "X")


def test_tokens_that_do_not_fit_into_memory_are_said():
    counts = sparse.csr_matrix(np.array([[2.0**52, 1.0]]))
    with pytest.raises(
        DataError, match="4,503,599,627,370,497 tokens, and a list of all"
    ):
        token_words(counts, counts.indices)


def test_all_bad_values_are_counted_at_once():
    X = sparse.csr_matrix([[0, np.nan, -1.0], [np.inf, -np.inf, 1.0]])
    assert bad_values(X) == (
        "1 NaN entry (first at row 0, column 1) and 2 infinite entries (first at row "
        "1, column 0) and 2 negative entries (first at row 0, column 2)"
    )
    assert "negative" not in bad_values(X, signed=True)
    assert bad_values(sparse.csr_matrix([[True, False]])) == ""


def test_a_dense_array_costs_no_python_objects():
    X = np.zeros((500, 2000))
    X[:, 0] = 1.0
    model = PLSA(1, max_iter=1)
    model.fit(X[:5])
    tracemalloc.start()
    try:
        model.fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # A Python object per entry would take four times as much as the array.
    assert peak < X.nbytes


@pytest.mark.parametrize("threads", [1, 3])
def test_sums_of_many_rows_do_not_depend_on_threads(monkeypatch, threads):
    rng = np.random.default_rng(0)
    rows = rng.random((50, 7), dtype=np.float32) * (rng.random((50, 7)) < 0.5)
    weights = rng.random(50)
    of_columns = column_sums(sparse.csr_matrix(rows))
    of_rows = weighted_sum(weights, rows)
    np.testing.assert_allclose(of_columns, rows.sum(axis=0, dtype=float), rtol=1e-6)
    np.testing.assert_allclose(of_rows, weights @ rows.astype(float), rtol=1e-12)
    for name in ("_ROWS_SUMMED", "_CHUNK"):
        monkeypatch.setattr(f"topicfold.core.counts.{name}", 8)
    apart = column_sums(sparse.csr_matrix(rows), threads)
    np.testing.assert_allclose(apart, of_columns, rtol=1e-6)
    assert_array_equal(apart, column_sums(sparse.csr_matrix(rows), 2))
    by_parts = weighted_sum(weights, rows, threads)
    np.testing.assert_allclose(by_parts, of_rows, rtol=1e-12)
    assert_array_equal(by_parts, weighted_sum(weights, rows, 2))


def test_columns_of_many_tokens_are_summed_to_the_last_one():
    """Sums in float32, as SciPy makes them of such counts, stop at 16.8 million."""
    X = sparse.csr_matrix(np.full((40_000, 1), 1001, dtype=np.float32))
    assert column_sums(X).tolist() == [40_040_000.0]
