# SPDX-License-Identifier: BSD-3-Clause
"""One line on standard error for every error, warning and log record.

`MessageGroup` is the command group that does it, wherever in the program they arise,
and that turns errors into exit codes: 2 for what the user can fix, 130 for Ctrl-C, 1
for a bug in topicfold.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import typer
from typer.core import TyperGroup

from topicfold.exceptions import TopicfoldError

EXIT_BUG = 1
EXIT_USER = 2
EXIT_INTERRUPTED = 130

# The class of all of the parser's errors; typer brings its own copy of click or not.
_ParserError = cast(type[Exception], typer.BadParameter.__mro__[2])
_FIXABLE = (TopicfoldError, OSError, ValueError, MemoryError)
_QUIET_WARNINGS = (
    DeprecationWarning,
    PendingDeprecationWarning,
    ImportWarning,
    ResourceWarning,
)


# Options that errors of the library advise, and what they are called here.
_FLAGS = {
    "skip_bad_lines=True": "--skip-bad-lines",
    "replace=True": "--force",
    "overwrite=True": "--force",
    "encoding=...": "--encoding",
    "what it is with format=...": "what it is with --from",
    "Say which with format=...": "Say which with --to",
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
    sys.stderr.write(f"{kind}: {printable(in_flags(one_line(str(text))))}\n")
    sys.stderr.flush()


def in_flags(text: str) -> str:
    """Return the library's advice in the words of the command line.

    Examples
    --------
    >>> in_flags("Replace it with replace=True, or name it by text='...'.")
    'Replace it with --force, or name it by --text.'
    """
    for of_library, of_command in _FLAGS.items():
        text = text.replace(of_library, of_command)
    return text


def one_line(text: str) -> str:
    r"""Return the text with its lines joined by spaces.

    Examples
    --------
    >>> one_line("two problems:\n- a\n- b")
    'two problems: - a - b'
    """
    return " ".join(line.strip() for line in text.splitlines() if line.strip())


def printable(text: str) -> str:
    r"""Return the text without control characters, which a terminal would obey.

    Examples
    --------
    >>> printable("red\x1b[31m fox")
    'red�[31m fox'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "�" for c in text)


@contextlib.contextmanager
def one_line_messages() -> Iterator[None]:
    """Show warnings and topicfold's log records as single lines meanwhile."""
    logger = logging.getLogger("topicfold")
    handler = _LineHandler(level=logging.WARNING)
    propagate = logger.propagate
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.resetwarnings()
            for category in _QUIET_WARNINGS:
                warnings.simplefilter("ignore", category)
            # A model of blocks knows its words; the commands check them themselves.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
        warnings.showwarning = _show_warning
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


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    tell("warning", message)


def _take_debug(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """Take ``--debug`` out of the arguments before ``--``."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept = [a for a in arguments[:end] if a != "--debug"]
    return [*kept, *arguments[end:]], len(kept) < end


def _exit_code(run: Callable[[], Any], *, debug: bool) -> int:
    try:
        result = run()
        sys.stdout.flush()
    except _ParserError as error:
        _show_traceback(debug)
        # Every one of the parser's errors has format_message and exit_code.
        details: Any = error
        message = details.format_message().rstrip()
        message += "" if message.endswith((".", "?")) else "."
        tell("error", f"{message}{_help_hint(error)}")
        return int(details.exit_code)
    except typer.Abort:
        tell("error", "interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return _close_pipe()
    except _FIXABLE as error:
        _show_traceback(debug)
        tell("error", _describe(error))
        return EXIT_USER
    except Exception as error:
        _show_traceback(debug)
        what = f"{type(error).__name__}: {error}"
        hint = "" if debug else " Run it again with --debug for the traceback."
        tell("error", f"{what}. This is a bug in topicfold.{hint}")
        return EXIT_BUG
    return result if isinstance(result, int) else 0


def _describe(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"not enough memory. {error}".strip()
    return str(error) or type(error).__name__


def _help_hint(error: BaseException) -> str:
    context = getattr(error, "ctx", None)
    return f" Try {context.command_path} --help." if context is not None else ""


def _show_traceback(debug: bool) -> None:
    if debug:
        sys.stderr.write(traceback.format_exc())


def _close_pipe() -> int:
    """End quietly when the reader of the output has gone away."""
    import os

    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return EXIT_BUG
