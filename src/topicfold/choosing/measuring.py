# SPDX-License-Identifier: BSD-3-Clause
"""Fits that are measured: in silence, with their memory; scores kept in a file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from topicfold.exceptions import (
    DataError,
    EmptyDocumentWarning,
    FitInterruptedWarning,
    SpareTopicsWarning,
    UnsettledWarning,
)

Found = TypeVar("Found")


class ScoreFile:
    """Scores in a file of JSON lines, by the settings that gave them.

    A run that was killed while it wrote leaves a cut line, which counts for nothing.
    Without a path, scores are kept in memory only.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        self.scores: dict[str, dict[str, Any]] = {}
        if self.path is None:
            return
        if self.path.is_dir():
            raise DataError(f"{self.path} is a folder. Give a file for the results.")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = self.path.read_bytes().strip() if self.path.is_file() else b""
        if content and not content.startswith(b"{"):
            raise DataError(
                f"{self.path} is not a file of results. Give another file, or remove "
                "it."
            )
        nonsense = (ValueError, LookupError, TypeError, AttributeError)
        for line in content.splitlines():
            with contextlib.suppress(*nonsense, OverflowError, RecursionError):
                row = json.loads(line)
                scores = {name: float(value) for name, value in row["scores"].items()}
                self.scores[row["settings"]] = scores

    def add(self, settings: str, scores: dict[str, Any]) -> None:
        """Keep scores, on the disk before this returns."""
        self.scores[settings] = scores
        if self.path is not None:
            row = json.dumps({"settings": settings, "scores": scores})
            with self.path.open("ab") as stream:
                # On a line of its own, whatever a killed run left before it.
                stream.write(f"\n{row}\n".encode())
                stream.flush()
                os.fsync(stream.fileno())


def settings_key(settings: Mapping[str, Any]) -> str:
    """Return a short name for settings: the same settings, the same name."""
    text = json.dumps(settings, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def data_fingerprint(*arrays: Any) -> str:
    """Return a short name for data: other documents are another experiment."""
    digest = hashlib.sha256()
    for array in arrays:
        parts = [array]
        if hasattr(array, "indptr"):
            parts = [np.asarray(array.shape), array.indptr, array.indices, array.data]
        for part in parts:
            values = np.ascontiguousarray(part)
            if values.dtype.kind == "O":
                values = values.astype(str)
            # Neither the width of integers nor that of floats is another corpus.
            wide = {"i": np.int64, "u": np.int64, "f": np.float64}
            values = values.astype(wide.get(values.dtype.kind, values.dtype))
            digest.update(str(values.shape).encode())
            digest.update(values.tobytes())
    return digest.hexdigest()[:12]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Leave out warnings that a table of hundreds of fits cannot use.

    Ctrl-C in a fit, of which a model would only warn and go on with what it has, ends
    the run: half a fit must not be a result.
    """
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("error", FitInterruptedWarning)
        ours = EmptyDocumentWarning, SpareTopicsWarning, UnsettledWarning
        for category in (ConvergenceWarning, *ours):
            warnings.simplefilter("ignore", category)
        try:
            yield
        except FitInterruptedWarning:
            raise KeyboardInterrupt from None


def with_memory(work: Callable[[], Found]) -> tuple[Found, float | None]:
    """Return what `work` returns and its peak of memory in MB, None where unknown."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # a new peak, where Linux can
    before = _memory("VmRSS")
    found = work()
    peak = _memory("VmHWM")
    return found, round(max(peak - before, 0.0), 1) if peak else None


def _memory(field: str) -> float:
    """Return a size of this process in MB from Linux's account of it, else 0."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
    return 0.0
