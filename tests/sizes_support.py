# SPDX-License-Identifier: BSD-3-Clause
"""Every model of the registry, with its data, for any number of topics.

From 8 topics on, arrays are padded to whole registers of 8: 3 and 8 topics have no
padding, 9 have much, 20 and 50 some.
"""

import inspect
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier

from topicfold import LDA, LSI, PLSA, LaplacianPLSA, TopicClassifier, TwoPhase
from topicfold.models.base import TopicModel
from topicfold.models.manifold import GraphPLSA
from topicfold.phi import DirichletPhi
from topicfold.registry import models
from topicfold.theta import DirichletTheta

SIZES = (3, 8, 9, 20, 50)
DTYPES = (np.float32, np.float64)
N_DOCUMENTS, N_TERMS = 64, 70
BLOCK_SIZE = 25
DOCUMENTS = np.arange(N_DOCUMENTS)
CLASSES = DOCUMENTS % 2
ENTRIES = {entry.name: entry for entry in models()}
# Options that change the way of learning or inference.
VARIANTS = {
    "lda-variational": (LDA, {"algorithm": "variational"}),
    "lda-online": (LDA, {"batch_size": 20}),
    "lda-online-variational": (LDA, {"batch_size": 20, "algorithm": "variational"}),
    "plsa-map": (
        PLSA,
        {"phi_step": DirichletPhi(1.2), "theta_step": DirichletTheta(1.1)},
    ),
    "laplacian-near": (LaplacianPLSA, {"transform_neighbors": True}),
}
# `n_components` is the most topics they may find.
OPEN = ("hdp", "tree")
NAMES = (*ENTRIES, *VARIANTS, "classifier")
OPTIONS = {
    "labeled": {"n_background": 1},  # and a topic for each label
    "seeded": {"seeds": {"a": [0, 1], "b": [5]}},
    "slda": {"kind": "classes", "weight": 2.0},
    "rtm": {"weight": 2.0},
}


def made(name, n_topics, **options):
    """Return a model that is not fitted."""
    if name == "classifier":
        return TopicClassifier(_few(PLSA, n_topics, **options))
    if name in VARIANTS:
        cls, own = VARIANTS[name]
        return _few(cls, n_topics, **own, **options)
    cls, base = ENTRIES[name].load(), ENTRIES[name].load_base()
    if base is not None:
        return cls(_few(base, n_topics, **options))
    return _few(cls, n_topics, **OPTIONS.get(name, {}), **options)


def _few(cls, n_topics, **options):
    accepted = inspect.signature(cls).parameters
    usual = {"n_components": n_topics, "max_iter": 3, "random_state": 0}
    if cls is not LSI:  # whose tolerance is that of a solver
        usual["tol"] = 0.0
    return cls(**{k: v for k, v in {**usual, **options}.items() if k in accepted})


def counts(dtype):
    """Counts of two classes, all documents different."""
    rng = np.random.default_rng(3)
    favourite = np.arange(N_TERMS) % 2 == CLASSES[:, None]
    X = rng.poisson(np.where(favourite, 1.0, 0.2)) + np.eye(N_DOCUMENTS, N_TERMS)
    return sparse.csr_matrix(X.astype(dtype))


def given(name, n_topics, X):
    """Return the arguments of `fit`: counts, labels and what else is known."""
    if name == "multimodal":
        return ({"words": X, "tags": counts(X.dtype)[:, ::-1]},), {}
    known = {
        "authors": {"authors": [["a", "b", "c"][d % 3 : d % 3 + 2] for d in DOCUMENTS]},
        "features": {"features": {"year": DOCUMENTS % 7, "kind": DOCUMENTS % 3 == 0}},
        "labeled": {"labels": [f"label {d % (n_topics - 1)}" for d in DOCUMENTS]},
        "rtm": {"links": [[d, d + 2] for d in DOCUMENTS[:-2:3]]},
        "dynamic": {"time": 2000 + DOCUMENTS % 4},
        "stamped": {"time": 2000 + DOCUMENTS % 4},
    }
    takes_labels = name == "classifier" or getattr(ENTRIES.get(name), "labels", "")
    return (X, CLASSES if takes_labels else None), known.get(name, {})


def fitted(name, n_topics, X, **options):
    """Return a model that was fitted with its data."""
    arguments, known = given(name, n_topics, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.RankWarning)
        return made(name, n_topics, **options).fit(*arguments, **known)


def learned(model):
    """Return all arrays that a fit has learned, by name."""
    found = {"components_": model.components_}
    for name in ("doc_topics_", "objective_history_"):
        if hasattr(model, name):
            found[name] = np.asarray(getattr(model, name))
    for number, side in enumerate(getattr(model, "sides_", ())):
        for name, value in vars(side).items():
            if name.endswith("_") and getattr(value, "dtype", None) in DTYPES:
                found[f"{number} {name}"] = value
    return found


def inferred(model, X):
    """Return what a fitted model says of documents, by the name of the method."""
    methods = ["transform"] if hasattr(model, "transform") else []
    if is_classifier(model):
        methods += [m for m in ("predict", "decision_function") if hasattr(model, m)]
    return {name: getattr(model, name)(X) for name in methods}


def same_bits(one, other):
    """Compare arrays by name."""
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


def takes_blocks(name):
    """Whether `fit` takes a corpus in blocks."""
    model = made(name, SIZES[0])
    whole = GraphPLSA | TwoPhase
    return (
        isinstance(model, TopicModel)
        and model._takes_blocks
        and not isinstance(model, whole)
    )


IN_BLOCKS = tuple(filter(takes_blocks, NAMES))


def cases(names, turn=0, n_sizes=None):
    """Return (name, number of topics, type): every model has both types.

    It has all sizes too, or `n_sizes` of them, and the next model the next.
    """
    return [
        pytest.param(name, n_topics, dtype, id=f"{name}-{n_topics}-{dtype.__name__}")
        for row, name in enumerate(names)
        for column in range(n_sizes or len(SIZES))
        for n_topics in [SIZES[(row + column) % len(SIZES)]]
        for dtype in [DTYPES[(row + column + turn) % 2]]
    ]
