# SPDX-License-Identifier: BSD-3-Clause
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from topicfold.corpus import vectorize, vectorizing, words_of
from topicfold.corpus.tokens import _word_pattern, clean
from topicfold.corpus.vectorizing import saved_options, vectorize_known
from topicfold.exceptions import DataError, MissingDependencyError


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
    # With the square of the length these would take longer than anybody waits.
    digits, accents = "1" * 200_000 + "a" + "2" * 200_000, "a\u0301" * 100_000
    assert words_of(f"{digits} {accents}") == [unicodedata.normalize("NFKC", accents)]
    assert words_of("a1 " * 100_000) == []


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
    assert "the" not in vectorize(texts, **options)[1]  # as on the command line
    assert "the" in vectorize(texts, stop_words=None, **options)[1]
    # What a model knows is counted, stop word or not.
    assert vectorize(texts, vocabulary=["the"])[0].toarray().tolist() == [[1], [1]]


def test_stop_words_of_languages_by_name(monkeypatch):
    pytest.importorskip("stop_words")
    texts = ["Der Fuchs und das Meer"] * 2
    for name in ("german", "German", "de"):
        found = vectorize(texts, stop_words=name, min_df=1, max_df=1.0)[1]
        assert found == ["fuchs", "meer"]
    with pytest.raises(DataError, match=r"Did you mean 'german'\? Give one of arabic"):
        vectorize(texts, stop_words="germann")
    monkeypatch.setitem(sys.modules, "stop_words", None)
    with pytest.raises(
        MissingDependencyError,
        match=r"pip install stop-words \(or 'topicfold\[languages",
    ):
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
        (["a 1", "2"], "no words to count in 2 texts: .* only numbers, single"),
        (["fox", "owl"], r"Lower min_df \(now 2\)"),
        (["fox"], "One document is too few: .* or min_df=1, max_df=1.0"),
        (["red fox"] * 60, r"All 2 words are in more than 30 .* Raise max_df; 1.0"),
    ],
)
def test_what_cannot_be_counted(texts, message):
    with pytest.raises(DataError, match=message):
        vectorize(texts)


@settings(deadline=None, max_examples=100)
@given(
    st.text(
        st.sampled_from("aBz09_ .\u0301\u0915\u093f\u200c\u200d\u0661™ﬁßİ²Ⅷ")
        | st.characters(),
        max_size=30,
    )
)
def test_two_steps_cut_like_the_one_rule(text):
    normal = unicodedata.normalize("NFKC", text.lower()).lower()
    assert words_of(text) == _word_pattern().findall(normal)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.text(st.sampled_from("abé 7-"), max_size=40), min_size=3, max_size=8),
    st.sampled_from([(1, 1), (1, 2), (2, 3)]),
    st.sampled_from([None, ["ab", "ba"]]),
    st.sampled_from([(1, 1.0), (2, 1.0), (1, 0.5), (0.4, 3)]),
)
def test_same_counts_as_scikit_learn(texts, lengths, stop_words, bounds):
    theirs = CountVectorizer(
        tokenizer=words_of,
        token_pattern=None,
        lowercase=False,
        stop_words=stop_words,
        ngram_range=lengths,
        min_df=bounds[0],
        max_df=bounds[1],
    )
    options = {
        "stop_words": stop_words,
        "ngram_range": lengths,
        "min_df": bounds[0],
        "max_df": bounds[1],
    }
    try:
        X = theirs.fit_transform(texts)
    except ValueError:
        # No words at all, or none between the bounds.
        with pytest.raises(DataError, match=r"no words to count|min_df|max_df"):
            vectorize(texts, **options)
        return
    counts, words = vectorize(iter(texts), **options)
    assert words == theirs.get_feature_names_out().tolist()
    assert (counts != X).nnz == 0
    assert counts.has_sorted_indices
    counts.check_format(full_check=True)
    again, _ = vectorize(texts, vocabulary=words, **options)
    assert (again != counts).nnz == 0


