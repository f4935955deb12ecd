# SPDX-License-Identifier: BSD-3-Clause
"""Orthogonalised PLSA: topics that share few words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from topicfold.learn import Callback
from topicfold.learn.learner import Learner
from topicfold.models.plsa import PLSA
from topicfold.models.streamed import not_streamed
from topicfold.parts.steps import PhiStep, ThetaStep
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
    partial_fit = not_streamed("its φ-step needs the counts of the whole corpus")
    _part = OrthogonalPhi
    weight: float
    paper_lambda: float | None
    eta: float

    def __init__(
        self,
        n_components: int = 10,
        *,
        weight: float = 1.0,
        paper_lambda: float | None = None,
        eta: float = 1.0,
        theta_step: ThetaStep | None = None,
        init: Any = "clusters",
        max_iter: int = 200,
        tol: float = 1e-5,
        doc_tol: float = 1e-4,
        random_state: Any = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        self._store_parameters(locals())

    def _phi_step(self) -> PhiStep:
        step: PhiStep = self._made_part()
        return step

    def _fitted_algorithm(self, algorithm: Learner) -> None:
        pairs = max(self._size * (self._size - 1), 1)
        self.overlap_ = overlap(self.components_.T) / pairs
