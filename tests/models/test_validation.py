# SPDX-License-Identifier: BSD-3-Clause
"""What a model makes of the matrix that it is given."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from topicfold import PLSA
from topicfold.models.base import check_counts

COUNTS = np.array([[3, 0, 1], [0, 2, 1]])
NARROW = [np.bool_, np.int8, np.uint8, np.uint16, np.int32, np.uint32, np.int64]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["a", "csr"])
@pytest.mark.parametrize("dtype", NARROW, ids=lambda kind: np.dtype(kind).name)
def test_whole_counts_are_computed_in_float32(container, dtype):
    X = check_counts(PLSA(), container(COUNTS.astype(dtype)), reset=True)
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X.toarray(), COUNTS.astype(dtype))


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(np.float16, np.float64), (np.float32, np.float32), (np.float64, np.float64)],
    ids=["float16", "float32", "float64"],
)
def test_floats_keep_what_they_have(dtype, expected):
    X = check_counts(PLSA(), COUNTS.astype(dtype), reset=True)
    assert X.dtype == expected


def test_the_matrix_of_the_user_stays_as_it_is():
    # Twice the same entry, an explicit zero, and nothing may be written.
    indptr, indices = np.array([0, 3, 5]), np.array([2, 0, 0, 1, 2])
    data = np.array([1.0, 1.0, 2.0, 2.0, 0.0])
    for array in (indptr, indices, data):
        array.flags.writeable = False
    given = sparse.csr_matrix((data, indices, indptr), shape=(2, 3), copy=False)
    X = check_counts(PLSA(), given, reset=True)
    np.testing.assert_array_equal(X.toarray(), [[3, 0, 1], [0, 2, 0]])
    assert X.has_canonical_format
    assert X.nnz == 3
    assert given.nnz == 5
    np.testing.assert_array_equal(given.data, data)
