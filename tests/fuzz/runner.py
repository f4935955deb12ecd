# SPDX-License-Identifier: BSD-3-Clause
"""Feed spoiled files to every reader, in children, so that a crash is a finding.

    python -m fuzz.runner --seconds 60 --jobs 2          (from tests/; `make fuzz`)
    python -m fuzz.runner --targets c.npz --again 1234   one input again, with traceback

A finding is a crash of the process, a hang, an error that is not topicfold's, or a
misread: content that another reader of the same file, or what was written, contradicts.
An input hangs if it takes more than 10 s of processor time, or a minute by the clock,
which other programs on the machine may slow down. The exit status is 1 if there is any.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import mmap
import os
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Children are forked: there must be no other thread.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

from fuzz.models import MisreadError  # noqa: E402
from fuzz.targets import TARGETS, Target  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402

from topicfold.cli.messages import CommandError  # noqa: E402
from topicfold.exceptions import TopicfoldError  # noqa: E402

HANG_SECONDS = 10.0
CLOCK_FACTOR = 6  # of these, a wait that takes no processor time
MEMORY = 3 << 30
BATCH = 200
SIGNED = ("blocks", "state")  # content under a checksum: accepted means unchanged


@dataclass
class Findings:
    """What a round found."""

    inputs: Counter = field(default_factory=Counter)
    refused: Counter = field(default_factory=Counter)
    compared: Counter = field(default_factory=Counter)
    problems: list[dict[str, Any]] = field(default_factory=list)

    def add(self, other: dict[str, Any]) -> None:
        """Add the counts and problems that a child sent."""
        self.inputs.update(other["inputs"])
        self.refused.update(other["refused"])
        self.compared.update(other["compared"])
        self.problems.extend(other["problems"])

    def table(self) -> str:
        """Return a Markdown table, one row per target."""
        kinds = Counter((p["target"], p["kind"]) for p in self.problems)
        names = ("crash", "hang", "foreign", "misread")
        lines = [
            "| file | inputs | refused | compared | crashes | hangs | foreign errors "
            "| misreads |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]
        for name in [*sorted(self.inputs), "all"]:
            chosen = sorted(self.inputs) if name == "all" else [name]
            cells = [
                sum(c[n] for n in chosen)
                for c in (self.inputs, self.refused, self.compared)
            ]
            cells += [sum(kinds[n, kind] for n in chosen) for kind in names]
            lines.append(f"| {name} | " + " | ".join(f"{c:,}" for c in cells) + " |")
        return "\n".join(lines)


def try_input(target: Target, folder: Path, seed: int) -> tuple[str, str]:
    """Read one spoiled file; return what happened and a word about it."""
    place, sound = target.prepare(folder, seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = target.use(place)
    except (TopicfoldError, CommandError, NotFittedError) as error:
        return "refused", str(error)
    except MisreadError as error:
        return "misread", str(error)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        return "foreign", f"{type(error).__name__}: {str(error)[:200]} ({where})"
    if found is None:
        return "read", ""
    if target.name.startswith(SIGNED):
        if sound is None:
            return "read", ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = target.use(sound)
    elif target.expected is None:
        return "read", ""
    else:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = target.expected(place)
        except Exception:  # the other reader refuses, in whatever way
            return "read", ""
    if _plain(found, target) != _plain(expected, target):
        return (
            "misread",
            f"read as {str(found)[:300]}, by the other reader {str(expected)[:300]}",
        )
    return "compared", ""


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
) -> Findings:
    """Try inputs of all targets in turn, for a time or `most` of each target."""
    findings = Findings()
    with tempfile.TemporaryDirectory() as work:
        _warm_up(targets, Path(work))
        end = time.monotonic() + seconds
        queue = _batches(targets, most, first)
        running: dict[int, _Child] = {}
        while True:
            while len(running) < jobs and time.monotonic() < end:
                batch = next(queue, None)
                if batch is None:
                    break
                child = _Child(*batch, Path(work), end)
                running[child.pid] = child
            if not running:
                return findings
            for child in list(running.values()):
                if child.poll(findings):
                    del running[child.pid]
                    rest = child.rest()
                    if rest and time.monotonic() < end:
                        other = _Child(*rest, Path(work), end)
                        running[other.pid] = other
            time.sleep(0.005)


def _warm_up(targets: list[Target], work: Path) -> None:
    """Use the sound files once: children then find the kernels compiled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for target in targets:
            target.write(work / target.name)
            target.use(work / target.name)


