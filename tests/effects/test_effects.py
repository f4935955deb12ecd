"""Effects of any model: what is estimated, how sure, and what is refused."""

import copy
import re
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from effects_support import planted
from scipy import sparse

from topicfold import (
    LDA,
    PLSA,
    FeatureLDA,
    GibbsLDA,
    LaplacianPLSA,
    StructuralLDA,
    SupervisedLDA,
    Topics,
)
from topicfold.corpus import Corpus
from topicfold.editing import drop_topics, merge_topics, rename_topics
from topicfold.effects import chain, estimate_effect, permutation_test, split_sample
from topicfold.effects.checking import _shuffled
from topicfold.effects.draws import Source, _drawn_again
from topicfold.effects.regression import LeastSquares
from topicfold.exceptions import DataError, DataWarning


@pytest.fixture(scope="module")
def found():
    found = planted(0, n_documents=240)
    rng = np.random.default_rng(1)
    found["data"] = pd.DataFrame(
        {
            "x": found["x"],
            "side": np.where(found["x"], "right", "left"),
            "age": rng.normal(40, 10, 240),
            "day": pd.date_range("2001-01-01", periods=240),
            "city": rng.integers(0, 40, 240),
            "group": rng.choice(["a", "b", "c"], 240),
        }
    )
    found["lda"] = LDA(n_components=3, random_state=0).fit(found["X"])
    return found


def effects_of(found, formula="~ x", **options):
    options = {"data": found["data"], "X": found["X"], "n_draws": 5} | options
    return estimate_effect(found["lda"], formula, **options)


