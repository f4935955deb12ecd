# SPDX-License-Identifier: BSD-3-Clause
"""One row of a sparse matrix times some columns of a dense one, in registers.

The loop over the non-zeros of a row keeps eight or 32 float64 sums in vector registers
and reads one run of the dense matrix a non-zero; written as a plain loop over columns
the sums travel to memory and back for every non-zero, which is several times slower. A
sum has the same order in both widths, and so the same bits.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

WIDTH = 8
WIDE = 4 * WIDTH
_INDEX = ir.IntType(64)
_LANE = ir.IntType(32)
_DOUBLE = ir.DoubleType()


@intrinsic
def row_times_columns(
    typing_context: Any,
    indices: Any,
    data: Any,
    start: Any,
    stop: Any,
    dense: Any,
    column: Any,
    out: Any,
    row: Any,
) -> Any:
    """Write ``Σ_j data[j] dense[indices[j], column:column+8]`` to ``out[row, …]``.

    Both dense arrays are C-contiguous, `out` is float64, and no bound is checked.
    """
    arguments = (indices, data, start, stop, dense, column, out, row)
    return types.void(*arguments), _code(WIDTH)


@intrinsic
def row_times_wide_columns(
    typing_context: Any,
    indices: Any,
    data: Any,
    start: Any,
    stop: Any,
    dense: Any,
    column: Any,
    out: Any,
    row: Any,
) -> Any:
    """Do what `row_times_columns` does, for 32 columns."""
    arguments = (indices, data, start, stop, dense, column, out, row)
    return types.void(*arguments), _code(WIDE)


def _code(width: int) -> Any:
    """Return what writes the machine code for that many columns."""
    vector = ir.VectorType(_DOUBLE, width)
    undefined = ir.Constant(vector, ir.Undefined)
    first_lane = ir.Constant(ir.VectorType(_LANE, width), [0] * width)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def array(place: int) -> Any:
            return context.make_array(signature.args[place])(
                context, builder, args[place]
            )

        def integer(place: int) -> Any:
            return context.cast(
                builder, args[place], signature.args[place], types.int64
            )

        def columns_of(view: Any, line: Any, kind: Any) -> Any:
            n_columns = cgutils.unpack_tuple(builder, view.shape)[1]
            place = builder.add(builder.mul(line, n_columns), integer(5))
            pointer = builder.gep(view.data, [place])
            return builder.bitcast(pointer, ir.VectorType(kind, width).as_pointer())

        index_view, data_view, dense_view, out_view = map(array, (0, 1, 4, 6))
        kind = context.get_value_type(signature.args[4].dtype)
        sums = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * width))
        with cgutils.for_range_slice(
            builder, integer(2), integer(3), _INDEX(1), intp=_INDEX
        ) as (place, _):
            line = builder.load(builder.gep(index_view.data, [place]))
            if line.type.width < _INDEX.width:
                line = builder.sext(line, _INDEX)
            value = builder.load(builder.gep(data_view.data, [place]))
            if value.type != _DOUBLE:
                value = builder.fpext(value, _DOUBLE)
            values = builder.insert_element(undefined, value, _LANE(0))
            values = builder.shuffle_vector(values, undefined, first_lane)
            lanes = builder.load(columns_of(dense_view, line, kind))
            lanes.align = 4
            if kind != _DOUBLE:
                lanes = builder.fpext(lanes, vector)
            product = builder.fmul(values, lanes, flags=["contract"])
            total = builder.fadd(builder.load(sums), product, flags=["contract"])
            builder.store(total, sums)
        target = columns_of(out_view, integer(7), _DOUBLE)
        builder.store(builder.load(sums), target).align = 8
        return context.get_dummy_value()

    return generate
