# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""The best step along one direction of a document's objective, compiled.

Loops divide by `np.divide`: the operator tests for zero as Python does, which stops
vectorisation.
"""

from __future__ import annotations

import math

import numpy as np

from topicfold.core.jit import kernel
from topicfold.infer.separable import term_curvature, term_slope, term_value

# The line search ends when Newton moves less than this share of the step: the error
# left is about its square, and the objective loses only the square of that.
_STEP_RTOL = 1e-4
_MAX_NEWTON = 60
# Up to this |s| ten terms of the series of artanh(s) are right to 13 digits.
_SERIES_LIMIT = 0.25


@kernel
def try_direction(u, x, delta, cap, weights, promoting, theta, active, way):
    """Return the best step up to `cap` and what it wins."""
    step = line_search(u, x, delta, cap, weights, promoting, theta, active, way)
    gain = likelihood_gain(u, x, delta, step)
    if promoting:
        gain += term_gain(step, weights, theta, active, way)
    return step, gain


@kernel
def line_search(u, x, delta, cap, weights, promoting, theta, active, way):
    """Return the best step in [0, cap] along `delta`.

    With slope s(t), which falls, the root is sought of ``t (cap - t) s(t)``: words
    that only one end of the way explains put poles near both ends of s, which this
    takes away. Newton steps that leave the bracket are replaced by bisection.
    """
    low, high, step = 0.0, cap, 0.0
    for _ in range(_MAX_NEWTON):
        slope, bend = derivatives(
            step, u, x, delta, weights, promoting, theta, active, way
        )
        if slope > 0.0:
            low = step
        elif step > 0.0:
            high = step
        else:
            return 0.0
        if step == cap:
            return cap
        descent = bend
        if step > 0.0:
            room = step * (cap - step)
            descent += np.divide((cap - 2.0 * step) * slope, room)
        new = step - np.divide(slope, descent) if descent < 0.0 else cap
        if not low < new < high:
            new = 0.5 * (low + high)
        done = abs(new - step) <= _STEP_RTOL * new
        step = new
        if done:
            break
    # The root may lie behind the end, where the search cannot see it.
    if cap - step < 0.01 * cap:
        slope, _ = derivatives(cap, u, x, delta, weights, promoting, theta, active, way)
        if slope >= 0.0:
            return cap
    return step


@kernel
def derivatives(step, u, x, delta, weights, promoting, theta, active, way):
    """Return slope and curvature of the objective at `step`."""
    slope, bend = 0.0, 0.0
    for w in range(len(u)):
        q = np.divide(delta[w], x[w] + step * delta[w])
        slope += u[w] * q
        bend -= u[w] * q * q
    if promoting:
        for j in range(len(active)):
            k = active[j]
            if way[j] != 0.0 and weights[k] != 0.0:
                share = theta[k] + step * way[j]
                slope += weights[k] * way[j] * term_slope(share)
                bend += weights[k] * way[j] * way[j] * term_curvature(share)
    return slope, bend


@kernel
def term_gain(step, weights, theta, active, way):
    """Return what the separable term wins by `step`."""
    gain = 0.0
    for j in range(len(active)):
        k = active[j]
        if way[j] != 0.0 and weights[k] != 0.0:
            share = theta[k] + step * way[j]
            gain += weights[k] * (term_value(share) - term_value(theta[k]))
    return gain


@kernel
def likelihood_gain(u, x, delta, step):
    """Return what the log-likelihood wins by `step`, without cancellation.

    ``log(1 + z) = 2 artanh(s)``, s = z / (2 + z), by its series where s is small:
    this vectorises, and late steps have no other words. ``|s| > limit`` is asked by
    products alone, which round the same in both loops.
    """
    gain, n_far = 0.0, 0.0
    up = step * (0.5 / _SERIES_LIMIT - 0.5)
    down = step * (-0.5 / _SERIES_LIMIT - 0.5)
    for w in range(len(u)):
        way = step * delta[w]
        s = np.divide(way, 2.0 * x[w] + way)
        q = s * s
        series = 1 / 13 + q * (1 / 15 + q * (1 / 17 + q * (1 / 19)))
        series = 1 / 7 + q * (1 / 9 + q * (1 / 11 + q * series))
        series = 1.0 + q * (1 / 3 + q * (1 / 5 + q * series))
        # Products, not conditions: those stop vectorisation.
        far = 1.0 * ((delta[w] * up > x[w]) | (delta[w] * down > x[w]))
        gain += u[w] * (2.0 * s * series) * (1.0 - far)
        n_far += far
    w = 0
    while n_far > 0.0:
        while not (delta[w] * up > x[w] or delta[w] * down > x[w]):
            w += 1
        gain += u[w] * math.log(np.divide(x[w] + step * delta[w], x[w]))
        n_far -= 1.0
        w += 1
    return gain
