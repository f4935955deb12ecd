# SPDX-License-Identifier: BSD-3-Clause
"""Feed spoiled files to every reader, in children, so that a crash is a finding.

    python -m fuzz.runner --seconds 60 --jobs 2          (from tests/; `make fuzz`)
    python -m fuzz.runner --count 1000000 --record F     a long round, in pieces
    python -m fuzz.runner --targets c.npz --again 1234   one input again, with traceback

A finding is a crash of the process, a hang, an error that is not topicfold's, or a
misread: content that another reader of the same file, or what was written, contradicts.
An input hangs if it takes more than 10 s of processor time, or a minute by the clock,
which other programs on the machine may slow down. The exit status is 1 if there is any.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import json
import mmap
import os
import re
import resource
import select
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Children are forked: there must be no other thread.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

from fuzz.forgeries import catalogue  # noqa: E402
from fuzz.models import MisreadError  # noqa: E402
from fuzz.targets import FORGED, TARGETS, Sound, Target  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402

import topicfold  # noqa: E402
from topicfold.cli.console import CommandError  # noqa: E402
from topicfold.exceptions import TopicfoldError  # noqa: E402

HANG_SECONDS = 10.0
CLOCK_FACTOR = 6  # of these, a wait that takes no processor time
MEMORY = 3 << 30
BATCH = 500
SIGNED = ("blocks", "state")  # content under a checksum: accepted means unchanged
PROBLEMS = ("crash", "hang", "foreign", "misread")


@dataclass
class Findings:
    """What a round found: outcomes by target, damage and outcome, and the problems."""

    outcomes: Counter = field(default_factory=Counter)
    problems: list[dict[str, Any]] = field(default_factory=list)

    def add(self, target: str, seed: int, damage: str, outcome: str, what: str) -> None:
        """Count one input; keep it if it is a problem."""
        self.outcomes[target, damage, outcome] += 1
        if outcome in PROBLEMS:
            known = {"target": target, "seed": seed, "damage": damage}
            self.problems.append({**known, "kind": outcome, "what": what})

    def total(self, *outcomes: str, **where: str) -> int:
        """Return how many inputs of a target or damage had one of these outcomes."""
        target, damage = where.get("target"), where.get("damage")
        return sum(
            number
            for (t, d, outcome), number in self.outcomes.items()
            if target in (None, t)
            and damage in (None, d)
            and (not outcomes or outcome in outcomes)
        )

    def table(self, by: str) -> str:
        """Return a Markdown table, one row per target or per kind of damage."""
        at = ("target", "damage").index(by)
        lines = [
            f"| {by} | files | refused | opened | of these compared | crashes | hangs "
            "| foreign errors | misreads |",
            "| --- |" + " ---: |" * 8,
        ]
        for name in [*sorted({key[at] for key in self.outcomes}), "all"]:
            own = {} if name == "all" else {by: name}
            cells = [
                self.total(**own),
                self.total("refused", **own),
                self.total("opened", "compared", **own),
                self.total("compared", **own),
                *(self.total(problem, **own) for problem in PROBLEMS),
            ]
            lines.append(f"| {name} | " + " | ".join(f"{c:,}" for c in cells) + " |")
        return "\n".join(lines)


def try_input(
    target: Target, sound: Sound, folder: Path, seed: int
) -> tuple[str, str, str]:
    """Read one spoiled file; return the damage, what happened and a word about it."""
    place, damage = target.prepare(sound, folder, seed)
    try:
        found = target.use(place)
    except (TopicfoldError, CommandError, NotFittedError):
        return damage, "refused", ""
    except MisreadError as error:
        return damage, "misread", str(error)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        what = f"{type(error).__name__}: {str(error)[:200]} ({where})"
        return damage, "foreign", what
    if found is None:
        return damage, "opened", ""
    if target.name.startswith(SIGNED):
        if damage in FORGED:
            return damage, "opened", ""
        expected = sound.digest
    elif target.expected is None:
        return damage, "opened", ""
    else:
        try:
            expected = target.expected(place)
        except Exception:  # the other reader refuses, in whatever way
            return damage, "opened", ""
    if _plain(found, target) != _plain(expected, target):
        what = f"read as {str(found)[:300]}, by the other reader {str(expected)[:300]}"
        return damage, "misread", what
    return damage, "compared", ""


def _plain(content: Any, target: Target) -> Any:
    if target.name == "c.ldac" and isinstance(content, tuple):
        _, indptr, indices, data = content
        rows = [
            d for d in range(len(indptr) - 1) for _ in range(indptr[d + 1] - indptr[d])
        ]
        return sorted(zip(rows, indices, data, strict=True))
    if target.name == "c.svmlight":  # the number of columns is only in the file's side
        (n_rows, _), *rest = content
        return n_rows, rest
    return content


def run_round(
    targets: list[Target],
    *,
    seconds: float = float("inf"),
    most: int | None = None,
    jobs: int = 1,
    first: int = 0,
    record: Path | None = None,
) -> Findings:
    """Try inputs of all targets in turn, for a time or `most` of each target.

    What a record of earlier rounds has is not tried again.
    """
    findings = Findings()
    done = [] if record is None else read_record(record)
    with contextlib.ExitStack() as stack:
        work = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        sounds = {target.name: target.sound(Path(work)) for target in targets}
        catalogue()  # before the processes are forked, and not in each of them
        gc.collect()
        gc.freeze()
        end = time.monotonic() + seconds
        queue = _batches(targets, most, first, done)
        running: dict[int, _Child] = {}
        stack.callback(_end_all, running)
        while True:
            while len(running) < jobs and time.monotonic() < end:
                batch = next(queue, None)
                if batch is None:
                    break
                target, start, stop = batch
                child = _Child(target, sounds[target.name], start, stop, work, end)
                running[child.pid] = child
            if not running:
                return findings
            select.select([child.reader for child in running.values()], [], [], 0.2)
            for child in list(running.values()):
                if child.poll():
                    del running[child.pid]
                    child.report(findings, record)
                    if child.at < child.stop and time.monotonic() < end:
                        own = child.target, child.sound, child.at, child.stop
                        other = _Child(*own, work, end)
                        running[other.pid] = other
            time.sleep(0.005)


def _end_all(running: dict[int, _Child]) -> None:
    """End the children when the round itself is ended."""
    for pid in running:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _batches(
    targets: list[Target], most: int | None, first: int, done: list[dict[str, Any]]
) -> Iterator[tuple[Target, int, int]]:
    """Yield targets with the seeds to try: up to `BATCH`, none that was tried."""
    tried: dict[str, set[int]] = {target.name: set() for target in targets}
    for line in done:
        if line["target"] in tried:
            tried[line["target"]].update(range(line["first"], line["stop"]))
    start = first
    while most is None or start < first + most:
        stop = start + BATCH if most is None else min(start + BATCH, first + most)
        for target in targets:
            own = [s for s in range(start, stop) if s not in tried[target.name]]
            if own:
                yield target, own[0], own[-1] + 1
        start = stop


def read_record(file: Path) -> list[dict[str, Any]]:
    """Return the lines of a record; there may be none yet."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


