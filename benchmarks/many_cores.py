# SPDX-License-Identifier: BSD-3-Clause
"""A whole fit on many cores: what each of its phases gains from threads.

A synthetic corpus of 19.5 million non-zeros (200,000 documents, 60,000 words by Zipf's
law), ``LDA(100, max_iter=20, tol=0)`` with 1, 2, 4, 8 and 16 threads. The phases are
timed inside the fit: checking X, arranging it for the engine, the start, the passes and
the finish. The fits must agree in every bit.

    python -m benchmarks.many_cores --write
    python -m benchmarks.many_cores --schedule 16 --documents 20000 --nonzeros 2000000

Where there are few cores, ``--schedule`` says how long each phase would take on more,
were memory no limit: the tasks that threads share are timed one after another, and
counted as if each went to the thread that is free first.
"""

from __future__ import annotations

import argparse
import hashlib
import heapq
import json
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy import sparse

from topicfold import LDA
from topicfold.core.threads import run_ranges
from topicfold.engine import cpu
from topicfold.learn import learner
from topicfold.models import base
from topicfold.models import lda as model

RESULTS = Path(__file__).parent / "results"
HEADING = "## Where cores are few"
N_ITER = 20
# Which calls belong to which phase; what one calls of another phase is the other's.
PHASES: dict[str, tuple[tuple[Any, str], ...]] = {
    "check": ((base, "check_documents"), (base.TopicModel, "_store_corpus")),
    "arrange": (
        (cpu.CpuEngine, "__init__"),
        (cpu, "word_layout"),
        (cpu.WordLayout, "work"),
    ),
    "start": ((model.LDA, "_initial_topics"), (learner.Learner, "__init__")),
    "document passes": ((cpu.CpuEngine, "document_pass"),),
    "word passes": ((cpu.CpuEngine, "word_pass"),),
    "new parameters": ((learner.Learner, "advance"),),
    "finish": (
        (learner.Learner, "topics"),
        (learner.Learner, "doc_topics"),
    ),
}


def synthetic(n_nonzeros: int, n_documents: int, n_terms: int) -> sparse.csr_matrix:
    """Return counts of words drawn by Zipf's law, documents of uneven lengths."""
    rng = np.random.default_rng(0)
    share = 1.0 / np.arange(10, n_terms + 10)
    cumulated = np.cumsum(share / share.sum())
    lengths = rng.lognormal(0.0, 0.5, n_documents)
    found = sparse.csr_matrix((n_documents, n_terms), dtype=np.float32)
    while found.nnz < n_nonzeros:
        missing = 1.2 * (n_nonzeros - found.nnz) + 1000
        drawn = rng.poisson(lengths * missing / lengths.sum())
        words = np.searchsorted(cumulated, rng.random(drawn.sum())).astype(np.int32)
        pointers = np.r_[0, np.cumsum(drawn)].astype(np.int32)
        ones = np.ones(len(words), np.float32)
        more = sparse.csr_matrix((ones, words, pointers), shape=found.shape)
        more.sum_duplicates()
        found = found + more
    counts = sparse.csr_matrix(found[:, rng.permutation(n_terms)])
    counts.sum_duplicates()
    return counts


