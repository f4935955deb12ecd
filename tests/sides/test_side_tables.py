# SPDX-License-Identifier: BSD-3-Clause
"""Tables of what sides have learned, in the record of a model."""

from types import SimpleNamespace

import numpy as np
import pytest

from topicfold import AuthorTopics
from topicfold.sides.tables import side_tables

X = [[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [3, 0, 3, 4]]


def test_authors_are_in_the_record_of_a_model(tmp_path):
    authors = [["Ann"], ["Ann", "Bob"], ["Cid"], ["Bob", "Cid"]]
    model = AuthorTopics(2, random_state=0, max_iter=20).fit(X, authors=authors)
    (table,) = model.topic_data().sides
    assert (table.name, table.kind) == ("authors", "shares")
    assert table.rows == ("Ann", "Bob", "Cid")
    assert table.values == pytest.approx(model.author_topics_, abs=1e-6)


def test_features_come_without_the_intercept():
    side = SimpleNamespace(
        keyword="features",
        feature_names_=["intercept", "year"],
        effects_=np.array([[9.0, 9.0], [1.0, -1.0]]),
        errors_=np.array([[9.0, 9.0], [0.5, 0.25]]),
    )
    (table,) = side_tables([side], ["a"], 2)
    assert table.rows == ("year",)
    assert table.values.tolist() == [[1.0, -1.0]]
    assert table.errors.tolist() == [[0.5, 0.25]]


@pytest.mark.parametrize("classes", [None, ["no", "yes"]])
def test_responses_have_a_row_each(classes):
    coef = np.array([1.0, 2.0]) if classes is None else np.eye(2)
    side = SimpleNamespace(keyword="response", coef_=coef, std_errors_=coef / 10)
    if classes is not None:
        side.classes_ = np.array(classes)
    (table,) = side_tables([side], ["a"], 2)
    assert table.rows == (("response",) if classes is None else ("no", "yes"))
    assert table.values.shape == (len(table.rows), 2)


def test_seeds_are_words_of_the_first_topics():
    side = SimpleNamespace(keyword=None, seed_words_={"pets": [1, 0]})
    (table,) = side_tables([side], ["cat", "dog"], 3)
    assert table.terms == (("dog", "cat"), (), ())


def test_tables_about_other_topics_are_left_out():
    side = SimpleNamespace(keyword="response", coef_=np.ones(3))
    assert side_tables([side, object()], ["a"], 2) == []