def matched(model, topics):
    """The model's topic for each true one."""
    own = model.components_ / np.linalg.norm(model.components_, axis=1)[:, None]
    return (topics @ own.T).argmax(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("model", [LDA, GibbsLDA])
def test_planted_effects_are_covered(model):
    covered, n, estimates, truths = 0, 0, [], []
    for seed in range(10):
        found = planted(100 + seed, n_documents=200)
        fitted = model(n_components=3, random_state=0).fit(found["X"])
        order = matched(fitted, found["topics"])
        rows = estimate_effect(
            fitted, "~ x", {"x": found["x"]}, X=found["X"], topics=order.tolist()
        ).rows()
        for row, truth in zip(rows, found["effect"], strict=True):
            covered += row["low"] < truth < row["high"]
            n += 1
            estimates.append(row["estimate"])
            truths.append(truth)
    assert 0.8 <= covered / n <= 1
    slope = np.dot(estimates, truths) / np.dot(truths, truths)
    assert 0.85 < slope < 1.15


def test_effects_of_a_seed_are_the_same_bits(found):
    first, again = effects_of(found), effects_of(found, n_jobs=1)
    np.testing.assert_array_equal(first.pooled.total, again.pooled.total)
    other = effects_of(found, random_state=1)
    assert not np.array_equal(first.pooled.coefficients, other.pooled.coefficients)


def test_counts_beside_given_mixtures_are_refused():
    theta = np.full((6, 2), 0.5)
    with pytest.raises(DataError, match=r"mixtures need no counts\. Leave X out"):
        estimate_effect(theta, "~ x", {"x": range(6)}, X=np.ones((6, 3)))


def test_one_draw_of_given_mixtures_is_least_squares(found):
    theta = found["theta"]
    effects = estimate_effect(theta, "~ side", found["data"])
    side = found["data"]["side"] == "right"
    means = theta[side].mean(axis=0) - theta[~side].mean(axis=0)
    rows = effects.rows()
    np.testing.assert_allclose([row["estimate"] for row in rows], means)
    # Point estimates never get intervals.
    assert not {"low", "high", "p", "error"} & set(rows[0])
    assert "no intervals" in " ".join(effects.notes)
    assert all("no interval" in sentence for sentence in effects.sentences())
    with pytest.raises(DataError, match="no p-values"):
        effects.rows(adjust="holm")


def test_a_small_group_without_a_topic_has_no_narrow_interval():
    """Shares are skewed: HC3 alone covered 0.79 here, and 0.24 of joint tests erred."""
    rng, covered, p_values = np.random.default_rng(0), [], []
    group = np.where(np.arange(300) < 5, "small", np.array(["a", "b"] * 150))
    for _ in range(20):
        theta = rng.dirichlet(np.full(8, 0.15), 300)
        effects = estimate_effect(np.stack([theta, theta]), "~ g", {"g": group})
        rows = effects.contrast("g", "small", "a")
        covered += [row["low"] <= 0 <= row["high"] for row in rows]
        p_values += [row["p"] for row in effects.tests()]
    assert np.mean(covered) > 0.93
    assert np.mean(np.array(p_values) < 0.05) < 0.08


def test_a_curve_of_noise_is_found_as_often_as_it_should_be():
    """The larger of two p-values, as for small groups, would find it in 2.5 %."""
    rng, p_values = np.random.default_rng(0), []
    for _ in range(60):
        theta = rng.dirichlet(np.full(8, 0.3), 500)
        data = {"x": rng.normal(size=500)}
        effects = estimate_effect(np.stack([theta, theta]), "~ s(x)", data)
        p_values += [row["p"] for row in effects.tests()]
    assert np.mean(np.array(p_values) < 0.05) == pytest.approx(0.05, abs=0.02)


def test_intervals_are_the_wider_of_two_only_if_few_documents_decide():
    rng = np.random.default_rng(0)
    few = (np.arange(600) < 6).astype(float)
    many = rng.integers(0, 2, 600)
    theta = rng.dirichlet(np.ones(3), 600)
    theta[few == 1] = [0.0, 0.5, 0.5]
    data, draws = {"few": few, "many": many}, np.stack([theta, theta])
    by = {
        robust: estimate_effect(draws, "~ few + many", data, robust=robust)
        for robust in (True, "HC1", False)
    }

    def row(kind, place):
        return by[kind].rows()[place]

    assert row(True, 0) == row(False, 0)  # the first topic: none of the few has it
    assert row("HC1", 0)["error"] < row(False, 0)["error"] / 2
    exact = LeastSquares(np.c_[np.ones(600), few, many]).fit(theta)[1]
    assert row(True, 1)["error"] == pytest.approx(np.sqrt(exact[0, 2, 2]))
    clustered = estimate_effect(draws, "~ many", data, cluster=np.arange(600) % 12)
    assert clustered.pooled.plain is None
    # Of a level without any spread a variance may be a little below zero.
    nothing = estimate_effect(np.stack([theta * 0] * 2), "~ few", data, topics=[0])
    assert nothing.predict("few", [1])[0]["error"] == 0


def test_given_draws_are_pooled(found):
    rng = np.random.default_rng(0)
    draws = np.array([rng.dirichlet(50 * row + 0.1) for row in found["theta"]])
    stacked = np.stack([found["theta"], draws])
    effects = estimate_effect(stacked, "~ x", found["data"])
    assert effects.pooled.n_draws == 2
    assert {"low", "high", "p"} <= set(effects.rows()[0])


def test_shares_of_all_topics_add_up(found):
    effects = effects_of(found, "~ side + s(age) + group")
    for label in {row["effect"] for row in effects.rows()}:
        own = [row["estimate"] for row in effects.rows() if row["effect"] == label]
        assert sum(own) == pytest.approx(0, abs=1e-10)
    shares = effects.predict("side", ["left"])
    assert sum(row["share"] for row in shares) == pytest.approx(1)


def test_kinds_of_columns(found):
    theta, data = found["theta"], found["data"]
    kinds = pd.CategoricalDtype(["right", "none", "left"])
    odd = data.assign(
        side=data["side"].astype(kinds),
        yes=data["x"] == 1,
        whole=data["city"].astype("Int64"),
        **{"odd name": data["age"], "share": data["age"]},
    )
    assert (
        estimate_effect(theta, "~ share", odd).predict("share", [40])[0]["value"] == 40
    )
    effects = estimate_effect(theta, "~ side + C(group) + whole + `odd name`", odd)
    assert [contrast.label for contrast in effects.contrasts] == [
        *("side: left - right", "group: b - a", "group: c - a"),
        *("whole: +1", "odd name: +1"),
    ]
    plain = estimate_effect(theta, "~ side + group + city + age", data)
    own = {row["effect"]: row["estimate"] for row in effects.rows()[:5]}
    other = {row["effect"]: row["estimate"] for row in plain.rows()[:5]}
    assert own["side: left - right"] == pytest.approx(-other["side: right - left"])
    assert own["odd name: +1"] == pytest.approx(other["age: +1"])
    assert own["whole: +1"] == pytest.approx(other["city: +1"])
    (first, *_) = estimate_effect(theta, "~ yes", odd).rows()
    assert first["effect"] == "yes: True - False"
    numbers = estimate_effect(theta, "~ C(city % 3)", data)
    assert numbers.design.matrix.shape[1] == 3


@pytest.mark.parametrize("gap", [False, True], ids=["whole", "with a gap"])
def test_types_of_pandas_are_one_kind_of_column(found, gap):
    def effects(values):
        column = pd.Series(list(values), dtype=object)
        column[0 : 7 * gap] = None
        kinds = {
            "object": column,
            "string": column.astype("string"),
            "levels": column.astype("category"),
        }
        given = {"method": "fixed", "n_draws": 2, "X": found["X"]}
        return {
            name: estimate_effect(found["lda"], "~ v", {"v": own}, **given).rows()
            for name, own in kinds.items()
        }

    texts = effects(found["data"]["side"])
    assert texts["object"][0]["effect"] == "v: right - left"
    assert texts["string"] == texts["levels"] == texts["object"]
    years = pd.PeriodIndex(np.where(found["x"], "2004", "2001"), freq="Y")
    assert effects(years)["object"][0]["effect"] == "v: 2004 - 2001"
    numbers = effects(np.where(found["x"], 2, 1))
    assert numbers["levels"][0]["effect"] == "v: 2 - 1"
    assert numbers["levels"][0]["estimate"] == texts["object"][0]["estimate"]
    days = pd.Series(pd.to_timedelta(np.where(found["x"], 2, 1), unit="D"))
    took = effects_of(found, "~ v", data={"v": days}, method="fixed", n_draws=2)
    assert took.rows()[0]["estimate"] == pytest.approx(
        effects_of(found, method="fixed", n_draws=2).rows()[0]["estimate"]
    )


def test_sums_and_differences(found):
    single = effects_of(found)
    several = effects_of(found, topics=["0 + 1", "0 - 1", 2])
    first, second, third = (row["estimate"] for row in single.rows())
    rows = several.rows()
    assert [row["topic"] for row in rows] == ["0 + 1", "0 - 1", "2"]
    assert rows[0]["estimate"] == pytest.approx(first + second)
    assert rows[1]["estimate"] == pytest.approx(first - second)
    assert rows[2]["estimate"] == pytest.approx(third)
    # The sum of two is what the third leaves, with the same error.
    assert rows[0]["error"] == pytest.approx(rows[2]["error"])
    named = effects_of(found, topics={"both": [0, 1], "gap": {0: 1, 1: -1}}).rows()
    assert [row["topic"] for row in named] == ["both", "gap"]
    assert named[0]["estimate"] == pytest.approx(rows[0]["estimate"])
    assert named[1]["error"] == pytest.approx(rows[1]["error"])


def test_contrasts_between_levels(found):
    effects = effects_of(found, "~ group + age")
    labels = [c.label for c in effects.contrasts]
    assert labels == ["group: b - a", "group: c - a", "age: +1"]
    rows = {(r["topic"], r["effect"]): r["estimate"] for r in effects.rows()}
    own = effects.contrast("group", "c", "b")
    assert [row["effect"] for row in own] == ["group: c - b"] * 3
    for row in own:
        topic = row["topic"]
        apart = rows[topic, "group: c - a"] - rows[topic, "group: b - a"]
        assert row["estimate"] == pytest.approx(apart)
    ten = effects.contrast("age", 50, 40)
    assert ten[0]["estimate"] == pytest.approx(10 * rows["0", "age: +1"])


def test_effects_with_interactions_are_averages_over_documents(found):
    effects = effects_of(found, "~ x * age")
    b = effects.pooled.coefficients
    names = list(effects.design.names)
    age = found["data"]["age"].mean()
    expected = b[names.index("x")] + age * b[names.index("x:age")]
    own = [r["estimate"] for r in effects.rows() if r["effect"] == "x: 1 - 0"]
    np.testing.assert_allclose(own, expected)


def test_effects_at_values_of_other_covariates(found):
    effects = effects_of(found, "~ x * age")
    names = [row["coefficient"] for row in effects.coefficients()]
    values = [row["estimate"] for row in effects.coefficients()]
    own = dict(zip(names[:4], values[:4], strict=True))  # of the first topic
    row = effects.contrast("x", 1, 0, at={"age": 50})[0]
    assert row["effect"] == "x: 1 - 0 (age = 50)"
    assert row["estimate"] == pytest.approx(own["x"] + 50 * own["x:age"])
    shares = [effects.predict("x", [x], at={"age": 50})[0]["share"] for x in (1, 0)]
    assert shares[0] - shares[1] == pytest.approx(row["estimate"])


def test_figures_by_a_second_covariate(found):
    effects = effects_of(found, "~ group * s(age)")
    curves = effects.plot("age", by="group").axes[0]
    assert [text.get_text() for text in curves.get_legend().get_texts()] == [*"abc"]
    assert len(curves.collections) == 3  # an interval for each
    points = effects_of(found, "~ group * side").plot("side", by="group").axes[0]
    assert points.get_legend().get_title().get_text() == "group"
    rows = effects_of(found, "~ side", n_draws=2).plot("side", kind="effects").axes[0]
    low, high = rows.get_ylim()
    assert low < -0.4  # the first and the last of three topics are inside
    assert high > 2.4


def test_curves_and_dates(found):
    effects = effects_of(found, "~ s(day)")
    assert effects.contrasts[0].label == "day: 2001-08-04 - 2001-01-25"
    ends = "2001-01-25 and 2001-08-04 are the first and the ninth decile"
    assert f"day is a curve: {ends} of its values." in str(effects)
    assert "decile" not in str(effects_of(found, "~ day + side"))
    rows = effects.predict("day")
    assert len(rows) == 3 * 40
    assert rows[0]["value"] == "2001-01-01"
    one = effects.predict("day", ["2001-03-01"])
    assert [row["value"] for row in one] == ["2001-03-01"] * 3
    line = effects_of(found, "~ day").rows()[0]
    assert line["effect"] == "day: +1 year"
    texts = found["data"].assign(day=found["data"]["day"].astype(str))
    again = estimate_effect(found["lda"], "~ s(day)", texts, X=found["X"], n_draws=5)
    np.testing.assert_array_equal(
        again.pooled.coefficients, effects.pooled.coefficients
    )


def test_clusters_in_the_formula_and_by_name_are_the_same(found):
    first = effects_of(found, "~ x | city")
    second = effects_of(found, "~ x", cluster="city")
    np.testing.assert_array_equal(first.pooled.total, second.pooled.total)
    plain = effects_of(found, "~ x")
    np.testing.assert_allclose(
        first.pooled.coefficients, plain.pooled.coefficients, atol=0.05
    )
    assert not np.allclose(first.pooled.total, plain.pooled.total)
    assert "40 clusters" in " ".join(first.notes)
    with pytest.raises(DataError, match="given twice"):
        effects_of(found, "~ x | city", cluster="city")
    few = effects_of(found, "~ x", cluster=found["data"]["city"] % 4)
    assert "4 clusters are few" in " ".join(few.notes)


def test_weights_count_documents(found):
    theta = found["theta"]
    weights = np.where(found["data"]["age"] > 40, 3.0, 1.0)
    effects = estimate_effect(theta, "~ x", found["data"], weights=weights)
    twice = np.repeat(np.arange(240), weights.astype(int))
    data = found["data"].iloc[twice]
    expected = estimate_effect(theta[twice], "~ x", data)
    np.testing.assert_allclose(
        effects.pooled.coefficients, expected.pooled.coefficients
    )


def test_missing_values_and_empty_documents_are_left_out_and_said(found):
    data = found["data"].copy()
    data.loc[[3, 5], "age"] = np.nan
    counts = found["X"].tolil()
    counts[7] = 0
    counts = sparse.csr_matrix(counts)
    effects = estimate_effect(found["lda"], "~ x + age", data, X=counts, n_draws=3)
    assert {3, 5, 7}.isdisjoint(effects.design.rows.tolist())
    assert len(effects.design.rows) == 237
    notes = " ".join(effects.notes)
    assert "2 of 240 documents are left out: a value is missing (age)." in notes
    assert "1 document has no known word and is left out." in notes


def test_columns_of_texts(found):
    """Dates are dates also without s(), commas decimal; empty texts are missing."""
    data = found["data"].copy()
    data["written"] = [f"20{d % 20:02d}-05-{1 + d % 28:02d}" for d in range(240)]
    data["income"] = [f"{d / 7:.1f}".replace(".", ",") for d in range(240)]
    data["code"] = [str(d % 3) for d in range(240)]
    data["town"] = ["", " ", *(["a", "b"] * 119)]

    def labels(formula):
        return effects_of(found, formula, data=data, method="fixed").contrasts

    assert [c.label for c in labels("~ written")] == ["written: +1 year"]
    assert [c.label for c in labels("~ income")] == ["income: +1"]
    assert [c.label for c in labels("~ code")] == ["code: 1 - 0", "code: 2 - 0"]
    short = data.assign(written=data["written"].str[:4] + "-05")
    by_year = effects_of(found, "~ C(written)", data=short, method="fixed")
    assert len(by_year.contrasts) == 19
    towns = effects_of(found, "~ town", data=data, method="fixed")
    assert [c.label for c in towns.contrasts] == ["town: b - a"]
    assert "2 of 240 documents are left out" in towns.notes[0]
    with pytest.raises(DataError, match="s is a column and a function"):
        effects_of(found, "~ s(s)", data=data.assign(s=data["age"]))


def test_figures_are_of_a_size_to_read(found):
    """The largest effects only, and shares between -10 and 110 %."""
    effects = effects_of(found, "~ x + s(age)", method="fixed")
    sizes = {row["topic"]: abs(row["estimate"]) for row in effects.rows()[::2]}
    names = effects.plot("x", n_topics=2).axes[0].get_yticklabels()
    shown = {name.get_text().split()[0] for name in names}
    assert shown == set(sizes) - {min(sizes, key=sizes.get)}
    wide = effects.plot("age", level=0.999999).axes[0].get_ylim()
    assert -0.1 <= wide[0] < wide[1] <= 1.1


@pytest.mark.parametrize("method", ["fixed", "posterior", "bootstrap"])
def test_other_draws(found, method):
    effects = effects_of(found, method=method, n_draws=3)
    joint = effects_of(found, n_draws=3)
    own = [row["estimate"] for row in effects.rows()]
    expected = [row["estimate"] for row in joint.rows()]
    np.testing.assert_allclose(own, expected, atol=0.15)
    assert effects.notes[0] != joint.notes[0]


def test_a_split_names_topics_that_the_documents_do_not_determine(found):
    steps, noise = [], np.random.default_rng(0).poisson(0.2, (240, 60))
    noise[:, 0] += 1  # no document is empty
    options = {"data": found["data"], "n_draws": 5}
    model = LDA(n_components=9, random_state=0)
    lost = split_sample(model, "~ x", X=noise, **options)
    assert len(lost.changed) > 4
    assert "Topics that the documents do not determine: " in lost.side_table().note
    assert "do not rely on this" in lost.sentences()[min(lost.changed)]
    assert any("other words in the draws" in note for note in lost.notes)
    model = LDA(n_components=3, random_state=0)
    options["on_progress"] = lambda *step: steps.append(step)
    sure = split_sample(model, "~ x", X=found["X"], **options)
    assert not sure.changed
    assert steps[-1][0] == steps[-1][1] > 100


@pytest.mark.parametrize("method", ["joint", "bootstrap", "posterior"])
def test_progress_is_reported_to_the_end(found, method):
    steps = []
    reported = effects_of(
        found, method=method, on_progress=lambda *step: steps.append(step)
    )
    assert [done for done, _ in steps] == list(range(1, len(steps) + 1))
    assert steps[-1][0] == steps[-1][1]
    assert len(steps) > 100 if method == "joint" else len(steps) == 5
    assert reported.rows() == effects_of(found, method=method).rows()


def test_the_posterior_needs_no_counts(found):
    own = estimate_effect(found["lda"], "~ x", found["data"], method="posterior")
    assert {"low", "high"} <= set(own.rows()[0])


def test_a_model_may_bring_its_own_draws(found):
    class Own:
        def __init__(self, model):
            self.topic_data = model.topic_data
            self.doc_topics_ = model.doc_topics_

        def theta_draws(self, n_draws, random_state=0, X=None):
            assert X is None
            for _ in range(n_draws):
                yield self.doc_topics_

    own = estimate_effect(
        Own(found["lda"]), "~ x", found["data"], method="posterior", n_draws=4
    )
    point = estimate_effect(
        found["lda"].doc_topics_.astype(float), "~ x", found["data"]
    )
    np.testing.assert_allclose(own.pooled.coefficients, point.pooled.coefficients)


def test_several_tests_are_said_and_adjusted(found):
    effects = effects_of(found, "~ group + age")
    assert effects.n_tests == 9
    assert "9 tests, not adjusted" in repr(effects)
    plain = [row["p"] for row in effects.rows()]
    holm = [row["p"] for row in effects.rows(adjust="holm")]
    assert all(a >= b for a, b in zip(holm, plain, strict=True))
    assert holm != plain


def test_sentences(found):
    effects = effects_of(found, "~ side + age", topics=[0, "0 + 1", "0 - 1"])
    sentences = effects.sentences()
    assert len(sentences) == 6
    assert sentences[0].startswith("The share of topic 0 (")
    assert "where side is right than where it is left (95% interval" in sentences[0]
    assert "percentage points per unit of age" in sentences[1]
    assert sentences[2].startswith("The joint share of 0 + 1 (")
    assert sentences[4].startswith("The difference of shares 0 - 1 (")
    weighted = effects_of(found, "~ side", topics={"most": {0: 1, 1: 0.5}}).sentences()
    assert weighted[0].startswith("The weighted sum of shares most (")
    assert " | 0.5 × " in weighted[0]
    assert "adjusted p" not in sentences[0]
    assert all("; adjusted p " in one for one in effects.sentences(adjust="holm"))


def test_tables_and_plot_data(found):
    effects = effects_of(found, "~ side + s(age)")
    frame = effects.table()
    assert list(frame.columns) == [
        *("topic", "words", "effect", "estimate", "error", "low", "high", "p"),
    ]
    assert [row["covariate"] for row in effects.tests()] == ["side", "age"] * 3
    assert len(effects.coefficients()) == 3 * effects.design.matrix.shape[1]
    data = effects.plot_data
    assert data["shares"]["side"]["values"] == ["left", "right"]
    assert len(data["shares"]["age"]["topics"][0]["share"]) == 40
    assert "<table>" in effects._repr_html_()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [None, "effects", "shares"])
