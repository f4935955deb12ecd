# SPDX-License-Identifier: BSD-3-Clause
"""Features: the regression, planted effects, tables of all kinds."""

import functools
import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import topicfold
from topicfold import LDA, FeatureLDA, GibbsLDA
from topicfold.corpus import BlockMatrix
from topicfold.engine.protocol import add_statistics
from topicfold.evidence import Features, design, features
from topicfold.evidence.design import (
    _dependent,
    _numbers,
    check_columns,
    design_names,
    design_units,
    encode,
    learn_columns,
)
from topicfold.evidence.features import (
    FeatureRows,
    distances,
    expected_shares,
    moments,
    strength,
)
from topicfold.exceptions import DataError, DataWarning
from topicfold.parts import Context
from topicfold.parts.sides import learn_from

PLAIN = {"n_knots": None, "min_documents": 1}


def regression(design, shares, weights, penalty):
    """Regress shares on columns, by the sums over all rows."""

    def product(values):
        return design.T @ (weights[:, None] * (design @ values))

    sums = moments(design, shares, weights)
    start = np.zeros((design.shape[1], shares.shape[1]))
    return features.regression(*sums, penalty, product, start)


@pytest.mark.parametrize("penalty", [0.25, 4.0])
def test_equations_are_solved_as_scikit_learn_does(penalty, monkeypatch):
    rng = np.random.default_rng(0)
    levels = np.eye(9)[rng.integers(0, 9, 200)]
    numbers = rng.normal(size=(200, 2))
    columns = sparse.csr_matrix(np.hstack([np.ones((200, 1)), levels, numbers]))
    shares, weights = rng.dirichlet(np.full(20, 0.2), 200), rng.random(200) + 0.5
    found = regression(columns, shares, weights, penalty)
    monkeypatch.setattr(features, "MOST_SOLVED", 0)
    expected = regression(columns, shares, weights, penalty)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def drawn_counts(n_documents=500, n_topics=5, strength=4.0, seed=0):
    """Return a design, expected shares, effects and counts around them."""
    rng = np.random.default_rng(seed)
    design = np.c_[np.ones(n_documents), rng.integers(0, 2, (n_documents, 2))]
    effects = rng.normal(scale=0.03, size=(3, n_topics))
    effects -= effects.mean(axis=1, keepdims=True)
    effects[0] += 1 / n_topics
    expected = design @ effects
    theta = [rng.dirichlet(strength * row) for row in expected]
    lengths = rng.poisson(60, n_documents)
    counts = [rng.multinomial(n, t) for n, t in zip(lengths, theta, strict=True)]
    return sparse.csr_matrix(design), expected, effects, np.array(counts, float)


def test_the_regression_is_a_ridge_with_a_free_intercept():
    design, _, _, counts = drawn_counts(60)
    lengths = counts.sum(axis=1)
    shares, weights = counts / lengths[:, None], lengths / (lengths + 4.0)
    table = design.toarray()
    gram = table.T @ (weights[:, None] * table) + np.diag([0.0, 3.0, 3.0])
    wanted = np.linalg.solve(gram, table.T @ (weights[:, None] * shares))
    found = regression(design, shares, weights, 3.0)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_levels_sum_to_zero_and_a_single_document_moves_its_level_by_half():
    level = np.repeat(np.arange(51), [10] * 50 + [1])
    design = sparse.csr_matrix(np.c_[np.ones(501), np.eye(51)[level]])
    shares = np.where(level == 50, 0.9, 0.3)[:, None]
    shares = np.hstack([shares, 1 - shares])
    found = regression(design, shares, np.ones(501), 1.0)
    np.testing.assert_allclose(found[1:].sum(axis=0), 0.0, atol=1e-5)
    assert found[0, 0] + found[51, 0] == pytest.approx(0.6, abs=0.02)


def test_the_strength_is_that_of_the_draws():
    for true in (1.0, 4.0, 20.0):
        _, expected, _, counts = drawn_counts(4000, strength=true)
        lengths = counts.sum(axis=1)
        shares = counts / lengths[:, None]
        found = strength(*distances(shares, expected, lengths, lengths)[1:])
        assert found == pytest.approx(true, rel=0.1)


