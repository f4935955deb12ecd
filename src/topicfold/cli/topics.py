# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold topics``: show the topics of a saved model."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicfold.cli import text_options as texts
from topicfold.cli.console import stdout_console
from topicfold.cli.inputs import read_new_documents, refuse_unused
from topicfold.cli.messages import printable

if TYPE_CHECKING:
    from rich.table import Table

    from topicfold.topic_data import TopicData

HELP = """Show the topics of a saved model, largest first.

Topics keep the model's own numbers. The column "tokens" is the share of all words of
the training documents that belong to a topic. If documents have labels, "main class" is
the class that most of these words come from.

\b
[bold]Examples[/bold]
  topicfold topics reviews-model -n 15
  topicfold topics reviews-model --relevance 0.6
  topicfold topics reviews-model --format csv > topics.csv

\b
[bold]In Python[/bold]
  from topicfold.persistence.model_folder import load_model_folder
  load_model_folder("reviews-model").topic_data().top_terms(15)
"""


class Format(StrEnum):
    """How to write the topics."""

    table = "table"
    csv = "csv"
    json = "json"


ModelArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of a saved model.")
]
_Words = Annotated[int, typer.Option("--words", "-n", min=1, help="Words per topic.")]
_Relevance = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        help="1: most probable words; smaller: words that other topics do not have.",
    ),
]
_Format = Annotated[Format, typer.Option("--format", "-f", help="How to write them.")]
_Coherence = Annotated[
    str | None,
    typer.Option(
        metavar="INPUT",
        help="Add the NPMI coherence of the words, counted in these documents.",
    ),
]


@texts.takes_text_options(without=texts.BESIDE)
def topics(
    folder: ModelArgument,
    words: _Words = 10,
    relevance: _Relevance = 1.0,
    format: _Format = Format.table,
    coherence: _Coherence = None,
    *,
    options: texts.TextOptions,
) -> None:
    """Show the topics of a saved model."""
    from topicfold.persistence.model_folder import load_model_folder

    if coherence is None:
        refuse_unused(options, "--coherence")
    saved = load_model_folder(folder)
    data = saved.topic_data()
    scores = None
    if coherence is not None:
        from topicfold.metrics import npmi_coherence

        counts, _ = read_new_documents(coherence, saved, options=options)
        scores = npmi_coherence(
            data.topics, counts, n_words=min(max(words, 2), data.n_terms)
        ).tolist()
    rows = topic_rows(data, n_words=words, relevance=relevance, coherence=scores)
    if format is Format.csv:
        typer.echo(topics_as_csv(rows), nl=False)
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
    rows = [
        TopicRow(
            topic=topic,
            share=float(sizes[topic]),
            words=words[topic],
            name=(data.topic_names[topic] or None) if data.topic_names else None,
            label=classes[topic][0] if classes else None,
            label_share=classes[topic][1] if classes else None,
            coherence=None if coherence is None else float(coherence[topic]),
        )
        for topic in range(data.n_topics)
    ]
    return sorted(rows, key=lambda row: -row.share)


def topic_table(rows: Sequence[TopicRow], *, title: str | None = None) -> Table:
    """Return the table for people; columns that no topic has are left out."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD,
        title=title,
        title_justify="left",
        title_style="bold",
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("topic", justify="right", style="bold", no_wrap=True)
    table.add_column("tokens", justify="right", no_wrap=True)
    with_name = any(row.name for row in rows)
    with_class = any(row.label for row in rows)
    with_coherence = any(row.coherence is not None for row in rows)
    if with_coherence:
        table.add_column("NPMI", justify="right", no_wrap=True)
    if with_name:
        table.add_column("name", overflow="fold", style="bold")
    table.add_column("words", overflow="fold", ratio=1)
    if with_class:
        table.add_column("main class", no_wrap=True, overflow="fold", style="cyan")
        table.add_column("", justify="right", no_wrap=True, style="cyan")
    for row in rows:
        cells = [str(row.topic), f"{row.share:.1%}"]
        if with_coherence:
            cells.append("" if row.coherence is None else f"{row.coherence:.2f}")
        if with_name:
            cells.append(printable(row.name or ""))
        cells.append(printable(" ".join(row.words)))
        if with_class:
            cells += [printable(row.label or ""), f"{row.label_share or 0:.0%}"]
        table.add_row(*(Text(cell) for cell in cells))
    return table


def topic_records(rows: Sequence[TopicRow]) -> list[dict[str, Any]]:
    """Return the rows for programs, without what is not known."""
    wanted = [
        name
        for name in vars(rows[0])
        if any(getattr(row, name) is not None for row in rows)
    ]
    return [{name: _plain(getattr(row, name)) for name in wanted} for row in rows]


def topics_as_csv(rows: Sequence[TopicRow]) -> str:
    """Return CSV with a header; the words are separated by spaces."""
    records = topic_records(rows)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(records[0]), lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow({**record, "words": " ".join(record["words"])})
    return stream.getvalue()


def topics_as_json(rows: Sequence[TopicRow]) -> str:
    """Return a JSON list with one object per topic."""
    lines = (json.dumps(r, ensure_ascii=False) for r in topic_records(rows))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        # JSON has no NaN: a topic without pairs of words has no coherence.
        return None if value != value else round(value, 6)
    return list(value) if isinstance(value, tuple) else value