@pytest.mark.parametrize("covariate", [None, "group", "age", "day"])
def test_figures(found, kind, covariate, tmp_path):
    effects = effects_of(found, "~ side + group + age + s(day)", n_draws=3)
    path = tmp_path / "effects.png"
    figure = effects.plot(covariate, kind=kind, path=path)
    assert figure.axes
    assert path.stat().st_size > 1000


def test_topics_know_their_documents():
    texts = ["red fox wood tree"] * 6 + ["blue sea fish wave"] * 6
    texts += ["red fox sea fish"] * 6
    topics = Topics(2, min_df=1).fit(texts, ["a"] * 6 + ["b"] * 6 + ["a", "b"] * 3)
    effects = topics.effects("~ label", n_draws=3)
    assert effects.rows()[0]["effect"] == "label: b - a"
    other = topics.effects("~ x", {"x": np.arange(18)}, topics=1, n_draws=3)
    assert [row["topic"] for row in other.rows()] == ["1"]
    dated = Topics(2, min_df=1).fit(
        pd.DataFrame({"text": texts, "when": np.arange(2001, 2019)}), time="when"
    )
    assert dated.effects("~ time", n_draws=3).rows()[0]["effect"].startswith("time: +1")
    with pytest.raises(DataError, match="neither labels nor times"):
        Topics(2, min_df=1).fit(texts).effects("~ label")
    with pytest.raises(DataError, match="so leave X out"):
        estimate_effect(topics, "~ x", {"x": np.arange(18)}, X=np.ones((18, 3)))