def _batches(targets: list[Target], most: int | None, first: int) -> Any:
    start = first
    while most is None or start < first + most:
        stop = start + BATCH if most is None else min(start + BATCH, first + most)
        for target in targets:
            yield target, start, stop
        start = stop


class _Child:
    """A forked process that tries inputs ``start..stop`` of one target until `end`."""

    def __init__(
        self, target: Target, start: int, stop: int, work: Path, end: float
    ) -> None:
        self.target, self.start, self.stop = target, start, stop
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

    def _work(self, writer: int, work: Path) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
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
                kind, word = try_input(self.target, Path(folder), seed)
                line = json.dumps(
                    [seed, kind, word if kind in ("foreign", "misread") else ""]
                )
                os.write(writer, line.encode() + b"\n")

    def poll(self, findings: Findings) -> bool:
        """Take what it sent; kill it if it hangs. True when it has ended."""
        done, status = os.waitpid(self.pid, os.WNOHANG)
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self.reader, 1 << 16):
                self.received += chunk
        if not done:
            if not self.killed and self._hangs():
                self.killed = True
                os.kill(self.pid, signal.SIGKILL)
            return False
        os.close(self.reader)
        name = self.target.name
        for line in self.received.splitlines():
            seed, kind, word = json.loads(line)
            self.at = seed + 1
            findings.inputs[name] += 1
            findings.refused[name] += kind == "refused"
            findings.compared[name] += kind == "compared"
            if kind in ("foreign", "misread"):
                findings.problems.append(
                    {"target": name, "seed": seed, "kind": kind, "what": word}
                )
        if status != 0 and self.at < self.stop:
            kind = "hang" if self.killed else "crash"
            what = (
                f"over {HANG_SECONDS:.0f} s" if self.killed else f"wait status {status}"
            )
            findings.inputs[name] += 1
            findings.problems.append(
                {"target": name, "seed": self.at, "kind": kind, "what": what}
            )
            self.at += 1
        return True

    def rest(self) -> tuple[Target, int, int] | None:
        """What is left to do after a crash."""
        return (self.target, self.at, self.stop) if self.at < self.stop else None


def main() -> int:
    """The command."""
    global HANG_SECONDS
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--most", type=int, help="inputs of each target")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--first", type=int, default=0, help="seed of the first input")
    parser.add_argument("--targets", nargs="*", default=sorted(TARGETS))
    parser.add_argument("--again", type=int, help="one input again, not in a child")
    parser.add_argument("--output", type=Path, help="Markdown file for the table")
    parser.add_argument("--hang", type=float, default=HANG_SECONDS, help="seconds")
    options = parser.parse_args()
    HANG_SECONDS = options.hang
    targets = [TARGETS[name] for name in options.targets]
    if options.again is not None:
        with tempfile.TemporaryDirectory() as work:
            place, _ = targets[0].prepare(Path(work), options.again)
            if place.is_file():
                sys.stdout.write(f"{place.read_bytes()[:2000]!r}\n")
            sys.stdout.write(f"{targets[0].use(place)}\n")
        return 0
    began = time.monotonic()
    findings = run_round(
        targets,
        seconds=options.seconds,
        most=options.most,
        jobs=options.jobs,
        first=options.first,
    )
    total = sum(findings.inputs.values())
    seconds = time.monotonic() - began
    head = f"{total:,} spoiled files in {seconds:.0f} s, {options.jobs} processes\n\n"
    sys.stdout.write(head + findings.table() + "\n")
    seen: Counter = Counter()
    for problem in findings.problems:
        key = problem["target"], problem["kind"], problem["what"].split(":")[0]
        seen[key] += 1
        if seen[key] <= 3:
            again = f"{problem['target']} --again {problem['seed']}"
            sys.stdout.write(f"{again}: {problem['kind']}: {problem['what']}\n")
    if options.output:
        options.output.write_text(
            f"# Spoiled files\n\n{head}{findings.table()}\n", encoding="utf-8"
        )
    return 1 if findings.problems else 0


if __name__ == "__main__":
    sys.exit(main())
