# SPDX-License-Identifier: BSD-3-Clause
"""The inner product of small whole numbers, sixteen of them an instruction.

Numba's own loop does the numbers beyond a multiple of 32 or 64 one by one, which for a
hundred of them takes longer than all the others.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 16
_INDEX = ir.IntType(64)
_INT = ir.IntType(32)
_SUMS = ir.VectorType(_INT, LANES // 2)


@intrinsic
def dot_of_codes(typing_context: Any, codes: Any, row: Any, query: Any) -> Any:
    """Return ``codes[row] @ query`` as a 32-bit integer.

    `codes` is a C-contiguous array of 8-bit, `query` one of 16-bit integers; both have
    a multiple of `LANES` columns. No bound and no overflow is checked.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def array(place: int) -> Any:
            return context.make_array(signature.args[place])(
                context, builder, args[place]
            )

        def numbers(pointer: Any, bits: int) -> Any:
            kind = ir.VectorType(ir.IntType(bits), LANES)
            loaded = builder.load(builder.bitcast(pointer, kind.as_pointer()))
            loaded.align = 1
            return builder.sext(loaded, ir.VectorType(_INT, LANES))

        def half(vector: Any, first: int) -> Any:
            lanes = list(range(first, LANES, 2))
            mask = ir.Constant(ir.VectorType(_INT, len(lanes)), lanes)
            return builder.shuffle_vector(vector, vector, mask)

        code_view, query_view = array(0), array(2)
        line = context.cast(builder, args[1], signature.args[1], types.int64)
        n_columns = cgutils.unpack_tuple(builder, code_view.shape)[1]
        code_start = builder.gep(code_view.data, [builder.mul(line, n_columns)])
        sums = cgutils.alloca_once_value(
            builder, ir.Constant(_SUMS, [0] * (LANES // 2))
        )
        with cgutils.for_range_slice(
            builder, _INDEX(0), n_columns, _INDEX(LANES), intp=_INDEX
        ) as (place, _):
            code = numbers(builder.gep(code_start, [place]), 8)
            other = numbers(builder.gep(query_view.data, [place]), 16)
            product = builder.mul(code, other)
            # Neighbours are added: LLVM knows one instruction for all of this.
            pairs = builder.add(half(product, 0), half(product, 1))
            builder.store(builder.add(builder.load(sums), pairs), sums)
        name = f"llvm.vector.reduce.add.v{LANES // 2}i32"
        reduce = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_INT, [_SUMS]), name
        )
        return builder.call(reduce, [builder.load(sums)])

    return types.int32(codes, row, query), generate