def test_planted_effects_are_found_in_counts_without_attenuation():
    """Whatever prior the counts were found with: it is not in the shares."""
    slopes = []
    for seed in range(6):
        design, _, effects, counts = drawn_counts(2000, seed=seed)
        lengths = counts.sum(axis=1)
        context = Context(
            2000, 5, 9, lengths, alpha=np.full(5, 0.2), iteration=features.LEARN_EVERY
        )
        side = Features()
        hidden = np.random.default_rng(seed).random(2000) < 0.2
        data = FeatureRows(design, hidden)
        side.prepare(data, context)
        sums = functools.partial(side.gather, counts, data, context)
        learn_from(side, sums, context)
        assert np.abs(side.effects_ - effects).max() < 0.05
        slopes.append(
            (side.effects_[1:] * effects[1:]).sum() / (effects[1:] ** 2).sum()
        )
        assert 3.0 < side.concentration_ < 5.5
    assert np.mean(slopes) == pytest.approx(1.0, abs=0.1)


def test_what_is_expected_is_on_the_simplex_and_nothing_is_impossible():
    mean = np.array([0.5, 0.4, 0.1])
    rows = sparse.csr_matrix([[1.0, 0.0], [1.0, 1.0], [1.0, -9.0]])
    effects = np.array([[0.5, 0.4, 0.1], [0.2, -0.6, 0.4]])
    found = expected_shares(rows, effects, mean)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(found[0], mean)
    assert found.min() > 0
    np.testing.assert_allclose(found[1, 1], features.COMMON * 0.4)
    nowhere = expected_shares(rows[:1], -effects, mean)
    np.testing.assert_allclose(nowhere[0], mean)


@pytest.fixture(scope="module")
def corpus():
    """Counts whose documents have their topics by group and by year."""
    rng = np.random.default_rng(1)
    n = 600
    group = rng.integers(2, size=n)
    year = rng.integers(1990, 2010, size=n)
    late = (year - year.mean()) / year.std()
    logs = np.log(0.3) + np.c_[group, -1.0 * group, late, 0 * late] * [1.5, 1.5, 1, 1]
    theta = np.array([rng.dirichlet(row) for row in np.exp(logs)])
    phi = np.kron(np.eye(4), np.full(10, 0.1))
    X = np.array([rng.multinomial(30, row) for row in theta @ phi])
    table = pd.DataFrame({"group": np.where(group, "b", "a"), "year": year})
    return sparse.csr_matrix(X.astype(float)), table, phi


@pytest.fixture(scope="module")
def model(corpus):
    X, table, phi = corpus
    model = FeatureLDA(4, init=phi + 0.01, max_iter=60, tol=0)
    return model.fit(X, features=table)


def test_planted_effects_come_out_with_sign_and_size(model):
    effects = {(e.feature, e.topic): e for e in model.feature_effects()}
    assert {e[0] for e in effects} == {"group=a", "group=b", "year"}
    rise = effects["group=b", 0].effect - effects["group=a", 0].effect
    fall = effects["group=b", 1].effect - effects["group=a", 1].effect
    wanted = model_shares(1) - model_shares(0)
    assert rise == pytest.approx(wanted[0], abs=0.06)
    assert fall == pytest.approx(wanted[1], abs=0.06)
    assert 0.01 < effects["year", 2].effect < 0.05
    assert abs(effects["year", 3].effect) < 0.015


def model_shares(group):
    """Expected shares of the documents of a group of the corpus."""
    late = np.random.default_rng(0).normal(size=20_000)
    logs = np.c_[1.5 * group + 0 * late, -1.5 * group + 0 * late, late, 0 * late]
    weights = np.exp(logs)
    return (weights / weights.sum(axis=1, keepdims=True)).mean(axis=0)


def test_features_alone_lead_to_expect_topics(model):
    rows = model.expected_topics({"group": ["a", "b"], "year": [2000, 2000]})
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    assert rows[1, 0] > 2 * rows[0, 0]
    assert rows[0, 1] > 2 * rows[1, 1]
    nothing = model.expected_topics({"group": [None], "year": [np.nan]})[0]
    np.testing.assert_allclose(nothing, model.effects_[0], atol=0.02)
    (side,) = model.sides_
    assert model.doc_topic_prior_.sum() == pytest.approx(side.concentration_)
    assert 0.8 < side.concentration_ < 3.5  # what was drawn has 1.2 to 3


