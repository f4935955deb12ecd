# SPDX-License-Identifier: BSD-3-Clause
"""The phases of a fit on many cores are those of today's code."""

from benchmarks.many_cores import PHASES, fit, synthetic, table


def test_every_phase_is_timed_and_threads_agree():
    X = synthetic(4000, 200, 300)
    rows = [fit(X, 5, threads) for threads in (1, 2)]
    assert all(row[phase] > 0 for row in rows for phase in PHASES)
    assert rows[0]["bits"] == rows[1]["bits"]
    page = "\n".join(table(rows, "A small corpus"))
    assert "The fits agree in every bit" in page
