# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold classify``: learn classes from labelled documents and predict them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from topicfold.cli import inputs
from topicfold.cli.console import (
    csv_table,
    show_corpus,
    show_fact,
    show_next,
    working,
)
from topicfold.cli.label import document_names, with_answers
from topicfold.cli.messages import CommandError
from topicfold.exceptions import DataError

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
_Labels = Annotated[
    Path | None,
    typer.Option(
        "--labels", metavar="FILE", help="Answers of topicfold label, with --train."
    ),
]
_Output = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="CSV file; - prints.")
]
_BASES = {"fstm": "FSTM", "plsa": "PLSA", "lda": "LDA"}


@dataclass(frozen=True)
class Asked(inputs.Flags):
    """What to write about each document besides its class."""

    explain: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Add the N words that spoke for the class."
        ),
    ] = 0
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of the class.")
    ] = False
    abstain: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.99,
            metavar="P",
            help="Leave the class empty where its probability is below P.",
        ),
    ] = 0.0


@inputs.takes_flags(without=("time", "tokens"))
def classify(
    folder: inputs.ModelArgument,
    source: inputs.InputArgument,
    train: _Train = False,
    topics: _Topics = None,
    model: _Base = None,
    labels: _Labels = None,
    check: _Check = True,
    output: _Output = STDOUT,
    seed: inputs.SeedOption = 0,
    jobs: inputs.JobsOption = -1,
    force: inputs.ForceOption = False,
    *,
    asked: Asked,
    options: inputs.TextOptions,
) -> None:
    """Classify documents by their topics.

    With --train, INPUT has labels and the classifier is saved in DIR; documents without
    a label help to find the topics. Every labelled document is also classified without
    its label, to measure the accuracy. Without --train, DIR has a classifier, which
    writes the classes of the documents in INPUT.

    [bold]Examples[/bold]
      topicfold classify mail-model mails.csv --train --text body --label folder
      topicfold classify mail-model new.csv --text body > classes.csv
      topicfold classify mail-model new.csv --text body --explain 3

    [bold]In Python[/bold]
      from topicfold import TopicClassifier
      model = TopicClassifier().fit(X, labels)
      model.predict(new_X)
      model.explain(new_X[[0]])
    """
    from topicfold.persistence.model_folder import check_output_folder, save_folder

    if not train:
        if any((topics, model, labels, force, not check)):
            raise CommandError(
                "--topics, --model, --labels, --no-check and --force need --train."
            )
        _predict(folder, source, options, asked, output)
        return
    if asked.given() or output != STDOUT:
        raise CommandError(
            "--explain, --proba, --abstain and --output are for new documents alone."
        )
    check_output_folder(folder, replace=force)
    name = _model_name(model)
    corpus, text = inputs.read_in_memory(source, options)
    show_corpus(corpus)
    given: Any = corpus.labels
    if labels is not None:
        if not labels.exists():
            raise CommandError(f"there is no file {labels}.")
        given = with_answers(given, labels, document_names(corpus))
    known = _checked_labels(given)
    classifier = _make_classifier(known, name, topics, seed, jobs)
    show_fact("Topics", _choice(classifier.model, known))
    if check:
        _fit_and_check(classifier, corpus.counts, known)
    else:
        with working("Learning …"):
            classifier.set_params(cv=0).fit(corpus.counts, known)
    show_fact("Rule", _taught(classifier))
    save_folder(inputs.fitted_folder(classifier, corpus, text), folder)
    show_fact("Saved", str(folder))
    show_next("topicfold classify {} NEW-DOCUMENTS", folder)


def _fit_and_check(classifier: Any, counts: Any, labels: Any) -> None:
    """Fit, and say how well documents are classified without their labels."""
    try:
        with working("Learning, with and without each label …"):
            classifier.fit_cross_predict(counts, labels)
    except DataError as error:
        if "too few" not in str(error):
            raise
        raise CommandError(f"{error} --no-check trains without it.") from error
    found = classifier.accuracy_
    show_fact(
        "Accuracy",
        f"{found.share:.1%} of {found.n_documents:,} documents classified without "
        f"their labels (95 % interval: {found.low:.1%} to {found.high:.1%})",
    )


