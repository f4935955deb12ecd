# SPDX-License-Identifier: BSD-3-Clause
"""What a file from a stranger must not do: run code, crash, or load nonsense."""

import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from topicfold import (
    FSTM,
    LDA,
    LSI,
    PLSA,
    BurstyLDA,
    CorrelatedLDA,
    HierarchicalDirichletLDA,
    LabeledLDA,
    LaplacianPLSA,
    MedLDA,
    SupervisedLDA,
    TopicClassifier,
    TwoPhase,
)
from topicfold.exceptions import MissingAttributeError, ModelFileError
from topicfold.persistence import (
    load_estimator,
    read_bundle,
    save_estimator,
    write_bundle,
)
from topicfold.report import report_html

pytestmark = pytest.mark.usefixtures("dummy")


def hostile(path, strings=None, **changes):
    """Write a file with a node of one's own."""
    node = {
        "type": "estimator",
        "class": "topicfold._dummy:Model",
        "params": {},
        "fitted": {},
    }
    meta = {"model": {**node, **changes}, "unsaved_parameters": [], "extra": {}}
    arrays = {"s": np.ones(1)} if strings else {}
    return write_bundle(
        path, kind="estimator", arrays=arrays, strings=strings, meta=meta
    )


@pytest.mark.parametrize(
    "name",
    [
        "os:system",
        "builtins:eval",
        "subprocess:Popen",
        "sklearn.decomposition:PCA",
        "topicfold_evil:Model",
        "topicfold._dummy:NoParams",
        "topicfold._dummy:function",
        "topicfold._dummy:PCA",
        "topicfold.cli.main:app",
        "topicfold._dummy:sys",
        "topicfold._dummy:sys.exit",
        "topicfold._dummy:Missing",
        "topicfold._dummy",
        "topicfold.missing:Model",
        "topicfold.__main__:Model",
        "topicfold..os:system",
        ".topicfold:Model",
        "topicfold._dummy:Model\n",
        "",
        ":",
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_classes_outside_topicfold_are_not_loaded(tmp_path, name, nested):
    if nested:
        inner = {"type": "estimator", "class": name, "params": {}, "fitted": {}}
        file = hostile(tmp_path, params={"step": inner})
    else:
        file = hostile(tmp_path, **{"class": name})
    with pytest.raises(ModelFileError, match="class"):
        load_estimator(file)


def test_refused_modules_are_not_even_imported(tmp_path):
    sys.modules.pop("this", None)
    with pytest.raises(ModelFileError, match="refused"):
        load_estimator(hostile(tmp_path, **{"class": "this:Zen"}))
    assert "this" not in sys.modules


@pytest.mark.parametrize(
    "changes",
    [
        {"class": 3},
        {"params": {"unknown": 1}},
        {"params": []},
        {"params": {"value": {"type": "code"}}},
        {"params": {"value": {}}},
        {"params": {"value": {"type": "array", "key": "missing"}}},
        {"params": {"value": {"type": "scalar", "dtype": "object", "value": 1}}},
        {"params": {"value": {"type": "scalar", "dtype": "int8", "value": "x"}}},
        {"params": {"value": {"type": "sparse", "format": "eval"}}},
        {"params": {"value": {"type": "list", "items": 3}}},
        {
            "params": {
                "value": {"type": "objects", "items": [1], "object": 1, "shape": [9]}
            }
        },
        {"fitted": {"fit": 1}},
        {"fitted": {"__class__": 1}},
        {"fitted": {"_cache": 1}},
    ],
    ids=repr,
)
def test_nodes_without_sense_are_refused(tmp_path, changes):
    with pytest.raises(ModelFileError, match="Cannot load"):
        load_estimator(hostile(tmp_path, **changes))


@pytest.mark.parametrize("meta", [{}, {"model": 3}, {"model": {"type": "estimator"}}])
def test_missing_nodes_are_refused(tmp_path, meta):
    write_bundle(tmp_path, kind="estimator", meta=meta)
    with pytest.raises(ModelFileError, match="Cannot load"):
        load_estimator(tmp_path)


def test_deep_nodes_are_no_crash(tmp_path):
    node = 1
    for _ in range(90):
        node = {"type": "list", "items": [node]}
    back = load_estimator(hostile(tmp_path, params={"value": node})).value
    for _ in range(90):
        (back,) = back
    assert back == 1


@pytest.mark.parametrize(
    ("part", "values"),
    [("indices", [0, 7]), ("indices", [-1, 0]), ("indptr", [0, 1, 9])],
)
def test_sparse_indices_out_of_bounds_are_refused(tmp_path, dummy, part, values):
    save_estimator(dummy.Model(sparse.csr_array(np.eye(2))), tmp_path)
    bundle = read_bundle(tmp_path)
    bundle.arrays[f"params/value/{part}"] = np.array(values, np.int32)
    write_bundle(tmp_path, kind="estimator", arrays=bundle.arrays, meta=bundle.meta)
    with pytest.raises(ModelFileError, match="Cannot load"):
        load_estimator(tmp_path)


def test_check_loaded_speaks(tmp_path, dummy, fitted):
    fitted.n_features_in_ = 5
    save_estimator(dummy.Model(step=fitted), tmp_path)
    with pytest.raises(
        ModelFileError, match=r"Model is not consistent: components_ and n_features_in_"
    ):
        load_estimator(tmp_path)


def test_check_loaded_on_missing_attributes(tmp_path, fitted):
    del fitted.n_features_in_
    save_estimator(fitted, tmp_path)
    with pytest.raises(ModelFileError, match=r"not consistent.*n_features_in_"):
        load_estimator(tmp_path)


def test_parameters_of_later_versions_have_their_default(tmp_path):
    assert load_estimator(hostile(tmp_path, params={"value": 1})).step is None


def test_other_kinds_are_refused(tmp_path):
    write_bundle(tmp_path, kind="topic_data")
    with pytest.raises(ModelFileError, match="saved 'topic_data', not a 'estimator'"):
        load_estimator(tmp_path)


@pytest.mark.parametrize("container", ["csr_array", "csc_array"])
@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("indptr", np.array([0, 1, -1], np.int32)),
        ("indptr", np.array([1, 1, 2], np.int32)),
        ("indptr", np.array([0, 2, 1], np.int32)),
        ("indptr", np.array([0.0, 1.0, 2.0])),
        ("indices", np.array([0, 2**40])),
        ("data", np.array([1.0, np.nan])),
        ("data", np.ones(1)),
    ],
    ids=str,
)
def test_sparse_arrays_are_checked_before_scipy_sees_them(
    tmp_path, dummy, container, part, values
):
    save_estimator(dummy.Model(getattr(sparse, container)(np.eye(2))), tmp_path)
    bundle = read_bundle(tmp_path)
    bundle.arrays[f"params/value/{part}"] = values
    write_bundle(tmp_path, kind="estimator", arrays=bundle.arrays, meta=bundle.meta)
    with pytest.raises(ModelFileError, match=r"Cannot load .* A sparse array"):
        load_estimator(tmp_path)


