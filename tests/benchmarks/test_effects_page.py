# SPDX-License-Identifier: BSD-3-Clause
"""The page of effects is made from its numbers, and they say what the guide says."""

import pytest
from benchmarks import effects

RECOMMENDED = ("LDA, effects", "GibbsLDA, effects")


@pytest.fixture(scope="module")
def results():
    return effects.load(effects.RESULTS / "effects.json.xz")


def test_the_page_is_made_from_the_numbers(results):
    assert (effects.RESULTS / "effects.md").read_text("utf-8") == effects.page(results)


@pytest.mark.parametrize("name", RECOMMENDED)
@pytest.mark.parametrize(("tokens", "most"), [(60, 0.031), (250, 0.034)])
def test_where_stm_was_run_effects_cover_with_less_error(results, name, tokens, most):
    found, n_corpora = effects.gathered(results, "stm", tokens)
    own = found[name]
    assert n_corpora == 40
    assert 0.90 <= own["covered"] / own["n"] <= 0.98
    assert 0.95 <= own["product"] / own["square"] <= 1.05
    assert (own["error"] / own["n"]) ** 0.5 < most


@pytest.mark.parametrize("name", ["LDA", "FeatureLDA", "StructuralLDA"])
@pytest.mark.parametrize("tokens", [60, 250])
def test_models_for_effects_find_many_topics_and_cover(results, name, tokens):
    found, _ = effects.gathered(results, "20 topics", tokens)
    own = found[f"{name}, effects"]
    assert own["n_found"] / own["n"] >= 0.95
    assert 0.90 <= own["covered"] / own["n"] <= 0.98


def test_a_corpus_has_the_effect_that_is_planted():
    corpus = effects.draw_corpus(1, "3 topics", 20)
    assert corpus["parts"] == ("Dirichlet", "0/1")
    theta, x = corpus["theta"], corpus["data"]["x"]
    found = theta[x == 1].mean(axis=0) - theta[x == 0].mean(axis=0)
    assert abs(found - corpus["effect"]).max() < 0.1
    assert corpus["X"].sum(axis=1).min() == 20
