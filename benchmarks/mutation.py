# SPDX-License-Identifier: BSD-3-Clause
"""Mutation testing of the rooms with the mathematics: would the tests notice?

cosmic-ray makes every mutant; a random sample of them, in proportion to the rooms, is
run against the tests of the mutated module. A mutant is killed if a test fails, or if
the tests need many times their CPU time. Only `plan` needs ``pip install cosmic-ray``.

    python -m benchmarks.mutation plan --sample 320 --seed 17   # draw the sample
    python -m benchmarks.mutation run --sample 320 --work DIR   # the first 320 of it
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
    CALLERS,
    KERNELS,
    PACKAGE,
    ROOMS,
    ROOT,
    SLOW,
    Mutant,
    draw,
    test_paths,
    tests_of,
)

RESULTS = Path(__file__).parent / "results"
# A mutant runs for ever if it takes this many CPU seconds and three times those of the
# same tests without a mutant; a room that is compiled anew has the second limit.
LIMIT, COMPILING = 60, 180
WALL = 3  # so many times its CPU time may a mutant take: threads may wait for ever
MEMORY = 16 << 30
# The tests that fail without a mutant, and the CPU seconds of every test file.
Baseline = dict[str, Any]


class Runner:
    """A tree of its own in which mutants are put and tested, one at a time."""

    def __init__(self, root: Path, work: Path, deadline: float) -> None:
        self.tree = work / multiprocessing.current_process().name
        self.cache = work / "numba"
        self.deadline = deadline
        shutil.rmtree(self.tree, ignore_errors=True)
        ignored = shutil.ignore_patterns("__pycache__", "results", "*.nb[ic]")
        for name in ("src", "tests", "benchmarks"):
            shutil.copytree(root / name, self.tree / name, ignore=ignored)
        shutil.copy2(root / "pyproject.toml", self.tree)

    def baseline(self, tests: tuple[str, ...], plain: bool) -> tuple[list[str], float]:
        """Return the tests that fail without a mutant, and the CPU seconds of all."""
        cache = None if plain else self.cache
        status, seconds, output = self.run([*tests], cache, COMPILING, stop=False)
        lines = [line for line in output.splitlines() if line.startswith(FAILURES)]
        failed = [line.split(" - ")[0].split(" ", 1)[1] for line in lines]
        if status != "survived" and not failed:
            failed = [tests[0]]
        return failed, seconds

    def try_mutant(self, mutant: Mutant, baseline: Baseline) -> dict[str, Any]:
        """Put the mutant in place, run its tests, put the original back."""
        file = self.tree / PACKAGE / mutant.path
        original, times = file.read_text(), file.stat()
        changed = mutant.apply(original)
        if changed is None:
            return {**asdict(mutant), "status": "gone"}
        status, seconds, output = "survived", 0.0, ""
        try:
            file.write_text(changed)
            if mutant.path in KERNELS:
                quick = quick_tests(mutant.path)
                options, limit = known(quick[:-2], baseline)
                status, seconds, output = self.run([*options, *quick], None, limit)
            if status == "survived":
                options, limit = known(tests_of(mutant.path), baseline)
                limit += COMPILING if mutant.path in KERNELS else 0
                with self.compiled_without(mutant) as cache:
                    status, more, output = self.run(options, cache, limit)
                seconds += more
        finally:
            file.write_text(original)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        by = killer(output) if status == "killed" else ""
        seconds = round(seconds, 1)
        return {**asdict(mutant), "status": status, "seconds": seconds, "by": by}

    @contextmanager
    def compiled_without(self, mutant: Mutant) -> Iterator[Path]:
        """Give numba's cache; without the mutant's room if that is compiled code.

        numba does not notice edits in files that a compiled file imports.
        """
        if mutant.path not in KERNELS:
            yield self.cache
            return
        cache = self.tree / "numba"
        rooms = (mutant.room, *CALLERS.get(mutant.room, ()))
        ignored = shutil.ignore_patterns(*(f"*_{room}" for room in rooms))
        shutil.copytree(self.cache, cache, ignore=ignored)
        yield cache
        shutil.rmtree(cache)

    def run(
        self, tests: list[str], cache: Path | None, limit: float, *, stop: bool = True
    ) -> tuple[str, float, str]:
        """Run pytest in a fork; return how it ended, CPU time and output.

        Without a cache nothing is compiled, kernels are plain Python. It ends as
        killed, survived, timeout, or cut at the deadline of all mutants.
        """
        log = self.tree / "output"
        child = os.fork()
        if child == 0:
            status = 1  # a mutant may break the import
            try:
                os.setsid()
                resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
                status = run_pytest(self.tree, tests, cache, log, stop=stop)
            finally:
                os._exit(status)
        end = min(time.monotonic() + WALL * limit, self.deadline)
        while True:
            done, status, usage = os.wait4(child, os.WNOHANG)
            if done:
                break
            if time.monotonic() > end:
                os.killpg(child, signal.SIGKILL)
            time.sleep(0.05)
        seconds = usage.ru_utime + usage.ru_stime
        output = log.read_text(errors="replace") if log.exists() else ""
        code = os.waitstatus_to_exitcode(status)
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            late = time.monotonic() > self.deadline
            return ("cut" if late else "timeout"), seconds, output
        # 5: nothing to run, as in a module without doctests.
        return ("survived" if code in (0, 5) else "killed"), seconds, output


FAILURES = ("FAILED ", "ERROR ")


def run_pytest(
    tree: Path, tests: list[str], cache: Path | None, log: Path, *, stop: bool
) -> int:
    """Run the tests in this process, a fork; return pytest's status."""
    with log.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(tree)
    if cache is None:
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    else:
        os.environ["NUMBA_CACHE_DIR"] = str(cache)
    source = str(tree / "src")
    os.environ["PYTHONPATH"] = os.pathsep.join([source, os.environ["PYTHONPATH"]])
    sys.path.insert(0, source)
    sys.dont_write_bytecode = True
    import hypothesis.internal.conjecture.engine as conjecture
    import numba.core.caching as caching
    import numba.core.config
    import pytest

    conjecture.MAX_SHRINKS = 1  # a failure is enough, it need not be a small one
    numba.core.config.reload_config()
    # Every tree reads what any of them compiled: files are named within the tree.
    caching._CacheLocator.get_suitable_cache_subpath = classmethod(
        lambda _, file: "_".join(Path(file).parent.parts[len(tree.parts) :])
    )
    import topicfold

    if not topicfold.__file__.startswith(str(tree)):
        raise RuntimeError(topicfold.__file__)
    options = ["-q", "-p", "no:cacheprovider", "--tb=line"]
    options += ["-x"] if stop else []
    options.append("--assert=plain")  # some plugins are imported already
    if "-k" not in tests:
        options += ["-k", f"not ({' or '.join(SLOW)})"]
    status = int(pytest.main([*options, *tests]))
    sys.stdout.flush()
    return status


