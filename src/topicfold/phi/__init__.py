# SPDX-License-Identifier: BSD-3-Clause
"""How topics are parametrised."""

from topicfold.parts.steps import DirichletPhi, PhiStep
from topicfold.phi.matrices import OtherCounts
from topicfold.phi.orthogonal import OrthogonalPhi
from topicfold.phi.seeds import Seeds

__all__ = ["DirichletPhi", "OrthogonalPhi", "OtherCounts", "PhiStep", "Seeds"]
