# SPDX-License-Identifier: BSD-3-Clause
"""The orthogonal φ-step's kernel on the device."""

from __future__ import annotations

import numpy as np

from topicfold.core.typing import DeviceArray
from topicfold.engine.cuda.device import device_errors
from topicfold.engine.cuda.source import compile_part, row_shape

BLOCK = 1024


def update_topics(
    counts: DeviceArray,
    strength: float,
    topics: DeviceArray,
    total: DeviceArray,
    work_overlap: DeviceArray,
) -> None:
    """As ``steps.orthogonal_kernels.update_topics``, for arrays on the device."""
    n_topics, n_terms = topics.shape
    with device_errors("topics were kept apart"):
        shape = row_shape(n_topics, topics.dtype)
        kernel = compile_part("orthogonal", shape).get_function("update_topics")
        sizes = np.int32(n_topics), np.int32(n_terms)
        arguments = counts, np.float64(strength), topics, total, work_overlap
        kernel((1,), (BLOCK,), (*sizes, *arguments))
