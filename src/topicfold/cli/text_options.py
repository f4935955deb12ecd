# SPDX-License-Identifier: BSD-3-Clause
"""Options of the commands that say how texts are read and counted."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from topicfold.cli.messages import CommandError

_TEXT = "Raw text"
_WORDS = "Words"

_STDIN = Path("/dev/stdin")


def _named(source: str) -> str:
    """Return the name of the input, standard input's for ``-``."""
    return str(_STDIN) if source == "-" and _STDIN.exists() else source


InputArgument = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        callback=_named,
        help="Documents: file, folder or docs; - is standard input.",
    ),
]

SeedOption = Annotated[
    int, typer.Option(min=0, help="Seed; the same seed gives the same result.")
]
TopicsOption = Annotated[
    int, typer.Option("--topics", "-k", min=1, help="Topics to learn.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace a model in DIR.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print only problems.")
]


def _option(help: str, default: str, *flags: str, metavar: str | None = None) -> Any:
    panel = _TEXT if metavar in ("FORMAT", "COLUMN") else _WORDS
    option = typer.Option(
        *flags, help=help, metavar=metavar, show_default=default, rich_help_panel=panel
    )
    return Annotated[str | None, option]


def _column(field: str, what: str) -> Any:
    default = field if field == "text" else f"{field}, if there is one"
    return _option(f"Column with {what}.", default, metavar="COLUMN")


@dataclass(frozen=True)
class TextOptions:
    """Options for raw text as they were given; None where one was not."""

    min_df: str | None = None
    max_df: str | None = None
    max_features: int | None = None
    stop_words: str | None = None
    encoding: str | None = None
    text: str | None = None
    label: str | None = None
    id: str | None = None
    time: str | None = None
    skip_bad_lines: bool | None = None
    ngrams: str | None = None
    stem: str | None = None
    tokens: str | None = None

    def given(self) -> dict[str, Any]:
        """Return the options that were given, by their flags."""
        return {
            "--" + name.replace("_", "-"): value
            for name, value in vars(self).items()
            if value is not None and value is not False
        }

    def reading(self) -> dict[str, Any]:
        """Return the options of `topicfold.corpus.read_texts` that were given."""
        names = ("text", "label", "id", "time", "encoding", "skip_bad_lines")
        return {name: value for name in names if (value := getattr(self, name))}

    def frequency_bounds(self) -> dict[str, Any]:
        """Return `min_df` and `max_df` as numbers, where they were given."""
        bounds = {"min_df": self.min_df, "max_df": self.max_df}
        return {
            name: _number("--" + name.replace("_", "-"), text)
            for name, text in bounds.items()
            if text is not None
        }

    def vectorizing(self) -> dict[str, Any]:
        """Return the options of `topicfold.corpus.vectorize`, as a model saves them."""
        options = self.frequency_bounds()
        if self.max_features is not None:
            options["max_features"] = self.max_features
        if self.ngrams is not None:
            options["ngram_range"] = _lengths(self.ngrams)
        for name in ("stem", "tokens"):
            if getattr(self, name) is not None:
                options[name] = getattr(self, name)
        return {**options, "stop_words": _stop_words(self.stop_words, self.tokens)}


_ANNOTATIONS: dict[str, Any] = {
    "format": _option(
        "What INPUT is: files, lines, csv, tsv, jsonl, parquet, ldac, uci, mm, "
        "svmlight, mallet, npz, folder.",
        "what its name shows",
        "--from",
        metavar="FORMAT",
    ),
    "text": _column("text", "the text"),
    "label": _column("label", "the class"),
    "id": _column("id", "the name of a document"),
    "time": _column("time", "its date or time"),
    "encoding": Annotated[
        str | None,
        typer.Option(
            help="Encoding of text files, such as latin-1.",
            show_default="detected",
            rich_help_panel=_TEXT,
        ),
    ],
    "skip_bad_lines": Annotated[
        bool,
        typer.Option(
            "--skip-bad-lines",
            help="Leave out lines that cannot be read, and report how many.",
            rich_help_panel=_TEXT,
        ),
    ],
    "min_df": _option(
        "Keep words in at least this many documents, or this share of them.",
        "2; docs: 3",
        metavar="N",
    ),
    "max_df": _option(
        "Keep words in at most this many documents, or this share of them.",
        "0.5; docs: 0.3",
        metavar="N",
    ),
    "max_features": Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Keep this many words, the most frequent.",
            rich_help_panel=_WORDS,
        ),
    ],
    "stop_words": _option(
        "Words to leave out: english, none, or a file with one word per line.",
        "english",
    ),
    "ngrams": _option(
        "Runs of words that are terms: 2 for words and pairs, 2-3 for pairs and "
        "triples.",
        "1",
        metavar="N",
    ),
    "stem": _option(
        "Count stems of words, such as english (needs snowballstemmer).",
        "none",
        metavar="LANGUAGE",
    ),
    "tokens": _option(
        "How to cut text: words; spaces, for text that is cut already; or your own "
        "function as MODULE:FUNCTION.",
        "words",
        metavar="HOW",
    ),
}

