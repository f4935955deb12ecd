# SPDX-License-Identifier: BSD-3-Clause
"""A saved model whose sides were tampered with is refused; the error names the part."""

import copy

import numpy as np
import pytest
from fuzz.models import fitted

from topicfold import LDA, MultimodalLDA
from topicfold.classify.linear_rule import LinearRule
from topicfold.evidence import Response
from topicfold.exceptions import DataError, ModelFileError
from topicfold.persistence import load_estimator, save_estimator
from topicfold.phi import OtherCounts


def two_columns(side):
    side.columns_ = [dict(column) for column in side.columns_]
    return side.columns_


# Of each model: what is changed in its side, and the part that the error names.
CHANGES = {
    "authors": [
        (lambda s: setattr(s, "entity_topics_", s.entity_topics_[:, :2]), "shape"),
        (lambda s: setattr(s, "entity_topics_", s.entity_topics_ * 2), "sum to 1"),
        (lambda s: setattr(s, "names_", s.names_[:1]), "names_"),
        (lambda s: setattr(s, "names_", s.names_[[0] * len(s.names_)]), "twice"),
        (lambda s: setattr(s, "sizes_", ["x"]), "whole numbers"),
    ],
    "multimodal": [
        (lambda s: setattr(s, "components_", s.components_[:, :2]), "components_"),
        (lambda s: setattr(s, "name", "other"), "group_names_"),
    ],
    "response": [
        (lambda s: setattr(s, "coef_", s.coef_[:1]), "coef_"),
        (lambda s: setattr(s, "scale_", 0.0), "scale_"),
        (lambda s: setattr(s, "kind", "magic"), "kind"),
    ],
    "classes": [
        (lambda s: setattr(s, "classes_", s.classes_[:1]), "coef_"),
        (lambda s: delattr(s, "std_errors_"), "std_errors_"),
    ],
    "links": [
        (lambda s: setattr(s, "link_topics_", -s.link_topics_), "negative"),
        (lambda s: setattr(s, "intercept_", "high"), "intercept_"),
        (lambda s: setattr(s, "pairs_", 3), "pairs_"),
        (lambda s: setattr(s, "pairs_", s.pairs_[:, :1]), "pairs_"),
        (lambda s: setattr(s, "pairs_", s.pairs_ + 10_000), "pairs_"),
    ],
    "features": [
        (lambda s: two_columns(s)[1].update(knots=np.zeros(4)), "year"),
        (lambda s: two_columns(s)[0].update(levels=[1, 2]), "source"),
        (
            lambda s: two_columns(s)[1].update(kind="number", mean="0", scale=1.0),
            "mean|isfinite",
        ),
        (lambda s: setattr(s, "prior_", -s.prior_), "prior_"),
    ],
    "labels": [
        (lambda s: setattr(s, "n_background", 7), "classes_"),
        (lambda s: setattr(s, "topic_names_", [1, 2, 3]), "topic_names_"),
    ],
    "dynamic": [
        (lambda s: setattr(s, "dates_", np.zeros(3)), "dates_"),
        (lambda s: setattr(s, "by_value_", "no"), "by_value_"),
    ],
    "seeds": [
        (lambda s: setattr(s, "seed_words_", {"a": [99], "b": [2]}), "seed words"),
        (lambda s: setattr(s, "topic_names_", ["a"]), "topic_names_"),
    ],
}
CASES = [(name, *case) for name, cases in CHANGES.items() for case in cases]


@pytest.fixture(scope="module")
def models():
    return {name: fitted(name) for name in CHANGES}


@pytest.mark.parametrize(
    ("name", "change", "said"), CASES, ids=[f"{n}-{s}" for n, _, s in CASES]
)
def test_sides_that_do_not_fit_are_refused(models, tmp_path, name, change, said):
    model = copy.deepcopy(models[name])
    change(model.sides_[0])
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match=said):
        load_estimator(tmp_path)


@pytest.mark.parametrize("name", CHANGES)
def test_sound_ones_are_taken(models, tmp_path, name):
    save_estimator(models[name], tmp_path)
    back = load_estimator(tmp_path)
    np.testing.assert_array_equal(back.components_, models[name].components_)


@pytest.mark.parametrize("sides", [3, {}, [3], ["Authors"]], ids=repr)
def test_sides_that_are_none_are_refused(models, tmp_path, sides):
    model = copy.deepcopy(models["authors"])
    model.sides_ = sides
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match="sides"):
        load_estimator(tmp_path)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        *(("objective_history_", 3), ("objective_history_", None)),
        *(("edits_", [1]), ("topic_names_", [1, 2, 3]), ("topic_names_", ["a"])),
        *(("n_iter_", []), ("n_iter_", -1), ("n_iter_", 2.5)),
    ],
)
def test_lists_of_other_things_are_refused(tmp_path, attribute, value):
    model = fitted("plsa")
    setattr(model, attribute, value)
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match=attribute):
        load_estimator(tmp_path)


