# SPDX-License-Identifier: BSD-3-Clause
"""Residuals have the dispersion 1 under the model, more without one of its topics."""

import numpy as np
import pytest

from topicfold.exceptions import DataError
from topicfold.metrics import residual_dispersion


def test_dispersion_tells_a_missing_topic():
    rng = np.random.default_rng(0)
    theta, phi = rng.dirichlet([0.5] * 3, 400), rng.dirichlet(np.full(40, 0.5), 3)
    X = np.array([rng.multinomial(150, row @ phi) for row in theta])
    q = theta @ phi
    squares = ((X - 150 * q) ** 2 / (150 * q * (1 - q)))[150 * q > 0.01]
    true = residual_dispersion(X, theta, phi)
    parameters = 400 * 2 + 3 * 39
    assert true.degrees_of_freedom == len(squares) - parameters
    np.testing.assert_allclose(true.dispersion, squares.sum() / true[2])
    assert 1.0 < true.dispersion < 1.1
    fewer = theta[:, :2] / theta[:, :2].sum(axis=1, keepdims=True)
    worse = residual_dispersion(X, fewer, phi[:2])
    assert worse.dispersion > 2 * true.dispersion
    assert worse.p < 1e-6
    with pytest.raises(DataError, match="those of one fit"):
        residual_dispersion(X[:, 1:], theta, phi)
    with pytest.raises(DataError, match="nothing left to test"):
        residual_dispersion(X[:2], theta[:2], phi)
