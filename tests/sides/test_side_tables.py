# SPDX-License-Identifier: BSD-3-Clause
"""Tables of what sides have learned, in the record of a model."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from topicfold import (
    AuthorTopics,
    FeatureLDA,
    MultimodalLDA,
    RelationalLDA,
    SeededLDA,
    SupervisedLDA,
)
from topicfold.corpus import Corpus

pytestmark = pytest.mark.filterwarnings("ignore::topicfold.exceptions.UnsettledWarning")
X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [3, 0, 3, 4]] * 5)
OPTIONS = {"random_state": 0, "max_iter": 5}


def test_authors_are_in_the_record_of_a_model():
    authors = [["Ann"], ["Ann", "Bob"], ["Cid"], ["Bob", "Cid"]] * 5
    model = AuthorTopics(2, **OPTIONS).fit(X, authors=authors)
    (table,) = model.topic_data().sides
    assert (table.name, table.kind) == ("authors", "shares")
    assert table.rows == ("Ann", "Bob", "Cid")
    assert table.values == pytest.approx(model.author_topics_, abs=1e-6)
    assert table.sizes.tolist() == [10, 10, 10]
    assert table.pairs[:3].tolist() == [[0, 0], [0, 1], [1, 1]]
    assert model.topic_data(X=X[:2]).sides[0].pairs is None


def test_features_come_without_the_intercept():
    features = {"year": np.arange(20.0), "place": ["here", "there"] * 10}
    model = FeatureLDA(2, **OPTIONS).fit(X, features=features)
    (table,) = model.topic_data().sides
    assert (table.name, table.kind) == ("features", "effects")
    assert table.rows == ("year", "place=here", "place=there")
    # Per unit of the feature, as the method has them.
    effects = model.feature_effects()
    assert table.values.ravel() == pytest.approx([e.effect for e in effects], abs=1e-6)
    assert table.errors is None  # intervals need draws of mixtures and topics
    scale = np.arange(20.0).std()
    assert table.values[0] == pytest.approx(model.effects_[1] / scale, abs=1e-6)


@pytest.mark.parametrize("kind", ["real", "classes"])
def test_responses_have_a_row_each(kind):
    y = [1.0, 1.5, 4.0, 3.0] * 5 if kind == "real" else ["no", "no", "yes", "yes"] * 5
    model = SupervisedLDA(2, kind=kind, **OPTIONS).fit(X, y)
    (table,) = model.topic_data().sides
    assert table.kind == "effects"
    assert table.rows == (("response",) if kind == "real" else ("no", "yes"))
    (side,) = model.sides_
    assert table.values == pytest.approx(np.atleast_2d(side.coef_), rel=1e-5)
    assert table.errors is None  # topics have seen the response
    assert table.middle == pytest.approx(2.375 if kind == "real" else 0)
    assert "only this topic" in table.note


def test_a_response_has_the_name_of_its_column():
    stars = pd.Series([1.0, 1.5, 4.0, 3.0] * 5, name="stars")
    model = SupervisedLDA(2, weight=1.0, **OPTIONS).fit(X, stars)
    (table,) = model.topic_data().sides
    assert (table.name, table.rows) == ("response (stars)", ("response (stars)",))


def test_seeds_are_words_of_the_first_topics():
    model = SeededLDA(3, seeds={"pets": [1, 0]}, **OPTIONS).fit(X)
    (table,) = model.topic_data(["cat", "dog", "tax", "law"]).sides
    assert set(table.terms[0]) == {"cat", "dog"}
    assert table.terms[1:] == ((), ())


def test_links_are_those_of_the_training_documents():
    model = RelationalLDA(2, **OPTIONS).fit(X, links=[[0, 1], [3, 2], [2, 3]])
    effects, links = model.topic_data().sides
    assert (effects.kind, links.kind) == ("effects", "links")
    assert links.pairs.tolist() == [[0, 1], [2, 3]]
    assert [side.kind for side in model.topic_data(X=X[:2]).sides] == ["effects"]


def test_languages_are_words_and_the_first_is_named():
    other = Corpus(X[:, ::-1], ["Abt", "Bär", "Chor", "Dach"])
    model = MultimodalLDA(2, **OPTIONS).fit({"en": X, "de": other})
    data = model.topic_data()
    (table,) = data.sides
    assert (table.name, table.kind) == ("de", "terms")
    assert set(table.terms[0]) <= {"Abt", "Bär", "Chor", "Dach"}
    assert data.settings["language"] == "en"


def test_tables_about_other_topics_are_left_out():
    model = SeededLDA(2, seeds={"one": [0]}, **OPTIONS).fit(X)
    model.sides_ = [SimpleNamespace(keyword="response", coef_=np.ones(3)), object()]
    assert model.topic_data().sides == ()
    model.sides_[0].coef_ = np.ones(2)
    assert [table.name for table in model.topic_data().sides] == ["response"]