def test_many_blocks_are_one_matrix(monkeypatch):
    rng = np.random.default_rng(0)
    texts = [" ".join(f"word{w}" for w in rng.integers(0, 40, 9)) for _ in range(50)]
    whole, words = vectorize(texts, min_df=1)
    monkeypatch.setattr(vectorizing, "_BLOCK_DOCUMENTS", 7)
    counts, again = vectorize(texts, min_df=1)
    assert again == words
    assert (counts != whole).nnz == 0


def test_most_frequent_words_and_ties():
    texts = ["cc bb aa dd dd"] * 2
    assert vectorize(texts, max_df=1.0, max_features=2)[1] == ["aa", "dd"]


def test_stems():
    pytest.importorskip("snowballstemmer")
    texts = ["running runs the fox", "foxes run"]
    counts, words = vectorize(
        texts, stem="english", stop_words=["the"], min_df=1, max_df=1.0
    )
    assert words == ["fox", "run"]
    assert counts.toarray().tolist() == [[1, 2], [1, 1]]
    with pytest.raises(DataError, match=r"stem='klingon'.*english"):
        vectorize(texts, stem="klingon")


def test_stemmer_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "snowballstemmer", None)
    with pytest.raises(MissingDependencyError, match="pip install snowballstemmer"):
        vectorize(["fox"], stem="english")


def test_other_ways_to_cut():
    options = {"min_df": 1, "max_df": 1.0}
    assert vectorize(["C++ fox C++, é 7"], tokens="spaces", **options)[1] == [
        *("7", "C++", "C++,"),
        *("fox", "é"),
    ]
    stopped = vectorize(
        ["A-B"], tokens=lambda t: t.split("-"), stop_words=["B"], **options
    )
    assert stopped[1] == ["A"]
    with pytest.raises(DataError, match="tokens='letters' is not known"):
        vectorize(["x"], tokens="letters")
    for wrong in (lambda t: t, lambda t: [1]):
        with pytest.raises(DataError, match="must return a list of strings"):
            vectorize(["red fox"], tokens=wrong)