def test_the_report_shows_effects(tmp_path):
    texts = ["red fox wood tree"] * 6 + ["blue sea fish wave"] * 6
    texts += ["red fox sea fish"] * 6
    topics = Topics(2, min_df=1).fit(texts, ["a"] * 6 + ["b"] * 6 + ["a", "b"] * 3)
    found = topics.effects("~ label", n_draws=5)
    table = found.side_table()
    rows = found.rows()
    np.testing.assert_allclose(table.values[0], [r["estimate"] for r in rows], 1e-6)
    half = [row["high"] - row["estimate"] for row in rows]
    np.testing.assert_allclose(1.959964 * table.errors[0], half, 1e-5)
    path = topics.report(tmp_path / "report.html", effects=found)
    assert "Difference of the share of a topic" in path.read_text(encoding="utf-8")
    assert not topics.data_.sides
    with pytest.raises(DataError, match="effects on every topic"):
        topics.effects("~ label", topics=[1], n_draws=5).side_table()


def test_topics_that_move_are_named(found):
    wrong = LDA(n_components=3, random_state=0).fit(found["X"])
    rng = np.random.default_rng(0)
    wrong.components_ = rng.dirichlet(np.full(120, 0.05), 3).astype(np.float32)
    effects = estimate_effect(wrong, "~ x", found["data"], X=found["X"], n_draws=3)
    assert "other words in the draws" in effects.notes[-1]
    corpus = Corpus(found["X"].astype(np.int64), [f"word{w}" for w in range(120)])
    wrong.components_[2] = found["topics"][2]
    known = estimate_effect(wrong, "~ x", found["data"], X=corpus, n_draws=3)
    now = re.findall(r"(\d) \(now word(\d+), word\d+, word\d+\)", known.notes[-1])
    assert {"0", "1"} <= {topic for topic, _ in now}
    largest = found["topics"].max(axis=0)
    assert all(largest[int(word)] > 0.02 for _, word in now)
    assert known.changed == {int(topic) for topic, _ in now}
    warned = ["do not rely on this" in line for line in known.sentences()]
    assert warned == [place in known.changed for place in range(3)]
    assert "0, 1" in known.side_table().note
    for table in (
        known.rows(),
        known.predict("x"),
        known.tests(),
        known.coefficients(),
    ):
        sure = {row["topic"] for row in table if row["determined"]}
        assert sure == {str(place) for place in range(3)} - {"0", "1"}
    assert known.table()["determined"].tolist() == [False, False, True]
    star = r"(?:^|\s|>)(\d)\*[\s<]"
    contrast = known.contrast("x", 0, 1)
    for shown in (known.text(), known._repr_html_(), contrast, contrast._repr_html_()):
        assert re.findall(star, str(shown)) == ["0", "1"]
        assert "do not determine these words" in str(shown)
        assert "True" not in str(shown)
    sure = estimate_effect(wrong, "~ x", found["data"], X=found["X"], method="fixed")
    assert not sure.changed
    assert "determined" not in sure.rows()[0]
    assert "*" not in sure.text()
    assert "determine" not in sure.side_table().note


def test_figures_mark_topics_that_the_documents_do_not_determine(found):
    effects = effects_of(found, "~ x * s(age) + group", method="fixed")
    kinds = [
        ("x", {}),
        ("group", {"kind": "shares"}),
        ("age", {}),
        ("age", {"by": "x"}),
    ]
    for changed in ((), (1,)):
        effects.changed = frozenset(changed)
        for covariate, options in kinds:
            figure = effects.plot(covariate, **options)
            foot = figure.get_supxlabel()
            assert ("documents do not determine" in foot) == bool(changed)
            axes = figure.axes
            if covariate == "x":  # a row per topic
                ticks = zip(
                    axes[0].get_yticks(), axes[0].get_yticklabels(), strict=True
                )
                rows = {int(place): text.get_text()[0] for place, text in ticks}
                points = [line for line in axes[0].lines if line.get_marker() == "o"]
                hollow = [p for p in points if p.get_markerfacecolor() == "white"]
                marked = {rows[int(point.get_ydata()[0])] for point in hollow}
            else:
                marked = {
                    own.get_title("left")[0]
                    for own in axes
                    for line in own.lines
                    if line.get_linestyle() == "--"
                    or line.get_markerfacecolor() == "white"
                }
            assert marked == {str(place) for place in changed}
    effects.changed = frozenset(range(3))
    few = effects.plot("x", n_topics=1)
    effects.changed -= {int(few.axes[0].get_yticklabels()[0].get_text()[0])}
    assert not effects.plot("x", n_topics=1).get_supxlabel()


