# SPDX-License-Identifier: BSD-3-Clause
"""`Topics` takes what else is known of documents, as the command line does."""

import numpy as np
import pandas as pd
import pytest

from topicfold import Topics, load
from topicfold.corpus.inputs import as_documents
from topicfold.exceptions import DataError, DataWarning
from topicfold.session.fitting import label_texts

LAND = ["fox", "wood", "deer", "tree", "hill"]
SEA = ["fish", "wave", "boat", "sand", "gull"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    on_land = rng.random(80) < 0.5
    words = [rng.choice(LAND if land else SEA, 20) for land in on_land]
    return pd.DataFrame(
        {
            "text": [" ".join(own) for own in words],
            "by": np.where(on_land, "Ann; Cy", "Bob"),
            "place": np.where(on_land, "land", "sea"),
            "depth": np.where(on_land, 0.0, 9.0) + rng.normal(size=80),
        }
    )


def test_authors_by_the_name_of_a_column(table, tmp_path):
    topics = Topics(2, min_df=1, max_df=1.0).fit(table, authors="by")
    assert type(topics.model_).__name__ == "AuthorTopics"
    side = topics.model_.sides_[0]
    assert sorted(side.names_) == ["Ann", "Bob", "Cy"]
    ann, bob, cy = side.entity_topics_[
        [list(side.names_).index(n) for n in ("Ann", "Bob", "Cy")]
    ]
    assert ann.argmax() == cy.argmax() != bob.argmax()
    table[["text", "by"]].to_csv(tmp_path / "table.csv", index=False)
    same = Topics(2, min_df=1, max_df=1.0).fit(tmp_path / "table.csv", authors="by")
    np.testing.assert_allclose(same.data_.doc_topics, topics.data_.doc_topics)
    new = topics.transform(table[["text", "by"]][:5], authors="by")
    np.testing.assert_allclose(new, topics.data_.doc_topics[:5], atol=1e-5)


def test_features_and_a_response_by_names_and_by_values(table):
    topics = Topics(2, min_df=1, max_df=1.0).fit(table, features=["place", "depth"])
    assert type(topics.model_).__name__ == "FeatureLDA"
    values = table[["place", "depth"]]
    same = Topics(2, min_df=1, max_df=1.0).fit(table, features=values)
    np.testing.assert_allclose(same.data_.doc_topics, topics.data_.doc_topics)
    rated = Topics(2, min_df=1, max_df=1.0).fit(table, response="depth")
    assert rated.model_.kind == "real"
    named = Topics(2, min_df=1, max_df=1.0).fit(table, response="place", authors="by")
    assert [type(side).__name__ for side in named.model_.sides_] == [
        "Response",
        "AuthorPriors",
    ]


def test_a_saved_model_takes_it_too(table, tmp_path):
    Topics(2, min_df=1, max_df=1.0).fit(table, authors="by").save(tmp_path / "model")
    again = Topics.load(tmp_path / "model")
    assert again.transform(table, authors="by").shape == (80, 2)
    assert type(load(tmp_path / "model")).__name__ == "AuthorTopics"


def test_mistakes(table):
    with pytest.raises(DataError, match="'by' names a column, but the documents"):
        Topics(2).fit(list(table["text"]), authors="by")
    with pytest.raises(DataError, match="'who'"):
        Topics(2).fit(table, authors="who")
    with pytest.raises(TypeError, match="got the data 'colours'"):
        Topics(2, model="authors").fit(table, authors="by", colours=[1] * 80)
    with pytest.raises(TypeError, match=r"'groups', which no model takes.*content"):
        Topics(2).fit(table, groups="by")


def test_texts_in_two_languages_by_their_columns(tmp_path):
    rows = [
        ("red fox wood", "roter fuchs wald"),
        ("blue sea fish", "blaues meer fisch"),
    ]
    table = pd.DataFrame(rows * 20, columns=["en", "de"])
    topics = Topics(2, min_df=1).fit(table, text="en", language={"de": None})
    assert type(topics.model_).__name__ == "MultimodalLDA"
    own = topics.transform(table[:2], text="en", language="de")
    topics.save(tmp_path / "model")
    again = Topics.load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.transform(table[:2], text="en", language=["de"]), own
    )
    german = pd.DataFrame({"en": ["", ""], "de": table["de"][:2]})
    mixed = again.transform(german, text="en", language="de")
    assert (mixed.argmax(axis=1) == own.argmax(axis=1)).all()
    with pytest.raises(DataError, match="no language 'fr'"):
        again.transform(table.assign(fr="x"), text="en", language="fr")


GAP = float("nan")


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, None, -1],
        np.array([0.0, 1.0, GAP, -1.0]),
        pd.Series([0, 1, None, -1], dtype="Int64"),
        np.ma.array([0, 1, 5, -1], mask=[False, False, True, False]),
        ["0", "1", "", None],
    ],
    ids=["list", "floats", "pandas", "masked", "texts"],
)
def test_unknown_labels_are_those_of_the_models(labels):
    assert label_texts(labels, 4) == ["0", "1", "", ""]


def test_a_label_of_minus_one_that_looks_like_a_class_is_said():
    with pytest.warns(DataWarning, match="-1 means unknown, but it looks like a class"):
        found = label_texts([-1, 0, 1] * 4, 12)
    assert found == ["", "0", "1"] * 4
    assert label_texts([0.5, 1.5, None], 3) == ["0.5", "1.5", ""]


@pytest.mark.parametrize("name", ["dynamic", "stamped"])
def test_times_of_new_documents_are_used(name, table):
    early = table["place"] == "land"
    dated = table.assign(year=np.where(early, 2000, 2010) + np.arange(80) % 5)
    topics = Topics(2, model=name, min_df=1, max_df=1.0, random_state=0, n_jobs=1)
    topics.fit(dated, time="year")
    new = pd.DataFrame({"text": ["fox fish", "fox fish"], "year": [2001, 2012]})
    counts = topics._known_counts(as_documents(new, columns={}))
    wanted = topics.model_.transform(counts, time=["2001", "2012"])
    assert (wanted[0] != wanted[1]).all()
    np.testing.assert_array_equal(topics.transform(new), wanted)
    topics.update(new)
    np.testing.assert_array_equal(topics.data_.doc_topics[80:], wanted)
    assert list(topics.data_.times[80:]) == [2001, 2012]