def test_unknown_words_are_counted():
    counts, counter = vectorize_known(
        ["the red zebra", "zebra 7 owl"], ["red", "fox"], stop_words=["the"]
    )
    assert counts.toarray().tolist() == [[1, 0], [0, 0]]
    assert (counter.n_words, counter.n_unknown) == (4, 3)
    assert counter.n_different_unknown == 2
    with pytest.raises(DataError, match="texts is empty"):
        vectorize_known([], ["red"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_df": -1}, "min_df=-1 is neither"),
        ({"min_df": 1.5}, "min_df=1.5 is neither"),
        ({"max_df": 0}, "max_df=0 is neither"),
        ({"max_df": "all"}, "max_df='all' is neither"),
        ({"min_df": 3, "max_df": 2}, "max_df=2 means fewer"),
        ({"max_features": 0}, "max_features=0"),
        ({"ngram_range": (2, 1)}, r"ngram_range=\(2, 1\)"),
        ({"ngram_range": 2}, "ngram_range=2"),
        ({"ngram_range": (1, 2**62)}, "at most 100 words"),
        ({"stop_words": 3}, "stop_words is of type int"),
        ({"stop_words": [3]}, "stop_words holds something"),
        ({"vocabulary": []}, "vocabulary is empty"),
        ({"vocabulary": ["a", "b", "b"]}, "'b' twice"),
        ({"vocabulary": [1]}, "vocabulary holds something"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(DataError, match=message) as caught:
        vectorize(["red fox", "red owl", "blue sea"], **options)
    assert "no words to count" not in str(caught.value)


def test_errors_of_a_tokenizer_are_its_own():
    def broken(text):
        raise ValueError("my own mistake")

    with pytest.raises(ValueError, match=r"^my own mistake$"):
        vectorize(["red fox"], tokens=broken)


def test_saved_options_are_checked():
    with pytest.raises(DataError, match="newest version"):
        saved_options({"colour": "red"})
    with pytest.raises(DataError, match="damaged"):
        saved_options({"stem": 3})


def test_html_entities_and_links_are_no_words():
    text = (
        '&lt;A HREF="http://www.shop.com/q?x=IBM"&gt;IBM&lt;/A&gt; said #39;no#39; '
        'to quot;rivals&quot;: see https://a.org/b?c=1&amp;d=2 <p class="x">today</p>'
        "<SCRIPT>var pixel = 1</SCRIPT><style>p {color: red}</style><!-- note -->"
    )
    assert words_of(text) == ["ibm", "said", "no", "to", "rivals", "see", "today"]


@pytest.mark.parametrize(
    "text",
    [
        *("if alpha <beta and gamma> delta", "ask; tell & go", "lt gt", "meet @ 3"),
        "Note: two things\nSecond: more\n\nand so on",
        "From: here\nto there\n\nand back",
    ],
)
def test_what_only_looks_like_html_stays(text):
    assert clean(text) == text


def test_of_mails_the_subject_and_the_body_stay():
    mail = (
        "From: jane.doe@here.org (Jane)\r\nSubject: Re: re: Red foxes\r\n"
        "Organization: A Large University,\r\n\tSome Town\r\nLines: 12\r\n\r\n"
        "In article <1993.ab+c@cs.there.edu>, <bob@there.edu> writes:\r\n> blue sea"
    )
    expected = ["red", "foxes", "in", "article", "writes", "blue", "sea"]
    assert words_of(mail) == expected
    assert words_of("Date: x\nFrom: y\n\nonly this") == ["only", "this"]


def test_long_lines_of_anything_take_linear_time():
    for piece in ("a:", "ab: c\n", "a@", "a.b@c", "\n ", "Ab: \n \t"):
        assert clean(piece * 50_000)


def test_pieces_of_contractions_are_stop_words():
    texts = ["I don't think they've spotted foxes; we'll look, it isn't"] * 3
    expected = ["foxes", "look", "spotted", "think"]
    assert vectorize(texts, max_df=1.0)[1] == expected


def test_left_out_html_is_told_of(caplog):
    texts = ["<b>red</b> fox", "red &amp; blue", "red fox", "blue fox"] * 3
    vectorize(texts, min_df=1, max_df=1.0)
    said = "Removed HTML, links and mail headers from 6 of 12 texts"
    assert said in caplog.text
    caplog.clear()
    texts = [f"red fox; blue w{n}" for n in range(40)]
    vectorize([*texts, "red <i>fox</i>"], min_df=1, max_df=1.0)
    assert caplog.text == ""


GERMAN = [
    "der Fuchs und die Maus auf dem Feld",
    "das ist nicht ein Fuchs, die Maus ist klein",
    "eine Maus mit der Katze von nebenan zu Hause",
]


@pytest.mark.parametrize("phrases", [False, True])
def test_texts_in_another_language_are_told_of(caplog, phrases):
    vectorize(GERMAN, phrases=phrases)
    advice = "look German (der, die, und …): stop_words='english,german' leaves"
    assert advice in caplog.text
    caplog.clear()
    vectorize(GERMAN, stop_words=None)
    vectorize(GERMAN, stop_words=["der", "die", "das"])
    english = ["the die is cast in the des moines van", "el nino and la nina con men"]
    vectorize(english, min_df=1)
    assert "look" not in caplog.text


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (
            "French",
            "le chat et la souris dans les champs, une maison pour le chien que",
        ),
        ("Spanish", "el gato con los perros en las casas que una mujer compra para"),
        ("Italian", "il gatto non è un cane che la donna di Roma della casa del re"),
        ("Portuguese", "não para uma casa com os gatos da rua do lado em que se vive"),
        ("Dutch", "de kat van het huis met een hond dat niet voor de deur op wacht"),
        ("Russian", "не на что по из для от дома кот"),
        ("Swedish", "och att katten är inte för ett hus på landet från eller till"),
        ("Polish", "kot nie jest to że się na dom do jak lub dla psa"),
    ],
)
def test_function_words_of_languages(caplog, language, text):
    vectorize([text, text])
    assert f"look {language} (" in caplog.text


def test_few_texts_keep_their_frequent_words(caplog):
    texts = ["red fox den", "red fox sea", "red owl sea", "red elk"]
    assert vectorize(texts)[1] == ["fox", "red", "sea"]
    assert (
        "Only 4 texts: words in more than half of the texts are counted" in caplog.text
    )
    assert "3 of 6 different words are in fewer than 2 of them" in caplog.text
    assert "red" not in vectorize(texts, max_df=0.5)[1]
    many = [f"{text} w{n}" for n, text in enumerate(texts * 5)]
    caplog.clear()
    assert vectorize(many)[1] == vectorize(many, max_df=0.5)[1]
    assert "red" not in vectorize(many)[1]
    assert "Only" not in caplog.text


def test_copies_are_told_of(caplog):
    texts = [f"red fox w{n}" for n in range(90)]
    vectorize([*texts, *texts[:10], "", "", ""], max_df=1.0)
    assert caplog.text == ""
    vectorize([*texts, *texts[:12]], max_df=1.0)
    assert "12 of 102 texts are copies of others" in caplog.text


@pytest.mark.parametrize("n", [1, 2], ids=["words", "pairs"])
def test_a_stem_is_shown_as_its_most_frequent_word(n):
    pytest.importorskip("snowballstemmer")
    texts = ["old studies go", "an old study go", "new studies going", "study, study"]
    options = {"min_df": 1, "max_df": 1.0, "stem": "english", "ngram_range": (1, n)}
    counts, words = vectorize(texts, stop_words=None, **options)
    single = [word for word in words if " " not in word]
    assert single == ["an", "go", "new", "old", "study"]  # three times, studies twice
    assert words == sorted(words)
    column = words.index("study")
    assert counts[:, [column]].toarray().ravel().tolist() == [1, 1, 1, 2]
    again, _ = vectorize(texts, stop_words=None, vocabulary=words, **options)
    np.testing.assert_array_equal(again.toarray(), counts.toarray())
    if n == 2:
        assert "old study" in words


def test_stems_of_an_earlier_version_are_found():
    pytest.importorskip("snowballstemmer")
    counts, _ = vectorize(["studies, a study"], vocabulary=["studi"], stem="english")
    assert counts.toarray().tolist() == [[2]]


def test_phrases_are_terms_and_found_again():
    rng = np.random.default_rng(0)
    others = [f"word{i}" for i in range(12)]
    groups = ["support vector machine", "neural network", "machine", "network"]
    texts = [
        " ".join([*rng.choice(others, 4), group, *rng.choice(others, 4)])
        for group in groups * 20
    ]
    counts, words = vectorize(texts, phrases=True, max_df=1.0)
    phrases = [word for word in words if " " in word]
    assert phrases == ["neural network", "support vector machine"]
    again, _ = vectorize(texts, phrases=True, vocabulary=words)
    np.testing.assert_array_equal(again.toarray(), counts.toarray())
    single, _ = vectorize(texts, max_df=1.0)
    assert counts.sum() < single.sum()  # words of phrases are not counted singly


def test_words_that_meet_by_chance_are_no_phrase():
    rng = np.random.default_rng(0)
    letters = [f"word{i}" for i in range(10)]
    texts = [" ".join(rng.choice(letters, 30)) for _ in range(60)]
    _, words = vectorize(texts, phrases=True, max_df=1.0)
    assert len([word for word in words if " " in word]) <= 2


@pytest.mark.parametrize("option", [{"stem": "english"}, {"ngram_range": (1, 2)}])
def test_phrases_go_alone(option):
    with pytest.raises(DataError, match="cannot be combined with stem or ngram_range"):
        vectorize(["red fox"], phrases=True, **option)
