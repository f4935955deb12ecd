# SPDX-License-Identifier: BSD-3-Clause
"""What kernels need and numba lacks: special functions, arguments that may be None,
prefetching.

Library calls would be made one number at a time; logarithm, exponential, digamma and
log-gamma are straight-line float64 arithmetic here, so LLVM turns a loop over them into
SIMD code. Their arguments are positive (``exp_scalar``: not above 700); tests hold each
to SciPy's.

What a document or a word has of its own is None, a vector that serves all, or an array
of rows. Which of these it is, numba knows from the type: the others are not in the
compiled code, and a kernel that is given nothing is as fast as one that cannot be given
anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from topicfold.core.jit import elementwise

# Integers stay unsigned and never become floats by a conversion: AVX2 has neither
# signed 64-bit shifts nor that conversion, and one of them would undo the SIMD.
_SQRT_HALF_BITS = np.uint64(0x3FE6A09E667F3BCD)
_BIAS_BITS = np.uint64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
_MANTISSA = np.uint64(0x000FFFFFFFFFFFFF)
_ONE_BITS = np.uint64(0x3FF0000000000000)
_SHIFT = np.uint64(52)
_TWO_52 = 4503599627370496.0
_TWO_52_BITS = np.uint64(0x4330000000000000)
_ROUNDER = 1.5 * _TWO_52  # adding it leaves a float's nearest integer in its low bits
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_LOG2_E = 1.4426950408889634
_HALF_LOG_2PI = 0.9189385332046727


@elementwise
def log_scalar(x):
    """Natural logarithm of a normal positive float64 (relative error 1e-15)."""
    shifted = np.float64(x).view(np.uint64) + _BIAS_BITS
    biased = np.uint64((shifted >> _SHIFT) | _TWO_52_BITS).view(np.float64)
    exponent = biased - (_TWO_52 + 1023.0)
    mantissa = np.uint64((shifted & _MANTISSA) + _SQRT_HALF_BITS).view(np.float64)
    # log m = 2 artanh f with f = (m - 1)/(m + 1), |f| < 0.172
    f = (mantissa - 1.0) / (mantissa + 1.0)
    g = f * f
    series = 1.0 / 21.0 + g * (1.0 / 23.0)
    series = 1.0 / 19.0 + g * series
    series = 1.0 / 17.0 + g * series
    series = 1.0 / 15.0 + g * series
    series = 1.0 / 13.0 + g * series
    series = 1.0 / 11.0 + g * series
    series = 1.0 / 9.0 + g * series
    series = 1.0 / 7.0 + g * series
    series = 1.0 / 5.0 + g * series
    series = 1.0 / 3.0 + g * series
    log_mantissa = 2.0 * f * (1.0 + g * series)
    return exponent * _LN2_HIGH + (log_mantissa + exponent * _LN2_LOW)


@elementwise
def exp_scalar(y):
    """Exponential of y <= 700; zero below -700."""
    clipped = max(y, -700.0)
    rounded = clipped * _LOG2_E + _ROUNDER
    n = rounded - _ROUNDER
    r = (clipped - n * _LN2_HIGH) - n * _LN2_LOW
    series = 1.0 + r * (1.0 / 13.0)
    series = 1.0 + r * (1.0 / 12.0) * series
    series = 1.0 + r * (1.0 / 11.0) * series
    series = 1.0 + r * (1.0 / 10.0) * series
    series = 1.0 + r * (1.0 / 9.0) * series
    series = 1.0 + r * (1.0 / 8.0) * series
    series = 1.0 + r * (1.0 / 7.0) * series
    series = 1.0 + r * (1.0 / 6.0) * series
    series = 1.0 + r * (1.0 / 5.0) * series
    series = 1.0 + r * (1.0 / 4.0) * series
    series = 1.0 + r * (1.0 / 3.0) * series
    series = 1.0 + r * (1.0 / 2.0) * series
    series = 1.0 + r * series
    bits = np.float64(rounded).view(np.uint64) << _SHIFT
    power = np.uint64(bits + _ONE_BITS).view(np.float64)
    return series * power if y > -700.0 else 0.0


@elementwise
def _reciprocal_ladder(x):
    """Sum of 1/(x + i) for i = 0..9, two rungs to a division."""
    q = x * x + 9.0 * x
    rungs = 1.0 / q + 1.0 / (q + 8.0) + 1.0 / (q + 14.0)
    return (2.0 * x + 9.0) * (rungs + 1.0 / (q + 18.0) + 1.0 / (q + 20.0))


@elementwise
def _exp_digamma_large(y):
    """Exponential of digamma for y >= 10 by its asymptotic series."""
    z = y - 0.5
    u = 1.0 / (z * z)
    series = 10313.0 / 2903040.0 - u * (5509121.0 / 1393459200.0)
    series = -37.0 / 5760.0 + u * series
    return z * (1.0 + u * (1.0 / 24.0 + u * series))


@elementwise
def exp_digamma_scalar(x):
    """exp(ψ(x)) for x >= 0; zero at 0."""
    x = max(np.float64(x), 1e-9)
    return _exp_digamma_large(x + 10.0) * exp_scalar(-_reciprocal_ladder(x))


@elementwise
def digamma_scalar(x):
    """ψ(x) for x > 0."""
    x = max(np.float64(x), 1e-9)
    return log_scalar(_exp_digamma_large(x + 10.0)) - _reciprocal_ladder(x)


@elementwise
def log_gamma_scalar(x):
    """Ln Γ(x) for x > 0."""
    x = max(np.float64(x), 1e-9)
    y = x + 10.0
    q = x * x + 9.0 * x
    ladder = log_scalar(q * (q + 8.0) * (q + 14.0)) + log_scalar(
        (q + 18.0) * (q + 20.0)
    )
    u = 1.0 / (y * y)
    tail = 1.0 / 12.0 - u * (1.0 / 360.0 - u * (1.0 / 1260.0 - u * (1.0 / 1680.0)))
    return (y - 0.5) * log_scalar(y) - y + _HALF_LOG_2PI + tail / y - ladder


_INLINE: dict[str, Any] = {"forceinline": True}


def own_row(rows: Any, d: int) -> Any:
    """Return row d of an array of rows; a vector, or None, serves all."""
    return rows if rows is None or rows.ndim == 1 else rows[d]


@overload(own_row, strict=False, jit_options=_INLINE)
def _own_row(rows: Any, d: Any) -> Any:
    if isinstance(rows, types.NoneType) or rows.ndim == 1:
        return lambda rows, d: rows
    return lambda rows, d: rows[d]


def own_rows(rows: Any, start: int, stop: int) -> Any:
    """Return rows ``start..stop`` of an array; a vector, or None, serves all."""
    return rows if rows is None or rows.ndim == 1 else rows[start:stop]


@overload(own_rows, strict=False, jit_options=_INLINE)
def _own_rows(rows: Any, start: Any, stop: Any) -> Any:
    if isinstance(rows, types.NoneType) or rows.ndim == 1:
        return lambda rows, start, stop: rows
    return lambda rows, start, stop: rows[start:stop]


def group_row(rows: Any, groups: Any, w: int) -> Any:
    """Return the row of the group of word w; without groups, the vector itself."""
    return rows if groups is None else rows[groups[w]]


@overload(group_row, strict=False, jit_options=_INLINE)
def _group_row(rows: Any, groups: Any, w: Any) -> Any:
    if isinstance(groups, types.NoneType):
        return lambda rows, groups, w: rows
    return lambda rows, groups, w: rows[groups[w]]


def element(row: Any, k: int) -> Any:
    """Return element k of a row, None of None."""
    return None if row is None else row[k]


@overload(element, strict=False, jit_options=_INLINE)
def _element(row: Any, k: Any) -> Any:
    if isinstance(row, types.NoneType):
        return lambda row, k: None
    return lambda row, k: row[k]


def is_plain(prior: Any, tilt: Any, groups: Any) -> bool:
    """Return whether all documents share the prior, none has a tilt, no word a group.

    LLVM vectorises a loop that stores only if it reads few arrays (eight): four words
    or documents at a time are too many where each has rows of its own.
    """
    return prior.ndim == 1 and tilt is None and groups is None


@overload(is_plain, strict=False, jit_options=_INLINE)
def _is_plain(prior: Any, tilt: Any, groups: Any) -> Any:
    none = types.NoneType
    if prior.ndim == 1 and isinstance(tilt, none) and isinstance(groups, none):
        return lambda prior, tilt, groups: True
    return lambda prior, tilt, groups: False


# Rows of topic weights are read in the order of a document's words, which no hardware
# prefetcher can foresee. To ask for them ahead pays once a row is longer than a few
# cache lines.
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
