# SPDX-License-Identifier: BSD-3-Clause
"""Small tables for people: as plain text, and as HTML for notebooks."""

from __future__ import annotations

import csv
import io
import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from topicfold.core.lazy import optional

Rows = Sequence[Mapping[str, Any]]


class Html(str):
    """Text that is HTML already, and is not escaped again."""


def shown(value: Any) -> str:
    """Return a value as a cell shows it: shares of one with three digits."""
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:,.1f}"
    return str(value)


def printable(text: str) -> str:
    """Return the text without control characters, which a terminal would obey."""
    return "".join(c if c.isprintable() else "�" for c in text)


def listed(names: Iterable[str], most: int = 8) -> str:
    """Return the first names, and how many more there are.

    Examples
    --------
    >>> listed("abcd", 2)
    'a, b and 2 more'
    """
    shown = [str(name) for name in names]
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more


# Columns of a plain table are not made narrower than this, and no less of the last one
# is shown beside them; where there is no room it goes below its row.
_LEAST_WIDTH = 12
_LEAST_SHARE = 0.6
_MOST_LINES = 3
_INDENT = 4


def text_table(rows: Rows, *, width: int | None = None, narrow: bool = False) -> str:
    """Return rows as lines that fit a terminal, or `width`.

    A last column of text that has no room is put below its row. Of numbers, as many
    columns are shown as there is room for, or rows as columns where more of them fit; a
    last line says how many are not. With `narrow`, columns of text are cut before
    columns of numbers are left out; so they are without, if all numbers fit then.

    Examples
    --------
    >>> rows = [{"name": "a", "text": "one two three four five six seven eight"}]
    >>> print(text_table(rows, width=24))
    name
    a
        one two three four
        five six seven eight
    """
    if not rows:
        return "(none)"
    if width is None:
        width = shutil.get_terminal_size((100, 24)).columns
    names = list(rows[0])
    columns = [
        [printable(name), *(printable(shown(row[name])) for row in rows)]
        for name in names
    ]
    numbers = [all(isinstance(r[n], int | float | None) for r in rows) for n in names]
    cut = _narrowed(columns, numbers, width)
    # Rows of one text and numbers may do better as columns.
    texts_and_numbers = numbers[-1] and not all(numbers[1:])
    if narrow or (texts_and_numbers and _total(cut) <= width):
        columns = cut
    if _total(columns) <= width:
        return "\n".join(_lines(columns, numbers))
    if all(numbers[1:]):
        turned = _turned(rows, names)
        if _fitting(turned, width) * len(turned[0]) > _fitting(columns, width) * len(
            columns[0]
        ):
            columns, numbers = turned, [False, *(True for _ in turned[1:])]
    if numbers[-1] or len(columns) == 1:
        return _leading_columns(columns, numbers, width)
    last = columns[-1]
    before = _narrowed(columns[:-1], numbers, width)
    room = width - _total(before) - 2
    if room >= _LEAST_SHARE * max(map(len, last)):
        short = [c if len(c) <= room else f"{c[: room - 2]} …" for c in last]
        return "\n".join(_lines([*before, short], numbers))
    head, *lines = _lines(before, numbers)
    below = (_wrapped(cell, width) for cell in last[1:])
    pairs = zip(lines, below, strict=True)
    return "\n".join([head, *(part for pair in pairs for part in pair if part)])


def _total(columns: Sequence[Sequence[str]]) -> int:
    return sum(max(map(len, cells)) for cells in columns) + 2 * (len(columns) - 1)


def _lines(columns: Sequence[Sequence[str]], numbers: Sequence[bool]) -> list[str]:
    """Return the rows of columns that fit, each as wide as its widest cell."""
    parts = []
    for cells, right in zip(columns, numbers, strict=False):
        wide = max(map(len, cells))
        parts.append([c.rjust(wide) if right else c.ljust(wide) for c in cells])
    return ["  ".join(line).rstrip() for line in zip(*parts, strict=True)]