def killer(output: str) -> str:
    """Return the test that failed first."""
    for line in output.splitlines():
        if line.startswith(FAILURES):
            return line.split(" - ")[0].split(" ", 1)[1]
    return "import"


def quick_tests(path: str) -> list[str]:
    """Return the tests that are run on a file of kernels as plain Python."""
    names, choice = KERNELS[path]
    return [*test_paths(names), "-k", choice]


def known(tests: list[str], baseline: Baseline) -> tuple[list[str], float]:
    """Return the tests less those that fail anyway, and the limit of CPU time."""
    whole = [test for test in tests if test not in baseline["failed"]]
    single = [f"--deselect={test}" for test in baseline["failed"]]
    usual = sum(baseline["seconds"].get(test, 0.0) for test in whole)
    return [*single, *whole], LIMIT + 3 * usual


_runner: Runner


def _start(root: Path, work: Path, deadline: float) -> None:
    global _runner
    _runner = Runner(root, work, deadline)


def _baseline(job: tuple[tuple[str, ...], bool]) -> tuple[list[str], float]:
    return _runner.baseline(*job)


def _try(job: tuple[Mutant, Baseline]) -> dict[str, Any]:
    if time.monotonic() > _runner.deadline:
        return {"status": "cut"}
    return _runner.try_mutant(*job)


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
    mutants: list[Mutant], options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Try every mutant; yield results as they come, until the time is up."""
    deadline = time.monotonic() + options.seconds
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ.setdefault("PYTHONPATH", "")
    preload()
    work = options.work.resolve()
    (work / "numba").mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("fork")
    with context.Pool(options.jobs, _start, (ROOT, work, deadline)) as pool:
        baseline = without_mutants(pool, mutants)
        jobs = [(mutant, baseline) for mutant in mutants]
        for n, result in enumerate(pool.imap_unordered(_try, jobs), start=1):
            if result["status"] == "cut":
                continue
            left = deadline - time.monotonic()
            where = f"{result['path']}:{result['line']}"
            print(f"{n}/{len(mutants)} {result['status']} {where} ({left:.0f} s left)")
            sys.stdout.flush()
            yield result


def without_mutants(pool: Any, mutants: list[Mutant]) -> Baseline:
    """Run every test file once without a mutant, which also fills numba's cache."""
    paths = {mutant.path for mutant in mutants}
    whole = sorted({test for path in paths for test in tests_of(path)})
    # The longest first.
    whole.sort(key=lambda test: not ("::" in test or "/sides/" in test))
    jobs = [((test,), False) for test in whole]
    jobs += [(tuple(quick_tests(path)), True) for path in sorted(paths & {*KERNELS})]
    found = list(pool.imap(_baseline, jobs))
    failed = [test for tests, _ in found for test in tests]
    for test in failed:
        print(f"fails without a mutant, left out: {test}", flush=True)
    seconds = {
        job[0][0]: used
        for job, (_, used) in zip(jobs, found, strict=True)
        if not job[1]
    }
    return {"failed": failed, "seconds": seconds}


def mutant_of(result: dict[str, Any]) -> Mutant:
    """Return the mutant that a result is of."""
    return Mutant(**{name: result[name] for name in Mutant.__dataclass_fields__})


