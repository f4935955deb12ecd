# SPDX-License-Identifier: BSD-3-Clause
"""Packed arrays are NumPy's or CuPy's; this is what tells them apart."""

from __future__ import annotations

from typing import Any

import numpy as np


def on_device(array: Any) -> bool:
    """Whether `array` is a CuPy array."""
    return not isinstance(array, np.ndarray) and hasattr(
        array, "__cuda_array_interface__"
    )


def array_module(array: Any) -> Any:
    """Return the module whose functions work on `array`: numpy or cupy."""
    if on_device(array):
        import cupy

        return cupy
    return np


def to_numpy(array: Any) -> Any:
    """Return `array` itself, or a NumPy copy of a device array."""
    return array.get() if on_device(array) else array