def test_new_documents_with_and_without_features(model, corpus):
    X, table, _ = corpus
    short = X[:40].multiply(np.arange(40) % 10 == 0).tocsr()  # almost no words
    with pytest.warns(topicfold.exceptions.EmptyDocumentWarning):
        known = model.transform(short, features=table[:40])
    with pytest.warns(topicfold.exceptions.EmptyDocumentWarning):
        unknown = model.transform(short)
    full = model.transform(X[:40])
    far = np.abs(known - full).sum(), np.abs(unknown - full).sum()
    assert far[0] < far[1]
    assert model.perplexity(X, features=table) < model.perplexity(X)
    plain = LDA(4, init=corpus[2] + 0.01, max_iter=60, tol=0).fit(X)
    assert model.perplexity(X, features=table) < plain.perplexity(X)


def test_without_features_the_prior_is_that_of_the_counts(corpus):
    X, _, phi = corpus
    options = {"init": phi + 0.01, "max_iter": 100, "tol": 0}
    with pytest.warns(DataWarning, match=r"FeatureLDA was fitted without features, so"):
        learned = FeatureLDA(4, **options).fit(X)
    shares = np.asarray(X @ (phi.T > 0)).mean(axis=0) / 30
    alpha = learned.doc_topic_prior_
    np.testing.assert_allclose(alpha / alpha.sum(), shares, atol=0.02)
    assert learned.effect_names_ == ["intercept"]
    assert learned.feature_effects() == []


def test_it_is_saved_with_its_effects(model, corpus, tmp_path):
    X, table, _ = corpus
    model.save(tmp_path / "model.safetensors")
    loaded = topicfold.load(tmp_path / "model.safetensors")
    assert loaded.feature_effects() == model.feature_effects()
    np.testing.assert_array_equal(
        loaded.transform(X, features=table), model.transform(X, features=table)
    )


def test_a_spline_bends_and_stays_constant_outside(corpus):
    X, table, phi = corpus
    bent = FeatureLDA(4, init=phi + 0.01, max_iter=20, n_knots=4)
    bent.fit(X, features=table[["year"]])
    rows = bent.expected_topics({"year": [1990, 2009, 3000]})
    assert rows[1, 2] > rows[0, 2]
    np.testing.assert_allclose(rows[2], rows[1])


def test_tables_of_all_kinds():
    days = ["2020-01-01", "2020-01-03", None, "2020-01-02"] * 2
    frame = pd.DataFrame(
        {
            "number": [1.0, 2.0, np.nan, 3.0, 2.0, 2.0, 3.0, 1.0],
            "day": pd.to_datetime(days),
            "kind": pd.Categorical(["a", "b", None, "a", "a", "b", "b", "b"]),
            "flag": [True, False, True, False, False, True, True, False],
        }
    )
    columns, design = learn_columns(frame, 8, **PLAIN)
    names = ["intercept", "number", "day", "kind=a", "kind=b", "flag"]
    assert design_names(columns) == names
    table = design.toarray()
    np.testing.assert_allclose(table[:, 0], 1)
    np.testing.assert_allclose(table[2, 1:5], 0)  # missing: nothing moves
    np.testing.assert_allclose(table[:, 5], np.where(frame.flag, 0.5, -0.5))
    known = frame.number.dropna()
    np.testing.assert_allclose(
        table[frame.number.notna(), 1], (known - known.mean()) / known.std(ddof=0)
    )
    again = encode(frame, 8, columns)
    np.testing.assert_array_equal(again.toarray(), table)
    lists = {"authors": [["Ann", "Bob"], ["Bob"], [], None]}
    columns, design = learn_columns(lists, 4, **PLAIN)
    assert design_names(columns)[1:] == ["authors=Ann", "authors=Bob"]
    lengths = np.linalg.norm(design.toarray()[:, 1:], axis=1)
    np.testing.assert_allclose(lengths, [1, 1, 0, 0])
    columns, design = learn_columns(np.arange(8.0).reshape(4, 2) ** 2, 4, **PLAIN)
    assert design_names(columns)[1:] == ["x0", "x1"]
    given = sparse.random(4, 3, 0.9, random_state=0)
    columns, design = learn_columns(given, 4, **PLAIN)
    np.testing.assert_array_equal(design.toarray()[:, 1:], given.toarray())


