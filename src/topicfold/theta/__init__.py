# SPDX-License-Identifier: BSD-3-Clause
"""How the mixtures of documents are parametrised."""

from topicfold.parts.steps import DirichletTheta, ThetaStep
from topicfold.theta.authors import AuthorPriors, Authors
from topicfold.theta.graph import LaplacianTheta, LocallyConsistentTheta
from topicfold.theta.logistic_normal import LogisticNormalTheta
from topicfold.theta.pareto import ParetoTheta

__all__ = [
    "AuthorPriors",
    "Authors",
    "DirichletTheta",
    "LaplacianTheta",
    "LocallyConsistentTheta",
    "LogisticNormalTheta",
    "ParetoTheta",
    "ThetaStep",
]
