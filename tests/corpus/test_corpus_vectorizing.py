# SPDX-License-Identifier: BSD-3-Clause
import time
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicfold.corpus import vectorize, words_of
from topicfold.exceptions import DataError


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("a I 7 42 3.14 1e5", []),
        ("x2 2x 2d", []),
        ("covid19 1st a1b", ["covid19", "1st", "a1b"]),
        ("n_samples don't e-mail", ["samples", "don", "mail"]),
        ("ÜBUNG Straße naïve", ["übung", "straße", "naïve"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("עִבְרִית العَرَبِيَّة", ["עִבְרִית", "العَرَبِيَّة"]),
        ("می‌خواهم", ["می‌خواهم"]),
        ("end\u200d stop", ["end", "stop"]),
        ("ﬁnal ＷＩＤＥ", ["final", "wide"]),
        ("ไทย", ["ไทย"]),
        ("\u0301ab", ["ab"]),
    ],
)
def test_words(text, words):
    assert words_of(text) == [unicodedata.normalize("NFKC", word) for word in words]


def test_composed_and_decomposed_accents_are_one_word():
    assert words_of("caf\u00e9") == words_of("cafe\u0301") == words_of("CAFE\u0301")


@settings(deadline=None)
@given(st.text())
def test_words_have_two_letters_and_no_space(text):
    for word in words_of(text):
        letters = [c for c in word if c.isalnum() and not c.isdecimal()]
        assert len(letters) >= 2
        assert not any(c.isspace() or c == "_" for c in word)


def test_pattern_takes_linear_time():
    start = time.perf_counter()
    words_of("1" * 200_000 + "a" + "2" * 200_000 + " " + "a\u0301" * 100_000)
    words_of("a1 " * 100_000)
    assert time.perf_counter() - start < 5


def test_counts_and_sorted_vocabulary():
    counts, words = vectorize(
        ["red fox red", "", "blue fox"], min_df=1, max_df=1.0, dtype=np.float32
    )
    assert words == ["blue", "fox", "red"]
    assert counts.dtype == np.float32
    assert counts.toarray().tolist() == [[0, 1, 2], [0, 0, 0], [1, 1, 0]]


def test_document_frequency_bounds_and_max_features():
    texts = ["aa bb cc", "aa bb", "aa dd dd dd"]
    assert vectorize(texts, min_df=2, max_df=2)[1] == ["bb"]
    assert vectorize(texts, min_df=1, max_df=1.0, max_features=2)[1] == ["aa", "dd"]


def test_stop_words_are_cut_like_texts():
    texts = ["Don't stop the fox"] * 2
    options = {"min_df": 1, "max_df": 1.0}
    assert vectorize(texts, stop_words=["DON'T", "The"], **options)[1] == [
        "fox",
        "stop",
    ]
    assert "the" not in vectorize(texts, stop_words="english", **options)[1]
    with pytest.raises(DataError, match="german"):
        vectorize(texts, stop_words="german")


def test_given_vocabulary_and_word_pairs():
    counts, words = vectorize(["red fox new"], vocabulary=["fox", "owl"])
    assert words == ["fox", "owl"]
    assert counts.toarray().tolist() == [[1, 0]]
    pairs = vectorize(["red fox"], min_df=1, max_df=1.0, ngram_range=(2, 2))[1]
    assert pairs == ["red fox"]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one string", "one string"),
        ([], "empty"),
        (["fine", None], r"texts\[1\] is of type NoneType"),
        (["a 1", "2"], "no words"),
        (["fox", "owl"], "Lower min_df"),
    ],
)
def test_what_cannot_be_counted(texts, message):
    with pytest.raises(DataError, match=message):
        vectorize(texts)