def test_rare_categories_have_no_effect_of_their_own():
    data = {"author": ["Ann", "Ann", "Bob", "Cid", "Cid"]}
    columns, design = learn_columns(data, 5, n_knots=None, min_documents=2)
    assert columns[0]["levels"] == ["Ann", "Cid"]
    assert design.toarray()[2].tolist() == [1.0, 0.0, 0.0]


def test_bad_features_are_named(corpus):
    X, table, phi = corpus
    n = X.shape[0]
    few = {"max_iter": 2, "init": phi + 0.01}
    with pytest.raises(DataError, match="'year' has 3 rows, but X has 600 documents"):
        FeatureLDA(4, **few).fit(X, features={"year": [1, 2, 3]})
    with pytest.warns(DataWarning, match="left out: 'same'"):
        model = FeatureLDA(4, **few).fit(X, features=table.assign(same=1))
    assert "same" not in model.effect_names_
    with (
        pytest.raises(DataError, match="No feature is left"),
        pytest.warns(DataWarning, match="do not distinguish documents"),
    ):
        FeatureLDA(4, **few).fit(X, features={"id": [f"d{d}" for d in range(n)]})
    with pytest.warns(DataWarning, match="collinear.*'twice'"):
        FeatureLDA(4, **few).fit(X, features=table.assign(twice=2 * table.year))
    with pytest.raises(DataError, match="infinite in row 0"):
        FeatureLDA(4, **few).fit(X, features={"year": [np.inf, *range(n - 1)]})
    with pytest.raises(DataError, match="no column 'year'"):
        model.transform(X, features=table[["group"]])
    with pytest.warns(DataWarning, match="'group' has categories .*'z'"):
        model.transform(X[:1], features={"group": ["z"], "year": [2000]})
    with pytest.raises(DataError, match="was a number"):
        model.transform(X[:1], features={"group": ["a"], "year": ["then"]})
    with pytest.raises(DataError, match="dimensions"):
        FeatureLDA(4, **few).fit(X, features=np.zeros((n, 2, 2)))
    matrix = sparse.csr_matrix(np.eye(n, 3))
    by_matrix = FeatureLDA(4, **few).fit(X, features=matrix)
    with pytest.raises(DataError, match="has 2 columns; the fit had 3"):
        by_matrix.transform(X, features=matrix[:, :2])
    with pytest.raises(DataError, match="NaN or infinity"):
        FeatureLDA(4, **few).fit(X, features=matrix * np.nan)


def test_parameters_that_make_no_sense_are_refused(corpus):
    X, table, _ = corpus
    for options, match in (
        ({"penalty": -1.0}, "penalty"),
        ({"n_knots": 1}, "n_knots"),
        ({"concentration": "learned"}, "concentration"),
    ):
        with pytest.raises(ValueError, match=match):
            LDA(4, sides=[Features(**options)]).fit(X, features=table)


@pytest.mark.parametrize(
    "options",
    [
        {"penalty": 0.0},
        {"penalty": -0.5},
        {"penalty": np.inf},
        {"concentration": 0.0},
        {"concentration": np.inf},
        {"n_knots": 2},
    ],
)
def test_the_ends_of_the_ranges_of_parameters_are_outside(options):
    ((name, value),) = options.items()
    with pytest.raises(ValueError, match=f"The '{name}' parameter.*Got {value} inst"):
        Features(**options)._validate_params()
    Features(penalty=1e-3, concentration=1e-3, n_knots=3)._validate_params()


def test_splines_are_cubic():
    """Every polynomial of degree three is among them, and none of degree four."""
    x = np.linspace(-2.0, 3.0, 60)
    _, design = learn_columns({"x": x}, 60, n_knots=5, min_documents=1)
    table = design.toarray()
    for degree, fits in ((1, True), (2, True), (3, True), (4, False)):
        near = table @ np.linalg.lstsq(table, x**degree, rcond=None)[0]
        assert (np.abs(x**degree - near).max() < 1e-9) == fits


