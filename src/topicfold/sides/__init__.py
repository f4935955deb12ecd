# SPDX-License-Identifier: BSD-3-Clause
"""What else is known of a document: authors, other counts, responses, labels, …"""

from topicfold.sides.authors import Authors
from topicfold.sides.base import Side, SideContext, TopicWeights
from topicfold.sides.matrices import OtherCounts

__all__ = ["Authors", "OtherCounts", "Side", "SideContext", "TopicWeights"]
