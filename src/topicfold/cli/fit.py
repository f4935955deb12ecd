# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold fit``: learn topics from documents and save the model."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from topicfold.cli import text_options as texts
from topicfold.cli.console import (
    counted,
    progress_callbacks,
    show_corpus,
    show_fact,
    show_next,
)
from topicfold.cli.inputs import read_corpus, read_links
from topicfold.cli.messages import EXIT_INTERRUPTED, CommandError
from topicfold.cli.registry import make_model
from topicfold.registry import ModelEntry, find_model, model_names

HELP = """Learn topics from documents and save the model.

INPUT is a folder of .txt files (sub-folders are labels), a .txt file with one
document per line, a .csv, .tsv, .jsonl or .parquet file with a column "text", counts
in any format of topicfold convert, or the word docs: the built-in corpus.

\b
[bold]Examples[/bold]
  topicfold fit reviews.txt -k 30 -o reviews-model
  topicfold fit docs --model plsa -k 20 -o docs-model
  topicfold fit mails.csv --text body --label folder -o mails-model
  topicfold fit mails.csv --text body --label folder -m fstm-c -o mails-model
  topicfold fit papers.jsonl --model laplacian --graph citations.txt -o model

\b
[bold]In Python[/bold]
  from topicfold import LDA, corpus
  texts = corpus.read_texts("reviews.txt").texts
  X, words = corpus.vectorize(texts, stop_words="english")
  model = LDA(30, random_state=0, n_jobs=-1).fit(X)
  model.save("reviews-model")
"""

_FIT = "Fit"
_GRAPH = "Graph of documents"

_Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the model.")
]
_Model = Annotated[str, typer.Option("--model", "-m", help=f"One of: {model_names()}.")]
_Jobs = Annotated[
    int,
    typer.Option(help="Threads, -1 for all cores; the result is the same."),
]
_MaxIter = Annotated[
    int | None,
    typer.Option(min=1, help="Most iterations.", rich_help_panel=_FIT),
]
_Tol = Annotated[
    float | None,
    typer.Option(
        min=0, help="Relative change that ends the fit.", rich_help_panel=_FIT
    ),
]
_Algorithm = Annotated[
    str | None,
    typer.Option(help="For lda: cvb0 or variational.", rich_help_panel=_FIT),
]
_UseLabels = Annotated[
    bool | None,
    typer.Option(
        "--use-labels/--no-labels",
        help="Learn from labels too: graph models join documents of one class.",
        show_default="where the model needs them",
        rich_help_panel=_FIT,
    ),
]
_Neighbors = Annotated[
    int | None,
    typer.Option(min=1, help="Neighbours per document.", rich_help_panel=_GRAPH),
]
_Similarity = Annotated[
    str | None,
    typer.Option(help="cosine, intersection or kl.", rich_help_panel=_GRAPH),
]
_Weight = Annotated[
    float | None,
    typer.Option(min=0, help="Strength of the graph.", rich_help_panel=_GRAPH),
]
_GraphFile = Annotated[
    Path | None,
    typer.Option(
        "--graph",
        metavar="FILE",
        help="Links instead of neighbours: two document numbers per line, from 0, and "
        "a weight if you like.",
        rich_help_panel=_GRAPH,
    ),
]
_Device = Annotated[str, typer.Option(help="Where to compute.", rich_help_panel=_FIT)]
_Report = Annotated[
    bool | None,
    typer.Option(
        "--report/--no-report",
        help="Write DIR/report.html as well.",
        show_default="where the model has topics",
    ),
]


