# SPDX-License-Identifier: BSD-3-Clause
"""How every kernel is compiled: lazily, cached on disk, without the GIL.

Floating-point sums may be re-associated so that they vectorise. NaN and infinity keep
their meaning.

Results are the same bits for any number of threads, any batch and any place of the
arrays in memory. One rule keeps this: **a loop that sums stores nothing**. LLVM guards
a vectorised loop that stores by a test that its arrays lie far enough apart, and runs
it one element after another if they do not; a sum in that loop would then be added in
another order, by chance of the allocator. A loop that only stores may take either way,
since each element's arithmetic is the same in both. ``tests/test_kernel_bits.py``
reads the compiled code of every kernel for guarded sums. A second rule keeps them the
same in the first process and in later ones, which read the cache: **what a kernel calls
is a `part`**, `inline` or `elementwise`.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event
from numba.core.registry import CPUDispatcher

FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
# Elements between two rows of scratch: farther than any guard asks, so that short rows
# vectorise too.
SPACE = 64
_logger = logging.getLogger("topicfold")


def _compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    # Numba makes a wrapper for C of every function, and one for Python of those that
    # only kernels call: each takes a twentieth of a second to compile.
    options = {"fastmath": FASTMATH, "no_cfunc_wrapper": True, **options}
    dispatcher = numba.njit(nogil=True, cache=True, error_model="numpy", **options)(
        function
    )
    # With NUMBA_DISABLE_JIT=1, to debug kernels as plain Python, there is none.
    compiles = isinstance(dispatcher, CPUDispatcher)
    if compiles and options.get("no_cpython_wrapper"):
        dispatcher.__class__ = _Part
    return dispatcher


class _Part(CPUDispatcher):
    """A function for kernels only: from Python, a call without wrapper would crash."""

    def __call__(self, *args: Any) -> Any:
        return _caller(self)(*args)


@functools.cache
def _caller(part: Any) -> Callable[..., Any]:
    """Return a compiled function that Python may call, and that calls a part."""
    return numba.njit(lambda *args: part(*args))


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` as a kernel over a range of rows."""
    return _compiled(function)


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that kernels call, and that LLVM makes part of each.

    A call that is left in a kernel would be bound to the function compiled alone in
    the process that compiles both, and to the kernel's own copy in a process that
    reads the kernel from the cache: the two may add in another order.
    """
    return _compiled(function, forceinline=True, no_cpython_wrapper=True)


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a helper that becomes part of the kernel that calls it."""
    return _compiled(function, inline="always")


def lean_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel that neither allocates nor counts references.

    Numba counts references to arrays wherever one is handed to a helper, even an
    inlined one: as many atomic operations per token as the draw itself has work
    (measured: twice the time). Such a kernel takes no views of its arrays, and its
    scratch space comes from the caller.
    """
    return _compiled(function, _nrt=False)


def elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a scalar function that LLVM inlines and vectorises; rounding tricks
    survive.
    """
    return _compiled(
        function,
        fastmath={"contract", "nsz"},
        forceinline=True,
        no_cpython_wrapper=True,
    )


class _CompileNotice(event.Listener):
    """Say once per process that kernels are being compiled, never silently wait."""

    said = False

    def on_start(self, event: Any) -> None:
        module = getattr(event.data.get("dispatcher"), "__module__", "")
        if not self.said and str(module).startswith("topicfold"):
            _CompileNotice.said = True
            _logger.warning("Compiling; this takes a few seconds the first time.")

    def on_end(self, event: Any) -> None:
        """Nothing to do when a compilation ends."""


event.register("numba:compile", _CompileNotice())
