# SPDX-License-Identifier: BSD-3-Clause
"""One line on standard error for every error, warning and log record.

`MessageGroup` is the command group that does it, wherever in the program they arise,
and that turns errors into exit codes: 2 for what the user can fix, 130 for Ctrl-C, 1
for a bug in topicfold.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from topicfold.core.tables import printable
from topicfold.exceptions import TopicfoldError, UnsettledWarning

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
    "what it is with format=...": "what it is with --from",
    **{
        f"format='{kind}'": f"--from {kind}"
        for kind in ("lines", "csv", "tsv", "json", "jsonl")
    },
    "sheet='...'": "--sheet",
    "Say which with format=...": "Say which with --to",
    "a function given as tokens, such as": "--tokens MODULE:FUNCTION, such as",
    "say tokens='spaces'": "say --tokens spaces",
    "n_components=": "--topics ",
    "a smaller n_components": "a smaller --topics",
    "Shorten stop_words": "Shorten --stop-words",
    "stop_words='": "--stop-words '",
    "min_df=": "--min-df ",
    "max_df=": "--max-df ",
    "Lower min_df": "Lower --min-df",
    "aise max_df": "aise --max-df",
    "encoding='utf-16-le'": "--encoding utf-16-le",
    "n_components is": "--topics is",
    "(topicfold.search.TopicIndex)": "(topicfold search)",
    **{f"{name}='...'": f"--{name}" for name in ("text", "label", "id", "time")},
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
    line = one_line(str(text))
    for of_library, of_command in _FLAGS.items():
        line = line.replace(of_library, of_command)
    sys.stderr.write(f"{kind}: {printable(line)}\n")
    sys.stderr.flush()


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
        warnings.showwarning = lambda message, *_, **__: tell("warning", message)
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


def _described(error: Any, *, debug: bool) -> tuple[str, int]:
    """Return what an error says to the user, and the exit code."""
    if isinstance(error, _ParserError):
        message = error.format_message().rstrip()
        message += "" if message.endswith((".", "?")) else "."
        if (context := getattr(error, "ctx", None)) is not None:
            message += f" Try {context.command_path} --help."
        return message, int(error.exit_code)
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
    what = f"{type(error).__name__}: {error}"
    return f"{what}. This is a bug in topicfold.{hint}", EXIT_BUG