# What decides on the words of a new model, and is fixed for a saved one.
WORD_OPTIONS = ("min_df", "max_df", "max_features", "stop_words", "ngrams", "stem")
# Where documents are no more than an option of a command: what it does without.
BESIDE = ("format", "label", "time", *WORD_OPTIONS)


def takes_text_options(
    *, without: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the flags of this module, as the arguments it asks for.

    The command has the keyword arguments `options`, a `TextOptions`, and `format`;
    on the command line both are the flags above. Without ``"format"`` it may have one
    of its own of that name.
    """
    names = [name for name in _ANNOTATIONS if name not in without]
    replaced = {"options", "format"} - set(without)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(*args: Any, **given: Any) -> None:
            values = {name: given.pop(name) for name in names}
            if "format" in names:
                given["format"] = values.pop("format")
            command(*args, options=TextOptions(**values), **given)

        hints = get_type_hints(command, include_extras=True)
        own = [
            parameter.replace(annotation=hints[parameter.name])
            for parameter in inspect.signature(command).parameters.values()
            if parameter.name not in replaced
        ]
        ours = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=False if name == "skip_bad_lines" else None,
                annotation=_ANNOTATIONS[name],
            )
            for name in names
        ]
        run.__signature__ = inspect.Signature([*own, *ours])  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in [*own, *ours]}
        del run.__wrapped__  # type: ignore[attr-defined]
        return run

    return decorate


def with_function(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of `vectorize` with the function that ``tokens`` names.

    Examples
    --------
    >>> with_function({"tokens": "shlex:split"})["tokens"].__name__
    'split'
    """
    tokens = options.get("tokens")
    if tokens is None or ":" not in tokens:
        return options
    return {**options, "tokens": _function(tokens)}


def _function(name: str) -> Callable[[str], list[str]]:
    import importlib
    import sys

    module, _, attribute = name.partition(":")
    sys.path.insert(0, "")  # as python -m does: modules of this folder
    try:
        function = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise CommandError(
            f"--tokens is {name!r}, but {error}. Give words, spaces, or a function as "
            "MODULE:FUNCTION."
        ) from error
    finally:
        sys.path.remove("")
    if not callable(function):
        raise CommandError(f"--tokens is {name!r}, which is not a function.")
    return function  # type: ignore[no-any-return]


def _number(flag: str, text: str) -> int | float:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    raise CommandError(
        f"{flag} is {text!r}. Give a number of documents, such as 5, or a share of "
        "them, such as 0.5."
    )


def _lengths(text: str) -> list[int]:
    shortest, dash, longest = text.partition("-")
    try:
        lengths = [int(shortest), int(longest)] if dash else [1, int(shortest)]
    except ValueError:
        lengths = [0, 0]
    if not 1 <= lengths[0] <= lengths[1]:
        raise CommandError(
            f"--ngrams is {text!r}. Give the longest run of words, such as 2, or the "
            "shortest and the longest, such as 2-3."
        )
    return lengths


def _stop_words(value: str | None, tokens: str | None) -> str | list[str] | None:
    if value is None or value.lower() == "english":
        return "english"
    if value.lower() == "none":
        return None
    file = Path(value)
    if not file.is_file():
        raise CommandError(
            f"--stop-words is {value!r}. Give english, none, or a file with one word "
            "per line."
        )
    from topicfold.corpus import read_texts, words_of

    # Cut like the texts; by another rule than ours, they are cut when they are used.
    cut = words_of if tokens in (None, "words") else str.split
    lines = read_texts(file, format="lines").texts
    return sorted({word for line in lines for word in cut(line)})
