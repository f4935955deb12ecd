# SPDX-License-Identifier: BSD-3-Clause
"""How the mixtures of documents are parametrised: θ-steps with ideas of their own."""

from topicfold.theta.logistic_normal import LogisticNormalTheta

__all__ = ["LogisticNormalTheta"]
