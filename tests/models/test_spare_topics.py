# SPDX-License-Identifier: BSD-3-Clause
"""Topics that nothing is left for: fits stay finite and say so."""

import warnings

import numpy as np
import pytest

from topicfold import LDA, PLSA, GibbsLDA, LocallyConsistentPLSA, WordNetworkLDA
from topicfold.exceptions import SpareTopicsWarning

MODELS = [LDA, PLSA, WordNetworkLDA, GibbsLDA, LocallyConsistentPLSA]


def _check_finite(model, X):
    theta = model.transform(X)
    for rows in (model.components_, model.doc_topics_, theta):
        assert np.isfinite(rows).all()
        np.testing.assert_allclose(rows.sum(axis=1), 1, atol=1e-4)
    assert np.isfinite(model.objective_history_).all()


@pytest.mark.parametrize("model", [LDA, PLSA, LocallyConsistentPLSA])
def test_identical_documents_give_copies_and_a_warning(model):
    X = np.tile([3.0, 2, 1, 0, 4], (40, 1))
    with pytest.warns(SpareTopicsWarning, match="3 of 4 topics are empty or copies"):
        fitted = model(4, random_state=0).fit(X)
    _check_finite(fitted, X)


def test_a_sampler_that_leaves_topics_empty_says_so():
    X = np.ones((20, 1))
    with pytest.warns(SpareTopicsWarning):
        fitted = GibbsLDA(4, max_iter=20, random_state=0).fit(X)
    _check_finite(fitted, X)


@pytest.mark.parametrize("model", MODELS)
def test_documents_of_one_word_have_finite_mixtures(model):
    words = np.random.default_rng(0).integers(0, 8, 60)
    X = np.eye(8)[words]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpareTopicsWarning)
        _check_finite(model(4, random_state=0).fit(X), X)


def test_topics_that_differ_are_not_warned_of(planted):
    with warnings.catch_warnings():
        warnings.simplefilter("error", SpareTopicsWarning)
        LDA(4, random_state=0).fit(planted[0])
