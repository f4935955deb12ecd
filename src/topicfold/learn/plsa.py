# SPDX-License-Identifier: BSD-3-Clause
"""EM for PLSA with any θ-step and φ-step: the general machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from topicfold.core.simplex import normalize_rows
from topicfold.core.typing import Array
from topicfold.engine.protocol import DocumentPass, Engine, corpus_fingerprint
from topicfold.exceptions import DataError
from topicfold.steps.base import PhiStep, StepContext, ThetaStep


class PlsaEM:
    """One E-step for all models; the steps make the difference (docs/math.md §2).

    The document pass that evaluates an iteration is the first half of the next
    one's E-step, so an iteration costs one document pass and one word pass.

    Parameters
    ----------
    engine : Engine
        The corpus.
    phi : ndarray of shape (K, V)
        Start of the topics; mixtures start uniform.
    theta_step, phi_step : ThetaStep, PhiStep
        The M-step.
    graph : csr_matrix or None, default=None
        Document graph for θ-steps that need one.
    """

    def __init__(
        self,
        engine: Engine,
        phi: Array,
        theta_step: ThetaStep,
        phi_step: PhiStep,
        graph: Any = None,
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
        self.context = StepContext(engine, self.packed_topics, graph=graph)
        theta_step.prepare(self.context)
        phi_step.prepare(self.context)

    def start(self) -> float:
        """Evaluate the start."""
        self.context.topics_value = self.phi_step.value(
            self.packed_topics, self.context
        )
        self._pass = self.engine.document_pass(self.theta, self.packed_topics)
        return self._objective(self._pass)

    def iterate(self) -> float:
        """One EM iteration; returns the objective at the new parameters."""
        if self._pass is None:
            raise RuntimeError("call start() before iterate()")
        engine, context, counts = self.engine, self.context, self._pass.counts
        words = engine.word_pass(self.theta, self.packed_topics, self._spare_topics)
        topics = self.phi_step.update(words, self.packed_topics, context)
        context.topics = topics
        context.topics_value = self.phi_step.value(topics, context)
        evaluated: list[tuple[Array, DocumentPass]] = []

        def evaluate(theta: Array) -> DocumentPass:
            result = engine.document_pass(theta, topics)
            evaluated[:] = [(theta, result)]
            return result

        context.evaluate = evaluate
        theta = self.theta_step.update(counts, self.theta, context)
        # From here on the new parameters count, also if a pass is interrupted.
        spare = self.theta if theta is counts else counts
        self._spare_topics, self.packed_topics = self.packed_topics, topics
        self.theta = theta
        if evaluated and evaluated[0][0] is theta:
            self._pass = evaluated[0][1]
        else:
            self._pass = engine.document_pass(theta, topics, out=spare)
        return self._objective(self._pass)

    def _objective(self, evaluated: DocumentPass) -> float:
        context = self.context
        context.objective = (
            evaluated.loglik
            + self.theta_step.value(self.theta, context)
            + context.topics_value
        )
        return context.objective

    def fingerprint(self) -> dict[str, float]:
        """Tell this corpus from others."""
        return corpus_fingerprint(self.engine)

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs to go on from here."""
        if self.theta_step.needs_graph:
            raise DataError(
                f"{type(self.theta_step).__name__} keeps a memory of its own between "
                "iterations: Resume works with steps that need no graph."
            )
        topics = self.engine.unpack_topics(self.packed_topics)
        return {"topics": topics, "documents": self.theta}

    def restore(self, state: dict[str, Any]) -> float:
        """Go on from a `state`; returns the objective there."""
        self.packed_topics = self.engine.pack_topics(state["topics"])
        self.theta = state["documents"]
        self.context.topics = self.packed_topics
        return self.start()

    def free_scratch(self) -> None:
        """Let go of what only another iteration would need."""
        self._spare_topics = np.empty((0, 0), self.engine.dtype)
        self._pass = None

    def topics(self) -> Array:
        """Topics (K, V)."""
        return normalize_rows(self.engine.unpack_topics(self.packed_topics))

    def doc_topics(self) -> Array:
        """Mixtures (D, K)."""
        return self.engine.mixtures(self.theta)
