# SPDX-License-Identifier: BSD-3-Clause
"""The stopwatch that adapters call after every pass; it stands still in between."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

TopicsFn = Callable[[], np.ndarray]


@dataclass
class PassClock:
    """Time passes only: what `observe` does (evaluation) is not counted.

    Parameters
    ----------
    observe : callable
        Called as ``observe(clock, topics_fn)`` after every pass; True ends the fit.
    timer : callable
        Returns seconds: by the clock, or of this process' threads on any core.
    """

    observe: Callable[[PassClock, TopicsFn], bool]
    timer: Callable[[], float] = time.perf_counter
    seconds: float = 0.0
    passes: int = 0
    laps: list[tuple[int, float]] = field(default_factory=list)
    _resumed: float = 0.0

    def start(self) -> None:
        """Start the first pass."""
        self._resumed = self.timer()

    def __call__(self, topics: TopicsFn, passes: int = 1) -> bool:
        """Take the lap time of `passes` passes; return whether to stop."""
        lap = self.timer() - self._resumed
        self.seconds += lap
        self.passes += passes
        self.laps.append((passes, lap))
        stop = bool(self.observe(self, topics))
        self._resumed = self.timer()
        return stop

    def seconds_a_pass(self, warm_up: int = 1) -> list[float]:
        """Seconds a pass of every lap after the first `warm_up` laps."""
        laps = self.laps[warm_up:] or self.laps
        return [lap / passes for passes, lap in laps]
