# SPDX-License-Identifier: BSD-3-Clause
"""Results as JSON (everything) and as Markdown tables (what one reads)."""

from __future__ import annotations

import datetime
import json
import os
import platform
from pathlib import Path
from typing import Any

from benchmarks.peers.adapters import ADAPTERS, OURS, REFERENCE

Row = dict[str, Any]
_MIB = 2**20


def describe_machine() -> dict[str, Any]:
    """CPU model, cores and Python; nothing that names the machine."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def describe_peers(peers: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Version, meaning of a pass and default passes of every peer."""
    found = {}
    for peer in peers:
        adapter = ADAPTERS[peer]
        missing = adapter.missing()
        found[peer] = {
            "package": adapter.distribution or adapter.package,
            "version": missing or adapter.version(),
            "pass": adapter.pass_is,
            "default_passes": adapter.default_passes,
        }
    return found


def write(results: dict[str, Any], folder: Path, name: str) -> None:
    """Write ``name.json`` and ``name.md``, each whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"json": json.dumps(results, indent=1), "md": markdown(results)}
    for suffix, text in texts.items():
        path = folder / f"{name}.{suffix}"
        partial = path.with_suffix(f".{suffix}.part")
        partial.write_text(text + "\n")
        partial.replace(path)


def markdown(results: dict[str, Any]) -> str:
    """Lay the rows out in one table per mode, corpus and number of topics."""
    machine = results["machine"]
    lines = [
        "# topicfold and its peers",
        "",
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, "
        f"Python {machine['python']}; {results['date']}; seed {results['seed']}. "
        f"{_seconds(results)}The columns are explained in `benchmarks/README.md`.",
    ]
    for name, corpus in results["corpora"].items():
        lines += ["", f"- {name}: {_describe_corpus(corpus)}"]
    lines += ["", "## Peers", ""]
    header = ("peer", "package", "version", "one pass is")
    keys = ("package", "version", "pass")
    lines += _table(
        header, [(p, *(d[k] for k in keys)) for p, d in results["peers"].items()]
    )
    for title, mode, layout in _SECTIONS:
        for where, group in _groups(results["rows"], mode).items():
            content = layout(group)
            if content:
                lines += ["", f"## {title}{where}", "", *content]
    return "\n".join(lines)


def _groups(rows: list[Row], mode: str) -> dict[str, list[Row]]:
    """Rows of a mode by where they were measured, as the heading says it."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row["mode"] == mode:
            where = f": {row['corpus']}" if row["corpus"] else ""
            if mode in ("passes", "target"):
                where += f", K = {row['k']}"
            groups.setdefault(where, []).append(row)
    return groups


def _seconds(results: dict[str, Any]) -> str:
    """Say of what the seconds are, where not by the clock."""
    by_cpu = results.get("settings", {}).get("clock") == "cpu"
    return "All seconds are CPU seconds of all threads. " if by_cpu else ""


def _passes(rows: list[Row]) -> list[str]:
    base = {
        r["threads"]: r.get("seconds_a_pass") for r in rows if r["peer"] == REFERENCE
    }
    header = ("peer", "threads", "s/pass", "fastest", f"{REFERENCE} ÷ this")
    header += ("peak MiB", "passes", "perplexity", "note")
    return _table(
        header,
        [
            (
                row["peer"],
                row["threads"],
                _number(row.get("seconds_a_pass"), 4),
                _number(row.get("fastest_pass"), 4),
                _ratio(base.get(row["threads"]), row.get("seconds_a_pass")),
                _mib(row.get("peak_bytes")),
                row.get("passes", ""),
                _number(row.get("perplexity"), 1),
                row.get("note", ""),
            )
            for row in rows
        ],
    )


def _target(rows: list[Row]) -> list[str]:
    base = next((r.get("seconds") for r in rows if r["peer"] == REFERENCE), None)
    header = ("peer", "threads", "target", "s to target", "passes to target")
    header += (f"{REFERENCE} ÷ this", "best", "all passes", "all s", "note")
    return _table(
        header,
        [
            (
                row["peer"],
                row["threads"],
                _number(row.get("target"), 1),
                _to_target(row),
                row.get("passes_to_target") or "",
                _ratio(base, row.get("seconds_to_target")),
                _number(row.get("best_perplexity"), 1),
                row.get("passes", ""),
                _number(row.get("seconds"), 2),
                row.get("note", ""),
            )
            for row in rows
        ],
    )


def _to_target(row: Row) -> str:
    if row["status"] != "ok" or row.get("target") is None:
        return ""
    return _number(row["seconds_to_target"], 2) or "not reached"


def _versus(rows: list[Row]) -> list[str]:
    """How soon ours is as good as a peer after its default passes."""
    ours = [r for r in rows if r["peer"] in OURS and r["status"] == "ok"]
    peers = [r for r in rows if r["peer"] not in OURS and r["status"] == "ok"]
    header = ["peer", "default passes", "made", "perplexity", "s"]
    for row in ours:
        header += [f"{row['peer']} s", "times faster"]
    body = []
    for row in peers:
        default = ADAPTERS[row["peer"]].default_passes
        within = [point for point in row["curve"] if point[0] <= default]
        if not within:
            continue
        best = min(within, key=lambda point: point[2])
        last = within[-1]
        cells = [row["peer"], default, last[0]]
        cells += [_number(best[2], 1), _number(last[1], 2)]
        for our in ours:
            hit = next((p[1] for p in our["curve"] if p[2] <= best[2]), None)
            cells += [_number(hit, 2) or "not reached", _ratio(last[1], hit)]
        body.append(tuple(cells))
    return _table(tuple(header), body) if ours and body else []


def _memory(rows: list[Row]) -> list[str]:
    header = ("peer", "K", "documents", "non-zeros", "peak MiB", "needed MiB", "ratio")
    return _table(
        (*header, "note"),
        [
            (
                row["peer"],
                row["k"],
                row["documents"],
                row["nnz"],
                _mib(row.get("peak_bytes")),
                _mib(row.get("needed_bytes")),
                _number(row.get("ratio"), 2),
                row.get("note", ""),
            )
            for row in rows
        ],
    )


def _startup(rows: list[Row]) -> list[str]:
    header = ("peer", "what", "seconds", "note")
    keys = ("peer", "measure")
    body = []
    for row in rows:
        seconds = _number(row.get("seconds"), 2)
        body.append((*(row[key] for key in keys), seconds, row.get("note", "")))
    return _table(header, body)


_SECTIONS = (
    ("A pass", "passes", _passes),
    ("To the target", "target", _target),
    ("To what peers reach in their default passes", "target", _versus),
    ("Memory", "memory", _memory),
    ("Start-up", "startup", _startup),
)


def today() -> str:
    """Date of the run, in UTC."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _describe_corpus(corpus: dict[str, Any]) -> str:
    return (
        f"{corpus['train_documents']} training documents, {corpus['terms']} terms, "
        f"{corpus['train_nnz']} non-zeros; {corpus['test_documents']} test documents, "
        f"{corpus['scored_tokens']} scored tokens, "
        f"{100 * corpus['unseen_share']:.2f} % of them words unseen in training; "
        f"unigram perplexity {corpus['unigram_perplexity']:.1f}"
    )


def _cpu_model() -> str:
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _table(header: tuple, rows: list[tuple]) -> list[str]:
    lines = [header, ("---",) * len(header), *rows]
    return ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _mib(value: float | None) -> str:
    return "" if value is None else f"{value / _MIB:.1f}"


def _ratio(base: float | None, value: float | None) -> str:
    return "" if not base or not value else f"{base / value:.1f}"