@functools.cache
def code() -> str:
    """Return a checksum of topicfold's code, to say which files it has seen."""
    start = 0
    for file in sorted(Path(topicfold.__file__).parent.rglob("*.py")):
        start = zlib.crc32(file.read_bytes(), start)
    return f"{start:08x}"


class _Child:
    """A forked process that tries inputs ``start..stop`` of one target until `end`."""

    def __init__(
        self,
        target: Target,
        sound: Sound,
        start: int,
        stop: int,
        work: str,
        end: float,
    ) -> None:
        self.target, self.sound, self.start, self.stop = target, sound, start, stop
        self.end = end
        # The input it is at, and since when by the clock and in its processor time.
        self.shared = mmap.mmap(-1, 24)
        self._mark(start)
        self.reader, writer = os.pipe()
        self.at = start
        self.killed = False
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.reader)
            status = 1
            with contextlib.suppress(BaseException):
                self._work(writer, work)
                status = 0
            os._exit(status)
        os.close(writer)
        self.received = b""
        os.set_blocking(self.reader, False)

    def _mark(self, seed: int) -> None:
        times = time.monotonic(), time.process_time()
        self.shared[:] = struct.pack("<qdd", seed, *times)

    def _hangs(self) -> bool:
        _, since, processor = struct.unpack("<qdd", self.shared[:])
        clock = time.monotonic() - since
        if clock <= HANG_SECONDS:
            return False
        stat = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        spent = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
        return max(spent - processor, clock / CLOCK_FACTOR) > HANG_SECONDS

    def _work(self, writer: int, work: str) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        used = (
            int(Path("/proc/self/statm").read_text().split()[0])
            * resource.getpagesize()
        )
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with tempfile.TemporaryDirectory(dir=work) as folder:
            for seed in range(self.start, self.stop):
                if time.monotonic() >= self.end:
                    break
                self._mark(seed)
                found = try_input(self.target, self.sound, Path(folder), seed)
                os.write(writer, json.dumps([seed, *found]).encode() + b"\n")

    def poll(self) -> bool:
        """Take what it sent; kill it if it hangs. True when it has ended."""
        done, self.status = os.waitpid(self.pid, os.WNOHANG)
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self.reader, 1 << 16):
                self.received += chunk
        if not done and not self.killed and self._hangs():
            self.killed = True
            os.kill(self.pid, signal.SIGKILL)
        return bool(done)

    def report(self, findings: Findings, record: Path | None) -> None:
        """Add what it found to the findings and to the record."""
        os.close(self.reader)
        own = Findings()
        for line in self.received.splitlines():
            seed, *found = json.loads(line)
            self.at = seed + 1
            own.add(self.target.name, seed, *found)
        if self.status != 0 and self.at < self.stop:
            what = (
                ("hang", f"over {HANG_SECONDS:.0f} s")
                if self.killed
                else ("crash", f"wait status {self.status}")
            )
            own.add(self.target.name, self.at, "unknown", *what)
            self.at += 1
        findings.outcomes.update(own.outcomes)
        findings.problems.extend(own.problems)
        if record is not None and self.at > self.start:
            line = json.dumps(
                {
                    "code": code(),
                    "target": self.target.name,
                    "first": self.start,
                    "stop": self.at,
                    "outcomes": [[*k[1:], n] for k, n in own.outcomes.items()],
                    "problems": own.problems,
                }
            )
            with record.open("a", encoding="utf-8") as stream:
                stream.write(line + "\n")


