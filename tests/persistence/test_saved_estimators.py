# SPDX-License-Identifier: BSD-3-Clause
"""Estimators to files and back, and what a hostile file must not do."""

import collections
import functools
import importlib
import sys
import types

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

from topicfold import PLSA
from topicfold.exceptions import ModelFileError
from topicfold.persistence import (
    SavedEstimator,
    check_saveable,
    load_estimator,
    read_bundle,
    read_estimator,
    save_estimator,
    write_bundle,
)
from topicfold.theta import DirichletTheta, ThetaStep


def round_trip(model, path):
    return load_estimator(save_estimator(model, path))


VALUES = [
    None,
    True,
    -(10**30),
    0.1,
    float("inf"),
    "text",
    "",
    [],
    (),
    {},
    [1, "a", None],
    ["a", "b"],
    ("a", "b\n"),
    (1, 2.5),
    {"a": (1, [2]), "$float": "nan", "type": "array", "a/b": "c"},
    [[["deep"]]],
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_plain_values_survive_with_their_type(tmp_path, dummy, value):
    back = round_trip(dummy.Model(value), tmp_path).value
    assert back == value
    assert type(back) is type(value)
    if isinstance(value, dict) and value:
        assert type(back["a"]) is tuple


@pytest.mark.parametrize(
    "value",
    [np.float32(0.1), np.float64("nan"), np.int8(-3), np.uint64(2**64 - 1), np.True_],
)
def test_numpy_scalars_keep_their_dtype(tmp_path, dummy, value):
    back = round_trip(dummy.Model(value), tmp_path).value
    assert type(back) is type(value)
    np.testing.assert_array_equal(back, value)
    assert type(round_trip(dummy.Model(np.str_("x")), tmp_path).value) is str


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.array(2.5),
        np.empty((0, 3), np.int16),
        np.array(["a", "ψψ", ""]),
        np.array([["a", "b"]], dtype=object),
        np.array([], dtype=object),
        np.array(["a", None, 1, 2.5, True], dtype=object),
        np.array([], dtype="U3"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_arrays_survive(tmp_path, dummy, value):
    back = round_trip(dummy.Model({"in": [value]}), tmp_path).value["in"][0]
    assert back.dtype.kind == value.dtype.kind
    assert back.shape == value.shape
    assert back.tolist() == value.tolist()


@pytest.mark.parametrize("container", ["csr_matrix", "csr_array", "csc_array"])
@pytest.mark.parametrize("shape", [(4, 3), (0, 3)])
def test_sparse_matrices_survive(tmp_path, dummy, container, shape):
    value = getattr(sparse, container)(np.eye(*shape, dtype=np.float32))
    back = round_trip(dummy.Model(value), tmp_path).value
    assert type(back) is type(value)
    assert back.dtype == value.dtype
    assert back.indices.dtype == value.indices.dtype
    np.testing.assert_array_equal(back.toarray(), value.toarray())


def test_keys_that_look_the_same_do_not_collide(tmp_path, dummy):
    value = {
        "a/b": np.ones(1),
        "a": {"b": np.zeros(2)},
        "x/y": ["1"],
        "x": {"y": ["2"]},
    }
    back = round_trip(dummy.Model(value), tmp_path).value
    assert back["a/b"].tolist() == [1]
    assert back["a"]["b"].tolist() == [0, 0]
    assert (back["x/y"], back["x"]["y"]) == (["1"], ["2"])


def test_a_fitted_estimator_works_after_loading(tmp_path, dummy, fitted):
    X = np.ones((2, 3))
    back = round_trip(fitted, tmp_path / "model")
    assert type(back) is dummy.Model
    assert back.get_params() == fitted.get_params()
    np.testing.assert_array_equal(back.transform(X), fitted.transform(X))
    assert back.feature_names_in_.dtype == object
    assert back.feature_names_in_.tolist() == ["a", "ψ", ""]
    assert type(back.n_features_in_) is int
    assert not hasattr(back, "_cache")


def test_an_unfitted_estimator_stays_unfitted(tmp_path, dummy):
    back = round_trip(dummy.Model(1), tmp_path)
    with pytest.raises(NotFittedError):
        back.transform(np.ones((1, 3)))


def test_set_output_is_kept(tmp_path, fitted):
    fitted.set_output(transform="default")
    back = round_trip(fitted, tmp_path)
    assert back._sklearn_output_config == {"transform": "default"}


def test_nested_objects_survive_with_their_fit(tmp_path, dummy, fitted):
    graph = sparse.csr_array(np.eye(2))
    outer = dummy.Model([dummy.Step(2.0), fitted], step=dummy.Step(graph=graph))
    outer.base_ = fitted
    back = round_trip(outer, tmp_path)
    assert type(back.step) is dummy.Step
    np.testing.assert_array_equal(back.step.graph.toarray(), np.eye(2))
    assert back.value[0].weight == 2.0
    for inner in (back.value[1], back.base_):
        np.testing.assert_array_equal(inner.components_, fitted.components_)


def test_extras_come_back(tmp_path, fitted):
    save_estimator(
        fitted,
        tmp_path,
        extra_arrays={"idf": np.ones(3)},
        extra_strings={"vocabulary": ["a", "b", "c"]},
        extra_meta={"note": "x", "loss": float("nan")},
    )
    back = read_estimator(tmp_path)
    assert isinstance(back, SavedEstimator)
    assert list(back.arrays) == ["idf"]
    assert back.strings == {"vocabulary": ["a", "b", "c"]}
    assert back.meta["note"] == "x"
    assert np.isnan(back.meta["loss"])
    assert back.unsaved_parameters == ()
    assert back.model.n_features_in_ == 3


def test_listed_parameters_are_left_out_and_said(tmp_path, dummy, caplog):
    inner = dummy.Model(callback=[np.ones(2), print])
    outer = dummy.Model([inner], callback=len, random_state=np.random.default_rng(0))
    back = read_estimator(save_estimator(outer, tmp_path))
    assert back.unsaved_parameters == ("callback", "random_state", "value.0.callback")
    assert back.model.callback is None
    assert back.model.value[0].callback is None
    assert read_bundle(tmp_path).arrays == {}
    assert "saved without the parameters callback, random_state, value.0" in caplog.text
    assert outer.callback is len


def test_listed_parameters_that_can_be_saved_are(tmp_path, dummy):
    back = read_estimator(save_estimator(dummy.Model(random_state=3), tmp_path))
    assert back.model.random_state == 3
    assert back.unsaved_parameters == ()


@pytest.mark.parametrize(
    "value",
    [
        len,
        lambda x: x,
        functools.partial(len),
        np.random.default_rng(0),
        np.random.RandomState(0),
        {1, 2},
        {1: 2},
        b"bytes",
        1j,
        np.ones(2, complex),
        np.datetime64("2020"),
        np.array([object()]),
        np.ma.masked_array([1]),
        sparse.coo_array(np.eye(2)),
        PCA(),
        [[len]],
        types.MappingProxyType({}),
        collections.namedtuple("Pair", "a b")(1, 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_saved_is_named_and_nothing_written(tmp_path, dummy, value):
    with pytest.raises(ModelFileError, match="parameter 'hook' of Model"):
        save_estimator(dummy.Model(hook=value), tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_classes_and_objects_without_parameters_are_refused(tmp_path, dummy):
    for value in (dummy.Model, dummy.NoParams()):
        with pytest.raises(ModelFileError, match="parameter 'hook' of Model"):
            save_estimator(dummy.Model(hook=value), tmp_path / "x")


def test_fitted_attribute_that_cannot_be_saved_is_named(tmp_path, fitted):
    fitted.thing_ = {"a": len}
    with pytest.raises(ModelFileError, match="attribute 'thing_' of Model, key 'a'"):
        save_estimator(fitted, tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_a_model_that_contains_itself_is_refused(tmp_path, dummy):
    model = dummy.Model()
    model.step = model
    with pytest.raises(ModelFileError, match="nested"):
        save_estimator(model, tmp_path / "x")


def test_classes_outside_topicfold_are_not_saved(tmp_path, dummy):
    with pytest.raises(ModelFileError, match="only estimators and steps"):
        save_estimator(PCA(), tmp_path / "x")

    class Local(dummy.Model):
        pass

    with pytest.raises(ModelFileError, match="Cannot save the Local"):
        save_estimator(Local(), tmp_path / "x")
    Local.__module__, Local.__qualname__ = "topicfold._dummy", "Model"
    with pytest.raises(ModelFileError, match="another object has its name"):
        save_estimator(Local(), tmp_path / "x")
    assert not list(tmp_path.iterdir())


OWN_STEP = """
import numpy as np
from topicfold.theta import ThetaStep

print("imported")

class Sharper(ThetaStep):
    def __init__(self, power=1.1):
        self.power = power

    def update(self, counts, theta, context):
        np.power(counts, self.power, out=counts)
        counts /= np.maximum(counts.sum(axis=1, keepdims=True), 1e-30)
        return counts
"""


@pytest.fixture
def own_step(tmp_path, monkeypatch):
    (tmp_path / "own_steps.py").write_text(OWN_STEP)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("own_steps").Sharper
    sys.modules.pop("own_steps", None)


def test_a_class_of_the_users_own_is_loaded_only_when_it_is_trusted(
    tmp_path, own_step, capsys
):
    model = PLSA(2, theta_step=own_step(1.3), max_iter=2, random_state=0)
    file = save_estimator(model, tmp_path / "own.safetensors")
    sys.modules.pop("own_steps")
    capsys.readouterr()
    for trusted in ([], ["own_steps:Other"], ["os:system"]):
        with pytest.raises(ModelFileError, match=r"trusted=\['own_steps:Sharper'\]"):
            load_estimator(file, trusted=trusted)
    assert capsys.readouterr().out == ""
    assert "own_steps" not in sys.modules
    back = load_estimator(file, trusted=["own_steps:Sharper"])
    assert back.theta_step.power == 1.3
    cls = type(back.theta_step)
    assert load_estimator(file, trusted=[cls]).theta_step.power == 1.3
    with pytest.raises(ModelFileError, match=r"use \['own_steps:Sharper'\]"):
        load_estimator(file, trusted="own_steps:Sharper")
    (tmp_path / "own_steps.py").unlink()
    sys.modules.pop("own_steps")
    importlib.invalidate_caches()
    with pytest.raises(ModelFileError, match="cannot be imported"):
        load_estimator(file, trusted=["own_steps:Sharper"])


def test_trust_does_not_reach_what_is_no_estimator(tmp_path, dummy):
    save_estimator(dummy.Model(), tmp_path)
    bundle = read_bundle(tmp_path)
    for name in ("subprocess:Popen", "os:system", "sklearn.decomposition:PCA"):
        bundle.meta["model"]["class"] = name
        write_bundle(tmp_path, kind="estimator", meta=bundle.meta)
        with pytest.raises(ModelFileError, match="refused"):
            load_estimator(tmp_path, trusted=[name])


def test_what_cannot_be_saved_is_known_before_the_fit(dummy):
    check_saveable(dummy.Model([1, "a"], callback=len))
    with pytest.raises(ModelFileError, match="parameter 'hook' of Model"):
        check_saveable(dummy.Model(hook=len))

    class Local(ThetaStep):
        pass

    with pytest.raises(ModelFileError, match="Move it into such a module"):
        check_saveable(PLSA(2, theta_step=Local()))


def test_a_step_that_cannot_be_saved_is_told_when_the_fit_starts(caplog):
    class Local(ThetaStep):
        def prepare(self, context):
            raise KeyboardInterrupt  # nothing is learned yet

    with pytest.raises(KeyboardInterrupt):
        PLSA(2, theta_step=Local()).fit([[1, 2], [3, 4]])
    assert "can be fitted, but not saved. The class" in caplog.text
    caplog.clear()
    PLSA(2, theta_step=DirichletTheta(), random_state=0).fit([[1, 2], [3, 4]])
    assert "not saved" not in caplog.text
