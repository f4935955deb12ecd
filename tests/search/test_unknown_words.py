# SPDX-License-Identifier: BSD-3-Clause
"""Words of a query that the model lacks are looked up in texts, or named."""

import numpy as np
import pytest

from topicfold import LSI, PLSA, Topics
from topicfold.corpus import vectorize
from topicfold.exceptions import DataError
from topicfold.search import TopicIndex
from topicfold.search.words import occurrences, unknown_words

GAMES = ["baseball team in a stadium, steroids", "a stadium, a team, a ball"]
NEWS = ["a treaty of peace, an army", "an army and a treaty, the war war war"]
TEXTS = (GAMES + NEWS) * 3 + ["a quasar over the stadium"]


@pytest.fixture(scope="module")
def topics():
    return Topics(2, min_df=2, max_df=1.0).fit(TEXTS)


def test_a_word_beside_known_ones_is_named_and_a_word_suggested(topics):
    hits = topics.search("stadum army")
    assert hits.note == (
        "The vocabulary of the model lacks 'stadum'; it was ignored. Did you mean "
        "'stadium'?"
    )
    assert repr(hits).startswith(hits.note)
    assert "stadum" in hits._repr_html_()
    assert topics.search("stadium army").note == ""
    # Stop words are no loss.
    assert topics.search("the army").note == ""


def test_a_word_that_the_counts_lack_is_found_in_the_texts(topics):
    assert "quasar" not in topics.data_.vocabulary
    hits = topics.search("quasar", n=3)
    assert hits.note == "'quasar' is in no topic, and only found in the texts."
    assert hits.names[0] == str(len(TEXTS) - 1)
    both = topics.search("quasar army unheard", n=20)
    assert both.note == (
        "'quasar' is in no topic, and only found in the texts. The vocabulary of the "
        "model lacks 'unheard'; it was ignored."
    )
    # Beside the army's documents, the one with the other word.
    assert str(len(TEXTS) - 1) in both.names[:7]
    with pytest.raises(DataError, match="lacks 'unheard'"):
        topics.search("unheard")


@pytest.mark.parametrize("measure", ["cosine", "inner", "hellinger", "kl"])
@pytest.mark.parametrize("mix", [0.0, 0.5, 1.0])
def test_every_measure(measure, mix, tmp_path):
    words = ["army", "ball", "stadium", "team", "treaty"]
    X, _ = vectorize(TEXTS, vocabulary=words)
    model = LSI(2) if measure in ("cosine", "inner") else PLSA(2, random_state=0)
    index = TopicIndex(model.fit(X), vocabulary=words, measure=measure, lexical="bm25")
    index.add(X, texts=TEXTS)
    wars = {str(row) for row, text in enumerate(TEXTS) if "war" in text}
    for found in (index.query("war", n=3, mix=mix), index.query(word="war", n=3)):
        assert found.note.startswith("'war' is in no topic")
        # The same words otherwise: only by the word itself it is told apart.
        near = {str(row) for row, text in enumerate(TEXTS) if "army" in text}
        assert {*found.names} <= near
    assert {*index.query("war", n=3, mix=1.0).names} == wars
    index.save(tmp_path / "index")
    again = TopicIndex.load(tmp_path / "index").query("war", n=3, mix=mix)
    assert again.names == index.query("war", n=3, mix=mix).names


def test_texts_of_some_documents_are_texts_of_none():
    X, words = vectorize(TEXTS, min_df=2, max_df=1.0)
    index = TopicIndex(PLSA(2, random_state=0).fit(X), vocabulary=words)
    index.add(X, texts=TEXTS).add(X[:2])
    assert index.documents.texts is None
    with pytest.raises(DataError, match="lacks 'quasar'"):
        index.query("quasar")
    with pytest.raises(DataError, match="texts has 1 for 2 documents"):
        index.add(X[:2], texts=["one"])


def test_words_by_their_stems_and_in_phrases():
    pytest.importorskip("snowballstemmer")
    stems = {"stem": "english"}
    assert unknown_words("armies of a quasar", {"army": 0}, stems) == ["quasar"]
    found, counts = occurrences(TEXTS, ["treaties", "nothing"], stems)
    assert found == ["treaties"]
    assert counts.sum() == 6
    pairs = {"ngram_range": (2, 2)}
    assert unknown_words("new york city", {"new york": 0}, pairs) == ["city"]


def test_occurrences_are_those_of_a_plain_count():
    found, counts = occurrences(TEXTS, ["war", "ball", "unheard"], {})
    assert found == ["war", "ball"]
    words = [text.replace(",", "").split() for text in TEXTS]
    plain = [[row.count(word) for word in found] for row in words]
    np.testing.assert_array_equal(counts.toarray(), plain)


def test_results_are_a_data_frame(topics):
    pytest.importorskip("pandas")
    frame = topics.search("army", n=2).to_frame()
    assert list(frame) == ["rank", "document", "score", "title", "snippet"]
    assert len(frame) == 2


def test_a_run_of_words_that_is_none_is_refused():
    with pytest.raises(DataError, match="is not a pair of a shortest and a longest"):
        unknown_words("new york", {"new": 0}, {"ngram_range": [1, ["x"]]})
