# SPDX-License-Identifier: BSD-3-Clause
"""Mutation testing of the rooms with the mathematics: would the tests notice?

cosmic-ray makes every mutant of ``steps/``, ``infer/`` and ``graph/``; a random
sample of them, in proportion to the rooms, is run against the tests of the mutated
module. A mutant is killed if a test fails, or if the tests need many times their CPU
time. Needs ``pip install cosmic-ray`` beside the dev extra.

    python -m benchmarks.mutation --sample 320 --work DIR
    python -m benchmarks.mutation again --work DIR   # the survivors, with new tests
    python -m benchmarks.mutation page               # only write the page
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.mutants import (
    KERNELS,
    PACKAGE,
    ROOMS,
    ROOT,
    SLOW,
    Mutant,
    all_mutants,
    difference,
    draw,
    tests_of,
)

RESULTS = Path(__file__).parent / "results"
# CPU seconds after which a mutant is said to run for ever.
LIMIT = 150


class Runner:
    """A tree of its own in which mutants are put and tested, one at a time."""

    def __init__(self, root: Path, work: Path) -> None:
        # The same place every time, so that numba finds what it compiled.
        self.tree = work / multiprocessing.current_process().name
        shutil.rmtree(self.tree, ignore_errors=True)
        self.cache = work / "numba"
        for name in ("src", "tests", "benchmarks", "pyproject.toml"):
            copy = shutil.copytree if (root / name).is_dir() else shutil.copy2
            self.tree.mkdir(parents=True, exist_ok=True)
            copy(root / name, self.tree / name)
        for cached in self.tree.rglob("*.nb[ic]"):
            cached.unlink()

    def try_mutant(self, mutant: Mutant) -> dict[str, Any]:
        """Put the mutant in place, run its tests, put the original back."""
        tests = tests_of(mutant.path)
        file = self.tree / PACKAGE / mutant.path
        original, times = file.read_text(), file.stat()
        changed = mutant.apply(original)
        if changed is None:
            return {**asdict(mutant), "status": "same"}
        before, after = difference(original, changed)
        try:
            file.write_text(changed)
            status, seconds, output = "survived", 0.0, ""
            if mutant.path in KERNELS:
                quick = KERNELS[mutant.path]
                status, seconds, output = self.run(quick, None)
            if status == "survived":
                with self.compiled_without(mutant) as cache:
                    status, more, output = self.run(tests, cache)
                seconds += more
        finally:
            file.write_text(original)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        return {
            **asdict(mutant),
            "before": before,
            "after": after,
            "status": status,
            "seconds": round(seconds, 1),
            "by": killer(output) if status == "killed" else "",
        }

    @contextmanager
    def compiled_without(self, mutant: Mutant) -> Iterator[Path]:
        """Give numba's cache; without the mutant's room if that is compiled code.

        numba does not notice edits in files that a compiled file imports.
        """
        if mutant.path not in KERNELS:
            yield self.cache
            return
        cache = self.tree / "numba"
        ignored = shutil.ignore_patterns(f"{mutant.room}_*")
        shutil.copytree(self.cache, cache, ignore=ignored)
        yield cache
        shutil.rmtree(cache)

    def run(self, tests: list[str], cache: Path | None) -> tuple[str, float, str]:
        """Run pytest in a fork; return killed, survived or timeout, CPU time, output.

        The limit is CPU time: the machine may be shared. Without a cache nothing is
        compiled, kernels are plain Python.
        """
        log = self.tree / "output"
        child = os.fork()
        if child == 0:
            status = 1  # a mutant may break the import
            try:
                status = run_pytest(self.tree, tests, cache, log)
            finally:
                os._exit(status)
        deadline = time.monotonic() + 20 * LIMIT
        while True:
            done, status, usage = os.wait4(child, os.WNOHANG)
            if done:
                break
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
            time.sleep(0.05)
        seconds = usage.ru_utime + usage.ru_stime
        output = log.read_text(errors="replace")
        code = os.waitstatus_to_exitcode(status)
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            return "timeout", seconds, output
        if code in (4, 5) and "rror" not in output:  # no such test, no tests
            raise RuntimeError(output)
        return ("survived" if code == 0 else "killed"), seconds, output


def run_pytest(tree: Path, tests: list[str], cache: Path | None, log: Path) -> int:
    """Run the tests in this process, a fork; return pytest's status."""
    with log.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(tree)
    if cache is None:
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    else:
        os.environ["NUMBA_CACHE_DIR"] = str(cache)
    os.environ["PYTHONPATH"] = str(tree / "src")
    sys.path.insert(0, str(tree / "src"))
    sys.dont_write_bytecode = True
    import hypothesis.internal.conjecture.engine as conjecture
    import numba.core.config
    import pytest

    conjecture.MAX_SHRINKS = 1  # a failure is enough, it need not be a small one
    numba.core.config.reload_config()
    import topicfold

    if not topicfold.__file__.startswith(str(tree)):
        raise RuntimeError(topicfold.__file__)
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--tb=line"]
    options.append("--assert=plain")  # some plugins are imported already
    if "-k" not in tests:
        options += ["-k", f"not ({' or '.join(SLOW)})"]
    status = int(pytest.main([*options, *tests]))
    sys.stdout.flush()
    return status