def test_the_bootstrap_names_topics_that_refits_do_not_find_again(found):
    rng = np.random.default_rng(0)
    wrong = LDA(n_components=3, random_state=0, max_iter=30).fit(found["X"])
    wrong.components_ = rng.dirichlet(np.full(120, 0.05), 3).astype(np.float32)
    options = {"X": found["X"], "method": "bootstrap", "n_draws": 3}
    effects = estimate_effect(wrong, "~ x", found["data"], **options)
    assert effects.changed == {0, 1, 2}
    assert any("other words in the draws" in note for note in effects.notes)
    assert not effects_of(found, method="bootstrap", n_draws=3).changed


def test_the_bootstrap_draws_clusters_and_refits_models_of_words_only(found):
    rng = np.random.default_rng(0)
    clusters = np.array([2, 0, 0, 1, 2, 2])
    for _ in range(5):
        drawn = _drawn_again(6, clusters, rng).tolist()
        assert len(set(map(drawn.count, (1, 2)))) == 1
        assert len(set(map(drawn.count, (0, 4, 5)))) == 1
        assert 2 * drawn.count(1) + drawn.count(3) + 3 * drawn.count(0) == len(drawn)
    options = {"method": "bootstrap", "n_draws": 2}
    city = found["data"]["city"].to_numpy()
    one = effects_of(found, "~ x | city", **options).coefficients()
    other = effects_of(found, "~ x", **options).coefficients()
    assert [row["estimate"] for row in one] != [row["estimate"] for row in other]
    features = FeatureLDA(3, random_state=0, max_iter=5)
    features.fit(found["X"], features={"city": city.astype(str)})
    graph = sparse.eye_array(240, k=1, format="csr") + sparse.eye_array(240, k=-1)
    linked = LaplacianPLSA(
        3, graph=sparse.csr_matrix(graph), random_state=0, max_iter=5
    )
    for model, what in ((features, "features"), (linked.fit(found["X"]), "graph")):
        with pytest.raises(
            DataError, match=f"{type(model).__name__} also takes {what}"
        ):
            estimate_effect(model, "~ x", found["data"], X=found["X"], **options)


def test_a_sum_of_pieces_that_change_places_is_the_same():
    rows = np.array([[0.5, 0.0], [0.3, 0.0], [0.0, 0.6], [0.0, 0.9]])
    source = Source(ends=(rows, rows[:, ::-1]))
    single_and_sum = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    np.testing.assert_allclose(source.kept(single_and_sum), [0, 0, 1], atol=1e-12)
    nothing = np.array([[1.0], [-1.0]])  # two topics with the same words
    same = Source(ends=(rows[:, [0, 0]], rows))
    np.testing.assert_array_equal(same.kept(nothing), [0.0])
    np.testing.assert_array_equal(Source().kept(single_and_sum), np.ones(3))


def test_topics_in_two_pieces_are_named(found, monkeypatch):
    monkeypatch.setattr(chain, "MOST_ROUNDS", 1)
    halves = LDA(n_components=4, random_state=0).fit(found["X"])
    topics = np.vstack([found["topics"][:1], found["topics"]])
    halves.components_ = topics.astype(np.float32)
    effects = estimate_effect(halves, "~ x", found["data"], X=found["X"], n_draws=3)
    assert "Topics 0 and 1 have nearly the same words" in effects.notes[-1]
    assert "topics='0 + 1'" in effects.notes[-1]
    monkeypatch.undo()  # sampled for longer, one piece becomes something else
    effects = estimate_effect(halves, "~ x", found["data"], X=found["X"], n_draws=3)
    assert "has other words in the draws" in effects.notes[-1]


def test_values_beyond_the_documents_are_said(found):
    effects = effects_of(found, "~ group + age + day", method="fixed")
    with pytest.warns(
        DataWarning, match=r"age is .* to .*, so what is expected at 999"
    ):
        effects.predict("age", [999])
    with pytest.warns(
        DataWarning, match="day is 2001-01-01 to 2001-08-28 .* 2050-01-0"
    ):
        effects.contrast("day", "2050-01-01", "2001-05-03")
    effects.predict("age")  # no warning
    effects.predict("day")


def test_a_posterior_with_covariates_is_said():
    texts = ["red fox wood tree"] * 6 + ["blue sea fish wave"] * 6
    frame = pd.DataFrame({"text": texts, "x": [0.0, 1.0] * 6})
    for known, said in (({"prevalence": "~ x"}, "exaggerated"), ({}, "attenuated")):
        topics = Topics(2, min_df=1).fit(frame, **known)
        effects = topics.effects("~ x", frame, method="posterior", n_draws=3)
        assert said in effects.notes[0]
    model, X = topics.model_, topics.fitted_.counts
    effects = estimate_effect(model, "~ x", frame, X=X, method="posterior", n_draws=3)
    assert "attenuated" in effects.notes[0]


def test_a_corpus_names_the_topics(found):
    words = [f"word{place}" for place in range(120)]
    corpus = Corpus(found["X"].astype(np.int64), words)
    rows = effects_of(found, X=corpus, n_draws=3).rows()
    assert all(row["words"].startswith("word") for row in rows)
    plain = effects_of(found, n_draws=3).rows()
    assert [row["estimate"] for row in rows] == [row["estimate"] for row in plain]
    halves = split_sample(LDA(3, random_state=0), "~ x", found["data"], corpus)
    assert halves.rows()[0]["words"].startswith("word")


def test_edited_topics_keep_their_numbers(found, monkeypatch):
    monkeypatch.setattr(chain, "MOST_ROUNDS", 1)
    model = LDA(n_components=6, random_state=0).fit(found["X"])
    known = {"X": found["X"], "method": "fixed", "n_draws": 2}
    edited = drop_topics(model, [1, 3])
    every = estimate_effect(edited, "~ x", found["data"], **known).rows()
    assert [row["topic"] for row in every] == ["0", "2", "4", "5"]
    asked = {4: "4", "4": "4", "0 - 4": "0 - 4", edited.topic_data().name(2): "4"}
    for topics, name in asked.items():
        (row,) = estimate_effect(
            edited, "~ x", found["data"], topics=topics, **known
        ).rows()
        less = every[0]["estimate"] if topics == "0 - 4" else 0.0
        assert row["topic"] == name
        assert abs(less - row["estimate"]) == pytest.approx(abs(every[2]["estimate"]))
    with pytest.raises(DataError, match="Topic 3 no longer exists"):
        estimate_effect(edited, "~ x", found["data"], topics=[3], **known)
    twins = rename_topics(edited, {2: "sea", 5: "sea"})
    with pytest.raises(DataError, match="topics 2, 5 all have the name 'sea'"):
        estimate_effect(twins, "~ x", found["data"], topics="sea", **known)
    halves = copy.deepcopy(edited)
    halves.components_ = found["topics"][[0, 1, 2, 2]]
    notes = estimate_effect(halves, "~ x", found["data"], X=found["X"], n_draws=2).notes
    assert "topics='4 + 5'" in " ".join(notes)


def test_topics_that_were_merged_by_hand_stay_merged(found):
    model = LDA(n_components=3, random_state=0).fit(found["X"])
    order = matched(model, found["topics"])
    assert len(set(order)) == 3
    real = -found["effect"][0]
    edited = merge_topics(model, order[1:].tolist(), name="both")
    options = {"X": found["X"], "n_draws": 5}
    for given in (edited, edited.topic_data()):
        effects = estimate_effect(given, "~ x", found["data"], topics="both", **options)
        (row,) = effects.rows()
        assert row["low"] < real < row["high"]
        assert not effects.changed
        assert "topics are treated as known" in effects.notes[0]
        assert "draws would take them apart" in effects.notes[-1]
        sure = estimate_effect(given, "~ x", found["data"], method="fixed", **options)
        assert "by hand" not in " ".join(sure.notes)
    drawn = estimate_effect(edited, "~ x", found["data"], method="joint", **options)
    assert "draws may have taken them apart" in drawn.notes[-1]
    asked = {"topics": "both", "n_permutations": 19, **options}
    (test,) = permutation_test(edited, "~ x", found["data"], "x", **asked)
    assert test["p"] == 0.05
    renamed = rename_topics(model, {0: "sea"})
    effects = estimate_effect(renamed, "~ x", found["data"], **options)
    assert "by hand" not in " ".join(effects.notes)


