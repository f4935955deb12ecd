# SPDX-License-Identifier: BSD-3-Clause
"""Peak memory of fits stays under what docs/scaling.md promises."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="sizes are read from /proc")
def test_fits_keep_the_promise():
    command = [sys.executable, "-m", "benchmarks.memory", "--documents", "5000"]
    command += ["--models", "FSTM", "GibbsLDA", "--sides"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("| FSTM |") == done.stdout.count("| GibbsLDA |") == 1
