# SPDX-License-Identifier: BSD-3-Clause
"""Peak memory of a fit: growth of the resident set over a baseline.

On Linux the kernel's own high-water mark is reset at the baseline, so the peak of this
process is exact. Worker processes of a peer are sampled through psutil and counted by
the memory that is theirs alone.
"""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
import threading
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")
_SAMPLE_SECONDS = 0.1


class PeakMemory:
    """Measure from construction to `stop`.

    Parameters
    ----------
    children : bool
        Also sample child processes; costs a little time, so only where there are any.
    """

    def __init__(self, *, children: bool = False):
        self._children_peak = 0
        self._done = threading.Event()
        self._thread = None
        self._base = _reset_peak()
        if children:
            self._thread = threading.Thread(target=self._sample, daemon=True)
            self._thread.start()

    def stop(self) -> int:
        """Return the growth in bytes, this process and its children."""
        growth = max(0, _peak() - self._base)
        if self._thread is not None:
            self._done.set()
            self._thread.join()
        return max(growth, self._children_peak)

    def _sample(self) -> None:
        try:
            import psutil
        except ImportError:
            return
        me = psutil.Process()
        while not self._done.wait(_SAMPLE_SECONDS):
            own = me.memory_info().rss - self._base
            used = 0
            for child in me.children(recursive=True):
                try:
                    used += child.memory_full_info().uss
                except psutil.Error:
                    continue
            self._children_peak = max(self._children_peak, own + used)


def _reset_peak() -> int:
    """Reset the high-water mark where that is possible; return the baseline.

    Freed memory the allocator still holds goes back first: a fit that reused it would
    seem to need less.
    """
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    try:
        _CLEAR_REFS.write_text("5")
    except OSError:
        return _peak()
    return _status("VmRSS")


def _peak() -> int:
    if _STATUS.exists():
        return _status("VmHWM")
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _status(key: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    msg = f"{key} is not in the process status"
    raise RuntimeError(msg)
