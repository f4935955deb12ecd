# SPDX-License-Identifier: BSD-3-Clause
"""The EM driver: iterate, record the objective, call the callbacks, stop in time.

With `Extrapolation` fewer passes lead to the same end: each goes on a little in the
direction it came by. With F one pass of an algorithm over the corpus, the next pass
begins not at F(x_t) but at

    y = F(x_t) + β (F(x_t) − F(x_{t−1}))

of mixtures and topics, kept positive and at their totals. β grows while the objective
rises. Where it falls, the pass begins at F(x_t) after all, and β is halved: an
algorithm whose passes never lower the objective still never does (after Ang & Gillis
2019, who extrapolate non-negative matrix factorisation).

EM never leaves a zero. Where zeros are no optimum's but haste's, y is kept above a
floor, a share of an even row that gets smaller from pass to pass.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from topicfold.core.parameters import level_of_caller
from topicfold.core.threads import (
    even_ranges,
    n_threads,
    one_blas_thread,
    run_in_order,
    run_ranges,
)
from topicfold.core.typing import Array
from topicfold.engine.protocol import Engine, on_device, padded
from topicfold.exceptions import (
    DataError,
    EmptyDocumentWarning,
    FitInterruptedWarning,
    SpareTopicsWarning,
    UnsettledWarning,
)

if TYPE_CHECKING:
    from topicfold.learn.callbacks import Callback
    from topicfold.learn.learner import Learner

_logger = logging.getLogger("topicfold")
# The mixtures' share of `tol`: the objective's change is a square of theirs, and small.
MOVED_PER_TOL = 10.0
_IS_PART = ContextVar("is_part", default=False)
Found = TypeVar("Found")


class Algorithm(Protocol):
    """What the driver needs of a learning algorithm.

    Experimental: what is asked of an algorithm of your own may grow.
    """

    def start(self) -> float:
        """Prepare the first iteration; return the objective at the start."""

    def iterate(self) -> float:
        """Do one iteration; return the objective afterwards."""

    def topics(self) -> Array:
        """Current topics (K, V), rows on the simplex."""

    def doc_topics(self) -> Array:
        """Current topic mixtures (D, K), rows on the simplex."""


@dataclass
class IterationState:
    """What a callback sees. Parameters are fetched only when asked for."""

    algorithm: Algorithm
    max_iter: int
    iteration: int = 0
    seconds: float = 0.0
    history: list[float] = field(default_factory=list)

    @property
    def objective(self) -> float:
        """Objective after the last iteration."""
        return self.history[-1]

    def topics(self) -> Array:
        """Topics (K, V) as they are now."""
        return self.algorithm.topics()

    def doc_topics(self) -> Array:
        """Topic mixtures (D, K) as they are now."""
        return self.algorithm.doc_topics()


@dataclass(frozen=True)
class FitResult:
    """How a fit went: one more objective than iterations, the start's first."""

    history: tuple[float, ...]
    n_iter: int
    converged: bool
    interrupted: bool