def killer(output: str) -> str:
    """Return the test that failed first."""
    for line in output.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split(" - ")[0].split(" ", 1)[1]
    return "import"


_runner: Runner


def _start(root: Path, work: Path) -> None:
    global _runner
    _runner = Runner(root, work)


def _try(mutant: Mutant) -> dict[str, Any]:
    return _runner.try_mutant(mutant)


def _check(tests: tuple[str, ...]) -> None:
    status, _, output = _runner.run(list(tests), _runner.cache)
    if status != "survived":
        raise RuntimeError(f"tests fail without a mutant:\n{output}")


def preload() -> None:
    """Import once, before the first fork, what every fork needs."""
    import numba
    import pandas
    import pytest
    import scipy.optimize
    import scipy.sparse.linalg
    import sklearn.feature_extraction.text
    import sklearn.utils.estimator_checks

    del numba, pandas, pytest, scipy, sklearn


def run_all(
    mutants: list[Mutant], work: Path, workers: int, *, check: bool = True
) -> Iterator[dict[str, Any]]:
    """Try every mutant; yield results as they come."""
    preload()
    work.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("fork")
    with context.Pool(workers, _start, (ROOT, work.resolve())) as pool:
        if check:
            pool.map(_check, {tuple(tests_of(m.path)[1:]) for m in mutants}, 1)
        for n, result in enumerate(pool.imap_unordered(_try, mutants), start=1):
            print(f"{n}/{len(mutants)} {result['status']} {result['path']}", flush=True)
            yield result


def mutant_of(result: dict[str, Any]) -> Mutant:
    """Return the mutant that a result is of."""
    return Mutant(**{name: result[name] for name in Mutant.__dataclass_fields__})


def first_run(options: argparse.Namespace) -> None:
    """Draw a sample and try it; what is in the file already is not tried again."""
    pool = list(all_mutants(ROOT))
    rooms = {room: sum(m.room == room for m in pool) for room in ROOMS}
    print(rooms)
    chosen = draw(pool, options.sample, options.seed)
    file = options.results
    done = {mutant_of(r) for r in read(file)} if file.exists() else set()
    left = [m for m in chosen if m not in done]
    with file.open("a") as out:
        for result in run_all(left, options.work, options.workers, check=options.check):
            result["round"] = options.round
            out.write(json.dumps(result, ensure_ascii=False) + "\n")
            out.flush()


def run_again(options: argparse.Namespace) -> None:
    """Try the survivors again, with the tests of today."""
    results = {mutant_of(r): r for r in read(options.results)}
    left = [m for m, r in results.items() if r.get("again", r["status"]) == "survived"]
    for new in run_all(left, options.work, options.workers, check=options.check):
        old = results[mutant_of(new)]
        old["again"], old["by"] = new["status"], new.get("by", "")
        write(options.results, list(results.values()))


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def write(file: Path, results: list[dict[str, Any]]) -> None:
    lines = (json.dumps(result, ensure_ascii=False) + "\n" for result in results)
    file.write_text("".join(lines))


