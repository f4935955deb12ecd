# SPDX-License-Identifier: BSD-3-Clause
"""Tables and JSON lines whose name says that they are something else.

Read line by line, a table of 1,700 articles becomes 15,000 "documents", its header and
halves of sentences among them; JSON lines read as a table have a sentence for a column.
So the beginning of such a file is looked at first.
"""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

from topicfold.corpus.columns import DELIMITERS, USUAL_NAMES
from topicfold.corpus.lines import CHUNK, LONGEST_LINE, open_bytes
from topicfold.exceptions import DataError

# Rows that are looked at, and the share of them that must be as wide as the first.
_ROWS = 50
_ALIKE = 0.9
_NAME = re.compile(r"[^\W\d][\w .:/()-]{0,30}")


# How a file is read by its suffix, and which other looks its reader takes as well.
_READ_AS = {
    "lines": ("one document per line", ()),
    "csv": ("a table", ("csv", "tsv")),
    "tsv": ("a table with tabs", ("tsv",)),
    "json": ("JSON", ("jsonl",)),
    "jsonl": ("JSON lines", ("jsonl",)),
    "xlsx": ("an Excel file", ()),
    "parquet": ("a Parquet file", ()),
}


def check_suffix(path: Path, kind: str) -> None:
    """Raise an error if a file does not look like the kind that its suffix names."""
    read_as, taken = _READ_AS[kind]
    seen, what = looks_like(path)
    if seen and seen not in taken:
        other = "every line is a document" if kind == "lines" else f"it is {read_as}"
        binary = kind in ("xlsx", "parquet")
        more = "" if binary else f", or format='{kind}' if {other}"
        raise DataError(
            f"{path} would be read as {read_as}, but it looks like {what}. Say what "
            f"it is: format='{seen}'{more}."
        )


def looks_like(path: Path) -> tuple[str, str]:
    """Return the format that the beginning of a file shows, and what it looks like;
    nothing if it is no table.
    """
    if not path.is_file():  # a pipe can be read only once
        return "", ""
    try:
        with open_bytes(path) as stream:
            raw = stream.read(CHUNK)
    except DataError:  # its reader says what is wrong
        return "", ""
    text = raw.decode("utf-8-sig", "replace")
    if _is_json(text):
        return "jsonl", "an object of JSON in every line"
    delimiter, names = _columns(text, whole=len(raw) < CHUNK)
    if not names:
        return "", ""
    more = ", …" if len(names) > 6 else ""
    what = f"a table with the columns {', '.join(map(repr, names[:6]))}{more}"
    return "tsv" if delimiter == "\t" else "csv", what


def _is_json(text: str) -> bool:
    """Tell whether the first lines are objects of JSON."""
    lines = [line for line in text.split("\n")[:-1] or [text] if line.strip()][:3]
    try:
        found = [json.loads(line) for line in lines if line.lstrip().startswith("{")]
    except (ValueError, RecursionError):
        return False
    return bool(lines) and len(found) == len(lines)


def _columns(text: str, *, whole: bool) -> tuple[str, list[str]]:
    """Return delimiter and names of the columns of a table; none if it is no table."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    for delimiter in DELIMITERS:
        rows: list[list[str]] = []
        try:
            for row in csv.reader(io.StringIO(text), delimiter=delimiter):
                if row:
                    rows.append([cell.strip() for cell in row])
                if len(rows) > _ROWS:
                    break
        except csv.Error:
            continue
        if len(rows) <= _ROWS and not whole:
            rows = rows[:-1]  # it may be cut
        if len(rows) > 1 and _is_header(rows[0], rows[1:]):
            return delimiter, rows[0]
    return "", []


def _is_header(names: list[str], rows: list[list[str]]) -> bool:
    """Tell whether names head a table: usual ones, or so many that it is no chance."""
    if len(names) < 2 or len({*names}) < len(names):
        return False
    if not all(_NAME.fullmatch(name) for name in names):
        return False
    alike = sum(len(row) == len(names) for row in rows)
    if alike < max(_ALIKE * len(rows), 1):
        return False
    if any(name.lower() in USUAL_NAMES for name in names):
        return True
    return len(names) > 2 and len(rows) > 4
