# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold classify``: learn classes from labelled documents and predict them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from topicfold.cli import flags, inputs
from topicfold.cli.console import (
    CommandError,
    show_corpus,
    show_fact,
    show_next,
    working,
)
from topicfold.cli.flags import Flags, flag, takes_flags
from topicfold.cli.label import document_names, with_answers
from topicfold.cli.sides import read_embeddings
from topicfold.core.tables import csv_table
from topicfold.exceptions import DataError

_BASES = {"fstm": "FSTM", "plsa": "PLSA", "lda": "LDA"}


class _Flags(Flags):
    train: bool = flag("Learn from INPUT and save the model in DIR.", False)
    topics: int | None = flag(
        "Number of topics, with --train.",
        None,
        "--topics -k",
        min=2,
        show_default="depends on the numbers of classes and documents",
    )
    model: str | None = flag(
        "Model, with --train: fstm, plsa or lda (refined with the labels) or local (a "
        "graph model of all documents).",
        None,
        "--model -m",
        show_default="local with few labels, else fstm",
    )
    labels: Path | None = flag(
        "File of labels from topicfold label, with --train.",
        None,
        "--labels",
        metavar="FILE",
    )
    check: bool = flag(
        "Measure the accuracy on labels that were hidden.", True, "--check/--no-check"
    )
    explain: int = flag(
        "Add the N words that contributed most to the class.", 0, min=0, metavar="N"
    )
    proba: bool = flag("Add the probability of the class.", False)
    abstain: float = flag(
        "Leave the class empty where its probability is below P.",
        0.0,
        min=0.0,
        max=0.99,
        metavar="P",
    )
    embeddings: str | None = flags.EMBEDDINGS
    output: str = flags.output("CSV file to write; - prints it.", flags.STDOUT, "FILE")
    seed: int = flags.SEED
    jobs: int = flags.JOBS
    force: bool = flags.FORCE


