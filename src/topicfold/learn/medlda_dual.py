# SPDX-License-Identifier: BSD-3-Clause
"""The multi-class margin of Crammer and Singer by dual coordinate ascent.

For features z_d, classes y_d, cost C and loss ℓ it solves

    min_η  ½ Σ_y ‖η_y‖² + C Σ_d max_y (ℓ·[y ≠ y_d] + η_y·z_d − η_{y_d}·z_d)

through its dual: ``η_y = Σ_d a_dy z_d`` with ``Σ_y a_dy = 0``, ``a_dy ≤ C·[y = y_d]``,
where ``-a_dy = μ_dy ≥ 0`` are the multipliers of the margins (docs/math.md §8). The
variables of one document are moved to their best values together, in turn; sweeps
over the documents go on until no document breaks its optimality condition

    max_y g_dy − min_{y: a_dy < C·[y = y_d]} g_dy ≤ tol·ℓ

with ``g_dy = η_y·z_d + ℓ·[y ≠ y_d]``.

Time O(C·K) a document and sweep, for C classes and K features; memory O(D·C).

References
----------
K. Crammer & Y. Singer (2001). On the algorithmic implementation of multiclass
kernel-based vector machines. JMLR 2.

S. Keerthi, S. Sundararajan, K. Chang, C. Hsieh & C. Lin (2008). A sequential dual
method for large scale multi-class linear SVMs. KDD. doi:10.1145/1401890.1401942
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topicfold.learn.medlda_kernels import sweep_documents

Float64 = NDArray[np.float64]


class MarginDual:
    """Classifier weights and multipliers, kept between calls of `solve`.

    Parameters
    ----------
    labels : ndarray of int of shape (D,)
        Classes from 0; -1 for a document without one, which has no margin.
    n_classes, n_features : int
        Sizes.
    cost : float
        C, the largest sum of a document's multipliers.
    loss : float
        ℓ, the margin asked for.

    Attributes
    ----------
    duals : ndarray of shape (D, n_classes)
        a_dy.
    weights : ndarray of shape (n_classes, n_features)
        η.

    Examples
    --------
    >>> dual = MarginDual(np.array([0, 1]), 2, 2, cost=1.0, loss=1.0)
    >>> dual.solve(np.eye(2), tol=1e-9, max_sweeps=100) < 1e-9
    True
    >>> dual.weights
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """

    def __init__(
        self,
        labels: NDArray[np.integer],
        n_classes: int,
        n_features: int,
        *,
        cost: float,
        loss: float,
    ) -> None:
        self.labels = np.asarray(labels, dtype=np.int64)
        self.cost = float(cost)
        self.loss = float(loss)
        self.duals = np.zeros((len(self.labels), n_classes))
        self.weights = np.zeros((n_classes, n_features))

    def solve(self, features: Float64, *, tol: float, max_sweeps: int) -> float:
        """Raise the dual from the multipliers of the last call.

        Parameters
        ----------
        features : ndarray of float64 of shape (D, n_features)
            z_d; a row of zeros is a document without words and is left out.
        tol : float
            Largest violation of the optimality condition, in units of the loss.
        max_sweeps : int
            Most passes over the documents.

        Returns
        -------
        float
            The largest violation seen in the last sweep, in units of the loss.
        """
        features = np.ascontiguousarray(features, dtype=np.float64)
        self.weights = self.duals.T @ features
        norms = np.einsum("dk,dk->d", features, features)
        violation = np.inf
        for _ in range(max_sweeps):
            violation = sweep_documents(
                features,
                norms,
                self.labels,
                self.cost,
                self.loss,
                tol * self.loss,
                self.duals,
                self.weights,
            )
            if violation <= tol * self.loss:
                break
        # Without the rounding that the sweeps have added up.
        self.weights = self.duals.T @ features
        return float(violation / self.loss)

    def slacks(self, features: Float64) -> Float64:
        """Return ``ξ_d = max_y (ℓ·[y ≠ y_d] + η_y·z_d − η_{y_d}·z_d)``, 0 if unknown.

        Parameters
        ----------
        features : ndarray of shape (D, n_features)
            z_d.
        """
        known = self.labels >= 0
        own = np.maximum(self.labels, 0)[:, None]
        scores = features @ self.weights.T
        scores -= np.take_along_axis(scores, own, axis=1)
        scores += self.loss
        np.put_along_axis(scores, own, 0.0, axis=1)
        slacks: Float64 = np.where(known, scores.max(axis=1), 0.0)
        return slacks

    def objective(self, features: Float64) -> float:
        """Return the primal, ``½ Σ_y ‖η_y‖² + C Σ_d ξ_d``.

        Parameters
        ----------
        features : ndarray of shape (D, n_features)
            z_d.
        """
        squared = float((self.weights**2).sum())
        return 0.5 * squared + self.cost * float(self.slacks(features).sum())

    def dual_objective(self) -> float:
        """Return the dual, ``−½ Σ_y ‖η_y‖² + ℓ Σ_d Σ_{y≠y_d} μ_dy``."""
        squared = float((self.weights**2).sum())
        return self.loss * float(np.maximum(self.duals, 0).sum()) - 0.5 * squared
