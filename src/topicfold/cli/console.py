# SPDX-License-Identifier: BSD-3-Clause
"""What commands print: facts on standard output, all else on standard error.

Every error, warning and log record is one line. `MessageGroup` is the command group
that does it, wherever in the program they arise, and that turns errors into exit codes:
2 for what the user can fix, 130 for Ctrl-C, 1 for a bug in topicfold. Help is in two
columns that can be read in a terminal of 80.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from topicfold.core.tables import printable
from topicfold.exceptions import TopicfoldError, UnsettledWarning

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

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


def show_fact(label: str, text: str) -> None:
    """Print one labelled line, such as ``Saved    demo/lda``.

    Long lines are left to the terminal, so that paths can be copied whole.
    """
    from rich.text import Text

    line = Text.assemble((label.ljust(_LABEL_WIDTH), "bold"), " ", printable(text))
    stdout_console().print(line, soft_wrap=True)


def show_next(command: str, folder: Path) -> None:
    """Print the next command, ready to be copied."""
    show_fact("Next", command.format(shlex.quote(str(folder))))


@contextlib.contextmanager
def working(text: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Show that something is being done; nothing when not on a terminal.

    The function that it yields shows how much of it is done.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda done, in_all: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(text)) as status:
        yield lambda done, in_all: status.update(Text(f"{text} {done:,} of {in_all:,}"))


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


EXIT_BUG = 1
EXIT_USER = 2
EXIT_INTERRUPTED = 130

# The class of all of the parser's errors; typer brings its own copy of click or not.
_ParserError: Any = typer.BadParameter.__mro__[2]
_QUIET_WARNINGS = (
    *(DeprecationWarning, PendingDeprecationWarning),
    *(ImportWarning, ResourceWarning),
)
# Options that errors of the library advise, and what they are called here.
_FLAGS = {
    "skip_bad_lines=True": "--skip-bad-lines",
    "replace=True": "--force",
    "overwrite=True": "--force",
    "encoding=...": "--encoding",
    "encoding='latin-1'": "--encoding latin-1",
    "encoding='utf-8'": "--encoding utf-8",
    "name the format with format=...": "name the format with --from",
    **{
        f"format='{kind}'": f"--from {kind}"
        for kind in ("lines", "csv", "tsv", "json", "jsonl")
    },
    "sheet='...'": "--sheet",
    "Name it with format=...": "Name it with --to",
    "a function given as tokens, such as": "--tokens MODULE:FUNCTION, such as",
    "set tokens='spaces'": "give --tokens spaces",
    "n_components=": "--topics ",
    "a smaller n_components": "a smaller --topics",
    "a larger n_components": "a larger --topics",
    "algorithm='recursive'": "--algorithm recursive",
    "Give embeddings= for mixtures": "Give --embeddings for mixtures",
    "Shorten stop_words": "Shorten --stop-words",
    "stop_words='": "--stop-words '",
    "min_df=": "--min-df ",
    "max_df=": "--max-df ",
    "Lower min_df": "Lower --min-df",
    "aise max_df": "aise --max-df",
    "encoding='utf-16-le'": "--encoding utf-16-le",
    "n_components is": "--topics is",
    "such as n_topics=": "such as --topics ",
    "select_n_components compares": "topicfold choose-k compares",
    "give labels of two or more classes as fit(texts, labels)": (
        "put files into a sub-folder for each class"
    ),
    "method='": "--method '",
    "topics='": "--topics '",
    "table(adjust='fdr')": "--adjust fdr",
    "Give the groups: content='column' of the data, or a group per document": (
        "Give --content with the column of TABLE that has the groups"
    ),
    "Sort the rows of data in the order of the documents": "Name the column of ids "
    "with --id",
    "(topicfold.search.TopicIndex)": "(topicfold search)",
    "phrases=True": "--phrases",
    "that write_intrusion_sheet wrote": "that topicfold quiz --sheet wrote",
    **{f"{name}='...'": f"--{name}" for name in ("text", "label", "id", "time")},
}


# Messages of the parser, in plainer words.
_PLAINER = (
    (r"Input should be a valid integer\b[^.]*", "give a whole number"),
    (r"Input should be a valid number\b[^.]*", "give a number"),
    (r"Input should be greater than or equal to (\S*\d)", r"give \1 or more"),
    (r"Input should be greater than (\S*\d)", r"give more than \1"),
    ("Value error, ", ""),
    (r"Input should be less than or equal to (\S*\d)", r"give \1 or less"),
)
# Options of other programs that have another name here.
_ELSEWHERE = {
    "random-state": "--seed",
    **dict.fromkeys(("n-components", "num-topics"), "--topics"),
    **dict.fromkeys(("iterations", "passes", "epochs"), "--max-iter"),
    **dict.fromkeys(("threads", "workers"), "--jobs"),
    **dict.fromkeys(("language", "stopwords"), "--stop-words"),
}


class CommandError(TopicfoldError, ValueError):
    """The command line cannot be carried out as it was given."""


class MessageGroup(TyperGroup):
    """Commands whose errors are one line, with ``--debug`` at any place."""

    def main(  # type: ignore[override,unused-ignore]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        *,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line; in standalone mode exit with its code."""
        given = sys.argv[1:] if args is None else list(args)
        arguments, debug = _take_debug(given)

        def run() -> Any:
            return super(MessageGroup, self).main(
                arguments, prog_name, standalone_mode=False, **extra
            )

        if not standalone_mode:
            return run()
        with one_line_messages():
            code = _exit_code(run, debug=debug)
        sys.exit(code)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help in two columns."""
        write_help(self, ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; print one line if Ctrl-C ends it."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            tell("error", "interrupted")
            raise typer.Exit(EXIT_INTERRUPTED) from None


def tell(kind: str, text: object) -> None:
    """Write ``kind: text`` to standard error, in one line."""
    # Not typer.echo, which would write into the middle of a progress bar.
    line = in_flags(one_line(str(text)))
    sys.stderr.write(f"{kind}: {printable(line)}\n")
    sys.stderr.flush()


def in_flags(text: str) -> str:
    """Return a message of the library with its options called as they are here."""
    for of_library, of_command in _FLAGS.items():
        text = text.replace(of_library, of_command)
    return text


def one_line(text: str) -> str:
    """Return the text with its lines joined by spaces."""
    return " ".join(line.strip() for line in text.splitlines() if line.strip())


@contextlib.contextmanager
def one_line_messages() -> Iterator[None]:
    """Show warnings and topicfold's log records as single lines meanwhile."""
    logger = logging.getLogger("topicfold")
    handler, propagate = _LineHandler(level=logging.WARNING), logger.propagate
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.resetwarnings()
            for category in _QUIET_WARNINGS:
                warnings.simplefilter("ignore", category)
            # The commands say themselves, on standard output, that iterations ran out.
            warnings.simplefilter("ignore", UnsettledWarning)
            # A model of blocks knows its words; the commands check them themselves.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
        said: set[str] = set()  # parts of a command may warn of the same

        def show(message: object, *_: object, **__: object) -> None:
            if str(message) not in said:
                said.add(str(message))
                tell("warning", message)

        warnings.showwarning = show
        logger.addHandler(handler)
        logger.propagate = False
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.propagate = propagate


