# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold compare``: which model for these documents?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from topicfold.cli import inputs
from topicfold.cli.console import show_corpus, show_fact, show_table, working
from topicfold.cli.messages import CommandError, tell
from topicfold.core.tables import printable
from topicfold.exceptions import MissingDependencyError
from topicfold.registry import model_names

if TYPE_CHECKING:
    from topicfold.choosing.comparison import Comparison

_LEGEND = {
    "accuracy": "accuracy (0 to 1, of test documents): higher is better",
    "perplexity": "perplexity (of unseen words): lower is better",
    "coherence": "coherence (NPMI, -1 to 1): higher is better",
    "diversity": "diversity (0 to 1): higher is better",
    "copies": "copies (topics with the top words of another): lower is better",
    "stability": "stability (0 to 1, between two starts): higher is better",
}
_Models = Annotated[
    list[str] | None,
    typer.Option(
        "--models",
        "-m",
        metavar="NAMES",
        help="Models, separated by commas, or one each time; may be repeated: tf-idf, "
        f"pca, nmf, {model_names()}.",
    ),
]
_Topics = Annotated[
    int | None,
    typer.Option(
        "--topics",
        "-k",
        min=1,
        help="Topics to learn.",
        show_default="10 to 100, by the number of documents",
    ),
]
_Budget = Annotated[float, typer.Option(min=0.1, help="Seconds for all models.")]
_Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Keep the scores in this file; models that it has are not fitted again.",
    ),
]
_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the table.")]


@inputs.takes_flags(without=("id", "time"))
def compare(
    source: inputs.InputArgument,
    models: _Models = None,
    topics: _Topics = None,
    budget: _Budget = 300.0,
    seed: inputs.SeedOption = 0,
    jobs: inputs.JobsOption = -1,
    plot: inputs.PlotOption = None,
    output: _Output = None,
    quiet: _Quiet = False,
    *,
    options: inputs.TextOptions,
) -> None:
    """Try several models on documents, and say which one to take.

    INPUT is as in topicfold fit. With labels, a fifth of the documents is held out and
    accuracy decides among models whose topics can be read; without, perplexity,
    coherence, diversity and stability do.

    [bold]Examples[/bold]
      topicfold compare docs
      topicfold compare reviews.txt --budget 60 --plot reviews.png
      topicfold compare reviews/ --models lda,fstm,tf-idf -k 40

    [bold]In Python[/bold]
      import topicfold
      topicfold.compare(corpus, time_budget=60).to_markdown()
    """
    from topicfold.choosing.comparison import compare as compare_models

    names = inputs.listed(models) if models else None
    if plot is not None and plot.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise CommandError(f"--plot is {plot}. Give a name with .png, .svg or .pdf.")
    corpus, _ = inputs.read_in_memory(source, options, quiet=quiet)
    if not quiet:
        show_corpus(corpus)

    def on_progress(model: str, done: int, total: int, seconds: float) -> None:
        if not quiet:
            tell("note", f"{done}/{total} {model}: {seconds:.1f} s")

    with working("Fitting models, compiled the first time …", quiet=quiet):
        found = compare_models(
            corpus,
            names,
            n_components=topics,
            time_budget=budget,
            random_state=seed,
            n_jobs=jobs,
            results=output,
            on_progress=on_progress,
        )
    _show(found)
    if plot is not None:
        try:
            found.plot(plot)
            show_fact("Plot", str(plot))
        except MissingDependencyError as error:
            tell("note", error)
    elif not quiet:
        show_fact("Plot", "none; --plot comparison.png draws one")


def _show(found: Comparison) -> None:
    legend = "; ".join(_LEGEND[name] for name in found.columns()) + "."
    show_table(found.cells("MB"), legend, padding=(0, 1, 0, 0))
    for reason in found.left_out:
        tell("note", f"left out: {reason}")
    show_fact("Result", printable(found.recommendation))
