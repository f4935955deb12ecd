# SPDX-License-Identifier: BSD-3-Clause
"""What commands print: facts on standard output, progress on standard error."""

from __future__ import annotations

import contextlib
import csv
import io
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

_LABEL_WIDTH = 8


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "topic"), counted(1200, "class", "classes")
    ('1 topic', '1,200 classes')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def stdout_console() -> Console:
    """Return a console for results; colours only on a terminal."""
    from rich.console import Console

    return Console(highlight=False)


def plain_table(title: str | None = None, **options: Any) -> Table:
    """Return an empty table with a rule below its head."""
    from rich import box
    from rich.table import Table

    style: dict[str, Any] = {"title_justify": "left", "title_style": "bold"}
    return Table(box=box.SIMPLE_HEAD, title=title, pad_edge=False, **style, **options)


def show_table(
    rows: Sequence[Mapping[str, str]],
    legend: str,
    *,
    bold: Mapping[str, str] | None = None,
    **options: Any,
) -> None:
    """Print rows of numbers and what they mean; what has `bold` stands out."""
    table = plain_table(**options)
    for name in rows[0]:
        style: Any = {"style": "bold"} if name == "model" else {"justify": "right"}
        table.add_column(name, no_wrap=True, **style)
    for row in rows:
        chosen = bold is not None and bold.items() <= row.items()
        table.add_row(*row.values(), style="bold" if chosen else None)
    console = stdout_console()
    console.print(table)
    console.print(legend)


def csv_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV, below the names of their columns."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def show_fact(label: str, text: str) -> None:
    """Print one labelled line, such as ``Saved    demo/lda``.

    Long lines are left to the terminal, so that paths can be copied whole.
    """
    from rich.text import Text

    from topicfold.core.tables import printable

    line = Text.assemble((label.ljust(_LABEL_WIDTH), "bold"), " ", printable(text))
    stdout_console().print(line, soft_wrap=True)


def show_next(command: str, folder: Path) -> None:
    """Print the next command, ready to be copied."""
    show_fact("Next", command.format(shlex.quote(str(folder))))


@contextlib.contextmanager
def working(text: str, *, quiet: bool = False) -> Iterator[None]:
    """Show that something is being done; nothing when not on a terminal."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(text)):
        yield


def progress_callbacks(description: str, *, quiet: bool = False) -> list[Any]:
    """Return the progress bar for a fit; none when not on a terminal."""
    if quiet or not sys.stderr.isatty():
        return []
    from topicfold.learn import ProgressBar

    return [ProgressBar(description)]


def show_corpus(corpus: Any) -> None:
    """Print the size of a corpus."""
    text = (
        f"{counted(corpus.n_documents, 'document')}, "
        f"{counted(corpus.n_terms, 'different word')}, "
        f"{int(corpus.counts.sum()):,} in all"
    )
    if corpus.labels is not None:
        text += f", {counted(len(corpus.encoded_labels()[1]), 'class', 'classes')}"
    show_fact("Corpus", text)