def changed_model(path, model, *, params=None, arrays=None, fitted=None, without=()):
    """Save a model, change its parameters and arrays behind its back."""
    model.save(path)
    bundle = read_bundle(path)
    bundle.meta["model"]["params"].update(params or {})
    bundle.meta["model"]["fitted"].update(fitted or {})
    for name in without:
        del bundle.meta["model"]["fitted"][name]
    bundle.arrays.update({f"fitted/{name}": a for name, a in (arrays or {}).items()})
    return write_bundle(
        path,
        kind="estimator",
        arrays=bundle.arrays,
        strings=bundle.strings,
        meta=bundle.meta,
    )


@pytest.mark.parametrize("inline", [False, True])
def test_short_strings_beside_a_long_one_take_no_more_than_their_letters(
    tmp_path, inline
):
    words = [*["x"] * 20_000, "y" * 20_000]
    node = {"shape": [20_001], "object": False}
    node |= {"items": words} if inline else {"key": "s"}
    node["type"] = "objects" if inline else "strings"
    file = hostile(tmp_path, {"s": words}, fitted={"words_": node})
    tracemalloc.start()
    try:
        found = load_estimator(file).words_
        assert tracemalloc.get_traced_memory()[1] < 100 * file.stat().st_size
    finally:
        tracemalloc.stop()
    assert found.dtype == object
    assert found.tolist() == words


