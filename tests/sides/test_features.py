# SPDX-License-Identifier: BSD-3-Clause
"""Features: the likelihood and its gradient, planted effects, tables of all kinds."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, sparse
from scipy.special import psi

import topicfold
from topicfold import LDA, FeatureLDA
from topicfold.exceptions import DataError, DataWarning
from topicfold.sides import Features, SideContext, design, features
from topicfold.sides.design import (
    _dependent,
    _numbers,
    check_columns,
    design_names,
    design_units,
    encode,
    learn_columns,
)
from topicfold.sides.features import (
    INTERCEPT_VARIANCE,
    dirichlet_multinomial,
    effect_errors,
    learn_effects,
)

PLAIN = {"n_knots": None, "min_documents": 1}


def drawn_counts(n_documents=500, n_topics=5, seed=0):
    """Return a design, true effects and counts of a Dirichlet-multinomial."""
    rng = np.random.default_rng(seed)
    design = np.c_[np.ones(n_documents), rng.normal(size=(n_documents, 2))]
    effects = rng.normal(scale=0.6, size=(3, n_topics))
    effects[0] = np.log(0.3)
    lengths = rng.poisson(60, n_documents)
    theta = [rng.dirichlet(row) for row in np.exp(design @ effects)]
    counts = [rng.multinomial(n, t) for n, t in zip(lengths, theta, strict=True)]
    return sparse.csr_matrix(design), effects, np.array(counts, float), lengths


def test_the_gradient_is_that_of_the_likelihood():
    design, effects, counts, lengths = drawn_counts(20)

    def value(flat):
        return dirichlet_multinomial(design, flat.reshape(3, 5), counts, lengths)[0]

    def slope(flat):
        shaped = flat.reshape(3, 5)
        return dirichlet_multinomial(design, shaped, counts, lengths)[1].ravel()

    assert optimize.check_grad(value, slope, 0.5 * effects.ravel()) < 1e-3


def test_planted_effects_are_found_within_their_errors():
    covered = []
    for seed in range(6):
        design, effects, counts, lengths = drawn_counts(seed=seed)
        precision = np.full_like(effects, 0.1)
        found = learn_effects(
            design, np.zeros_like(effects), counts, lengths,
            centre=np.zeros_like(effects), precision=precision, max_iter=200,
        )  # fmt: skip
        errors = effect_errors(design, found, counts, lengths, precision)
        covered.append(np.abs(found - effects) < 1.96 * errors)
        assert np.abs(found - effects).max() < 0.4
    assert 0.9 < np.mean(covered) <= 1.0


def test_errors_of_many_columns_are_like_those_of_few(monkeypatch):
    design, effects, counts, lengths = drawn_counts()
    precision = np.full_like(effects, 2.0)
    joint = effect_errors(design, effects, counts, lengths, precision)
    monkeypatch.setattr("topicfold.sides.features.MOST_JOINT", 1)
    np.testing.assert_allclose(
        effect_errors(design, effects, counts, lengths, precision), joint, rtol=0.15
    )


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
    model = FeatureLDA(4, init=phi + 0.01, max_iter=60, tol=0, variance=2.0)
    return model.fit(X, features=table)


def test_planted_effects_come_out_with_sign_and_size(model):
    effects = {(e.feature, e.topic): e for e in model.feature_effects()}
    assert {e[0] for e in effects} == {"group=a", "group=b", "year"}
    rise = effects["group=b", 0].effect - effects["group=a", 0].effect
    fall = effects["group=b", 1].effect - effects["group=a", 1].effect
    assert 1.0 < rise < 2.0
    assert -2.0 < fall < -1.0
    late = effects["year", 2]
    assert 0.1 < late.effect < 0.25  # 1 / 5.8 per year
    assert late.low < late.effect < late.high
    assert abs(effects["year", 3].effect) < 3 * effects["year", 3].std_error + 0.03


def test_features_alone_lead_to_expect_topics(model):
    rows = model.expected_topics({"group": ["a", "b"], "year": [2000, 2000]})
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    assert rows[1, 0] > 2 * rows[0, 0]
    assert rows[0, 1] > 2 * rows[1, 1]
    nothing = model.expected_topics({"group": [None], "year": [np.nan]})[0]
    weights = np.exp(model.effects_[0])
    np.testing.assert_allclose(nothing, weights / weights.sum())
    assert model.doc_topic_prior_.sum() == pytest.approx(0.8)


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
    options = {"init": phi + 0.01, "max_iter": 200, "tol": 0, "topic_word_prior": 0.05}
    with pytest.warns(DataWarning, match=r"FeatureLDA was fitted without features, so"):
        learned = FeatureLDA(4, concentration="learned", **options).fit(X)
    alpha, lengths = learned.doc_topic_prior_, X.toarray().sum(axis=1, keepdims=True)
    counts = learned.doc_topics_ * (lengths + alpha.sum()) - alpha
    above = (psi(counts + alpha) - psi(alpha)).sum(axis=0)  # Minka's fixed point
    below = (psi(lengths + alpha.sum()) - psi(alpha.sum())).sum()
    np.testing.assert_allclose(above / below, 1.0, rtol=0.05)
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
    np.testing.assert_array_equal(design.toarray()[:, 1:].sum(axis=1), [2, 1, 0, 0])
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
        pytest.warns(DataWarning, match="tell no documents apart"),
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
        ({"variance": -1.0}, "variance"),
        ({"n_knots": 1}, "n_knots"),
        ({"concentration": "much"}, "concentration"),
    ):
        with pytest.raises(ValueError, match=match):
            LDA(4, sides=[Features(**options)]).fit(X, features=table)


@pytest.mark.parametrize(
    "options",
    [
        {"variance": 0.0},
        {"variance": -0.5},
        {"variance": np.inf},
        {"concentration": 0.0},
        {"concentration": np.inf},
        {"n_knots": 2},
    ],
)
def test_the_ends_of_the_ranges_of_parameters_are_outside(options):
    ((name, value),) = options.items()
    with pytest.raises(ValueError, match=f"The '{name}' parameter.*Got {value} inst"):
        Features(**options)._validate_params()
    Features(variance=1e-3, concentration=1e-3, n_knots=3)._validate_params()


def test_effects_are_where_the_posterior_is_flat():
    design, _, counts, lengths = drawn_counts(200)
    rng = np.random.default_rng(2)
    shape = design.shape[1], counts.shape[1]
    centre, precision = rng.normal(0, 1, shape), rng.gamma(2.0, 2.0, shape)
    options = {"centre": centre, "precision": precision, "max_iter": 2000}
    found = learn_effects(design, np.zeros(shape), counts, lengths, **options)
    slope = dirichlet_multinomial(design, found, counts, lengths)[1]
    np.testing.assert_allclose(slope, precision * (found - centre), atol=0.05)


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
    with pytest.raises(ValueError, match="makes no sense"):
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


def test_effects_have_the_precision_of_their_variance():
    side = Features(variance=4.0)
    side.effects_ = np.zeros((3, 2))
    wanted = [[1 / INTERCEPT_VARIANCE] * 2, [0.25] * 2, [0.25] * 2]
    np.testing.assert_allclose(side._precision(), wanted)


def test_effects_are_learned_every_few_passes(monkeypatch):
    passes = []
    monkeypatch.setattr(features, "learn_effects", lambda *a, **k: np.zeros((1, 2)))
    monkeypatch.setattr(Features, "_begin", lambda side, context: None)
    monkeypatch.setattr(Features, "_centre", lambda side, context: None)
    monkeypatch.setattr(Features, "_precision", lambda side: None)
    monkeypatch.setattr(
        Features, "_scale", lambda side, data, context: passes.append(context.iteration)
    )
    side, every = Features(), features.LEARN_EVERY
    for iteration in range(2 * every + 2):
        context = SideContext(3, 2, 4, np.ones(3), iteration=iteration)
        side.effects_ = np.zeros((1, 2))
        side.learn(np.ones((3, 2)), None, context)
    assert every > 1
    assert passes == [every, 2 * every]


def test_errors_are_of_the_whole_curvature_where_it_is_positive():
    """Documents whose own curvature is negative count as such."""
    rng = np.random.default_rng(0)
    design = sparse.csr_matrix(np.c_[np.ones(60), rng.normal(size=60)])
    counts = rng.multinomial(30, [0.95, 0.05], size=60).astype(float)
    counts[::2] = counts[::2, ::-1]
    effects, lengths = np.array([[2.0, 2.0], [0.1, 0.0]]), counts.sum(axis=1)
    precision = np.full((2, 2), 1000.0)

    def slope(effects):
        gradient = dirichlet_multinomial(design, effects, counts, lengths)[1]
        return gradient - precision * effects

    H, h = np.empty((2, 2)), 1e-5
    for f in range(2):
        step = np.zeros((2, 2))
        step[f, 0] = h
        H[f] = -(slope(effects + step) - slope(effects - step))[:, 0] / (2 * h)
    assert np.linalg.eigvalsh(H)[0] > 0
    rows = [
        dirichlet_multinomial(design[[d]], effects, counts[[d]], lengths[[d]])[1][:, 0]
        for d in range(60)
    ]
    middle = np.einsum("di,dj->ij", rows, rows) + np.diag(precision[:, 0])
    expected = np.sqrt(np.diag(np.linalg.inv(H) @ middle @ np.linalg.inv(H)))
    found = effect_errors(design, effects, counts, lengths, precision)
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-5)


def test_a_category_of_one_document_may_have_an_effect():
    Features(min_documents=1)._validate_params()


def test_numbers_among_objects_are_numbers():
    mixed = design._numbers(np.array([1, None, 2.5], dtype=object))
    np.testing.assert_array_equal(mixed, [1.0, np.nan, 2.5])
    assert design._numbers(np.array(["1", "2"])) is None


def test_the_effects_of_a_fit_are_the_best_of_its_counts():
    """The last search goes on until nothing is gained, also with many levels."""
    rng = np.random.default_rng(0)
    level = [f"l{d // 3}" for d in range(300)]
    counts = rng.gamma(0.5, 20.0, (300, 4))
    lengths = counts.sum(axis=1)
    alpha = np.full(4, 0.2)
    context = SideContext(300, 4, 9, lengths, alpha=alpha, iteration=30)
    side = Features()
    data = side.check({"level": level}, context)
    side.finish(counts, data, context)
    _, slope = dirichlet_multinomial(data, side.effects_, counts, lengths)
    slope = slope[1:] - side.effects_[1:] / side.variance
    assert side.effects_.shape == (101, 4)
    assert np.abs(slope).max() < 0.05


def test_a_level_of_one_document_is_kept_and_an_id_is_not(corpus):
    X, table, phi = corpus
    level = ["once", *np.where(table["year"][1:] > 2000, "late", "early")]
    few = {"max_iter": 2, "init": phi + 0.01, "tol": 0}
    model = FeatureLDA(4, **few).fit(X, features={"level": level})
    assert "level=once" in model.effect_names_
