# SPDX-License-Identifier: BSD-3-Clause
"""`benchmarks` is not installed: find it in the repository."""

import sys
from pathlib import Path

import pytest
from protocols_support import planted_corpus

_ROOT = str(Path(__file__).resolve().parents[2])
if _ROOT not in sys.path:
    sys.path.append(_ROOT)


@pytest.fixture(scope="session")
def corpus():
    return planted_corpus()
