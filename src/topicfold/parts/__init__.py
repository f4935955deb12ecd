# SPDX-License-Identifier: BSD-3-Clause
"""The contract of the parts of a model: θ, φ, and what else is known of documents."""

from topicfold.parts.sides import Side, TopicWeights
from topicfold.parts.steps import Context, Part, PhiStep, ThetaStep

__all__ = [
    "Context",
    "Part",
    "PhiStep",
    "Side",
    "ThetaStep",
    "TopicWeights",
]