def _model_name(model: str | None) -> str | None:
    names = (*_BASES, "local")
    if model is None:
        return None
    name = model.lower().removesuffix("^c").removesuffix("-c")
    if name not in names:
        raise CommandError(f"--model {model!r}: use one of {', '.join(names)}.")
    return name


def _make_classifier(
    labels: Any, model: str | None, topics: int | None, seed: int, jobs: int
) -> Any:
    import topicfold
    from topicfold.core.labels import class_numbers
    from topicfold.models.classifier import default_topics

    codes, _ = class_numbers(labels, len(labels))
    return topicfold.TopicClassifier(
        default_topics(
            codes,
            topics,
            base=getattr(topicfold, _BASES[model])() if model in _BASES else None,
            few=None if model is None else model == "local",
            random_state=seed,
            n_jobs=jobs,
        )
    )


def _choice(model: Any, labels: Any) -> str:
    """Say which topics were chosen, and by what."""
    known, total = int((labels != "").sum()), len(labels)
    inner = getattr(model, "base", getattr(model, "model", model))
    what = f"{type(inner).__name__}, {inner.n_components} topics"
    if hasattr(model, "base"):
        what += ", refined with the labels"
    else:
        what += f" of all documents, {model.n_starts} starts side by side"
    return f"{what}; {known:,} of {total:,} documents have a label"


def _taught(classifier: Any) -> str:
    """Say in a sentence what was chosen by the labels."""
    starts = getattr(classifier.model_, "models_", None)
    if starts is None:
        return f"a linear rule on {classifier.choice_}"
    trust = starts[0].weight_
    return (
        f"a linear rule on {classifier.choice_}; neighbours count {trust:.0%} of what "
        "they would in a graph of full trust"
    )


def _checked_labels(labels: Sequence[str | None] | None) -> Any:
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
    folder: Path, source: str, options: inputs.TextOptions, asked: Asked, output: str
) -> None:
    """Write the classes as CSV, with what else was asked for."""
    from topicfold.persistence.atomic import write_atomically
    from topicfold.persistence.model_folder import load_model_folder

    saved = load_model_folder(folder)
    model = saved.model
    if not hasattr(model, "predict"):
        raise CommandError(
            f"{folder} holds {type(model).__name__}, which has no classes. Learn them "
            "first: topicfold classify DIR LABELLED --train."
        )
    counts, found = inputs.count_new_documents(source, saved, options)
    rows = []
    what = "class" if hasattr(model, "classes_") else "response"
    if what == "response" and asked.given():
        raise CommandError(
            f"{folder} predicts numbers: --proba, --abstain and --explain are for "
            "classes."
        )
    if asked.abstain:
        model.set_params(abstain=asked.abstain)
    shares = model.predict_proba(counts).max(axis=1) if asked.proba else ()
    for row, label in enumerate(model.predict(counts)):
        cells = {"id": found.ids[row] if found.ids else str(row), what: label}
        if asked.proba:
            cells["probability"] = f"{shares[row]:.3f}"
        if asked.explain:
            reasons = model.explain(counts[[row]], n=asked.explain).words
            cells["words"] = " ".join(_word(saved, reason.word) for reason in reasons)
        rows.append(cells)
    content = csv_table(rows)
    if output == STDOUT:
        typer.echo(content, nl=False)
    else:
        write_atomically(Path(output), lambda to: to.write_bytes(content.encode()))


def _word(saved: Any, name: str) -> str:
    """Return the word of a column that the classifier knows by number only."""
    if saved.vocabulary is None or hasattr(saved.model, "feature_names_in_"):
        return name
    return str(saved.vocabulary[int(name.removeprefix("w"))])
