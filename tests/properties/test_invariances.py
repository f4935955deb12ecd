# SPDX-License-Identifier: BSD-3-Clause
"""Properties that hold for every corpus and every model."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from topicfold import LDA, PLSA
from topicfold.exceptions import EmptyDocumentWarning
from topicfold.phi import DirichletPhi

MODELS = {
    "plsa": lambda **options: PLSA(3, max_iter=6, tol=0, **options),
    "cvb0": lambda **options: LDA(3, max_iter=6, tol=0, learn_priors=False, **options),
    "posterior mode": lambda **options: LDA(
        3, phi_step=DirichletPhi(1.0), max_iter=6, tol=0, **options
    ),
    "variational": lambda **options: LDA(
        3, algorithm="variational", max_iter=6, tol=0, learn_priors=False, **options
    ),
}

counts = st.tuples(st.integers(1, 8), st.integers(1, 9)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(0, 6).map(float))
)


@pytest.mark.parametrize("name", MODELS)
@given(X=counts, seed=st.integers(0, 100))
@settings(max_examples=20)
def test_simplex_monotone_and_batch_invariant(name, X, seed):
    if X.sum() == 0:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)
        model = MODELS[name](random_state=seed).fit(X)
        theta = model.transform(X)
        halves = np.vstack([model.transform(row[None]) for row in X])
    for rows in (theta, model.doc_topics_, model.components_):
        assert (rows >= 0).all()
        np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-9)
    history = np.array(model.objective_history_)
    assert np.isfinite(history).all()
    if name != "cvb0":  # it does not maximise what it records
        assert (np.diff(history) >= -1e-8 * (1 + np.abs(history[:-1]))).all()
    np.testing.assert_array_equal(theta, halves)


@pytest.mark.parametrize("name", MODELS)
@given(X=counts, seed=st.integers(0, 100))
@settings(max_examples=10)
def test_order_of_documents_does_not_matter(name, X, seed):
    X = X + np.eye(*X.shape)
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.ones(X.shape[1]), size=3)
    order = rng.permutation(len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)
        one = MODELS[name](init=phi).fit(X)
        other = MODELS[name](init=phi).fit(X[order])
    np.testing.assert_allclose(one.doc_topics_[order], other.doc_topics_, atol=1e-8)
    np.testing.assert_allclose(one.components_, other.components_, atol=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_order_of_words_does_not_matter(planted, name):
    X = planted[0].astype(float)
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.ones(X.shape[1]), size=3)
    order = rng.permutation(X.shape[1])
    one = MODELS[name](init=phi).fit(X)
    other = MODELS[name](init=phi[:, order]).fit(sparse.csr_matrix(X[:, order]))
    np.testing.assert_allclose(one.components_[:, order], other.components_, atol=1e-9)
