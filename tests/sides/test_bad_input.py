# SPDX-License-Identifier: BSD-3-Clause
"""What a stranger gets wrong with each side, and the sentence that says so."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from topicfold import (
    LDA,
    AuthorTopics,
    FeatureLDA,
    LabeledLDA,
    MultimodalLDA,
    RelationalLDA,
    SeededLDA,
    SupervisedLDA,
)
from topicfold.evidence import Features, Labels
from topicfold.exceptions import DataError, DataWarning
from topicfold.phi import Seeds
from topicfold.theta import Authors

pytestmark = pytest.mark.filterwarnings("ignore::topicfold.exceptions.UnsettledWarning")
X = sparse.csr_matrix(np.random.default_rng(0).poisson(1.0, (20, 12)))
WORDS = [f"word{i}" for i in range(12)]
YEARS = np.arange(20.0)
OPTIONS = {"random_state": 0, "max_iter": 3}
NAMES = [["Ann", "Bob"]] * 10 + [["Cid"]] * 10


def authors(**known):
    return AuthorTopics(2, **OPTIONS).fit(X, **known)


def links(pairs):
    return RelationalLDA(2, **OPTIONS).fit(X, links=pairs)


def response(y, kind="real"):
    return SupervisedLDA(2, kind=kind, **OPTIONS).fit(X, y)


def features(**columns):
    return FeatureLDA(2, **OPTIONS).fit(X, features=columns)


def labels(given):
    return LabeledLDA(**OPTIONS).fit(X, labels=given)


def seeds(**given):
    return SeededLDA(seeds=given, vocabulary=WORDS, **OPTIONS).fit(X)


def languages(**given):
    return MultimodalLDA(2, **OPTIONS).fit(given)


def together(sides, **known):
    return LDA(3, sides=sides, **OPTIONS).fit(X, **known)


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: authors(authors=[["Ann"]] * 19), ("19 rows", "20 documents")),
        (
            lambda: authors(authors=[[]] * 20),
            ("has no name for any document", "list of names"),
        ),
        (lambda: authors(authors="Ann"), ("authors is str", "list of names")),
        (lambda: links([[0, 1], [3, 25]]), ("link 1", "document 25", "0 to 19")),
        (lambda: links([[0, -1]]), ("link 0", "document -1", "0 to 19")),
        (lambda: links([["a", "b"]]), ("links of type list", "'a'", "networkx graph")),
        (lambda: response([1.0] * 20), ("is 1 in all", "Give responses that differ")),
        (
            lambda: response([np.nan] * 20),
            ("all 20 documents", "nothing to learn from"),
        ),
        (lambda: response([np.inf, *YEARS[1:]]), ("infinite in document 0",)),
        (lambda: response(YEARS[1:]), ("shape (19,)", "20 documents")),
        (lambda: response(["a"] * 20), ("not numbers", "kind='classes'")),
        (lambda: response(["a"] * 20, "classes"), ("1 class", "at least two")),
        (lambda: response([0.5] * 20, "counts"), ("0.5", "whole numbers")),
        (lambda: features(year=YEARS[1:]), ("'year' has 19 rows", "20 documents")),
        (lambda: features(year=[np.inf, *YEARS[1:]]), ("'year' is infinite in row 0",)),
        (lambda: labels([["a"]] * 19), ("19 entries", "20 documents")),
        (lambda: seeds(sky="word1"), ("'sky' are one string", "list of words")),
        (lambda: seeds(sky=[99]), ("column 99", "12 columns")),
        (lambda: seeds(sky=[1.5]), ("column 1.5", "12 columns")),
        (lambda: seeds(sky=3), ("'sky' are 3", "list of words")),
        (lambda: response(1e300 * YEARS), ("standard deviation inf", "Rescale them")),
        (lambda: features(year=1e-200 * YEARS), ("standard deviation", "Rescale it")),
        (lambda: features(year=1e300 * YEARS), ("standard deviation", "Rescale it")),
        (lambda: LabeledLDA(10**9).fit(X, [0, 1] * 10), ("1,000,000 are the most",)),
        (lambda: languages(en=X, X=X), ("name X or self",)),
        (lambda: languages(en=X, de=X[:19]), ("de has 19 rows", "20 documents")),
        (lambda: languages(en=X, de=X * 0), ("de has no count",)),
        (
            lambda: together([Authors(), Features()], authors=NAMES),
            ("Authors and Features contradict", "Leave one out"),
        ),
        (
            lambda: together([Authors(), Labels()], authors=NAMES),
            ("Authors and Labels contradict", "Leave one out"),
        ),
        (
            lambda: together([Seeds({"a": [1]}), Seeds({"b": [2]})]),
            ("Seeds and Seeds contradict", "Leave one out"),
        ),
        (lambda: together([Authors()]), ("Authors needs its data", "authors=...")),
    ],
)
def test_what_is_wrong_and_how_to_mend_it(call, parts):
    with pytest.raises(DataError) as raised:
        call()
    for part in parts:
        assert part in str(raised.value)


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (
            lambda: features(year=YEARS, same=[1.0] * 20),
            ("one value in all", "left out: 'same'"),
        ),
        (
            lambda: features(year=YEARS, twice=2 * YEARS),
            ("collinear", "'twice'", "Leave them out"),
        ),
        (
            lambda: seeds(sky=["wrd1", "word3"]),
            ("not in the vocabulary", "'wrd1' of 'sky' (like word1"),
        ),
        (
            lambda: authors(authors=NAMES).transform(X[:1], authors=[["Zoe"]]),
            ("had no documents by 'Zoe'", "the prior"),
        ),
        (
            lambda: labels([["a"], ["b"]] * 10).transform(X[:1], labels=[["zz"]]),
            ("the label 'zz'", "ignored"),
        ),
        (
            lambda: features(place=["x", "y"] * 10).transform(
                X[:1], features={"place": ["z"]}
            ),
            ("'place' has categories", "'z'"),
        ),
    ],
)
def test_what_is_left_out_is_said_at_the_line_of_the_user(call, parts):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    (told,) = [one for one in found if one.category is DataWarning]
    assert told.filename == __file__
    for part in parts:
        assert part in str(told.message)


def test_documents_without_the_side_go_by_their_words():
    model = authors(authors=NAMES)
    plain = model.transform(X[:2])
    alone = model.transform(X[:2], authors=[None, []])
    np.testing.assert_allclose(alone, plain, rtol=1e-4)
    assert not np.allclose(model.transform(X[:2], authors=NAMES[:2]), plain)
    model = features(year=YEARS)
    empty = model.transform(X[:2], features={"year": [np.nan, np.nan]})
    np.testing.assert_allclose(empty.sum(axis=1), 1, rtol=1e-6)
    model = labels([["a"], ["b"]] * 10)
    np.testing.assert_allclose(
        model.transform(X[:1], labels=[None]), model.transform(X[:1]), rtol=1e-5
    )
    model = languages(en=X, de=X[:, :5])
    np.testing.assert_allclose(
        model.transform({"en": X[:2], "de": None}),
        model.transform({"en": X[:2]}),
        rtol=1e-5,
    )


def test_a_response_may_be_unknown():
    model = response([np.nan, *YEARS[1:]])
    assert np.isfinite(model.predict(X[:3])).all()


def test_names_in_a_table_are_names_of_authors():
    names = np.array([["Ann", "Bob"], ["Cid", ""]] * 10)
    assert authors(authors=names).author_names_.tolist() == ["Ann", "Bob", "Cid"]


def test_columns_of_one_name_are_refused():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.c_[YEARS, YEARS], columns=["year", "year"])
    with pytest.raises(DataError, match="'year' twice"):
        FeatureLDA(2, **OPTIONS).fit(X, features=frame)
