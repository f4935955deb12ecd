# SPDX-License-Identifier: BSD-3-Clause
"""PLSA on the document manifold: neighbours in a graph have similar topics."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from topicfold.learn import Callback
from topicfold.learn.plsa import PlsaEM
from topicfold.models.base import MAX_UPDATES
from topicfold.models.graph_base import GraphPLSA, documented
from topicfold.steps.base import PhiStep, ThetaStep
from topicfold.steps.laplacian import LaplacianTheta
from topicfold.steps.locally_consistent import LocallyConsistentTheta
from topicfold.steps.pareto import ParetoTheta, sweep_steps

Vector = NDArray[np.float64]


@documented
class LaplacianPLSA(GraphPLSA):
    """LapPLSI: PLSA whose neighbouring documents have close topic mixtures.

    Maximises ``ℒ − (λ/2) Σ_ij W_ij ‖θ_i − θ_j‖²``. With `graph` it is network PLSA
    (Mei et al. 2008). Labels given to `fit` (−1: unknown) join documents of one
    class and part those of different classes in the graph.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    weight : float, default=10.0
        Strength of the smoothing, free of scale: nats a token for a squared distance
        of one across every edge, ``λ = 2 · weight · tokens / Σ_ij W_ij``.
    paper_lambda : float or None, default=None
        The paper's λ (1000 there) instead of `weight`.
    step : float, default=0.4
        The paper's γ (0.1 there): share of the neighbours' mean in one smoothing.
    max_smoothings : int, default=5
        Most smoothings an iteration; too many collapse the topics.
    {common_parameters}

    Attributes
    ----------
    strength_ : float
        The λ used.
    n_smoothings_ : int
        Smoothings of the last iteration.
    {common_attributes}

    References
    ----------
    D. Cai, Q. Mei, J. Han & C. Zhai (2008). Modeling hidden topics on document
    manifold. CIKM. doi:10.1145/1458082.1458202

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import LaplacianPLSA
    >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]])
    >>> model = LaplacianPLSA(2, n_neighbors=1, random_state=0).fit(X)
    >>> model.graph_.nnz
    4
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **GraphPLSA._parameter_constraints,
        "weight": [Interval(Real, 0, None, closed="left")],
        "paper_lambda": [Interval(Real, 0, None, closed="left"), None],
        "step": [Interval(Real, 0, 1, closed="right")],
        "max_smoothings": [Interval(Integral, 1, MAX_UPDATES, closed="both")],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        weight: float = 10.0,
        paper_lambda: float | None = None,
        step: float = 0.4,
        max_smoothings: int = 5,
        n_neighbors: int = 10,
        similarity: Any = "cosine",
        edge_weights: str = "similarity",
        sublinear_tf: bool = True,
        graph: Any = None,
        phi_step: PhiStep | None = None,
        transform_neighbors: bool = False,
        init: Any = "documents",
        max_iter: int = 200,
        tol: float = 1e-5,
        max_doc_updates: int = 500,
        doc_tol: float = 1e-4,
        random_state: Any = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            n_components,
            n_neighbors=n_neighbors,
            similarity=similarity,
            edge_weights=edge_weights,
            sublinear_tf=sublinear_tf,
            graph=graph,
            phi_step=phi_step,
            transform_neighbors=transform_neighbors,
            init=init,
            max_iter=max_iter,
            tol=tol,
            max_doc_updates=max_doc_updates,
            doc_tol=doc_tol,
            random_state=random_state,
            device=device,
            n_jobs=n_jobs,
            callbacks=callbacks,
            verbose=verbose,
        )
        self.weight = weight
        self.paper_lambda = paper_lambda
        self.step = step
        self.max_smoothings = max_smoothings

    def _theta_step(self) -> ThetaStep:
        return LaplacianTheta(
            self.weight,
            paper_lambda=self.paper_lambda,
            step=self.step,
            max_smoothings=self.max_smoothings,
        )

    def _fitted_algorithm(self, algorithm: PlsaEM) -> None:
        state = algorithm.theta_context.state
        self.strength_ = float(state.strength)
        self.n_smoothings_ = int(state.smoothings[-1])

    def _neighbor_shares(self, lengths: Vector, degrees: Vector) -> Vector:
        share = 1.0 - (1.0 - self.step) ** self.n_smoothings_
        return np.where(degrees > 0, share, 0.0)


