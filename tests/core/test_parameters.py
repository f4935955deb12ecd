# SPDX-License-Identifier: BSD-3-Clause
"""Constructors are written out; what is valid and descriptions are inherited."""

import inspect
import re
import subprocess
import sys
from typing import ClassVar, get_origin

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV

from topicfold import (
    PLSA,
    LaplacianPLSA,
    TopicClassifier,
)
from topicfold.core.parameters import DeclaredParameters
from topicfold.registry import models


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(3)
    X = rng.poisson(0.7, (24, 30)) + (rng.random((24, 30)) < 0.1) * 6
    return sparse.csr_matrix(X.astype(float)), np.arange(24) % 2


def test_an_unknown_parameter_is_still_a_type_error():
    with pytest.raises(TypeError, match="nonsense"):
        PLSA(2, nonsense=1)
    with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
        PLSA(2).set_params(nonsense=1)


def test_a_grid_search_varies_the_neighbours(corpus):
    search = GridSearchCV(
        LaplacianPLSA(2, max_iter=3, random_state=0),
        {"graph__n_neighbors": [1, 3]},
        cv=2,
    )
    search.fit(corpus[0])
    assert search.best_estimator_.graph.n_neighbors in (1, 3)


@pytest.mark.parametrize("name", ["n_components", "max_iter"])
def test_true_is_no_number(name):
    with pytest.raises(ValueError, match=f"'{name}' parameter of PLSA must be an int"):
        PLSA(**{name: True}).fit(np.eye(3))


class Base(DeclaredParameters, BaseEstimator):
    """A base.

    Parameters
    ----------
    size : int, default=1
        How large.
    seed : int, default=0
        Where it starts.

    Attributes
    ----------
    found_ : int
        What was found.
    """

    _parameter_constraints = {"size": [int], "seed": [int]}  # noqa: RUF012
    found_: int
    scale: ClassVar[float] = 2.0
    exact: bool

    def __init__(self, size=1, *, seed=0):
        self._store_parameters(locals())

    def transform(self, X):
        """Turn X.

        Parameters
        ----------
        X : array
            Rows.
        """

    def fit(self, X, y=None, **data):
        """Learn.

        Parameters
        ----------
        X : array
            Counts.
        y : None
            Ignored.
        **data
            More.
        """


class Derived(Base):
    """A relative.

    Parameters
    ----------
    rate : float, default=0.5
        How fast.

    Notes
    -----
    None.
    """

    _parameter_constraints = {"rate": [float]}  # noqa: RUF012

    def __init__(self, size=7, *, rate=0.5):
        self._store_parameters(locals())

    def fit(self, X, y=None, *, links=None, **data):
        """Learn otherwise.

        Parameters
        ----------
        y : array
            Labels.
        links : array
            Pairs.
        """

    def predict(self, X):
        """Tell.

        Returns
        -------
        array
            What it is.
        """


def test_a_constructor_stores_its_arguments():
    assert list(inspect.signature(Derived).parameters) == ["size", "rate"]
    assert Derived(2, rate=0.1).get_params() == {"size": 2, "rate": 0.1}
    assert repr(Derived(rate=0.1)) == "Derived(rate=0.1)"
    assert (Base().size, Derived().size) == (1, 7)
    assert not hasattr(Base(), "found_")
    assert not hasattr(Derived(), "seed")
    assert set(Derived._parameter_constraints) == {"size", "seed", "rate", "exact"}
    assert Derived._parameter_constraints["exact"] == ["boolean"]
    with pytest.raises(TypeError, match=r"Derived.__init__\(\) .*argument 'seed'"):
        Derived(seed=3)
    with pytest.raises(TypeError, match="positional arguments"):
        Derived(2, 0.1)


def test_a_docstring_tells_of_inherited_parameters_too():
    assert "size : int, default=7\n    How large.\nrate :" in Derived.__doc__
    assert "Attributes\n----------\nfound_ : int\n    What was" in Derived.__doc__
    assert Derived.__doc__.endswith("Notes\n-----\nNone.")
    assert "seed" not in Derived.__doc__


def test_a_method_tells_of_parameters_as_its_bases_do():
    entries = (
        "X : array\n    Counts.\ny : array\n    Labels.\nlinks : array\n    Pairs."
    )
    assert Derived.fit.__doc__.endswith(f"\n{entries}\n**data\n    More.")
    told = "Parameters\n----------\nX : array\n    Rows.\n\nReturns\n-------\narray"
    assert Derived.predict.__doc__.startswith(f"Tell.\n\n{told}")
    assert Base.fit.__doc__.count("X : array") == 1


def test_a_method_tells_of_parameters_as_fit_does():
    doc = TopicClassifier.predict.__doc__
    assert "\nX : {array-like, sparse matrix} of shape (n_documents, n_terms)\n" in doc
    assert "\ny : " not in doc


def test_every_parameter_of_every_model_is_described_once():
    for entry in models():
        cls = entry.load()
        for name in inspect.signature(cls).parameters:
            found = re.findall(rf"^ *{name} :", cls.__doc__, re.MULTILINE)
            assert len(found) == 1, (cls, name)


def all_classes(cls):
    return {cls}.union(*map(all_classes, cls.__subclasses__()))


def test_every_annotation_without_underscore_is_a_parameter():
    for entry in models():
        entry.load()
    for cls in all_classes(DeclaredParameters):
        if not cls.__module__.startswith("topicfold."):
            continue
        of_class = inspect.get_annotations(cls, eval_str=True).items()
        names = {n for n, kind in of_class if get_origin(kind) is not ClassVar}
        public = {n for n in names if n == n.strip("_")}
        taken = [inspect.signature(c.__init__).parameters for c in all_classes(cls)]
        assert public <= set().union(*taken), cls
        assert not public & vars(cls).keys(), f"{cls}: defaults go into __init__"


def test_a_constructor_may_pass_its_arguments_on():
    class Own(Derived):
        def __init__(self, size=4):
            super().__init__(size, rate=0.2)

    assert list(inspect.signature(Own).parameters) == ["size"]
    assert (Own().size, Own().rate, Own(5).size) == (4, 0.2, 5)


@pytest.mark.slow
def test_no_docstring_is_needed():
    code = "from topicfold import LDA; print(LDA.__doc__, LDA(3))"
    done = subprocess.run(
        [sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "None LDA(n_components=3)\n"