@contextmanager
def timed_phases(clock: Callable[[], float]) -> Iterator[Counter[str]]:
    """Collect the seconds of each phase of the fits made inside."""
    seconds: Counter[str] = Counter()
    inner = [0.0]

    def timed(phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            inner.append(0.0)
            began = clock()
            try:
                return function(*args, **options)
            finally:
                elapsed = clock() - began
                seconds[phase] += elapsed - inner.pop()
                inner[-1] += elapsed

        return call

    with ExitStack() as stack:
        for phase, calls in PHASES.items():
            for owner, name in calls:
                wrapped = timed(phase, getattr(owner, name))
                stack.enter_context(mock.patch.object(owner, name, wrapped))
        yield seconds


@contextmanager
def scheduled(saved: list[float]) -> Iterator[None]:
    """Do what threads share one after another; add up CPU seconds they would save."""
    busy: list[bool] = []
    modules = [m for name, m in sys.modules.items() if name.startswith("topicfold")]

    def alone(task: Any, ranges: Any, threads: int, *arguments: Any) -> None:
        free = [0.0] * threads  # when each thread is
        began = time.process_time()
        outermost = not busy
        busy.append(True)
        for start, stop in ranges:
            task_began = time.process_time()
            task(start, stop, *arguments)
            heapq.heapreplace(free, free[0] + time.process_time() - task_began)
        busy.pop()
        if outermost:
            saved[0] += time.process_time() - began - max(free)

    with ExitStack() as stack:
        for module in modules:
            if getattr(module, "run_ranges", None) is run_ranges:
                stack.enter_context(mock.patch.object(module, "run_ranges", alone))
        yield


def schedule(
    X: sparse.csr_matrix, n_topics: int, threads: int, repeats: int = 3
) -> dict[str, float]:
    """Return seconds by phase as if there were so many cores: the least of fits."""
    saved = [0.0]
    least: dict[str, float] = {}
    for _ in range(repeats):
        with scheduled(saved):
            found = fit(X, n_topics, threads, lambda: time.process_time() - saved[0])
        for phase in [*PHASES, "rest", "whole fit"]:
            least[phase] = min(least.get(phase, np.inf), found[phase])
    return least


def fit(
    X: sparse.csr_matrix,
    n_topics: int,
    threads: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Any]:
    """Return seconds by phase, of the whole fit, and a digest of what was fitted."""
    lda = LDA(n_topics, max_iter=N_ITER, tol=0.0, random_state=0, n_jobs=threads)
    with timed_phases(clock) as phases, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = clock()
        lda.fit(X)
        whole = clock() - began
    bits = hashlib.sha256(lda.components_.tobytes() + lda.doc_topics_.tobytes())
    seconds = {phase: phases[phase] for phase in PHASES}
    rest = whole - sum(seconds.values())
    row = {"threads": threads, **seconds, "rest": rest, "whole fit": whole}
    return {**row, "bits": bits.hexdigest()[:16]}


def table(rows: list[dict[str, Any]], shape: str) -> list[str]:
    """Return the page."""
    columns = [*PHASES, "rest", "whole fit"]
    faster = {
        row["threads"]: {name: rows[0][name] / max(row[name], 1e-9) for name in columns}
        for row in rows[1:]
    }
    agree = "agree" if len({row["bits"] for row in rows}) == 1 else "DO NOT AGREE"
    return [
        "# A whole fit on many cores",
        "",
        f"{shape}, `LDA` of {N_ITER} iterations, {os.cpu_count()} cores; seconds by "
        f"phase, then how many times as fast as with one thread. The fits {agree} in "
        "every bit. Written by `python -m benchmarks.many_cores --write`.",
        "",
        *phase_table({row["threads"]: row for row in rows}, ".2f"),
        "",
        *phase_table(faster, ".1f"),
    ]


def phase_table(found: Mapping[int, Mapping[str, float]], digits: str) -> list[str]:
    """Return a table of numbers per phase, a line per number of threads."""
    columns = [*PHASES, "rest", "whole fit"]
    head = [f"| threads | {' | '.join(columns)} |", "| --- |" + " --- |" * len(columns)]
    for threads, row in found.items():
        cells = [format(row[name], digits) for name in columns]
        head.append(f"| {threads} | {' | '.join(cells)} |")
    return head


def shape_of(X: sparse.csr_matrix) -> str:
    """Return the size of a corpus in words."""
    return f"{X.nnz / 1e6:.1f} M non-zeros ({X.shape[0]:,} × {X.shape[1]:,})"


def schedule_table(found: dict[int, dict[str, float]], shape: str) -> list[str]:
    """Return the part of the page about cores that are not there."""
    return [
        HEADING,
        "",
        f"{shape}, as many topics and iterations: seconds by phase if the tasks that "
        "threads share, timed one after another, had gone to the thread that is free "
        "first. Memory, which cores share, is no limit here. Written by "
        "`python -m benchmarks.many_cores --schedule 16 --documents 20000 --nonzeros "
        "2000000 --write`.",
        "",
        *phase_table(found, ".2f"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nonzeros", type=int, default=19_500_000)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--terms", type=int, default=60_000)
    parser.add_argument("-k", "--topics", type=int, default=100)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--schedule", type=int, metavar="THREADS")
    parser.add_argument("--write", action="store_true", help="write the results page")
    options = parser.parse_args()
    page = RESULTS / "many_cores.md"
    X = synthetic(options.nonzeros, options.documents, options.terms)
    small = X[: max(1000, X.shape[0] // 100)]
    for threads in (1, 2):  # compiles, and starts the threads
        fit(small, options.topics, threads)
    if options.schedule:
        numbers = 1, options.schedule
        found = [schedule(X, options.topics, threads) for threads in numbers]
        lines = schedule_table(dict(zip(numbers, found, strict=True)), shape_of(X))
        print("\n".join(lines))
        if options.write:
            first = page.read_text("utf-8").partition("\n" + HEADING)[0]
            page.write_text("\n".join([first, *lines]) + "\n", "utf-8")
        return
    rows = []
    for threads in options.threads:
        rows.append(fit(X, options.topics, threads))
        print(json.dumps(rows[-1]), flush=True)
    lines = table(rows, f"{shape_of(X)}, K = {options.topics}")
    print("\n".join(lines))
    if options.write:
        rest = page.read_text("utf-8").partition("\n" + HEADING)[1:]
        page.write_text("\n".join(lines) + "\n" + "".join(rest), "utf-8")
        (RESULTS / "many_cores.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
