# SPDX-License-Identifier: BSD-3-Clause
"""Tests that run on an NVIDIA GPU; skipped where there is none (``make test-gpu``)."""

import pytest


def _has_gpu():
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount() > 0
    except Exception:  # no CuPy, no driver, no device: all the same here
        return False


def pytest_collection_modifyitems(items):
    if _has_gpu():
        return
    reason = pytest.mark.skip(reason="needs CuPy and an NVIDIA GPU: make test-gpu")
    for item in items:
        if "/tests/gpu/" in item.path.as_posix():
            item.add_marker(reason)