@pytest.mark.parametrize("kind", ["strings", "list", "tuple", "array"])
def test_what_is_under_a_key_is_named_once(tmp_path, kind):
    node = {"type": kind, "key": "s", "shape": [1], "object": True}
    for n_times in (1, 2):
        again = {"type": "list", "items": [node] * n_times}
        file = hostile(tmp_path, {"s": ["x"]}, fitted={"words_": again})
        if n_times == 1:
            assert len(load_estimator(file).words_) == 1
    with pytest.raises(ModelFileError, match=r"is invalid \(KeyError\('s'\)\)"):
        load_estimator(file)


@pytest.fixture(scope="module")
def counts():
    return np.random.default_rng(0).poisson(1.0, size=(20, 8))


@pytest.mark.parametrize(
    ("model", "params"),
    [
        (PLSA(2, max_iter=2), {"doc_tol": -1.0}),
        (PLSA(2, max_iter=2), {"device": "tpu"}),
        (PLSA(2, max_iter=2), {"n_components": 3}),
    ],
    ids=str,
)
def test_parameters_of_a_file_pass_the_bounds(tmp_path, counts, model, params):
    changed_model(tmp_path, model.fit(counts), params=params)
    with pytest.raises(
        ModelFileError, match=f"not consistent.*{next(iter(params))}|3, "
    ):
        load_estimator(tmp_path)


def test_more_threads_than_a_machine_has_are_refused(tmp_path, counts):
    model = PLSA(2, max_iter=2).fit(counts)
    changed_model(tmp_path, model, params={"n_jobs": 2**40})
    with pytest.raises(ValueError, match="more than 1024 threads"):
        load_estimator(tmp_path).transform(counts)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"components_": np.full((2, 8), np.nan, np.float32)}, "not finite"),
        ({"components_": np.full((2, 8), 0.5, np.float32)}, "do not sum to 1"),
        ({"components_": np.eye(2, 8) * 2 - np.eye(2, 8, 1)}, "negative"),
        ({"components_": np.ones((2, 7)) / 7}, "shape"),
        ({"doc_topics_": np.ones((20, 2))}, "doc_topics_ has rows that"),
        ({"doc_topics_": np.ones((20, 3)) / 3}, "doc_topics_ has shape"),
        ({"doc_lengths_": np.ones(3)}, "doc_lengths_ has shape"),
        (
            {"word_frequencies_": -np.ones(8)},
            "word_frequencies_ has numbers that are not from 0",
        ),
        ({"doc_topic_prior_": np.ones(9)}, "doc_topic_prior_ has shape"),
        ({"topic_totals_": np.array([1.0, np.inf])}, "not finite"),
    ],
    ids=str,
)
def test_fitted_arrays_that_give_nonsense_are_refused(
    tmp_path, counts, arrays, message
):
    changed_model(tmp_path, LDA(2, max_iter=2).fit(counts), arrays=arrays)
    with pytest.raises(ModelFileError, match=message):
        load_estimator(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arrays": {"training_counts_/data": np.int8}}, "are invalid"),
        ({"arrays": {"label_mixtures_/data": np.logical_not}}, "are invalid"),
        ({"arrays": {"label_mixtures_/data": np.negative}}, "are invalid"),
        ({"fitted": {"training_counts_": 1.5}}, "are invalid"),
        ({"without": ["training_counts_"]}, "are invalid"),
        ({"without": ["label_mixtures_"]}, "are invalid"),
    ],
    ids=str,
)
def test_the_neighbours_of_two_phases_are_checked(tmp_path, counts, changes, message):
    model = TwoPhase(PLSA(2, max_iter=2), neighbor_weight=0.5)
    model.fit(counts, np.arange(20) % 2)
    arrays = {
        f"{name}_/data": getattr(model, f"{name}_").data
        for name in ("training_counts", "label_mixtures")
    }
    new = {
        n: np.asarray(change(arrays[n]))
        for n, change in changes.get("arrays", {}).items()
    }
    changed_model(tmp_path, model, **{**changes, "arrays": new})
    with pytest.raises(ModelFileError, match=message):
        load_estimator(tmp_path)


