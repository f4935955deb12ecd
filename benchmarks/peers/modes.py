# SPDX-License-Identifier: BSD-3-Clause
"""The four questions the benchmark asks; each mode yields rows for the report."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.adapters import ADAPTERS, OURS, REFERENCE
from benchmarks.peers.corpora import Split, save_test, save_train
from benchmarks.peers.jobs import run_job, run_python

Row = dict[str, Any]
FRACTIONS = (0.125, 0.25, 0.5, 1.0)
_REPEATS = 3


@dataclass(frozen=True)
class Settings:
    """What to run; the command line's options."""

    peers: tuple[str, ...] = tuple(ADAPTERS)
    topics: tuple[int, ...] = (20, 100)
    threads: tuple[int, ...] = (1, 2)
    passes: int = 5
    sweeps: int = 200
    max_seconds: float = 300.0
    targets: tuple[float, ...] = ()
    seed: int = 0
    clock: str = "wall"
    ours: tuple[str, ...] = field(init=False)

    def __post_init__(self):
        """Derive which of the peers are our own models."""
        ours = tuple(peer for peer in self.peers if peer in OURS)
        object.__setattr__(self, "ours", ours)


@dataclass(frozen=True)
class Corpus:
    """A split corpus and the folder its workers read it from."""

    name: str
    split: Split
    folder: Path

    def train(self, fraction: float = 1.0) -> str:
        """Write the first `fraction` of the training documents; return the folder."""
        folder = self.folder / f"train_{fraction}"
        if not folder.exists():
            n_docs = round(fraction * self.split.train.shape[0])
            save_train(self.split.train[:n_docs], folder)
        return str(folder)

    def test(self) -> str:
        """Write what the evaluator reads; return the file."""
        path = self.folder / "test.npz"
        if not path.exists():
            save_test(self.split, path)
        return str(path)


def passes(corpus: Corpus, settings: Settings) -> Iterator[Row]:
    """Seconds a pass, peak memory and the perplexity after the same few passes."""
    for k in settings.topics:
        for peer in settings.peers:
            for threads in settings.threads:
                row = _row("passes", corpus.name, peer, k, threads)
                job = {
                    **_job("fit", row, settings),
                    "train": corpus.train(),
                    "test": corpus.test(),
                    "max_passes": 1 + settings.passes,
                }
                result = run_job(job)
                if result["status"] == "ok":
                    seconds = result["pass_seconds"]
                    result["seconds_a_pass"] = statistics.median(seconds)
                    result["fastest_pass"] = min(seconds)
                yield {**row, **result}


def target(corpus: Corpus, settings: Settings) -> Iterator[Row]:
    """Seconds of fit until a held-out perplexity is reached.

    The target is given, or what the reference peer reaches after `sweeps` passes in
    this run; the reference therefore goes first.
    """
    threads = max(settings.threads)
    others = tuple(peer for peer in settings.peers if peer != REFERENCE)
    ordered = (REFERENCE, *others) if REFERENCE in settings.peers else others
    for number, k in enumerate(settings.topics):
        goal = settings.targets[number] if settings.targets else None
        for peer in ordered:
            row = _row("target", corpus.name, peer, k, threads)
            job = {
                **_job("curve", row, settings),
                "train": corpus.train(),
                "test": corpus.test(),
                "max_passes": settings.sweeps,
                "max_seconds": settings.max_seconds,
                "target": goal,
            }
            result = run_job(job)
            if result["status"] == "ok":
                if goal is None and peer == REFERENCE:
                    goal = result["curve"][-1][2]
                result.update(_reached(result["curve"], goal))
            yield {**row, "target": goal, **result}


def memory(corpus: Corpus, settings: Settings) -> Iterator[Row]:
    """Peak memory of our models over sizes and topics, against the arrays needed."""
    threads = max(settings.threads)
    n_docs, n_terms = corpus.split.train.shape
    for peer in settings.ours:
        for k in settings.topics:
            for fraction in FRACTIONS:
                size = round(fraction * n_docs)
                nnz = int(corpus.split.train.indptr[size])
                row = _row("memory", corpus.name, peer, k, threads)
                row.update(fraction=fraction, documents=size, nnz=nnz)
                job = {
                    **_job("fit", row, settings),
                    "train": corpus.train(fraction),
                    "max_passes": 3,
                }
                result = run_job(job)
                if result["status"] == "ok":
                    row["needed_bytes"] = needed_bytes(nnz, size, n_terms, k)
                    row["ratio"] = result["peak_bytes"] / row["needed_bytes"]
                yield {**row, **result}


def startup(settings: Settings) -> Iterator[Row]:
    """Seconds to import, and to a first fit with an empty and a filled cache."""
    threads = max(settings.threads)
    for peer in settings.peers:
        yield {
            **_row("startup", "", peer, None, threads),
            "measure": ADAPTERS[peer].import_line,
            **_import_seconds(peer, threads),
        }
    for peer in settings.ours:
        with tempfile.TemporaryDirectory() as cache:
            for process in ("first process ever", "second process"):
                row = _row("startup", "", peer, settings.topics[0], threads)
                job = {**_job("startup", row, settings), "max_passes": 1}
                result = run_job(job, {"NUMBA_CACHE_DIR": cache})
                if "first_fit_seconds" in result:
                    result["seconds"] = result.pop("first_fit_seconds")
                yield {**row, "measure": f"first fit, {process}", **result}


def needed_bytes(nnz: int, n_docs: int, n_terms: int, k: int) -> int:
    """Bytes of X, θ, φ and their accumulators.

    X is 8 bytes a non-zero and 4 its accumulator; θ and φ are float32, each twice.
    """
    return 12 * nnz + 2 * 4 * k * (n_docs + n_terms)


def _reached(curve: list, goal: float | None) -> Row:
    best = min(point[2] for point in curve)
    found: Row = {"best_perplexity": best}
    if goal is not None:
        hit = next((point for point in curve if point[2] <= goal), None)
        found["passes_to_target"] = hit[0] if hit else None
        found["seconds_to_target"] = hit[1] if hit else None
    return found


def _import_seconds(peer: str, threads: int) -> Row:
    missing = ADAPTERS[peer].missing()
    if missing:
        return {"status": "missing", "note": missing}
    code = (
        "import time; start = time.perf_counter(); "
        f"{ADAPTERS[peer].import_line}; print(time.perf_counter() - start)"
    )
    times = []
    for _ in range(_REPEATS):
        done = run_python(["-c", code], threads)
        if done.returncode:
            return {"status": "failed", "note": done.stderr.strip().splitlines()[-1]}
        times.append(float(done.stdout.split()[-1]))
    return {"status": "ok", "seconds": statistics.median(times)}


def _row(mode: str, corpus: str, peer: str, k: int | None, threads: int) -> Row:
    return {"mode": mode, "corpus": corpus, "peer": peer, "k": k, "threads": threads}


def _job(task: str, row: Row, settings: Settings) -> Row:
    wanted = {key: row[key] for key in ("peer", "k", "threads")}
    return {"task": task, "seed": settings.seed, "clock": settings.clock, **wanted}
