# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold fit``: learn topics from documents and save the model."""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from topicfold import registry
from topicfold.cli import flags, inputs
from topicfold.cli.console import (
    EXIT_INTERRUPTED,
    CommandError,
    counted,
    progress_callbacks,
    show_corpus,
    show_fact,
)
from topicfold.cli.flags import Flags, flag, takes_flags
from topicfold.cli.sides import (
    SideOptions,
    count_languages,
    read_about,
    read_embeddings,
    read_links,
    read_seeds,
    read_vectors,
)
from topicfold.registry import ModelEntry, find_model

_fit = functools.partial(flag, rich_help_panel="Fit")
_graph = functools.partial(flag, rich_help_panel="Graph of documents")


class _Flags(Flags):
    output: Path = flags.output("Folder for the model.")
    model: str = flag("One of the models above.", "lda", "--model -m")
    topics: int | None = flag(
        "Topics to learn.",
        None,
        "--topics -k",
        min=1,
        show_default="the number on which two fits to a sample agree best",
    )
    seed: int = flags.SEED
    jobs: int = flags.JOBS
    quiet: bool = flags.QUIET
    force: bool = flags.FORCE
    report: bool | None = flag(
        "Write DIR/report.html as well.",
        None,
        "--report/--no-report",
        show_default="if the model has topics",
    )
    embeddings: str | None = flags.EMBEDDINGS
    about: Path | None = flag(
        "File that says what the topics should be about. Each line is a name, or a "
        "name, a colon and a description. Needs --about-embeddings and --embeddings.",
        metavar="FILE",
    )
    about_embeddings: Path | None = flag(
        "Vectors of the lines of --about, one row per line, from the same encoder as "
        "--embeddings: FILE.npy.",
        metavar="FILE",
    )
    keep_documents: bool = flag(
        "Save texts and counts in DIR too, for search, report and update.",
        True,
        "--keep-documents/--no-documents",
    )


_SIMILARITIES = ("cosine", "intersection", "kl")


class ModelFlags(Flags):
    """What the model is given; None is its own default."""

    max_iter: int | None = _fit("Largest number of iterations.", min=1)
    tol: float | None = _fit("Relative change that ends the fit.", min=0)
    algorithm: str | None = _fit(
        "Algorithm of lda, cvb0 or variational, or of tree, recursive or crp."
    )
    device: str = _fit("Where to compute: cpu or cuda.", "cpu")
    seeds: Path | None = _fit(
        "File of seed words, as JSON or with one topic per line: its name, a colon and "
        "a few words, such as space: orbit, launch, moon. Fits the model seeded.",
        metavar="FILE",
    )
    use_labels: bool | None = _fit(
        "Learn from labels too: graph models join documents of one class.",
        None,
        "--use-labels/--no-labels",
        show_default="if the model needs them",
    )
    neighbors: int | None = _graph("Neighbours per document.", min=1)
    similarity: str | None = _graph(
        "Similarity of documents: cosine, intersection or kl."
    )
    weight: float | None = _graph(
        "How strongly the graph pulls documents together.", min=0
    )
    graph: Path | None = _graph(
        "File of links to use instead of neighbours: on each line the numbers of two "
        "documents, counted from 0, and optionally a weight.",
        metavar="FILE",
    )

    def parameters(self) -> dict[str, Any]:
        """Return parameters of the model, files among them read."""
        own = {**vars(self), "n_neighbors": self.neighbors}
        if self.similarity not in (None, *_SIMILARITIES):
            raise CommandError(
                f"--similarity is {self.similarity!r}. Give one of "
                f"{', '.join(_SIMILARITIES)}."
            )
        if self.graph is not None:
            own["graph"] = read_links(self.graph)
        if self.seeds is not None:
            own["seeds"] = read_seeds(self.seeds)
        del own["neighbors"], own["use_labels"]
        return own


# Options with a default on the command line; a model without them does not get them.
_COMMON = {"random_state": 0, "n_jobs": -1, "device": "cpu"}
_FLAGS = {
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "n_components": "--topics",
    "n_neighbors": "--neighbors",
}


