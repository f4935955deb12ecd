# SPDX-License-Identifier: BSD-3-Clause
"""Progress bar, early stopping, checkpoints and tracked metrics for long fits.

`FitTasks` brings the callbacks of scikit-learn 1.9 (``set_callbacks``) in: each
iteration of a fit is a task of the estimator. They are called at its begin and end, and
end the fit where they return True.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from topicfold.core.parameters import whole_number

if TYPE_CHECKING:
    from topicfold.learn.loop import IterationState

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""


_logger = logging.getLogger("topicfold")


class Callback:
    """Base of callbacks: override what you need.

    Examples
    --------
    >>> class StopAtThree(Callback):
    ...     def on_iteration(self, state):
    ...         return state.iteration >= 3
    """

    def on_fit(self, model: Any, X: Any) -> None:
        """Called once before the start, with the estimator and its counts."""

    def on_start(self, state: IterationState) -> None:
        """Called once, with the objective of the start in ``state.history``."""

    def on_iteration(self, state: IterationState) -> bool | None:
        """Called after each iteration; return True to end the fit."""

    def on_end(self, state: IterationState) -> None:
        """Called once, even after an error or Ctrl-C."""


class ProgressBar(Callback):
    """Show iterations, objective and time left on the terminal's error stream.

    Parameters
    ----------
    description : str, default="fit"
        Text in front of the bar.
    console : rich.console.Console or None, default=None
        Where to draw; None is standard error. Nothing is drawn if that is not a
        terminal.
    """

    def __init__(self, description: str = "fit", console: Any = None) -> None:
        self.description = description
        self.console = console
        self._progress: Any = None

    def on_start(self, state: IterationState) -> None:
        """Open the bar."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("objective {task.fields[objective]}"),
            TimeRemainingColumn(),
            console=self.console or Console(stderr=True),
            transient=True,
        )
        self._progress.start()
        self._task = self._progress.add_task(
            self.description, total=state.max_iter, objective=f"{state.objective:.6g}"
        )

    def on_iteration(self, state: IterationState) -> None:
        """Move the bar."""
        self._progress.update(
            self._task, completed=state.iteration, objective=f"{state.objective:.6g}"
        )

    def on_end(self, state: IterationState) -> None:
        """Close the bar."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


class EarlyStopping(Callback):
    """End the fit when held-out perplexity no longer falls.

    Perplexity is by document completion (see
    :func:`topicfold.metrics.completion_perplexity`) of documents that are not in
    the training matrix.

    Parameters
    ----------
    X : sparse matrix of shape (n_documents, n_terms)
        Held-out documents.
    every : int, default=5
        Iterations between two evaluations.
    patience : int, default=2
        Evaluations without progress before the fit ends.
    min_gain : float, default=1e-3
        Relative fall of perplexity that counts as progress.
    random_state : int, default=0
        Seed of the split of each document into a seen and a scored half.

    Attributes
    ----------
    perplexities_ : list of (iteration, perplexity)
        All evaluations of the last fit.

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import PLSA
    >>> from topicfold.learn import EarlyStopping
    >>> X = np.random.default_rng(0).poisson(1.0, size=(60, 20))
    >>> stopping = EarlyStopping(X[50:], every=2)
    >>> model = PLSA(5, random_state=0, tol=0, callbacks=[stopping]).fit(X[:50])
    >>> model.n_iter_ < 200
    True
    """

    def __init__(
        self,
        X: Any,
        *,
        every: int = 5,
        patience: int = 2,
        min_gain: float = 1e-3,
        random_state: int = 0,
    ) -> None:
        self.X = X
        self.every = whole_number(every, "every")
        self.patience = patience
        self.min_gain = min_gain
        self.random_state = random_state

    def on_start(self, state: IterationState) -> None:
        """Forget the last fit."""
        self.perplexities_: list[tuple[int, float]] = []
        self._best = np.inf
        self._waited = 0

    def on_iteration(self, state: IterationState) -> bool:
        """Evaluate now and then."""
        if state.iteration % self.every:
            return False
        from topicfold.infer.fold_in import document_completion

        value = document_completion(
            self.X, state.topics(), random_state=self.random_state
        )
        self.perplexities_.append((state.iteration, value))
        if value < self._best * (1 - self.min_gain):
            self._best, self._waited = value, 0
        else:
            self._waited += 1
        return self._waited >= self.patience


class Checkpoint(Callback):
    """Save topics and mixtures every few iterations, atomically.

    Parameters
    ----------
    path : path-like
        Folder or ``.safetensors`` file; ``TopicData.load`` opens it.
    every : int, default=10
        Iterations between two saves. The end of the fit is always saved.
    vocabulary : sequence of str or None, default=None
        Words; without it they are called ``w0, w1, …``.

    Examples
    --------
    >>> import tempfile
    >>> from topicfold import PLSA, TopicData
    >>> from topicfold.learn import Checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     callbacks = [Checkpoint(folder, every=5)]
    ...     _ = PLSA(2, random_state=0, callbacks=callbacks).fit([[2, 1, 0], [0, 1, 3]])
    ...     TopicData.load(folder)
    TopicData(n_topics=2, n_terms=3, n_documents=2)
    """

    def __init__(self, path: Any, *, every: int = 10, vocabulary: Any = None) -> None:
        self.path = Path(path)
        self.every = whole_number(every, "every")
        self.vocabulary = vocabulary
        self._saved_at = -1

    def on_start(self, state: IterationState) -> None:
        """Forget the last fit."""
        self._saved_at = -1

    def on_iteration(self, state: IterationState) -> None:
        """Save now and then."""
        if state.iteration % self.every == 0:
            self._save(state)

    def on_end(self, state: IterationState) -> None:
        """Save the last state."""
        if state.history and self._saved_at != state.iteration:
            self._save(state)

    def _save(self, state: IterationState) -> None:
        from topicfold.topic_data import TopicData

        topics = state.topics()
        vocabulary = self.vocabulary
        if vocabulary is None:
            vocabulary = [f"w{w}" for w in range(topics.shape[1])]
        TopicData(
            topics=topics,
            doc_topics=state.doc_topics(),
            vocabulary=tuple(vocabulary),
            history=tuple(state.history),
            settings={"checkpoint_iteration": state.iteration},
        ).save(self.path)
        self._saved_at = state.iteration
        _logger.info("checkpoint of iteration %d: %s", state.iteration, self.path)


class MetricTracker(Callback):
    """Record any function of the state every few iterations.

    Parameters
    ----------
    metric : callable
        Called with the :class:`~topicfold.learn.IterationState`.
    every : int, default=1
        Iterations between two calls.

    Attributes
    ----------
    values_ : list of (iteration, value)
        What was recorded.

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import PLSA
    >>> from topicfold.learn import MetricTracker
    >>> X = np.random.default_rng(0).poisson(1.0, size=(60, 20))
    >>> tracker = MetricTracker(lambda state: len(state.history), every=2)
    >>> _ = PLSA(5, max_iter=4, tol=0, random_state=0, callbacks=[tracker]).fit(X)
    >>> tracker.values_
    [(2, 3), (4, 5)]
    """

    def __init__(
        self, metric: Callable[[IterationState], Any], *, every: int = 1
    ) -> None:
        self.metric = metric
        self.every = whole_number(every, "every")

    def on_start(self, state: IterationState) -> None:
        """Forget the last fit."""
        self.values_: list[tuple[int, Any]] = []

    def on_iteration(self, state: IterationState) -> None:
        """Record now and then."""
        if state.iteration % self.every == 0:
            self.values_.append((state.iteration, self.metric(state)))


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
