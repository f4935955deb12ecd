# SPDX-License-Identifier: BSD-3-Clause
"""What else is known of a document: authors, other counts, responses, labels, …"""

from topicfold.core.side_table import SideTable
from topicfold.sides.authors import Authors
from topicfold.sides.base import Side, SideContext, TopicWeights
from topicfold.sides.matrices import OtherCounts
from topicfold.sides.response import Response

__all__ = [
    "Authors",
    "OtherCounts",
    "Response",
    "Side",
    "SideContext",
    "SideTable",
    "TopicWeights",
]
