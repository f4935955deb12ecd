# SPDX-License-Identifier: BSD-3-Clause
"""Ask the processor for a row of weights before it is needed.

Rows of topic weights are read in the order of a document's words, which no hardware
prefetcher can foresee. It pays once a row is longer than a few cache lines.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

_WORD = ir.IntType(64)
_FLAG = ir.IntType(32)
_POINTER = ir.IntType(8).as_pointer()
_LINE_BITS = 6  # cache lines of 64 bytes


@intrinsic
def prefetch_row(typing_context: Any, array: Any, row: Any) -> Any:
    """Prefetch all cache lines of ``array[row]`` for reading; never faults."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, args[0])
        index = context.cast(builder, args[1], signature.args[1], types.intp)
        stride = cgutils.unpack_tuple(builder, view.strides)[0]
        start = builder.ptrtoint(view.data, _WORD)
        start = builder.add(start, builder.mul(index, stride))
        prefetch = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [_POINTER, _FLAG, _FLAG, _FLAG]),
            "llvm.prefetch.p0",
        )
        last_line = _WORD((1 << _LINE_BITS) - 1)
        lines = builder.lshr(builder.add(stride, last_line), _WORD(_LINE_BITS))
        with cgutils.for_range(builder, lines) as loop:
            address = builder.add(start, builder.shl(loop.index, _WORD(_LINE_BITS)))
            # read, keep in all caches, data
            arguments = [builder.inttoptr(address, _POINTER), _FLAG(0), _FLAG(3)]
            builder.call(prefetch, [*arguments, _FLAG(1)])
        return context.get_dummy_value()

    return types.void(array, row), generate
