# SPDX-License-Identifier: BSD-3-Clause
"""Orthogonal PLSA as an estimator."""

import numpy as np
import pytest

from topicfold.models.orthogonal import OrthogonalPLSA
from topicfold.models.plsa import PLSA
from topicfold.theta import LaplacianTheta, LocallyConsistentTheta


def test_overlap_falls_and_objective_rises(planted):
    X = planted[0]
    fits = [OrthogonalPLSA(6, weight=w, random_state=0).fit(X) for w in (0.0, 10.0)]
    assert fits[1].overlap_ < fits[0].overlap_
    for fit in fits:
        history = np.array(fit.objective_history_)
        assert np.diff(history).min() >= -1e-6 * np.abs(history).max()
        np.testing.assert_allclose(fit.components_.sum(axis=1), 1.0, atol=1e-5)


def test_weight_zero_is_plsa_bit_for_bit(planted):
    plain = PLSA(4, random_state=0, max_iter=20).fit(planted[0])
    same = OrthogonalPLSA(4, weight=0.0, random_state=0, max_iter=20).fit(planted[0])
    np.testing.assert_array_equal(plain.components_, same.components_)


@pytest.mark.parametrize("step", [LaplacianTheta(3.0), LocallyConsistentTheta(1.0)])
def test_any_theta_step(step, planted):
    model = OrthogonalPLSA(4, theta_step=step, random_state=0, max_iter=15)
    history = np.array(model.fit(planted[0]).objective_history_)
    assert np.diff(history).min() >= -1e-6 * np.abs(history).max()
