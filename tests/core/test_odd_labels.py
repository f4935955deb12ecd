# SPDX-License-Identifier: BSD-3-Clause
"""Labels and responses that are no plain lists: taken as they are meant, or refused."""

import datetime
import decimal

import numpy as np
import pytest
from sklearn.base import clone

from topicfold import (
    LDA,
    LabeledLDA,
    MedLDA,
    SupervisedLDA,
    TopicClassifier,
    TwoPhase,
)
from topicfold.core.labels import check_two_classes, class_members, class_numbers
from topicfold.evidence.labels import read_labels
from topicfold.exceptions import DataError, DataWarning

X = np.random.default_rng(0).poisson(1.0, (6, 5)) + np.eye(6, 5)
FEW = {"max_iter": 2, "random_state": 0}


def test_masked_labels_are_unknown():
    y = np.ma.masked_equal([0, 1, 2, 0, 1, 2], 2)
    codes, classes = class_numbers(y, 6)
    assert codes.tolist() == [0, 1, -1, 0, 1, -1]
    assert classes.tolist() == [0, 1]
    assert read_labels(y, 6)[2].tolist() == [False, False, True] * 2


def test_masked_responses_are_unknown():
    values = np.array([1.0, 2.0, 50.0, 3.0, 4.0, 60.0])
    hidden = SupervisedLDA(2, weight=1.0, **FEW).fit(X, np.ma.masked_greater(values, 9))
    unknown = SupervisedLDA(2, weight=1.0, **FEW).fit(
        X, np.where(values > 9, np.nan, values)
    )
    np.testing.assert_array_equal(hidden.predict(X), unknown.predict(X))


@pytest.mark.parametrize(
    "y", [np.arange(6) + 1j, np.arange(6).astype("M8[D]")], ids=["complex", "dates"]
)
def test_responses_that_would_lose_a_part_are_refused(y):
    with pytest.raises(DataError, match=r"not numbers \(they are"):
        SupervisedLDA(2, **FEW).fit(X, y)


@pytest.mark.parametrize("model", [MedLDA(2, **FEW), LabeledLDA(**FEW)], ids=str)
def test_one_number_is_not_a_list_of_labels(model):
    with pytest.raises(DataError, match="y is a int, not a list of labels"):
        model.fit(X, 3)


def test_several_labels_are_refused_where_one_is_needed():
    with pytest.raises(DataError, match="several labels in a document"):
        MedLDA(2, **FEW).fit(X, [["a", "b"], ["b"], ["a"], ["b"], ["a"], ["b"]])


@pytest.mark.parametrize(
    "pair",
    [
        [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)],
        np.array(["2020", "2021"], "M8[Y]"),
        [decimal.Decimal(1), decimal.Decimal(2)],
        [10**30, 1],
        [b"a", b"b"],
        [object(), object()],
        [np.inf, 1.0],
    ],
    ids=["date", "datetime64", "decimal", "huge", "bytes", "object", "inf"],
)
def test_what_is_no_name_and_no_number_is_refused_as_a_label(pair):
    with pytest.raises(DataError, match=r"y has the label .*Give whole numbers or nam"):
        class_numbers(np.tile(np.asarray(pair, dtype=object), 3), 6)


def test_several_labels_are_told_from_one():
    with pytest.raises(DataError, match=r"the shape \(6, 3\).* 1d array"):
        class_numbers(np.zeros((6, 3)), 6)
    with pytest.raises(DataError, match="y has several labels in a document"):
        class_members([[1], [1, 2]] * 3, 6)


SENTIMENT = np.tile([-1, 0, 1], 10)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        *(TopicClassifier(cv=0), MedLDA(2, **FEW), TwoPhase(), LabeledLDA(**FEW)),
        SupervisedLDA(2, kind="classes", **FEW),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_class_called_minus_one_is_not_lost_in_silence(model):
    counts = np.random.default_rng(0).poisson(1.0, (30, 20))
    with pytest.warns(
        DataWarning, match="-1 means unknown, but .* 10 documents"
    ) as said:
        model.fit(counts, SENTIMENT)
    places = {
        (str(one.message), one.filename) for one in said if one.category is DataWarning
    }
    assert len(places) == 1  # said once outside of tests
    assert places.pop()[1] == __file__


