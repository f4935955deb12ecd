# SPDX-License-Identifier: BSD-3-Clause
"""Run a job in a fresh process with its threads set, and get its result back."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
_A_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[/\\][\w.+\-]+){2,}")


def run_job(job: dict[str, Any], environment: dict[str, str] | None = None) -> dict:
    """Run `job` in a worker; a worker that dies is a failed row."""
    with tempfile.TemporaryDirectory() as folder:
        job_path, result_path = Path(folder, "job.json"), Path(folder, "result.json")
        job_path.write_text(json.dumps({**job, "result": str(result_path)}))
        done = run_python(
            ["-m", "benchmarks.peers.worker", str(job_path)],
            job["threads"],
            environment,
        )
        if result_path.exists():
            result = json.loads(result_path.read_text())
        else:
            words = done.stderr.strip().splitlines()[-1:]
            note = " ".join([f"worker ended with code {done.returncode}", *words])
            result = {"status": "failed", "note": note}
    if "note" in result:
        result["note"] = _A_PATH.sub("…", result["note"])
    return result


def run_python(
    arguments: list[str], threads: int, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess:
    """Run this interpreter at the root of the repository with `threads` threads."""
    settings = dict.fromkeys(_THREAD_VARIABLES, str(threads))
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=_ROOT,
        env={**os.environ, **settings, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
