# SPDX-License-Identifier: BSD-3-Clause
"""What commands print: facts on standard output, what goes on on standard error."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_LABEL_WIDTH = 8


def stdout_console() -> Console:
    """Return a console for results; colours only on a terminal."""
    from rich.console import Console

    return Console(highlight=False)


def show_fact(label: str, text: str) -> None:
    """Print one labelled line, such as ``Saved    demo/lda``.

    Long lines are left to the terminal, so that paths can be copied whole.
    """
    from rich.text import Text

    from topicfold.cli.messages import printable

    line = Text.assemble((label.ljust(_LABEL_WIDTH), "bold"), " ", printable(text))
    stdout_console().print(line, soft_wrap=True)


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
    from topicfold.em import ProgressBar

    return [ProgressBar(description)]
