# SPDX-License-Identifier: BSD-3-Clause
"""One model on one split of the documents: fitted, measured, kept in a file.

Such a run is a cell; the settings of a cell name it in the file.
"""

from __future__ import annotations

import json
import logging
import lzma
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from topicfold.choosing.evaluation import settings_key, with_memory
from topicfold.exceptions import DataError
from topicfold.learn.loop import quiet
from topicfold.persistence.atomic import write_atomically

logger = logging.getLogger(__name__)

Row = dict[str, Any]
Cell = dict[str, Any]
Measure = Callable[[Any, Cell], list[Row]]
# Columns of a row that the cell decides.
_SHARED = ("protocol", "corpus", "model", "n_components", "seed")


class ResultFile:
    """Rows in a file of JSON lines; a cell's rows are there all or none.

    A run that was killed while it wrote leaves a cut line: it is dropped when the file
    is opened again, with the other rows of its cell, and the cell is done again.
    Rows of earlier runs may be in ``PATH.xz``, which is only read; `pack` writes it.

    Parameters
    ----------
    path : str, path or None
        The file; it is made if missing. None keeps rows in memory only.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        self._cells: dict[str, list[Row]] = {}
        if self.path is None:
            return
        if self.path.is_dir():
            raise DataError(f"{self.path} is a folder. Give a file for the results.")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if packed(self.path).is_file():
            with lzma.open(packed(self.path)) as stream:
                self._load(packed(self.path), stream.read())
        if self.path.is_file():
            self._load(self.path, self.path.read_bytes())

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
            with self.path.open("ab") as stream:
                stream.write(_lines(kept))
                stream.flush()
                os.fsync(stream.fileno())
        self._cells[cell] = kept
        return kept

    def pack(self) -> None:
        """Move all rows to the compressed file, the one that is kept in git."""
        if self.path is None:
            return
        lines = lzma.compress(b"".join(map(_lines, self._cells.values())), preset=9)
        write_atomically(packed(self.path), lambda file: file.write_bytes(lines))
        self.path.unlink(missing_ok=True)

    def _load(self, path: Path, content: bytes) -> None:
        damaged = False
        # By part: two runs on one file may have done the same cell.
        found: dict[str, dict[str, Row]] = {}
        finished: dict[str, list[Row]] = {}
        for number, line in enumerate(content.split(b"\n"), 1):
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
                        f"{path} is not a file of results. Give another file, or "
                        "remove it."
                    ) from None
        for cell, parts in found.items():
            if len(parts) == int(next(iter(parts)).partition("/")[2]):
                finished[cell] = list(parts.values())
            else:
                damaged = True
        self._cells |= finished
        if damaged:  # only finished cells stay in the file
            lines = b"".join(map(_lines, finished.values()))
            write_atomically(path, lambda file: file.write_bytes(lines))


def packed(path: Path) -> Path:
    """Return where the compressed rows of a file are."""
    return path.with_name(f"{path.name}.xz")


def run_cell(cell: Cell, measure: Measure, data: Any) -> tuple[list[Row], str | None]:
    """Return the rows of ``measure(data, cell)``, or what went wrong in words."""
    began = time.perf_counter()
    try:
        with quiet():
            found, memory = with_memory(lambda: measure(data, cell))
    except Exception as error:
        logger.debug("cell failed", exc_info=True)
        return [], f"{type(error).__name__}: {error}"
    shared = {name: cell.get(name) for name in _SHARED}
    shared["settings"] = json.dumps(
        cell.get("settings") or {}, sort_keys=True, default=str
    )
    shared["seconds"] = time.perf_counter() - began
    shared["peak_memory_mb"] = memory
    return [{**shared, **row} for row in found], None


def describe(cell: Mapping[str, Any]) -> str:
    """Return the cell in words, as "docs, LDA, K=20, seed 1"."""
    k, seed = cell.get("n_components"), cell.get("seed")
    parts = [cell.get("corpus"), cell.get("model"), k and f"K={k}"]
    parts.append(None if seed is None else f"seed {seed}")
    return ", ".join(str(part) for part in parts if part)


cell_key = settings_key


def _lines(rows: Iterable[Row]) -> bytes:
    """Return rows as lines of JSON, which has no infinite numbers."""
    clean = [
        {
            key: None if isinstance(v, float) and not math.isfinite(v) else v
            for key, v in row.items()
        }
        for row in rows
    ]
    return "".join(f"{json.dumps(r, ensure_ascii=False)}\n" for r in clean).encode()
