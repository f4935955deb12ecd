# SPDX-License-Identifier: BSD-3-Clause
"""Results of experiments: tidy rows, kept in a file as they come."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from topicfold.exceptions import DataError
from topicfold.persistence.atomic import write_atomically

COLUMNS = (
    "protocol",
    "corpus",
    "model",
    "n_components",
    "labels",
    "seed",
    "metric",
    "value",
    "seconds",
    "peak_memory_mb",
    "settings",
)
Row = dict[str, Any]


@dataclass
class Results:
    """Rows of an experiment, one a run and metric.

    Attributes
    ----------
    rows : list of dict
        With the keys protocol, corpus, model, n_components (None: has none), labels
        (a class, or None), seed, metric, value, seconds (to learn the features),
        peak_memory_mb (above what the process had before), settings.
    failures : list of str
        Runs that ended with an error; they are tried again the next time.

    Examples
    --------
    >>> rows = [{"model": "LDA", "metric": "accuracy", "value": v} for v in (0.5, 0.7)]
    >>> results = Results(rows)
    >>> results.mean("accuracy", model="LDA")
    0.6
    >>> print(results.to_markdown("accuracy", rows="model"))
    | model | accuracy |
    |---|---|
    | LDA | 0.600 ± 0.100 |
    """

    rows: list[Row] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def select(self, **wanted: Any) -> list[Row]:
        """Return the rows whose columns have these values."""
        return [
            row
            for row in self.rows
            if all(row.get(key) == value for key, value in wanted.items())
        ]

    def values(self, metric: str, **wanted: Any) -> list[float]:
        """Return the values of a metric, in order of the rows."""
        return [row["value"] for row in self.select(metric=metric, **wanted)]

    def mean(self, metric: str, **wanted: Any) -> float:
        """Return the mean of a metric; NaN without such rows."""
        values = self.values(metric, **wanted)
        return round(float(np.mean(values)), 12) if values else math.nan

    def std(self, metric: str, **wanted: Any) -> float:
        """Return the standard deviation of a metric; NaN without such rows."""
        values = self.values(metric, **wanted)
        return float(np.std(values)) if values else math.nan

    def unique(self, column: str) -> list[Any]:
        """Return the values of a column, in order of first occurrence."""
        return list(dict.fromkeys(row.get(column) for row in self.rows))

    def to_markdown(
        self,
        metric: str,
        *,
        rows: str = "model",
        columns: str | None = None,
        digits: int = 3,
        **wanted: Any,
    ) -> str:
        """Return a table of mean ± deviation.

        Parameters
        ----------
        metric : str
            What is in the cells.
        rows, columns : str
            Columns of the results that span the table; without `columns` one.
        digits : int, default=3
            Decimals.
        **wanted
            Only rows with these values.
        """
        part = Results([r for r in self.select(**wanted) if r["metric"] == metric])
        heads = [None] if columns is None else part.unique(columns)
        names = [metric] if columns is None else [f"{columns} {h}" for h in heads]
        lines = [f"| {rows} | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
        for name in part.unique(rows):
            cells = []
            for head in heads:
                chosen = {rows: name} | ({} if columns is None else {columns: head})
                values = part.values(metric, **chosen)
                cells.append(mean_and_deviation(values, digits))
            lines.append(f"| {name} | {' | '.join(cells)} |")
        return "\n".join(lines)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows as a CSV file with a header."""
        import csv

        def write(file: Path) -> None:
            with file.open("w", newline="", encoding="utf-8") as stream:
                writer = csv.DictWriter(stream, COLUMNS, extrasaction="ignore")
                writer.writeheader()
                writer.writerows(self.rows)

        write_atomically(Path(path), write)


