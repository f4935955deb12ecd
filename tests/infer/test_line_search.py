# SPDX-License-Identifier: BSD-3-Clause
"""The compiled line search of Frank-Wolfe, part by part, against the equations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from topicfold.infer.frank_wolfe import (
    derivatives,
    likelihood_gain,
    line_search,
    term_gain,
    try_direction,
)


def direction(seed, promoting=True, n_words=23, n_topics=5):
    """A document's weights, a mixture and the way from it to a vertex."""
    rng = np.random.default_rng(seed)
    block = rng.gamma(0.5, size=(n_words, n_topics)) + 1e-3
    u = rng.dirichlet(np.ones(n_words))
    theta = rng.dirichlet(np.ones(n_topics)) * np.array([1, 1, 0, 1, 1.0])
    theta /= theta.sum()
    weights = np.array([0.0, 0.7, 0.2, 0.0, 1.5]) if promoting else np.zeros(5)
    slopes = (u / (block @ theta)) @ block + weights * np.cos(theta)
    top = int(np.argmax(slopes))
    active = np.array(sorted({0, 1, 3, 4, top}))
    way = (active == top) - theta[active]
    x = block @ theta
    delta = block[:, top] - x
    return u, x, delta, weights, theta, active, way


def objective(step, u, x, delta, weights, theta, active, way, promoting=True):
    value = u @ np.log(x + step * delta)
    if promoting:
        value += weights[active] @ np.sin(theta[active] + step * way)
    return value


@pytest.mark.parametrize("promoting", [False, True])
@pytest.mark.parametrize("step", [0.0, 0.2, 0.9])
def test_slope_and_curvature_are_derivatives_of_the_objective(promoting, step):
    u, x, delta, *rest = direction(1, promoting)
    slope, bend = derivatives(step, u, x, delta, rest[0], promoting, *rest[1:])
    values = [
        objective(step + h, u, x, delta, *rest, promoting=promoting)
        for h in (-1e-4, 0.0, 1e-4)
    ]
    assert slope == pytest.approx((values[2] - values[0]) / 2e-4, rel=1e-5, abs=1e-7)
    assert bend == pytest.approx(
        (values[2] - 2 * values[1] + values[0]) / 1e-8, rel=1e-4
    )
    assert bend < 0


@pytest.mark.parametrize("step", [1e-9, 1e-3, 0.1, 0.5, 0.9, 1.0])
def test_gain_of_the_likelihood_keeps_all_digits(step):
    """Small steps by the series, large ones by logarithms, both in one document."""
    rng = np.random.default_rng(2)
    u, x = rng.dirichlet(np.ones(40)), rng.gamma(1.0, size=40) + 1e-3
    for scale in (0.01, 0.3, 0.66, 0.667, 0.9, 5.0, 1e4):
        delta = scale * x * rng.choice([-1.0, 1.0], size=40)
        delta = np.maximum(delta, -0.9 * x)
        found = likelihood_gain(u, x, delta, step)
        exact = math.fsum(u * np.log1p(step * delta / x))
        each = np.abs(u * np.log1p(step * delta / x)).sum()
        assert abs(found - exact) <= 4e-13 * each


def test_gain_of_the_term_is_what_the_sines_win():
    *_, weights, theta, active, way = direction(3)
    for step in (0.0, 0.4, 1.0):
        moved = np.sin(theta[active] + step * way) - np.sin(theta[active])
        found = term_gain(step, weights, theta, active, way)
        assert found == pytest.approx(weights[active] @ moved, abs=1e-15)


@pytest.mark.parametrize("promoting", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_the_best_step_is_where_the_slope_is_zero(promoting, seed):
    u, x, delta, *rest = direction(seed, promoting)
    options = (rest[0], promoting, *rest[1:])

    def slope(step):
        return derivatives(step, u, x, delta, *options)[0]

    assert slope(0.0) > 0
    root = 1.0 if slope(1.0) >= 0 else brentq(slope, 0, 1, xtol=1e-15)
    found = line_search(u, x, delta, 1.0, *options)
    assert found == pytest.approx(root, rel=1e-6)
    # A cap on the near side of the root is the best step; one behind changes nothing.
    assert line_search(u, x, delta, 0.5 * root, *options) == 0.5 * root
    if root < 0.9:
        wide = line_search(u, x, delta, 0.5 * (1 + root), *options)
        assert wide == pytest.approx(root, rel=1e-6)
    step, gain = try_direction(u, x, delta, 1.0, *options)
    assert step == found
    won = objective(step, u, x, delta, *rest, promoting=promoting)
    won -= objective(0.0, u, x, delta, *rest, promoting=promoting)
    assert gain == pytest.approx(won, rel=1e-9)


def test_no_step_goes_downhill():
    u, x, delta, *rest = direction(0, promoting=False)
    options = (rest[0], False, *rest[1:])
    assert line_search(u, x, -delta, 1.0, *options) == 0


def test_poles_near_both_ends_do_not_hide_the_root():
    """Words that only one end explains: the slope runs to infinity at both."""
    for share in (1e-6, 0.3, 1 - 1e-6):
        u, x = np.array([share, 1 - share]), np.array([1e-10, 1.0])
        delta = np.array([1.0, -1.0 + 1e-10])
        nothing = np.zeros(1), False, np.ones(1), np.zeros(1, np.int64), np.zeros(1)
        found = line_search(u, x, delta, 1.0, *nothing)
        assert found == pytest.approx(share, rel=1e-4, abs=1e-9)