@takes_flags()
def fit(
    source: flags.InputArgument,
    *,
    given: _Flags,
    model_flags: ModelFlags,
    options: inputs.TextOptions,
    sides: SideOptions,
) -> None:
    """Learn topics from documents and save the model.

    INPUT is a folder of .txt files (sub-folders are labels), a .txt file with one
    document per line, a .csv, .tsv, .json, .jsonl, .xlsx or .parquet file with a column
    "text", counts in any format of topicfold convert, or the word docs: the built-in
    corpus. A column "title" is put above the text; a column of dates is the time.

    [bold]Models[/bold]
    {models}

    [bold]Examples[/bold]
      topicfold fit reviews.txt -k 30 -o reviews-model
      topicfold fit docs --model plsa -k 20 -o docs-model
      topicfold fit mails.csv --text body --label folder -o mails-model
      topicfold fit mails.csv --text body --label folder -m fstm-c -o mails-model
      topicfold fit papers.jsonl --model laplacian --graph citations.txt -o model
      topicfold fit reviews.txt --seeds seeds.txt -k 30 -o guided-model
      topicfold fit papers.csv --authors author --response citations -o model
      topicfold fit laws.csv --text en --language de=german -o laws-model
      topicfold fit reviews.txt --embeddings vectors.npy -o reviews-model

    [bold]In Python[/bold]
      from topicfold import Topics
      topics = Topics(30).fit("reviews.txt")
      topics.report("report.html")
      topics.save("reviews-model")
    """
    from topicfold.cli.report import save_and_report
    from topicfold.persistence import check_saveable
    from topicfold.persistence.model_folder import check_output_folder
    from topicfold.session.fitting import (
        check_size,
        choose_size,
        fit_documents,
        n_described,
        started_from,
    )

    quiet, seeds = given.quiet, model_flags.seeds
    check_output_folder(given.output, replace=given.force)
    sides.check()
    entry = _asked_model(given, sides, seeds)
    wanted = model_flags.parameters()
    about = _about(given)
    n_topics = n_described(about, given.topics)
    common = {
        "n_components": n_topics,
        "random_state": given.seed,
        "n_jobs": given.jobs,
    }
    estimator = make_model(entry.name, common | wanted)
    check_saveable(estimator)
    keep = [word for own in (wanted["seeds"] or {}).values() for word in own]
    corpus, text = inputs.read_corpus(
        *(source, options),
        extra=sides.columns(),
        keep=keep,
        embeddings=given.embeddings,
        quiet=quiet,
    )
    if not quiet:
        show_corpus(corpus)
        advise_short(corpus, entry)
    chosen = ""
    if n_topics is None and entry.sized and entry.has_topics:
        least = len(wanted["seeds"] or ())
        X, jobs = corpus.counts, given.jobs
        size, chosen = choose_size(estimator, X, n_jobs=jobs, least=least)
        if not quiet:
            show_fact("Topics", f"{size}: {chosen} (--topics sets another number)")
    most = getattr(estimator, "_open_size", False)  # no number, but a limit
    if entry.has_topics and hasattr(estimator, "n_components") and not most:
        check_size(estimator.n_components, corpus.n_documents)
    first = " ".join(options.text or ["text"])
    spoken, cutting = count_languages(sides, corpus, text, first)
    vectors = read_embeddings(given.embeddings, source, corpus.n_documents)
    with started_from(about, None, estimator, corpus.counts, vectors):
        done: FitReport = fit_documents(
            *(estimator, corpus),
            known=sides.data(corpus),
            languages=spoken,
            embeddings=vectors,
            response_kind=sides.response_kind,
            from_classes=_learns_classes(entry, model_flags.use_labels),
            run=functools.partial(fit_model, quiet=quiet),
        )
    known = {"text": text, "languages": cutting, "chosen": chosen}
    saved = inputs.fitted_folder(
        estimator, corpus, documents=given.keep_documents, **known
    )
    advice = "" if done.ended else ", the maximum (--max-iter raises it)"
    save_and_report(
        saved,
        given.output,
        ("Model", f"{done.summary}{advice}"),
        corpus=corpus,
        report=entry.has_topics if given.report is None else given.report,
        next_command=entry.next_command,
        quiet=quiet,
    )
    if done.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)


def make_model(name: str, options: Mapping[str, Any]) -> Any:
    """Return an unfitted model; an error names flags."""
    usual = {key: options[key] for key in _COMMON if options.get(key) is not None}
    given = {
        key: value
        for key, value in options.items()
        if key not in _COMMON or value != _COMMON[key]
    }
    try:
        return registry.make_model(name, given, usual)
    except registry.UnknownOptionError as error:
        names = [_FLAGS.get(k, f"--{k.replace('_', '-')}") for k in error.names]
        raise CommandError(
            f"The model {find_model(name).name} has no option {', '.join(names)}. "
            f"{error.advice()}"
        ) from error