class _LineHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        kind = "note" if record.levelno < logging.ERROR else "error"
        try:
            tell(kind, record.getMessage())
        except Exception:
            self.handleError(record)


def _take_debug(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """Take ``--debug`` out of the arguments before ``--``."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept = [a for a in arguments[:end] if a != "--debug"]
    return [*kept, *arguments[end:]], len(kept) < end


def _exit_code(run: Callable[[], Any], *, debug: bool) -> int:
    try:
        result = run()
        sys.stdout.flush()
    except typer.Abort:
        tell("error", "interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader of the output has gone away
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BUG
    except Exception as error:
        if debug:
            sys.stderr.write(traceback.format_exc())
        text, code = _described(error, debug=debug)
        tell("error", text)
        return code
    return result if isinstance(result, int) else 0


def _of_parser(error: Any) -> str:
    """Return what the parser says, and what to do."""
    message = error.format_message().rstrip()
    for pattern, plainer in _PLAINER:
        message = re.sub(pattern, plainer, message)
    message += "" if message.endswith((".", "?")) else "."
    if (context := getattr(error, "ctx", None)) is None:
        return message
    if message.startswith("No such command") and "Did you mean" not in message:
        message += f" Commands: {', '.join(context.command.list_commands(context))}."
    if message.startswith("Got unexpected extra arg"):
        message = re.sub(r"\) \((\S+ \S+ \S+) .+\)", r") (\1 …)", message)
        message += (
            " Put several files into one folder; separate values by commas; write "
            "words with spaces in quotes."
        )
    name = str(getattr(error, "option_name", "")).lstrip("-")
    short = f"-{name}"
    if len(name) == 1 and any(short in one.opts for one in context.command.params):
        message = f"No such option: --{name}. Did you mean {short}?"
    here = _ELSEWHERE.get(name)
    if here and any(here in one.opts for one in context.command.params):
        message = f"No such option: --{name}. Did you mean {here}?"
    return f"{message} Try {context.command_path} --help."


def _described(error: Any, *, debug: bool) -> tuple[str, int]:
    """Return what an error says to the user, and the exit code."""
    if isinstance(error, _ParserError):
        return _of_parser(error), int(error.exit_code)
    if isinstance(error, OSError) and error.strerror:
        from topicfold.persistence.atomic import writing_advice

        problem = error.strerror
        if error.filename is not None:
            problem = f"{error.filename}: {problem}"
        return f"{problem}. {writing_advice(error)}", EXIT_USER
    if isinstance(error, MemoryError):
        return f"not enough memory. {error}".strip(), EXIT_USER
    if isinstance(error, RecursionError):
        return "a path or a file is nested too deeply. Make it flatter.", EXIT_USER
    if isinstance(error, TopicfoldError | OSError | ValueError):
        return str(error) or type(error).__name__, EXIT_USER
    hint = "" if debug else " Run it again with --debug for the traceback."
    what = f"{type(error).__name__}: {error}".rstrip(".")
    return f"{what}. This is a bug in topicfold.{hint}", EXIT_BUG
