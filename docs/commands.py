# SPDX-License-Identifier: BSD-3-Clause
"""The page of the command line, made from the commands themselves."""

from __future__ import annotations

import re
from typing import Any

import typer

from topicfold.cli.main import app


def commands_page() -> str:
    """Return the Markdown page of all commands and their options."""
    group: Any = typer.main.get_command(app)
    parts = [
        "# Command line\n",
        "What `topicfold COMMAND --help` says, on one page. Errors are one sentence; "
        "`--debug` shows the traceback.\n",
    ]
    for name, command in sorted(group.commands.items()):
        parts += [f"## topicfold {name}\n", _about(command.help), _options(command)]
    return "\n".join(parts)


def _about(text: str) -> str:
    """Turn the help of a command into Markdown: paragraphs, and blocks of code."""
    parts = []
    for paragraph in text.strip().split("\n\n"):
        if not paragraph.startswith("\b"):
            parts.append(_plain(" ".join(paragraph.split())))
            continue
        lines = paragraph.removeprefix("\b").strip("\n").splitlines()
        title = re.fullmatch(r"\[bold\](.+)\[/bold\]", lines[0])
        if title:
            parts.append(f"{title[1]}:")
            lines = lines[1:]
        language = "python" if title and title[1] == "In Python" else "text"
        body = "\n".join(re.sub(r"\[/?[a-z]+\]", "", line[2:]) for line in lines)
        parts.append(f"```{language}\n{body}\n```")
    return "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    text = re.sub(r"\[/?(?:bold|dim|cyan)\]", "", text)
    return re.sub(r"([_*<>|\[\]])", r"\\\1", text)


def _options(command: Any) -> str:
    rows = ["| option | meaning | default |", "| --- | --- | --- |"]
    for item in command.params:
        # An argument has no options: only its name.
        names = [*item.opts, *item.secondary_opts]
        if item.param_type_name == "argument":
            names = [item.metavar or item.name.upper()]
        elif item.name == "help":
            continue
        shown = " ".join(f"`{name}`" for name in names)
        if item.metavar and item.param_type_name == "option":
            shown += f" {_plain(item.metavar)}"
        rows.append(f"| {shown} | {_plain(item.help or '')} | {_default(item)} |")
    return "\n".join(rows) + "\n"


def _default(item: Any) -> str:
    if item.required:
        return "required"
    stated = getattr(item, "show_default", None)
    if isinstance(stated, str):
        return _plain(stated)
    value = item.default
    if value is None or value is False or callable(value):
        return ""
    if value is True:
        return f"`{item.opts[0]}`"
    return f"`{getattr(value, 'value', value)}`"
