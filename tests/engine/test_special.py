# SPDX-License-Identifier: BSD-3-Clause
import numba
import numpy as np
import pytest
from scipy import special as scipy_special

from topicfold.engine import special

POSITIVE = np.exp(np.linspace(np.log(1e-5), np.log(1e7), 20_001))


def over_array(function):
    @numba.njit
    def loop(x):
        out = np.empty_like(x)
        for i in range(x.shape[0]):
            out[i] = function(x[i])
        return out

    return loop


@pytest.mark.parametrize(
    ("ours", "theirs", "tolerance"),
    [
        (special.log_scalar, np.log, 1e-14),
        (special.digamma_scalar, scipy_special.psi, 1e-11),
        (special.log_gamma_scalar, scipy_special.gammaln, 1e-11),
        (special.exp_digamma_scalar, lambda x: np.exp(scipy_special.psi(x)), 1e-11),
    ],
)
def test_agrees_with_scipy(ours, theirs, tolerance):
    np.testing.assert_allclose(
        over_array(ours)(POSITIVE), theirs(POSITIVE), rtol=tolerance, atol=tolerance
    )


def test_exp_agrees_with_numpy():
    y = np.linspace(-690, 100, 10_001)
    np.testing.assert_allclose(over_array(special.exp_scalar)(y), np.exp(y), rtol=1e-12)


def test_exp_of_very_negative_is_zero():
    assert over_array(special.exp_scalar)(np.array([-1e4]))[0] == 0.0


def test_exp_digamma_of_zero_is_zero():
    assert over_array(special.exp_digamma_scalar)(np.array([0.0]))[0] == 0.0


def test_log_of_tiny_and_huge_normal_numbers():
    x = np.array([2.3e-308, 1e-300, 1.0, 1e300])
    np.testing.assert_allclose(over_array(special.log_scalar)(x), np.log(x), rtol=1e-14)
