# SPDX-License-Identifier: BSD-3-Clause
"""The tables of ``scale.md`` from what ``benchmarks.scale`` and ``.gpu`` measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"


def report(rows: list[dict[str, Any]], n_terms: int, disturbed: float) -> str:
    """Return the text of ``scale.md``."""
    lines = [
        "# Growth with the number of documents",
        "",
        "Made by `python -m benchmarks.scale`; see its docstring. Zipfian documents, "
        f"{n_terms:,} terms. `load` is the machine's load average when the run ended; "
        "`quiet` means that all other work was stopped, `disturbed` that other work "
        "ran although it should have been stopped. The pass is the median after the "
        "first. `memory` ignores blocks.",
        "",
        *_growth_table(rows),
        "",
        *_comparison(disturbed),
        "## All runs",
        "",
        "| how | jobs | documents | non-zeros | blocks | topics | s/pass "
        "| ns/(non-zero·topic) | peak MiB | load |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    order = {"memory": 0, "blocks": 1, "dask": 2, "online": 3}
    for row in sorted(
        rows, key=lambda r: (r["topics"], order[r["how"]], r["jobs"], r["documents"])
    ):
        lines.append(
            f"| {row['how']} | {row['jobs']} | {row['documents']:,} | {row['nnz']:,} | "
            f"{row['blocks']} | {row['topics']} | {_median(row):.2f} "
            f"| {_unit(row):.2f} | {row['peak_mib']:,.0f} | {row['load']} |"
        )
    return "\n".join(lines) + "\n"


def _median(row: dict[str, Any]) -> float:
    return float(np.median(row["passes"][1:] or row["passes"]))


def _unit(row: dict[str, Any]) -> float:
    return 1e9 * _median(row) / (row["nnz"] * row["topics"])


GROWTH = {
    "one thread": ("memory", 1),
    "two threads": ("memory", 2),
    "blocks, one thread": ("blocks", 1),
    "blocks, two threads": ("blocks", 2),
    "two Dask workers": ("dask", 2),
}


def _growth_table(rows: list[dict[str, Any]]) -> list[str]:
    """Seconds a pass, ns a non-zero and topic, and peak memory, by size."""
    gpu = json.loads((RESULTS / "gpu.json").read_text(encoding="utf-8"))
    found = {
        (row["documents"], row["how"], row["jobs"]): (
            _median(row), _unit(row), row["peak_mib"] / 1024
        )
        for row in rows
    }  # fmt: skip
    on_gpu = {
        row["documents"]: (
            row["iteration_ms"] / 1e3,
            1e6 * row["iteration_ms"] / (row["nnz"] * row["topics"]),
            row["peak_gib"],
        )
        for row in gpu["growth"]
    }
    lines = [
        "Each entry: seconds per pass · ns per (non-zero·topic) · peak GiB. PLSA, 32 "
        f"topics; the GPU ({gpu['device']}) has {gpu['growth'][0]['topics']} topics "
        "and documents of its own (benchmarks/results/gpu.md).",
        "",
        f"| documents | {' | '.join(GROWTH)} | GPU |",
        "|--:|" + "--:|" * (len(GROWTH) + 1),
    ]
    for documents in sorted(on_gpu):
        cells = [found.get((documents, *key)) for key in GROWTH.values()]
        cells.append(on_gpu[documents])
        texts = [
            "–" if c is None else f"{c[0]:.2g} · {c[1]:.2g} · {c[2]:.1f}" for c in cells
        ]
        lines.append(f"| {documents:,} | {' | '.join(texts)} |")
    return lines


def _comparison(disturbed: float) -> list[str]:
    file = RESULTS / "scale_compare.json"
    if not file.is_file():
        return []
    lines = [
        "## In turn",
        "",
        "Passes taken in turn over the same documents in blocks of equal size; medians "
        f"of the rounds in which others used at most {disturbed:.0%} of the processors "
        "(of all, if there is none). Storage is where Dask's workers write mixtures, "
        "settings are those of `local_client`, or Dask's own.",
        "",
        "| documents | blocks | topics | storage | settings | rounds | one thread "
        "| two threads | two Dask workers | threads / one | Dask / one "
        "| Dask over threads |",
        "|--:|--:|--:|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for found in json.loads(file.read_text(encoding="utf-8")):
        rounds = found["rounds"]
        one, threads, dask = (
            (found["median"] or {}).get(name, np.median([r[name] for r in rounds]))
            for name in ("one", "threads", "dask")
        )
        lines.append(
            f"| {found['documents']:,} | {found['blocks']} | {found['topics']} "
            f"| {found['storage']} | {found['settings']} "
            f"| {found['undisturbed']} of {len(rounds)} "
            f"| {one:.2f} s | {threads:.2f} s | {dask:.2f} s | {one / threads:.2f} "
            f"| {one / dask:.2f} | {dask / threads - 1:+.0%} |"
        )
    return [*lines, ""]
