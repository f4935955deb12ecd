# SPDX-License-Identifier: BSD-3-Clause
"""Names of topics: by a function, by phrases, by words."""

import pytest

from topicfold import Topics
from topicfold.exceptions import DataError
from topicfold.session import naming_prompt

TEXTS = [
    "space shuttle lands at night",
    "the space shuttle and its crew",
    "crew of a space shuttle at night",
    "exchange rate rises again",
    "bank lifts the exchange rate",
    "exchange rate and the bank again",
] * 3


@pytest.fixture
def topics():
    return Topics(2, min_df=1).fit(TEXTS)


def test_by_phrases(topics):
    names = set(topics.rename("phrases").data_.topic_names)
    assert names == {"space shuttle", "exchange rate"}
    assert set(topics.rename("words").data_.topic_names) == {""}


def test_by_a_function_with_a_prompt(topics, tmp_path):
    asked = []

    def ask(words, documents):
        asked.append(naming_prompt(words, documents))
        return f"about  {words[0]}\n"

    named = topics.rename(ask)
    assert all(name.startswith("about ") for name in named.data_.topic_names)
    assert len(asked) == 2
    assert "Its main words: " in asked[0]
    assert asked[0].count("\n- ") == 5
    named.save(tmp_path / "model")
    again = Topics.load(tmp_path / "model")
    assert again.data_.topic_names == named.data_.topic_names


def test_a_prompt_without_texts_and_with_long_ones():
    assert "Texts" not in naming_prompt(["a"], [])
    assert max(map(len, naming_prompt(["a"], ["b " * 999]).splitlines())) < 320


def test_what_names_nothing_is_refused(topics):
    with pytest.raises(DataError, match="It must return a text"):
        topics.rename(lambda words, documents: None)
    with pytest.raises(DataError, match=r"Give a function of \(words, documents\)"):
        topics.rename(lambda words: "fox")
    with pytest.raises(DataError, match="cannot be named by 'phrase'"):
        topics.rename("phrase")
    counts = Topics(2).fit([[3, 1, 0, 0], [2, 2, 0, 0], [0, 0, 4, 1], [0, 0, 2, 2]])
    with pytest.raises(DataError, match="the model has none"):
        counts.rename("phrases")


def test_texts_without_a_repeated_phrase_keep_their_words():
    topics = Topics(2, min_df=1).fit(["fox wood", "wood fox", "sea fish", "fish sea"])
    assert topics.rename("phrases").data_.topic_names == ("", "")
