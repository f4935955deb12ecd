# SPDX-License-Identifier: BSD-3-Clause
"""Fewer passes to the same end: each goes on a little in the direction it came by.

With F one pass of an algorithm over the corpus, the next pass begins not at F(x_t) but
at

    y = F(x_t) + β (F(x_t) − F(x_{t−1}))

of mixtures and topics, kept positive and at their totals. β grows while the objective
rises. Where it falls, the pass begins at F(x_t) after all, and β is halved: an
algorithm whose passes never lower the objective still never does (after Ang & Gillis
2019, who extrapolate non-negative matrix factorisation).

EM never leaves a zero. Where zeros are no optimum's but haste's, y is kept above a
floor, a share of an even row that gets smaller from pass to pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from topicfold.core.threads import even_ranges, run_ranges
from topicfold.core.typing import Array
from topicfold.engine.protocol import Engine, array_module, on_device, padded

# β at first, what it gains by a pass, and the most that it becomes.
FIRST, MORE, MOST = 0.5, 0.05, 0.95
# For EM without priors: the floor's share of an even row at first, and what is left of
# it after a pass.
EM_FLOOR, FLOOR_LEFT = 1e-3, 0.95


class Point(NamedTuple):
    """Where a pass begins: packed documents, of any positive scale, and topics."""

    documents: Any
    topics: Array


class Reach(NamedTuple):
    """How far to go: β, the floor of an entry, and whether rows keep their totals.

    Where they do, the floor is a share of the total.
    """

    beta: float
    floor: float
    keeps_totals: bool


class Stepwise(Protocol):
    """An algorithm of the loop whose iteration can be done in two halves."""

    engine: Engine

    def start(self) -> float:
        """Prepare the first iteration; return the objective at the start."""

    def advance(self) -> None:
        """Take the step that the last pass over the corpus leads to."""

    def point(self) -> Point:
        """Return where the next pass begins; the arrays are given away."""

    def move_to(self, point: Point) -> None:
        """Let the next pass begin there; the arrays may be changed later."""

    def evaluate(self) -> float:
        """Pass over the corpus; return the objective."""


class Extrapolation:
    """The extrapolated iterations of an algorithm.

    Parameters
    ----------
    algorithm : Stepwise
        What is iterated.
    slack : float
        The part of itself by which a pass may lower the objective: 0 for an algorithm
        whose objective never falls.
    floor : float
        Least share of an even row where a pass begins, at first.
    """

    def __init__(
        self, algorithm: Stepwise, slack: float = 0.0, floor: float = 0.0
    ) -> None:
        self.algorithm = algorithm
        self.slack = slack
        self.floor = floor
        self.beta = FIRST
        self.before: Point | None = None

    def iterate(self, objective: float) -> float:
        """Do one iteration after one that ended at `objective`; return the new one."""
        algorithm = self.algorithm
        algorithm.advance()
        before, now = self.before, algorithm.point()
        if before is None:
            before = Point(np.add(now.documents, 0), np.add(now.topics, 0))  # type: ignore[arg-type]
        self.before = now
        algorithm.move_to(self._beyond(now, before, self.beta))
        value = algorithm.evaluate()
        self.floor *= FLOOR_LEFT
        if value >= objective - self.slack * abs(objective):
            self.beta = min(self.beta + MORE, MOST)
            return value
        self.beta /= 2
        algorithm.move_to(self._beyond(now, before, 0.0))
        return algorithm.evaluate()

    def begin_again(self) -> None:
        """Forget the direction: the next pass begins elsewhere."""
        self.before, self.beta = None, FIRST

    def _beyond(self, now: Point, before: Point, beta: float) -> Point:
        """Return the next point, written over the one before."""
        engine = self.algorithm.engine
        floors = [
            self.floor / n if beta > 0 else 0.0
            for n in (engine.n_topics, engine.n_terms)
        ]
        reach = Reach(beta, floors[0], True)
        documents = beyond_documents(engine, now.documents, before.documents, reach)
        reach = Reach(beta, floors[1], False)
        topics = beyond_rows(engine, now.topics, before.topics, reach)
        if beta > 0:
            topics = engine.normalize_topics(topics, 0.0, topics)
        return Point(documents, topics)

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs to go on from here."""
        before = self.algorithm.point() if self.before is None else self.before
        topics = self.algorithm.engine.unpack_topics(before.topics)
        numbers = {"beta": self.beta, "floor": self.floor}
        return {
            "documents_before": before.documents,
            "topics_before": topics,
            **numbers,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a `state`."""
        topics = self.algorithm.engine.pack_topics(state["topics_before"])
        self.before = Point(state["documents_before"], topics)
        self.beta, self.floor = float(state["beta"]), float(state["floor"])


def beyond_documents(engine: Engine, now: Any, before: Any, reach: Reach) -> Any:
    """Return extrapolated packed documents, in `before`."""
    if isinstance(now, np.ndarray) or on_device(now):
        return beyond_rows(engine, now, before, reach)
    return engine.map_rows(_beyond_block, (now, before), (reach,), out=before)


def beyond_rows(engine: Engine, now: Array, before: Array, reach: Reach) -> Array:
    """Return extrapolated packed rows, in `before`."""
    used = engine.n_topics
    if on_device(now):
        before[:, :used] = _on_device(now[:, :used], before[:, :used], reach)
        return before
    from topicfold.engine.kernels import extrapolate_rows

    threads = getattr(engine, "threads", 1)
    arguments = now, before, used, tuple(reach), before
    run_ranges(extrapolate_rows, even_ranges(len(now), threads), threads, *arguments)
    return before


def _beyond_block(
    rows: slice, lengths: Any, arrays: list[Array], data: Any, reach: Reach
) -> Array:
    from topicfold.engine.kernels import extrapolate_rows

    if on_device(arrays[0]):
        return _on_device(arrays[0], arrays[1], reach)
    now, before = (_whole(array) for array in arrays)
    out = np.empty_like(now)
    used = arrays[0].shape[1]
    extrapolate_rows(0, len(now), now, before, used, tuple(reach), out)
    return out[:, :used]


def _whole(rows: Array) -> Array:
    """Return contiguous rows: with their padding, as they are in memory."""
    found = padded(rows)
    return np.ascontiguousarray(rows) if found is None else found


def _on_device(now: Any, before: Any, reach: Reach) -> Any:
    """Return what `extrapolate_rows` writes, by CuPy."""
    from topicfold.engine.kernels import LEAST_PART

    xp = array_module(now)
    rows = xp.maximum(now + reach.beta * (now - before), LEAST_PART * now)
    totals = now.sum(axis=1, keepdims=True)
    rows = xp.maximum(
        rows, reach.floor * (totals if reach.keeps_totals else totals > 0)
    )
    if reach.keeps_totals and reach.beta > 0:
        reached = xp.maximum(rows.sum(axis=1, keepdims=True), np.finfo(now.dtype).tiny)
        rows *= totals / reached
    return rows.astype(now.dtype, copy=False)
