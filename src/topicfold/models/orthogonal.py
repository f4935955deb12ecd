# SPDX-License-Identifier: BSD-3-Clause
"""Orthogonalised PLSA: topics that share few words."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

from sklearn.utils._param_validation import Interval

from topicfold.learn import Callback
from topicfold.learn.plsa import PlsaEM
from topicfold.models.plsa import PLSA
from topicfold.steps.base import PhiStep, ThetaStep
from topicfold.steps.orthogonal import OrthogonalPhi, overlap


class OrthogonalPLSA(PLSA):
    """OTM: PLSA that pays for words which several topics share.

    Maximises ``ℒ − λ O``, ``O = Σ_k Σ_{k'≠k} Σ_w φ_kw φ_k'w``. Time O((nnz + V)·K) an
    iteration.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    weight : float, default=1.0
        Strength, free of scale: nats a token for topics that overlap as if each were
        the corpus, ``λ = weight · tokens / (K (K − 1) Σ_w p_w²)``. Useful from 0.1
        to 10.
    paper_lambda : float or None, default=None
        The λ of the paper's M-step instead of `weight`: twice the λ above, since the
        paper drops the 2 of the derivative.
    eta : float, default=1.0
        Dirichlet concentration of the topics; 1 is none, as in the paper.
    theta_step : ThetaStep or None, default=None
        How expected counts become mixtures; None is plain PLSA. Graph models with
        orthogonal topics: ``LaplacianPLSA(phi_step=OrthogonalPhi())``, or here
        ``theta_step=LaplacianTheta()``.
    init, max_iter, tol, doc_tol, random_state, device, n_jobs, callbacks, verbose :
        As in :class:`PLSA`.

    Attributes
    ----------
    overlap_ : float
        O of the fitted topics divided by K (K − 1): the mean over pairs of topics.
    components_, doc_topics_, objective_history_, n_iter_, converged_ :
        As in :class:`PLSA`.
    word_frequencies_, doc_lengths_ :
        As in :class:`PLSA`.

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

    _parameter_constraints: dict = {  # noqa: RUF012
        **PLSA._parameter_constraints,
        "weight": [Interval(Real, 0, None, closed="left")],
        "paper_lambda": [Interval(Real, 0, None, closed="left"), None],
        "eta": [Interval(Real, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        weight: float = 1.0,
        paper_lambda: float | None = None,
        eta: float = 1.0,
        theta_step: ThetaStep | None = None,
        init: Any = "documents",
        max_iter: int = 200,
        tol: float = 1e-5,
        doc_tol: float = 1e-4,
        random_state: Any = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.weight = weight
        self.paper_lambda = paper_lambda
        self.eta = eta
        self.theta_step = theta_step
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.doc_tol = doc_tol
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs
        self.callbacks = callbacks
        self.verbose = verbose

    @property
    def partial_fit(self) -> Any:  # type: ignore[override]
        """Not defined: topics are updated with the counts of the whole corpus."""
        raise AttributeError(
            "OrthogonalPLSA has no partial_fit: its topics need the counts of the "
            "whole corpus. Use fit."
        )

    def _phi_step(self) -> PhiStep:
        return OrthogonalPhi(self.weight, paper_lambda=self.paper_lambda, eta=self.eta)

    def _fitted_algorithm(self, algorithm: PlsaEM) -> None:
        pairs = max(self.n_components * (self.n_components - 1), 1)
        self.overlap_ = overlap(self.components_.T) / pairs