@pytest.mark.parametrize(
    "y",
    [
        np.repeat([-1, 0, 1], [4, 5, 9]),
        np.repeat([-2, -1, 0, 1, 2], [4, 20, 3, 3, 4]),
        np.repeat([-1.0, 0.0, 1.0], [4, 5, 5]),
    ],
    ids=["smallest", "negative ones beside it", "floats"],
)
def test_minus_one_that_looks_like_a_class_is_said(y):
    with pytest.warns(DataWarning, match="If -1 is a class, use names or count from"):
        codes, _ = class_numbers(y, len(y))
    assert ((codes < 0) == (y == -1)).all()


@pytest.mark.parametrize(
    "y",
    [
        np.repeat([-1, 0, 1], [20, 5, 9]),
        np.repeat([-1, 0, 1], [2, 5, 9]),
        np.repeat(["-1", "0", "1"], 5),
        np.array([None, 0, 1] * 5, dtype=object),
        np.repeat(["", "a", "b"], 5),
    ],
    ids=["few labels", "few unknown", "names", "None", "empty"],
)
def test_unknown_labels_are_taken_without_a_word(y):
    class_numbers(y, len(y))
    class_numbers(SENTIMENT, len(SENTIMENT), unknown_label=-1)


@pytest.mark.parametrize("unknown", [None, np.nan, -1, ""], ids=repr)
@pytest.mark.parametrize(
    "model",
    [
        TopicClassifier(LDA(2, random_state=0)),
        MedLDA(2, random_state=0),
        SupervisedLDA(2, kind="classes", weight=1, random_state=0),
        LabeledLDA(random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_score_leaves_out_unknown_labels_and_counts_new_ones_as_wrong(model, unknown):
    counts = np.kron(np.eye(2, dtype=int), np.full((20, 5), 3))
    y = np.repeat(["a", "b"], 20).astype(object)
    model = clone(model).fit(counts, y)
    assert model.score(counts, y) == 1
    y[::2] = unknown
    assert model.score(counts, y) == 1
    y[1::4] = "new"
    assert model.score(counts, y) == 0.5
    with pytest.raises(DataError, match="no known label"):
        model.score(counts, np.full(40, unknown, dtype=object))


@pytest.mark.parametrize("gap", ["nan", "<NA>", "None", "-1"])
def test_gaps_that_were_written_as_texts_are_said(gap):
    y = ["x", "y", gap, gap]
    with pytest.warns(DataWarning, match=f"2 documents have the text '{gap}' in y"):
        codes, classes = class_numbers(y, 4)
    assert (codes >= 0).all()
    assert gap in classes
    codes, _ = class_numbers(y, 4, unknown_label=gap)
    assert codes.tolist() == [0, 1, -1, -1]


def test_numbers_as_texts_may_be_minus_one():
    assert class_numbers(["-1", "0", "1"], 3)[1].tolist() == ["-1", "0", "1"]


def test_labels_of_columns_with_gaps_are_what_they_are():
    pandas = pytest.importorskip("pandas")
    numbers = pandas.Series([1, None, 0], dtype="Int64")
    _, classes, unknown, _ = read_labels(numbers, 3)
    assert classes.dtype.kind == "i"
    assert unknown.tolist() == [False, True, False]
    several = pandas.Series([["a"], pandas.NA, ["b", "a"]])
    _, classes, unknown, _ = read_labels(several, 3)
    assert classes.tolist() == ["a", "b"]
    assert unknown.tolist() == [False, True, False]


def test_one_label_of_each_of_many_classes_is_few_labels_and_not_names():
    codes = np.full(200, -1)
    codes[:25] = np.arange(25)
    check_two_classes(codes, 25, "a classifier")
    with pytest.raises(DataError, match="25 documents have 25 different labels"):
        check_two_classes(codes[:40], 25, "a classifier")