def from_record(lines: list[dict[str, Any]]) -> Findings:
    """Return the findings of all rounds in a record."""
    findings = Findings()
    for line in lines:
        for damage, outcome, number in line["outcomes"]:
            findings.outcomes[line["target"], damage, outcome] += number
        findings.problems.extend(line["problems"])
    return findings


PAGE = """# Damaged files

Every kind of file that topicfold reads is damaged (bytes, lines, numbers, arrays, JSON
values, sizes changed wherever they are, attributes added, links and folders where a
file belongs, also with the checksums made right again) and used in a child process.
*Refused* files end in an error of topicfold. *Compared* files were read as another
reader reads them (SciPy, scikit-learn, Python's csv and json, a parser by hand) or,
where there are checksums, as they were written. A hang is more than 10 s of processor
time for one file. A foreign error is one of another library.

Made by `make fuzz SECONDS=inf FUZZ_ARGS="--count 1000000 --record fuzz.jsonl --page
../benchmarks/results/fuzz.md"`, which continues where it was stopped and keeps the rows
of earlier records; `--count 0` writes the page alone.
"""


def page(lines: list[dict[str, Any]], before: str = "") -> str:
    """Return the page of a record: all files, by code, target and damage.

    Rows of a page that was there before are kept, unless the record has their code.
    """
    findings = from_record(lines)
    seen: dict[str, tuple[int, int]] = {}
    for name, *numbers in re.findall(
        r"(?m)^\| ([0-9a-f]{8}) \| (\S+) \| (\d+) \|$", before
    ):
        seen[name] = int(numbers[0].replace(",", "")), int(numbers[1])
    own = {line["code"]: (0, 0) for line in lines}
    for line in lines:
        files, problems = own[line["code"]]
        files += line["stop"] - line["first"]
        own[line["code"]] = files, problems + len(line["problems"])
    seen = {name: seen[name] for name in seen if name not in own} | own
    rows = ["| code (checksum) | files | findings |", "| --- | ---: | ---: |"]
    rows += [f"| {name} | {n:,} | {problems} |" for name, (n, problems) in seen.items()]
    files, problems = (sum(numbers) for numbers in zip(*seen.values(), strict=True))
    return "\n".join(
        (
            PAGE,
            f"**{files:,} files, {problems} findings.** By the code that read them; "
            "what a row found is mended in a later one:\n",
            *rows,
            "",
            f"What became of the {findings.total():,} files of the last round, by "
            "damage and by target:\n",
            findings.table("damage"),
            "",
            findings.table("target"),
            "",
        )
    )


