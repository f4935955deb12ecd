# SPDX-License-Identifier: BSD-3-Clause
"""Retrieval in the latent space of a model."""

from topicfold.search.hits import Hits
from topicfold.search.index import TopicIndex

__all__ = ["Hits", "TopicIndex"]
