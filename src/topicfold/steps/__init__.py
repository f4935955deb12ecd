# SPDX-License-Identifier: BSD-3-Clause
"""M-steps: θ-steps and φ-steps, any of which goes with any other."""

from topicfold.steps.base import PhiStep, StepContext, ThetaStep
from topicfold.steps.dirichlet import DirichletPhi, DirichletTheta
from topicfold.steps.laplacian import LaplacianTheta
from topicfold.steps.locally_consistent import LocallyConsistentTheta
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
