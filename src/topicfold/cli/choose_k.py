# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold choose-k``: how many topics for these documents?"""

from __future__ import annotations

import shlex
from pathlib import Path

from topicfold.cli import flags, inputs
from topicfold.cli.console import (
    CommandError,
    counted,
    show_corpus,
    show_fact,
    show_table,
    working,
)
from topicfold.cli.flags import Flags, flag, takes_flags
from topicfold.registry import find_model, model_names

_CANDIDATES = (5, 10, 20, 40, 80, 160)
_LEGEND = "perplexity (of unseen words): lower is better; {}: higher is better"


class _Flags(Flags):
    topics: list[str] | None = flag(
        "Numbers of topics to try, separated by commas; may be repeated.",
        None,
        "--topics -k",
        metavar="K,K,…",
        show_default="from 5 to 160, depending on the number of documents",
    )
    model: str = flag(f"One of: {model_names()}.", "lda", "--model -m")
    restarts: int = flag(
        "Fits for each number; a single fit has no stability.", 2, min=1
    )
    plot: Path | None = flags.PLOT
    seed: int = flags.SEED
    jobs: int = flags.JOBS
    quiet: bool = flags.QUIET


@takes_flags(without=("id", "time"))
def choose_k(
    source: flags.InputArgument, *, given: _Flags, options: inputs.TextOptions
) -> None:
    """Fit a model with several numbers of topics, score each, and suggest one.

    INPUT is as in topicfold fit. A tenth of the documents is held out. With labels the
    accuracy decides. Without, the numbers whose topics other seeds find again are
    ranked by perplexity and coherence. The suggestion is a start: look at the topics.

    [bold]Examples[/bold]
      topicfold choose-k reviews.txt --plot topics.png
      topicfold choose-k reviews.csv --text body -k 10,20,30,50

    [bold]In Python[/bold]
      from topicfold import LDA, select_n_components
      select_n_components(LDA(), corpus.counts, [10, 20, 30, 50]).plot()
    """
    from topicfold.choosing import select_n_components
    from topicfold.choosing.comparison import load_figure
    from topicfold.cli.fit import advise_short, make_model
    from topicfold.session.fitting import check_size

    sizes = _numbers(given.topics) if given.topics else None
    # Fits run in parallel, each on one thread.
    estimator = make_model(given.model, {"random_state": given.seed, "n_jobs": 1})
    flags.check_picture(given.plot)  # before the work
    if given.plot is not None:
        load_figure()
    corpus, _ = inputs.read_in_memory(source, options, quiet=given.quiet)
    entry = find_model(given.model)
    if not given.quiet:
        show_corpus(corpus)
        advise_short(corpus, entry)
    most = corpus.n_documents // 5
    sizes = sizes or [size for size in _CANDIDATES if size <= most] or [2]
    check_size(max(sizes), corpus.n_documents)
    y, classes = corpus.encoded_labels()
    with working("Fitting models …", quiet=given.quiet) as on_progress:
        chosen = select_n_components(
            estimator,
            corpus.counts,
            sizes,
            y if len(classes) > 1 else None,
            n_restarts=given.restarts,
            random_state=given.seed,
            n_jobs=given.jobs,
            on_progress=on_progress,
        )
    best = chosen.suggested()
    bold = {"topics": str(best)}
    cells = chosen.cells()
    rising = ("NPMI coherence", "diversity", "stability", "accuracy")
    *others, last = [name for name in rising if name in cells[0]]
    legend = _LEGEND.format(f"{', '.join(others)} and {last}")
    show_table(cells, legend, bold=bold, padding=(0, 1, 0, 0))
    if given.plot is not None:
        chosen.plot(given.plot)
        show_fact("Picture", str(given.plot))
    edge = ""
    sure = len(classes) > 1 or chosen.stable()
    if sure and 2 < best == min(sizes) < max(sizes):
        edge = ". This is the smallest number tried; fewer may be better"
    elif sure and best == max(sizes) > min(sizes):
        edge = ". This is the largest number tried; more may be better: -k "
        edge += f"{best},{2 * best}"
    if len(chosen.records) > 1:
        show_fact("Suggests", f"{best} topics{chosen.reason()}{edge}")
    else:
        several = ",".join(str(k) for k in sorted({max(best // 2, 2), best, 2 * best}))
        show_fact("Tried", f"only {counted(best, 'topic')}; give several: -k {several}")
    if not given.quiet:
        show_fit(source, options, entry.name, best)


def show_fit(
    source: str, options: inputs.TextOptions, model: str, topics: int | None, *more: str
) -> None:
    """Print the command that fits a model to the same documents."""
    words = ["topicfold", "fit", source, *options.typed(), "-m", model]
    size = [] if topics is None else ["-k", str(topics)]
    show_fact("Next", shlex.join([*words, *size, *more, "-o", "model"]))


def _numbers(given: list[str]) -> list[int]:
    try:
        numbers = [int(part) for part in flags.listed(given)]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise CommandError(
            f"--topics is {','.join(given)!r}. Give whole numbers separated by commas, "
            "such as 10,20,40."
        )
    return numbers