def test_units_are_those_of_the_user():
    """A number is scaled, dates are days; other columns are as they were."""
    days = np.array(["2020-01-01", "2020-01-03", None, "2020-01-08"], "datetime64[D]")
    data = {
        "length": np.array([1.0, 3.0, 5.0, 8.0]),
        "day": days,
        "kind": np.array(["a", "b", "a", "b"]),
    }
    columns, _ = learn_columns(data, 4, n_knots=None, min_documents=1)
    scales = [np.std([1, 3, 5, 8]), np.std([0, 2, 7])]
    np.testing.assert_allclose(design_units(columns), [1.0, *scales, 1.0, 1.0])


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "number", "mean": np.nan, "scale": 1.0},
        {"kind": "number", "mean": 0.0, "scale": 0.0},
        {"kind": "number", "mean": 0.0, "scale": np.inf},
        {"kind": "spline", "width": 4, "knots": [0, 0, 0, 0, 1, 1, 1, np.inf]},
        {"kind": "spline", "width": 4, "knots": [0, 0, 0, 0, 1, 1, 1, 0.5]},
        {"kind": "spline", "width": 4, "knots": [0, 0, 0, 0, 0, 0, 0, 0]},
        {"kind": "spline", "width": 5, "knots": [0, 0, 0, 0, 1, 1, 1, 1]},
        {"kind": "category", "levels": ["a", 3]},
        {"kind": "matrix", "width": 2.0},
        {"kind": "other", "width": 2},
        {"kind": "matrix", "width": 2, "name": 7},
    ],
)
def test_columns_of_a_file_that_make_no_sense(change):
    with pytest.raises(ValueError, match="is invalid"):
        check_columns([{"name": "x"} | change])
    check_columns(
        [
            {"name": "x", "kind": "number", "mean": 0.0, "scale": 1.0},
            {"name": "y", "kind": "spline", "width": 4, "knots": [0] * 4 + [1] * 4},
            {"name": "z", "kind": "matrix", "width": 2},
        ]
    )


@pytest.mark.parametrize("scale", [1.0, 1e-6])
def test_collinear_columns_are_found_at_any_scale(scale):
    rng = np.random.default_rng(0)
    columns = scale * rng.random((20, 3))
    table = np.c_[columns, columns @ [1.0, -2.0, 0.5], rng.random(20)]
    assert _dependent(table.T @ table) == [3]


def test_times_are_days_with_their_parts():
    times = np.array(["2020-01-01T12:00", "2020-01-03T00:00", "NaT"], "datetime64[s]")
    found = _numbers(times)
    np.testing.assert_allclose(found[1] - found[0], 1.5)
    assert np.isnan(found[2])
    assert _numbers(np.array(["1", "2"])) is None
    found = _numbers(np.array([1, None, 2.5], dtype=object))
    np.testing.assert_array_equal(found, [1, np.nan, 2.5])


def test_a_category_of_one_document_may_have_an_effect():
    Features(min_documents=1)._validate_params()


def test_numbers_among_objects_are_numbers():
    mixed = design._numbers(np.array([1, None, 2.5], dtype=object))
    np.testing.assert_array_equal(mixed, [1.0, np.nan, 2.5])
    assert design._numbers(np.array(["1", "2"])) is None


def test_a_level_of_one_document_is_kept_and_an_id_is_not(corpus):
    X, table, phi = corpus
    level = ["once", *np.where(table["year"][1:] > 2000, "late", "early")]
    few = {"max_iter": 2, "init": phi + 0.01, "tol": 0}
    model = FeatureLDA(4, **few).fit(X, features={"level": level})
    assert "level=once" in model.effect_names_


def test_effects_are_learned_every_few_passes(monkeypatch):
    passes = []
    monkeypatch.setattr(
        Features, "_regress", lambda side, sums, ask, choose: passes.append(choose)
    )
    side, every = Features(), features.LEARN_EVERY
    data = FeatureRows(sparse.csr_matrix(np.ones((5, 1))), np.arange(5) == 1)
    for iteration in range(2 * every + 2):
        context = Context(5, 2, 4, np.ones(5), iteration=iteration, alpha=np.ones(2))
        side.prepare(data, context)
        sums = functools.partial(side.gather, np.ones((5, 2)), data, context)
        learn_from(side, sums, context)
    assert every > 1
    assert passes == [True, False]  # penalty and s are chosen at first and at the end