def run_em(
    algorithm: Algorithm,
    *,
    max_iter: int,
    tol: float,
    callbacks: Sequence[Callback] = (),
) -> FitResult:
    """Iterate until the objective changes by at most `tol` of itself.

    An algorithm whose objective need not rise has `settles_over`, the number of
    iterations over which the mean change is taken. One whose mixtures may move where
    the objective hardly does has `moved`, the mean share of a mixture that an iteration
    moves, infinite if more than mixtures must settle: it goes on until this is at most
    `MOVED_PER_TOL` times `tol`. One that stands still although it has not converged
    says why in `stuck`.

    A callback that returns True ends the fit. Ctrl-C ends it after the iteration
    under way: the parameters reached stay, with a warning instead of a traceback. A
    second Ctrl-C aborts at once, and so does the first in `part_of_more`.
    """
    _check_callbacks(callbacks)
    state = IterationState(algorithm, max_iter)
    began = time.perf_counter()
    converged = False
    window = getattr(algorithm, "settles_over", 1)
    # Steps may use BLAS, for small sums: the same for any number of its threads.
    with _DeferredInterrupt() as interrupt, one_blas_thread():
        try:
            state.history.append(algorithm.start())
            for callback in callbacks:
                callback.on_start(state)
            while state.iteration < max_iter and not interrupt.asked:
                state.history.append(algorithm.iterate())
                state.iteration += 1
                state.seconds = time.perf_counter() - began
                wants_stop = [callback.on_iteration(state) for callback in callbacks]
                converged = _has_settled(state.history, tol, window) and (
                    not hasattr(algorithm, "moved")
                    or algorithm.moved() <= MOVED_PER_TOL * tol
                )
                if converged or any(wants_stop):
                    break
        finally:
            for callback in callbacks:
                callback.on_end(state)
    if interrupt.asked:
        warnings.warn(
            f"The fit was interrupted after {state.iteration} of {max_iter} "
            "iterations; the model holds the parameters reached by then.",
            FitInterruptedWarning,
            stacklevel=4,
        )
    stuck = getattr(algorithm, "stuck", "")
    if converged and stuck:
        converged = False
        warnings.warn(
            f"The fit ended after {state.iteration} iterations without having "
            f"converged: {stuck}",
            UnsettledWarning,
            stacklevel=level_of_caller(),
        )
    return FitResult(tuple(state.history), state.iteration, converged, interrupt.asked)


def _has_settled(history: list[float], tol: float, window: int) -> bool:
    if len(history) <= window:
        return False
    before = history[-1 - window]
    return abs(history[-1] - before) <= window * tol * abs(before)


def _check_callbacks(callbacks: Sequence[Callback]) -> None:
    for callback in callbacks:
        asked = ("on_start", "on_iteration", "on_end")
        missing = [name for name in asked if not hasattr(callback, name)]
        if missing:
            raise DataError(
                f"The callback {callback!r} has no {', '.join(missing)}. Derive its "
                "class from topicfold.learn.Callback; for a function of the state use "
                "topicfold.learn.MetricTracker(function)."
            )


@contextmanager
def part_of_more() -> Iterator[None]:
    """Let Ctrl-C abort the fits in here and what they are parts of.

    A part that ended early, with a warning, would only let the next one begin.
    """
    before = _IS_PART.set(True)
    try:
        yield
    finally:
        _IS_PART.reset(before)


@contextmanager
def quiet() -> Iterator[None]:
    """Leave out warnings that a table of hundreds of fits cannot use.

    Ctrl-C in a fit, of which a model would only warn and go on with what it has, ends
    the run: half a fit must not be a result.
    """
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("error", FitInterruptedWarning)
        ours = EmptyDocumentWarning, SpareTopicsWarning, UnsettledWarning
        for category in (ConvergenceWarning, *ours):
            warnings.simplefilter("ignore", category)
        try:
            yield
        except FitInterruptedWarning:
            raise KeyboardInterrupt from None


class _DeferredInterrupt:
    """Note the first Ctrl-C instead of raising it; let the second through.

    Signals reach the main thread only; elsewhere this does nothing.
    """

    def __init__(self) -> None:
        self.asked = False
        self._previous: Any = None

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        if main and not _IS_PART.get():
            self._previous = signal.getsignal(signal.SIGINT)
            if callable(self._previous):
                signal.signal(signal.SIGINT, self._note)
            else:
                self._previous = None
        return self

    def _note(self, number: int, frame: Any) -> None:
        if self.asked:
            self._previous(number, frame)
        self.asked = True
        _logger.warning(
            "Ctrl-C: stopping after this iteration; press it again to abort at once"
        )

    def __exit__(self, *error: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)


# β at first, what it gains by a pass, and the most that it becomes.
FIRST, MORE, MOST = 0.5, 0.05, 0.95
# For EM without priors: the floor's share of an even row at first, and what is left of
# it after a pass, and after one that lowered the objective: by then a pass gains less
# than the floor costs.
EM_FLOOR, FLOOR_LEFT, FLOOR_LEFT_AFTER_FALL = 1e-3, 0.95, 0.1


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


