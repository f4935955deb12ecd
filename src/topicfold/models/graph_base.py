# SPDX-License-Identifier: BSD-3-Clause
"""What the graph models share: their parameters and the document graph."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from topicfold.core.typing import Array
from topicfold.graph import NeighborGraph, NeighborIndex
from topicfold.learn import Callback
from topicfold.models.neighbor_fold_in import compared_counts, neighbor_fold_in
from topicfold.models.plsa import PLSA
from topicfold.models.validation import check_counts
from topicfold.steps.base import PhiStep
from topicfold.steps.dirichlet import DirichletPhi

DEFAULT_ETA = 1.05


class GraphPLSA(PLSA):
    """What the graph models share; use one of its sub-classes.

    A sub-class names its θ-step and how much the neighbours of a new document count.
    """

    _unsaved_parameters = (  # type: ignore[assignment]
        *PLSA._unsaved_parameters,
        "similarity",
    )
    _parameter_constraints: dict = {  # noqa: RUF012
        **{
            name: PLSA._parameter_constraints[name]
            for name in (
                "n_components",
                "phi_step",
                "init",
                "max_iter",
                "tol",
                "max_doc_updates",
                "doc_tol",
                "random_state",
                "device",
                "n_jobs",
                "callbacks",
                "verbose",
            )
        },
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "similarity": [StrOptions({"cosine", "intersection", "kl"}), callable],
        "edge_weights": [StrOptions({"binary", "similarity"})],
        "sublinear_tf": ["boolean"],
        "graph": "no_validation",
        "transform_neighbors": ["boolean"],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
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
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.similarity = similarity
        self.edge_weights = edge_weights
        self.sublinear_tf = sublinear_tf
        self.graph = graph
        self.phi_step = phi_step
        self.transform_neighbors = transform_neighbors
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.max_doc_updates = max_doc_updates
        self.doc_tol = doc_tol
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs
        self.callbacks = callbacks
        self.verbose = verbose

    @property
    def partial_fit(self) -> Any:  # type: ignore[override]
        """Not defined: the graph is one of the whole corpus."""
        raise AttributeError(
            f"{type(self).__name__} has no partial_fit: its graph needs the whole "
            "corpus. Use fit, then transform for new documents."
        )

    def transform(self, X: Any) -> Array:
        """Return the topic mixtures of documents, rows on the simplex.

        By fold-in; with `transform_neighbors` each document is also drawn to its
        nearest training documents, as much as a training document is to its own.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Counts, in the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            Deterministic, and the same for a document whatever batch it is in. Not
            the training θ: that is `doc_topics_`.
        """
        if not self.transform_neighbors:
            return super().transform(X)
        check_is_fitted(self, "components_")
        X = check_counts(self, X, reset=False, allow_empty=True)
        if not hasattr(self, "training_counts_"):
            raise AttributeError(
                f"this {type(self).__name__} was fitted with transform_neighbors="
                "False and has not kept its training documents. Fit it again with "
                "transform_neighbors=True, or set that to False for plain fold-in."
            )
        return neighbor_fold_in(
            X,
            self.components_,
            index=NeighborIndex(
                compared_counts(self.training_counts_, self.sublinear_tf),
                similarity=self.similarity,
            ),
            training_theta=self.doc_topics_,
            options=self._graph_options(),
            neighbor_shares=self._neighbor_shares,
            max_iter=self.max_doc_updates,
            tol=self.doc_tol,
            device=self.device,
            n_jobs=self.n_jobs,
        )

    def _phi_step(self) -> PhiStep:
        return DirichletPhi(DEFAULT_ETA) if self.phi_step is None else self.phi_step

    def _graph_options(self) -> GraphOptions:
        return GraphOptions(
            self.n_neighbors,
            self.similarity,
            self.edge_weights,
            self.sublinear_tf,
            self.n_jobs,
        )

    def _document_graph(self, X: sparse.csr_matrix, y: Any) -> Any:
        self.__dict__.pop("training_counts_", None)  # of an earlier fit
        if self.transform_neighbors:
            self.training_counts_ = X.copy()
        self.graph_ = build_graph(X, y, self.graph, self._graph_options())
        return self.graph_

    def _neighbor_shares(
        self, lengths: NDArray[np.float64], degrees: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Share of a new document's mixture that its neighbours decide."""
        raise NotImplementedError


COMMON_PARAMETERS = """n_neighbors : int, default=10
        Neighbours of a document in the graph; cut to one less than documents.
    similarity : {"cosine", "intersection", "kl"} or callable, default="cosine"
        Which documents are near, see :func:`topicfold.graph.document_graph`.
    edge_weights : {"binary", "similarity"}, default="similarity"
        Every edge weighs 1, as in the papers, or the similarity; label edges 1.
    sublinear_tf : bool, default=True
        Compare ``log(1 + count)`` instead of counts when neighbours are searched.
    graph : sparse matrix, edge list, networkx graph or None, default=None
        The documents' own graph (links, authors, places) instead of neighbours.
    phi_step : PhiStep or None, default=None
        How expected counts become topics; None is ``DirichletPhi(1.05)``,
        ``PhiStep()`` the plain step of the paper.
    transform_neighbors : bool, default=False
        Keep the training matrix (a copy, in the saved model too) so that `transform`
        can use the nearest training documents of a new one.
    init, max_iter, tol, max_doc_updates, doc_tol, random_state :
        As in :class:`PLSA`.
    device, n_jobs, callbacks, verbose :
        As in :class:`PLSA`."""

COMMON_ATTRIBUTES = """graph_ : csr_array of shape (n_documents, n_documents)
        The symmetric graph, with label edges where labels were given.
    components_, doc_topics_, objective_history_, n_iter_, converged_ :
        As in :class:`PLSA`.
    word_frequencies_, doc_lengths_ :
        As in :class:`PLSA`."""


def documented(cls: type) -> type:
    """Fill the shared parts of the docstring in."""
    text = (cls.__doc__ or "").replace("{common_parameters}", COMMON_PARAMETERS)
    cls.__doc__ = text.replace("{common_attributes}", COMMON_ATTRIBUTES)
    return cls


class GraphOptions(NamedTuple):
    """How a document graph is built."""

    n_neighbors: int = 10
    similarity: Any = "cosine"
    edge_weights: str = "similarity"
    sublinear_tf: bool = True
    n_jobs: int | None = None


def build_graph(
    X: sparse.csr_matrix, y: Any, graph: Any, options: GraphOptions
) -> sparse.csr_array:
    """Return the graph of the training documents, with label edges from y.

    Parameters
    ----------
    X : csr_matrix of shape (n_documents, n_terms)
        Counts.
    y : array-like or None
        Labels: integers from 0 or names; -1, "" and None mean unknown.
    graph : sparse matrix, edge list, networkx graph or None
        The user's graph instead of nearest neighbours.
    options : GraphOptions
        How neighbours are searched.
    """
    neighbors = NeighborGraph(
        options.n_neighbors,
        metric=options.similarity,
        edge_weights=options.edge_weights,
        sublinear_tf=options.sublinear_tf,
    )
    return neighbors.build(X, y, given=graph, n_jobs=options.n_jobs)
