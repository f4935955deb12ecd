# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold topics``: show the topics of a saved model."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from topicfold.cli import text_options as texts
from topicfold.cli.inputs import read_new_documents, refuse_unused

HELP = """Show the topics of a saved model, largest first.

Topics keep the model's own numbers. The column tokens is the share of all words of
the training documents that belong to a topic; the class, where documents have
labels, is the one that most of these words are from.

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
_Words = Annotated[int, typer.Option("--words", "-n", min=1, help="Words of a topic.")]
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
    from topicfold.cli import tables
    from topicfold.cli.console import stdout_console
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
    rows = tables.topic_rows(data, n_words=words, relevance=relevance, coherence=scores)
    if format is Format.csv:
        typer.echo(tables.topics_as_csv(rows), nl=False)
    elif format is Format.json:
        typer.echo(tables.topics_as_json(rows), nl=False)
    else:
        stdout_console().print(tables.topic_table(rows))