def test_rows_in_another_order_are_refused(found):
    ids = [f"d{row}" for row in range(240)]
    corpus = Corpus(found["X"].astype(np.int64), [f"w{w}" for w in range(120)], ids=ids)
    data = found["data"].assign(name=ids)
    known = {"X": corpus, "method": "fixed", "n_draws": 2}
    estimate_effect(found["lda"], "~ x", data, **known)
    estimate_effect(found["lda"], "~ x", data.drop(columns="name")[::-1], **known)
    for wrong in (data[::-1], data.set_index("name")[::-1]):
        with pytest.raises(DataError, match=r"(name'|index) has 'd239' in row 0"):
            estimate_effect(found["lda"], "~ x", wrong, **known)
    # A misspelt id does not hide the order, nor does one that is there twice.
    for id_, row in (("d5x", 0), ("d239", 5)):
        wrong = data[::-1] if row == 0 else data
        wrong = wrong.assign(name=wrong["name"].replace("d5", id_))
        with pytest.raises(DataError, match=f"'name' has 'd239' in row {row}"):
            estimate_effect(found["lda"], "~ x", wrong, **known)
    replies = data.assign(
        reply=np.roll(ids, 1)
    )  # other documents' ids beside their own
    estimate_effect(found["lda"], "~ x", replies, **known)
    with pytest.raises(DataError, match="in another order than the documents"):
        split_sample(LDA(3), "~ x", data[::-1], corpus)
    # Numbers of rows are no names: a column of ranks has them, too.
    corpus = Corpus(found["X"].astype(np.int64), corpus.vocabulary, ids=range(240))
    ranked = data.assign(rank=np.arange(240)[::-1])
    estimate_effect(found["lda"], "~ x", ranked, **{**known, "X": corpus})


def test_split_sample(found):
    effects = split_sample(
        LDA(n_components=3, random_state=0), "~ x | city", found["data"], found["X"],
        n_draws=5,
    )  # fmt: skip
    finding = effects.split_
    assert 60 < finding.sum() < 180
    assert not finding[effects.design.rows].any()
    city = found["data"]["city"]
    assert not set(city[finding]) & set(city[~finding])
    order = matched(effects.model_, found["topics"])
    own = np.array([row["estimate"] for row in effects.rows()])[order]
    np.testing.assert_allclose(own, found["effect"], atol=0.2)
    assert f"Topics are from {finding.sum()} documents" in effects.notes[0]
    with pytest.raises(DataError, match="share is 1"):
        split_sample(LDA(2), "~ x", found["data"], found["X"], share=1)


def test_a_permutation_test_finds_the_link_and_no_other(found):
    options = {"X": found["X"], "n_permutations": 99, "n_draws": 5}
    linked = permutation_test(found["lda"], "~ x + age", found["data"], "x", **options)
    assert min(row["p adjusted"] for row in linked) == 0.01
    noise = permutation_test(
        found["lda"], "~ x + age | city", found["data"], "age", **options
    )
    assert min(row["p"] for row in noise) > 0.02
    assert all(row["p adjusted"] >= row["p"] for row in noise)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_statistic_of_a_permutation_test_is_that_of_robust_errors(weighted):
    rng = np.random.default_rng(0)
    matrix = np.c_[np.ones(80), rng.standard_normal((80, 3))]
    weights = rng.uniform(0.5, 2, 80) if weighted else None
    shares = rng.standard_normal((80, 2)) * (1 + np.abs(matrix[:, 1:2]))
    design = SimpleNamespace(matrix=matrix, weights=weights, clusters=None)
    found, _ = _shuffled(design, np.array([0, 3]), shares, 1, rng)
    values, covariances = LeastSquares(matrix, weights=weights).fit(shares)
    for outcome in range(2):
        b, inside = values[1:3, outcome], covariances[outcome][1:3, 1:3]
        assert found[outcome] == pytest.approx(b @ np.linalg.solve(inside, b) / 2)


def test_a_permutation_test_has_its_size_if_few_documents_are_noisier():
    # As where the treated documents are short; an F of equal variances had 0.30 here.
    rng, p_values = np.random.default_rng(0), []
    for _ in range(30):
        few = (np.arange(400) < 40).astype(float)
        shares = rng.standard_normal((400, 10)) * np.where(few, 2.5, 1.0)[:, None]
        matrix = np.c_[np.ones(400), few]
        design = SimpleNamespace(matrix=matrix, weights=None, clusters=None)
        real, shuffled = _shuffled(design, np.array([0]), shares, 99, rng)
        p_values += ((1 + (shuffled >= real).sum(axis=0)) / 100).tolist()
    assert 0.02 < np.mean(np.array(p_values) <= 0.05) < 0.09


BAD = [
    ("~ sied", {}, "no column 'sied' \\(did you mean 'side'\\?\\)"),
    ("~ side +", {}, "cannot be read"),
    ("", {}, "Give a text such as"),
    ("y ~ side", {}, "before ~"),
    ("~ 1", {}, "no covariate"),
    ("~ 0 + side", {}, "no intercept"),
    ("~ one", {}, "one value in all 240 documents"),
    ("~ text", {}, "'text' has one value in all 240 documents"),
    ("~ side + x", {}, "collinear"),
    ("~ f(", {}, "cannot be read"),
    ("~ x.f()", {}, "does not work"),
    ("~ often", {}, "240 levels; .* write s\\(often\\)"),
    ("~ C(many)", {}, "240 documents and 240 coefficients"),
    ("~ lonely", {}, "row 17 of the data is the only one of its kind \\(lonely = z\\)"),
    ("~ log(age - 1e6)", {}, r"log\(age.* is not a number in all documents"),
    ("~ s(group)", {}, "number or date, but some of its values"),
    ("~ s(when)", {}, "first: 'someday'"),
    ("~ s(x)", {}, "covariate with 2 different values"),
    ("~ s(age, k=3)", {}, "given the option 'k'. Give the number of its columns"),
    ("~ s(age, df=0)", {}, "given df=0"),
    ("~ .", {}, "a point for all columns"),
    ("~ poly(agee, 2)", {}, "no column 'agee' \\(did you mean 'age'"),
    ("~ group * lonely", {}, "no document has the combination group.*lonely"),
    ("~ when2", {}, "has dates, but in row 5 of the data it has 'someday'. Write all"),
    ("~ jumble", {}, "has numbers, but in row 1 of the data it has the text 'n/a'"),
    ("~ endless", {}, "'endless' is infinite in row 3"),
    ("~ s(endless)", {}, "'endless' is infinite in row 3"),
    ("~ C(endless)", {}, "'endless' is infinite in row 3"),
    ("~ log(negative)", {}, "not finite in row 0"),
    ("~ nothing", {}, "no document is left"),
    ("~ x | town", {}, "no column 'town' for cluster"),
    ("~ x |", {}, "one column after |"),
    ("~ x | one", {}, "one cluster"),
    ("~ alone | city", {}, "one cluster alone determines a coefficient \\(alone\\)"),
    ("~ x", {"weights": np.zeros(240)}, "positive"),
    ("~ x", {"weights": [1, 2]}, "shape"),
    ("~ x", {"weights": "group"}, "must be numbers"),
    ("~ x", {"topics": 3}, "topics are 0 to 2"),
    ("~ x", {"topics": "sea"}, "there is no topic 'sea'"),
    ("~ x", {"topics": "0 + 1 + 2"}, "same weight"),
    ("~ x", {"topics": "1 - 1"}, "'1 - 1' has a topic twice"),
    ("~ x", {"topics": {"a": [0, 0]}}, "'a' has a topic twice"),
    ("~ x", {"topics": {"a": {0: "much"}}}, "'a' gives a topic the weight 'much'"),
    ("~ x", {"topics": {"a": {0: np.nan}}}, "'a' gives a topic the weight nan"),
    ("~ x", {"topics": []}, "topics is empty"),
    ("~ x", {"method": "magic"}, "method is 'magic'"),
    ("~ x", {"n_draws": 1}, "n_draws"),
    ("~ x", {"random_state": None}, "random_state"),
    ("~ x", {"X": None}, "needs the counts"),
    ("~ x", {"X": np.ones((240, 3))}, "3 features"),
    ("~ x", {"X": np.full((240, 120), 0.5)}, "not a whole number"),
]


