# SPDX-License-Identifier: BSD-3-Clause
"""How the mixtures of documents are parametrised; loaded when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topicfold.core.lazy import lazy_names
from topicfold.parts.steps import DirichletTheta, ThetaStep

if TYPE_CHECKING:
    from topicfold.theta.author_priors import AuthorPriors
    from topicfold.theta.authors import Authors
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

__getattr__ = lazy_names(
    __name__,
    {
        "AuthorPriors": "topicfold.theta.author_priors:AuthorPriors",
        "Authors": "topicfold.theta.authors:Authors",
        "LaplacianTheta": "topicfold.theta.graph:LaplacianTheta",
        "LocallyConsistentTheta": "topicfold.theta.graph:LocallyConsistentTheta",
        "LogisticNormalTheta": "topicfold.theta.logistic_normal:LogisticNormalTheta",
        "ParetoTheta": "topicfold.theta.pareto:ParetoTheta",
    },
)
