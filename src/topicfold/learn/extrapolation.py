# SPDX-License-Identifier: BSD-3-Clause
"""Fewer passes to the same end: each goes on a little in the direction it came by.

With F one pass of an algorithm over the corpus, the next pass begins not at F(x_t) but
at

    y = F(x_t) + β (F(x_t) − F(x_{t−1}))

of mixtures and topics, kept positive and at their totals. β grows while the objective
rises. Where it falls, the pass begins at F(x_t) after all, and β is halved: an
algorithm whose passes never lower the objective still never does (after Ang & Gillis
2019, who extrapolate non-negative matrix factorisation).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from topicfold.core.jit import kernel
from topicfold.core.threads import even_ranges, run_ranges
from topicfold.core.typing import Array
from topicfold.engine.protocol import Engine, array_module, on_device, padded

# β at first, what it gains by a pass, and the most that it becomes.
FIRST, MORE, MOST = 0.5, 0.05, 0.95
# Least part of F(x_t) that is left of an entry.
LEAST_PART = 0.1


class Point(NamedTuple):
    """Where a pass begins: packed documents, of any positive scale, and topics."""

    documents: Any
    topics: Array


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
    """

    def __init__(self, algorithm: Stepwise, slack: float = 0.0) -> None:
        self.algorithm = algorithm
        self.slack = slack
        self.beta = FIRST
        self.before: Point | None = None

    def iterate(self, objective: float) -> float:
        """Do one iteration after one that ended at `objective`; return the new one."""
        algorithm, before = self.algorithm, self.before
        algorithm.advance()
        now = algorithm.point()
        if before is None:
            before = Point(np.add(now.documents, 0), np.add(now.topics, 0))  # type: ignore[arg-type]
        self.before = now
        algorithm.move_to(self._beyond(now, before, self.beta))
        value = algorithm.evaluate()
        if value >= objective - self.slack * abs(objective):
            self.beta = min(self.beta + MORE, MOST)
            return value
        self.beta /= 2
        algorithm.move_to(self._beyond(now, before, 0.0))
        return algorithm.evaluate()

    def _beyond(self, now: Point, before: Point, beta: float) -> Point:
        """Return the next point, written over the one before."""
        engine = self.algorithm.engine
        documents = beyond_documents(engine, now.documents, before.documents, beta)
        topics = beyond_rows(engine, now.topics, before.topics, beta, False)
        if beta > 0:
            topics = engine.normalize_topics(topics, 0.0, topics)
        return Point(documents, topics)

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs to go on from here."""
        before = self.algorithm.point() if self.before is None else self.before
        topics = self.algorithm.engine.unpack_topics(before.topics)
        names = "documents_before", "topics_before", "beta"
        return dict(zip(names, (before.documents, topics, self.beta), strict=True))

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a `state`."""
        topics = self.algorithm.engine.pack_topics(state["topics_before"])
        self.before = Point(state["documents_before"], topics)
        self.beta = float(state["beta"])


def beyond_documents(engine: Engine, now: Any, before: Any, beta: float) -> Any:
    """Return extrapolated packed documents at the totals of `now`, in `before`."""
    if isinstance(now, np.ndarray) or on_device(now):
        return beyond_rows(engine, now, before, beta, True)
    return engine.map_rows(_beyond_block, (now, before), (beta,), out=before)


def beyond_rows(
    engine: Engine, now: Array, before: Array, beta: float, keeps_totals: bool
) -> Array:
    """Return extrapolated packed rows, at the totals of `now` or not, in `before`."""
    if on_device(now):
        before[...] = _on_device(now, before, beta, keeps_totals)
        return before
    threads = getattr(engine, "threads", 1)
    arguments = now, before, beta, keeps_totals, before
    run_ranges(extrapolate_rows, even_ranges(len(now), threads), threads, *arguments)
    return before


def _beyond_block(
    rows: slice, lengths: Any, arrays: list[Array], data: Any, beta: float
) -> Array:
    if on_device(arrays[0]):
        return _on_device(arrays[0], arrays[1], beta, True)
    now, before = (_whole(array) for array in arrays)
    out = np.empty_like(now)
    extrapolate_rows(0, len(now), now, before, beta, True, out)
    return out[:, : arrays[0].shape[1]]


def _whole(rows: Array) -> Array:
    """Return contiguous rows: with their padding, so that sums are those in memory."""
    found = padded(rows)
    return np.ascontiguousarray(rows) if found is None else found


def _on_device(now: Any, before: Any, beta: float, keeps_totals: bool) -> Any:
    """Return what `extrapolate_rows` writes, by CuPy."""
    xp = array_module(now)
    rows = xp.maximum(now + beta * (now - before), LEAST_PART * now)
    if keeps_totals and beta > 0:
        reached = xp.maximum(rows.sum(axis=1, keepdims=True), np.finfo(now.dtype).tiny)
        rows *= now.sum(axis=1, keepdims=True) / reached
    return rows.astype(now.dtype, copy=False)


@kernel
def extrapolate_rows(start, stop, now, before, beta, keeps_totals, out):  # type: ignore[no-untyped-def]
    """Write ``now + beta (now - before)``, at least a part of `now`; at its totals.

    `out` may be `before`.
    """
    step = now.dtype.type(beta)
    least = now.dtype.type(LEAST_PART)
    for d in range(start, stop):
        a = now[d]
        b = before[d]
        scale = now.dtype.type(1)
        if keeps_totals and beta > 0.0:
            total = 0.0
            reached = 0.0
            for k in range(a.shape[0]):
                total += a[k]
                reached += max(a[k] + step * (a[k] - b[k]), least * a[k])
            if reached > 0.0:
                scale = now.dtype.type(total / reached)
        to = out[d]
        for k in range(a.shape[0]):
            to[k] = scale * max(a[k] + step * (a[k] - b[k]), least * a[k])