def test_without_the_training_documents_two_phases_say_so(counts):
    model = TwoPhase(PLSA(2, max_iter=2), neighbor_weight=0)
    model.fit(counts, np.arange(20) % 2).set_params(neighbor_weight=0.5)
    with pytest.raises(MissingAttributeError, match="did not keep its training"):
        model.transform(counts)


@pytest.mark.parametrize("name", ["sides_", "topic_totals_"])
def test_a_fitted_attribute_that_a_file_lacks_is_named(tmp_path, counts, name):
    model = SupervisedLDA(2, weight=1.0, max_iter=2).fit(counts, np.arange(20.0))
    changed_model(tmp_path, model, without=[name])
    loaded = load_estimator(tmp_path)
    assert not hasattr(loaded, name)
    with pytest.raises(
        MissingAttributeError, match=f"this SupervisedLDA has no {name}"
    ):
        loaded.topic_effects([f"w{i}" for i in range(8)])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fitted": {"topic_totals_": None}}, "topic_totals_ is not an array"),
        ({"arrays": {"topic_totals_": np.zeros(2)}}, "topic_totals_ are all zero"),
        ({"fitted": {"topic_word_prior_": 1e200}}, "topic_word_prior_ has 1 entries"),
        ({"arrays": {"doc_topic_prior_": np.ones(2, np.float16)}}, "of 16 bits"),
    ],
    ids=str,
)
def test_fitted_numbers_that_are_none_are_refused(tmp_path, counts, changes, message):
    model = SupervisedLDA(2, weight=1.0, max_iter=2).fit(counts, np.arange(20.0))
    changed_model(tmp_path, model, **changes)
    with pytest.raises(ModelFileError, match=message):
        load_estimator(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("word_regression_", "word_regression_ "),
        ("regression_mean_", "regression_mean_ "),
        ("base_", "base_ is not a fitted topic model"),
    ],
)
def test_parts_of_two_phases_that_are_none_are_refused(tmp_path, counts, name, message):
    model = TwoPhase(PLSA(2, max_iter=2)).fit(counts, np.arange(20) % 2)
    assert hasattr(model, name)
    changed_model(tmp_path, model, fitted={name: None})
    with pytest.raises(ModelFileError, match=message):
        load_estimator(tmp_path)


def test_a_base_of_other_words_is_refused(tmp_path, counts):
    model = TwoPhase(PLSA(2, max_iter=2)).fit(counts, np.arange(20) % 2)
    model.base_ = PLSA(2, max_iter=2).fit(counts[:, 1:])
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match="base_ has another number of words"):
        load_estimator(tmp_path)


def test_classes_out_of_order_are_refused(tmp_path, counts):
    model = TopicClassifier(PLSA(2, max_iter=2)).fit(counts, np.arange(20) % 3)
    changed_model(tmp_path, model, arrays={"classes_": model.classes_[::-1].copy()})
    with pytest.raises(ModelFileError, match="classes and its rule do not match"):
        load_estimator(tmp_path)


def test_a_property_names_the_attribute_that_it_needs(tmp_path, counts):
    model = TopicClassifier(PLSA(2, max_iter=2)).fit(counts, np.arange(20) % 2)
    assert model.accuracy_ is not None
    changed_model(tmp_path, model, without=["share_right_"])
    with pytest.raises(MissingAttributeError, match="has no share_right_"):
        _ = load_estimator(tmp_path).accuracy_
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        _ = model.colour


@pytest.mark.parametrize(
    "fitted",
    [
        {"temperature_": 0},
        {"scales_": {"type": "list", "items": [1e149, 0.0]}},
        {"n_checked_": 10**30},
    ],
    ids=str,
)
def test_numbers_that_give_no_probabilities_are_refused(tmp_path, counts, fitted):
    model = TopicClassifier(PLSA(2, max_iter=2), cv=2).fit(counts, np.arange(20) % 2)
    changed_model(tmp_path, model, fitted=fitted)
    with pytest.raises(ModelFileError, match=f"{next(iter(fitted))} is"):
        load_estimator(tmp_path)


def test_a_rule_is_of_numbers(tmp_path, counts):
    model = TopicClassifier(PLSA(2, max_iter=2), cv=2).fit(counts, np.arange(20) % 2)
    model.classifier_.intercept_ = np.array(["a"])
    model.save(tmp_path)
    with pytest.raises(ModelFileError, match="intercept_ is not an array of numbers"):
        load_estimator(tmp_path)


