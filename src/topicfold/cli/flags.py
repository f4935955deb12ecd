# SPDX-License-Identifier: BSD-3-Clause
"""Flags of commands: how they are declared, and those that several commands have."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self, get_type_hints

import typer

from topicfold.cli.console import CommandError

_STDIN = Path("/dev/stdin")
STDOUT = "-"


def flag(help: str, default: Any = None, names: str = "", **more: Any) -> Any:
    """Return a flag; it is called like its attribute unless names are given."""
    return typer.Option(default, *names.split(), help=help, **more)


def output(
    help: str, default: Any = ..., metavar: str = "DIR", show_default: Any = True
) -> Any:
    """Return the flag of what a command writes."""
    return flag(
        help, default, "--output -o", metavar=metavar, show_default=show_default
    )


class Flags:
    """Base of classes whose attributes are flags: ``name: type = flag(...)``."""

    def __init__(self, **given: Any) -> None:
        kind = type(self)
        for name in kind.__annotations__:
            setattr(self, name, given.pop(name, getattr(kind, name).default))
        if given:
            raise TypeError(f"{kind.__name__} has no {', '.join(given)}")

    def replace(self, **changed: Any) -> Self:
        """Return the flags with some of them changed."""
        return type(self)(**vars(self) | changed)

    def given(self) -> dict[str, Any]:
        """Return what was given, by flag."""
        return {
            "--from" if name == "format" else f"--{name.replace('_', '-')}": value
            for name, value in vars(self).items()
            if value not in (None, False, [])
        }

    def typed(self) -> Iterator[str]:
        """Yield the flags that were given, and their values, as they are typed."""
        for name, value in self.given().items():
            for item in value if isinstance(value, list) else [value]:
                yield from [name] if item is True else [name, str(item)]


def takes_flags(
    *, without: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the flags of each `Flags` that it takes as an argument.

    `without` are those of the argument ``options`` that the command does not have.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        groups = {
            name: (kind, _parameters(kind, without if name == "options" else ()))
            for name, kind in hints.items()
            if isinstance(kind, type) and issubclass(kind, Flags)
        }

        @functools.wraps(command)
        def run(*args: Any, **given: Any) -> None:
            made = {
                argument: kind(**{flag.name: given.pop(flag.name) for flag in flags})
                for argument, (kind, flags) in groups.items()
            }
            command(*args, **made, **given)

        parameters = [
            parameter.replace(annotation=hints[parameter.name])
            for parameter in inspect.signature(command).parameters.values()
            if parameter.name not in groups
        ]
        for _, flags in groups.values():
            parameters += flags
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        del run.__wrapped__  # type: ignore[attr-defined]
        return run

    return decorate


def _parameters(kind: type, without: tuple[str, ...]) -> list[inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    found = []
    for name, hint in get_type_hints(kind).items():
        if name in without:
            continue
        info = getattr(kind, name)
        if info.default is False and not info.param_decls:
            info.param_decls = (f"--{name.replace('_', '-')}",)  # and no --no-name
        found.append(inspect.Parameter(name, keyword, default=info, annotation=hint))
    return found


def listed(given: list[str] | None) -> list[str]:
    """Return the names of a flag that may be repeated and take a comma list."""
    names = (name.strip() for text in given or () for name in text.split(","))
    return [name for name in names if name]


def check_picture(path: Path | None) -> None:
    """Refuse a picture, if there is one, of no known kind or in no folder."""
    if path is None:
        return
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise CommandError(f"--plot is {path}. Give a name with .png, .svg or .pdf.")
    check_folder(path)


def check_folder(file: Path) -> None:
    """Refuse a file in a folder that is not there."""
    if not file.parent.is_dir():
        raise CommandError(
            f"there is no folder {file.parent}. Make it, or give another."
        )


def _named(source: str) -> str:
    """Return the name of the input, standard input's for ``-``."""
    return str(_STDIN) if source == "-" and _STDIN.exists() else source


class Format(StrEnum):
    """How to write results."""

    table = "table"
    csv = "csv"
    json = "json"


InputArgument = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        callback=_named,
        help="Documents: a file, a folder or docs (the built-in corpus); - is "
        "standard input.",
    ),
]
ModelArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of a saved model.")
]
EMBEDDINGS = flag(
    "Vectors of the documents, one row per document: FILE.npy, or the name of a "
    "column if INPUT is a Parquet file.",
    metavar="FILE",
)
FORCE = flag("Replace the model in DIR, if there is one.", False)
FORMAT = flag("Output format.", Format.table, "--format -f")
JOBS = flag(
    "Number of threads, -1 for all cores; the result is the same for any number.", -1
)
PLOT = flag("Picture to write: .png, .svg or .pdf.", metavar="FILE")
QUIET = flag("Print only problems.", False, "--quiet -q")
SEED = flag("Random seed; the same seed gives the same result.", 0, min=0)