@texts.takes_text_options()
def fit(
    source: texts.InputArgument,
    output: _Output,
    model: _Model = "lda",
    topics: texts.TopicsOption = 50,
    seed: texts.SeedOption = 0,
    jobs: _Jobs = -1,
    quiet: texts.QuietOption = False,
    force: texts.ForceOption = False,
    report: _Report = None,
    max_iter: _MaxIter = None,
    tol: _Tol = None,
    algorithm: _Algorithm = None,
    device: _Device = "cpu",
    use_labels: _UseLabels = None,
    neighbors: _Neighbors = None,
    similarity: _Similarity = None,
    weight: _Weight = None,
    graph: _GraphFile = None,
    *,
    options: texts.TextOptions,
    format: str | None,
) -> None:
    """Learn topics from documents and save the model."""
    from topicfold.persistence import check_saveable
    from topicfold.persistence.model_folder import check_output_folder

    check_output_folder(output, replace=force)
    entry = find_model(model)
    with_report = _wants_report(report, entry)
    estimator = make_model(
        model,
        {
            "n_components": topics,
            "random_state": seed,
            "n_jobs": jobs,
            "max_iter": max_iter,
            "tol": tol,
            "algorithm": algorithm,
            "device": device,
            "n_neighbors": neighbors,
            "similarity": similarity,
            "weight": weight,
            "graph": None if graph is None else read_links(graph),
        },
    )
    check_saveable(estimator)
    corpus, settings = read_corpus(source, options, format, quiet=quiet)
    if not quiet:
        show_corpus(corpus)
    y = labels_to_use(corpus, entry, use_labels)
    if y is not None and "graph" in estimator.get_params(deep=False):
        join_classes(estimator, corpus.counts, y)
    done = fit_model(estimator, corpus.counts, y, quiet=quiet)
    name_classes(estimator, corpus)
    page = _save(estimator, corpus, output, settings, report=with_report, quiet=quiet)
    if not quiet:
        show_fact("Model", f"{done.summary}{_advice(done)}")
        show_fact("Saved", str(output))
        if page is not None:
            show_fact("Report", str(page))
        show_next(entry.next_command, output)
    if done.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)


def _wants_report(asked: bool | None, entry: ModelEntry) -> bool:
    if asked and not entry.has_topics:
        raise CommandError(f"The model {entry.name} has no topics to report.")
    return bool(entry.has_topics) if asked is None else asked


def _save(
    model: Any,
    corpus: Any,
    output: Path,
    text: dict[str, Any] | None,
    *,
    report: bool,
    quiet: bool,
) -> Path | None:
    """Save a fitted model, then its report; return where the report is."""
    from topicfold.cli.report import report_fit
    from topicfold.persistence.model_folder import report_file, save_model_folder

    place = report_file(output)
    had_report = place.is_file()
    save_model_folder(
        model,
        output,
        vocabulary=corpus.vocabulary,
        labels=corpus.labels,
        doc_ids=corpus.ids,
        times=getattr(corpus, "times", None),
        text=text,
        corpus=corpus.name,
    )
    page = None
    if report:
        page = report_fit(model, corpus, place, text=text, quiet=quiet)
    if had_report and not place.is_file() and not quiet:
        show_fact("Removed", f"{place}, of the model that was replaced")
    return page


def _advice(report: FitReport) -> str:
    if report.interrupted or report.converged:
        return ""
    return ", the most allowed (--max-iter for more)"


@dataclass(frozen=True)
class FitReport:
    """How a fit went, in words and numbers."""

    summary: str
    seconds: float
    interrupted: bool
    converged: bool


def fit_model(model: Any, X: Any, y: Any = None, *, quiet: bool = False) -> FitReport:
    """Fit a model, with a progress bar on a terminal; its callbacks are None then."""
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


def labels_to_use(corpus: Any, entry: ModelEntry, wanted: bool | None) -> Any:
    """Return class numbers (-1: unknown) for the fit; None if it needs no labels."""
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


def _summary(model: Any, seconds: float) -> str:
    text = f"{type(model).__name__}, {counted(len(model.components_), 'topic')}: "
    n_iter = getattr(model, "n_iter_", None)
    if n_iter is not None:
        text += f"{counted(n_iter, 'iteration')} in "
    return f"{text}{seconds:.1f} s"
