# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold compare``: which model for these documents?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicfold.cli import text_options as texts
from topicfold.cli.console import show_fact, stdout_console, working
from topicfold.cli.inputs import in_memory, read_corpus
from topicfold.cli.messages import CommandError, printable, tell
from topicfold.registry import model_names

if TYPE_CHECKING:
    from topicfold.choosing.comparison import Comparison

HELP = """Try several models on documents, and say which one to take.

INPUT is as in topicfold fit. With labels, a fifth of the documents is held out and
accuracy decides among models whose topics can be read; without, perplexity, coherence,
diversity and stability do.

\b
[bold]Examples[/bold]
  topicfold compare docs
  topicfold compare reviews.txt --budget 60 --plot reviews.png
  topicfold compare reviews/ --models lda,fstm,tf-idf -k 40

\b
[bold]In Python[/bold]
  import topicfold
  topicfold.compare(corpus, time_budget=60).to_markdown()
"""

_LEGEND = {
    "accuracy": "accuracy (0 to 1, of test documents): higher is better",
    "perplexity": "perplexity (of unseen words): lower is better",
    "coherence": "coherence (NPMI, -1 to 1): higher is better",
    "diversity": "diversity (0 to 1): higher is better",
    "copies": "copies (topics with the top words of another): lower is better",
    "stability": "stability (0 to 1, between two starts): higher is better",
}
_Models = Annotated[
    str | None,
    typer.Option(
        "--models",
        "-m",
        metavar="NAMES",
        help=f"Models, separated by commas: tf-idf, pca, nmf, {model_names()}.",
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
_Seed = Annotated[int, typer.Option(min=0, help="Seed of the split and the starts.")]
_Jobs = Annotated[int, typer.Option(help="Threads, -1 for all.")]
_Plot = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Picture: .png, .svg or .pdf.")
]
_Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Keep scores here as they come; what is there is not done again.",
    ),
]
_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the table.")]


@texts.takes_text_options(without=("id", "time"))
def compare(
    source: texts.InputArgument,
    models: _Models = None,
    topics: _Topics = None,
    budget: _Budget = 300.0,
    seed: _Seed = 0,
    jobs: _Jobs = -1,
    plot: _Plot = None,
    output: _Output = None,
    quiet: _Quiet = False,
    *,
    options: texts.TextOptions,
    format: str | None,
) -> None:
    """Try several models on documents."""
    from topicfold.choosing.comparison import compare as compare_models
    from topicfold.cli.console import show_corpus

    names = None
    if models is not None:
        names = [name.strip() for name in models.split(",") if name.strip()]
    if plot is not None and plot.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise CommandError(f"--plot is {plot}. Give a name with .png, .svg or .pdf.")
    read, _ = read_corpus(source, options, format, quiet=quiet)
    corpus = in_memory(read, source)
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
    if plot is not None or not quiet:
        _draw(found, plot)


def _show(found: Comparison) -> None:
    from rich import box
    from rich.table import Table

    from topicfold.choosing.comparison import format_score

    names = found.columns()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("model", style="bold", no_wrap=True)
    for column in ("topics", *names, "seconds", "MB"):
        table.add_column(column, justify="right", no_wrap=True)
    for score in found.scores:
        cells = [format_score(name, getattr(score, name)) for name in names]
        table.add_row(
            score.model,
            str(score.n_components or ""),
            *cells,
            f"{score.seconds:.1f}",
            format_score("memory", score.memory_mb),
        )
    console = stdout_console()
    console.print(table)
    console.print("; ".join(_LEGEND[name] for name in names) + ".")
    for reason in found.left_out:
        tell("note", f"left out: {reason}")
    show_fact("Result", printable(found.recommendation))


def _draw(found: Any, file: Path | None) -> None:
    """Draw the picture, or say why there is none."""
    from topicfold.exceptions import MissingDependencyError

    if file is None:
        show_fact("Plot", "none; --plot comparison.png draws one")
        return
    try:
        found.plot(file)
    except MissingDependencyError as error:
        tell("note", error)
        return
    show_fact("Plot", str(file))