@takes_flags(without=("time", "tokens"))
def classify(
    folder: flags.ModelArgument,
    source: flags.InputArgument,
    *,
    given: _Flags,
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

    if not given.train:
        of_training = (given.topics, given.model, given.labels, given.force)
        if any(of_training) or not given.check:
            raise CommandError(
                "--topics, --model, --labels, --no-check and --force need --train."
            )
        _predict(folder, source, options, given)
        return
    if given.explain or given.proba or given.abstain or given.output != flags.STDOUT:
        raise CommandError(
            "--explain, --proba, --abstain and --output are only for new documents."
        )
    check_output_folder(folder, replace=given.force)
    name = _model_name(given.model)
    vectors_of = given.embeddings
    corpus, text = inputs.read_in_memory(source, options, embeddings=vectors_of)
    show_corpus(corpus)
    labels: Any = corpus.labels
    if given.labels is not None:
        if not given.labels.exists():
            raise CommandError(f"there is no file {given.labels}.")
        labels = with_answers(labels, given.labels, document_names(corpus))
    known = _checked_labels(labels)
    classifier, topics = _make_classifier(known, name, given)
    show_fact("Topics", _choice(topics, known))
    vectors = read_embeddings(given.embeddings, source, corpus.n_documents)
    if given.check:
        _fit_and_check(classifier, corpus.counts, known, vectors)
    else:
        with working("Learning …"):
            classifier.set_params(cv=0).fit(corpus.counts, known, embeddings=vectors)
    show_fact("Rule", _taught(classifier))
    save_folder(inputs.fitted_folder(classifier, corpus, text=text), folder)
    show_fact("Saved", str(folder))
    show_next("topicfold classify {} NEW-DOCUMENTS", folder)


def _fit_and_check(classifier: Any, counts: Any, labels: Any, vectors: Any) -> None:
    """Fit, and say how well documents are classified without their labels."""
    try:
        with working("Learning, with and without each label …"):
            classifier.fit_cross_predict(counts, labels, embeddings=vectors)
    except DataError as error:
        if "too few" not in str(error):
            raise
        raise CommandError(f"{error} --no-check trains without it.") from error
    found = classifier.accuracy_
    show_fact(
        "Accuracy",
        f"{found.share:.1%} of {found.n_documents:,} documents classified without "
        f"their labels (95% interval: {found.low:.1%} to {found.high:.1%}; classes "
        "are weighted by their estimated shares of all documents)",
    )


def _model_name(model: str | None) -> str | None:
    names = (*_BASES, "local")
    if model is None:
        return None
    name = model.lower().removesuffix("^c").removesuffix("-c")
    if name not in names:
        raise CommandError(f"--model {model!r}: use one of {', '.join(names)}.")
    return name


def _make_classifier(labels: Any, model: str | None, given: _Flags) -> tuple[Any, Any]:
    """Return the classifier and its topics, which it may replace if none were named."""
    import topicfold
    from topicfold.classify.few_labels import default_topics
    from topicfold.core.labels import class_numbers

    codes, _ = class_numbers(labels, len(labels))
    options = {"random_state": given.seed, "n_jobs": given.jobs}
    topics = default_topics(
        codes,
        given.topics,
        base=getattr(topicfold, _BASES[model])() if model in _BASES else None,
        few=None if model is None else model == "local",
        **options,
    )
    named = model is not None or given.topics is not None
    return topicfold.TopicClassifier(topics if named else None, **options), topics


def _choice(model: Any, labels: Any) -> str:
    """Say which topics were chosen, and by what."""
    known, total = int((labels != "").sum()), len(labels)
    inner = getattr(model, "base", getattr(model, "model", model))
    what = f"{type(inner).__name__}, {inner.n_components} topics"
    if hasattr(model, "base"):
        what += ", refined with the labels"
    else:
        what += f" of all documents, from {model.n_starts} starts"
    return f"{what}; {known:,} of {total:,} documents have a label"


def _taught(classifier: Any) -> str:
    """Say in a sentence what was chosen by the labels."""
    starts = getattr(classifier.model_, "models_", [None])
    trust = getattr(starts[0], "weight_", None)
    if trust is None:
        return f"logistic regression on {classifier.choice_}"
    return (
        f"logistic regression on {classifier.choice_}; in the topics, neighbours have "
        f"{trust:.0%} of the default weight"
    )


def _checked_labels(labels: Sequence[str | None] | None) -> Any:
    """Return labels as an array, ``""`` where unknown; refuse too few classes."""
    import numpy as np

    if labels is None:
        raise CommandError(
            "these documents have no labels. Name the column of the labels with "
            "--label, or put the text files of each class into a sub-folder."
        )
    cleaned = np.array([(label or "").strip() for label in labels])
    if len(set(cleaned) - {""}) < 2:
        raise CommandError("the documents have fewer than two classes. Label more.")
    return cleaned


def _predict(
    folder: Path, source: str, options: inputs.TextOptions, asked: _Flags
) -> None:
    """Write the classes as CSV, with what else was asked for."""
    from topicfold.core.counts import already_warned
    from topicfold.persistence.atomic import write_atomically
    from topicfold.persistence.model_folder import load_model_folder

    saved = load_model_folder(folder)
    model = saved.model
    if not hasattr(model, "predict"):
        raise CommandError(
            f"{folder} holds {type(model).__name__}, which has no classes. Train a "
            "classifier first: topicfold classify DIR LABELLED --train."
        )
    counts, found = inputs.count_new_documents(source, saved, options)
    rows = []
    what = "class" if hasattr(model, "classes_") else "response"
    if what == "response" and (asked.proba or asked.explain or asked.abstain):
        raise CommandError(
            f"{folder} predicts numbers: --proba, --abstain and --explain are for "
            "classes."
        )
    if asked.abstain:
        model.set_params(abstain=asked.abstain)
    vectors = read_embeddings(asked.embeddings, source, counts.shape[0])
    fitted = bool(getattr(model, "n_embeddings_", 0))
    if vectors is not None and not fitted:
        raise CommandError(f"{folder} was trained without --embeddings. Leave it out.")
    if vectors is None and fitted:
        raise CommandError(
            f"{folder} was trained with --embeddings. Give the vectors of {source} too."
        )
    beside = {} if vectors is None else {"embeddings": vectors}
    labels = model.predict(counts, **beside)
    with already_warned():
        shares = ()
        if asked.proba:
            shares = model.predict_proba(counts, **beside).max(axis=1)
        for row, label in enumerate(labels):
            cells = {"id": found.ids[row] if found.ids else str(row), what: label}
            if asked.proba:
                cells["probability"] = f"{shares[row]:.3f}"
            if asked.explain:
                own = {name: rows[[row]] for name, rows in beside.items()}
                reasons = model.explain(counts[[row]], n=asked.explain, **own).words
                words = (_word(saved, reason.word) for reason in reasons)
                cells["words"] = " ".join(words)
            rows.append(cells)
    content = csv_table(rows)
    if asked.output == flags.STDOUT:
        typer.echo(content, nl=False)
    else:
        write_atomically(
            Path(asked.output), lambda to: to.write_bytes(content.encode())
        )


def _word(saved: Any, name: str) -> str:
    """Return the word of a column that the classifier knows by number only."""
    if saved.vocabulary is None or hasattr(saved.model, "feature_names_in_"):
        return name
    return str(saved.vocabulary[int(name.removeprefix("w"))])
