# SPDX-License-Identifier: BSD-3-Clause
"""Small tables for people: as plain text, and as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def text_table(rows: Rows, *, width: int = 100) -> str:
    """Return rows as lines; the last column is cut where a line ends."""
    if not rows:
        return "(none)"
    names = list(rows[0])
    cells = [list(map(printable, names))]
    cells += [[printable(shown(row[name])) for name in names] for row in rows]
    numbers = [all(isinstance(r[n], int | float | None) for r in rows) for n in names]
    widths = [max(len(line[place]) for line in cells) for place in range(len(names))]
    lines = []
    for line in cells:
        parts = [
            text.rjust(wide) if right else text.ljust(wide)
            for text, wide, right in zip(line, widths, numbers, strict=True)
        ]
        joined = "  ".join(parts).rstrip()
        lines.append(joined if len(joined) <= width else f"{joined[: width - 2]} …")
    return "\n".join(lines)


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