@pytest.mark.parametrize(("formula", "options", "message"), BAD)
def test_bad_input_is_one_sentence(found, formula, options, message):
    data = found["data"].assign(
        one=1,
        text="same",
        often=np.arange(240).astype(str),
        many=np.arange(240),
        lonely=["z" if d == 17 else "a" for d in range(240)],
        negative=np.zeros(240),
        when=["someday" if d == 5 else "2001-05-03" for d in range(240)],
        alone=(found["data"]["city"] == 3).astype(int),
        nothing=np.nan,
        when2=[*["2001-05-03", "2001-05-04"] * 2, "", *["someday", "2001-05-05"] * 117,
               ""],
        jumble=pd.Series([3.5, "n/a"] * 120, dtype=object),
        endless=np.where(np.arange(240) == 3, -np.inf, np.arange(240) % 5),
    )  # fmt: skip
    with (
        pytest.raises((DataError, ValueError), match=message),
        np.errstate(divide="ignore"),
    ):
        estimate_effect(found["lda"], formula, data, **({"X": found["X"]} | options))


@pytest.mark.parametrize(
    "formula",
    ["~ poly(age, 2)", "~ bs(age, df=4)", "~ x + scale(age)", "~ group * center(age)"],
)
def test_functions_of_formulaic_know_their_column(found, formula):
    gap = found["data"]["age"].where(np.arange(240) > 2)
    effects = effects_of(found, formula, data=found["data"].assign(age=gap), n_draws=2)
    assert "3 of 240 documents are left out" in effects.notes[0]
    assert any(contrast.covariate == "age" for contrast in effects.contrasts)
    columns = [row["columns"] for row in effects.tests() if row["covariate"] == "age"]
    per_topic = {"poly": 2, "bs": 4, "x": 1, "group": 3}
    word = next(word for word in per_topic if formula.startswith(f"~ {word}"))
    assert set(columns) == {per_topic[word]}
    effects.predict("age", [40])


def test_the_reference_is_the_one_of_the_formula(found):
    plain = effects_of(found, "~ C(group)", method="fixed")
    turned = effects_of(found, "~ C(group, Treatment('b'))", method="fixed")
    assert [c.label for c in turned.contrasts] == ["group: a - b", "group: c - b"]
    coefficients = [row["estimate"] for row in turned.coefficients()][1::3]
    first = [row["estimate"] for row in turned.rows()][::2]
    np.testing.assert_allclose(first, coefficients, atol=1e-12)
    np.testing.assert_allclose(
        [row["estimate"] for row in plain.contrast("group", "a", "b")], first
    )
    named = effects_of(
        found, "~ C(city2, Treatment(3)) + C(sort, Treatment('c'))", method="fixed",
        data=found["data"].assign(
            city2=found["data"]["city"] % 4,
            sort=pd.Categorical(found["data"]["group"], categories=["b", "a", "c"]),
        ),
    )  # fmt: skip
    assert [c.label for c in named.contrasts] == [
        *("city2: 0 - 3", "city2: 1 - 3", "city2: 2 - 3", "sort: b - c", "sort: a - c")
    ]


def test_objects_that_are_numbers_are_numbers(found):
    age = found["data"]["age"].round(2)
    plain = effects_of(found, "~ age", data={"age": age}, method="fixed").rows()
    for kind in (float, Decimal, lambda text: np.float32(text)):
        column = pd.Series([kind(str(value)) for value in age], dtype=object)
        own = effects_of(found, "~ age", data={"age": column}, method="fixed").rows()
        assert [row["effect"] for row in own] == ["age: +1"] * 3
        estimates = [[row["estimate"] for row in rows] for rows in (own, plain)]
        np.testing.assert_allclose(*estimates, rtol=1e-4)
    column[0] = None
    known = effects_of(found, "~ age", data={"age": column}, method="fixed")
    assert "1 of 240 documents is left out: a value is missing (age)" in known.notes[0]
    grades = pd.Series([1, "A", 2] * 80, dtype=object)
    levels = effects_of(found, "~ C(g)", data={"g": grades}, method="fixed")
    assert [c.label for c in levels.contrasts] == ["g: 2 - 1", "g: A - 1"]


def test_missing_clusters_and_weights_are_named(found):
    gap = np.where(np.arange(240) < 2, np.nan, 1.0)
    options = {"weights": gap, "cluster": np.where(np.arange(240) == 9, None, "a")}
    options["cluster"][50:] = "b"
    notes = effects_of(found, "~ x", method="fixed", **options).notes
    assert "3 of 240 documents are left out: a value is missing" in notes[0]
    assert "(the cluster, weights)" in notes[0]


def test_small_effects_have_digits(found):
    dollars = found["data"].assign(income=1e4 * found["data"]["age"])
    text = effects_of(found, "~ income", data=dollars, method="fixed").text()
    row = next(line for line in text.splitlines() if line.startswith("0 "))
    assert re.search(r"e-0[67]", row)


def test_a_year_is_a_date(found):
    effects = effects_of(found, "~ day", method="fixed")
    with pytest.warns(DataWarning, match=r"expected at 2002-01-01"):
        assert effects.predict("day", [2002])[0]["value"] == "2002-01-01"


def test_bad_arguments_of_a_split_sample(found):
    X, data = found["X"], found["data"]
    with pytest.raises(DataError, match="share is 'half'"):
        split_sample(LDA(3), "~ x", data, X, share="half")
    with pytest.raises(DataError, match="model is 'LDA'"):
        split_sample("LDA", "~ x", data, X)
    with pytest.raises(DataError, match="X is not a matrix of counts"):
        split_sample(LDA(3), "~ x", data, ["a text"] * 240)


