# SPDX-License-Identifier: BSD-3-Clause
"""What else is known of a document: features, labels, links, responses, times."""

from topicfold.evidence.features import Features
from topicfold.evidence.labels import Labels
from topicfold.evidence.links import Links
from topicfold.evidence.response import Response
from topicfold.evidence.times import TimeStamps

__all__ = ["Features", "Labels", "Links", "Response", "TimeStamps"]
