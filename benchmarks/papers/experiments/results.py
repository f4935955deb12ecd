# SPDX-License-Identifier: BSD-3-Clause
"""Cells of an experiment run in parallel, and their results: tidy rows in a file.

A cell is one model on one draw. Cells run in processes of their own when there are
several at a time, so that time and memory are theirs; the parent alone writes.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.experiments import cells as store_of_cells
from benchmarks.papers.experiments.cells import (
    Cell,
    Measure,
    Row,
    cell_key,
    describe,
    run_cell,
)
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
Progress = Callable[[int, int, Cell], None]
logger = logging.getLogger(__name__)


@dataclass
class Results:
    """Rows of an experiment, one per run and metric.

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


class ResultFile(store_of_cells.ResultFile):
    """A file of rows; a protocol that is given a frozen one runs nothing new.

    Parameters
    ----------
    path : str, path or None
        The file; it is made if missing. None keeps rows in memory only.
    frozen : bool, default=False
        Whether only what is in the file is returned.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, *, frozen: bool = False
    ) -> None:
        super().__init__(path)
        self.frozen = frozen


def run_cells(
    cells: Sequence[Cell],
    measure: Measure,
    data: Any,
    *,
    results: Any = None,
    n_jobs: int | None = None,
    on_progress: Progress | None = None,
    time_budget: float | None = None,
) -> Results:
    """Run the cells that are not in the file yet; return the rows of all of them.

    Parameters
    ----------
    cells : sequence of dict
        Settings of each cell; they name it in the file, so they must be all that the
        result depends on. ``settings`` may be a dict.
    measure : callable
        ``measure(data, cell)`` returns rows: dicts with metric, value and whatever is
        not the same for the whole cell. At the top level of a module.
    data : object
        Given to `measure`.
    results : str, path, ResultFile or None, default=None
        Where rows are kept; an interrupted run goes on from there. Cells that are not
        in a frozen file are left out.
    n_jobs : int or None, default=None
        Cells at a time; None is 1, -1 all cores.
    on_progress : callable, optional
        Called with (cells done, cells in all, the last cell).
    time_budget : float, optional
        Seconds after which no further cell is begun.

    Returns
    -------
    Results
        In the order of `cells`.
    """
    store = results if isinstance(results, ResultFile) else ResultFile(results)
    keys = [cell_key(cell) for cell in cells]
    waiting = [
        (key, cell)
        for key, cell in dict(zip(keys, cells, strict=True)).items()
        if store.get(key) is None and not store.frozen
    ]
    failures: list[str] = []
    done = sum(store.get(key) is not None for key in set(keys))
    if done:
        logger.info("%d of %d cells were done before", done, len(set(keys)))
    for key, cell, rows, error in _outcomes(
        waiting, measure, data, n_jobs, time_budget
    ):
        done += 1
        if error is not None:
            failures.append(f"{describe(cell)}: {error}")
            logger.warning("%s failed: %s", describe(cell), error)
        else:
            store.add(key, rows)
        if on_progress is not None:
            on_progress(done, len(set(keys)), cell)
    return Results([row for key in keys for row in store.get(key) or ()], failures)


def _outcomes(
    waiting: list[tuple[str, Cell]],
    measure: Measure,
    data: Any,
    n_jobs: int | None,
    time_budget: float | None,
) -> Iterator[tuple[str, Cell, list[Row], str | None]]:
    from joblib import Parallel, delayed, effective_n_jobs

    end = None if time_budget is None else time.monotonic() + time_budget

    def tasks() -> Iterator[tuple[str, Cell]]:
        for key, cell in waiting:
            if end is not None and time.monotonic() > end:
                logger.warning("time is up: %s and later are left out", describe(cell))
                return
            yield key, cell

    if effective_n_jobs(n_jobs) == 1:
        for key, cell in tasks():
            yield _run(key, cell, measure, data)
        return
    # No memory maps: kernels are compiled for arrays that can be written.
    pool = Parallel(
        n_jobs, return_as="generator_unordered", max_nbytes=None, pre_dispatch="n_jobs"
    )
    yield from pool(delayed(_run)(key, cell, measure, data) for key, cell in tasks())


def _run(
    key: str, cell: Cell, measure: Measure, data: Any
) -> tuple[str, Cell, list[Row], str | None]:
    return key, cell, *run_cell(cell, measure, data)
