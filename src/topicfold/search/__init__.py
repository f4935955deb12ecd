# SPDX-License-Identifier: BSD-3-Clause
"""Retrieval in the latent space of a model."""

from topicfold.search.index import TopicIndex
from topicfold.search.ranking import Hits

__all__ = ["Hits", "TopicIndex"]
