# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold choose-k``: how many topics for these documents?"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from topicfold.cli import inputs
from topicfold.cli.console import (
    show_corpus,
    show_fact,
    show_next,
    show_table,
    working,
)
from topicfold.cli.messages import CommandError
from topicfold.registry import model_names

_CANDIDATES = (5, 10, 20, 40, 80, 160)
_LEGEND = (
    "perplexity (of unseen words): lower is better; NPMI coherence, diversity, "
    "stability and accuracy: higher is better"
)
_Topics = Annotated[
    list[str] | None,
    typer.Option(
        "--topics",
        "-k",
        metavar="K,K,…",
        help="Numbers to try, separated by commas; may be repeated.",
        show_default="5 to 160, by the number of documents",
    ),
]
_Model = Annotated[str, typer.Option("--model", "-m", help=f"One of: {model_names()}.")]
_Restarts = Annotated[
    int, typer.Option(min=1, help="Fits for each number; one has no stability.")
]


@inputs.takes_flags(without=("id", "time"))
def choose_k(
    source: inputs.InputArgument,
    topics: _Topics = None,
    model: _Model = "lda",
    restarts: _Restarts = 2,
    plot: inputs.PlotOption = None,
    seed: inputs.SeedOption = 0,
    jobs: inputs.JobsOption = -1,
    quiet: inputs.QuietOption = False,
    *,
    options: inputs.TextOptions,
) -> None:
    """Fit a model with several numbers of topics, score each, and suggest one.

    INPUT is as in topicfold fit. A tenth of the documents is held out. With labels the
    accuracy decides, without them perplexity, coherence and stability together. The
    suggestion is a start: look at the topics.

    [bold]Examples[/bold]
      topicfold choose-k reviews.txt --plot topics.png
      topicfold choose-k reviews.csv --text body -k 10,20,30,50

    [bold]In Python[/bold]
      from topicfold import LDA, select_n_components
      select_n_components(LDA(), corpus.counts, [10, 20, 30, 50]).plot()
    """
    from topicfold.choosing import select_n_components
    from topicfold.choosing.comparison import load_figure
    from topicfold.cli.fit import make_model

    sizes = _numbers(topics) if topics else None
    estimator = make_model(model, {"random_state": seed, "n_jobs": jobs})
    if plot is not None:
        load_figure()  # before the work
    corpus, _ = inputs.read_in_memory(source, options, quiet=quiet)
    if not quiet:
        show_corpus(corpus)
    most = corpus.n_documents // 5
    sizes = sizes or [size for size in _CANDIDATES if size <= most] or [2]
    inputs.check_topics(max(sizes), corpus.n_documents)
    y, classes = corpus.encoded_labels()
    with working(f"Fitting {len(sizes) * restarts} models …", quiet=quiet):
        chosen = select_n_components(
            estimator,
            corpus.counts,
            sizes,
            y if len(classes) > 1 else None,
            n_restarts=restarts,
            random_state=seed,
        )
    best = chosen.suggested()
    show_table(chosen.cells(), _LEGEND, bold={"topics": str(best)})
    if plot is not None:
        chosen.plot(plot)
        show_fact("Picture", str(plot))
    show_fact("Suggests", f"{best} topics")
    if not quiet:
        flags = "".join(f" {shlex.quote(word)}" for word in options.typed())
        show_next(f"topicfold fit {{}}{flags} -k {best} -o model", Path(source))


def _numbers(given: list[str]) -> list[int]:
    try:
        numbers = [int(part) for part in inputs.listed(given)]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise CommandError(
            f"--topics is {','.join(given)!r}. Give whole numbers separated by commas, "
            "such as 10,20,40."
        )
    return numbers
