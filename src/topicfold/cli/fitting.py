# SPDX-License-Identifier: BSD-3-Clause
"""One fit on the command line: with a clock, and with a Ctrl-C that keeps the model."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

from topicfold.cli.console import counted, progress_callbacks, show_fact, working
from topicfold.cli.messages import CommandError
from topicfold.registry import ModelEntry

_FEW = 30
# Loading what was compiled before takes less.
_WORTH_SAYING = 2.0


@dataclass(frozen=True)
class FitReport:
    """How a fit went.

    Attributes
    ----------
    summary : str
        Model, iterations and time, in words.
    seconds : float
        Time of the fit.
    interrupted : bool
        Whether Ctrl-C ended it.
    converged : bool
        Whether more iterations would change nothing.
    """

    summary: str
    seconds: float
    interrupted: bool
    converged: bool


def fit_model(model: Any, X: Any, y: Any = None, *, quiet: bool = False) -> FitReport:
    """Fit a model, with a progress bar on a terminal.

    Parameters
    ----------
    model : estimator
        An unfitted model; its callbacks are used for the bar and are None afterwards.
    X : sparse matrix
        The counts.
    y : array of int or None, default=None
        Class numbers, -1 if unknown, for models that learn from them.
    quiet : bool, default=False
        Whether to show no bar.
    """
    from topicfold.exceptions import FitInterruptedWarning

    interrupted = False
    show = warnings.showwarning

    def note(message: Any, category: type[Warning], *rest: Any, **more: Any) -> None:
        nonlocal interrupted
        interrupted = interrupted or issubclass(category, FitInterruptedWarning)
        show(message, category, *rest, **more)

    inner = getattr(model, "base", model)
    has_callbacks = "callbacks" in inner.get_params(deep=False)
    if has_callbacks:
        bar = progress_callbacks(f"Fit {type(inner).__name__}", quiet=quiet)
        inner.set_params(callbacks=bar or None)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.showwarning = note
        model.fit(X) if y is None else model.fit(X, y)
    seconds = time.perf_counter() - began
    if has_callbacks:
        inner.set_params(callbacks=None)
    return FitReport(
        summary=_summary(model, seconds),
        seconds=seconds,
        interrupted=interrupted,
        converged=bool(getattr(model, "converged_", True)),
    )


def compile_kernels(model: Any, X: Any) -> None:
    """Fit a copy on a few documents, so that compiling is no part of a fit's time.

    Parameters
    ----------
    model : estimator
        An unfitted model; it is left as it is.
    X : sparse matrix
        The counts that it will be fitted on.
    """
    from sklearn.base import clone

    from topicfold.choosing.cells import quiet

    few = clone(model).set_params(n_components=2, max_iter=1)
    began = time.perf_counter()
    with working("Loading kernels, compiled the first time …"), quiet():
        few.fit(X[:_FEW])
    seconds = time.perf_counter() - began
    if seconds > _WORTH_SAYING:
        name = type(model).__name__
        show_fact("Compile", f"{name}: {seconds:.1f} s, the first time only")


def labels_to_use(corpus: Any, entry: ModelEntry, wanted: bool | None) -> Any:
    """Return class numbers (-1: unknown) for the fit, None if it is to see none.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    entry : ModelEntry
        The model.
    wanted : bool or None
        What the user said; None is whatever the model needs.
    """
    if not entry.labels:
        if wanted:
            raise CommandError(f"The model {entry.name} does not learn from labels.")
        return None
    if wanted is None:
        wanted = entry.labels == "must"
    if not wanted:
        if entry.labels == "must":
            raise CommandError(f"The model {entry.name} needs labels.")
        return None
    y, classes = corpus.encoded_labels()
    if len(classes) < 2:
        raise CommandError(
            f"The model {entry.name} learns from labels, and these documents have "
            f"{len(classes) or 'no'} class{'es' if len(classes) != 1 else ''}. Name "
            "their column with --label, or put files into a sub-folder for each class."
        )
    return y


def join_classes(model: Any, X: Any, y: Any) -> None:
    """Let labels change the graph of a graph model, its own or the user's."""
    from topicfold.graph import NeighborGraph

    if model.graph is None or isinstance(model.graph, NeighborGraph):
        model.set_params(graph__label_edges=True)
    else:
        model.graph = NeighborGraph(label_edges=True).build(X, y, given=model.graph)


def name_classes(model: Any, corpus: Any) -> None:
    """Give a model that learned class numbers the names of the classes."""
    if hasattr(model, "classes_"):
        import numpy as np

        names = np.array(corpus.encoded_labels()[1])
        model.classes_ = names[np.asarray(model.classes_, dtype=int)]


def show_corpus(corpus: Any) -> None:
    """Print the size of a corpus."""
    text = (
        f"{counted(corpus.n_documents, 'document')}, "
        f"{counted(corpus.n_terms, 'different word')}, "
        f"{int(corpus.counts.sum()):,} in all"
    )
    if corpus.labels is not None:
        text += f", {counted(len(corpus.encoded_labels()[1]), 'class', 'classes')}"
    show_fact("Corpus", text)


def _summary(model: Any, seconds: float) -> str:
    text = f"{type(model).__name__}, {counted(len(model.components_), 'topic')}: "
    n_iter = getattr(model, "n_iter_", None)
    if n_iter is not None:
        text += f"{counted(n_iter, 'iteration')} in "
    return f"{text}{seconds:.1f} s"