def _narrowed(
    columns: list[list[str]], numbers: Sequence[bool], width: int
) -> list[list[str]]:
    """Return columns whose widest texts are cut until all fit, if they can."""
    limits = [max(map(len, cells)) for cells in columns]
    texts = [place for place in range(len(columns)) if not numbers[place]]
    while sum(limits) + 2 * (len(limits) - 1) > width:
        widest = max(texts, key=lambda place: limits[place], default=None)
        if widest is None or limits[widest] <= _LEAST_WIDTH:
            break
        limits[widest] -= 1
    pairs = zip(columns, limits, strict=True)
    return [
        [c if len(c) <= most else f"{c[: most - 1]}…" for c in cells]
        for cells, most in pairs
    ]


def _leading_columns(
    columns: list[list[str]], numbers: Sequence[bool], width: int
) -> str:
    """Return the first columns that fit, and how many there are besides."""
    kept = _fitting(columns, width)
    fitting = _narrowed(columns[:kept], numbers, width)
    lines = [line[:width] for line in _lines(fitting, numbers)]
    left = len(columns) - kept
    if left:
        noun = "columns" if left > 1 else "column"
        lines.append(f"… and {left} more {noun}; to_frame() has all")
    return "\n".join(lines)


def _fitting(columns: list[list[str]], width: int) -> int:
    """Return how many columns fit, the first made narrower if need be; at least two."""
    kept = len(columns)
    least = [cell[: _least_width(columns[0])] for cell in columns[0]]
    while kept > 2 and _total([least, *columns[1:kept]]) > width:
        kept -= 1
    return kept


def _least_width(cells: Sequence[str]) -> int:
    """Return how wide a column must be so that different cells look different."""
    widths = range(_LEAST_WIDTH, max(map(len, cells)) + 1)
    different = len(set(cells))
    return next(
        (w for w in widths if len({cell[: w - 1] for cell in cells}) == different),
        _LEAST_WIDTH,
    )


def _turned(rows: Rows, names: Sequence[str]) -> list[list[str]]:
    """Return the columns of the table with its rows as columns, in few digits."""
    first, *others = names
    short = [
        [
            f"{row[n]:.3f}" if isinstance(row[n], float) else shown(row[n])
            for n in others
        ]
        for row in rows
    ]
    heads = [printable(shown(row[first])) for row in rows]
    columns = [[head, *cells] for head, cells in zip(heads, short, strict=True)]
    return [["", *map(printable, others)], *columns]


def _wrapped(text: str, width: int) -> str:
    """Return a text in a few lines, indented."""
    indent = " " * _INDENT
    return textwrap.fill(
        text,
        max(width, 2 * _INDENT),
        initial_indent=indent,
        subsequent_indent=indent,
        max_lines=_MOST_LINES,
        placeholder=" …",
    )


def html_table(rows: Rows, caption: str = "") -> str:
    """Return rows as an HTML table without style of its own; all text is escaped."""
    names = list(rows[0]) if rows else []
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(_cell(row[name]) for name in names) + "</tr>" for row in rows
    )
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def markdown_table(rows: Rows) -> str:
    """Return rows in Markdown."""
    lines = [list(rows[0]), *(row.values() for row in rows)]
    head, *rest = [f"| {' | '.join(map(str, line))} |" for line in lines]
    return "\n".join([head, "|---" * len(rows[0]) + "|", *rest])


def csv_table(rows: Rows) -> str:
    """Return rows as CSV, below the names of their columns."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def _cell(value: Any) -> str:
    text = value if isinstance(value, Html) else escape(shown(value))
    side = "right" if isinstance(value, int | float) else "left"
    return f'<td style="text-align:{side};padding:2px 8px">{text}</td>'


class Table(list[dict[str, Any]]):
    """Rows that show themselves: as text when printed, as a table in a notebook."""

    def __repr__(self) -> str:
        return text_table(self)

    def _repr_html_(self) -> str:
        return html_table(self)

    def to_frame(self) -> Any:
        """Return the rows as a pandas data frame."""
        return load_pandas().DataFrame(list(self))


def load_pandas() -> Any:
    """Return pandas, or say how to install it."""
    return optional("pandas", "A data frame needs pandas", "pandas")
