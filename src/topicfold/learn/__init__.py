# SPDX-License-Identifier: BSD-3-Clause
"""The loop that every model runs in, its callbacks, and where it starts."""

from topicfold.learn.callbacks import (
    Callback,
    Checkpoint,
    EarlyStopping,
    MetricTracker,
    ProgressBar,
)
from topicfold.learn.loop import Algorithm, FitResult, IterationState, run_em
from topicfold.learn.resume import Resume

__all__ = [
    "Algorithm",
    "Callback",
    "Checkpoint",
    "EarlyStopping",
    "FitResult",
    "IterationState",
    "MetricTracker",
    "ProgressBar",
    "Resume",
    "run_em",
]
