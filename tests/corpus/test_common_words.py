# SPDX-License-Identifier: BSD-3-Clause
"""Which words of most documents are left out: those that say nothing about them."""

import logging

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from topicfold import SeededLDA, Topics
from topicfold.corpus import Corpus, read, vectorize, vectorize_file
from topicfold.corpus.tally import Spread
from topicfold.exceptions import DataError

THEMES = {"war": ["war", "army", "peace"], "money": ["bank", "tax", "gold"]}
EVEN = ["nation", "present", "matter"]


def speeches(n=60, length=400, seed=0):
    """Return long texts: every word is in nearly all, only some are about something."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for number in range(n):
        theme = list(THEMES)[number % 2]
        own, other = THEMES[theme], THEMES[list(THEMES)[1 - number % 2]]
        words = rng.choice(own, length // 2)
        words = [*words, *rng.choice(other, length // 40), *rng.choice(EVEN, length)]
        texts.append(" ".join(rng.permutation(words)))
        labels.append(theme)
    return texts, labels


def plain_overdispersion(counts):
    """Moments of the negative binomial, document by document."""
    lengths = counts.sum(axis=1)
    found = []
    for n in counts.T:
        share = n.sum() / lengths.sum()
        mean = share * lengths
        spread = ((n - mean) ** 2 / lengths).sum() - (mean / lengths).sum()
        found.append(spread / (mean**2 / lengths).sum())
    return np.array(found)


def spread_of(counts, cut=None):
    spread = Spread()
    for part in np.split(counts, cut or []):
        spread.add(sparse.csr_matrix(part))
    return spread


def test_overdispersion_is_that_of_the_moments_for_any_blocks():
    rng = np.random.default_rng(1)
    counts = rng.poisson(rng.gamma(0.5, 4.0, (40, 12)))
    expected = plain_overdispersion(counts)
    assert_allclose(spread_of(counts).overdispersion(), expected)
    assert_allclose(spread_of(counts, [7, 30]).overdispersion(), expected)
    narrow = Spread()  # words that come later add columns
    narrow.add(sparse.csr_matrix(counts[:0, :3]))
    narrow.add(sparse.csr_matrix(counts))
    assert_allclose(narrow.overdispersion(), expected)


@pytest.mark.parametrize("length", [300, 3000])
def test_planted_overdispersion_is_found_for_any_length(length):
    rng = np.random.default_rng(2)
    planted = np.array([0.0, 0.1, 0.5, 2.0])
    lengths = rng.integers(length, 3 * length, 4000)
    rate = np.column_stack(
        [np.ones(4000), *(rng.gamma(1 / a, a, 4000) for a in planted[1:])]
    )
    words = rng.poisson(0.02 * lengths[:, None] * rate)
    rest = np.maximum(lengths - words.sum(axis=1), 1)[:, None]
    found = spread_of(np.hstack([words, rest])).overdispersion()[:4]
    assert_allclose(found, planted, atol=0.05, rtol=0.15)


def test_common_words_that_documents_are_about_stay(caplog):
    texts, _ = speeches()
    counts, words = vectorize(texts)
    about = sorted(word for own in THEMES.values() for word in own)
    assert words == about
    assert (counts.getnnz(axis=0) > 0.5 * len(texts)).all()
    assert (
        "Left out 3 words used about equally in more than half of the 60 texts, "
        "66% of all words: "
    ) in caplog.text
    assert "(max_df=1.0 keeps all)" in caplog.text
    assert vectorize(texts, max_df=1.0)[1] == sorted([*about, *EVEN])
    with pytest.raises(DataError, match=r"All 9 words are in more than 30 .*now 0.5"):
        vectorize(texts, max_df=0.5)


def test_many_rare_words_are_said_to_be_left_out(caplog):
    texts = [f"red fox one{chr(97 + i)}" for i in range(25)]
    assert vectorize(texts, max_df=1.0)[1] == ["fox", "red"]
    assert (
        "Left out 25 rare words, 33% of all words: those in fewer than 2 of 25 texts "
        "(min_df=1 keeps all)"
    ) in caplog.text
    caplog.clear()
    vectorize(texts, max_df=1.0, min_df=0.1)
    assert "those in fewer than 0.1 of all 25 texts" in caplog.text
    caplog.clear()
    vectorize([f"{text} {'red fox ' * 4}" for text in texts], max_df=1.0)
    vectorize(texts, min_df=1)
    assert "rare" not in caplog.text


def test_a_word_of_most_short_texts_is_left_out():
    rng = np.random.default_rng(3)
    others = [f"word{letter}" for letter in "abcdefgh"]
    texts = [f"query {' '.join(rng.choice(others, 5))}" for _ in range(50)]
    assert vectorize(texts)[1] == others


def test_few_texts_keep_all_and_nothing_is_said_of_a_small_share(caplog):
    texts, _ = speeches(12)
    assert len(vectorize(texts)[1]) == 9
    assert "Left out" not in caplog.text
    many = [f"{text} rare" if n < 40 else text for n, text in enumerate(texts * 5)]
    assert vectorize(many)[1] == sorted(w for own in THEMES.values() for w in own)


def test_words_to_keep_stay_however_frequent_rare_or_ordinary(caplog):
    texts, _ = speeches()
    texts[0] += " unique while"
    keep = ["nation", "unique", "while", "absent"]
    _, words = vectorize(texts, keep=keep)
    assert {"nation", "unique", "while"} <= {*words}
    assert "absent" not in words
    assert "present" not in words
    assert "nation" not in caplog.text
    _, few = vectorize(texts, keep=keep, max_features=4)
    assert {"nation", "unique", "while"} < {*few}
    assert len(few) == 4
    _, only = vectorize(texts, keep=["nation"], min_df=40, max_df=40)
    assert only == ["nation"]
    with pytest.raises(DataError, match="keep holds something that is not a string"):
        vectorize(texts, keep=[3])
    pytest.importorskip("snowballstemmer")
    _, stems = vectorize(texts, keep=["nations"], stem="english")
    assert "nation" in stems


@pytest.mark.filterwarnings("ignore:These seed words are in more than 40%")
def test_words_of_classes_and_seeds_are_never_left_out(tmp_path):
    texts, labels = speeches()
    names = {"war": "the nation", "money": "matter.of.money"}
    labels = [names[label] for label in labels]
    corpus = Corpus.from_texts(texts, labels=labels)
    assert {"nation", "matter"} < {*corpus.vocabulary}
    assert "present" not in corpus.vocabulary
    assert {*Topics(2).fit(texts, labels).fitted_.vocabulary} == {*corpus.vocabulary}
    seeds = {"first": ["present", "war"], "second": ["bank"]}
    topics = Topics(2, model=SeededLDA(seeds=seeds, max_iter=3)).fit(texts)
    assert "present" in topics.fitted_.vocabulary
    assert "nation" not in topics.fitted_.vocabulary
    topics.save(tmp_path / "model")
    assert Topics.load(tmp_path / "model").fitted_.text["keep"] == [
        *("present", "war", "bank")
    ]
    many = [f"label{n} nation" for n in range(1001)]
    texts = [f"{word} nation alpha" for word in ["apple", "berry"] * 500] + ["berry"]
    assert "nation" not in Corpus.from_texts(texts, labels=many).vocabulary


def test_what_was_left_out_is_kept_with_corpus_and_model(tmp_path):
    texts, _ = speeches()
    corpus = Corpus.from_texts(texts)
    found = corpus.text["left_out"]
    assert found["words"] == 3
    assert {*found["most"]} == {*EVEN}
    _, words = vectorize(texts, max_df=1.0)
    all_counts, _ = vectorize(texts, max_df=1.0)
    even = [words.index(word) for word in EVEN]
    assert found["share"] == pytest.approx(all_counts[:, even].sum() / all_counts.sum())
    topics = Topics(2).fit(texts)
    assert topics.fitted_.text["left_out"] == found
    topics.save(tmp_path / "model")
    loaded = Topics.load(tmp_path / "model")
    assert loaded.fitted_.text["left_out"] == found
    grown = loaded.update([*texts[:2], "a new army of gold"])
    assert grown.data_.n_documents == 63
    assert "left_out" not in Corpus.from_texts(texts, max_df=1.0).text


def test_files_and_blocks_on_disk_have_the_same_words(tmp_path):
    texts, _ = speeches()
    (tmp_path / "t.txt").write_text("\n".join(texts))
    whole = read(tmp_path / "t.txt")
    blocks = vectorize_file(tmp_path / "t.txt", tmp_path / "blocks")
    assert blocks.vocabulary == whole.vocabulary
    assert_array_equal(blocks.counts[:].toarray(), whole.counts.toarray())
    kept = vectorize_file(tmp_path / "t.txt", tmp_path / "more", keep=["nation"])
    assert kept.vocabulary == sorted([*whole.vocabulary, "nation"])


GERMAN = [
    "der Hund und die Katze sind nicht auf dem Dach mit einem System",
    "das Haus ist mit dem Garten und der Wiese ein System",
    "ein Garten ist nicht das Haus von der Katze",
    "die Wiese und der Hund und das Dach zu Haus",
    "eine Katze auf dem Haus ist mit der Wiese nicht von hier",
    "der Garten und das System zu dem Dach",
] * 4
ENGLISH = [
    "the fox and the wolf are in the forest of the north",
    "this is the sea, and it is for the fish that swim",
] * 12


def test_texts_of_another_language_are_counted_with_its_stop_words(caplog):
    pytest.importorskip("stop_words")
    counts, words = vectorize(GERMAN)
    assert words == ["dach", "garten", "hund", "katze", "system", "wiese"]
    assert "These texts are in German: its stop words are left out" in caplog.text
    assert Corpus.from_texts(GERMAN).text["stop_words"] == "german"
    topics = Topics(2).fit(GERMAN)
    assert topics.fitted_.text["stop_words"] == "german"
    assert_allclose(topics.transform(["der Hund und die Katze"]).sum(axis=1), 1)
    # Texts that can be read only once give the same.
    again, same = vectorize(iter(GERMAN))
    assert same == words
    assert_array_equal(again.toarray(), counts.toarray())
    _, pairs = vectorize(GERMAN, ngram_range=(1, 2))
    assert "hund katze" in pairs


def test_stop_words_that_are_stated_are_taken(caplog):
    _, words = vectorize(GERMAN, stop_words="english")
    assert "ist" in words
    assert "system" not in words  # an English stop word
    assert "look German" in caplog.text
    assert "ist" in vectorize(GERMAN, stop_words=None)[1]


def test_english_and_mixed_texts_keep_english_stop_words(caplog):
    assert Corpus.from_texts(ENGLISH).text["stop_words"] == "english"
    assert "These texts are in" not in caplog.text
    mixed = Corpus.from_texts([*GERMAN, *ENGLISH[:8]])
    assert mixed.text["stop_words"] == "english"
    assert "These texts are in" not in caplog.text
    assert "look German" in caplog.text  # the notice remains
    few = Corpus.from_texts(GERMAN[:4], min_df=1)
    assert few.text["stop_words"] == "english"


def test_what_to_install_is_said(caplog, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with caplog.at_level(logging.WARNING):
        assert Corpus.from_texts(GERMAN).text["stop_words"] == "english"
    assert "pip install 'topicfold[languages]', or give a list" in caplog.text
    assert "look German" not in caplog.text  # said once


def test_texts_in_order_of_language_are_mixed():
    pytest.importorskip("stop_words")
    ordered = [*GERMAN * 50, *ENGLISH * 50]
    assert Corpus.from_texts(ordered).text["stop_words"] == "english"
    assert Corpus.from_texts(GERMAN * 50).text["stop_words"] == "german"


def test_stop_words_of_two_languages_are_taken_together():
    pytest.importorskip("stop_words")
    texts = ["der Hund und die Katze", "the dog and the cat"] * 3
    _, words = vectorize(texts, stop_words="english, german", min_df=1, max_df=1.0)
    assert words == ["cat", "dog", "hund", "katze"]
    described = Topics(2, stop_words="english,german", min_df=1, max_df=1.0)
    assert "English and German stop words" in str(described.fit(texts).describe())
    with pytest.raises(DataError, match="'germann' is not a language"):
        vectorize(texts, stop_words="english,germann")


def test_an_update_gives_no_advice_that_it_cannot_take(caplog):
    english = ["red fox wood", "fox in the red wood", "blue fish sea"] * 5
    topics = Topics(2, min_df=1).fit(english)
    caplog.clear()
    topics.update(["der Fuchs und der fox", "das ist die fox und die sea"] * 20)
    assert "stop_words" not in caplog.text
