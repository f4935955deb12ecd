# SPDX-License-Identifier: BSD-3-Clause
"""What the runner asks of a peer.

A new peer is one subclass of `Adapter` and one line in `adapters/__init__.py`.
Adapters import their package inside methods, so that a missing one is a note in the
table and not an error.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

OnPass = Callable[..., bool]


class Adapter(ABC):
    """One model of one library.

    Attributes
    ----------
    name : str
        Name on the command line and in the tables.
    package : str
        Importable package; `distribution` if its name on PyPI differs.
    import_line : str
        What a user writes to get the model; timed in mode startup.
    pass_is : str
        What one pass over the training documents is, for the report.
    default_passes : int
        Passes the library makes when not told otherwise.
    processes : bool
        Whether a fit on several threads starts processes of its own, whose memory
        counts too.
    """

    name: str
    package: str
    distribution: str = ""
    import_line: str
    pass_is: str
    default_passes: int
    processes: bool = False

    def missing(self) -> str:
        """Say why this peer cannot run here; empty if it can."""
        if importlib.util.find_spec(self.package) is None:
            return f"{self.distribution or self.package} is not installed"
        return ""

    def starts_processes(self, threads: int) -> bool:
        """Say whether a fit with so many threads is not in this process alone."""
        return self.processes and threads > 1

    def version(self) -> str:
        """Version of the installed package."""
        return importlib.metadata.version(self.distribution or self.package)

    def prepare(self, train: sp.csr_matrix, n_topics: int, seed: int) -> Any:
        """Convert the counts to the library's own input; not timed as fit."""
        return train

    @abstractmethod
    def run(
        self,
        data: Any,
        *,
        n_topics: int,
        threads: int,
        seed: int,
        max_passes: int,
        on_pass: OnPass,
    ) -> None:
        """Fit, calling ``on_pass(topics_fn, passes=1)`` after every pass.

        ``topics_fn()`` returns the topics so far, (n_topics, n_terms), rows summing
        to one. When `on_pass` returns True the fit ends at once.
        """


class EndOfFit(Exception):
    """Raised through a library that offers no other way to stop."""


def normalise_rows(weights: np.ndarray) -> np.ndarray:
    """Scale every row to sum to one; a row of zeros becomes uniform."""
    weights = np.asarray(weights, dtype=np.float64)
    sums = weights.sum(axis=1, keepdims=True)
    uniform = np.full_like(weights, 1.0 / weights.shape[1])
    return np.divide(weights, sums, out=uniform, where=sums > 0)
