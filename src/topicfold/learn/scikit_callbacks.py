# SPDX-License-Identifier: BSD-3-Clause
"""Callbacks of scikit-learn 1.9 (``set_callbacks``), beside those of topicfold.

Each iteration of a fit is a task of the estimator: scikit-learn's callbacks are called
at its begin and end, and end the fit where they return True.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from topicfold.learn.callbacks import Callback

if TYPE_CHECKING:
    from topicfold.learn.loop import IterationState

__all__ = ["CallbackSupportMixin", "FitTasks"]

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""


class FitTasks(Callback):
    """Passes the iterations of a fit to scikit-learn's callbacks.

    Parameters
    ----------
    model : estimator
        The model, on which ``set_callbacks`` was called, or a part of one on which it
        was.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.context: Any = None

    def on_start(self, state: IterationState) -> None:
        """Begin the task of the whole fit."""
        self.context = self.model._init_callback_context(max_subtasks=state.max_iter)
        self.context.call_on_fit_task_begin(estimator=self.model)

    def on_iteration(self, state: IterationState) -> bool:
        """Begin and end the task of an iteration; True ends the fit."""
        task = self.context.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=self.model)
        return bool(task.call_on_fit_task_end(estimator=self.model))

    def on_end(self, state: IterationState) -> None:
        """End the task of the whole fit."""
        if self.context is not None:
            self.context.call_on_fit_task_end(estimator=self.model)
