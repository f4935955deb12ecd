# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold topics``: show the topics of a saved model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import typer

from topicfold.cli import flags, inputs
from topicfold.cli.console import plain_table, stdout_console, tell
from topicfold.cli.flags import Flags, Format, flag, takes_flags
from topicfold.core.tables import csv_table, printable

if TYPE_CHECKING:
    from rich.table import Table

    from topicfold.topic_data import TopicData


class _Flags(Flags):
    words: int = flag("Words per topic.", 10, "--words -n", min=1)
    relevance: float = flag(
        "1 shows the most probable words, smaller values show words that other "
        "topics do not have.",
        0.6,
        min=0,
        max=1,
    )
    format: Format = flags.FORMAT
    coherence: str | None = flag(
        "Add the coherence (NPMI) of each topic's most probable words in these "
        "documents.",
        metavar="INPUT",
    )


@takes_flags(without=inputs.BESIDE)
def topics(
    folder: flags.ModelArgument, *, given: _Flags, options: inputs.TextOptions
) -> None:
    """Show the topics of a saved model, largest first.

    Topics keep the model's own numbers. The column "tokens" is the share of all words
    of the training documents that belong to a topic. If documents have labels, "main
    class" is the class that has the largest share of these words, with that share.
    "response", of a model fitted with numbers (--response), is what it predicts for a
    document with only this topic.

    [bold]Examples[/bold]
      topicfold topics reviews-model -n 15
      topicfold topics reviews-model --relevance 1
      topicfold topics reviews-model --format csv > topics.csv

    [bold]In Python[/bold]
      from topicfold import Topics
      Topics.load("reviews-model").table(15)
    """
    from topicfold.persistence.model_folder import load_model_folder

    words, coherence = given.words, given.coherence
    inputs.refuse_unused(options, "--coherence", coherence)
    saved = load_model_folder(folder)
    data = saved.topic_data()
    if saved.vocabulary is None:
        tell(
            "note",
            "the model was saved without its words, so columns are shown by their "
            "numbers: w0, w1, … To save the words, in Python: model.save(folder, "
            "vocabulary=words)",
        )
    scores = None
    if coherence is not None:
        from topicfold.metrics import npmi_coherence

        counts, _ = inputs.count_new_documents(coherence, saved, options)
        scores = npmi_coherence(
            data.topics, counts, n_words=min(max(words, 2), data.n_terms)
        ).tolist()
    rows = topic_rows(data, n_words=words, relevance=given.relevance, coherence=scores)
    rows = _with_response(_with_languages(rows, saved.model, words), data)
    if given.format is Format.csv:
        typer.echo(csv_table(topic_records(rows, join=", ".join)), nl=False)
    elif given.format is Format.json:
        typer.echo(topics_as_json(rows), nl=False)
    else:
        if hasattr(saved.model, "tree_text"):
            tree = saved.model.tree_text(saved.vocabulary, words)
            typer.echo("\n".join(map(printable, tree.split("\n"))))
            return
        first = data.settings.get("language", "words")
        stdout_console().print(topic_table(rows, first=first))


def _with_languages(
    rows: list[dict[str, Any]], model: Any, n_words: int
) -> list[dict[str, Any]]:
    """Return the rows with the words of topics in other languages, if there are any."""
    found = {
        f"words {side.name}": side.top_words(n_words)
        for side in getattr(model, "sides_", ())
        if hasattr(side, "top_words")
    }
    return [
        row | {name: tuple(words[row["topic"]]) for name, words in found.items()}
        for row in rows
    ]


def _with_response(rows: list[dict[str, Any]], data: TopicData) -> list[dict[str, Any]]:
    """Return the rows with the number that each topic predicts, if there is one."""
    for side in data.sides:
        if side.kind != "effects" or len(side.rows) != 1 or side.values is None:
            continue
        if side.name.startswith("response"):
            found = [float(x) for x in side.values[0]]
            return [row | {"response": found[data.row(row["topic"])]} for row in rows]
    return rows


def topic_rows(
    data: TopicData,
    *,
    n_words: int = 10,
    relevance: float = 1.0,
    coherence: Sequence[float] | None = None,
) -> list[dict[str, Any]]:
    """Return what is known of every topic, largest first."""
    rows = list(data.topic_facts(n_words, relevance))
    for row in rows:
        if "name" in row:
            row["name"] = row["name"] or None
        if coherence is not None:
            row["coherence"] = float(coherence[data.row(row["topic"])])
    return rows


def topic_table(
    rows: Sequence[dict[str, Any]], *, title: str | None = None, first: str = "words"
) -> Table:
    """Return the table for people; `first` is the head of the words."""
    from rich.text import Text

    right: dict[str, Any] = {"justify": "right", "no_wrap": True}
    fold: dict[str, Any] = {"overflow": "fold"}
    cyan: dict[str, Any] = {"style": "cyan"}
    columns: tuple[tuple[str, str, Any, dict[str, Any]], ...] = (
        ("topic", "topic", str, {"style": "bold", **right}),
        ("share", "tokens", "{:.1%}".format, right),
        ("coherence", "NPMI", "{:.2f}".format, right),
        ("response", "response", "{:.3g}".format, right),
        ("name", "name", lambda name: name or "", {"style": "bold", **fold}),
        ("words", first, ", ".join, {"ratio": 1, **fold}),
        *(
            (name, name.removeprefix("words "), ", ".join, {"ratio": 1, **fold})
            for name in rows[0]
            if name.startswith("words ")
        ),
        ("label", "main class", str, {"no_wrap": True, **fold, **cyan}),
        ("label_share", "", "{:.0%}".format, {**right, **cyan}),
    )
    table = plain_table(title, padding=(0, 1, 0, 0))
    known = [column for column in columns if column[0] in rows[0]]
    for _, head, _, style in known:
        table.add_column(head, **style)
    for row in rows:
        cells = (show(row[key]) for key, _, show, _ in known)
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def topic_records(
    rows: Sequence[dict[str, Any]], join: Callable[[Sequence[str]], Any] = list
) -> list[dict[str, Any]]:
    """Return the rows for programs, lists of words made one value by `join`."""

    def plain(value: Any) -> Any:
        if isinstance(value, float):
            # JSON has no NaN: a topic without pairs of words has no coherence.
            return None if value != value else round(value, 6)
        return join(value) if isinstance(value, tuple) else value

    return [{name: plain(value) for name, value in row.items()} for row in rows]


def topics_as_json(rows: Sequence[dict[str, Any]]) -> str:
    """Return a JSON list with one object per topic."""
    lines = (json.dumps(r, ensure_ascii=False) for r in topic_records(rows))
    return "[\n" + ",\n".join(lines) + "\n]\n"
