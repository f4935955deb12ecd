# SPDX-License-Identifier: BSD-3-Clause
"""Cheap scenarios of the crash-point runner; ``make crash-points`` runs all."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

RUNNER = Path(__file__).parent / "crash_points.py"
CHEAP = [
    "fit --force",
    "edit --force",
    "label",
    "update",
    "report",
    "transform -o .csv",
    "convert to out.mtx",
    "index",
    "resume",
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks children")
def test_a_killed_command_leaves_the_old_state_or_the_new_one():
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(RUNNER), "--only", *CHEAP],
        capture_output=True,
        text=True,
        env={**os.environ, **threads},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads(done.stdout)["results"]
    assert set(results) == set(CHEAP)
    for found in results.values():
        assert found["points"] == found["old"] + found["new"] + found["error"]
        assert found["old"] > 0
        assert found["new"] > 0
