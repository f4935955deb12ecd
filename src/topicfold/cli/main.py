# SPDX-License-Identifier: BSD-3-Clause
"""The command ``topicfold``."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated

import typer

from topicfold._version import __version__
from topicfold.cli.console import MessageGroup, ReadableCommand
from topicfold.registry import models

app = typer.Typer(
    name="topicfold",
    cls=MessageGroup,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"topicfold {__version__}")
        raise typer.Exit


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
    """Topic models for documents: fit them, look at them, apply them.

    [bold]Examples[/bold]
      topicfold demo                               see what it does
      topicfold fit reviews.txt -k 30 -o model     learn 30 topics
      topicfold topics model                       look at them
      topicfold transform model new.txt            find them in new documents

    [bold]In Python[/bold]
      from topicfold import Topics
      Topics(30).fit(texts)
    """
    # MessageGroup takes --debug at any place; here it is for the help.
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _help(command: Callable[..., None]) -> str:
    """Return the help of a command; a backspace keeps paragraphs that are indented."""
    # A line for every model, also of those that other packages registered.
    lines = "\n".join(f"  {entry.name:<15}{entry.title}" for entry in models())
    text = (inspect.getdoc(command) or "").replace("{models}", lines)
    parts = text.split("\n\n")
    return "\n\n".join(
        f"\b\n{part}" if "  " in part else part.replace("\n", " ") for part in parts
    )


# Each command is a function in the module of its name.
COMMANDS = (
    *("choose-k", "classify", "compare", "convert", "demo", "edit", "effects", "fit"),
    *("info", "label", "quiz", "report", "search", "topics", "transform", "update"),
)
app.callback(invoke_without_command=True, help=_help(_start))(_start)
for _name in COMMANDS:
    _place = _name.replace("-", "_")
    _command = getattr(import_module(f"topicfold.cli.{_place}"), _place)
    app.command(_name, cls=ReadableCommand, help=_help(_command))(_command)


def run() -> None:
    """Run the command line of this process."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        # A word that the terminal cannot show or send must not end the program.
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    app()


if __name__ == "__main__":
    run()
