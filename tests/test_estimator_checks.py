# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's own checks for every estimator of the library."""

import warnings

import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from topicfold import LDA, PLSA

ESTIMATORS = [
    PLSA(n_components=2, max_iter=20, random_state=0),
    LDA(n_components=2, max_iter=20, random_state=0),
    LDA(n_components=2, max_iter=20, random_state=0, algorithm="variational"),
    LDA(n_components=2, max_iter=3, random_state=0, batch_size=8),
]


@pytest.mark.filterwarnings("ignore::topicfold.exceptions.EmptyDocumentWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_conventions(estimator, check):
    with warnings.catch_warnings():
        # The checks themselves use deprecated or noisy calls of their own.
        warnings.filterwarnings("ignore", module="sklearn")
        check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS[:2], ids=["PLSA", "LDA"])
def test_grid_search_by_held_out_likelihood(planted, estimator):
    search = GridSearchCV(clone(estimator), {"n_components": [1, 4]}, cv=3)
    assert search.fit(planted[0]).best_params_ == {"n_components": 4}
