# SPDX-License-Identifier: BSD-3-Clause
"""The phases of a fit on many cores are those of today's code."""

from benchmarks.many_cores import (
    PHASES,
    fit,
    schedule,
    schedule_table,
    synthetic,
    table,
)


def test_every_phase_is_timed_and_threads_agree():
    X = synthetic(4000, 200, 300)
    rows = [fit(X, 5, threads) for threads in (1, 2)]
    assert all(row[phase] > 0 for row in rows for phase in PHASES)
    assert rows[0]["bits"] == rows[1]["bits"]
    page = "\n".join(table(rows, "A small corpus"))
    assert "The fits agree in every bit" in page


def test_tasks_of_threads_are_scheduled():
    """More threads save time that tasks take; the fit itself stays as it is."""
    X = synthetic(20000, 900, 3000)
    fit(X, 20, 1)
    found = {threads: schedule(X, 20, threads, 2) for threads in (1, 4)}
    passes = [row["document passes"] + row["word passes"] for row in found.values()]
    assert 0 < passes[1] < 0.7 * passes[0]
    page = schedule_table(found, "A small corpus")
    assert [line[:5] for line in page[-2:]] == ["| 1 |", "| 4 |"]