@pytest.mark.parametrize(
    "numbers",
    [
        {"n_checked_": -1},
        {"n_checked_": 2.5},
        {"n_checked_": "2"},
        {"share_right_": 1.2},
        {"share_right_": None},
        {"n_effective_": 0.0},
        {"n_effective_": 1e60},
    ],
    ids=str,
)
def test_an_impossible_accuracy_is_refused(tmp_path, numbers):
    model = fitted("classifier")
    vars(model).update(numbers)
    model.save(tmp_path)
    with pytest.raises(ModelFileError, match=f"{next(iter(numbers))} is .*, not a"):
        load_estimator(tmp_path)


def test_a_class_that_comes_twice_is_refused(tmp_path):
    model = fitted("classifier")
    model.classifier_ = LinearRule.of(model.classifier_)
    model.classifier_.classes_ = np.array([1, 1])
    model.save(tmp_path)
    with pytest.raises(ModelFileError, match="twice"):
        load_estimator(tmp_path)


def test_classes_that_are_no_array_are_refused(tmp_path):
    model = fitted("medlda")
    model.classes_ = model.classes_.tolist()
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match="classes_"):
        load_estimator(tmp_path)


def test_a_step_with_a_table_for_a_number_is_refused(tmp_path):
    model = fitted("structural")
    model.phi_step_.strength = np.ones((2, 3))
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match="'strength' parameter"):
        load_estimator(tmp_path)


@pytest.mark.parametrize("value", [3, "0", [[0, 1]], [7], [0.5], [0, 1, 2], None])
def test_a_background_that_is_not_some_topics_is_refused(tmp_path, value):
    model = fitted("response")
    model.sides_[0].background = value
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match="background of a response is not a list"):
        load_estimator(tmp_path)
    side = Response(background=value, weight=1.0)
    with pytest.raises(DataError, match="give the numbers of some topics, from 0 to 2"):
        LDA(3, sides=[side]).fit(np.eye(4) + 1.0, response=np.arange(4.0))


@pytest.mark.parametrize("value", ["classes", np.ones((12, 3)), -1.0])
def test_a_step_with_another_information_is_refused(tmp_path, value):
    model = fitted("correlated")
    model.theta_step_.information_ = value
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match="information_ is"):
        load_estimator(tmp_path)


@pytest.mark.parametrize(
    ("name", "attribute", "value", "said"),
    [
        ("bursty", "word_frequencies_", np.zeros(9), "are all zero"),
        (
            "bursty",
            "doc_topic_prior_",
            np.full(3, 1e-320),
            "has numbers that are not from 1.17549e-38 to",
        ),
        (
            "correlated",
            "topic_correlations_",
            np.array(1.0),
            r"has shape \(\), not \(3, 3\)",
        ),
        ("bursty", "strength_", False, "is False, not a number from 1e-300"),
        ("bursty", "strength_", 0.0, "is 0.0, not a number from 1e-300"),
        ("lda", "topic_word_prior_", 1e149, "is 1e.149, not a number from 0 to 1e.30"),
        ("correlated", "topic_correlations_", 3, "is not an array of numbers"),
        ("batches", "n_batches_", -5, "is -5, not a whole number from 0"),
        ("lda", "n_batches_", None, "is None, not a whole number"),
        ("batches", "n_documents_seen_", 1.5, "is 1.5, not a whole number"),
        ("batches", "tokens_seen_", -1.0, "is -1.0, not a number"),
    ],
)
def test_an_array_that_gives_no_number_is_refused(
    tmp_path, name, attribute, value, said
):
    model = fitted(name)
    setattr(model, attribute, value)
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match=f"{attribute} {said}"):
        load_estimator(tmp_path)


def test_matrices_without_their_sides_are_refused(models, tmp_path):
    model = copy.deepcopy(models["multimodal"])
    model.sides_ = []
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match="group_names_"):
        load_estimator(tmp_path)


def test_matrices_beside_other_sides_are_taken(tmp_path):
    first, second = np.eye(4) + 1.0, np.eye(4)[:, :3] + 1.0
    side = OtherCounts("third")
    model = MultimodalLDA(2, sides=[side], max_iter=3, tol=0, random_state=0)
    model.fit({"a": first, "b": second}, third=second)
    save_estimator(model, tmp_path)
    np.testing.assert_array_equal(
        load_estimator(tmp_path).components_, model.components_
    )


def test_labels_of_no_words_are_still_predicted():
    model = fitted("labels")
    model.topic_totals_[:] = 1e-320
    assert hasattr(model.sides_[0], "clue_weights_")
    assert np.isfinite(model.predict_proba(np.ones((3, 9)))).all()
