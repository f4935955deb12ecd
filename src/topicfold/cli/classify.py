# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold classify``: learn classes from labelled documents, name them in new."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from topicfold.cli import text_options as texts
from topicfold.cli.console import show_fact, show_next
from topicfold.cli.messages import CommandError
from topicfold.cli.topics import ModelArgument
from topicfold.exceptions import DataError

HELP = """Classify documents by their topics.

With --train, INPUT has labels and the classifier is saved in DIR; documents without
a label help to find the topics. Every labelled document is also classified without
its label, to say how well it does. Without --train, DIR has a classifier, and the
classes of the documents of INPUT are written.

\b
[bold]Examples[/bold]
  topicfold classify mail-model mails.csv --train --text body --label folder
  topicfold classify mail-model new.csv --text body > classes.csv
  topicfold classify mail-model new.csv --text body --explain 3

\b
[bold]In Python[/bold]
  from topicfold import TopicClassifier
  model = TopicClassifier().fit(X, labels)
  model.predict(new_X)
  model.explain(new_X[[0]])
"""

STDOUT = "-"

_Train = Annotated[bool, typer.Option("--train", help="Learn from INPUT, save in DIR.")]
_Topics = Annotated[
    int | None,
    typer.Option(
        "--topics",
        "-k",
        min=2,
        help="Topics, with --train.",
        show_default="by classes and documents",
    ),
]
_Base = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="With --train: fstm, plsa or lda, refined with the labels, or local, a "
        "graph model of all documents.",
        show_default="local with few labels, else fstm",
    ),
]
_Check = Annotated[
    bool,
    typer.Option("--check/--no-check", help="Measure the accuracy on hidden labels."),
]
_Explain = Annotated[
    int,
    typer.Option(min=0, metavar="N", help="Add the N words that spoke for the class."),
]
_Output = Annotated[
    str,
    typer.Option("--output", "-o", metavar="FILE", help="CSV file; - prints."),
]
_Seed = Annotated[int, typer.Option(min=0, help="Seed; the same one, the same model.")]
_Jobs = Annotated[int, typer.Option(help="Threads, -1 for all.")]
_Force = Annotated[bool, typer.Option("--force", help="Replace a model in DIR.")]
_BASES = {"fstm": "FSTM", "plsa": "PLSA", "lda": "LDA"}


@texts.takes_text_options(without=("time", "tokens"))
def classify(
    folder: ModelArgument,
    source: texts.InputArgument,
    train: _Train = False,
    topics: _Topics = None,
    model: _Base = None,
    check: _Check = True,
    explain: _Explain = 0,
    output: _Output = STDOUT,
    seed: _Seed = 0,
    jobs: _Jobs = -1,
    force: _Force = False,
    *,
    options: texts.TextOptions,
    format: str | None,
) -> None:
    """Classify documents by their topics."""
    if train:
        if explain or output != STDOUT:
            raise CommandError("--explain and --output are for new documents alone.")
        settings = {"model": model, "topics": topics, "seed": seed, "jobs": jobs}
        _train(folder, source, options, format, settings, check=check, force=force)
        return
    if topics is not None or model is not None or force or not check:
        raise CommandError("--topics, --model, --no-check and --force need --train.")
    _predict(folder, source, options, format, explain, output)


def _train(
    folder: Path,
    source: str,
    options: texts.TextOptions,
    format: str | None,
    settings: dict[str, Any],
    *,
    check: bool,
    force: bool,
) -> None:
    from topicfold.cli.console import show_corpus, working
    from topicfold.cli.inputs import in_memory, read_corpus
    from topicfold.persistence.model_folder import (
        check_output_folder,
        save_model_folder,
    )

    check_output_folder(folder, replace=force)
    name = _model_name(settings["model"])
    found, text = read_corpus(source, options, format)
    corpus = in_memory(found, source)
    show_corpus(corpus)
    labels = checked_labels(corpus.labels)
    classifier = make_classifier(labels, **{**settings, "model": name})
    show_fact("Topics", _choice(classifier.model, labels))
    if check:
        try:
            with working("Learning, with and without each label …"):
                rows, predicted = classifier.fit_cross_predict(corpus.counts, labels)
        except DataError as error:
            if "too few" not in str(error):
                raise
            raise CommandError(f"{error} --no-check trains without it.") from error
        show_fact("Accuracy", _accuracy(predicted == labels[rows]))
    else:
        with working("Learning …"):
            classifier.fit(corpus.counts, labels)
    save_model_folder(
        classifier,
        folder,
        vocabulary=corpus.vocabulary,
        labels=corpus.labels,
        doc_ids=corpus.ids,
        text=text,
        corpus=corpus.name,
    )
    show_fact("Saved", str(folder))
    show_next("topicfold classify {} NEW-DOCUMENTS", folder)


