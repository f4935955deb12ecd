# SPDX-License-Identifier: BSD-3-Clause
"""What else is known of a document: authors, other counts, responses, labels, …"""

from topicfold.core.side_table import SideTable
from topicfold.sides.author_priors import AuthorPriors
from topicfold.sides.authors import Authors
from topicfold.sides.base import Side, SideContext, TopicWeights
from topicfold.sides.features import Features
from topicfold.sides.labels import Labels
from topicfold.sides.links import Links
from topicfold.sides.matrices import OtherCounts
from topicfold.sides.response import Response
from topicfold.sides.seeds import Seeds
from topicfold.sides.times import TimeStamps

__all__ = [
    "AuthorPriors",
    "Authors",
    "Features",
    "Labels",
    "Links",
    "OtherCounts",
    "Response",
    "Seeds",
    "Side",
    "SideContext",
    "SideTable",
    "TimeStamps",
    "TopicWeights",
]
