# SPDX-License-Identifier: BSD-3-Clause
"""The orthogonal φ-step on the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from topicfold.engine.cuda.device import device_errors
from topicfold.engine.cuda.source import compile_part

BLOCK = 1024


def update_topics(engine: Any, counts: Any, topics: Any, strength: float) -> Any:
    """Write new topics to packed `counts`; see ``steps.orthogonal.OrthogonalPhi``.

    Parameters
    ----------
    engine : CudaEngine
        The engine of the packed arrays.
    counts, topics : cupy.ndarray of shape (n_terms, width)
        Expected counts, pseudo-counts included, and the old topics.
    strength : float
        Twice the λ of the objective.
    """
    import cupy

    used = slice(0, engine.n_topics)
    with device_errors("topics were kept apart"):
        by_topic = cupy.ascontiguousarray(counts[:, used].T)
        phi = cupy.ascontiguousarray(topics[:, used].T)
        total = phi.sum(axis=0, dtype=np.float64)
        kernel = compile_part("orthogonal", engine.shape).get_function("update_topics")
        sizes = np.int32(engine.n_topics), np.int32(engine.n_terms)
        work = cupy.empty_like(total)
        kernel(
            (1,),
            (BLOCK,),
            (*sizes, by_topic, np.float64(strength), phi, total, work),
        )
        counts[:, used] = phi.T
    return counts