def _model_name(model: str | None) -> str | None:
    names = (*_BASES, "local")
    name = None if model is None else model.lower().removesuffix("^c")
    name = None if name is None else name.removesuffix("-c")
    if name is not None and name not in names:
        raise CommandError(f"--model {model!r}: use one of {', '.join(names)}.")
    return name


def make_classifier(
    labels: Any, model: str | None, topics: int | None, seed: int, jobs: int
) -> Any:
    """Return the unfitted classifier of the command line."""
    import topicfold
    from topicfold.core.labels import class_numbers
    from topicfold.models.classifier import default_topics

    codes, _ = class_numbers(labels, len(labels))
    base = None
    if model in _BASES:
        base = getattr(topicfold, _BASES[model])()
    return topicfold.TopicClassifier(
        default_topics(
            codes,
            topics,
            base=base,
            few=True if model == "local" else None if model is None else False,
            random_state=seed,
            n_jobs=jobs,
        )
    )


def _choice(model: Any, labels: Any) -> str:
    """Say which topics were chosen, and by what."""
    known, total = int((labels != "").sum()), len(labels)
    base = getattr(model, "base", None)
    if base is None:
        what = f"{type(model).__name__}, {model.n_components} topics of all documents"
    else:
        name = type(base).__name__
        what = f"{name}, {base.n_components} topics, refined with the labels"
    return f"{what}; {known:,} of {total:,} documents have a label"


def _accuracy(right: Any) -> str:
    from scipy.stats import binomtest

    n = len(right)
    low, high = binomtest(int(right.sum()), n).proportion_ci(method="wilson")
    return (
        f"{right.mean():.1%} of {n:,} documents classified without their labels (95 % "
        f"interval: {low:.1%} to {high:.1%})"
    )


def checked_labels(labels: Sequence[str | None] | None) -> Any:
    """Return labels as an array, ``""`` where unknown; refuse too few classes."""
    import numpy as np

    if labels is None:
        raise CommandError(
            "these documents have no labels. Name their column with --label, or put "
            "text files into a sub-folder for each class."
        )
    cleaned = np.array([(label or "").strip() for label in labels])
    if len(set(cleaned) - {""}) < 2:
        raise CommandError("the documents have fewer than two classes. Label more.")
    return cleaned


def _predict(
    folder: Path,
    source: str,
    options: texts.TextOptions,
    format: str | None,
    n_words: int,
    output: str,
) -> None:
    from topicfold.cli.inputs import read_new_documents
    from topicfold.persistence.atomic import write_atomically
    from topicfold.persistence.model_folder import load_model_folder

    saved = load_model_folder(folder)
    if not hasattr(saved.model, "predict"):
        raise CommandError(
            f"{folder} holds {type(saved.model).__name__}, which has no classes. "
            f"Learn them first: topicfold classify DIR LABELLED --train."
        )
    counts, ids = read_new_documents(source, saved, options=options, format=format)
    names = ids or [str(row) for row in range(counts.shape[0])]
    content = _table(saved, counts, names, n_words)
    if output == STDOUT:
        typer.echo(content, nl=False)
        return

    def write(temporary: Path) -> None:
        temporary.write_text(content, encoding="utf-8", newline="")

    write_atomically(Path(output), write)


def _table(saved: Any, counts: Any, names: Sequence[str], n_words: int) -> str:
    """Return the classes as CSV, with the words that spoke for them if asked."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["id", "class", *(["words"] if n_words else [])])
    for row, (name, label) in enumerate(
        zip(names, saved.model.predict(counts), strict=True)
    ):
        words: list[str] = []
        if n_words:
            reasons = saved.model.explain(counts[[row]], n=n_words).words
            words = [" ".join(_word(saved, reason.word) for reason in reasons)]
        writer.writerow([name, label, *words])
    return stream.getvalue()


def _word(saved: Any, name: str) -> str:
    """Return the word of a column that the classifier knows by number only."""
    if saved.vocabulary is None or hasattr(saved.model, "feature_names_in_"):
        return name
    return str(saved.vocabulary[int(name.removeprefix("w"))])
