# SPDX-License-Identifier: BSD-3-Clause
"""What a model makes of the matrix that it is given."""

from __future__ import annotations

import threading

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from topicfold import LDA, PLSA, LabeledLDA, MedLDA, MultimodalLDA
from topicfold.exceptions import DataError
from topicfold.learn import Callback
from topicfold.models.base import LearnedModel, check_documents
from topicfold.registry import models

COUNTS = np.array([[3, 0, 1], [0, 2, 1]])
NARROW = [np.bool_, np.int8, np.uint8, np.uint16, np.int32, np.uint32, np.int64]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["a", "csr"])
@pytest.mark.parametrize("dtype", NARROW, ids=lambda kind: np.dtype(kind).name)
def test_whole_counts_are_computed_in_float32(container, dtype):
    X = check_documents(PLSA(), container(COUNTS.astype(dtype)), reset=True)
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X.toarray(), COUNTS.astype(dtype))


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(np.float16, np.float64), (np.float32, np.float32), (np.float64, np.float64)],
    ids=["float16", "float32", "float64"],
)
def test_floats_keep_what_they_have(dtype, expected):
    X = check_documents(PLSA(), COUNTS.astype(dtype), reset=True)
    assert X.dtype == expected


def test_the_matrix_of_the_user_stays_as_it_is():
    # Twice the same entry, an explicit zero, and nothing may be written.
    indptr, indices = np.array([0, 3, 5]), np.array([2, 0, 0, 1, 2])
    data = np.array([1.0, 1.0, 2.0, 2.0, 0.0])
    for array in (indptr, indices, data):
        array.flags.writeable = False
    given = sparse.csr_matrix((data, indices, indptr), shape=(2, 3), copy=False)
    X = check_documents(PLSA(), given, reset=True)
    np.testing.assert_array_equal(X.toarray(), [[3, 0, 1], [0, 2, 0]])
    assert X.has_canonical_format
    assert X.nnz == 3
    assert given.nnz == 5
    np.testing.assert_array_equal(given.data, data)


@pytest.mark.parametrize(
    ("X", "told"),
    [
        (COUNTS.astype("M8[s]"), "dates or times"),
        (np.ma.masked_equal(COUNTS, 1), "masked entries"),
        (pd.DataFrame({"n": [1, 2], "text": ["red fox", "sea"]}), "'text'.*'red fox'"),
        (pd.DataFrame({"n": [1], "day": pd.to_datetime(["1970-01-02"])}), "'day'"),
    ],
    ids=["dates", "masked", "text column", "date column"],
)
def test_what_is_no_count_is_refused(X, told):
    with pytest.raises(DataError, match=told):
        check_documents(PLSA(), X, reset=True)


@pytest.mark.parametrize("kind", [list, lambda x: x.astype(object), lambda x: x[None]])
def test_values_of_a_sparse_matrix_are_one_array_of_numbers(kind):
    X = sparse.csr_matrix(COUNTS)
    vars(X)["data"] = kind(X.data)
    with pytest.raises(DataError, match="X has an array data"):
        check_documents(PLSA(), X, reset=True)


def test_a_table_of_numbers_is_taken_whatever_its_columns_hold_them_in():
    table = pd.DataFrame(COUNTS, columns=list("abc"))
    table = table.astype({"a": object, "b": "category", "c": "Int64"})
    X = check_documents(PLSA(), table, reset=True)
    np.testing.assert_array_equal(X.toarray(), COUNTS)


@pytest.mark.parametrize("kinds", [(">i4", ">i4"), ("u2", "i4"), ("i8", "i4")])
def test_indices_of_any_type_reach_compiled_code_as_one_of_two(kinds):
    X = sparse.csr_matrix(COUNTS)
    X.indices, X.indptr = X.indices.astype(kinds[0]), X.indptr.astype(kinds[1])
    checked = check_documents(PLSA(), X, reset=True)
    assert checked.indices.dtype == checked.indptr.dtype == np.int32
    np.testing.assert_array_equal(checked.toarray(), COUNTS)
    assert X.indices.dtype == kinds[0]


@pytest.mark.parametrize("model", [PLSA(2), LDA(2), MedLDA(2), LabeledLDA()], ids=str)
def test_a_model_is_fitted_by_one_thread_at_a_time(model):
    errors = []

    def other():
        try:
            model.fit(COUNTS, [0, 1])
        except DataError as error:
            errors.append(str(error))

    class Meanwhile(Callback):
        def on_iteration(self, state):
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()

    model.set_params(callbacks=[Meanwhile()], max_iter=1, random_state=0)
    model.fit(COUNTS, [0, 1])
    assert [error.partition(". ")[2] for error in errors] == [
        "Give each thread a model of its own: sklearn.base.clone(model)."
    ]
    model.set_params(callbacks=None).fit(COUNTS, [0, 1])


LEARNED = {entry.load() for entry in models() if not entry.base}


@pytest.mark.filterwarnings("ignore:.*fitted without")
@pytest.mark.parametrize("name", ["max_iter", "random_state"])
@pytest.mark.parametrize(
    "model",
    sorted((m for m in LEARNED if issubclass(m, LearnedModel)), key=str),
    ids=lambda model: model.__name__,
)
def test_every_model_checks_its_parameters(model, name):
    asked = model(**{name: "nonsense"})
    with pytest.raises(ValueError, match=f"'{name}' parameter of {model.__name__}"):
        asked.fit(COUNTS, [0, 1])


def test_matrices_by_name_are_no_matrix():
    X = {"en": COUNTS, "de": COUNTS}
    model = MultimodalLDA(2, max_iter=1, random_state=0).fit(X)
    for take in (model.perplexity, model.score, PLSA(2).fit):
        with pytest.raises(DataError, match="X is a dict, but one matrix"):
            take(X)
    with pytest.raises(DataError, match="X is None, but one matrix"):
        PLSA(2).fit(None)
