# SPDX-License-Identifier: BSD-3-Clause
"""EM for PLSA with any θ-step and φ-step: the general machine."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from topicfold.core.counts import normalize_rows
from topicfold.core.typing import Array
from topicfold.engine.protocol import (
    DocumentPass,
    Engine,
    OwnShare,
    corpus_fingerprint,
    pack_rows,
)
from topicfold.exceptions import DataError
from topicfold.learn.extrapolation import EM_FLOOR, Extrapolation, Point
from topicfold.steps.base import (
    PhiStep,
    StepContext,
    ThetaStep,
    documents_value,
    learn_from_documents,
    prepare_step,
    step_back,
    topics_value,
    update_documents,
    update_topics,
)


class PlsaEM:
    """One E-step for all models; the steps make the difference (docs/math.md §2).

    The document pass that evaluates an iteration is the first half of the next
    one's E-step, so an iteration costs one document pass and one word pass. Topics
    start at `phi` (K, V), mixtures start uniform; `graph` is for θ-steps that need one,
    `data` what the θ-step's `check` returned.
    """

    #: Passes over which the change of the objective is taken; see `run_em`.
    settles_over = 1
    extrapolation: Extrapolation | None = None
    _spare_documents: Any = None

    def __init__(
        self,
        engine: Engine,
        phi: Array,
        theta_step: ThetaStep,
        phi_step: PhiStep,
        graph: Any = None,
        data: Any = None,
    ) -> None:
        self.engine = engine
        self.theta_step = theta_step
        self.phi_step = phi_step
        even = np.full((1, engine.n_topics), 1.0 / engine.n_topics)
        self.theta = engine.pack_documents(
            np.broadcast_to(even, (engine.n_documents, engine.n_topics))
        )
        self.packed_topics = engine.pack_topics(phi)
        self._spare_topics = np.empty_like(self.packed_topics)
        self._pass: DocumentPass | None = None
        self._on_simplex = True
        #: How far each iteration of a safeguarded step went, 1 being all the way.
        self.shares: list[float] = []
        self.theta_context = StepContext.of(engine, self.packed_topics, graph)
        self.theta_context.data = data
        self.phi_context = StepContext.of(engine, self.packed_topics)
        prepare_step(theta_step, self.theta_context)
        prepare_step(phi_step, self.phi_context)

    @property
    def moving(self) -> bool:
        """Whether what the θ-step learns still changes."""
        return bool(self.theta_step.moving)

    def start(self) -> float:
        """Evaluate the start."""
        self._take_topics(self.packed_topics)
        self._pass = self._document_pass(self.theta, self.packed_topics)
        return self._objective(self._pass, self.theta, self._on_simplex)

    def extrapolated(self) -> Self:
        """Extrapolate the passes, where both steps are plain; returns self."""
        if _is_plain(self.theta_step, ThetaStep, self.theta_context) and _is_plain(
            self.phi_step, PhiStep, self.phi_context
        ):
            self.extrapolation = Extrapolation(self, floor=EM_FLOOR)
        return self

    def advance(self) -> None:
        """Mixtures and topics from the counts of the last pass."""
        if self._pass is None:
            raise RuntimeError("call start() before iterate()")
        words = self.engine.word_pass(
            self.theta, self.packed_topics, self._spare_topics
        )
        topics = update_topics(
            self.phi_step, words, self.packed_topics, self.phi_context
        )
        counts, old = self._pass.counts, self.theta
        theta, _ = update_documents(
            self.theta_step, counts, old, self.theta_context, False
        )
        self._spare_documents = old if theta is counts else counts
        self._move_to(theta, topics, False)

    def point(self) -> Point:
        """Return where the next pass begins."""
        return Point(self.theta, self.packed_topics)

    def move_to(self, point: Point) -> None:
        """Let the next pass begin there."""
        self.theta, self.packed_topics = point
        self._take_topics(self.packed_topics)

    def evaluate(self) -> float:
        """Pass over the documents; return the objective."""
        spare = self._spare_documents
        self._pass = self._document_pass(self.theta, self.packed_topics, spare)
        return self._objective(self._pass, self.theta, False)

    def iterate(self) -> float:
        """One EM iteration; returns the objective at the new parameters."""
        if self._pass is None:
            raise RuntimeError("call start() before iterate()")
        if self.extrapolation is not None:
            return self.extrapolation.iterate(self.theta_context.objective)
        counts = self._pass.counts
        words = self.engine.word_pass(
            self.theta, self.packed_topics, self._spare_topics
        )
        topics = update_topics(
            self.phi_step, words, self.packed_topics, self.phi_context
        )
        self._take_topics(topics)
        engine, old = self.engine, self.theta
        evaluated: list[tuple[Array, DocumentPass]] = []

        def evaluate(rows: Array) -> DocumentPass:
            packed = pack_rows(rows, engine, old)
            evaluated[:] = [(packed, self._document_pass(packed, topics))]
            return evaluated[0][1]

        self.theta_context.evaluate = evaluate
        theta, on_simplex = update_documents(
            self.theta_step, counts, old, self.theta_context, self._on_simplex
        )
        self.theta_context.evaluate = None  # it holds the old mixtures
        learn_from_documents(
            self.theta_step, counts, theta, self.theta_context, on_simplex
        )
        if self.theta_step.safeguarded and on_simplex:
            return self._go_safely(theta, topics, counts)
        # From here on the new parameters count, also if a pass is interrupted.
        spare = old if theta is counts else counts
        self._move_to(theta, topics, on_simplex)
        if evaluated and evaluated[0][0] is theta:
            self._pass = evaluated[0][1]
        else:
            self._pass = self._document_pass(theta, topics, spare)
        return self._objective(self._pass, theta, on_simplex)

    def _go_safely(self, target: Any, topics: Array, counts: Any) -> float:
        """Go from θ towards `target` as far as the objective does not fall.

        With the new topics the old θ is never below the last iteration's objective.
        """
        before, spare = self.theta_context.objective, None
        if target is not counts:
            spare = counts
        done: DocumentPass | None = None

        def evaluate(theta: Any) -> float:
            nonlocal done
            done = self._document_pass(theta, topics, spare)
            return self._objective(done, theta, True)

        theta, share = step_back(
            target,
            self.theta,
            lambda candidate: evaluate(candidate) >= before,
            self.theta_step.max_halvings,
        )
        self.shares.append(share)
        if share == 0.0:
            evaluate(theta)
        self._pass = done
        self._move_to(theta, topics, True)
        return self.theta_context.objective

    def _document_pass(self, theta: Any, topics: Array, out: Any = None) -> Any:
        return self.engine.document_pass(theta, topics, out=out)

    def _take_topics(self, topics: Array) -> None:
        """Tell the steps of the topics that count from now on."""
        value = topics_value(self.phi_step, topics, self.phi_context)
        self.theta_context.topics_value = value
        plain = topics[:, : self.engine.n_topics]
        self.theta_context.topics = self.phi_context.topics = plain

    def _move_to(self, theta: Any, topics: Array, on_simplex: bool) -> None:
        self._spare_topics, self.packed_topics = self.packed_topics, topics
        self.theta, self._on_simplex = theta, on_simplex

    def _objective(self, done: DocumentPass, theta: Any, on_simplex: bool) -> float:
        context = self.theta_context
        value = documents_value(self.theta_step, theta, context, on_simplex)
        context.objective = done.loglik + value + context.topics_value
        return context.objective

    def fingerprint(self) -> dict[str, float]:
        """Tell this corpus from others."""
        return corpus_fingerprint(self.engine)

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs to go on from here."""
        check_resumable(self.theta_step)
        topics = self.engine.unpack_topics(self.packed_topics)
        return {
            "topics": topics,
            "documents": self.theta,
            **carried(self.theta_step, "theta_step"),
            **({} if self.extrapolation is None else self.extrapolation.state()),
        }

    def restore(self, state: dict[str, Any]) -> float:
        """Go on from a `state`; returns the objective there."""
        self.packed_topics = self.engine.pack_topics(state["topics"])
        self.theta = state["documents"]
        self._on_simplex = type(self.theta_step).update is not ThetaStep.update
        for name in carried(self.theta_step, "theta_step"):
            setattr(self.theta_step, name.rpartition(" ")[2], state[name])
        if self.extrapolation is not None:
            self.extrapolation.restore(state)
        return self.start()

    def free_scratch(self) -> None:
        """Let go of what only another iteration would need."""
        self._spare_topics = np.empty((0, 0), self.engine.dtype)
        self._pass = self.extrapolation = self._spare_documents = None

    def topics(self) -> Array:
        """Topics (K, V)."""
        return normalize_rows(self.engine.unpack_topics(self.packed_topics))

    def doc_topics(self) -> Array:
        """Mixtures (D, K)."""
        return self.engine.mixtures(self.theta)


