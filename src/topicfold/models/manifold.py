# SPDX-License-Identifier: BSD-3-Clause
"""PLSA on the document manifold: neighbours in a graph have similar topics."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from topicfold.core import saved
from topicfold.core.counts import warn_empty
from topicfold.core.labels import encode_labels
from topicfold.core.parameters import NOT_NEGATIVE, POSITIVE_SHARE
from topicfold.core.typing import Array
from topicfold.exceptions import DataError
from topicfold.graph.build import NeighborGraph, graph_trust
from topicfold.graph.embedding import EmbeddingIndex, check_embeddings
from topicfold.graph.walks import places_of, walks_of
from topicfold.infer.fold_in import neighbor_fold_in
from topicfold.learn import Callback
from topicfold.learn.learner import Learner
from topicfold.models.base import check_asked
from topicfold.models.plsa import PLSA
from topicfold.models.streamed import not_streamed
from topicfold.parts.steps import DirichletPhi, PhiStep, ThetaStep
from topicfold.theta.graph import LaplacianTheta, LocallyConsistentTheta
from topicfold.theta.pareto import BLUNT, ParetoTheta, bluntness, sweep_steps

Vector = NDArray[np.float64]
# η of topics. Few words fix a mixture badly: in texts of fewer words than `SHORT`, the
# pseudo-count η − 1 and the strength of LapPLSI grow by SHORT / length, at most so
# often (benchmarks/results/starts.md).
DEFAULT_ETA = 1.05
SHORT, MOST_TIMES = 40.0, 4.0


class GraphPLSA(PLSA):
    """Base of the graph models; use one of its sub-classes.

    A sub-class defines its θ-step and how much the neighbours of a new document count.

    Parameters
    ----------
    graph : NeighborGraph, sparse matrix, edge list, networkx graph
        Which documents are joined: how nearest neighbours are found, or a graph that
        you have (links, authors, places). None is ``NeighborGraph()``, of the
        embeddings if `fit` is given some, otherwise of the words. Labels given to `fit`
        show how far the graph can be trusted; they change the graph only with
        ``NeighborGraph(label_edges=True)``.
    transform_neighbors : bool, default=False
        Keep the training matrix (a copy, in the saved model too) so that `transform`
        can use the nearest training documents of a new one.
    phi_step : PhiStep or None, default=None
        How expected counts become topics; None is ``DirichletPhi(1.05)``, up to 1.2
        in texts of fewer than 40 words; ``PhiStep()`` the plain step of the paper.

    Attributes
    ----------
    graph_ : csr_array of shape (n_documents, n_documents)
        The symmetric graph.
    embeddings_ : ndarray of shape (n_documents, n_dimensions)
        Unit rows of the embeddings; missing without.
    """

    _weighs_documents: ClassVar[bool] = False

    _parameter_constraints = {"graph": "no_validation"}  # noqa: RUF012
    sides = None
    partial_fit = not_streamed("its graph joins all documents of the corpus")
    graph: Any
    transform_neighbors: bool
    #: The parameter that adapts to the graph, and its value where that has full trust.
    _adapted: ClassVar[str] = "weight"
    _full_strength: ClassVar[float]
    #: Whether it is stronger in short texts.
    _grows: ClassVar[bool] = False

    def transform(self, X: Any, *, embeddings: Any = None, **side_data: Any) -> Array:
        """Return the topic mixtures of documents, rows on the simplex.

        By fold-in; with `transform_neighbors`, or with embeddings, each document is
        also pulled towards its nearest training documents, as much as training
        documents are towards theirs. Graph models have no sides.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            Deterministic, and the same for a document in any batch. Not the training θ:
            that is `doc_topics_`.
        """
        check_is_fitted(self, "components_")
        embedded = hasattr(self, "embeddings_")
        asked = check_asked(self, embedded, embeddings)
        if side_data or not (asked or (self.transform_neighbors and not embedded)):
            return super().transform(X, **side_data)
        X = self._counts(X, allow_empty=True)
        return self.fold_in_along(X, self.edges_to(X, embeddings))

    def edges_to(
        self, X: sparse.csr_matrix, embeddings: Any = None
    ) -> sparse.csr_array:
        """Return the weights of new documents' edges to their nearest training ones."""
        if hasattr(self, "embeddings_"):
            rows = check_embeddings(
                embeddings, X.shape[0], n_dimensions=self.embeddings_.shape[1]
            )
            neighbors = self._neighbors()
            if neighbors.of == "both":
                known = self.training_counts_, self.embeddings_
                return neighbors.near_both(*known, X, rows, self.n_jobs)
            index: Any = EmbeddingIndex(self.embeddings_)
            return neighbors.near(index, rows, n_jobs=self.n_jobs)
        if not hasattr(self, "training_counts_"):
            raise NotFittedError(
                f"this {type(self).__name__} was fitted with transform_neighbors=False "
                "and did not keep its training documents. Fit it again with "
                "transform_neighbors=True, or set it to False to use the words alone."
            )
        neighbors = self._neighbors()
        index = neighbors.index(self.training_counts_)
        return neighbors.near(index, X, n_jobs=self.n_jobs)

    def fold_in_along(self, X: sparse.csr_matrix, edges: sparse.csr_array) -> Array:
        """Return mixtures of documents that are pulled towards training documents."""
        return neighbor_fold_in(
            X,
            self.components_,
            edges=edges,
            training_theta=self.doc_topics_[: edges.shape[1]],  # more came later
            neighbor_shares=self._neighbor_shares,
            **self._fold_in_options(),
        )

    def _phi_step(self) -> PhiStep:
        if self.phi_step is not None:
            return self.phi_step
        return DirichletPhi(1.0 + (DEFAULT_ETA - 1.0) * self._shortness())

    def _shortness(self) -> float:
        """Return how many texts make `SHORT` words, 1 to `MOST_TIMES`."""
        length = float(self.doc_lengths_.mean()) if len(self.doc_lengths_) else SHORT
        return float(np.clip(SHORT / max(length, 1e-300), 1.0, MOST_TIMES))

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters; ``graph__n_neighbors`` is that of the `NeighborGraph`."""
        if self.graph is None and any(
            name.startswith("graph__") for name in parameters
        ):
            self.graph = NeighborGraph()
        return super().set_params(**parameters)

    def _validate_params(self) -> None:
        super()._validate_params()
        self._neighbors()._validate_params()

    def _neighbors(self) -> NeighborGraph:
        """How neighbours are found."""
        return self.graph if isinstance(self.graph, NeighborGraph) else NeighborGraph()

    @property
    def _may_join_by_embeddings(self) -> bool:  # type: ignore[override]
        return self._neighbors().of != "words" and (
            self.graph is None or isinstance(self.graph, NeighborGraph)
        )

    @property
    def _uses_labels(self) -> bool:
        return self._neighbors().label_edges

    _saved = dict.fromkeys(
        ("strength_", "pull_", "weight_"), saved.number(0, saved.LARGEST_PRIOR)
    )

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        super()._check_fitted(sizes)
        n_documents, rows = len(self.doc_topics_), getattr(self, "embeddings_", None)
        n_known = n_documents  # fewer where documents came later
        for seen in (rows, getattr(self, "training_counts_", None)):
            n_known = min(n_known, getattr(seen, "shape", (0,))[0] or n_known)
        expected = {
            "graph_": (n_documents, n_documents),
            "training_counts_": (n_known, self.n_features_in_),
        }
        for name, shape in expected.items():
            matrix: Any = getattr(self, name, None)
            if hasattr(self, name) and not (
                sparse.issparse(matrix)
                and matrix.shape == shape
                and matrix.data.min(initial=0) >= 0
            ):
                raise ValueError(f"{name} is not a matrix of shape {shape}, all >= 0")
        if rows is None:
            return
        if not isinstance(rows, np.ndarray) or rows.ndim != 2 or len(rows) > n_known:
            raise ValueError("embeddings_ has more rows than there are documents")
        check_embeddings(rows, len(rows))

    def _embedded(self, counts: Any, embeddings: Any) -> Any:
        """Keep the embeddings, which say who is near; the counts stay as they are."""
        if self.graph is not None and not isinstance(self.graph, NeighborGraph):
            raise DataError(
                f"{type(self).__name__} joins documents by the graph that you give, so "
                "embeddings would have no effect. Leave out graph= or embeddings=."
            )
        self.embeddings_ = check_embeddings(embeddings, counts.shape[0])
        warn_empty(counts)
        return counts

    def _places(self) -> Array | None:
        rows = getattr(self, "embeddings_", None)
        if rows is None or not isinstance(self.init, str) or self.init != "clusters":
            return None
        return places_of(walks_of(EmbeddingIndex(rows), n_jobs=self.n_jobs), rows)

    def _document_graph(self, X: sparse.csr_matrix, y: Any) -> Any:
        embeddings = getattr(self, "embeddings_", None)
        by_words = embeddings is None and self.transform_neighbors
        if by_words or self._neighbors().of == "both":
            self.training_counts_ = X.copy()
        given = None if isinstance(self.graph, NeighborGraph) else self.graph
        self.graph_ = self._neighbors().build(
            X, y, given=given, embeddings=embeddings, n_jobs=self.n_jobs
        )
        name = self._adapted
        if getattr(self, name) is None and getattr(self, "paper_lambda", None) is None:
            try:
                codes = None if y is None else encode_labels(y, X.shape[0])
            except ValueError:  # no labels, but for instance what is to be regressed
                codes = None
            strength = self._full_strength * graph_trust(X, self.graph_, codes)
            strength *= self._shortness() if self._grows else 1.0
            setattr(self, f"{name}_", strength)
        elif getattr(self, name) is not None:
            setattr(self, f"{name}_", float(getattr(self, name)))
        return self.graph_

    def _theta_step(self) -> ThetaStep:
        """Return the step; the parameter that adapts was given, or found in `fit`."""
        step: ThetaStep = self._made_part()
        if getattr(self, self._adapted) is None:
            found = getattr(self, f"{self._adapted}_", self._full_strength)
            step.set_params(**{self._adapted: found})
        return step

    def _neighbor_shares(self, lengths: Vector, degrees: Vector) -> Vector:
        """Share of a new document's mixture that its neighbours decide."""
        raise NotImplementedError