def test_bad_tables_and_models(found):
    X, data = found["X"], found["data"]
    with pytest.raises(DataError, match="5 rows, and there are 240 documents"):
        estimate_effect(found["lda"], "~ x", data.iloc[:5], X=X)
    with pytest.raises(DataError, match="data is a str"):
        estimate_effect(found["lda"], "~ x", "x", X=X)
    with pytest.raises(DataError, match="do not match"):
        estimate_effect(found["lda"], "~ x", {"x": [1, 2], "y": [1]}, X=X)
    with pytest.raises(DataError, match="'x' twice"):
        estimate_effect(found["lda"], "~ x", pd.concat([data, data["x"]], axis=1), X=X)
    plsa = PLSA(n_components=3, random_state=0).fit(X)
    with pytest.raises(DataError, match="PLSA has no posterior"):
        estimate_effect(plsa, "~ x", data, method="posterior")
    joint = estimate_effect(plsa, "~ x", data, X=X, n_draws=3)
    assert {"low", "high"} <= set(joint.rows()[0])
    with pytest.raises(DataError, match="no topics that are distributions"):
        estimate_effect(object(), "~ x", data, X=X)
    with pytest.raises(DataError, match="shape"):
        estimate_effect(np.ones(3), "~ x", data)
    record = found["lda"].topic_data()
    with pytest.raises(DataError, match="cannot start at given topics"):
        estimate_effect(record, "~ x", data, X=X, method="bootstrap")


@pytest.mark.slow
def test_structural_topics(found):
    X, data = found["X"], found["data"]
    table = {"x": data["x"].to_numpy(dtype=float)}
    model = StructuralLDA(3, random_state=0).fit(X, prevalence=table)
    own = estimate_effect(model, "~ x", data, method="posterior", n_draws=5)
    joint = estimate_effect(model, "~ x", data, X=X, n_draws=5)
    np.testing.assert_allclose(
        own.pooled.coefficients[1], joint.pooled.coefficients[1], atol=0.1
    )


@pytest.fixture(scope="module")
def worded():
    """Two groups word the same three topics differently; x changes shares."""
    rng = np.random.default_rng(5)
    common = rng.dirichlet(np.full(120, 0.1), 3)
    own = common * np.exp(rng.normal(0, 1.0, (2, *common.shape)))
    own /= own.sum(axis=2, keepdims=True)
    x = np.arange(300) % 2
    group = np.where(rng.random(300) < 0.3 + 0.4 * x, 1, 0)
    eta = np.outer(x, [1.2, -0.6, 0.0]) + rng.normal(0, 0.8, (300, 3))
    theta = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    rows = np.einsum("dk,dkw->dw", theta, own[group])
    X = np.array([rng.multinomial(80, row / row.sum()) for row in rows])
    data = pd.DataFrame({"x": x, "party": np.array(["left", "right"])[group]})
    model = StructuralLDA(3, random_state=0, max_iter=40)
    model.fit(X, prevalence={"x": x}, content=data["party"])
    real = theta[x == 1].mean(axis=0) - theta[x == 0].mean(axis=0)
    return {"X": X, "data": data, "lda": model, "theta": theta, "real": real}


# The topics of the fit are a little those of these documents.
@pytest.mark.parametrize(("method", "far"), [("joint", 0.05), ("fixed", 0.2)])
def test_topics_with_words_of_groups(worded, method, far):
    X, data, model = worded["X"], worded["data"], worded["lda"]
    found = estimate_effect(
        model, "~ x", data, X=X, content="party", method=method, n_draws=5
    )
    shares = np.corrcoef(worded["theta"].T, model.doc_topics_.T)[:3, 3:]
    order = shares.argmax(axis=1)
    estimates = np.array([row["estimate"] for row in found.rows()])[order]
    np.testing.assert_allclose(estimates, worded["real"], atol=far)
    assert not any("other words in the draws" in note for note in found.notes)
    given = estimate_effect(
        model, "~ x", data, X=X, content=data["party"].tolist(), method=method,
        n_draws=5,
    )  # fmt: skip
    assert given.rows() == found.rows()


def test_the_groups_of_content_are_needed_and_checked(worded):
    X, data, model = worded["X"], worded["data"], worded["lda"]

    def refused(said, model=model, **options):
        with pytest.raises(DataError, match=said):
            estimate_effect(model, "~ x", data, X=X, **options)

    refused("has its own words for a topic. Give the groups")
    refused("no column 'partys' for content", content="partys")
    refused("content has the shape", content=["left"])
    refused("which the fit did not have", content=["up"] * 300)
    refused("content is missing in row 1 ", content=["left", None] * 150)
    refused("does not refit", content="party", method="bootstrap")
    refused("is for other methods", content="party", method="posterior")
    plain = LDA(3, random_state=0, max_iter=3).fit(X)
    refused("is for topics with groups of words", plain, content="party")
    own = estimate_effect(model, "~ x", data, X=X, method="posterior", n_draws=5)
    assert {"low", "high"} <= set(own.rows()[0])
    tests = permutation_test(
        model, "~ x", data, "x", X=X, content="party", n_draws=2, n_permutations=9
    )
    assert min(row["p"] for row in tests) == 0.1


def test_bad_questions_of_a_result(found):
    effects = effects_of(found, "~ side + age + s(day)", n_draws=3)
    with pytest.raises(DataError, match="no covariate 'sides'"):
        effects.predict("sides")
    with pytest.raises(DataError, match="no level 'up'"):
        effects.contrast("side", "up", "left")
    with pytest.raises(DataError, match="both values"):
        effects.contrast("side", "left", "left")
    with pytest.raises(DataError, match="not a number"):
        effects.predict("age", ["old"])
    with pytest.raises(DataError, match="not a date"):
        effects.predict("day", ["someday"])
    for level in (95, "95"):
        with pytest.raises(DataError, match=r"level is '?95"):
            effects.rows(level=level)
    with pytest.raises(DataError, match="values is empty"):
        effects.predict("age", [])
    assert effects.predict("age", 40) == effects.predict("age", [40])
    logs = effects_of(found, "~ log(age)", method="fixed", n_draws=2)
    with (
        pytest.raises(DataError, match="no value where age is -4"),
        pytest.warns(DataWarning, match="extrapolated"),
    ):
        logs.predict("age", -4)
    with pytest.raises(TypeError, match=r"no option 'colour'\. Possible.*: by, n_"):
        effects.plot("side", colour="red")
    with pytest.raises(DataError, match="no figure 'pie'"):
        effects.plot(kind="pie")
    with pytest.raises(DataError, match="whose values are being compared"):
        effects.predict("side", at={"side": "left"})
    with pytest.raises(DataError, match="no level 'up'"):
        effects.contrast("age", 50, 40, at={"side": "up"})
    with pytest.raises(DataError, match="needs a covariate of 2 to 6 levels"):
        effects.plot("day", by="age")
    with pytest.raises(DataError, match="by= only works for shares"):
        effects.plot("side", by="side", kind="effects")


def test_topics_that_learned_from_a_response_are_said_to_have(found):
    side = found["data"]["x"].astype(float)
    slda = SupervisedLDA(3, random_state=0, max_iter=5).fit(found["X"], response=side)
    said = []
    for model in (slda, found["lda"]):
        saved = SimpleNamespace(model=model, counts=found["X"])
        topics = SimpleNamespace(fitted_=saved, data_=model.topic_data())
        effects = estimate_effect(topics, "~ x", found["data"], n_draws=2)
        said.append("learned from a response" in effects.text())
    assert said == [True, False]


def test_a_long_value_is_shortened_in_the_error(found):
    texts = ["one text " + "word " * 200, *["another", "third"] * 119, "third"]
    with pytest.raises(DataError, match="only one of its kind") as error:
        estimate_effect(found["lda"], "~ t", {"t": texts}, X=found["X"], n_draws=2)
    assert len(str(error.value)) < 600