def test_neighbours_of_few_labels_are_the_documents(tmp_path, counts):
    """Graph models may have kept fewer documents than they have; these may not."""
    y = np.where(np.arange(20) < 8, np.arange(20) % 2, -1)
    model = TopicClassifier(random_state=0, cv=0).fit(counts, y)
    assert model.neighbor_shares_ is not None
    model.save(tmp_path)
    load_estimator(tmp_path)
    part = model.model_.models_[0]
    part.training_counts_ = part.training_counts_[:13]
    model.save(tmp_path)
    with pytest.raises(ModelFileError, match="documents do not match"):
        load_estimator(tmp_path)


def test_the_history_of_a_model_that_has_none_is_a_list(tmp_path, counts):
    model = TwoPhase(PLSA(2, max_iter=2)).fit(counts, np.arange(20) % 2)
    model.objective_history_ = True
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match="objective_history_ is not a list"):
        load_estimator(tmp_path)


def test_whether_a_fit_converged_is_yes_or_no(tmp_path, counts):
    model = LDA(2, max_iter=2).fit(counts)
    model.converged_ = np.array([1.0, 2.0])
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match="neither True nor False"):
        load_estimator(tmp_path)


def test_a_response_is_explained_by_the_kind_that_was_learned(counts):
    model = SupervisedLDA(2, kind="classes", weight=2.0, max_iter=2, random_state=0)
    model.fit(counts, np.arange(20) % 2)
    classes = [effect.label for effect in model.topic_effects()]
    assert set(classes) == {0, 1}
    model.kind = "real"  # as a file may say
    assert [effect.label for effect in model.topic_effects()] == classes


TABLE = {"type": "dict", "items": {"transform": "table"}}
NOTHING = {"type": "dict", "items": {"transform": None}}
WORDS = {"type": "objects", "items": [None] * 8, "shape": [8], "object": True}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fitted": {"feature_names_in_": 3}}, "not names of columns"),
        ({"fitted": {"feature_names_in_": WORDS}}, "not names of columns"),
        ({"fitted": {"_sklearn_output_config": 3}}, "_sklearn_output_config is 3"),
        ({"fitted": {"_sklearn_output_config": TABLE}}, "_sklearn_output_config is"),
        ({"fitted": {"_sklearn_output_config": NOTHING}}, "_sklearn_output_config is"),
        ({"params": {"doc_tol": 10**400}}, "more than 300 digits"),
        ({"fitted": {"n_iter_": 10**400}}, "more than 300 digits"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_what_scikit_learn_reads_is_checked(tmp_path, counts, changes, message):
    changed_model(tmp_path, PLSA(2, max_iter=2).fit(counts), **changes)
    with pytest.raises(ModelFileError, match=message):
        load_estimator(tmp_path)


def test_as_many_names_as_columns(tmp_path, counts):
    words = [f"w{i}" for i in range(8)]
    model = PLSA(2, max_iter=2).fit(pd.DataFrame(counts, columns=words))
    save_estimator(model, tmp_path)
    assert load_estimator(tmp_path).feature_names_in_.tolist() == words
    model.feature_names_in_ = model.feature_names_in_[:7]
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match="feature_names_in_ has 7 names for 8"):
        load_estimator(tmp_path)


def test_a_number_of_many_digits_is_not_saved(tmp_path, dummy):
    with pytest.raises(ModelFileError, match="more than 300 digits"):
        save_estimator(dummy.Model(10**400), tmp_path)


def test_a_model_of_no_words_is_refused(tmp_path, counts):
    model = PLSA(2, max_iter=2).fit(counts)
    model.components_, model.n_features_in_ = np.empty((2, 0)), 0
    model.word_frequencies_ = np.empty(0)
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match="n_features_in_ is 0"):
        load_estimator(tmp_path)


