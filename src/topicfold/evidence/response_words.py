# SPDX-License-Identifier: BSD-3-Clause
"""Words in addition to topics: a linear model on tf-idf that predicts the response.

Topics explain a response, but a few topics cannot distinguish all its words. A ridge
regression (numbers) or logistic regression (classes) of tf-idf weights,
``log(1 + x_dw) idf_w`` with rows of length one, uses every word. Both predictions
together are as good as that from words, or better
(benchmarks/results/sides_response.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression, Ridge

from topicfold.core.counts import smooth_idf
from topicfold.evidence.words import word_weights

Matrix = NDArray[np.float64]
# Penalties of the two regressions.
RIDGE = 1.0
INVERSE_PENALTY = 30.0
# Share of the words in a prediction.
WORD_SHARE = 0.7


class ResponseWords(NamedTuple):
    """A fitted linear model of words.

    Attributes
    ----------
    idf : ndarray of shape (n_terms,)
        Weights of the words.
    coef : ndarray of shape (n_outputs, n_terms)
        Coefficients.
    intercept : ndarray of shape (n_outputs,)
        Intercepts.
    """

    idf: Matrix
    coef: Matrix
    intercept: Matrix

    def means(self, X: sparse.csr_matrix, classes: bool) -> Matrix:
        """Return expected numbers (D, 1), or probabilities of classes (D, C)."""
        scores = word_weights(X, self.idf) @ self.coef.T + self.intercept
        return np.asarray(softmax(scores, axis=1) if classes else scores)


def learn_words(X: sparse.csr_matrix, targets: Matrix, classes: bool) -> ResponseWords:
    """Fit numbers (D, 1), or indicators of classes (D, C)."""
    idf = smooth_idf(X)
    rows = word_weights(X, idf)
    if not classes:
        ridge = Ridge(RIDGE, solver="sparse_cg").fit(rows, targets[:, 0])
        return ResponseWords(idf, ridge.coef_[None], np.array([ridge.intercept_]))
    found = LogisticRegression(C=INVERSE_PENALTY, max_iter=300)
    found.fit(rows, targets.argmax(axis=1))
    coef, intercept = np.zeros((targets.shape[1], X.shape[1])), np.zeros(len(targets.T))
    if len(found.classes_) == 2:  # one row, of the second
        coef[found.classes_[1]], intercept[found.classes_[1]] = (
            found.coef_[0],
            found.intercept_[0],
        )
    else:
        coef[found.classes_], intercept[found.classes_] = found.coef_, found.intercept_
    return ResponseWords(idf, coef, intercept)
