# SPDX-License-Identifier: BSD-3-Clause
"""The command ``topicfold``."""

from __future__ import annotations

import contextlib
import sys
from importlib import import_module
from typing import Annotated

import typer

from topicfold._version import __version__
from topicfold.cli.messages import EXIT_INTERRUPTED, MessageGroup

HELP = """Topic models for documents: fit, look, apply.

\b
[bold]Examples[/bold]
  topicfold demo                               see what it does
  topicfold fit reviews.txt -k 30 -o model     learn 30 topics
  topicfold topics model                       look at them
  topicfold transform model new.txt            find them in new documents

\b
[bold]In Python[/bold]
  from topicfold import LDA
  LDA(n_components=30).fit(counts)
"""

app = typer.Typer(
    name="topicfold",
    cls=MessageGroup,
    help=HELP,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"topicfold {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error.")
    ] = False,
) -> None:
    # MessageGroup takes --debug at any place; here it is for the help.
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _flowing(text: str) -> str:
    """Join the lines of paragraphs, so that they are broken where the terminal ends.

    Those that begin with a backspace are kept as they are.
    """
    parts = text.split("\n\n")
    return "\n\n".join(
        part if part.lstrip("\n").startswith("\b") else part.replace("\n", " ")
        for part in parts
    )


# Each command is a function in the module of its name, with its HELP.
COMMANDS = (
    "classify",
    "compare",
    "convert",
    "demo",
    "edit",
    "fit",
    "info",
    "quiz",
    "report",
    "search",
    "topics",
    "transform",
)
for _name in COMMANDS:
    _module = import_module(f"topicfold.cli.{_name}")
    app.command(help=_flowing(_module.HELP))(getattr(_module, _name))


def run() -> None:
    """Run the command line of this process."""
    for stream in (sys.stdout, sys.stderr):
        # A word that the terminal cannot show must not end the program.
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    run()