def rate(killed: int, total: int) -> str:
    """Return a share with Wilson's 95 % interval."""
    if not total:
        return "none"
    p, z = killed / total, 1.96
    middle = (p + z * z / (2 * total)) / (1 + z * z / total)
    half = z * math.sqrt(p * (1 - p) / total + z * z / (4 * total**2))
    half /= 1 + z * z / total
    return f"{killed} of {total}, {p:.1%} ({middle - half:.1%} to {middle + half:.1%})"


def write_page(file: Path) -> None:
    """Write the Markdown page beside the results."""
    results = [r for r in read(file) if r["status"] != "same"]
    lines = [PAGE]
    for number in sorted({r["round"] for r in results}):
        inside = [r for r in results if r["round"] == number]
        lines += ["", f"## Round {number}", "", *table_of(inside)]
    lines += ["", "## Survivors", "", "| where | change | note |", "|---|---|---|"]
    for r in sorted(results, key=lambda r: (r["path"], r["line"])):
        if r.get("again", r["status"]) == "survived":
            change = f"`{r['before']}` → `{r['after']}`".replace("|", "\\|")
            lines.append(
                f"| {r['path']}:{r['line']} | {change} | {r.get('note', '')} |"
            )
    file.with_suffix(".md").write_text("\n".join(lines) + "\n")


def table_of(results: list[dict[str, Any]]) -> list[str]:
    """Return the table of one round, a row for each room."""
    again = [r for r in results if "again" in r]
    last = "survivors run again with the tests since" if again else "not run again"
    lines = [f"| room | killed | {last} |", "|---|---|---|"]
    for room in (*ROOMS, "all"):
        inside = [r for r in results if room in ("all", r["path"].split("/")[0])]
        first = sum(r["status"] != "survived" for r in inside)
        now = sum(r.get("again", r["status"]) != "survived" for r in inside)
        lines.append(
            f"| {room} | {rate(first, len(inside))} "
            f"| {rate(now, len(inside)) if again else ''} |"
        )
    late = sum("timeout" in (r["status"], r.get("again")) for r in results)
    return [*lines, "", f"Killed by the limit of {LIMIT} CPU seconds: {late}."]


PAGE = """# Mutation testing

Would the tests notice? cosmic-ray changes one operator, number, comparison or loop of
`steps/`, `infer/` and `graph/` at a time; the tests of the changed module are run.
The sample is random with a fixed seed, of each room in proportion. Intervals are
Wilson's, 95 %. Written by `python -m benchmarks.mutation`. Round 1 was run before the
tests of the parts were written and was cut short; round 2 is run with them, on the rest
of the sample.

Left out of the mutants, by rule: type annotations and aliases, decorators, overloads,
what `raise` says, f-strings, calls of the logger, `TYPE_CHECKING` and no-cover blocks,
and code that only runs on a GPU. Operators are replaced within their family only
(arithmetic, bits, order, identity): a shifted float would die by itself and raise the
rate.

Compiled functions are first run as plain Python against small tests, and if they
survive, compiled, without numba's cache of their room, against all of them. Tests with
real nearest-neighbour descent, scikit-learn's estimator checks and comparisons of
accuracy are not run: they take long and tell little of one room."""


def main() -> None:
    """Draw and run, run the survivors again, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "what", nargs="?", choices=["run", "again", "page"], default="run"
    )
    parser.add_argument("--sample", type=int, default=320)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--round", type=int, default=2, help="heading on the page")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--work", type=Path, default=Path("mutation-work"))
    parser.add_argument("--results", type=Path, default=RESULTS / "mutation.jsonl")
    parser.add_argument(
        "--unchecked", dest="check", action="store_false",
        help="do not run the tests without a mutant first",
    )  # fmt: skip
    options = parser.parse_args()
    if options.what == "run":
        first_run(options)
    elif options.what == "again":
        run_again(options)
    if options.results.exists():
        write_page(options.results)


if __name__ == "__main__":
    main()
