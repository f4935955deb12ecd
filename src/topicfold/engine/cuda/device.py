# SPDX-License-Identifier: BSD-3-Clause
"""Finding CuPy and a GPU, and saying what is wrong when they fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from topicfold.exceptions import DeviceError

INSTALL = "pip install 'topicfold[gpu]'"
_LEAST_DRIVER = 12000


def load_cupy() -> Any:
    """Return the module cupy on a machine with a usable GPU, or say what is missing."""
    try:
        import cupy
    except ImportError as error:
        raise DeviceError(
            f"device='cuda' needs CuPy, which cannot be imported ({error}). Install "
            f"it with {INSTALL} (cupy-cuda12x; on CUDA 13 pip install cupy-cuda13x), "
            "or use device='cpu'."
        ) from error
    runtime = cupy.cuda.runtime
    try:
        n_devices = int(runtime.getDeviceCount())
        driver = int(runtime.driverGetVersion())
    except runtime.CUDARuntimeError as error:
        raise DeviceError(_failure(error)) from error
    if n_devices == 0:
        raise DeviceError(
            "device='cuda' found no NVIDIA GPU. Check nvidia-smi and "
            "CUDA_VISIBLE_DEVICES, or use device='cpu'."
        )
    if driver < _LEAST_DRIVER:
        raise DeviceError(
            f"the CUDA driver supports CUDA {_version(driver)} only; CuPy's kernels "
            f"need {_version(_LEAST_DRIVER)} or later. Update the NVIDIA driver (525 "
            "or later), or use device='cpu'."
        )
    return cupy


@contextmanager
def device_errors(what: str) -> Iterator[None]:
    """Turn CuPy's errors while doing `what` into a `DeviceError` with advice."""
    import cupy

    memory = cupy.cuda.memory.OutOfMemoryError
    runtime = cupy.cuda.runtime.CUDARuntimeError
    driver = cupy.cuda.driver.CUDADriverError
    compiler = cupy.cuda.compiler.CompileException
    try:
        yield
    except memory as error:
        free, total = _memory(cupy)
        raise DeviceError(
            f"the GPU ran out of memory while {what}: {error} {free:.1f} of "
            f"{total:.1f} GiB were free. Use fewer topics or documents, close other "
            "programs on the GPU, or use device='cpu'."
        ) from error
    except (runtime, driver) as error:
        raise DeviceError(_failure(error)) from error
    except compiler as error:
        raise DeviceError(
            f"the CUDA kernels could not be compiled while {what}: {error}. CuPy and "
            "the CUDA toolkit must fit together; reinstall with "
            f"{INSTALL}, or use device='cpu'."
        ) from error


def _failure(error: Exception) -> str:
    text = str(error)
    if "InsufficientDriver" in text or "driver version is insufficient" in text:
        return (
            f"the NVIDIA driver is too old for the installed CuPy ({text}). Update "
            "the driver (525 or later), install a CuPy for its CUDA version, or use "
            "device='cpu'."
        )
    if "NoDevice" in text or "no CUDA-capable device" in text:
        return (
            f"device='cuda' found no NVIDIA GPU ({text}). Check nvidia-smi and "
            "CUDA_VISIBLE_DEVICES, or use device='cpu'."
        )
    return (
        f"the GPU reported an error ({text}). Check nvidia-smi, restart Python, or "
        "use device='cpu'."
    )


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _memory(cupy: Any) -> tuple[float, float]:
    try:
        free, total = cupy.cuda.runtime.memGetInfo()
    except cupy.cuda.runtime.CUDARuntimeError:
        return 0.0, 0.0
    return free / 2**30, total / 2**30
