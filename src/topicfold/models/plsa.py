# SPDX-License-Identifier: BSD-3-Clause
"""Probabilistic latent semantic analysis, the general machine of the library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import _fit_context, clone
from sklearn.utils import check_random_state

from topicfold.core.typing import Array
from topicfold.infer.fold_in import fold_in
from topicfold.learn import Callback
from topicfold.learn.learner import Learner
from topicfold.learn.online import OnlineLearner
from topicfold.models.base import EMPTY, refuse_blocks
from topicfold.models.sided import SidedModel
from topicfold.models.streamed import StreamedModel
from topicfold.parts.sides import Side
from topicfold.parts.steps import Context, PhiStep, ThetaStep
from topicfold.parts.together import SideData, check_place


class PLSA(SidedModel, StreamedModel):
    """Probabilistic latent semantic analysis: topics of word counts, without priors.

    Fits ``p(w|d) = Σ_k θ_dk φ_kw`` to a sparse matrix of counts by maximum likelihood.
    Time O(nnz·K) per iteration, memory O(nnz + (D + V)·K). With other steps it is every
    regularised relative: `theta_step` and `phi_step` combine freely.

    Parameters
    ----------
    theta_step : ThetaStep or None, default=None
        How expected counts become topic mixtures; None is plain PLSA.
    phi_step : PhiStep or None, default=None
        How expected counts become topics; None is plain PLSA.

    Attributes
    ----------
    theta_step_ : ThetaStep
        The θ-step with what it has learned; missing in plain PLSA.
    kkt_residual_ : float
        How far the fit is from a maximum of its objective: the largest residual of the
        conditions of a maximum, as a share of a document or topic. In plain PLSA it is
        the most that another EM step would change a document's share of a topic or a
        topic's of a word by. Missing where it is not known: with priors, sides, or a
        step without `pull`. Plain PLSA and orthogonal topics go on until the objective
        changes by at most `tol` of itself *and* a pass moves at most ten times `tol` of
        a mixture in the mean: the likelihood may rise little while mixtures still move.
        The papers' steps of LaplacianPLSA and LocallyConsistentPLSA are no maxima of
        theirs, so it stays above zero there.

    See Also
    --------
    LDA : the same with priors on documents and topics.

    Notes
    -----
    Stepwise EM for `partial_fit` follows Cappé & Moulines (2009).

    References
    ----------
    T. Hofmann (1999). Probabilistic latent semantic indexing. SIGIR.
    doi:10.1145/312624.312649

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import PLSA
    >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]])
    >>> model = PLSA(n_components=2, random_state=0).fit(X)
    >>> model.transform(X).round(2).max(axis=1)
    array([1., 1., 1., 1.], dtype=float32)
    """

    _weighs_documents: ClassVar[bool] = True
    max_doc_updates = 500  # `doc_tol` ends almost all documents before
    theta_step: Annotated[ThetaStep | None, ThetaStep]
    phi_step: Annotated[PhiStep | None, PhiStep]

    def __init__(
        self,
        n_components: int = 10,
        *,
        theta_step: ThetaStep | None = None,
        phi_step: PhiStep | None = None,
        sides: Sequence[Side] | None = None,
        learning_decay: float = 0.7,
        learning_offset: float = 10.0,
        total_documents: int | None = None,
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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any = None, **side_data: Any) -> Array:
        """Fit, then return the mixtures of the training documents.

        The same as ``fit(X).transform(X)``, except with a θ-step that uses a document's
        neighbours: then the fitted `doc_topics_`, which depend on them.
        """
        if not self._theta_step().needs_graph:
            return super().fit_transform(X, y, **side_data)
        self.fit(X, y, **side_data)
        return self.doc_topics_.copy()

    def _fit_sided(
        self, X: Any, y: Any, sides: list[Side], side_data: Mapping[str, Any]
    ) -> None:
        if sides or set(side_data) - {self._theta_step().data}:
            super()._fit_sided(X, y, sides, side_data)
        else:
            self._fit_counts(self._start_fit(X), y, side_data)

    def _fit_counts(
        self,
        X: sparse.csr_matrix,
        y: Any,
        side_data: Mapping[str, Any] = EMPTY,
        sides: SideData | None = None,
    ) -> None:
        needs_graph = self._theta_step().needs_graph
        if needs_graph:
            # Before the graph is built; other steps are refused with the engine.
            refuse_blocks(X, f"{type(self).__name__} with a step that needs a graph")
        if sides is None:
            rng = check_random_state(self.random_state)
            joined, groups, phi = X, None, self._initial_topics(X, self.init, rng)
        else:
            joined, groups = self._joined(X, sides)
            phi = self._start_of(X, joined, groups, self.init)
        engine = self._engine(joined)
        self._store_corpus(X)
        graph = self._document_graph(X, y) if needs_graph else None
        # Only now: the strength of the step may depend on the graph.
        step = self._start_theta_step()
        algorithm = Learner(
            *(engine, phi, step, self._phi_step()),
            sides=sides,
            groups=groups,
            graph=graph,
            data=self._step_data(step, Context.of(engine, phi.T), side_data),
        )
        del X, joined, phi, engine  # the learner has its own arrangement
        self._learn(algorithm.extrapolated())
        self._fitted_algorithm(algorithm)
        algorithm.keep_results()

    def _fit_with_sides(self, counts: Any, side_data: Mapping[str, Any]) -> None:
        for name in ("theta_step", "phi_step"):
            if getattr(self, name) is not None:
                check_place(self.sides_, name)
        sides = self._checked_sides(counts, side_data)
        self._fit_counts(counts, None, side_data, sides)
        self._finish_sides(counts, sides, side_data)

    def _theta_step(self) -> ThetaStep:
        return ThetaStep() if self.theta_step is None else self.theta_step

    def _phi_step(self) -> PhiStep:
        return PhiStep() if self.phi_step is None else self.phi_step

    def _start_theta_step(self) -> ThetaStep:
        """Return the step of a fit: a copy of the user's, which is kept."""
        step = self._theta_step()
        if getattr(self, "theta_step", None) is None:
            return step
        self.theta_step_: ThetaStep = clone(step)
        return self.theta_step_

    def _step_data(
        self, step: ThetaStep, context: Context, side_data: Mapping[str, Any]
    ) -> Any:
        """Return the rows of the θ-step's data; None if it has no data."""
        if step.data is None:
            return None
        return step.check(step._given(side_data), context)

    def _keywords(self, sides: Sequence[Any]) -> list[str]:
        own = self._theta_step().data
        return [*super()._keywords(sides), *([] if own is None else [own])]

    def _mixtures(self, X: Any, known: Mapping[str, Any] = EMPTY) -> Array:
        options = {**self._fold_in_options(), **self._step_options(X, known)}
        return fold_in(X, self.components_, dtype=X.dtype, **options)

    def _fold_in_options(self) -> dict[str, Any]:
        # The prior that a side gives documents of which it knows nothing.
        prior = getattr(self, "doc_topic_prior_", 0.0)
        return {**super()._fold_in_options(), "prior": prior}

    def _step_options(self, X: Any, known: Mapping[str, Any]) -> dict[str, Any]:
        step = getattr(self, "theta_step_", None)
        if step is None or step.needs_graph or step.needs_all_documents:
            return {}
        data = None
        if step.data is not None:
            context = self._side_context(
                X, n_topics=len(self.components_), topics=self.components_.T
            )
            context.word_order = np.arange(X.shape[1])
            data = step.check(known.get(step.data), context)
        return {"step": step, "data": data}

    def _document_graph(self, X: sparse.csr_matrix, y: Any) -> Any:
        """Return the graph that a θ-step was given, or the nearest neighbours'."""
        from topicfold.graph.build import NeighborGraph

        graph = getattr(self._theta_step(), "graph", None)
        if isinstance(graph, NeighborGraph):
            return graph.build(X, y, n_jobs=self.n_jobs)
        return NeighborGraph().build(X, y, given=graph, n_jobs=self.n_jobs)

    def _fitted_algorithm(self, algorithm: Learner) -> None:
        """Let relatives keep more of a finished fit."""

    def _partial_fit_counts(self, X: Any, sides: Any) -> None:
        learner = OnlineLearner(
            self._stream(X, self.init),
            alpha=np.zeros(self._size),
            eta=self._topic_pseudo_count(),
            phi_step=self._phi_step(),
            max_updates=self.max_doc_updates,
            tol=self.doc_tol,
            place={"device": self.device, "n_jobs": self.n_jobs},
        )
        learner.learn(X, sides)
        self._keep_stream(learner.stream)

    def _check_stream(self) -> None:
        if type(self._theta_step()) is not ThetaStep:
            raise NotImplementedError(
                f"partial_fit of {type(self).__name__} only works with the plain "
                "θ-step: others need the whole corpus. Use fit."
            )

    def _topic_pseudo_count(self) -> float:
        return float(self._phi_step().pseudo_count)
