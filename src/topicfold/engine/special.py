# SPDX-License-Identifier: BSD-3-Clause
"""Logarithm, exponential, digamma and log-gamma that vectorise inside kernels.

Library calls would be made one number at a time; these are straight-line float64
arithmetic, so LLVM turns a loop over them into SIMD code. Arguments are positive
(``exp_scalar``: not above 700); tests hold each to SciPy's.
"""

from __future__ import annotations

import numpy as np

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
