# SPDX-License-Identifier: BSD-3-Clause
"""Covariates by formula: terms, the design they make, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from topicfold import StructuralLDA, Topics
from topicfold.evidence.formula import formula_columns, learn_covariates, parse_formula
from topicfold.exceptions import DataError, DataWarning

TABLE = {
    "party": ["left", "right"] * 20,
    "day": np.arange(40.0),
    "year": np.repeat([1, 2], 20),
    "when": [f"2001-01-{1 + row % 28:02d}" for row in range(40)],
}


@pytest.mark.parametrize(
    ("formula", "terms"),
    [
        ("~ a + b", ["a", "b"]),
        ("~ a * b", ["a", "b", "a:b"]),
        ("~a:b + s(c, df=5)", ["sc", "a:b"]),
        ("~ 1 + `my age` * C(b)", ["my age", "Cb", "my age:Cb"]),
        ("~ a * b + a", ["a", "b", "a:b"]),
        ("~ a * b * c", ["a", "b", "c", "a:b", "a:c", "b:c", "a:b:c"]),
    ],
)
def test_terms_of_a_formula(formula, terms):
    found = parse_formula(formula)
    assert [":".join(f.kind + f.name for f in term) for term in found] == terms


def test_the_design_has_the_products_of_columns():
    found, design = learn_covariates(TABLE, 40, "~ party * day + C(year)")
    names = found.names()
    assert names == [
        *("intercept", "party=left", "party=right", "day", "year=1", "year=2"),
        *("party=left:day", "party=right:day"),
    ]
    column = dict(zip(names, design.T, strict=True))
    day = (TABLE["day"] - TABLE["day"].mean()) / TABLE["day"].std()
    assert_allclose(column["day"], day)
    assert_allclose(column["party=right:day"], day * (np.arange(40) % 2))
    assert_allclose(column["year=2"], np.repeat([0, 1], 20))
    # New documents are encoded by what was learned; floats are the same categories.
    new = {"party": ["right"], "day": [TABLE["day"].mean()], "year": [2.0]}
    assert_allclose(found.design(new, 1)[0], [1, 0, 1, 0, 0, 1, 0, 0])


def test_splines_take_dates_as_they_come():
    found, design = learn_covariates(TABLE, 40, "~ s(when, df=6)")
    assert design.shape == (40, 7)
    assert_allclose(design[:, 1:].sum(axis=1), 1)
    assert_allclose(found.design({"when": [None]}, 1)[0], [1, *[0] * 6])


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("party", "Begin it with ~"),
        ("y ~ party", "Begin it with ~"),
        ("~ party + log(day)", "'log\\(day\\)' in the formula"),
        ("~ __import__('os')", "cannot be read"),
        ("~ party | day", "cannot be read"),
        ("~ party +* day", "nothing before or after one of its signs"),
        ("~ s(day, df=2)", "4 or more"),
        ("~ 1", "no covariate"),
        ("~ partly", "did you mean 'party'"),
        ("~ s(party)", "'left' is neither"),
        ("~ s(year)", "more different values"),
    ],
)
def test_what_cannot_be_read_is_said(formula, said):
    with pytest.raises(DataError, match=said):
        learn_covariates(TABLE, 40, formula)
    with pytest.raises(DataError, match="does not distinguish documents"):
        learn_covariates({"x": [3] * 40}, 40, "~ x")


def test_a_formula_of_all_columns_is_the_table_as_it_is():
    X = np.random.default_rng(0).poisson(1.0, (40, 9))
    data = {name: TABLE[name] for name in ("party", "day")}
    options = {"random_state": 0, "max_iter": 10}
    plain = StructuralLDA(3, **options).fit(X, prevalence=data)
    model = StructuralLDA(3, formula="~ party + day", **options)
    model.fit(X, prevalence=TABLE)
    assert model.prevalence_names_ == plain.prevalence_names_
    assert (model.doc_topics_ == plain.doc_topics_).all()
    with pytest.raises(DataError, match="needs a table with its columns"):
        StructuralLDA(3, formula="~ party").fit(X)


def test_topics_take_a_formula_of_columns(tmp_path):
    path = tmp_path / "table.csv"
    texts = ["war peace army treaty", "tax money bank trade"]
    rows = [f"{texts[n % 2]} {texts[n % 2]},{'ab'[n % 2]},{n}" for n in range(40)]
    path.write_text("\n".join(["text,party,day", *rows]), "utf-8")
    assert formula_columns("~ party * s(day)") == ["party", "day"]
    topics = Topics(2).fit(path, text="text", prevalence="~ party * s(day, df=5)")
    assert topics.model_.formula == "~ party * s(day, df=5)"
    topics.save(tmp_path / "model")
    again = Topics.load(tmp_path / "model")
    new = {"party": ["a"], "day": [3]}
    one, other = (t.transform(["war tax"], prevalence=new) for t in (topics, again))
    assert (one == other).all()
    with pytest.raises(DataError, match="takes columns, not a formula"):
        Topics(2).fit(path, text="text", features="~ party")


def test_missing_values_are_reported_and_a_bad_date_is_shown():
    X = np.random.default_rng(0).poisson(1.0, (40, 9))
    table = {"treated": [1, None, 0, 1] * 10, "day": ["2001-05-03"] * 39 + ["someday"]}
    model = StructuralLDA(3, formula="~ treated", random_state=0, max_iter=3)
    with pytest.warns(DataWarning, match="'treated' is missing in 10 of 40 documents"):
        model.fit(X, prevalence=table)
    with pytest.raises(DataError, match="and 'someday' is neither"):
        StructuralLDA(3, formula="~ s(day)").fit(X, prevalence=table)


def test_a_covariate_that_follows_from_others_is_reported():
    rng = np.random.default_rng(0)
    day, party = rng.normal(size=40), np.array(["left", "right"] * 20)
    city = np.where(party == "left", np.arange(40) % 3, 3 + np.arange(40) % 2)
    table = {"day": day, "twice": 2 * day, "party": party, "city": city.astype(str)}
    with pytest.warns(DataWarning, match="'twice' follows from the others"):
        learn_covariates(table, 40, "~ day + twice")
    with pytest.warns(DataWarning, match="'party' follows from the others"):
        learn_covariates(table, 40, "~ party * s(day, df=5) + city")
    # Products are no repetition, nor is a category of several columns.
    learn_covariates(table, 40, "~ party * s(day, df=5)")
    learn_covariates({"party": party, "day": day}, 40, None)
