# SPDX-License-Identifier: BSD-3-Clause
"""What the GPU benchmarks share: a state to time from, and device events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from topicfold.engine.cuda.engine import CudaEngine


def random_state(engine: CudaEngine, seed: int = 0) -> tuple[Any, Any]:
    """Return mixtures and topics of random numbers on the device."""
    random = cupy.random.default_rng(seed)
    theta = engine.pack_documents(
        np.broadcast_to(1.0, (engine.n_documents, engine.n_topics))
    )
    for first in range(0, len(theta), 500_000):
        part = theta[first : first + 500_000, : engine.n_topics]
        part[...] = random.random(part.shape, dtype=np.float32) ** 4 + 1e-3
    topics = engine.pack_topics(np.broadcast_to(1.0, (engine.n_topics, engine.n_terms)))
    used = topics[:, : engine.n_topics]
    used[...] = random.random(used.shape, dtype=np.float32) ** 4 + 1e-3
    return theta, engine.normalize_topics(topics, 0.0, topics)


def milliseconds(work: Callable[[], Any], repeats: int = 5) -> float:
    """Return the median time of `work` by device events, after one warm-up."""
    work()
    times = []
    for _ in range(repeats):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        work()
        stop.record()
        stop.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, stop))
    return float(np.median(times))
