# SPDX-License-Identifier: BSD-3-Clause
"""Kernels without reference counting.

Numba counts references to arrays wherever one is handed to a helper, even an inlined
one: as many atomic operations a token as the draw itself has work (measured: twice the
time). A lean kernel is compiled without; it must allocate nothing and take no views,
so its scratch space comes from the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def lean_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` as a kernel that neither allocates nor counts references."""
    return numba.njit(
        nogil=True,
        cache=True,
        fastmath={"reassoc", "contract", "nsz", "arcp"},
        error_model="numpy",
        _nrt=False,
    )(function)