@documented
class LocallyConsistentPLSA(GraphPLSA):
    """LTM: PLSA whose neighbouring documents have mixtures of small divergence.

    Maximises ``ℒ − (λ/2) Σ_ij W_ij (KL(θ_i‖θ_j) + KL(θ_j‖θ_i))``. Labels given to
    `fit` (−1: unknown) join documents of one class and part those of different
    classes in the graph.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    weight : float, default=1.0
        Strength of the smoothing, free of scale: nats a token for a divergence of
        one across every edge, ``λ = 2 · weight · tokens / Σ_ij W_ij``.
    paper_lambda : float or None, default=None
        The paper's λ instead of `weight`.
    {common_parameters}

    Attributes
    ----------
    strength_ : float
        The λ used.
    {common_attributes}

    References
    ----------
    D. Cai, X. Wang & X. He (2009). Probabilistic dyadic data analysis with local and
    global consistency. ICML. doi:10.1145/1553374.1553388

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import LocallyConsistentPLSA
    >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]])
    >>> model = LocallyConsistentPLSA(2, n_neighbors=1, random_state=0).fit(X)
    >>> bool(np.ptp(model.doc_topics_[:2], axis=0).max() < 0.1)
    True
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **GraphPLSA._parameter_constraints,
        "weight": [Interval(Real, 0, None, closed="left")],
        "paper_lambda": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        weight: float = 1.0,
        paper_lambda: float | None = None,
        n_neighbors: int = 10,
        similarity: Any = "cosine",
        edge_weights: str = "similarity",
        sublinear_tf: bool = True,
        graph: Any = None,
        phi_step: PhiStep | None = None,
        transform_neighbors: bool = False,
        init: Any = "documents",
        max_iter: int = 200,
        tol: float = 1e-5,
        max_doc_updates: int = 500,
        doc_tol: float = 1e-4,
        random_state: Any = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            n_components,
            n_neighbors=n_neighbors,
            similarity=similarity,
            edge_weights=edge_weights,
            sublinear_tf=sublinear_tf,
            graph=graph,
            phi_step=phi_step,
            transform_neighbors=transform_neighbors,
            init=init,
            max_iter=max_iter,
            tol=tol,
            max_doc_updates=max_doc_updates,
            doc_tol=doc_tol,
            random_state=random_state,
            device=device,
            n_jobs=n_jobs,
            callbacks=callbacks,
            verbose=verbose,
        )
        self.weight = weight
        self.paper_lambda = paper_lambda

    def _theta_step(self) -> ThetaStep:
        return LocallyConsistentTheta(self.weight, paper_lambda=self.paper_lambda)

    def _fitted_algorithm(self, algorithm: PlsaEM) -> None:
        self.strength_ = float(algorithm.theta_context.state.strength)

    def _neighbor_shares(self, lengths: Vector, degrees: Vector) -> Vector:
        pull = self.strength_ * degrees
        return pull / np.maximum(lengths + pull, 1e-300)


@documented
class DiscriminativePLSA(GraphPLSA):
    """DTM: PLSA that parts the far and joins the near, without a weight to choose.

    Two objectives, the log-likelihood ℒ and the separation ``Q2 = Σ_ij ‖θ_i − θ_j‖²
    / Σ_ij W_ij ‖θ_i − θ_j‖²``; every iteration raises one and lowers neither. Labels
    given to `fit` (−1: unknown) join documents of one class and part those of
    different classes in the graph. (Not the *dynamic* topic model.)

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    step : float, default=0.3
        The paper's γ (0.1 there): how far one sweep moves a document of mean length
        to its neighbours.
    {common_parameters}

    Attributes
    ----------
    separation_history_ : list of float
        Q2 after each iteration; never falls.
    accepted_history_ : list of float
        How much of each iteration's proposal was accepted: 1 all, 0 nothing.
    n_sweeps_, pull_ : int, float
        Sweeps of the last iteration; the neighbours' weight in one, in tokens.
    {common_attributes}

    References
    ----------
    S. Huh & S. E. Fienberg (2010). Discriminative topic modeling based on manifold
    learning. KDD. doi:10.1145/1835804.1835888

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import DiscriminativePLSA
    >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]])
    >>> model = DiscriminativePLSA(2, n_neighbors=1, random_state=0).fit(X)
    >>> bool((np.diff(model.separation_history_) >= 0).all())
    True
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **GraphPLSA._parameter_constraints,
        "step": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        step: float = 0.3,
        n_neighbors: int = 10,
        similarity: Any = "cosine",
        edge_weights: str = "similarity",
        sublinear_tf: bool = True,
        graph: Any = None,
        phi_step: PhiStep | None = None,
        transform_neighbors: bool = False,
        init: Any = "documents",
        max_iter: int = 200,
        tol: float = 1e-5,
        max_doc_updates: int = 500,
        doc_tol: float = 1e-4,
        random_state: Any = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            n_components,
            n_neighbors=n_neighbors,
            similarity=similarity,
            edge_weights=edge_weights,
            sublinear_tf=sublinear_tf,
            graph=graph,
            phi_step=phi_step,
            transform_neighbors=transform_neighbors,
            init=init,
            max_iter=max_iter,
            tol=tol,
            max_doc_updates=max_doc_updates,
            doc_tol=doc_tol,
            random_state=random_state,
            device=device,
            n_jobs=n_jobs,
            callbacks=callbacks,
            verbose=verbose,
        )
        self.step = step

    def _theta_step(self) -> ThetaStep:
        return ParetoTheta(step=self.step)

    def _fitted_algorithm(self, algorithm: PlsaEM) -> None:
        state = algorithm.theta_context.state
        self.separation_history_ = [float(value) for value in state.separation]
        self.accepted_history_ = [float(part) for part in state.accepted]
        self.pull_ = float(state.pull)
        self.n_sweeps_ = int(state.sweeps[-1])

    def _neighbor_shares(self, lengths: Vector, degrees: Vector) -> Vector:
        return 1.0 - (1.0 - sweep_steps(lengths, degrees, self.pull_)) ** self.n_sweeps_
