# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from topicfold.corpus import Corpus, complete_split, train_test_documents
from topicfold.exceptions import DataError

shapes = hnp.array_shapes(min_dims=2, max_dims=2, max_side=8)
counts_arrays = hnp.arrays(np.int64, shapes, elements=st.integers(0, 9))
weights_arrays = hnp.arrays(
    np.float64, shapes, elements=st.sampled_from([0.0, 0.1, 0.25, 1.5, 3.0])
)
fractions = st.floats(0.01, 0.99)


def half_up(values):
    return np.floor(np.asarray(values) + 0.5)


@settings(max_examples=60, deadline=None)
@given(counts_arrays, fractions, st.integers(0, 99))
def test_counts_sum_to_x_and_have_the_asked_size(counts, fraction, seed):
    X = sparse.csr_array(counts)
    observed, held_out = complete_split(X, fraction=fraction, random_state=seed)
    assert ((observed + held_out).toarray() == counts).all()
    assert observed.data.min(initial=1) > 0
    assert held_out.data.min(initial=1) > 0
    expected = half_up(fraction * counts.sum(axis=1))
    assert observed.sum(axis=1).tolist() == expected.tolist()


@settings(max_examples=60, deadline=None)
@given(weights_arrays, fractions, st.integers(0, 99))
def test_weights_are_split_by_entry(weights, fraction, seed):
    weights[0, 0] = 0.1  # at least one that is no integer
    X = sparse.csr_array(weights)
    observed, held_out = complete_split(X, fraction=fraction, random_state=seed)
    assert ((observed + held_out).toarray() == weights).all()
    assert not observed.multiply(held_out).nnz
    expected = half_up(fraction * np.diff(X.indptr))
    assert np.diff(observed.indptr).tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint16, np.float32, bool])
@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array])
def test_type_shape_and_container_stay(container, dtype):
    X = container(np.array([[1, 0, 1], [0, 0, 0]], dtype=dtype))
    before = X.copy()
    parts = complete_split(X, random_state=0)
    for part in parts:
        assert type(part) is type(X)
        assert part.dtype == X.dtype
        assert part.shape == X.shape
        assert part.nnz == 1
    np.testing.assert_array_equal(X.toarray(), before.toarray())


def test_same_seed_same_split():
    X = sparse.random_array((50, 40), density=0.3, rng=1, format="csr")
    for data in (X, (X * 9).astype(int)):
        first = complete_split(data, random_state=3)[0]
        again = complete_split(data, random_state=3)[0]
        other = complete_split(data, random_state=4)[0]
        assert (first != again).nnz == 0
        assert (first != other).nnz > 0


def test_every_choice_of_tokens_is_equally_likely():
    # 4 of the tokens aab bb b: C(2, i) C(4, 4 - i) / C(6, 4) = 1, 8, 6 of 15.
    X = sparse.csr_array(np.tile([2, 4], (30_000, 1)))
    observed, _ = complete_split(X, fraction=2 / 3, random_state=0)
    shares = np.bincount(observed.toarray()[:, 0], minlength=3) / 30_000
    np.testing.assert_allclose(shares, np.array([1, 8, 6]) / 15, atol=0.01)


def test_a_single_token_stays_observed():
    observed, held_out = complete_split(sparse.csr_array([[1]]), random_state=0)
    assert observed.nnz == 1
    assert held_out.nnz == 0


def test_huge_documents_are_thinned_by_binomial_draws():
    X = sparse.csr_array(np.array([[4 * 10**12, 10**6], [3, 3]]))
    observed, held_out = complete_split(X, fraction=0.25, random_state=0)
    assert ((observed + held_out) != X).nnz == 0
    assert abs(observed[0, 0] - 10**12) < 10**8
    assert observed.sum(axis=1)[1] == 2


@pytest.mark.parametrize("fraction", [0, 1, -0.5, 2, float("nan")])
def test_bad_fraction(fraction):
    with pytest.raises(DataError, match="fraction"):
        complete_split(sparse.csr_array([[1]]), fraction=fraction)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1]], "sparse"),
        (sparse.csr_array([[-1]]), "negative"),
        (sparse.csr_array([[np.inf]]), "1 infinite entry"),
        (sparse.csr_array(np.array([[2**25]], dtype=np.float32)), "int64"),
    ],
)
def test_bad_matrices(X, message):
    with pytest.raises(DataError, match=message):
        complete_split(X)


def test_empty_matrix():
    observed, held_out = complete_split(sparse.csr_array((3, 0), dtype=int))
    assert observed.shape == held_out.shape == (3, 0)


def labelled(sizes, **fields):
    labels = [name for name, size in sizes.items() for _ in range(size)]
    n = len(labels)
    ids = [str(i) for i in range(n)]
    return Corpus(
        sparse.csr_matrix(np.ones((n, 1))), ["w"], labels=labels, ids=ids, **fields
    )


def test_own_split_is_honoured():
    corpus = labelled({"x": 4}, split=["train", "test", "val", "train"])
    train, test = train_test_documents(corpus)
    assert (train.ids, test.ids) == (["0", "3"], ["1"])
    train, test = train_test_documents(corpus, test_size=2, random_state=0)
    assert sorted(train.ids + test.ids) == corpus.ids


def test_own_split_without_test_documents():
    with pytest.raises(DataError, match="0 test documents"):
        train_test_documents(labelled({"x": 2}, split=["train", "train"]))


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from("abc"), st.integers(1, 30), min_size=1),
    st.floats(0.05, 0.95),
    st.integers(0, 9),
)
def test_classes_have_their_share(sizes, share, seed):
    corpus = labelled(sizes)
    n = corpus.n_documents
    n_test = int(half_up(share * n))
    if not 1 <= n_test < n:
        with pytest.raises(DataError, match="at least one"):
            train_test_documents(corpus, test_size=share, random_state=seed)
        return
    train, test = train_test_documents(corpus, test_size=share, random_state=seed)
    assert test.n_documents == n_test
    assert sorted(train.ids + test.ids) == sorted(corpus.ids)
    for name, size in sizes.items():
        assert abs(test.labels.count(name) - size * n_test / n) < 1 + 1e-9
    again = train_test_documents(corpus, test_size=share, random_state=seed)[1]
    assert again.ids == test.ids


@pytest.mark.parametrize("size", [0, 4, -1, 1.5, 0.0])
def test_bad_test_size(size):
    with pytest.raises(DataError, match="test_size"):
        train_test_documents(labelled({"x": 4}), test_size=size)


def test_duplicate_entries_are_counts_of_one_word():
    parts = (np.array([2, 3, 5]), np.array([1, 1, 0]), np.array([0, 3]))
    X = sparse.csr_array(parts, shape=(1, 2))
    observed, held_out = complete_split(X, random_state=0)
    assert (observed + held_out).toarray().tolist() == [[5, 5]]
    assert observed.sum() == 5
    assert X.nnz == 3  # the caller's matrix is as it was
