# SPDX-License-Identifier: BSD-3-Clause
"""Orthogonalised PLSA: topics that share few words."""

from __future__ import annotations

from topicfold.learn.learner import Learner
from topicfold.models.plsa import PLSA
from topicfold.models.streamed import STREAM, not_streamed
from topicfold.parts.steps import PhiStep
from topicfold.phi.orthogonal import OrthogonalPhi, overlap


class OrthogonalPLSA(PLSA):
    """OTM: PLSA with a penalty for words that several topics share.

    Maximises ``ℒ − λ O``, ``O = Σ_k Σ_{k'≠k} Σ_w φ_kw φ_k'w``. Time O((nnz + V)·K) per
    iteration.

    Parameters
    ----------
    theta_step : ThetaStep or None, default=None
        How expected counts become mixtures; None is plain PLSA. Graph models with
        orthogonal topics: ``LaplacianPLSA(phi_step=OrthogonalPhi())``, or here
        ``theta_step=LaplacianTheta()``.

    Attributes
    ----------
    overlap_ : float
        O of the fitted topics divided by K (K − 1): the mean over pairs of topics.

    References
    ----------
    E. Yao et al. (2014). Probabilistic text modeling with orthogonalized topics. SIGIR.

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import OrthogonalPLSA
    >>> X = np.array([[5, 4, 2, 0], [4, 6, 1, 0], [0, 2, 3, 5], [0, 1, 6, 4]])
    >>> plain = OrthogonalPLSA(2, weight=0.0, random_state=0).fit(X).overlap_
    >>> OrthogonalPLSA(2, weight=5.0, random_state=0).fit(X).overlap_ < plain
    True
    """

    sides = None
    _without = ("phi_step", "sides", *STREAM)
    partial_fit = not_streamed("its topics need the counts of the whole corpus")
    _part = OrthogonalPhi
    weight: float = 1.0
    paper_lambda: float | None = None
    eta: float = 1.0

    def _phi_step(self) -> PhiStep:
        step: PhiStep = self._made_part()
        return step

    def _fitted_algorithm(self, algorithm: Learner) -> None:
        pairs = max(self._size * (self._size - 1), 1)
        self.overlap_ = overlap(self.components_.T) / pairs