@pytest.mark.parametrize("most", [features.MOST_SOLVED, 1])
def test_sums_over_rows_are_those_over_all_documents(most, monkeypatch):
    """Equations solved as they are or by products, of one part or of several."""
    monkeypatch.setattr(features, "MOST_SOLVED", most)
    design, _, _, counts = drawn_counts(400)
    found = []
    for ends in ([0, 400], [0, 90, 91, 310, 400]):
        context = Context(
            400, 5, 9, counts.sum(axis=1), alpha=np.full(5, 0.2), last=True
        )
        side = Features()
        side.columns_, side.feature_names_ = [], ["intercept", "a", "b"]
        data = FeatureRows(design, np.arange(400) % 5 == 0)
        parts = [slice(*pair) for pair in itertools.pairwise(ends)]
        side.prepare(data, context)

        def gather(side=side, parts=parts, data=data, context=context):
            sums = (side.gather(counts[own], data[own], context) for own in parts)
            return functools.reduce(add_statistics, sums)

        learn_from(side, gather, context)
        found.append(side)
    one, several = found
    assert one.penalty_ == several.penalty_
    assert several.concentration_ == pytest.approx(one.concentration_, rel=1e-6)
    np.testing.assert_allclose(several.effects_, one.effects_, atol=1e-7)
    np.testing.assert_allclose(several.prior_, one.prior_, rtol=1e-6)
    lengths = counts.sum(axis=1)
    shares, weights = counts / lengths[:, None], lengths / (lengths + 1.0)
    weights /= weights.mean()
    wanted = regression(design, shares, weights, one.penalty_)
    np.testing.assert_allclose(one.effects_, wanted, atol=1e-6)


def test_many_columns_are_learned_as_few(corpus, monkeypatch):
    X, table, phi = corpus
    options = {"init": phi + 0.01, "max_iter": 25, "tol": 0}
    few = FeatureLDA(4, **options).fit(X, features=table)
    monkeypatch.setattr(features, "MOST_SOLVED", 1)
    many = FeatureLDA(4, **options).fit(X, features=table)
    np.testing.assert_allclose(many.effects_, few.effects_, atol=2e-5)
    np.testing.assert_allclose(many.doc_topics_, few.doc_topics_, atol=1e-4)


def test_features_are_seen_some_documents_at_a_time(corpus, tmp_path, monkeypatch):
    """On blocks: the same as in memory, and at no time all documents."""
    X, table, phi = corpus
    seen = []
    for name in ("gather", "prior"):
        own = getattr(Features, name)

        def noted(side, *given, own=own):
            data = given[-2]
            seen.append(0 if data is None else len(data.hidden))
            return own(side, *given)

        monkeypatch.setattr(Features, name, noted)
    options = {"init": phi + 0.01, "max_iter": 25, "tol": 0, "random_state": 0}
    memory = FeatureLDA(4, **options).fit(X, features=table)
    seen.clear()
    blocks = BlockMatrix.write(tmp_path / "x", X, block_size=130)
    found = FeatureLDA(4, **options).fit(blocks, features=table)
    assert 0 < max(seen) <= 130
    np.testing.assert_allclose(found.effects_, memory.effects_, atol=1e-6)
    np.testing.assert_allclose(found.doc_topics_, memory.doc_topics_, atol=1e-5)
    np.testing.assert_allclose(found.components_, memory.components_, atol=1e-6)


def test_a_prior_that_explains_everything_does_not_undo_itself():
    X = [[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]] * 3
    source = ["paper", "paper", "blog", "blog"] * 3
    for passes in (10, 20, 40):
        model = FeatureLDA(2, random_state=0, tol=0, max_iter=passes)
        model.fit(X, features={"source": source})
        assert model.expected_topics({"source": ["blog"]}).max() > 0.9
        assert model.doc_topics_.max(axis=1).min() > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_a_topic_that_sampling_empties_keeps_a_positive_prior(seed):
    X = np.repeat([[5, 4, 0, 0], [0, 0, 4, 5]], 20, axis=0)
    model = GibbsLDA(8, sides=[Features()], random_state=seed, max_iter=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # eight topics are too many here
        model.fit(X, features={"group": ["a", "b"] * 20})
    side = model.sides_[0]
    assert (side.mean_ > 0).all()
    np.testing.assert_allclose(side.mean_.sum(), 1)