def correlated_step(n_topics):
    X = np.random.default_rng(0).poisson(1.0, (20, 8))
    return CorrelatedLDA(n_topics, max_iter=1, random_state=0).fit(X).theta_step_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: setattr(m, "graph_", m.graph_[:, :19]), "graph_ is not a matrix"),
        (lambda m: setattr(m, "graph_", 3), "graph_ is not a matrix"),
        (lambda m: setattr(m, "graph_", -m.graph_), "graph_ is not a matrix"),
        (
            lambda m: setattr(
                m, "training_counts_", sparse.vstack([m.training_counts_] * 2)
            ),
            "training_counts_ is not a matrix",
        ),
        (lambda m: setattr(m, "weight_", None), "weight_ is None"),
        (lambda m: setattr(m, "theta_step_", correlated_step(4)), "gamma_ has shape"),
    ],
    ids=["columns", "number", "negative", "documents", "weight", "step"],
)
def test_a_graph_is_one_of_the_documents(tmp_path, counts, change, message):
    model = LaplacianPLSA(2, max_iter=2, transform_neighbors=True, random_state=0)
    save_estimator(model.fit(counts), tmp_path)
    load_estimator(tmp_path)
    change(model)
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match=message):
        load_estimator(tmp_path)


@pytest.mark.parametrize("n_classes", [0, 1])
@pytest.mark.parametrize("cls", [MedLDA, SupervisedLDA])
def test_a_model_of_classes_has_two(tmp_path, counts, cls, n_classes):
    options = {"kind": "classes", "weight": 1.0} if cls is SupervisedLDA else {}
    model = cls(2, max_iter=2, **options).fit(counts, np.arange(20) % 2)
    learned = model if cls is MedLDA else model.sides_[0]
    for name in ("coef_", "classes_", "std_errors_"):
        if hasattr(learned, name):
            setattr(learned, name, getattr(learned, name)[:n_classes])
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match="classes_"):
        load_estimator(tmp_path)


@pytest.mark.parametrize("model", [FSTM(2, max_iter=2), LSI(2)])
@pytest.mark.parametrize("sides", [[], 3])
@pytest.mark.parametrize("name", ["sides_", "content_groups_", "group_names_"])
def test_sides_of_a_model_that_takes_none_are_refused(
    tmp_path, counts, model, name, sides
):
    model = clone(model).fit(counts)
    setattr(model, name, sides)
    save_estimator(model, tmp_path)
    message = f"{name} are not for {type(model).__name__}"
    with pytest.raises(ModelFileError, match=message):
        load_estimator(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("theta_step_", "is not a step"),
        ("doc_topic_prior_", "are not for TopicClassifier"),
        ("topic_word_prior_", "are not for TopicClassifier"),
    ],
)
def test_what_a_classifier_has_not_is_refused(tmp_path, counts, name, message):
    model = TopicClassifier(PLSA(2, max_iter=2), cv=0).fit(counts, np.arange(20) % 2)
    setattr(model, name, -1)
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match=f"{name} {message}"):
        load_estimator(tmp_path)


@pytest.mark.parametrize("name", ["theta_step_", "prevalence_names_"])
def test_what_another_model_would_have_is_checked(tmp_path, counts, name):
    model = PLSA(2, max_iter=2).fit(counts)
    setattr(model, name, 3)
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match=f"{name} is not"):
        load_estimator(tmp_path)


def test_labels_of_nothing_predict_nothing(tmp_path, counts):
    model = LabeledLDA(n_background=2, max_iter=2, unlabeled_weight=1.0)
    model.fit(counts, np.arange(20) % 2)
    side = model.sides_[0]
    side.classes_ = side.classes_[:0]
    model.topic_names_ = side.topic_names_ = side.topic_names_[:2]
    model.components_, model.doc_topics_ = (
        model.components_[:2],
        model.doc_topics_[:, :2],
    )
    for name in ("doc_topic_prior_", "topic_totals_"):
        if hasattr(model, name):
            setattr(model, name, getattr(model, name)[:2])
    model.components_ /= model.components_.sum(axis=1, keepdims=True)
    model.doc_topics_ /= model.doc_topics_.sum(axis=1, keepdims=True)
    save_estimator(model, tmp_path)
    loaded = load_estimator(tmp_path)
    with pytest.raises(MissingAttributeError, match="without any known label"):
        loaded.predict(counts)


