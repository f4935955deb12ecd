# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold topics``: show the topics of a saved model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicfold.cli import inputs
from topicfold.cli.console import csv_table, plain_table, stdout_console
from topicfold.cli.inputs import Format, read_new_documents, refuse_unused
from topicfold.cli.messages import printable, tell

if TYPE_CHECKING:
    from rich.table import Table

    from topicfold.topic_data import TopicData


_Words = Annotated[int, typer.Option("--words", "-n", min=1, help="Words per topic.")]
_Relevance = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        help="1: most probable words; smaller: words that other topics do not have.",
    ),
]
_Coherence = Annotated[
    str | None,
    typer.Option(
        metavar="INPUT",
        help="Add the NPMI coherence of the words, counted in these documents.",
    ),
]


@inputs.takes_text_options(without=inputs.BESIDE)
def topics(
    folder: inputs.ModelArgument,
    words: _Words = 10,
    relevance: _Relevance = 1.0,
    format: inputs.FormatOption = Format.table,
    coherence: _Coherence = None,
    *,
    options: inputs.TextOptions,
) -> None:
    """Show the topics of a saved model, largest first.

    Topics keep the model's own numbers. The column "tokens" is the share of all words
    of the training documents that belong to a topic. If documents have labels, "main
    class" is the class that most of these words come from.

    [bold]Examples[/bold]
      topicfold topics reviews-model -n 15
      topicfold topics reviews-model --relevance 0.6
      topicfold topics reviews-model --format csv > topics.csv

    [bold]In Python[/bold]
      from topicfold import Topics
      Topics.load("reviews-model").table(15)
    """
    from topicfold.persistence.model_folder import load_model_folder

    if coherence is None:
        refuse_unused(options, "--coherence")
    saved = load_model_folder(folder)
    data = saved.topic_data()
    if saved.vocabulary is None:
        tell(
            "note",
            "the model was saved without its words, so w0, w1, … are the numbers of "
            "columns. In Python: model.save(folder, vocabulary=words)",
        )
    scores = None
    if coherence is not None:
        from topicfold.metrics import npmi_coherence

        counts, _ = read_new_documents(coherence, saved, options)
        scores = npmi_coherence(
            data.topics, counts, n_words=min(max(words, 2), data.n_terms)
        ).tolist()
    rows = topic_rows(data, n_words=words, relevance=relevance, coherence=scores)
    if format is Format.csv:
        records = [r | {"words": " ".join(r["words"])} for r in topic_records(rows)]
        typer.echo(csv_table(records), nl=False)
    elif format is Format.json:
        typer.echo(topics_as_json(rows), nl=False)
    else:
        stdout_console().print(topic_table(rows))


@dataclass(frozen=True)
class TopicRow:
    """What the tables say of one topic; None is what is not known."""

    topic: int
    share: float
    words: tuple[str, ...]
    name: str | None = None
    label: str | None = None
    label_share: float | None = None
    coherence: float | None = None


def topic_rows(
    data: TopicData,
    *,
    n_words: int = 10,
    relevance: float = 1.0,
    coherence: Sequence[float] | None = None,
) -> list[TopicRow]:
    """Return a row for every topic, largest first."""
    sizes = data.topic_sizes()
    words = data.top_terms(n_words, relevance)
    labelled = data.labels is not None and data.doc_topics is not None
    classes = data.main_classes() if labelled else ()
    rows = []
    for topic in range(data.n_topics):
        name = data.topic_names[topic] if data.topic_names else ""
        row = TopicRow(topic, float(sizes[topic]), words[topic], name or None)
        if classes:
            label, share = classes[topic]
            row = replace(row, label=label, label_share=share)
        if coherence is not None:
            row = replace(row, coherence=float(coherence[topic]))
        rows.append(row)
    return sorted(rows, key=lambda row: -row.share)


def topic_table(rows: Sequence[TopicRow], *, title: str | None = None) -> Table:
    """Return the table for people; columns that no topic has are left out."""
    from rich.text import Text

    table = plain_table(title, padding=(0, 1, 0, 0))
    columns: list[list[str]] = []

    def add(name: str, cells: list[str], **style: Any) -> None:
        table.add_column(name, **style)
        columns.append(cells)

    right: dict[str, Any] = {"justify": "right", "no_wrap": True}
    add("topic", [str(row.topic) for row in rows], style="bold", **right)
    add("tokens", [f"{row.share:.1%}" for row in rows], **right)
    scores = [row.coherence for row in rows]
    if any(score is not None for score in scores):
        add("NPMI", ["" if x is None else f"{x:.2f}" for x in scores], **right)
    if any(row.name for row in rows):
        add("name", [row.name or "" for row in rows], overflow="fold", style="bold")
    add("words", [" ".join(row.words) for row in rows], overflow="fold", ratio=1)
    if any(row.label for row in rows):
        names = [row.label or "" for row in rows]
        add("main class", names, no_wrap=True, overflow="fold", style="cyan")
        shares = [f"{row.label_share or 0:.0%}" for row in rows]
        add("", shares, style="cyan", **right)
    for cells in zip(*columns, strict=True):
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def topic_records(rows: Sequence[TopicRow]) -> list[dict[str, Any]]:
    """Return the rows for programs, without what is not known."""
    wanted = [
        name
        for name in vars(rows[0])
        if any(getattr(row, name) is not None for row in rows)
    ]
    return [{name: _plain(getattr(row, name)) for name in wanted} for row in rows]


def topics_as_json(rows: Sequence[TopicRow]) -> str:
    """Return a JSON list with one object per topic."""
    lines = (json.dumps(r, ensure_ascii=False) for r in topic_records(rows))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        # JSON has no NaN: a topic without pairs of words has no coherence.
        return None if value != value else round(value, 6)
    return list(value) if isinstance(value, tuple) else value