def plan(options: argparse.Namespace) -> None:
    """Draw a sample and write it down."""
    mutants, counts = draw(ROOT, options.sample, options.seed)
    rows = [{**asdict(m), "seed": options.seed} for m in mutants]
    rows = [{**row, "of": counts[m.room]} for row, m in zip(rows, mutants, strict=True)]
    write(options.plan, rows)
    print(counts, len(rows))


def first_run(options: argparse.Namespace) -> None:
    """Try the first mutants of the plan; those in the file are not tried again."""
    file = options.results
    done = {mutant_of(r) for r in read(file)} if file.exists() else set()
    rows = {mutant_of(r): r for r in read(options.plan)[: options.sample]}
    with file.open("a") as out:
        for result in run_all([m for m in rows if m not in done], options):
            row = {**rows[mutant_of(result)], **result}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            out.flush()


def run_again(options: argparse.Namespace) -> None:
    """Try the survivors again, with the tests of today."""
    results = {mutant_of(r): r for r in read(options.results)}
    left = [m for m, r in results.items() if r.get("again", r["status"]) == "survived"]
    for new in run_all(left, options):
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
    results, lines = read(file), [PAGE]
    for seed in sorted({r["seed"] for r in results}):
        lines += ["", f"## Sample of seed {seed}", ""]
        lines += table_of([r for r in results if r["seed"] == seed])
    lines += ["", "## Survivors", "", "| where | change | note |", "|---|---|---|"]
    for r in sorted(results, key=lambda r: (r["path"], r["line"])):
        if r.get("again", r["status"]) == "survived":
            change = " → ".join(f"`{first_line(r, s)}`" for s in ("before", "after"))
            change = change.replace("|", "\\|")
            lines.append(
                f"| {r['path']}:{r['line']} | {change} | {r.get('note', '')} |"
            )
    file.with_suffix(".md").write_text("\n".join(lines) + "\n")


def first_line(result: dict[str, Any], side: str) -> str:
    """Return the first line of a change, before or after."""
    return result[side].strip().split("\n")[0]


def table_of(results: list[dict[str, Any]]) -> list[str]:
    """Return the table, a row for each room."""
    lines = [
        "| room | mutants | killed | with the tests written since |",
        "|---|---|---|---|",
    ]
    total = 0
    for room in (*ROOMS, "all"):
        inside = [r for r in results if room in ("all", r["path"].split("/")[0])]
        every = total if room == "all" else max((r["of"] for r in inside), default=0)
        total += every
        here = [r for r in inside if r.get("again") != "gone"]
        first = sum(r["status"] != "survived" for r in inside)
        now = sum(r.get("again", r["status"]) != "survived" for r in here)
        killed = rate(first, len(inside)), rate(now, len(here))
        lines.append(f"| {room} | {every:,} | {killed[0]} | {killed[1]} |")
    late = sum("timeout" in (r["status"], r.get("again")) for r in results)
    gone = sum(r.get("again") == "gone" for r in results)
    ends = f"Killed by the limit of CPU time: {late}."
    ends += f" In code that was deleted or rewritten since: {gone}." if gone else ""
    return [*lines, "", ends]


PAGE = """# Mutation testing

Would the tests notice? cosmic-ray changes one operator, number, comparison or loop of
the rooms from `parts/` to `learn/` and of the files of `models/` with
mathematics of their own at a time; the tests of the changed module are run. A sample is
random with a fixed seed, of each room in proportion. Intervals are Wilson's, 95 %.
Written by `python -m benchmarks.mutation`.

The survivors of a sample show where tests are missing, and those are written. The first
rate of a sample therefore estimates what the tests of its day catch; the second, with
the tests written since, estimates nothing; it only shows which survivors are left.

Left out of the mutants, by rule: type annotations and aliases, decorators, overloads,
what `raise` says, f-strings, calls of the logger, `TYPE_CHECKING` and no-cover blocks,
and code that only runs on a GPU. Operators are replaced within their family only
(arithmetic, bits, order, identity): a changed type of number would fail by itself and
raise the rate.

Compiled functions are first run as plain Python against small tests, and if they
survive, compiled, without numba's cache of their room, against all of them. Tests with
real nearest-neighbour descent, scikit-learn's estimator checks and comparisons of
accuracy are not run: they take long and say little about a single module. A mutant is
killed too if its tests take 60 CPU seconds more than three times what they usually
take."""


def main() -> None:
    """Draw, run, run the survivors again, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "what", nargs="?", choices=["plan", "run", "again", "page"], default="run"
    )
    parser.add_argument("--sample", type=int, default=320)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1e6, help="stop after them")
    parser.add_argument("--work", type=Path, default=Path("mutation-work"))
    parser.add_argument("--plan", type=Path, default=RESULTS / "mutation_plan.jsonl")
    parser.add_argument("--results", type=Path, default=RESULTS / "mutation.jsonl")
    options = parser.parse_args()
    if options.what == "plan":
        plan(options)
    elif options.what == "run":
        first_run(options)
    elif options.what == "again":
        run_again(options)
    elif options.results.exists():
        write_page(options.results)


if __name__ == "__main__":
    main()
