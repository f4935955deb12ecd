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
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="FORMAT",
        help="What INPUT is: files, lines, csv, tsv, jsonl, parquet, ldac, uci, mm, "
        "svmlight, mallet, npz, folder.",
        show_default="what its name shows",
        rich_help_panel=_TEXT,
    ),
]


def _column(field: str, what: str) -> Any:
    return typer.Option(
        metavar="COLUMN",
        help=f"Column with {what}.",
        show_default=f"{field}{'' if field == 'text' else ', if there is one'}",
        rich_help_panel=_TEXT,
    )


TextOption = Annotated[str | None, _column("text", "the text")]
LabelOption = Annotated[str | None, _column("label", "the class")]
IdOption = Annotated[str | None, _column("id", "the name of a document")]
TimeOption = Annotated[str | None, _column("time", "its date or time")]
EncodingOption = Annotated[
    str | None,
    typer.Option(
        help="How text files are written, such as latin-1.",
        show_default="detected",
        rich_help_panel=_TEXT,
    ),
]
SkipOption = Annotated[
    bool,
    typer.Option(
        "--skip-bad-lines",
        help="Leave lines out that cannot be read, and say how many.",
        rich_help_panel=_TEXT,
    ),
]
MinDfOption = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        help="Keep words in at least so many documents, or such a share of them.",
        show_default="2; docs: 3",
        rich_help_panel=_WORDS,
    ),
]
MaxDfOption = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        help="Keep words in at most so many documents, or such a share of them.",
        show_default="0.5; docs: 0.3",
        rich_help_panel=_WORDS,
    ),
]
MaxFeaturesOption = Annotated[
    int | None,
    typer.Option(min=1, help="Keep so many words.", rich_help_panel=_WORDS),
]
StopWordsOption = Annotated[
    str | None,
    typer.Option(
        help="Words to leave out: english, none, or a file with a word a line.",
        show_default="english",
        rich_help_panel=_WORDS,
    ),
]
NgramsOption = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        help="Runs of words that are terms: 2 for words and pairs, 2-3 for pairs and "
        "triples.",
        show_default="1",
        rich_help_panel=_WORDS,
    ),
]
StemOption = Annotated[
    str | None,
    typer.Option(
        metavar="LANGUAGE",
        help="Count stems of words, such as english (needs snowballstemmer).",
        show_default="none",
        rich_help_panel=_WORDS,
    ),
]
TokensOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOW",
        help="How to cut text: words; spaces, for text that is cut already; or your "
        "own function as MODULE:FUNCTION.",
        show_default="words",
        rich_help_panel=_WORDS,
    ),
]


@dataclass(frozen=True)
class TextOptions:
    """Options for raw text as they were given; None where one was not.

    Attributes
    ----------
    min_df, max_df : str or None
        A number of documents (``"5"``) or a share of them (``"0.5"``).
    max_features : int or None
        Most words to keep.
    stop_words : str or None
        ``"english"`` (also if None), ``"none"``, or a file with a word a line.
    encoding : str or None
        How files are written.
    text, label, id, time : str or None
        Columns of tables.
    skip_bad_lines : bool or None
        Whether to leave bad lines out.
    ngrams : str or None
        Lengths of terms in words: ``"2"`` or ``"2-3"``.
    stem : str or None
        Language of the stemmer.
    tokens : str or None
        ``"words"``, ``"spaces"`` or ``"module:function"``.
    """

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
    "format": FormatOption,
    "text": TextOption,
    "label": LabelOption,
    "id": IdOption,
    "time": TimeOption,
    "encoding": EncodingOption,
    "skip_bad_lines": SkipOption,
    "min_df": MinDfOption,
    "max_df": MaxDfOption,
    "max_features": MaxFeaturesOption,
    "stop_words": StopWordsOption,
    "ngrams": NgramsOption,
    "stem": StemOption,
    "tokens": TokensOption,
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

    Parameters
    ----------
    without : tuple of str, default=()
        Options that the command does not have.
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
        raise CommandError(f"--tokens is {name!r}, which is no function.")
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
            "a line."
        )
    from topicfold.corpus import read_texts, words_of

    # Cut like the texts; by another rule than ours, they are cut when they are used.
    cut = words_of if tokens in (None, "words") else str.split
    lines = read_texts(file, format="lines").texts
    return sorted({word for line in lines for word in cut(line)})
