# SPDX-License-Identifier: BSD-3-Clause
"""The concave separable term ``Σ_k c_k s(θ_k)`` of an inference objective.

Here ``s = sin``, the promotion of the two-phase framework. This file is the only
place that knows it: Frank-Wolfe works with any concave ``s`` whose value and slope
at 0 are finite, ``log(θ + ε)`` of a Dirichlet prior for one.
"""

from __future__ import annotations

import math

from topicfold.core.jit import inline


@inline
def term_value(share: float) -> float:
    """Return ``s(θ_k)``."""
    return math.sin(share)


@inline
def term_slope(share: float) -> float:
    """Return ``s'(θ_k)``."""
    return math.cos(share)


@inline
def term_curvature(share: float) -> float:
    """Return ``s''(θ_k)``, never positive."""
    return -math.sin(share)
