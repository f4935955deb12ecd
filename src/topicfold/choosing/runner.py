# SPDX-License-Identifier: BSD-3-Clause
"""Cells of an experiment: run in parallel, each kept as it finishes.

A cell is one model on one draw. Cells run in processes of their own when there are
several at a time, so that time and memory are theirs; the parent alone writes.
"""

from __future__ import annotations

import contextlib
import logging
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from topicfold.choosing.results import ResultFile, Results, Row, cell_key
from topicfold.exceptions import EmptyDocumentWarning, FitInterruptedWarning

logger = logging.getLogger(__name__)

Cell = dict[str, Any]
Measure = Callable[[Any, Cell], list[Row]]
Progress = Callable[[int, int, Cell], None]
# Columns of a row that the cell decides.
_SHARED = ("protocol", "corpus", "model", "n_components", "seed")


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


def describe(cell: Mapping[str, Any]) -> str:
    """Return the cell in words.

    Examples
    --------
    >>> describe({"corpus": "docs", "model": "LDA", "n_components": 20, "seed": 1})
    'docs, LDA, K=20, seed 1'
    """
    parts = [str(cell.get("corpus") or ""), str(cell.get("model") or "")]
    if cell.get("n_components"):
        parts.append(f"K={cell['n_components']}")
    if cell.get("seed") is not None:
        parts.append(f"seed {cell['seed']}")
    return ", ".join(part for part in parts if part)


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
    before = start_memory()
    began = time.perf_counter()
    try:
        with quiet():
            found = measure(data, cell)
    except Exception as error:
        logger.debug("cell failed", exc_info=True)
        return key, cell, [], f"{type(error).__name__}: {error}"
    memory = peak_memory(before)
    shared = {name: cell.get(name) for name in _SHARED}
    shared["settings"] = _settings(cell)
    whole = {"seconds": time.perf_counter() - began, "peak_memory_mb": memory}
    return key, cell, [{**shared, **whole, **row} for row in found], None


def _settings(cell: Cell) -> str:
    import json

    return json.dumps(cell.get("settings") or {}, sort_keys=True, default=str)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Leave out warnings that a table of hundreds of fits cannot use.

    Ctrl-C in a fit, of which a model would only warn and go on with what it has, ends
    the run: half a fit must not be a result.
    """
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("error", FitInterruptedWarning)
        for category in (ConvergenceWarning, EmptyDocumentWarning):
            warnings.simplefilter("ignore", category)
        try:
            yield
        except FitInterruptedWarning:
            raise KeyboardInterrupt from None


def start_memory() -> float:
    """Return the memory of this process in MB, and start a new peak where Linux can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def peak_memory(before: float) -> float | None:
    """Return the peak since `start_memory` in MB, above `before`; None if unknown."""
    peak = _status("VmHWM")
    return None if peak == 0 else round(max(peak - before, 0.0), 1)


def _status(field: str) -> float:
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return 0.0
    for line in text.splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    return 0.0