class LaplacianPLSA(GraphPLSA):
    """LapPLSI: PLSA in which neighbouring documents have similar mixtures.

    Raises ``ℒ − (λ/2) Σ_ij W_ij ‖θ_i − θ_j‖²`` by smoothing steps that are kept only if
    they raise it. The objective is not maximised, because documents are clustered worse
    at its maxima. With `graph` it is network PLSA (Mei et al. 2008).

    Parameters
    ----------
    weight : float or None, default=None
        Strength of the smoothing, free of scale: nats per token for a squared distance
        of one across every edge, ``λ = 2 · weight · tokens / Σ_ij W_ij``. None is 10
        times how far the graph can be trusted (:mod:`topicfold.graph.build`), and up
        to four times as much in texts of fewer than 40 words.
    paper_lambda : float or None, default=None
        The λ above instead of `weight`. Cai et al. have no half in front of the sum:
        their λ (1000) is half of it.

    Attributes
    ----------
    weight_ : float
        The weight used; missing with `paper_lambda`.
    strength_ : float
        The λ used.
    n_smoothings_ : int
        Smoothings of the last iteration.
    kkt_residual_ : float
        As in :class:`PLSA`. Above zero at the end, too: the paper's step is no maximum
        of the objective.

    References
    ----------
    D. Cai, Q. Mei, J. Han & C. Zhai (2008). Modeling hidden topics on document
    manifold. CIKM. doi:10.1145/1458082.1458202

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import LaplacianPLSA, NeighborGraph
    >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]])
    >>> model = LaplacianPLSA(2, graph=NeighborGraph(1), random_state=0).fit(X)
    >>> model.graph_.nnz
    4
    """

    max_smoothings = 5  # more of them collapse all topics into one
    _needed_state = ("n_features_in_", "doc_topics_", "strength_", "n_smoothings_")
    _part = LaplacianTheta
    _full_strength = 10.0
    _grows = True
    weight: Annotated[float | None, NOT_NEGATIVE]
    paper_lambda: float | None
    step: float

    def __init__(
        self,
        n_components: int = 10,
        *,
        weight: float | None = None,
        paper_lambda: float | None = None,
        step: float = 0.4,
        graph: Any = None,
        transform_neighbors: bool = False,
        phi_step: PhiStep | None = None,
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

    def _fitted_algorithm(self, algorithm: Learner) -> None:
        state = algorithm.theta_context.state
        self.strength_ = float(state.strength)
        self.n_smoothings_ = int(state.smoothings[-1])

    def _neighbor_shares(self, lengths: Vector, degrees: Vector) -> Vector:
        share = 1.0 - (1.0 - self.step) ** self.n_smoothings_
        return np.where(degrees > 0, share, 0.0)


class LocallyConsistentPLSA(GraphPLSA):
    """LTM: PLSA in which mixtures of neighbouring documents have a small divergence.

    Raises ``ℒ − (λ/2) Σ_ij W_ij (KL(θ_i‖θ_j) + KL(θ_j‖θ_i))``.

    Parameters
    ----------
    weight : float or None, default=None
        Strength of the smoothing, free of scale: nats per token for a divergence of
        one across every edge, ``λ = 2 · weight · tokens / Σ_ij W_ij``. None is how far
        the graph can be trusted (:mod:`topicfold.graph.build`), at most 1.

    Attributes
    ----------
    weight_ : float
        The weight used; missing with `paper_lambda`.
    strength_ : float
        The λ used.
    kkt_residual_ : float
        As in :class:`PLSA`. Above zero at the end, too: the paper's step is no maximum
        of the objective.

    References
    ----------
    D. Cai, X. Wang & X. He (2009). Probabilistic dyadic data analysis with local and
    global consistency. ICML. doi:10.1145/1553374.1553388

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import LocallyConsistentPLSA, NeighborGraph
    >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]])
    >>> model = LocallyConsistentPLSA(2, graph=NeighborGraph(1), random_state=0).fit(X)
    >>> bool(np.ptp(model.doc_topics_[:2], axis=0).max() < 0.1)
    True
    """

    _needed_state = ("n_features_in_", "doc_topics_", "strength_")
    _part = LocallyConsistentTheta
    _full_strength = 1.0
    weight: Annotated[float | None, NOT_NEGATIVE]
    paper_lambda: float | None

    def __init__(
        self,
        n_components: int = 10,
        *,
        weight: float | None = None,
        paper_lambda: float | None = None,
        graph: Any = None,
        transform_neighbors: bool = False,
        phi_step: PhiStep | None = None,
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

    def _fitted_algorithm(self, algorithm: Learner) -> None:
        self.strength_ = float(algorithm.theta_context.state.strength)

    def _neighbor_shares(self, lengths: Vector, degrees: Vector) -> Vector:
        pull = self.strength_ * degrees
        return pull / np.maximum(lengths + pull, 1e-300)


class DiscriminativePLSA(GraphPLSA):
    """DTM: PLSA that separates distant documents and joins near ones, with no weight.

    Two objectives, the log-likelihood ℒ and the separation ``Q2 = Σ_ij ‖θ_i − θ_j‖²
    / Σ_ij W_ij ‖θ_i − θ_j‖²``; every iteration raises one and lowers neither. (Not the
    *dynamic* topic model.)

    Parameters
    ----------
    step : float or None, default=None
        The paper's γ (0.1 there): how far one sweep moves a document of mean length
        to its neighbours. None is 0.3 times how far the graph can be trusted
        (:mod:`topicfold.graph.build`).

    Attributes
    ----------
    step_ : float
        The step used.
    separation_history_ : list of float
        Q2 after each iteration since the last start; never falls.
    accepted_history_ : list of float
        How much of each iteration's proposal was accepted: 1 all, 0 nothing.
    n_restarts_ : int
        1 if the walk began again, because nothing was accepted five times in a row
        while mixtures were still nearly uniform; otherwise 0.
    converged_ : bool
        False too if nothing was accepted in the last five iterations; a warning says
        so if the mixtures are still nearly uniform then.
    n_sweeps_, pull_ : int, float
        Sweeps of the last iteration; the neighbours' weight in one, in tokens.

    References
    ----------
    S. Huh & S. E. Fienberg (2010). Discriminative topic modeling based on manifold
    learning. KDD. doi:10.1145/1835804.1835888

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import DiscriminativePLSA, NeighborGraph
    >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]])
    >>> model = DiscriminativePLSA(2, graph=NeighborGraph(1), random_state=0).fit(X)
    >>> bool((np.diff(model.separation_history_) >= 0).all())
    True
    """

    _needed_state = ("n_features_in_", "doc_topics_", "pull_", "n_sweeps_")
    _part = ParetoTheta
    _adapted = "step"
    _full_strength = 0.3
    step: Annotated[float | None, POSITIVE_SHARE]

    def __init__(
        self,
        n_components: int = 10,
        *,
        step: float | None = None,
        graph: Any = None,
        transform_neighbors: bool = False,
        phi_step: PhiStep | None = None,
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

    def _fitted_algorithm(self, algorithm: Learner) -> None:
        state = algorithm.theta_context.state
        self.separation_history_ = [float(value) for value in state.separation]
        self.accepted_history_ = [float(part) for part in state.accepted]
        self.pull_ = float(state.pull)
        self.n_sweeps_ = int(state.sweeps[-1])
        self.n_restarts_ = int(state.n_restarts)
        if state.is_frozen():
            self.converged_ = False
        if state.is_frozen() and bluntness(self.doc_topics_) > BLUNT:
            warnings.warn(
                "DiscriminativePLSA stopped while its mixtures were still nearly "
                "uniform, because no change raised one objective without lowering the "
                "other. Try another init or random_state, or a smaller step.",
                ConvergenceWarning,
                stacklevel=2,
            )

    def _neighbor_shares(self, lengths: Vector, degrees: Vector) -> Vector:
        return 1.0 - (1.0 - sweep_steps(lengths, degrees, self.pull_)) ** self.n_sweeps_
