# SPDX-License-Identifier: BSD-3-Clause
"""What a file from a stranger must not do: run code, crash, or load nonsense."""

import sys

import numpy as np
import pytest
from scipy import sparse

from topicfold.exceptions import ModelFileError
from topicfold.persistence import (
    load_estimator,
    read_bundle,
    save_estimator,
    write_bundle,
)

pytestmark = pytest.mark.usefixtures("dummy")


def hostile(path, **changes):
    """Write a file with a node of one's own."""
    node = {
        "type": "estimator",
        "class": "topicfold._dummy:Model",
        "params": {},
        "fitted": {},
    }
    meta = {"model": {**node, **changes}, "unsaved_parameters": [], "extra": {}}
    return write_bundle(path, kind="estimator", meta=meta)


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