def test_a_model_of_no_topics_is_refused(tmp_path, counts):
    model = HierarchicalDirichletLDA(3, max_iter=3).fit(counts)
    for name in ("components_", "doc_topic_prior_", "topic_totals_"):
        if hasattr(model, name):
            setattr(model, name, getattr(model, name)[:0])
    model.doc_topics_ = model.doc_topics_[:, :0]
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match="it has no topics"):
        load_estimator(tmp_path)


def test_a_strength_of_many_digits_is_a_number(tmp_path, counts):
    model = BurstyLDA(2, max_iter=2).fit(counts)
    model.strength_ = 10**25
    save_estimator(model, tmp_path)
    assert np.isfinite(load_estimator(tmp_path).transform(counts)).all()


def test_edits_of_any_model_are_checked(tmp_path, counts):
    model = LSI(2).fit(counts)
    model.edits_ = 3
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match="edits_ is not a list of dict"):
        load_estimator(tmp_path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("total_squares_", lambda value: []),
        ("total_squares_", lambda value: -1.0),
        ("n_documents_seen_", lambda value: 1.5),
        ("singular_values_", np.negative),
        ("singular_values_", lambda value: value[None]),
        ("term_weights_", lambda value: 3),
        ("term_base_", lambda value: value[:, [0, 0]]),
        ("term_base_", lambda value: value[1:]),
        ("doc_topics_", lambda value: value[1:]),
        ("doc_topics_", lambda value: None),
    ],
)
def test_lsi_is_checked(tmp_path, counts, name, change):
    model = LSI(2, keep_documents=True, random_state=0).fit(counts)
    save_estimator(model, tmp_path)
    load_estimator(tmp_path)
    setattr(model, name, change(getattr(model, name)))
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match=f"LSI is not consistent: .*{name}"):
        load_estimator(tmp_path)


def test_a_variational_stream_goes_on_from_totals_of_nothing(counts):
    model = LDA(2, algorithm="variational", max_iter=2, random_state=0).fit(counts)
    model.topic_totals_[0] = 1e-320
    assert np.isfinite(model.partial_fit(counts).components_).all()


@pytest.mark.parametrize("given", [3, 0.5, np.ones(20), np.ones((19, 2)), "no"])
def test_embeddings_that_are_not_those_of_the_documents_are_none(counts, given):
    model = LDA(2, max_iter=2, random_state=0).fit(counts)
    model.embeddings_ = given
    assert model.topic_data().embeddings is None
    model.embeddings_ = np.ones((len(model.doc_topics_), 2))
    model.added_embeddings_ = given
    assert model.topic_data().embeddings is None


@pytest.mark.parametrize(
    ("model", "name", "number"),
    [
        (LDA(2, max_iter=2), "topic_totals_", 1e149),
        (LDA(2, max_iter=2), "doc_topic_prior_", 1e149),
        (MedLDA(2, max_iter=2), "word_weights_", 1e149),
        (LSI(2), "term_weights_", 1e149),
        (LSI(2), "term_weights_", -1.0),
    ],
)
def test_numbers_that_float32_cannot_add_are_refused(
    tmp_path, counts, model, name, number
):
    model = clone(model).fit(counts, np.arange(20) % 2)
    save_estimator(model, tmp_path)
    load_estimator(tmp_path)
    setattr(model, name, np.full_like(getattr(model, name), number, dtype=float))
    save_estimator(model, tmp_path)
    with pytest.raises(ModelFileError, match=f"{name} has numbers that are not from 0"):
        load_estimator(tmp_path)


@pytest.mark.parametrize("params", [{}, {"n_components": 2}])
@pytest.mark.parametrize("name", ["base:TopicModel", "sided:SidedModel"])
def test_a_base_of_models_is_no_model(tmp_path, name, params):
    hostile(tmp_path, **{"class": f"topicfold.models.{name}", "params": params})
    with pytest.raises(ModelFileError, match=r"base of models|takes no arguments"):
        load_estimator(tmp_path)


def test_a_number_of_numpy_is_a_number_of_the_report(tmp_path, counts):
    model = SupervisedLDA(2, kind="real", weight=1.0, max_iter=2)
    model.fit(counts, np.arange(20.0)).sides_[0].mean_ = np.float32(1.5)
    save_estimator(model, tmp_path)
    assert "<html" in report_html(load_estimator(tmp_path).topic_data())
