# SPDX-License-Identifier: BSD-3-Clause
"""What makes a model that model: how expected counts become parameters.

A θ-step turns expected counts of documents into topic mixtures, a φ-step expected
counts of words into topics. Both see plain rows, on every engine, and know their own
part of the objective; ``steps.apply`` brings them the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from topicfold.core.typing import Array
from topicfold.engine.protocol import DocumentPass, Engine
from topicfold.engine.rows import array_module

Rows = slice | NDArray[np.integer]


@dataclass
class StepContext:
    """What a step may look at besides its rows.

    Attributes
    ----------
    rows : slice or ndarray of int
        Which rows of the corpus the step was given: documents of X for a θ-step,
        columns of X for a φ-step. In `prepare`, all of them.
    lengths : ndarray
        Token counts: of the given documents for a θ-step, of all documents in
        `prepare` and for a φ-step.
    topics : ndarray of shape (n_terms, K)
        Topics; for a θ-step the new ones of this iteration. Row i belongs to word
        ``word_order[i]``.
    word_order : ndarray of int of shape (n_terms,)
        Column of X of each row of `topics`.
    state : object
        What the step's `prepare` returned.
    xp : module
        numpy, or cupy where the rows are on a GPU: ``context.xp.log(theta)``.
    graph : csr_matrix or None
        Document graph, when the step asked for one.
    objective : float
        Whole objective at the end of the last iteration.
    topics_value : float
        The φ-step's part of the objective at `topics`.
    engine : Engine or None
        The whole corpus; None while rows of a part of it are visited.
    evaluate : callable or None
        For steps that need all documents: ``evaluate(theta)`` runs a document pass
        under `topics` and returns it. The pass of the θ that a step returns is not
        run again.
    """

    rows: Rows
    lengths: Any
    topics: Array
    word_order: NDArray[np.integer]
    state: Any = None
    xp: Any = np
    graph: Any = None
    objective: float = -np.inf
    topics_value: float = 0.0
    engine: Engine | None = None
    evaluate: Callable[[Array], DocumentPass] | None = None

    @classmethod
    def of(cls, engine: Engine, packed_topics: Array, graph: Any = None) -> Self:
        """Return the context of a whole corpus."""
        xp = array_module(packed_topics)
        return cls(
            rows=slice(0, engine.n_documents),
            lengths=xp.asarray(engine.document_lengths),
            topics=packed_topics[:, : engine.n_topics],
            word_order=engine.word_order,
            xp=xp,
            graph=graph,
            engine=engine,
        )

    @property
    def corpus(self) -> Engine:
        """The engine of the whole corpus, for steps that see all of it."""
        if self.engine is None:
            raise RuntimeError("only a part of the corpus is visited here")
        return self.engine


class Step(BaseEstimator):
    """What θ-steps and φ-steps have in common.

    Rows that sum to one already, as `normalized` says, are not normalised again.
    """

    normalized: bool = False

    @property
    def pseudo_count(self) -> float:
        """What the plain step adds to every count."""
        return 0.0

    def prepare(self, context: StepContext) -> Any:
        """Check parameters; return the step's state of this fit (or None)."""
        return None


class ThetaStep(Step):
    """Plain θ-step of PLSA: ``θ_dk ∝ N_dk + pseudo_count``. Base of the others.

    A step of your own overrides `update`, and `value` if it changes the objective.
    It is given some documents at a time, as plain float arrays of shape (rows, K),
    on every engine: the CPU, blocks on disk or on workers, a GPU (CuPy arrays there,
    ``context.xp`` is the module to compute with). It must not change what it is
    given, and must not change ``context.state`` unless it needs all documents.

    Experimental: as the base of steps of your own; `context` may grow.

    Attributes
    ----------
    needs_all_documents : bool
        Whether `update` and `value` need all documents at once; such a step is
        refused where the corpus is visited in blocks.
    needs_graph : bool
        Whether ``context.graph`` is needed; then all documents are, too.
    safeguarded : bool
        Whether to step back towards the old θ while the whole objective falls. Costs
        a document pass for every try but the first.
    max_halvings : int
        How often a safeguarded step is halved before θ stays for an iteration.
    normalized : bool
        Whether `update` returns rows that sum to one, which are then not normalised
        again.

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import PLSA
    >>> from topicfold.steps import ThetaStep
    >>> class Sharper(ThetaStep):
    ...     def update(self, counts, theta, context):
    ...         return counts**1.5
    >>> X = np.array([[5, 1, 0], [0, 1, 4], [2, 2, 2]])
    >>> PLSA(2, theta_step=Sharper(), random_state=0).fit(X).doc_topics_.shape
    (3, 2)
    """

    needs_all_documents: bool = False
    needs_graph: bool = False
    safeguarded: bool = False
    max_halvings: int = 4

    def update(self, counts: Array, theta: Array, context: StepContext) -> Array:
        """Return new rows of any positive scale from expected counts N_dk.

        `theta` are the old rows, on the simplex. Returning `counts` itself is the
        plain step.
        """
        return counts

    def value(self, theta: Array, context: StepContext) -> float:
        """Return these rows' part of the objective; the engine adds up all rows."""
        return 0.0


class PhiStep(Step):
    """Plain φ-step of PLSA: ``φ_kw ∝ N_wk + pseudo_count``. Base of the others.

    A step of your own is given plain float arrays of shape (words, K), some words at
    a time; ``context.rows`` are the words' columns of X. Topics are normalised over
    all words afterwards.

    Experimental: as the base of steps of your own; `context` may grow.

    Attributes
    ----------
    needs_all_words : bool
        Whether `update` and `value` need all words at once.
    normalized : bool
        Whether `update` returns topics that sum to one, which are then not
        normalised again.
    """

    needs_all_words: bool = False

    def update(self, counts: Array, topics: Array, context: StepContext) -> Array:
        """Return new rows, not negative, from expected counts N_wk.

        `topics` are the old rows. Returning `counts` itself is the plain step.
        """
        return counts

    def value(self, topics: Array, context: StepContext) -> float:
        """Return these words' part of the objective; all words' parts are added."""
        return 0.0
