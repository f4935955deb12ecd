# SPDX-License-Identifier: BSD-3-Clause
"""How every kernel is compiled: lazily, cached on disk, without the GIL.

Floating-point sums may be re-associated so that they vectorise. The compiled code
does not depend on the number of threads, so results are the same bits for any of
them. NaN and infinity keep their meaning.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event

_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
_logger = logging.getLogger("topicfold")


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` as a kernel over a range of rows."""
    return numba.njit(nogil=True, cache=True, fastmath=_FASTMATH, error_model="numpy")(
        function
    )


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a helper that becomes part of the kernel that calls it."""
    return numba.njit(
        nogil=True,
        cache=True,
        fastmath=_FASTMATH,
        error_model="numpy",
        inline="always",
    )(function)


def elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a scalar function that kernels call and LLVM inlines and vectorises.

    Its arithmetic keeps the order it is written in: tricks with rounding survive.
    """
    return numba.njit(
        nogil=True,
        cache=True,
        fastmath={"contract", "nsz"},
        error_model="numpy",
        forceinline=True,
    )(function)


class _CompileNotice(event.Listener):
    """Say once per process that kernels are being compiled, never silently wait."""

    said = False

    def on_start(self, event: Any) -> None:
        module = getattr(event.data.get("dispatcher"), "__module__", "")
        if not self.said and str(module).startswith("topicfold"):
            _CompileNotice.said = True
            _logger.warning(
                "compiling topicfold's kernels for this machine: 10 to 30 seconds, "
                "once (later runs read them from numba's cache on disk)"
            )

    def on_end(self, event: Any) -> None:
        """Nothing to do when a compilation ends."""


event.register("numba:compile", _CompileNotice())