class Extrapolation:
    """The extrapolated iterations of an algorithm.

    Parameters
    ----------
    algorithm : Learner
        What is iterated: by `advance`, `move_to` and `evaluate`.
    slack : float
        The part of itself by which a pass may lower the objective: 0 for an algorithm
        whose objective never falls.
    floor : float
        Least share of an even row where a pass begins, at first.
    """

    def __init__(
        self, algorithm: Learner, slack: float = 0.0, floor: float = 0.0
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
        # Without a direction nothing is extrapolated. If the objective falls, topics
        # were merged and split.
        first = before is None
        if before is None:
            engine = algorithm.engine
            nothing = engine.pack_prior(0.0)
            before = Point(*(engine.add_prior(rows, nothing, None) for rows in now))
        self.before = now
        algorithm.move_to(self._beyond(now, before, self.beta))
        value = algorithm.evaluate()
        self.floor *= FLOOR_LEFT
        if first or value >= objective - self.slack * abs(objective):
            self.beta = min(self.beta + MORE, MOST)
            return value
        self.beta /= 2
        self.floor *= FLOOR_LEFT_AFTER_FALL
        algorithm.move_to(self._beyond(now, before, 0.0))
        return algorithm.evaluate()

    def begin_again(self) -> None:
        """Forget the direction: the next pass begins elsewhere."""
        self.before, self.beta = None, FIRST

    def _beyond(self, now: Point, before: Point, beta: float) -> Point:
        """Return the next point, written over the one before."""
        engine, floor = self.algorithm.engine, self.floor if beta > 0 else 0.0
        reach = Reach(beta, floor / engine.n_topics, True)
        documents = beyond_documents(engine, now.documents, before.documents, reach)
        reach = Reach(beta, floor / engine.n_terms, False)
        topics = beyond_rows(engine, now.topics, before.topics, reach)
        if beta > 0:
            topics = engine.normalize_topics(topics, 0.0, topics)
        return Point(documents, topics)

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs to go on from here."""
        before = self.algorithm.point() if self.before is None else self.before
        topics = self.algorithm.engine.unpack_topics(before.topics)
        rows = {"documents_before": before.documents, "topics_before": topics}
        return {**rows, "beta": self.beta, "floor": self.floor}

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
        from topicfold.engine.cuda.steps import extrapolate

        extrapolate(now[:, :used], before[:, :used], reach, out=before[:, :used])
        return before
    from topicfold.engine.kernels import extrapolate_rows

    threads = engine.threads
    arguments = now, used, tuple(reach), before
    run_ranges(extrapolate_rows, even_ranges(len(now), threads), threads, *arguments)
    return before


def _beyond_block(
    rows: slice, lengths: Any, arrays: list[Array], data: Any, reach: Reach
) -> Array:
    from topicfold.engine.kernels import extrapolate_rows

    if on_device(arrays[0]):
        from topicfold.engine.cuda.steps import extrapolate

        return extrapolate(arrays[0], arrays[1], reach)
    now, used = _whole(arrays[0]), arrays[0].shape[1]
    out = np.empty_like(now)
    out[:, :used] = arrays[1]
    extrapolate_rows(0, len(now), now, used, tuple(reach), out)
    return out[:, :used]


def _whole(rows: Array) -> Array:
    """Return contiguous rows: with their padding, as they are in memory."""
    found = padded(rows)
    return np.ascontiguousarray(rows) if found is None else found


def run_fits(
    fit: Callable[..., Found],
    todo: Sequence[tuple[Any, ...]],
    n_jobs: int | None,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[Found]:
    """Return ``fit(*todo[i])`` for all i, `n_jobs` at a time, without a bar of each."""
    done: list[Found] = []
    with quiet(), part_of_more():
        fits = run_in_order(
            lambda number: fit(*todo[number]), len(todo), n_threads(n_jobs)
        )
        for found in fits:
            done.append(found)
            if on_progress is not None:
                on_progress(len(done), len(todo))
    return done
