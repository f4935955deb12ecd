# SPDX-License-Identifier: BSD-3-Clause
"""The EM driver: iterate, record the objective, call the callbacks, stop in time."""

from __future__ import annotations

import logging
import signal
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self

from topicfold.core.parameters import level_of_caller
from topicfold.core.typing import Array
from topicfold.exceptions import DataError, FitInterruptedWarning, UnsettledWarning

if TYPE_CHECKING:
    from topicfold.learn.callbacks import Callback

_logger = logging.getLogger("topicfold")
# The mixtures' share of `tol`: the objective's change is a square of theirs, and small.
MOVED_PER_TOL = 10.0
_IS_PART = ContextVar("is_part", default=False)


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
    with _DeferredInterrupt() as interrupt:
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