def _about(given: _Flags) -> dict[str, Any] | None:
    """Return the vectors of what topics should be about, by name; None without."""
    if given.about is None and given.about_embeddings is None:
        return None
    if given.about is None or given.about_embeddings is None:
        raise CommandError(
            "--about has the names of the topics, and --about-embeddings their "
            "vectors. Give both."
        )
    if given.embeddings is None:
        raise CommandError(
            "--about compares the vectors of descriptions with those of documents. "
            "Give the vectors of the documents with --embeddings."
        )
    names = read_about(given.about)
    vectors = read_vectors(
        str(given.about_embeddings), len(names), "--about-embeddings", "line of --about"
    )
    return dict(zip(names, vectors, strict=True))


# Models that learn from what a flag names, and only from that.
_NEEDS = {
    "authors": "authors",
    "features": "features",
    "rtm": "links",
    "multimodal": "language",
}


def _asked_model(given: _Flags, sides: SideOptions, seeds: Path | None) -> ModelEntry:
    """Return the model to fit; refuse one without what it is to learn from."""
    name = given.model
    if name == "lda":
        name = "seeded" if seeds is not None else sides.model_name()
    entry = find_model(name)
    needed = _NEEDS.get(entry.name)
    if needed is not None and getattr(sides, needed) in (None, False, []):
        raise CommandError(
            f"The model {entry.name} needs --{needed}: see topicfold fit --help."
        )
    if entry.name == "structural" and not (sides.prevalence or sides.content):
        raise CommandError(
            "The model structural needs --prevalence or --content; without them it is "
            "correlated."
        )
    if entry.name == "seeded" and seeds is None:
        raise CommandError("The model seeded needs --seeds, a file of seed words.")
    if given.report and not entry.has_topics:
        raise CommandError(f"The model {entry.name} has no topics to report.")
    return entry


def advise_short(corpus: Any, entry: Any) -> None:
    """Say which model suits texts of few words, if LDA was asked for.

    Where texts have one word, no model can tell which words occur together.
    """
    from topicfold.core.counts import words_if_short

    words = words_if_short(corpus.counts) if entry.name == "lda" else None
    if words is not None and words >= 2:
        show_fact(
            "Advice",
            f"These texts have about {words:.0f} counted words each. For short texts, "
            "--model short often gives more coherent words, but may merge subjects; "
            "topicfold compare shows which is better here.",
        )


@dataclass(frozen=True)
class FitReport:
    """How a fit went; `ended` is False where the iterations ran out."""

    summary: str
    seconds: float
    interrupted: bool
    ended: bool


def fit_model(
    model: Any,
    X: Any,
    y: Any = None,
    known: Mapping[str, Any] | None = None,
    *,
    quiet: bool = False,
) -> FitReport:
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
        model.fit(*([X] if y is None else [X, y]), **(known or {}))
    seconds = time.perf_counter() - began
    if has_callbacks:
        inner.set_params(callbacks=None)
    more = [str(side.keyword) for side in getattr(model, "sides", None) or ()]
    more += ["embeddings"] * ("embeddings" in (known or {}))
    besides = f" with {', '.join(more)}" if more else ""
    summary = (
        f"{type(model).__name__}{besides}, {counted(len(model.components_), 'topic')}: "
    )
    samples = hasattr(model, "n_samples_")  # so many sweeps are the plan
    if getattr(model, "n_iter_", None) is not None:
        done = counted(model.n_iter_, "sweep" if samples else "iteration")
        summary += f"{done} in "
    return FitReport(
        summary=f"{summary}{seconds:.1f} s",
        seconds=seconds,
        interrupted=interrupted,
        ended=interrupted or samples or bool(getattr(model, "converged_", True)),
    )


def _learns_classes(entry: ModelEntry, wanted: bool | None) -> bool:
    """Return whether the labels take part in the fit."""
    if wanted and not entry.labels:
        raise CommandError(f"The model {entry.name} does not learn from labels.")
    if wanted is False and entry.labels == "must":
        raise CommandError(f"The model {entry.name} needs labels.")
    return bool(wanted) or entry.labels == "must"