def mean_and_deviation(values: Sequence[float], digits: int = 3) -> str:
    """Return the mean, and the deviation where there are several values.

    Examples
    --------
    >>> mean_and_deviation([0.25]), mean_and_deviation([1, 3], 0)
    ('0.250', '2 ± 1')
    """
    if not len(values):
        return ""
    text = f"{np.mean(values):.{digits}f}"
    return text + (f" ± {np.std(values):.{digits}f}" if len(values) > 1 else "")


class ResultFile:
    """Rows in a file of JSON lines; a cell's rows are there all or none.

    A run that was killed while it wrote leaves a cut line: it is dropped when the file
    is opened again, with the other rows of its cell, and the cell is done again.

    Parameters
    ----------
    path : str, path or None
        The file; it is made if missing. None keeps rows in memory only.
    frozen : bool, default=False
        A protocol that is given this file runs nothing: it returns what is there.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, *, frozen: bool = False
    ) -> None:
        self.path = None if path is None else Path(path)
        self.frozen = frozen
        self._cells: dict[str, list[Row]] = {}
        if self.path is None:
            return
        if self.path.is_dir():
            raise DataError(f"{self.path} is a folder. Give a file for the results.")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.is_file():
            self._load()

    def get(self, cell: str) -> list[Row] | None:
        """Return the rows of a finished cell."""
        return self._cells.get(cell)

    def add(self, cell: str, rows: Sequence[Row]) -> list[Row]:
        """Keep the rows of a cell, on the disk before this returns."""
        kept = [
            {**row, "cell": cell, "part": f"{number}/{len(rows)}"}
            for number, row in enumerate(rows, 1)
        ]
        if self.path is not None:
            text = "".join(f"{_line(row)}\n" for row in kept).encode()
            with self.path.open("ab") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
        self._cells[cell] = kept
        return kept

    def _load(self) -> None:
        assert self.path is not None
        damaged = False
        # By part: two runs on one file may have done the same cell.
        found: dict[str, dict[str, Row]] = {}
        for number, line in enumerate(self.path.read_bytes().split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                # What is no number in JSON is none here either.
                row["value"] = math.nan if row["value"] is None else row["value"]
                int(row["part"].partition("/")[2])
                found.setdefault(row["cell"], {})[row["part"]] = row
            except (ValueError, TypeError, KeyError, AttributeError):
                damaged = True
                if number == 1 and not line.startswith(b"{"):
                    raise DataError(
                        f"{self.path} is not a file of results. Give another file, or "
                        "remove it."
                    ) from None
        for cell, parts in found.items():
            if len(parts) == int(next(iter(parts)).partition("/")[2]):
                self._cells[cell] = list(parts.values())
            else:
                damaged = True
        if damaged:
            self._rewrite()

    def _rewrite(self) -> None:
        """Leave only finished cells in the file."""
        assert self.path is not None
        text = "".join(f"{_line(r)}\n" for rows in self._cells.values() for r in rows)
        write_atomically(self.path, lambda file: _write_text(file, text))


def cell_key(cell: Mapping[str, Any]) -> str:
    """Return a short name for a cell: the same settings, the same name."""
    text = json.dumps(cell, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def data_fingerprint(*arrays: Any) -> str:
    """Return a short name for data: other documents are another experiment."""
    digest = hashlib.sha256()
    for array in arrays:
        parts: Iterable[Any] = [array]
        if hasattr(array, "indptr"):
            parts = [np.asarray(array.shape), array.indptr, array.indices, array.data]
        for part in parts:
            values = np.ascontiguousarray(part)
            if values.dtype.kind == "O":
                values = values.astype(str)
            # Neither the width of integers nor that of floats is another corpus.
            kind = {"i": np.int64, "u": np.int64, "f": np.float64}.get(
                values.dtype.kind
            )
            values = values if kind is None else values.astype(kind)
            digest.update(str(values.shape).encode())
            digest.update(values.tobytes())
    return digest.hexdigest()[:12]


def _write_text(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def _line(row: Row) -> str:
    clean = {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }
    return json.dumps(clean, ensure_ascii=False)
