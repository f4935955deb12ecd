# SPDX-License-Identifier: BSD-3-Clause
"""Small estimators that pass for topicfold's own."""

import sys
import types

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted


class Step:
    """Not a BaseEstimator: only get_params."""

    def __init__(self, weight=1.0, graph=None):
        self.weight = weight
        self.graph = graph

    def get_params(self, deep=True):
        return {"weight": self.weight, "graph": self.graph}


class Model(TransformerMixin, BaseEstimator):
    _unsaved_parameters = ("callback", "random_state")

    def __init__(
        self, value=None, *, step=None, callback=None, random_state=None, hook=None
    ):
        self.value = value
        self.step = step
        self.callback = callback
        self.random_state = random_state
        self.hook = hook

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        self.components_ = X[:2] / 2
        self.feature_names_in_ = np.array(["a", "ψ", ""], dtype=object)
        self._cache = lambda: None
        return self

    def transform(self, X):
        check_is_fitted(self)
        return X @ self.components_.T

    def get_feature_names_out(self, input_features=None):
        return ["t0", "t1"]

    def _check_loaded(self):
        if hasattr(self, "components_") and (
            self.components_.shape[1] != self.n_features_in_
        ):
            msg = "components_ and n_features_in_ differ"
            raise ValueError(msg)


class NoParams:
    pass


def function():
    return Model()


@pytest.fixture
def dummy(monkeypatch):
    """Make the classes above a module of topicfold for one test."""
    module = types.ModuleType("topicfold._dummy")
    for item in (Step, Model, NoParams, function):
        monkeypatch.setattr(item, "__module__", "topicfold._dummy")
        setattr(module, item.__name__, item)
    module.PCA, module.sys = PCA, sys
    monkeypatch.setitem(sys.modules, "topicfold._dummy", module)
    return module


@pytest.fixture
def fitted(dummy):
    return dummy.Model(value=3).fit(np.arange(9.0).reshape(3, 3))