def _is_plain(step: Any, base: Any, context: StepContext) -> bool:
    """Whether a step is that of PLSA, with a prior or not: by kind or by strength."""
    strength = getattr(context.state, "strength", getattr(step, "weight", None))
    return type(step).update is base.update or (strength is not None and strength == 0)


class LeftOutEM(PlsaEM):
    """The same, with a part of a token's own count left out of its word's counts.

    Topics then fit the words of new documents better (`learn.lda.Cvb0`); in its
    document, a token's count stays. The objective need not rise all the way.

    Topics are ``(N_wk + eta) / (N_k + V eta)``; `share` of a count is left out.
    """

    def __init__(self, *args: Any, share: float, eta: float, **options: Any) -> None:
        super().__init__(*args, **options)
        self.share, self.eta = share, eta
        shape = self.engine.n_documents, self.engine.n_topics
        self._kept = self.engine.pack_documents(np.broadcast_to(np.zeros(1), shape))

    def _document_pass(self, theta: Any, topics: Array, out: Any = None) -> Any:
        engine, pack = self.engine, self.engine.pack_prior
        if self._pass is None:  # the start has no counts of tokens yet
            return engine.document_pass(theta, topics, out=out)
        totals = engine.topic_totals(self._pass.counts) + self.eta * engine.n_terms
        totals = np.maximum(totals, np.finfo(np.float32).tiny)
        own = OwnShare(pack(self.share / totals), pack(self.eta / totals))
        kept = OwnShare(self._kept, self._kept)
        options: dict[str, Any] = {"link": "collapsed", "own": own, "documents": kept}
        return engine.document_pass(theta, topics, out=out, **options)

    def free_scratch(self) -> None:
        """Let go of what only another iteration would need."""
        super().free_scratch()
        self._kept = np.empty((0, 0), self.engine.dtype)


def carried(step: ThetaStep, name: str) -> dict[str, Any]:
    """Return the numbers that a step has learned, by names of a state."""
    return {
        f"side {name} {attribute}": value
        for attribute, value in step._learned().items()
        if isinstance(value, np.ndarray | float) and np.asarray(value).dtype.kind == "f"
    }


def check_resumable(step: ThetaStep) -> None:
    """Refuse to keep the state of a fit whose θ-step has one of its own."""
    if step.needs_graph or step.needs_all_documents:
        raise DataError(
            f"{type(step).__name__} keeps a state of its own between iterations: "
            "Resume works with steps that see some documents at a time."
        )