def main() -> int:
    """The command."""
    global HANG_SECONDS
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, help="60 if there is no --count")
    parser.add_argument("--count", type=int, help="files in all, as many per target")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--first", type=int, default=0, help="seed of the first input")
    parser.add_argument("--targets", nargs="*", default=sorted(TARGETS))
    parser.add_argument("--again", type=int, help="one input again, not in a child")
    parser.add_argument("--record", type=Path, help="keep counts here, and go on")
    parser.add_argument("--page", type=Path, help="Markdown page of the record")
    parser.add_argument("--hang", type=float, default=HANG_SECONDS, help="seconds")
    options = parser.parse_args()
    HANG_SECONDS = options.hang
    os.fsync = lambda descriptor: None  # nothing here has to outlive a power cut
    if os.access("/dev/shm", os.W_OK):
        tempfile.tempdir = "/dev/shm"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and remove the folder
    targets = [TARGETS[name] for name in options.targets]
    if options.again is not None:
        return _again(targets[0], options.again)
    seconds = options.seconds or (60.0 if options.count is None else float("inf"))
    most = None if options.count is None else -(-options.count // len(targets))
    began = time.monotonic()
    findings = Findings()
    if most != 0:
        findings = run_round(
            targets,
            seconds=seconds,
            most=most,
            jobs=options.jobs,
            first=options.first,
            record=options.record,
        )
    spent = time.monotonic() - began
    sys.stdout.write(
        f"{findings.total():,} spoiled files in {spent:.0f} s, {options.jobs} "
        f"processes\n\n{findings.table('target')}\n\n{findings.table('damage')}\n"
    )
    seen: Counter = Counter()
    for problem in findings.problems:
        key = problem["target"], problem["kind"], problem["what"].split(":")[0]
        seen[key] += 1
        if seen[key] <= 3:
            again = f"{problem['target']} --again {problem['seed']}"
            sys.stdout.write(f"{again}: {problem['kind']}: {problem['what']}\n")
    if options.page:
        lines = [] if options.record is None else read_record(options.record)
        before = options.page.read_text("utf-8") if options.page.exists() else ""
        options.page.write_text(page(lines, before), encoding="utf-8")
    return 1 if findings.problems else 0


def _again(target: Target, seed: int) -> int:
    with tempfile.TemporaryDirectory() as work, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        place, damage = target.prepare(target.sound(Path(work)), Path(work), seed)
        sys.stdout.write(f"{damage}\n")
        if place.is_file():
            sys.stdout.write(f"{place.read_bytes()[:2000]!r}\n")
        sys.stdout.write(f"{target.use(place)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
