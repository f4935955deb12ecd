# SPDX-License-Identifier: BSD-3-Clause
"""Topics that are described in advance, and main topics that are clear."""

import numpy as np
import pytest

from topicfold import GibbsLDA, Topics
from topicfold.exceptions import DataError

KINDS = {
    "sea": "fish wave boat salt net tide gull reef",
    "sky": "bird cloud wind star sun rain storm moon",
    "soil": "worm root seed clay plough field stone moss",
}


class Encoder:
    """Counts the words of each kind; knows two more words for each."""

    more = {"sea": "ocean water", "sky": "weather air", "soil": "earth ground"}  # noqa: RUF012

    def encode(self, texts):
        kinds = [f"{name} {KINDS[name]} {self.more[name]}".split() for name in KINDS]
        return [
            [0.1 + sum(word in kind for word in text.split()) for kind in kinds]
            for text in texts
        ]


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    kinds = [*KINDS] * 40
    texts = [" ".join(rng.choice(KINDS[kind].split(), 3)) for kind in kinds]
    return texts, np.array(kinds)


def test_topics_are_those_described_in_their_order(texts):
    about = {"air": "weather", "earth": "ground", "water": "ocean"}
    topics = Topics(about=about, min_df=1, encoder=Encoder()).fit(texts[0])
    assert topics.data_.topic_names == tuple(about)
    found = topics.main_topics()
    named = {"sky": "air", "soil": "earth", "sea": "water"}
    assert [row["name"] for row in found] == [named[kind] for kind in texts[1]]
    assert topics.transform(["moon"]).argmax() == 0
    assert topics.model_.get_params()["init"] is None


def test_names_alone_and_vectors(texts):
    by_name = Topics(about=["sky", "sea", "soil"], min_df=1, encoder=Encoder())
    by_name.fit(texts[0])
    vectors = Encoder().encode(["sky", "sea", "soil"])
    about = dict(zip(["sky", "sea", "soil"], vectors, strict=True))
    given = Topics(about=about, min_df=1)
    given.fit(texts[0], embeddings=Encoder().encode(texts[0]))
    np.testing.assert_array_equal(by_name.data_.doc_topics, given.data_.doc_topics)
    assert given.data_.topic_names == ("sky", "sea", "soil")


def test_documents_near_none_have_topics_of_their_own(texts):
    topics = Topics(3, about=["sky", "sea"], min_df=1, encoder=Encoder()).fit(texts[0])
    assert topics.data_.topic_names == ("sky", "sea", "")
    kinds = np.array(["sky", "sea", "soil"])[topics.data_.main_topics()]
    assert (kinds == texts[1]).mean() > 0.95


def test_described_topics_are_saved(texts, tmp_path):
    topics = Topics(about=["sky", "sea", "soil"], min_df=1, encoder=Encoder())
    topics.fit(texts[0]).save(tmp_path / "model")
    again = Topics.load(tmp_path / "model")
    assert again.data_.topic_names == ("sky", "sea", "soil")
    assert again.rename({2: "land"}).data_.topic_names[2] == "land"


def test_graph_models_start_from_descriptions(texts):
    topics = Topics(about=["sea", "sky", "soil"], model="ltm", encoder=Encoder())
    topics.fit(texts[0])
    kinds = np.array(["sea", "sky", "soil"])[topics.data_.main_topics()]
    assert (kinds == texts[1]).mean() > 0.95


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"about": ["sky"]}, "and the documents have none. Give texts such as"),
        ({"about": "sky", "encoder": Encoder()}, "about is 'sky'"),
        ({"about": [], "encoder": Encoder()}, "different names, at least one"),
        ({"about": ["a", "a"], "encoder": Encoder()}, "different names"),
        ({"about": {"a": "b", "c": [1, 2]}, "encoder": Encoder()}, "texts and vectors"),
        ({"about": {"a": [1, 2]}, "encoder": Encoder()}, "2 dimensions, in fit they"),
        (
            {"about": {"a": [1, 2, np.nan]}, "encoder": Encoder()},
            "vectors of about cannot be used: .* NaN",
        ),
        (
            {"about": ["a", "b"], "n_topics": 1, "encoder": Encoder()},
            "describes 2 topics, and n_topics is 1",
        ),
        (
            {"about": ["a"], "model": "lsi", "encoder": Encoder()},
            "does not start from topics|no topics to show",
        ),
    ],
)
def test_what_is_no_description_is_refused(texts, options, message):
    with pytest.raises(DataError, match=message):
        Topics(min_df=1, **options).fit(texts[0])


def test_texts_need_an_encoder(texts):
    vectors = Encoder().encode(texts[0])
    with pytest.raises(DataError, match="there is no encoder to make vectors of them"):
        Topics(about=["sea"], min_df=1).fit(texts[0], embeddings=vectors)
    with pytest.raises(DataError, match="GibbsLDA takes no embeddings"):
        Topics(about=["sea", "sky"], model=GibbsLDA(), encoder=Encoder()).fit(texts[0])


def test_no_clear_topic(texts):
    mixed = ["fish wave boat salt bird cloud wind star", "fish wave boat net"]
    topics = Topics(3, min_df=1).fit([*texts[0], *mixed])
    rows = topics.main_topics(least=0.7)[-2:]
    assert rows[0]["topic"] is None
    assert rows[0]["name"] == ""
    assert rows[1]["topic"] == topics.main_topics()[0]["topic"]
    assert rows[0]["share"] < 0.7 <= rows[1]["share"]
    assert all(row["topic"] is not None for row in topics.main_topics())
    for least in (-0.1, 1.1, "a", True):
        with pytest.raises(DataError, match="least is"):
            topics.main_topics(least)
