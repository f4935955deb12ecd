# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold compare``: which model for these documents?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from topicfold.cli import flags, inputs
from topicfold.cli.choose_k import show_fit
from topicfold.cli.console import (
    show_corpus,
    show_fact,
    show_table,
    tell,
    working,
)
from topicfold.cli.flags import Flags, flag, takes_flags
from topicfold.cli.sides import read_embeddings
from topicfold.core.tables import printable
from topicfold.exceptions import MissingDependencyError
from topicfold.registry import model_names, models

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


class _Flags(Flags):
    models: list[str] | None = flag(
        "Models to compare, separated by commas; may be repeated. One of: tf-idf, "
        f"pca, nmf, {model_names()}.",
        None,
        "--models -m",
        metavar="NAMES",
    )
    topics: int | None = flag(
        "Topics to learn.",
        None,
        "--topics -k",
        min=1,
        show_default="from 10 to 100, depending on the number of documents",
    )
    embeddings: str | None = flags.EMBEDDINGS
    cache: str | None = flag(
        "Weight of the words that a document has already shown, in the perplexity of "
        "all models: 0 to 1, or learned.",
        metavar="W",
    )
    budget: float = flag("Seconds for all models together.", 300.0, min=0.1)
    seed: int = flags.SEED
    jobs: int = flags.JOBS
    plot: Path | None = flags.PLOT
    output: Path | None = flags.output(
        "Save the scores in this file; models that are already in it are not "
        "fitted again.",
        *(None, "FILE"),
    )
    quiet: bool = flag("Print only the table.", False, "--quiet -q")


@takes_flags(without=("id", "time"))
def compare(
    source: flags.InputArgument, *, given: _Flags, options: inputs.TextOptions
) -> None:
    """Try several models on documents, and say which one to take.

    INPUT is as in topicfold fit. With labels, a fifth of the documents is held out and
    accuracy decides among models whose topics can be read; without, perplexity,
    coherence, diversity and stability do.

    [bold]Examples[/bold]
      topicfold compare docs
      topicfold compare reviews.txt --budget 60 --plot reviews.png
      topicfold compare reviews/ --models lda,fstm,tf-idf -k 40
      topicfold compare reviews.txt --embeddings vectors.npy

    [bold]In Python[/bold]
      import topicfold
      topicfold.compare(corpus, time_budget=60).to_markdown()
    """
    from topicfold.choosing.comparison import compare as compare_models

    plot, quiet = given.plot, given.quiet
    flags.check_picture(plot)
    vectors_of = given.embeddings
    corpus, _ = inputs.read_in_memory(
        source, options, embeddings=vectors_of, quiet=quiet
    )
    if not quiet:
        show_corpus(corpus)

    vectors = read_embeddings(given.embeddings, source, corpus.n_documents)

    def on_progress(model: str, done: int, total: int, seconds: float) -> None:
        if not quiet:
            tell("note", f"{done}/{total} {model}: {seconds:.1f} s")

    with working("Fitting models …", quiet=quiet):
        found = compare_models(
            corpus,
            flags.listed(given.models) or None,
            n_components=given.topics,
            time_budget=given.budget,
            random_state=given.seed,
            n_jobs=given.jobs,
            results=given.output,
            on_progress=on_progress,
            embeddings=vectors,
            cache=_weight(given.cache),
        )
    _show(found)
    if plot is not None:
        try:
            found.plot(plot)
            show_fact("Plot", str(plot))
        except MissingDependencyError as error:
            tell("note", error)
    elif not quiet:
        show_fact("Plot", "none; --plot comparison.png draws a picture")
    if not quiet:
        names = {entry.shown: entry.name for entry in models()}
        beside = () if vectors is None else ("--embeddings", str(given.embeddings))
        for score in found.scores:
            if score.model == found.taken and score.model in names:
                show_fit(
                    *(source, options, names[score.model], score.n_components), *beside
                )


def _weight(text: str | None) -> float | str | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _show(found: Comparison) -> None:
    legend = "; ".join(_LEGEND[name] for name in found.columns()) + "."
    show_table(found.cells(memory=False), legend, padding=(0, 1, 0, 0))
    for reason in found.left_out:
        tell("note", f"left out: {reason}")
    show_fact("Result", printable(found.recommendation))
