# SPDX-License-Identifier: BSD-3-Clause
import dataclasses

import numpy as np
import pytest
from scipy import sparse

from topicfold.corpus import Corpus
from topicfold.exceptions import DataError


@pytest.fixture
def corpus():
    return Corpus(
        counts=sparse.csr_matrix(np.arange(12).reshape(4, 3)),
        vocabulary=["a", "b", "c"],
        labels=["x", "", "y", None],
        ids=["d0", "d1", "d2", "d3"],
        texts=["t0", "t1", "t2", "t3"],
        split=["train", "train", "val", "test"],
        links=[[0, 1], [1, 3], [2, 2]],
        times=["1", "2", "3", "4"],
        name="small",
    )


def test_shape_and_labels(corpus):
    assert (corpus.n_documents, corpus.n_terms) == (4, 3)
    assert repr(corpus) == "Corpus('small', 4 documents, 3 terms, 2 classes)"
    y, classes = corpus.encoded_labels()
    assert y.tolist() == [0, -1, 1, -1]
    assert classes == ["x", "y"]


def test_without_labels_all_are_unknown():
    y, classes = Corpus(sparse.eye(2, format="csr"), ["a", "b"]).encoded_labels()
    assert y.tolist() == [-1, -1]
    assert classes == []


@pytest.mark.parametrize(
    "rows", [[3, 0, 1], np.array([3, 0, 1]), [-1, 0, -3], (3, 0, 1)]
)
def test_select_keeps_everything_in_order(corpus, rows):
    part = corpus.select(rows)
    assert part.counts.toarray().tolist() == [[9, 10, 11], [0, 1, 2], [3, 4, 5]]
    assert part.ids == ["d3", "d0", "d1"]
    assert part.labels == ["", "x", ""]
    assert part.split == ["test", "train", "train"]
    assert part.times == ["4", "1", "2"]
    assert part.texts == ["t3", "t0", "t1"]
    # (0, 1) is now (1, 2), (1, 3) is (2, 0), and (2, 2) is gone.
    assert part.links.tolist() == [[1, 2], [2, 0]]
    assert part.name == "small"


def test_select_by_mask_slice_and_nothing(corpus):
    mask = np.array([True, False, False, True])
    assert corpus.select(mask).ids == ["d0", "d3"]
    assert corpus.select(slice(1, 3)).ids == ["d1", "d2"]
    empty = corpus.select([])
    assert empty.n_documents == 0
    assert empty.links.shape == (0, 2)


@pytest.mark.parametrize("rows", [[4], [0.5], [[0, 1]], [True], ["d0"], 1])
def test_select_refuses_what_is_no_rows(corpus, rows):
    with pytest.raises(DataError, match="rows"):
        corpus.select(rows)


def test_select_twice_only_without_links(corpus):
    with pytest.raises(DataError, match="twice"):
        corpus.select([0, 0])
    plain = dataclasses.replace(corpus, links=None)
    assert plain.select([0, 0]).ids == ["d0", "d0"]


def test_frozen(corpus):
    with pytest.raises(dataclasses.FrozenInstanceError):
        corpus.name = "other"


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.coo_matrix, np.array])
def test_counts_become_canonical_csr(container):
    X = Corpus(container([[0, 2], [1, 0]]), ["a", "b"]).counts
    assert isinstance(X, sparse.csr_matrix)
    assert X.toarray().tolist() == [[0, 2], [1, 0]]


def test_stored_zeros_and_duplicates_are_cleaned_in_a_copy():
    parts = (np.array([1, 0, 2]), np.array([1, 0, 1]), np.array([0, 3]))
    X = sparse.csr_matrix(parts, shape=(1, 2))
    corpus = Corpus(X, ["a", "b"])
    assert corpus.counts.nnz == 1
    assert corpus.counts.toarray().tolist() == [[0, 3]]
    assert X.nnz == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocabulary": ["a"]}, "vocabulary has 1 words for 3 columns"),
        ({"vocabulary": ["a", "b", "a"]}, "'a' is in the vocabulary twice"),
        ({"labels": ["x"]}, "labels has 1 entries for 4 documents"),
        ({"labels": "xyxy"}, "one string"),
        ({"ids": []}, "ids has 0 entries"),
        ({"texts": ["t"] * 5}, "texts has 5"),
        ({"times": ["t"] * 5}, "times has 5"),
        ({"split": ["train", "train", "dev", "test"]}, r"split\[2\] is 'dev'"),
        ({"links": [[0, 4]]}, r"links\[0\] = \[0, 4\]"),
        ({"links": [[-1, 0]]}, "outside"),
        ({"links": [[0, 1, 2]]}, "links has shape"),
        ({"links": [[0.5, 1.0]]}, "links has shape"),
        ({"counts": [[1, -1, 0]] * 4}, "first at row 0, column 1"),
        ({"counts": [[1.0, np.nan, 0]] * 4}, "4 NaN entries"),
        ({"counts": "words"}, "counts"),
        ({"counts": np.ones((4, 3), complex)}, "not a matrix of numbers .complex128"),
    ],
)
def test_what_does_not_fit_is_said(corpus, change, message):
    with pytest.raises(DataError, match=message):
        dataclasses.replace(corpus, **change)


def test_all_problems_are_said_at_once(corpus):
    with pytest.raises(DataError, match=r"labels has 1.*ids has 2"):
        dataclasses.replace(corpus, labels=["x"], ids=["1", "2"])


def test_new_texts_are_counted_in_known_words():
    """Whatever the others are: rare, frequent or stop words."""
    words = ["jobs", "the", "wages"]
    found = Corpus.from_texts(["jobs, jobs, zebra", "the end"], vocabulary=words)
    assert found.vocabulary == words
    np.testing.assert_array_equal(found.counts.toarray(), [[2, 0, 0], [0, 1, 0]])
    assert found.texts == ["jobs, jobs, zebra", "the end"]
