# SPDX-License-Identifier: BSD-3-Clause
"""Help of commands in two columns that can be read in a terminal of 80."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand

# Kinds of values as versions of typer write them, and how they are shown.
_KINDS = {
    r"<int( range)?>|\bINTEGER( RANGE)?\b": "N",
    r"<float( range)?>|\bFLOAT( RANGE)?\b": "X",
    r"<str>|<path>": "TEXT",
    r" <bool>": "",
}
_WIDTH = 24  # of the names; longer ones have their help below them


class ReadableCommand(TyperCommand):
    """A command whose help has a line for every option."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write usage, text, arguments, and options by their panels."""
        write_help(self, ctx, formatter)


def write_help(command: Any, context: Any, formatter: Any) -> None:
    """Write the help of a command or of a group of them."""
    command.format_usage(context, formatter)
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_text(without_markup(command.help or ""))
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            argument = parameter.param_type_name == "argument"
            panel = getattr(parameter, "rich_help_panel", None) or "Options"
            names = _names(record[0], argument)
            sections.setdefault("Arguments" if argument else panel, []).append(
                (names, without_markup(record[1]))
            )
    if hasattr(command, "list_commands"):
        commands = (command.commands[n] for n in command.list_commands(context))
        sections["Commands"] = [(one.name, _summary(one)) for one in commands]
    for title, rows in sections.items():
        with formatter.section(title):
            formatter.write_dl(rows, col_max=_WIDTH)


def without_markup(text: str) -> str:
    """Return a text without the tags of rich, and without doubled brackets."""
    text = re.sub(r"\[default: \((.*?)\)(?=\]|; )", r"[default: \1", text)
    return re.sub(r"\[/?(?:bold|italic|dim)\]", "", text)


def _summary(command: Any) -> str:
    first = without_markup(command.help or "").split("\n\n")[0]
    return " ".join(first.split())


def _names(names: str, argument: bool) -> str:
    if argument:
        return names.split()[0].strip("[]{}")
    for kind, shown in _KINDS.items():
        names = re.sub(kind, shown, names)
    return names
