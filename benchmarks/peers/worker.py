# SPDX-License-Identifier: BSD-3-Clause
"""One row of the benchmark in a process of its own.

Called by `jobs.run_job` as ``python -m benchmarks.peers.worker JOB.json``; writes the
result beside the job. Every peer first fits a toy corpus, so that compilation, lazy
imports and thread pools are neither timed nor counted as memory.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.peers.adapters import ADAPTERS, Adapter
from benchmarks.peers.clock import PassClock
from benchmarks.peers.corpora import load_train, zipf_corpus
from benchmarks.peers.evaluate import Evaluator
from benchmarks.peers.memory import PeakMemory

_CURVE_STEP = 1.02
TIMERS = {"wall": time.perf_counter, "cpu": time.process_time}


def main(job_path: Path) -> None:
    """Run the job and write its result."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    job = json.loads(job_path.read_text())
    adapter = ADAPTERS[job["peer"]]
    missing = adapter.missing() or _not_counted(adapter, job)
    if missing:
        result: dict[str, Any] = {"status": "missing", "note": missing}
    else:
        tasks = {"fit": _measure, "curve": _curve, "startup": _startup}
        try:
            result = {"status": "ok", **tasks[job["task"]](adapter, job)}
        except Exception as error:
            result = {"status": "failed", "note": f"{type(error).__name__}: {error}"}
        result["version"] = adapter.version()
    Path(job["result"]).write_text(json.dumps(result))


def _not_counted(adapter: Adapter, job: dict) -> str:
    """Say why CPU seconds of this process would not be those of the fit."""
    if job.get("clock") == "cpu" and adapter.starts_processes(job["threads"]):
        return "starts processes, whose CPU seconds are not counted"
    return ""


def _measure(adapter: Adapter, job: dict) -> dict:
    """Seconds a pass, peak memory, then the perplexity reached; in that order."""
    _warm_up(adapter, job)
    latest = []

    def observe(clock: PassClock, topics) -> bool:
        latest[:] = [topics]
        return clock.passes >= job["max_passes"]

    peak = PeakMemory(children=adapter.starts_processes(job["threads"]))
    clock, setup = _fit(adapter, job, observe)
    peak_bytes = peak.stop()
    perplexity = None
    if job.get("test"):
        perplexity = Evaluator.load(Path(job["test"])).perplexity(latest[0]())
    return {
        "setup_seconds": setup,
        "pass_seconds": clock.seconds_a_pass(),
        "passes": clock.passes,
        "peak_bytes": peak_bytes,
        "perplexity": perplexity,
    }


def _curve(adapter: Adapter, job: dict) -> dict:
    """Perplexity over seconds of fit, up to the target and the default passes.

    Evaluated whenever the time has grown by 2 %, which bounds how late a crossing is
    seen, and after the last pass.
    """
    evaluator = Evaluator.load(Path(job["test"]))
    target = job["target"]
    enough = min(adapter.default_passes, job["max_passes"])
    curve: list[tuple[int, float, float]] = []

    def observe(clock: PassClock, topics) -> bool:
        last = clock.passes >= job["max_passes"] or clock.seconds >= job["max_seconds"]
        due = not curve or clock.seconds >= _CURVE_STEP * curve[-1][1]
        if last or due or clock.passes == enough:
            perplexity = evaluator.perplexity(topics())
            curve.append((clock.passes, clock.seconds, perplexity))
        reached = target is None or min(point[2] for point in curve) <= target
        return last or (reached and clock.passes >= enough)

    _warm_up(adapter, job)
    clock, setup = _fit(adapter, job, observe)
    return {
        "setup_seconds": setup,
        "passes": clock.passes,
        "seconds": clock.seconds,
        "curve": curve,
    }


def _startup(adapter: Adapter, job: dict) -> dict:
    """Seconds from calling fit to the end of its first pass, nothing warmed up."""
    train = zipf_corpus(40, 60, 4, 20).astype("float32")
    data = adapter.prepare(train, job["k"], job["seed"])
    clock = PassClock(lambda clock, topics: True)
    _run(adapter, job, data, clock)
    return {"first_fit_seconds": clock.seconds}


def _fit(adapter: Adapter, job: dict, observe) -> tuple[PassClock, float]:
    start = time.perf_counter()
    data = adapter.prepare(load_train(Path(job["train"])), job["k"], job["seed"])
    setup = time.perf_counter() - start
    clock = PassClock(observe, TIMERS[job["clock"]])
    _run(adapter, job, data, clock)
    return clock, setup


def _warm_up(adapter: Adapter, job: dict) -> None:
    train = zipf_corpus(40, 60, 4, 20).astype("float32")
    data = adapter.prepare(train, job["k"], job["seed"])
    _run(
        adapter, {**job, "max_passes": 2}, data, PassClock(lambda clock, topics: False)
    )


def _run(adapter: Adapter, job: dict, data: Any, clock: PassClock) -> None:
    clock.start()
    adapter.run(
        data,
        n_topics=job["k"],
        threads=job["threads"],
        seed=job["seed"],
        max_passes=job["max_passes"],
        on_pass=clock,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
