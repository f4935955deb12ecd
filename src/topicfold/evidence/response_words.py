# SPDX-License-Identifier: BSD-3-Clause
"""Words beside topics: a linear model of tf-idf that predicts the same response.

Topics explain a response, but a few topics cannot distinguish all its words. A ridge
regression (numbers) or logistic regression (classes) of tf-idf weights,
``log(1 + x_dw) idf_w`` with rows of length one, sees every word. Both predictions
together are as good as the words' or better (benchmarks/results/sides_response.md).
Of numbers, hidden responses say how much of a prediction is the words' and how large
their coefficients may be: years need larger ones than ratings.
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
# Penalties and shares that are tried for numbers, and the fewest hidden responses.
PENALTIES, SHARES, FEWEST_HIDDEN = (0.03, 0.1, 0.3, 1.0, 3.0), (0.5, 0.7, 0.9, 1.0), 50


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


class Hidden(NamedTuple):
    """Numbers that topics have not learned from, and what they expect there.

    Attributes
    ----------
    rows : ndarray of int of shape (n_hidden,)
        The documents.
    means : ndarray of shape (n_hidden,)
        What topics expect, in the units of `targets` of `choose`.
    """

    rows: NDArray[np.int64]
    means: Matrix


def choose(
    X: sparse.csr_matrix,
    targets: Matrix,
    known: NDArray[np.bool_],
    hidden: Hidden | None,
) -> tuple[float, float]:
    """Return the penalty and the share of the words that predict hidden numbers best.

    `targets` are numbers (D, 1) of all documents, of which some are known.
    """
    if hidden is None or len(hidden.rows) < FEWEST_HIDDEN:
        return RIDGE, WORD_SHARE
    learned = known.copy()
    learned[hidden.rows] = False
    truth = targets[hidden.rows, 0]
    losses = {}
    for penalty in PENALTIES:
        model = learn_words(X[learned], targets[learned], False, penalty)
        words = model.means(X[hidden.rows], False)[:, 0]
        for share in SHARES:
            both = share * words + (1 - share) * hidden.means
            losses[penalty, share] = float(((truth - both) ** 2).mean())
    return min(losses, key=lambda pair: losses[pair])


def learn_words(
    X: sparse.csr_matrix, targets: Matrix, classes: bool, penalty: float = RIDGE
) -> ResponseWords:
    """Fit numbers (D, 1), or indicators of classes (D, C)."""
    idf = smooth_idf(X)
    rows = word_weights(X, idf)
    if not classes:
        ridge = Ridge(penalty, solver="sparse_cg").fit(rows, targets[:, 0])
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
