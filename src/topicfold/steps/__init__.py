# SPDX-License-Identifier: BSD-3-Clause
"""M-steps: θ-steps and φ-steps, any of which goes with any other."""

from topicfold.steps.base import PhiStep, StepContext, ThetaStep
from topicfold.steps.dirichlet import DirichletPhi, DirichletTheta

__all__ = ["DirichletPhi", "DirichletTheta", "PhiStep", "StepContext", "ThetaStep"]
