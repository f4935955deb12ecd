# SPDX-License-Identifier: BSD-3-Clause
"""M-steps: θ-steps and φ-steps, any of which goes with any other.

Those with compiled kernels are loaded when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topicfold.core.lazy import lazy_names
from topicfold.steps.base import (
    DirichletPhi,
    DirichletTheta,
    PhiStep,
    StepContext,
    ThetaStep,
)

if TYPE_CHECKING:
    from topicfold.steps.graph import LaplacianTheta, LocallyConsistentTheta
    from topicfold.steps.orthogonal import OrthogonalPhi
    from topicfold.steps.pareto import ParetoTheta

__all__ = [
    "DirichletPhi",
    "DirichletTheta",
    "LaplacianTheta",
    "LocallyConsistentTheta",
    "OrthogonalPhi",
    "ParetoTheta",
    "PhiStep",
    "StepContext",
    "ThetaStep",
]

__getattr__ = lazy_names(
    __name__,
    {
        "LaplacianTheta": "topicfold.steps.graph:LaplacianTheta",
        "LocallyConsistentTheta": "topicfold.steps.graph:LocallyConsistentTheta",
        "OrthogonalPhi": "topicfold.steps.orthogonal:OrthogonalPhi",
        "ParetoTheta": "topicfold.steps.pareto:ParetoTheta",
    },
)
